"""The format ``regex``: regular expressions of ECMA-262 (2024, 22.2.1) with the u flag.

Everything that is let through is valid. Left out are, so that the states stay few:

* in a class, a range from one character beyond ASCII to another that stands close behind it in
  Unicode: between the two must be one of ``_LANDMARKS``;
* names of groups that aren't plain ASCII, and references to groups that open later;
* surrogates as ``\\uXXXX`` in a class.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise

from mlx_structured.languages import characters as sets
from mlx_structured.languages.algebra import concatenation, literals, union
from mlx_structured.languages.characters import MAX, Ranges
from mlx_structured.languages.ecma_pattern import match_language
from mlx_structured.languages.expression import EMPTY, EPSILON, Language
from mlx_structured.languages.machine import MachineState, machine
from mlx_structured.languages.partition import Partition, from_classes
from mlx_structured.languages.unicode_properties import property_names

_SYNTAX = r"^$\.*+?()[]{}|/"
_HEXADECIMAL = sets.of("0123456789ABCDEFabcdef")
_DIGITS = sets.DIGITS
_LETTERS = sets.normalise([(0x41, 0x5A), (0x61, 0x7A)])
_NAME_START = sets.union(_LETTERS, sets.of("$_"))
_NAME_PART = sets.union(_NAME_START, _DIGITS)
_PLAIN = sets.difference(sets.ALL, sets.of(_SYNTAX.replace("/", "")))
_CLASS_PLAIN = sets.difference(sets.ALL, sets.of("\\]-"))

_LANDMARKS = (
    *range(0x80),
    *(0x80, 0x9F, 0xA0, 0xBF, 0xC0, 0xD6, 0xD8, 0xDF, 0xE0, 0xF6, 0xF8, 0xFF, 0x100, 0x17F),
    *(0x250, 0x300, 0x36F, 0x370, 0x391, 0x3A9, 0x3B1, 0x3C9, 0x400, 0x410, 0x42F, 0x430, 0x44F),
    *(0x4FF, 0x531, 0x590, 0x5D0, 0x5EA, 0x600, 0x621, 0x64A, 0x6FF, 0x900, 0x97F, 0xE01, 0xE5B),
    *(0x10A0, 0x10D0, 0x1100, 0x1E00, 0x1FFF, 0x2000, 0x200B, 0x200F, 0x2010, 0x2028, 0x206F),
    *(0x2190, 0x2600, 0x27BF, 0x3000, 0x303F, 0x3041, 0x3096, 0x30A0, 0x30A1, 0x30FF, 0x3400),
    *(0x4E00, 0x9FA5, 0x9FFF, 0xAC00, 0xD7A3, 0xE000, 0xF8FF, 0xF900, 0xFE00, 0xFEFF, 0xFF01),
    *(0xFF5E, 0xFFFF, 0x10000, 0x1F300, 0x1F600, 0x1F64F, 0x1FAFF, 0x20000, MAX),
)
"""Code points of which one must lie within a range, its ends included."""


@lru_cache(maxsize=1)
def regex() -> Language:
    """All regular expressions of ECMA-262 but those that the module's text leaves out."""
    return machine(Pattern())


@lru_cache(maxsize=1)
def _escapes() -> Language:
    """What may follow a backslash, other than digits and references."""
    syntax = literals(_SYNTAX)
    code_points = r"u\{0*(?:10[0-9A-Fa-f]{4}|[0-9A-Fa-f]{1,5})\}"
    return union(
        syntax, match_language(rf"[fnrtv]|{_COMMON}|u[0-9A-Fa-f]{{4}}|{code_points}"), _properties()
    )


_COMMON = r"[dDsSwW]|c[A-Za-z]|x[0-9A-Fa-f]{2}"


@lru_cache(maxsize=1)
def _properties() -> Language:
    return concatenation(literals(["p{", "P{"]), literals(property_names()), literals(["}"]))


