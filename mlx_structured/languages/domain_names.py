"""The formats ``hostname`` and ``idn-hostname``: names of labels between dots.

RFC 1123, section 2.1, for labels of ASCII letters, digits and hyphens; RFC 5890 to 5893 (IDNA2008)
for labels of other characters, and for their encoded form (``xn--...``, RFC 3492). The tables are
those of the package ``idna``, for as many characters as Python's ``unicodedata`` knows. All other
labels with hyphens as third and fourth character are reserved (RFC 5890, section 2.3.1): they are
taken in ``hostname``, as RFC 1123 does, and not in ``idn-hostname``.

A text is read character by character, each of which is known then. Looking ahead goes by classes
of characters, and judges by bounds what fits: some of what may follow isn't seen. Left out are:

* a few encoded labels of nearly 63 octets, see :data:`~.encoded_labels.TRIES`;
* labels beyond ASCII that are too long at first and get shorter by another character.

Capital letters of an encoded label are read as small ones (RFC 5890, section 2.3.2.1; ``ulabel`` of
``idna``).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise

import numpy as np

from mlx_structured.languages.characters import MAX, normalise
from mlx_structured.languages.ecma_pattern import match_language
from mlx_structured.languages.encoded_labels import PREFIX, completion, rest_of, rule_of
from mlx_structured.languages.encoded_lengths import octets_with
from mlx_structured.languages.expression import EMPTY, Language
from mlx_structured.languages.label_characters import (
    CAPITALS,
    Kind,
    alphabet,
    encoded_bound,
)
from mlx_structured.languages.machine import MachineState, machine
from mlx_structured.languages.partition import Partition, from_classes, refine

MOST_IN_LABEL = 63
MOST_IN_NAME = 253
MOST_ASCII = 127
_COUNTED = 5
"""From so many characters on it makes no difference where in its label a character is."""


@lru_cache(maxsize=1)
def hostname() -> Language:
    """RFC 1123, section 2.1, with encoded labels; 63 octets a label, 253 in all."""
    return machine(Name(international=False))


@lru_cache(maxsize=1)
def idn_hostname() -> Language:
    """RFC 5890, section 2.3.2.3: labels of Unicode, of ASCII and encoded ones."""
    return machine(Name(international=True))


@dataclass(frozen=True)
class Label:
    """What was read of a label.

    Arguments:
        length: characters.
        beyond: characters beyond ASCII.
        low: the first block of these, ``high`` the last.
        capital: whether a capital letter of ASCII was among the characters.
        first: direction of the first character: ``"L"``, ``"R"``, ``"-"`` for none, or ``""``.
        ends: whether the last character but marks is one that the Bidi rule lets a label end in.
        number: ``"EN"`` or ``"AN"`` for the digits of a label from right to left.
        digits: ``"arabic"`` or ``"extended"``, which don't go together.
        last: what the last character was, where that matters.
        pending: what has to come next.
        joins: whether the last character but transparent ones joins what comes after it.
        dot: ``"alone"`` after a katakana middle dot without Japanese letters, ``"free"`` with them.
        combining: the combining class of the last character.
        starts: the compositions that the last letter begins.
        prefix: how many characters are a beginning of ``xn--``.
        text: the characters, as far as it matters which of its class each is; or ``""``.
        exact: whether each character of the text is known, and not just its class.
        sealed: where not 0, the label ends here and has so many octets.
    """

    length: int = 0
    beyond: int = 0
    low: int = MAX
    high: int = 0
    capital: bool = False
    first: str = ""
    ends: bool = False
    number: str = ""
    digits: str = ""
    last: str = ""
    pending: str = ""
    joins: bool = False
    dot: str = ""
    combining: int = 0
    starts: frozenset[str] = frozenset()
    prefix: int = 0
    text: str = ""
    exact: bool = True
    sealed: int = 0

    @property
    def is_exact(self) -> bool:
        """Whether all characters are known."""
        return self.text != "" and self.exact

    @property
    def octets(self) -> int:
        """As many as there are, or a bound where the text isn't known."""
        if not self.beyond:
            return self.length
        if self.text:
            return len(PREFIX) + len(self.text.encode("punycode"))
        return self.sealed or self.bound(0)

    def bound(self, more: int) -> int:
        """A bound on the octets, with so many characters more of the same kind."""
        if not self.beyond:
            return self.length + more
        return encoded_bound(self.length + more, self.beyond + more, self.low, self.high)

    def fits(self, rule: str, room: int) -> bool:
        """Whether it can be ended within so many octets."""
        if self.bound(self.missing(rule)) <= room:
            return True
        if self.rule(rule) is not None:
            return self.octets <= room
        return bool(self.text) and any(
            after.rule(rule) is not None and after.octets <= room
            for after in self._continued(rule, self.missing(rule))
        )

    def _continued(self, rule: str, more: int) -> Iterator[Label]:
        """With so many characters more that are likely to end it in few octets."""
        for letter in dict.fromkeys(_LAST + self.text):
            kind = alphabet(True).kind(ord(letter))
            after = None if kind is None else self.after(kind, rule, letter)
            if after is not None:
                if more > 1:
                    yield from after._continued(rule, more - 1)
                else:
                    yield after

    def rule(self, rule: str) -> str | None:
        """How the Bidi rule (RFC 5893, section 2) applies to a name with this label.

        ``"open"`` for a name without a label from right to left so far in which all labels satisfy
        the rule, ``"on"`` with such a label, ``"off"`` where a label doesn't satisfy it. ``None``
        where the label can't end.
        """
        if not self.length or self.last == "-" or self.pending or self.dot == "alone":
            return None
        if self.first == "R":
            return "on" if self.ends else None
        if self.first == "L" and self.ends:
            return rule
        return None if rule == "on" else "off"

    def missing(self, rule: str) -> int:
        """How many characters have to come at least."""
        if self.rule(rule) is not None:
            return 0
        return 2 if self.pending and self.dot == "alone" else 1

    def after(
        self, kind: Kind, rule: str, letter: str = "", *, kept: bool = True, exact: bool = True
    ) -> Label | None:
        """One character more.

        Arguments:
            kind: of the character.
            rule: see :meth:`rule`.
            letter: the character, or one that composes as it does; ``""`` for any of its kind.
            kept: whether the letter is remembered.
            exact: whether it is the one that came, and not just as long.
        """
        if self.sealed or not self._allows(kind, rule, letter):
            return None
        first = self.first or _DIRECTIONS.get(kind.bidi, "-")
        neutral = kind.bidi == "NSM"
        strong = kind.bidi in (("R", "AL", "EN", "AN") if first == "R" else ("L", "EN"))
        number = kind.bidi if first == "R" and kind.bidi in ("EN", "AN") else self.number
        pending = {"middle dot": "l", "keraia": "greek"}.get(kind.special, "")
        if kind.special == "non-joiner" and self.last != "virama":
            pending = "join"
        if self.pending == "join" and kind.joining == "T":
            pending = "join"
        dot = self.dot
        if kind.special == "katakana dot" and dot != "free":
            dot = "alone"
        elif kind.script == "japanese":
            dot = "free"
        matches = self.prefix == self.length and PREFIX.startswith(
            kind.special.lower(), self.length
        )
        known = letter != "" and kept and len(self.text) == self.length
        text = self.text + letter if known else ""
        return Label(
            length=self.length + 1,
            beyond=self.beyond + (kind.block > 0),
            low=min(self.low, kind.block) if kind.block else self.low,
            high=max(self.high, kind.block),
            capital=self.capital or kind.special in CAPITALS,
            first=first,
            ends=self.ends if neutral else strong,
            number=number,
            digits=kind.special if kind.special in ("arabic", "extended") else self.digits,
            last=kind.special if kind.special in ("l", "-") else kind.script,
            pending=pending,
            joins=self.joins if kind.joining == "T" else kind.joining == "D",
            dot=dot,
            combining=kind.combining,
            starts=self.starts if kind.combining else kind.starts,
            prefix=self.prefix + 1 if matches and kind.special else 0,
            text=text,
            exact=self.exact and exact and text != "",
        )

    def _allows(self, kind: Kind, rule: str, letter: str) -> bool:
        special = kind.special
        if not self.length:
            if kind.mark or special == "-" or (rule == "on" and kind.bidi not in _DIRECTIONS):
                return False
            if kind.bidi in ("R", "AL") and rule == "off":
                return False
            if kind.bidi == "AN":
                return False
        elif self.first == "R":
            if kind.bidi == "L" or special in ("middle dot", "keraia", "katakana dot"):
                return False
            if kind.bidi in ("EN", "AN") and self.number not in ("", kind.bidi):
                return False
        elif kind.bidi in ("R", "AL", "AN"):
            return False
        if self.pending == "l" and special != "l":
            return False
        if self.pending == "greek" and kind.script != "greek":
            return False
        if self.pending == "join" and kind.joining not in ("T", "R", "D"):
            return False
        if (self.capital and kind.block) or (self.beyond and special in CAPITALS):
            return False
        if special == "middle dot" and self.last != "l":
            return False
        if special == "geresh" and self.last != "hebrew":
            return False
        if special == "joiner" and self.last != "virama":
            return False
        if special == "non-joiner" and self.last != "virama" and not self.joins:
            return False
        if special in ("arabic", "extended") and self.digits not in ("", special):
            return False
        if letter and self.is_exact:
            return unicodedata.is_normalized("NFC", self.text + letter)
        if kind.combining and self.combining > kind.combining:
            return False
        return kind.completes not in self.starts


