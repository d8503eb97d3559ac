"""The characters of domain names, in classes that the rules of IDNA2008 don't tell apart.

RFC 5892 (which characters, and in which context), RFC 5893 (direction), RFC 3492 (encoded length),
Unicode Standard Annex 15 (normalization form C).
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from functools import cached_property, lru_cache
from itertools import groupby
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from idna import idnadata

from mlx_structured.languages import characters as sets
from mlx_structured.languages.characters import MAX, Ranges
from mlx_structured.languages.partition import Partition, from_classes


class Kind(NamedTuple):
    """What the rules ask about a character.

    Arguments:
        block: number of its block, 0 for ASCII.
        bidi: its direction, as ``unicodedata.bidirectional`` calls it.
        combining: its combining class.
        mark: whether no label starts with it.
        joining: ``"L"``, ``"D"``, ``"R"``, ``"T"`` or ``""``.
        script: ``"greek"``, ``"hebrew"``, ``"japanese"``, or ``"virama"`` for such a mark.
        special: a role that few characters have, else ``""``.
        starts: the compositions that it may begin, as what comes second there.
        completes: the composition in which it comes second, or ``""``.
    """

    block: int = 0
    bidi: str = "L"
    combining: int = 0
    mark: bool = False
    joining: str = ""
    script: str = ""
    special: str = ""
    starts: frozenset[str] = frozenset()
    completes: str = ""


CAPITALS = ("capital", "X", "N")
"""The roles of capital letters: two of them may begin an encoded label."""

_SPECIAL = {
    **dict.fromkeys(range(0x41, 0x5B), "capital"),
    **dict.fromkeys(range(0x660, 0x66A), "arabic"),
    **dict.fromkeys(range(0x6F0, 0x6FA), "extended"),
    **{ord(letter): letter for letter in "lxnXN-"},
    0x2E: "dot",
    0xB7: "middle dot",
    0x375: "keraia",
    0x5F3: "geresh",
    0x5F4: "geresh",
    0x200C: "non-joiner",
    0x200D: "joiner",
    0x30FB: "katakana dot",
}
_DOTS = (0x2E, 0x3002, 0xFF0E, 0xFF61)
"""RFC 3490, section 3.1: what separates labels."""

_BLOCKS = (
    *range(0x80, 0x1200, 0x80),
    *(0x1200, 0x1400, 0x1680, 0x1800, 0x1A00, 0x1C00, 0x1E00, 0x1F00, 0x2000, 0x2C00, 0x3000),
    *(0x3100, 0x4E00, 0xA000, 0xA500, 0xA800, 0xAC00, 0xD7A4, 0xFB00, 0x10000, 0x11000, 0x12000),
    *(0x16000, 0x17000, 0x1B000, 0x1E000, 0x20000, 0x2B000, 0x30000, MAX + 1),
)
"""Where blocks begin; the first one has the number 1."""

_SCRIPTS = {"greek": ("Greek",), "hebrew": ("Hebrew",), "japanese": ("Hiragana", "Katakana", "Han")}


def _ranges(packed: object) -> Iterator[tuple[int, int]]:
    """What ``idna`` keeps of a set: pairs of the first code point and the one after the last."""
    for pair in packed:  # type: ignore[attr-defined]
        yield pair >> 32, (pair & 0xFFFFFFFF) - 1


def _lookup(named: Mapping[str, Ranges]) -> Mapping[int, str]:
    return {
        point: name
        for name, ranges in named.items()
        for low, high in ranges
        for point in range(low, high + 1)
    }


@lru_cache(maxsize=1)
def _compositions() -> tuple[Mapping[str, frozenset[str]], Mapping[str, str]]:
    """Base letter -> the compositions it begins; second character -> its composition.

    All marks of Latin, Greek and Cyrillic are one composition, ``"latin"``.
    """
    starts: dict[str, set[str]] = {}
    completes: dict[str, str] = {}
    for point in (*range(0xC0, 0x3400), *range(0x11000, 0x12000), *range(0x16000, 0x17000)):
        parts = unicodedata.decomposition(chr(point)).split()
        composed = len(parts) == 2 and not parts[0].startswith("<")
        if not composed or unicodedata.normalize("NFC", chr(point)) != chr(point):
            continue
        first, second = (chr(int(part, 16)) for part in parts)
        name = "latin" if second < "\u0600" else f"{ord(second):x}"
        starts.setdefault(unicodedata.normalize("NFD", first)[0], set()).add(name)
        completes[second] = name
    return {base: frozenset(names) for base, names in starts.items()}, completes


UNIFORM = 256
"""In a range of more characters within one block, such as ideographs, all are of one kind."""


@lru_cache(maxsize=1)
def _points() -> Ranges:
    """RFC 5892: the characters that labels may hold, be it in some context only."""
    classes = ("PVALID", "CONTEXTJ", "CONTEXTO")
    return sets.normalise(
        pair for name in classes for pair in _ranges(idnadata.codepoint_classes[name])
    )


def _within_blocks(ranges: Ranges) -> Iterator[tuple[int, int]]:
    for low, high in ranges:
        start = low
        for bound in _BLOCKS[bisect_right(_BLOCKS, low) :]:
            if bound > high:
                break
            yield start, bound - 1
            start = bound
        yield start, high


def _ascii_kinds(starts: Mapping[str, frozenset[str]]) -> Iterator[tuple[int, int, Kind]]:
    for low, high in ((0x2D, 0x2E), (0x30, 0x39), (0x41, 0x5A), (0x61, 0x7A)):
        for point in range(low, high + 1):
            letter = chr(point)
            of = Kind(
                bidi=unicodedata.bidirectional(letter),
                special=_SPECIAL.get(point, ""),
                starts=starts.get(letter, frozenset()),
            )
            yield point, point, of


@lru_cache(maxsize=1)
def _kinds() -> list[tuple[int, int, Kind]]:
    """Ranges of characters that labels may hold, in order."""
    scripts = _lookup(
        {
            name: sets.normalise(pair for of in names for pair in _ranges(idnadata.scripts[of]))
            for name, names in _SCRIPTS.items()
            if name != "japanese"
        }
    )
    japanese = sets.normalise(
        pair for of in _SCRIPTS["japanese"] for pair in _ranges(idnadata.scripts[of])
    )
    joining = _lookup(
        {of: tuple(_ranges(idnadata.joining_types[of])) for of in ("L", "D", "R", "T")}
    )
    starts, completes = _compositions()

    def kind(point: int) -> Kind | None:
        letter = chr(point)
        bidi = unicodedata.bidirectional(letter)
        if not bidi:
            return None
        combining = unicodedata.combining(letter)
        script = "virama" if combining == 9 else scripts.get(point, "")
        base = letter
        if 0xC0 <= point < 0x3400 or 0x11000 <= point < 0x17000:
            base = unicodedata.normalize("NFD", letter)[0]
        return Kind(
            bisect_right(_BLOCKS, point),
            bidi,
            combining,
            unicodedata.category(letter).startswith("M"),
            joining.get(point, ""),
            script or ("japanese" if sets.contains(japanese, point) else ""),
            _SPECIAL.get(point, ""),
            starts.get(base, frozenset()),
            completes.get(letter, ""),
        )

    found = list(_ascii_kinds(starts))
    found += ((dot, dot, Kind(special="dot")) for dot in _DOTS[1:])
    for low, high in _within_blocks(sets.intersection(_points(), ((0x80, MAX),))):
        points = range(low, high + 1)
        asked: Iterator[object] = map(
            *(
                (kind, points)
                if high - low < UNIFORM
                else (unicodedata.bidirectional, map(chr, points))
            )
        )
        position = low
        for same, group in groupby(asked):
            count = sum(1 for _ in group)
            of = kind(position) if same else None
            if of is not None:
                found.append((position, position + count - 1, of))
            position += count
    return sorted(found, key=lambda entry: entry[0])


class Alphabet:
    """The characters of a format, and the partitions that its states have.

    Arguments:
        international: whether characters beyond ASCII are among them.
    """

    def __init__(self, *, international: bool) -> None:
        kinds = _kinds() if international else list(_ascii_kinds({}))
        self._starts = [low for low, _, _ in kinds]
        self._kinds = kinds
        classes: dict[Kind, list[tuple[int, int]]] = {}
        for low, high, kind in kinds:
            classes.setdefault(kind, []).append((low, high))
        ranges = tuple(map(sets.normalise, classes.values()))
        several = frozenset(number for number, kind in enumerate(classes) if kind.special != "dot")
        self.partition: Partition = from_classes(ranges)
        self.remembering: Partition = from_classes(ranges, several, several)
        self._dots = _DOTS if international else _DOTS[:1]
        letters = "abcdefghijklmnopqrstuvwxyz0123456789-"
        digits = (sets.of(letter + letter.upper()) for letter in letters)
        dots = sets.normalise((dot, dot) for dot in self._dots)
        self.digits: Partition = from_classes((*digits, dots))

    @cached_property
    def points(self) -> npt.NDArray[np.int64]:
        """The characters beyond ASCII that labels may hold, in order."""
        ranges = [np.arange(low, high + 1) for low, high, kind in self._kinds if kind.block]
        return np.concatenate(ranges)

    @cached_property
    def composing(self) -> tuple[int, ...]:
        """The characters that combine with what comes before them, or form another one with it."""
        return tuple(
            point
            for low, high, kind in self._kinds
            if kind.combining or kind.completes
            for point in range(low, high + 1)
        )

    def kind(self, character: int) -> Kind | None:
        """``None`` for a character that isn't in any name."""
        index = bisect_right(self._starts, character) - 1
        if index < 0 or character > self._kinds[index][1]:
            return None
        return self._kinds[index][2]

    def entries(self) -> Iterator[tuple[int, int, Kind]]:
        """Ranges of characters of one kind, in order."""
        return iter(self._kinds)

    def is_dot(self, character: int) -> bool:
        """Whether labels end here."""
        return character in self._dots