@dataclass(frozen=True)
class Pattern(MachineState):
    """Between two terms of a pattern.

    Arguments:
        closings: for each open group, whether a quantifier may follow it.
        captures: how many capturing groups were opened.
        names: the names of groups.
        spot: ``"atom"`` where a quantifier may follow, ``"number"`` where one may and a digit
            may not, ``"quantifier"`` where only ``?`` may, and ``"term"`` where nothing may.
    """

    closings: tuple[bool, ...] = ()
    captures: int = 0
    names: frozenset[str] = frozenset()
    spot: str = "term"

    longest = None
    stepwise = False

    @property
    def shortest(self) -> int:
        return len(self.closings)

    @property
    def hint(self) -> str:
        return ")" if self.closings else "a"

    def partition(self) -> Partition:
        return from_classes((_PLAIN_BUT_DIGITS, _DIGITS, *_SINGLE_SYNTAX))

    def after(self, character: int) -> Language:
        letter = chr(character)
        if sets.contains(_DIGITS, character):
            return EMPTY if self.spot == "number" else self._at("atom")
        if letter not in _SYNTAX or letter == "/":
            return self._at("atom")
        match letter:
            case ".":
                return self._at("atom")
            case "^" | "$" | "|":
                return self._at("term")
            case "\\":
                return self._escaped()
            case "[":
                return concatenation(machine(ClassBody()), self._at("atom"))
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

    def _at(self, spot: str) -> Language:
        return machine(replace(self, spot=spot))

    def _escaped(self) -> Language:
        numbers = literals(map(str, range(self.captures + 1)))
        names = literals(f"k<{name}>" for name in self.names)
        return union(
            concatenation(union(_escapes(), names), self._at("atom")),
            concatenation(numbers, self._at("number")),
            concatenation(literals("bB"), self._at("term")),
        )

    def _opened(self) -> Language:
        captures = replace(self._inside(quantifiable=True), captures=self.captures + 1)
        return union(
            machine(captures),
            concatenation(literals(["?:"]), machine(self._inside(quantifiable=True))),
            concatenation(
                literals(["?=", "?!", "?<=", "?<!"]), machine(self._inside(quantifiable=False))
            ),
            concatenation(literals(["?<"]), machine(GroupName("", captures))),
        )

    def _inside(self, *, quantifiable: bool) -> Pattern:
        return replace(self, closings=(*self.closings, quantifiable), spot="term")

    def _closed(self) -> Language:
        if not self.closings:
            return EMPTY
        spot = "atom" if self.closings[-1] else "term"
        return machine(replace(self, closings=self.closings[:-1], spot=spot))


_SINGLE_SYNTAX = tuple(sets.single(letter) for letter in _SYNTAX if letter != "/")
_PLAIN_BUT_DIGITS = sets.difference(_PLAIN, _DIGITS)


@dataclass(frozen=True)
class GroupName(MachineState):
    """In the name of a group, before what follows it."""

    name: str
    group: Pattern

    longest = None
    hint = ""
    stepwise = True

    @property
    def shortest(self) -> int:
        return 1 + (not self.name or self.name in self.group.names) + self.group.shortest

    def partition(self) -> Partition:
        return from_classes((*((pair,) for pair in _each(_NAME_PART)), sets.of(">")))

    def after(self, character: int) -> Language:
        if chr(character) == ">":
            if not self.name or self.name in self.group.names:
                return EMPTY
            return machine(replace(self.group, names=self.group.names | {self.name}))
        if sets.contains(_NAME_PART if self.name else _NAME_START, character):
            return machine(replace(self, name=self.name + chr(character)))
        return EMPTY


def _each(ranges: Ranges) -> Iterable[tuple[int, int]]:
    return ((point, point) for low, high in ranges for point in range(low, high + 1))


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
        return from_classes((*((pair,) for pair in _each(_DIGITS)), sets.of(","), sets.of("}")))

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


