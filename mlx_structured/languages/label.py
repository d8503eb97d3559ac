"""What was read of a label of a domain name: the rules for its characters, and its length.

RFC 5892 and 5893 (IDNA2008), RFC 3492 (Punycode), Unicode Standard Annex 15 (normalization form C).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from mlx_structured.languages.characters import MAX
from mlx_structured.languages.encoded_labels import PREFIX
from mlx_structured.languages.label_characters import CAPITALS, Kind, alphabet, encoded_bound


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
        text: the characters, or ``""`` where only the class of each is known.
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
    sealed: int = 0

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
        for letter in dict.fromkeys(LAST + self.text):
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

    def after(self, kind: Kind, rule: str, letter: str) -> Label | None:
        """One character more.

        Arguments:
            kind: of the character.
            rule: see :meth:`rule`.
            letter: the character, or one that composes as it does.
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
            text=self.text + letter if len(self.text) == self.length else "",
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
        if self.text:
            return unicodedata.is_normalized("NFC", self.text + letter)
        if kind.combining and self.combining > kind.combining:
            return False
        return kind.completes not in self.starts


NOTHING = Label()
"""Before its first character."""

_DIRECTIONS = {"L": "L", "R": "R", "AL": "R"}

LAST = "al0\u03b1\u05d0\u0628\u3042\u4e08"
"""One of these ends nearly every label that may not end yet."""
