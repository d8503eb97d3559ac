"""A matcher that does step by step what ECMA-262 22.2.2 says, for patterns given as trees."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

Continuation = Callable[[int], bool]


class Node:
    """Part of a pattern. Its ``str`` is the pattern's text."""

    def match(self, run: Run, position: int, then: Continuation) -> bool:
        """Whether the part matches from the position on and the rest of the pattern after it."""
        raise NotImplementedError


@dataclass(frozen=True)
class Run:
    """What a part is matched in: the text, the direction and the flags."""

    text: str
    step: int = 1
    flags: frozenset[str] = frozenset()

    def folded(self, character: str) -> str:
        """Canonicalize, for ASCII letters."""
        return character.lower() if "i" in self.flags else character

    def is_word(self, position: int) -> bool:
        """IsWordChar."""
        if not 0 <= position < len(self.text):
            return False
        return self.text[position].isascii() and (self.text[position] + "x").isidentifier()


@dataclass(frozen=True)
class Atom(Node):
    """One character: out of ``characters``, or any but these."""

    source: str
    characters: str
    negative: bool = False

    def __str__(self) -> str:
        return self.source

    def match(self, run: Run, position: int, then: Continuation) -> bool:
        index = position if run.step > 0 else position - 1
        if not 0 <= index < len(run.text):
            return False
        if self.source == "." and "s" in run.flags:
            return then(position + run.step)
        folded = run.folded(run.text[index])
        found = any(run.folded(character) == folded for character in self.characters)
        return found is not self.negative and then(position + run.step)


@dataclass(frozen=True)
class Row(Node):
    """One part after the other."""

    left: Node
    right: Node

    def __str__(self) -> str:
        return f"{self.left}{self.right}"

    def match(self, run: Run, position: int, then: Continuation) -> bool:
        first, second = (self.left, self.right) if run.step > 0 else (self.right, self.left)
        return first.match(run, position, lambda end: second.match(run, end, then))


@dataclass(frozen=True)
class Choice(Node):
    """Either part."""

    left: Node
    right: Node

    def __str__(self) -> str:
        return f"(?:{self.left}|{self.right})"

    def match(self, run: Run, position: int, then: Continuation) -> bool:
        return self.left.match(run, position, then) or self.right.match(run, position, then)


@dataclass(frozen=True)
class Repeated(Node):
    """The part ``low`` to ``high`` times."""

    body: Node
    low: int
    high: int | None

    def __str__(self) -> str:
        return f"(?:{self.body}){{{self.low},{'' if self.high is None else self.high}}}"

    def match(self, run: Run, position: int, then: Continuation) -> bool:
        return self._repeat(run, position, then, self.low, self.high)

    def _repeat(
        self, run: Run, position: int, then: Continuation, low: int, high: int | None
    ) -> bool:
        if high == 0:
            return then(position)

        def again(end: int) -> bool:
            if low == 0 and end == position:
                return False
            fewer = None if high is None else high - 1
            return self._repeat(run, end, then, max(low - 1, 0), fewer)

        return self.body.match(run, position, again) or (low == 0 and then(position))


@dataclass(frozen=True)
class Look(Node):
    """A lookaround; ``kind`` is what its text begins with."""

    kind: str
    body: Node

    def __str__(self) -> str:
        return f"({self.kind}{self.body})"

    def match(self, run: Run, position: int, then: Continuation) -> bool:
        inside = Run(run.text, -1 if "<" in self.kind else 1, run.flags)
        found = self.body.match(inside, position, lambda end: True)
        return found is not self.kind.endswith("!") and then(position)


@dataclass(frozen=True)
class Point(Node):
    """``^``, ``$``, ``\\b`` or ``\\B``."""

    source: str

    def __str__(self) -> str:
        return self.source

    def match(self, run: Run, position: int, then: Continuation) -> bool:
        if self.source == "^":
            holds = position == 0 or ("m" in run.flags and run.text[position - 1] == "\n")
        elif self.source == "$":
            at_end = position == len(run.text)
            holds = at_end or ("m" in run.flags and run.text[position] == "\n")
        else:
            differ = run.is_word(position - 1) is not run.is_word(position)
            holds = differ is (self.source == "\\b")
        return holds and then(position)


@dataclass(frozen=True)
class Flags(Node):
    """Flags that are added and removed within a group."""

    added: str
    removed: str
    body: Node

    def __str__(self) -> str:
        removed = f"-{self.removed}" if self.removed else ""
        return f"(?{self.added}{removed}:{self.body})"

    def match(self, run: Run, position: int, then: Continuation) -> bool:
        flags = (run.flags | set(self.added)) - set(self.removed)
        return self.body.match(Run(run.text, run.step, flags), position, then)


def is_found(pattern: Node, text: str) -> bool:
    """Whether the pattern matches somewhere in the text."""
    run = Run(text)
    return any(pattern.match(run, start, lambda end: True) for start in range(len(text) + 1))


def is_match(pattern: Node, text: str) -> bool:
    """Whether the pattern matches the text as a whole."""
    return pattern.match(Run(text), 0, lambda end: end == len(text))
