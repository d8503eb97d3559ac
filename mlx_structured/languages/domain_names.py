"""The formats ``hostname`` and ``idn-hostname``: names of labels between dots.

RFC 1123, section 2.1, for labels of ASCII letters, digits and hyphens; RFC 5890 to 5893 (IDNA2008)
for labels of other characters, and for their encoded form (``xn--...``, RFC 3492). The tables are
those of the package ``idna``, for as many characters as Python's ``unicodedata`` knows. All other
labels with hyphens as third and fourth character are reserved (RFC 5890, section 2.3.1): they are
taken in ``hostname``, as RFC 1123 does, and not in ``idn-hostname``.

A state remembers the characters of a label beyond ASCII, as its octets depend on each of them. What
tokens may be offered is told by classes of characters, and by bounds on the octets. Left out are:

* a few encoded labels of nearly 63 octets, see :data:`~.encoded_labels.TRIES`;
* labels beyond ASCII that are too long at first and get shorter by another character.

Capital letters of an encoded label are read as small ones (RFC 5890, section 2.3.2.1; ``ulabel`` of
``idna``).
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise

import numpy as np

from mlx_structured.languages.characters import normalise
from mlx_structured.languages.ecma_pattern import match_language
from mlx_structured.languages.encoded_labels import PREFIX, completion, rest_of, rule_of
from mlx_structured.languages.encoded_lengths import octets_with
from mlx_structured.languages.expression import EMPTY, Language
from mlx_structured.languages.label import LAST, NOTHING, Label
from mlx_structured.languages.label_characters import Kind, alphabet
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
class Name(MachineState):
    """In a name, between two characters.

    Arguments:
        international: whether characters beyond ASCII may come.
        used: octets of the labels before this one, with their dots.
        rule: see :meth:`Label.rule`.
        label: what was read of the label.
        is_blurred: whether characters of one class aren't told apart.
    """

    international: bool
    used: int = 0
    rule: str = "open"
    label: Label = NOTHING
    is_blurred: bool = False

    @property
    def stepwise(self) -> bool:
        return self.label.beyond > 0

    @property
    def lasting(self) -> bool:
        return not self.international

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
        last = "".join(filter(self._may_end_with, LAST))
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
        of = alphabet(self.international)
        found = of.partition if self._goes_by_class else of.remembering
        if self._is_near_end:
            found = refine(found, _by_octets(self.label.text, self.room))
        if self.label.text:
            found = refine(found, _by_composition(_since_starter(self.label.text)))
        return found

    @property
    def _goes_by_class(self) -> bool:
        return self.is_blurred or not self.international

    @property
    def _is_near_end(self) -> bool:
        """Whether it takes more than classes to tell how much fits into the label."""
        label = self.label
        return label.text != "" and label.beyond > 0 and label.bound(_NEAR) > self.room

    @property
    def is_shown(self) -> bool:
        # Where the octets get few, the blurred state has the text so far.
        return False

    def blurred(self) -> Name:
        if self._goes_by_class:
            return self
        label = self.label if self._is_near_end else replace(self.label, text="")
        return replace(self, label=label, is_blurred=True)

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
        label = self.label.after(kind, self.rule, chr(character))
        if label is not None and self._goes_by_class:
            label = self._with_any(kind, label)
        elif label is not None and not label.fits(self.rule, self.room):
            label = None
        return EMPTY if label is None else machine(replace(self, label=label))

    def _with_any(self, kind: Kind, known: Label) -> Label | None:
        """The label with any character of the class, ``None`` where none is known to fit.

        Arguments:
            kind: of the characters.
            known: the label with one of them.
        """
        label = replace(known, text="")
        if label.bound(label.missing(self.rule)) <= self.room:
            return label
        if not self.label.text:
            return None
        if kind.special in _SINGLE or not kind.block:
            return known if known.fits(self.rule, self.room) else None
        fits = known.rule(self.rule) is not None and known.octets <= self.room
        return replace(label, sealed=known.octets) if fits else None


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
    return machine(Name(name.international, used, rule, is_blurred=name.is_blurred))


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