@dataclass(frozen=True)
class ClassBody(MachineState):
    """In brackets, between two characters.

    Arguments:
        first: whether nothing was read yet, so that ``^`` is the complement's sign.
        low: the landmark from which on a range may end that starts with the last character;
            ``None`` where no range starts there.
        joined: whether a character, which isn't the end of a range, comes before.
        dash: whether a hyphen follows that character.
    """

    first: bool = True
    low: int | None = None
    joined: bool = False
    dash: bool = False

    shortest = 1
    longest = None
    hint = ""
    stepwise = False

    def partition(self) -> Partition:
        if self.dash:
            above = sets.intersection(_CLASS_PLAIN, sets.normalise([(self.least(), MAX)]))
            return from_classes((above, *_CLASS_SYNTAX))
        return from_classes((*_SPANS, sets.of("^"), *_CLASS_SYNTAX))

    def after(self, character: int) -> Language:
        letter = chr(character)
        if letter == "]":
            return EPSILON
        if letter == "\\":
            return self._escaped()
        if letter == "^" and self.first:
            return machine(ClassBody(first=False))
        if letter == "-" and self.joined and not self.dash:
            return machine(replace(self, dash=True))
        return _language(self.following(character))

    def following(self, value: int) -> ClassBody | None:
        """After a character with this code point, however it is written."""
        if not self.dash:
            landmark = _LANDMARKS[bisect_left(_LANDMARKS, value)]
            return ClassBody(first=False, low=landmark, joined=True)
        return None if value < self.least() else ClassBody(first=False)

    def least(self) -> int:
        """The least code point that may come."""
        return 0 if not self.dash else MAX + 1 if self.low is None else self.low

    def _escaped(self) -> Language:
        words: dict[Language, list[str]] = {}
        for text, value in _CLASS_ESCAPES.items():
            words.setdefault(_language(self.following(value)), []).append(text)
        choices = [concatenation(literals(texts), after) for after, texts in words.items()]
        for prefix, digits in (("x", 2), ("u", 4), ("u{", None)):
            state = CodePoint(self, 0, digits)
            if state.is_alive():
                choices.append(concatenation(literals([prefix]), machine(state)))
        after_null = self.following(0)
        if after_null is not None:
            choices.append(concatenation(literals("0"), machine(NoDigit(after_null))))
        if not self.dash:
            after_set = machine(ClassBody(first=False, joined=True))
            choices.append(concatenation(union(literals("dDsSwW"), _properties()), after_set))
        return union(choices)


def _language(state: ClassBody | None) -> Language:
    return EMPTY if state is None else machine(state)


def _spans() -> Iterable[Ranges]:
    """The characters without a meaning of their own in a class, from landmark to landmark."""
    plain = sets.difference(_CLASS_PLAIN, sets.of("^"))
    for low, high in pairwise((-1, *_LANDMARKS)):
        yield sets.intersection(plain, sets.normalise([(low + 1, high)]))


_SPANS = tuple(_spans())
_CLASS_SYNTAX = (sets.of("\\"), sets.of("]"), sets.of("-"))
_CLASS_ESCAPES = {
    **{letter: ord(letter) for letter in (*_SYNTAX, "-")},
    **{"b": 0x08, "t": 0x09, "n": 0x0A, "v": 0x0B, "f": 0x0C, "r": 0x0D},
    **{f"c{chr(letter)}": letter % 32 for letter, _ in _each(_LETTERS)},
}
"""What follows a backslash in a class, for one character, but its digits."""


@dataclass(frozen=True)
class CodePoint(MachineState):
    """In the hexadecimal digits of an escape in a class.

    Arguments:
        body: the class before the escape.
        value: of the digits so far.
        left: how many digits are missing; ``None`` in braces.
        begun: whether a digit was read.
    """

    body: ClassBody
    value: int
    left: int | None
    begun: bool = False

    longest = None
    hint = ""
    stepwise = False

    @property
    def shortest(self) -> int:
        return 1 + (self.left or 1)

    def partition(self) -> Partition:
        return from_classes((*((pair,) for pair in _each(_HEXADECIMAL)), sets.of("}")))

    def after(self, character: int) -> Language:
        if sets.contains(_HEXADECIMAL, character):
            value = self.value * 16 + int(chr(character), 16)
            left = None if self.left is None else self.left - 1
            state = CodePoint(self.body, value, left, begun=True)
            if not state.is_alive():
                return EMPTY
            return _language(self.body.following(value)) if left == 0 else machine(state)
        if chr(character) == "}" and self.left is None and self.begun and not _lone(self.value):
            return _language(self.body.following(self.value))
        return EMPTY

    def is_alive(self) -> bool:
        """Whether some digits make it a character that may come."""
        if self.left is None:
            if self.value > MAX:
                return False
            first, last = self.value, self.value or MAX
            while first and first * 16 <= MAX:
                first, last = first * 16, min(last * 16 + 15, MAX)
        else:
            first, last = self.value << 4 * self.left, ((self.value + 1) << 4 * self.left) - 1
        if _lone(last):
            last = sets.SURROGATES[0] - 1
        return last >= max(first, self.body.least())


def _lone(value: int) -> bool:
    return sets.SURROGATES[0] <= value <= sets.SURROGATES[1]


@dataclass(frozen=True)
class NoDigit(MachineState):
    """In a class, where no digit may come: it would change the escape before it."""

    body: ClassBody

    shortest = 1
    longest = None
    hint = ""
    stepwise = False

    def partition(self) -> Partition:
        return self.body.partition()

    def after(self, character: int) -> Language:
        return EMPTY if sets.contains(_DIGITS, character) else self.body.after(character)