_DIRECTIONS = {"L": "L", "R": "R", "AL": "R"}


@dataclass(frozen=True)
class Name(MachineState):
    """In a name, between two characters.

    Arguments:
        international: whether characters beyond ASCII may come.
        used: octets of the labels before this one, with their dots.
        rule: see :meth:`Label.rule`.
        label: what was read of the label.
    """

    international: bool
    used: int = 0
    rule: str = "open"
    label: Label = Label()

    @property
    def stepwise(self) -> bool:
        return self.label.beyond > 0

    @property
    def shortest(self) -> int:
        return self.label.missing(self.rule)

    @property
    def longest(self) -> int:
        return MOST_IN_NAME - self.used - self.label.length

    @property
    def room(self) -> int:
        """The most octets that the label may have."""
        return min(MOST_IN_LABEL, MOST_IN_NAME - self.used)

    @property
    def hint(self) -> str:
        label = self.label
        if not label.length or (label.length < 60 and not label.beyond):
            return "a"
        return "" if label.rule(self.rule) is None else "."

    @property
    def common_words(self) -> Language | None:
        label = self.label
        if label.rule(self.rule) is not None:
            return _common_words("" if label.beyond else "(?:-?[0-9A-Za-z]+)*", self.rule == "on")
        if not label.beyond and self.rule != "on":
            return _common_words("[0-9A-Za-z]+(?:-[0-9A-Za-z]+)*", False)
        last = "".join(filter(self._may_end_with, _LAST))
        return _common_words(f"[{last}]", self.rule == "on") if last else None

    def _may_end_with(self, letter: str) -> bool:
        return self.after(ord(letter)).nullable

    @property
    def counter(self) -> int:
        return 0 if self.international else MOST_IN_NAME

    def capped(self, bound: int) -> Name:
        # A label that begins within the bound needs room for as many octets as any.
        if self.used + self.label.length + bound + MOST_IN_LABEL + 2 > MOST_IN_NAME:
            return self
        label = self.label
        if label.length > _COUNTED and label.length + bound < MOST_IN_LABEL:
            label = replace(label, length=_COUNTED)
        return replace(self, used=0, label=label)

    def partition(self) -> Partition:
        found = alphabet(self.international).partition
        if self._is_near_end:
            found = refine(found, _by_octets(self.label.text, self.room))
        if self.label.is_exact:
            found = refine(found, _by_composition(_since_starter(self.label.text)))
        return found

    @property
    def _is_near_end(self) -> bool:
        """Whether it takes more than classes to tell how much fits into the label."""
        label = self.label
        return label.text != "" and label.beyond > 0 and label.bound(_NEAR) > self.room

    @property
    def approximate(self) -> bool:
        return self.international

    def by_class(self) -> Name:
        if not self.label.text or self._is_near_end:
            return self
        return replace(self, label=replace(self.label, text="", exact=True))

    def after_exactly(self, character: int) -> Language:
        kind = alphabet(self.international).kind(character)
        if kind is None or self._ends_or_is_encoded(kind) or self._is_reserved(kind):
            return self.after(character)
        label = self.label.after(kind, self.rule, chr(character))
        if label is None or not label.fits(self.rule, self.room):
            return EMPTY
        return machine(replace(self, label=label))

    def _ends_or_is_encoded(self, kind: Kind) -> bool:
        return kind.special == "dot" or (
            kind.special == "-" and self.label.prefix == self.label.length == len(PREFIX) - 1
        )

    def _is_reserved(self, kind: Kind) -> bool:
        """Whether it's the second of two hyphens that only encoded labels have there."""
        label = self.label
        return (
            kind.special == "-" and self.international and label.length == 3 and label.last == "-"
        )

    def after(self, character: int) -> Language:
        kind = alphabet(self.international).kind(character)
        if kind is None:
            return EMPTY
        if kind.special == "dot":
            rule = self.label.rule(self.rule)
            return EMPTY if rule is None else next_label(self, self.label.octets, rule)
        if self._ends_or_is_encoded(kind):
            return encoded(self, "")
        if self._is_reserved(kind):
            return EMPTY
        letter = chr(character) if self.label.is_exact else ""
        label = self.label.after(kind, self.rule, letter, kept=False)
        if label is None:
            return EMPTY
        if label.bound(label.missing(self.rule)) > self.room:
            label = self._tight(label, kind, chr(character))
        return EMPTY if label is None else machine(replace(self, label=label))

    def _tight(self, label: Label, kind: Kind, letter: str) -> Label | None:
        """The label after a letter, where the bound is too coarse to tell that it fits."""
        single = kind.special in _SINGLE
        known = self.label.after(kind, self.rule, letter, exact=single)
        if not self.label.text or known is None:
            return None
        if single or not kind.block:
            return known if known.fits(self.rule, self.room) else None
        octets = known.octets
        fits = known.rule(self.rule) is not None and octets <= self.room
        return replace(label, sealed=octets) if fits else None