@lru_cache(maxsize=2)
def alphabet(international: bool) -> Alphabet:
    """The characters of ``idn-hostname``, or only those of ``hostname``."""
    return Alphabet(international=international)


_BASE, _LEAST, _MOST, _FIRST_BIAS = 36, 1, 26, 72


def _digits(delta: int, bias: int) -> int:
    """How many digits a number takes (RFC 3492, section 3.3)."""
    number, position = 1, _BASE
    while True:
        threshold = min(max(position - bias, _LEAST), _MOST)
        if delta < threshold:
            return number
        delta = (delta - threshold) // (_BASE - threshold)
        number, position = number + 1, position + _BASE


@lru_cache(maxsize=1)
def _thresholds() -> tuple[int, ...]:
    """The least numbers that may take 2, 3, ... digits, whatever the bias is."""
    found: list[int] = []
    for digits in range(2, 9):
        found.append(min(_least_number(digits, bias) for bias in range(7 * _BASE)))
    return tuple(found)


def _least_number(digits: int, bias: int) -> int:
    """The least number that takes so many digits."""
    least = 0
    for position in range((digits - 1) * _BASE, 0, -_BASE):
        threshold = min(max(position - bias, _LEAST), _MOST)
        least = threshold + (_BASE - threshold) * least
    return least


@lru_cache(maxsize=4096)
def encoded_bound(length: int, beyond: int, low: int, high: int) -> int:
    """A bound on the octets of an encoded label.

    The numbers that are encoded add up to little where the characters lie close together; those
    that take many digits are then few.

    Arguments:
        length: characters of the label.
        beyond: how many of them aren't ASCII, at least one.
        low: the first block of these.
        high: the last block of these.
    """
    basic = length - beyond
    first, last = _BLOCKS[low - 1], _BLOCKS[high] - 1
    total = (last - first) * length + beyond * (length + 1)
    octets = len("xn--") + basic + (basic > 0)
    octets += _digits((last - 0x80 + 1) * (basic + 1), _FIRST_BIAS)
    others = beyond - 1
    more: int = sum(min(others, total // least) for least in _thresholds())
    return octets + others + more
