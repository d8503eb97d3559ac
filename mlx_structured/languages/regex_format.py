"""The format ``regex``: regular expressions of ECMA-262 (2025, 22.2.1) with the u flag.

A number refers to no more than ``AHEAD`` groups that are still to be opened, as each of them has to
come. All else is as the specification says.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import permutations

from mlx_structured.languages import characters as sets
from mlx_structured.languages.algebra import concatenation, literals, union
from mlx_structured.languages.ecma_pattern import match_language
from mlx_structured.languages.expression import EMPTY, EPSILON, Language
from mlx_structured.languages.machine import MachineState, machine
from mlx_structured.languages.partition import Partition, from_classes
from mlx_structured.languages.regex_classes import SYNTAX, ClassBody, properties
from mlx_structured.languages.regex_names import Name

AHEAD = 99
"""A number refers to no more groups than this that are still to be opened: each has to come."""

MOST_GROUPS = 2**32 - 2
"""ECMA-262 22.2.1.1: more capturing groups are an early error."""

_DIGITS = sets.DIGITS
_PLAIN = sets.difference(sets.ALL, sets.of(SYNTAX.replace("/", "")))


@lru_cache(maxsize=2)
def regex(*, all_references: bool = False) -> Language:
    """The regular expressions of ECMA-262.

    Arguments:
        all_references: whether a number may refer to any group that is still to be opened.
    """
    return machine(Pattern(ahead=MOST_GROUPS if all_references else AHEAD))


@lru_cache(maxsize=1)
def _escapes() -> Language:
    """What may follow a backslash, other than digits and references."""
    syntax = literals(SYNTAX)
    code_points = r"u\{0*(?:10[0-9A-Fa-f]{4}|[0-9A-Fa-f]{1,5})\}"
    return union(
        syntax, match_language(rf"[fnrtv]|{_COMMON}|u[0-9A-Fa-f]{{4}}|{code_points}"), properties()
    )


_COMMON = r"[dDsSwW]|c[A-Za-z]|x[0-9A-Fa-f]{2}"


def _modifiers() -> Iterator[str]:
    """What begins a group that changes flags, or none: each at most once."""
    for number in range(4):
        for flags in permutations("ims", number):
            text = "".join(flags)
            yield f"?{text}:"
            for added in range(number + 1 if number else 0):
                yield f"?{text[:added]}-{text[added:]}:"


@dataclass(frozen=True)
class Level:
    """An open group, or the whole pattern.

    Arguments:
        quantifiable: whether a quantifier may follow it.
        branch: the names of groups in the alternative that is read.
        earlier: those in the alternatives before it.
    """

    quantifiable: bool = False
    branch: frozenset[str] = frozenset()
    earlier: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Pattern(MachineState):
    """Between two terms of a pattern.

    Arguments:
        levels: the pattern and its open groups, from the outside in.
        captures: how many capturing groups were opened.
        number: the largest number that refers to a group which is still to be opened, 0 for none.
        defined: the names of groups.
        wanted: the names that refer to groups which are still to be opened.
        spot: ``"atom"`` where a quantifier may follow, ``"number"`` where one may and a digit
            may not, ``"quantifier"`` where only ``?`` may, and ``"term"`` where nothing may.
        reference: the number after a backslash, if it may go on; else 0.
        ahead: see ``AHEAD``.
        is_blurred: whether characters that are remembered aren't told apart.
    """

    levels: tuple[Level, ...] = (Level(),)
    captures: int = 0
    number: int = 0
    defined: frozenset[str] = frozenset()
    wanted: frozenset[str] = frozenset()
    spot: str = "term"
    reference: int = 0
    ahead: int = AHEAD
    is_blurred: bool = False

    longest = None
    stepwise = False

    @property
    def shortest(self) -> int:
        named = sum(len(f"(?<{name}>)") for name in self.wanted)
        return len(self.levels) - 1 + named + len("()") * self._missing()

    def _missing(self) -> int:
        """How many groups have to come that need no name."""
        return max(0, self.number - self.captures - len(self.wanted))

    @property
    def hint(self) -> str:
        if self.wanted:
            return f"(?<{min(self.wanted)}>)"
        if self._missing():
            return "()"
        return ")" if len(self.levels) > 1 else "a"

    @property
    def taken(self) -> frozenset[str]:
        """Names that no further group may have here: it would take part in the same match."""
        return frozenset().union(*(level.branch for level in self.levels))

    def naming(self, name: str) -> Pattern:
        """Where the group that was opened last has the name."""
        *outer, around, opened = self.levels
        around = replace(around, branch=around.branch | {name})
        return replace(
            self,
            levels=(*outer, around, opened),
            defined=self.defined | {name},
            wanted=self.wanted - {name},
        )

    def referring(self, name: str) -> Pattern:
        """After a reference to the name."""
        return self if name in self.defined else replace(self, wanted=self.wanted | {name})

    def blurred(self) -> Pattern:
        return replace(self, is_blurred=True)

    def partition(self) -> Partition:
        digits = ((pair,) for pair in sets.each(_DIGITS)) if self.reference else (_DIGITS,)
        return from_classes((_PLAIN_BUT_DIGITS, *digits, *_SINGLE_SYNTAX))

    def after(self, character: int) -> Language:
        letter = chr(character)
        if sets.contains(_DIGITS, character):
            if self.reference:
                return self._referred(self.reference * 10 + int(letter))
            return EMPTY if self.spot == "number" else self._at("atom")
        if letter not in SYNTAX or letter == "/":
            return self._at("atom")
        match letter:
            case ".":
                return self._at("atom")
            case "^" | "$":
                return self._at("term")
            case "|":
                return self._branched()
            case "\\":
                return self._escaped()
            case "[":
                return concatenation(
                    machine(ClassBody(is_blurred=self.is_blurred)), self._at("atom")
                )
            case "(":
                return self._opened()
            case ")":
                return self._closed()
            case "?" if self.spot == "quantifier":
                return self._at("term")
            case "*" | "+" | "?" if self.spot in ("atom", "number"):
                return self._at("quantifier")
            case "{" if self.spot in ("atom", "number"):
                return concatenation(machine(Counts()), self._at("quantifier"))
            case _:
                return EMPTY

    def _to(self, spot: str) -> Pattern:
        return replace(self, spot=spot, reference=0)

    def _at(self, spot: str) -> Language:
        return machine(self._to(spot))

    def _referred(self, number: int) -> Language:
        """After a reference by number, which may go on."""
        if number > min(self.captures + self.ahead, MOST_GROUPS):
            return EMPTY
        needed = max(self.number, number) if number > self.captures else self.number
        return machine(replace(self._to("number"), reference=number, number=needed))

    def _escaped(self) -> Language:
        return union(
            concatenation(_escapes(), self._at("atom")),
            concatenation(literals(["0"]), self._at("number")),
            (concatenation(literals([str(n)]), self._referred(n)) for n in range(1, 10)),
            concatenation(literals(["k<"]), machine(Name(self._to("atom"), refers=True))),
            concatenation(literals("bB"), self._at("term")),
        )

    def _opened(self) -> Language:
        captures = self.captures + 1
        number = self.number if self.number > captures else 0
        captured = replace(self._inside(quantifiable=True), captures=captures, number=number)
        return union(
            machine(captured),
            concatenation(literals(_modifiers()), machine(self._inside(quantifiable=True))),
            concatenation(
                literals(["?=", "?!", "?<=", "?<!"]), machine(self._inside(quantifiable=False))
            ),
            concatenation(literals(["?<"]), machine(Name(captured))),
        )

    def _inside(self, *, quantifiable: bool) -> Pattern:
        return replace(self._to("term"), levels=(*self.levels, Level(quantifiable)))

    def _branched(self) -> Language:
        *outer, level = self.levels
        # The whole pattern is never closed, so that nobody asks for its earlier names.
        earlier = level.earlier | level.branch if outer else frozenset()
        level = replace(level, branch=frozenset(), earlier=earlier)
        return machine(replace(self._to("term"), levels=(*outer, level)))

    def _closed(self) -> Language:
        if len(self.levels) == 1:
            return EMPTY
        *outer, around, closed = self.levels
        around = replace(around, branch=around.branch | closed.branch | closed.earlier)
        spot = "atom" if closed.quantifiable else "term"
        return machine(replace(self._to(spot), levels=(*outer, around)))


_SINGLE_SYNTAX = tuple(sets.single(letter) for letter in SYNTAX if letter != "/")
_PLAIN_BUT_DIGITS = sets.difference(_PLAIN, _DIGITS)


@dataclass(frozen=True)
class Counts(MachineState):
    """In the braces of a quantifier: the digits of its bounds, without leading zeros.

    ``low`` and ``high`` are ``None`` before their first digit.
    """

    low: str | None = None
    comma: bool = False
    high: str | None = None

    longest = None
    hint = ""
    stepwise = False

    @property
    def shortest(self) -> int:
        if self.low is None:
            return 2
        if self.high is None:
            return 1
        missing = max(0, len(self.low) - len(self.high))
        return 1 + missing + (_number(self.high + "9" * missing) < _number(self.low))

    def partition(self) -> Partition:
        return from_classes((*((pair,) for pair in sets.each(_DIGITS)), sets.of(","), sets.of("}")))

    def after(self, character: int) -> Language:
        letter = chr(character)
        if letter.isascii() and letter.isdigit():
            if self.comma:
                return machine(replace(self, high=((self.high or "") + letter).lstrip("0")))
            return machine(replace(self, low=((self.low or "") + letter).lstrip("0")))
        if self.low is None:
            return EMPTY
        if letter == "," and not self.comma:
            return machine(replace(self, comma=True))
        if letter == "}" and (self.high is None or _number(self.low) <= _number(self.high)):
            return EPSILON
        return EMPTY


def _number(digits: str) -> tuple[int, str]:
    """Orders digits without leading zeros by value."""
    return len(digits), digits