_SINGLE = ("middle dot", "keraia", "non-joiner", "joiner", "katakana dot")
"""The roles of one character each."""

_NEAR = 3
"""Where so many characters more might not fit, octets are counted."""


@lru_cache(maxsize=64)
def _by_octets(text: str, room: int) -> Partition:
    """The characters by how many octets the label has after each, and those after which too many.

    Arguments:
        text: the label so far.
        room: the most octets.
    """
    points = alphabet(True).points
    octets = octets_with(text, points)
    octets[octets > room] = room + 1
    breaks = np.flatnonzero((np.diff(octets) != 0) | (np.diff(points) != 1)) + 1
    classes: dict[int, list[tuple[int, int]]] = {}
    for begin, end in pairwise([0, *breaks.tolist(), len(points)]):
        low, high = int(points[begin]), int(points[end - 1])
        classes.setdefault(int(octets[begin]), []).append((low, high))
    return from_classes(tuple(map(normalise, classes.values())))


def _since_starter(text: str) -> str:
    """The last character that doesn't combine, and all after it."""
    begin = len(text) - 1
    while begin > 0 and unicodedata.combining(text[begin]):
        begin -= 1
    return text[begin:]


@lru_cache(maxsize=256)
def _by_composition(text: str) -> Partition:
    """Those that may come after the text, and those that make it another one (form C)."""
    points = alphabet(True).composing
    fits = [point for point in points if unicodedata.is_normalized("NFC", text + chr(point))]
    return from_classes((normalise((point, point) for point in fits),))


