"""Encoded labels of domain names (RFC 5890, section 2.3.2.1): ``xn--`` and a label in Punycode."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice, product

import idna

PREFIX = "xn--"

_LETTERS = ("\u00df", "\u03c2", "\u05d0", "\u0628", "\u0915", "\u3042", "\u4e08", "\uac00")
"""What is inserted to make a label valid."""

TRIES = 400
"""So many labels are tried before a text is given up."""


def rule_of(text: str, rule: str) -> str | None:
    """The Bidi rule after an encoded label, ``None`` where the text isn't one.

    Arguments:
        text: what stands after ``xn--``.
        rule: as before the label, see :meth:`~.domain_names.Label.rule`.
    """
    after = _rule(text)
    if after is None or rule == "open":
        return after
    return rule if after in ("open", rule) else None


@lru_cache(maxsize=4096)
def _rule(text: str) -> str | None:
    """The Bidi rule after a name of this label alone."""
    try:
        label = text.encode("ascii").decode("punycode")
        if label.isascii() or label.encode("punycode").decode("ascii") != text:
            return None
        idna.check_label(label)
    except ValueError:
        return None
    try:
        idna.check_bidi(label, check_ltr=True)
    except idna.IDNABidiError:
        return "off"
    return "open" if unicodedata.bidirectional(label[0]) == "L" else "on"


@lru_cache(maxsize=4096)
def completion(text: str, room: int, rule: str) -> str | None:
    """What may follow a text to make it a valid label, ``None`` if nothing was found.

    Arguments:
        text: what stands after ``xn--``.
        room: the most characters after ``xn--``.
        rule: see :func:`rule_of`.
    """
    if len(text) > room:
        return None
    for candidate in islice(_candidates(text, room), TRIES):
        if rule_of(candidate, rule) is not None:
            return candidate[len(text) :]
    return None


def _candidates(text: str, room: int) -> Iterator[str]:
    """Texts that go on from this one."""
    yield text
    for label in _extended(text):
        # Read as the characters of ASCII in the label, the text is as good as any.
        encoded = _encoded(label)
        if len(encoded) <= room and encoded.startswith(text):
            yield encoded
    for count in range(1, min(room - len(text), 3) + 1):
        for digits in product("abcdefghijklmnopqrstuvwxyz0123456789", repeat=count):
            yield text + "".join(digits)


def _extended(text: str) -> Iterator[str]:
    """Labels that have the text as their characters of ASCII, with few others."""
    for letter in _LETTERS:
        for label in (text, letter + text):
            if label.startswith("-"):
                continue
            if label[2:4] == "--":
                label = label[:3] + letter + label[3:]  # noqa: PLW2901
            yield label + letter if label.endswith("-") or label == text else label


def _encoded(label: str) -> str:
    return label.encode("punycode").decode("ascii")


def rest_of(rest: str, letter: str) -> str | None:
    """What is left of a completion after its first letter, ``None`` after any other."""
    return rest[1:] if rest.startswith(letter) else None
