"""A recogniser of regular expressions, written rule by rule from ECMA-262 2025, 22.2.1.

Recursive descent over the text with the parameters ``+UnicodeMode +NamedCaptureGroups``, and the
early errors of 22.2.1.1 when the whole pattern is known.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import regex

from mlx_structured.languages.unicode_properties import property_names

SYNTAX_CHARACTERS = frozenset("^$\\.*+?()[]{}|")
DIGITS = frozenset("0123456789")
HEX_DIGITS = frozenset("0123456789abcdefABCDEF")
ASCII_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
CONTROLS = {"f": 0x0C, "n": 0x0A, "r": 0x0D, "t": 0x09, "v": 0x0B}

Path = tuple[tuple[int, int], ...]
"""For each disjunction around a group: which one it is, and the number of the alternative."""


class GrammarError(Exception):
    """The text is no pattern."""


def is_regular_expression(text: str) -> bool:
    """Whether the text is a ``Pattern`` without early errors."""
    try:
        _Recogniser(text).pattern()
    except GrammarError:
        return False
    return True


@dataclass
class _Recogniser:
    text: str
    at: int = 0
    disjunctions: int = 0
    path: Path = ()
    groups: int = 0
    names: list[tuple[str, Path]] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    referred: list[str] = field(default_factory=list)

    def sees(self, text: str) -> bool:
        return self.text.startswith(text, self.at)

    def takes(self, text: str) -> bool:
        if not self.sees(text):
            return False
        self.at += len(text)
        return True

    def wants(self, text: str) -> None:
        if not self.takes(text):
            raise GrammarError

    @property
    def next(self) -> str:
        return self.text[self.at : self.at + 1]

    def any_of(self, characters: frozenset[str]) -> str:
        found = self.next
        if not found or found not in characters:
            raise GrammarError
        self.at += 1
        return found

    def pattern(self) -> None:
        self.disjunction()
        if self.at < len(self.text):
            raise GrammarError
        if any(number > self.groups for number in self.numbers):
            raise GrammarError
        if not {name for name, _ in self.names}.issuperset(self.referred):
            raise GrammarError
        for place, (name, path) in enumerate(self.names):
            for other, other_path in self.names[:place]:
                if name == other and might_both_participate(path, other_path):
                    raise GrammarError

    def disjunction(self) -> None:
        self.disjunctions += 1
        outer, number, alternative = self.path, self.disjunctions, 0
        self.path = (*outer, (number, alternative))
        self.alternative()
        while self.takes("|"):
            alternative += 1
            self.path = (*outer, (number, alternative))
            self.alternative()
        self.path = outer

    def alternative(self) -> None:
        while self.next and self.next not in "|)":
            self.term()

    def term(self) -> None:
        if any(map(self.takes, ("^", "$", "\\b", "\\B"))):
            return
        if any(map(self.takes, ("(?=", "(?!", "(?<=", "(?<!"))):
            self.disjunction()
            self.wants(")")
            return
        self.atom()
        self.quantifier()

    def quantifier(self) -> None:
        if self.takes("{"):
            low = self.decimal_digits()
            high: int | None = low
            if self.takes(","):
                high = self.decimal_digits() if self.next in DIGITS else None
            self.wants("}")
            if high is not None and low > high:
                raise GrammarError
        elif not any(map(self.takes, "*+?")):
            return
        self.takes("?")

    def decimal_digits(self) -> int:
        digits = self.any_of(DIGITS)
        while self.next and self.next in DIGITS:
            digits += self.any_of(DIGITS)
        return int(digits)

    def atom(self) -> None:
        if self.takes("."):
            return
        if self.takes("["):
            self.takes("^")
            self.class_contents()
        elif self.takes("\\"):
            self.atom_escape()
        elif self.takes("("):
            if self.takes("?"):
                if self.takes("<"):
                    self.groups += 1
                    self.names.append((self.group_name(), self.path))
                else:
                    self.modifiers()
            else:
                self.groups += 1
            self.disjunction()
            self.wants(")")
        elif not self.next or self.next in SYNTAX_CHARACTERS:
            raise GrammarError
        else:
            self.at += 1

    def modifiers(self) -> None:
        added, removed, both = [], [], False
        while self.next and self.next in "ims":
            added.append(self.any_of(frozenset("ims")))
        if self.takes("-"):
            both = True
            while self.next and self.next in "ims":
                removed.append(self.any_of(frozenset("ims")))
        self.wants(":")
        flags = added + removed
        if len(set(flags)) < len(flags) or (both and not flags):
            raise GrammarError

    def atom_escape(self) -> None:
        if self.next and self.next in DIGITS and self.next != "0":
            self.numbers.append(self.decimal_digits())
        elif self.takes("k"):
            self.wants("<")
            self.referred.append(self.group_name())
        elif not self.character_class_escape():
            self.character_escape()

    def group_name(self) -> str:
        name = ""
        while not self.takes(">"):
            if self.takes("\\"):
                self.wants("u")
                value = self.unicode_escape()
            elif self.next:
                value = ord(self.next)
                self.at += 1
            else:
                raise GrammarError
            if not (is_name_part if name else is_name_start)(value):
                raise GrammarError
            name += chr(value)
        if not name:
            raise GrammarError
        return name

    def character_class_escape(self) -> bool:
        if any(map(self.takes, "dDsSwW")):
            return True
        if not (self.takes("p") or self.takes("P")):
            return False
        self.wants("{")
        end = self.text.find("}", self.at)
        if end < 0 or self.text[self.at : end] not in property_names():
            raise GrammarError
        self.at = end + 1
        return True

    def character_escape(self) -> int:
        if self.next and self.next in CONTROLS:
            return CONTROLS[self.any_of(frozenset(CONTROLS))]
        if self.takes("c"):
            return ord(self.any_of(ASCII_LETTERS)) % 32
        if self.takes("0"):
            if self.next and self.next in DIGITS:
                raise GrammarError
            return 0
        if self.takes("x"):
            return self.hex_digits(2)
        if self.takes("u"):
            return self.unicode_escape()
        return ord(self.any_of(SYNTAX_CHARACTERS | {"/"}))

    def hex_digits(self, number: int) -> int:
        return int("".join(self.any_of(HEX_DIGITS) for _ in range(number)), 16)

    def unicode_escape(self) -> int:
        if self.takes("{"):
            digits = self.any_of(HEX_DIGITS)
            while self.next and self.next in HEX_DIGITS:
                digits += self.any_of(HEX_DIGITS)
            self.wants("}")
            if int(digits, 16) > 0x10FFFF:
                raise GrammarError
            return int(digits, 16)
        lead = self.hex_digits(4)
        before = self.at
        if 0xD800 <= lead <= 0xDBFF and self.takes("\\u"):
            try:
                trail = self.hex_digits(4)
            except GrammarError:
                trail = 0
            if 0xDC00 <= trail <= 0xDFFF:
                return (lead - 0xD800) * 0x400 + (trail - 0xDC00) + 0x10000
        self.at = before
        return lead

    def class_contents(self) -> None:
        while not self.takes("]"):
            low = self.class_atom()
            if self.sees("-") and not self.sees("-]"):
                self.at += 1
                high = self.class_atom()
                if low is None or high is None or low > high:
                    raise GrammarError

    def class_atom(self) -> int | None:
        """The character, ``None`` for a set."""
        if not self.next:
            raise GrammarError
        if not self.takes("\\"):
            self.at += 1
            return ord(self.text[self.at - 1])
        if self.takes("b"):
            return 0x08
        if self.takes("-"):
            return ord("-")
        return None if self.character_class_escape() else self.character_escape()


def might_both_participate(path: Path, other: Path) -> bool:
    """22.2.1.4: unless they stand in different alternatives of one disjunction."""
    alternatives = dict(path)
    return all(alternatives.get(each, number) == number for each, number in other)


def is_name_start(value: int) -> bool:
    return value in map(ord, "$_") or regex.match(r"\p{ID_Start}", chr(value)) is not None


def is_name_part(value: int) -> bool:
    zero_width = (0x200C, 0x200D)
    return (
        value == ord("$")
        or value in zero_width
        or regex.match(r"\p{ID_Continue}", chr(value)) is not None
    )