_LAST = "al0\u03b1\u05d0\u0628\u3042\u4e08"
"""One of these ends nearly every label that may not end yet."""


@lru_cache(maxsize=512)
def _common_words(first: str, strict: bool) -> Language:
    """What the pattern matches, and labels of ASCII; ``strict`` where none begins with a digit."""
    start = "[A-Za-z]" if strict else "[0-9A-Za-z]"
    return match_language(rf"{first}(?:\.{start}(?:-?[0-9A-Za-z]+)*)*")


def next_label(name: Name, octets: int, rule: str) -> Language:
    """After a label of so many octets and its dot."""
    used = name.used + octets + 1
    if used >= MOST_IN_NAME:
        return EMPTY
    return machine(Name(name.international, used, rule))


def encoded(name: Name, text: str, known: str | None = None) -> Language:
    """After ``xn--`` and the text. ``known`` completes it, if that was found before."""
    room = name.room - len(PREFIX)
    rest = completion(text, room, name.rule) if known is None else known
    return EMPTY if rest is None else machine(Encoded(name, text, rest))


@dataclass(frozen=True, eq=False)
class Encoded(MachineState):
    """In an encoded label.

    Arguments:
        name: the name at the beginning of the label.
        text: what was read after ``xn--``.
        rest: what makes it a valid label.
    """

    name: Name
    text: str
    rest: str

    stepwise = True
    # Each letter takes a search, so that the one that comes is asked about alone.
    approximate = True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Encoded) and (self.name, self.text) == (other.name, other.text)

    def __hash__(self) -> int:
        return hash((self.name, self.text))

    @property
    def shortest(self) -> int:
        return 0 if rule_of(self.text, self.name.rule) is not None else 1

    @property
    def longest(self) -> int:
        return MOST_IN_NAME - self.name.used - len(PREFIX) - len(self.text)

    @property
    def hint(self) -> str:
        return self.rest or "."

    def partition(self) -> Partition:
        return alphabet(self.name.international).digits

    def after(self, character: int) -> Language:
        if alphabet(self.name.international).is_dot(character):
            rule = rule_of(self.text, self.name.rule)
            octets = len(PREFIX) + len(self.text)
            return EMPTY if rule is None else next_label(self.name, octets, rule)
        if character > MOST_ASCII:
            return EMPTY
        letter = chr(character).lower()
        if letter not in _DIGITS:
            return EMPTY
        return encoded(self.name, self.text + letter, rest_of(self.rest, letter))


_DIGITS = "abcdefghijklmnopqrstuvwxyz0123456789-"
