"""Regular expressions of ECMA-262 (2024, 22.2) with the u flag, which JSON Schema's ``pattern`` is.

Beyond that grammar what Annex B allows without the u flag is accepted where it can't mean anything
else: ``\\-`` and other escaped punctuation, ``{``, ``}`` and ``]`` that open or close nothing, and
quantified lookaheads. Greedy or lazy makes no difference to which strings match.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from weakref import WeakValueDictionary

from mlx_structured.errors import PatternError
from mlx_structured.languages import characters as sets
from mlx_structured.languages.algebra import characters, is_string, repetition, union
from mlx_structured.languages.assertions import (
    Ahead,
    Alternatives,
    Behind,
    End,
    Item,
    Loop,
    WordBoundary,
    alternatives,
    language_of,
    sequence,
)
from mlx_structured.languages.characters import Ranges
from mlx_structured.languages.expression import EPSILON, EVERYTHING, Language
from mlx_structured.languages.unicode_properties import property_set

_QUANTIFIER = re.compile(r"(?:\*|\+|\?|\{([0-9]+)(?:(,)([0-9]*))?\})\??")
_GROUP = re.compile(r"\((?:\?(?:(:|=|!|<=|<!)|<([^>]*)>))?")
_MODIFIERS = re.compile(r"\(\?[ims]*(?:-[ims]*)?:")
_BACK_REFERENCE = re.compile(r"\\(?:([1-9][0-9]*)|k<([^>]*)>)")
_CONTROLS = {"t": 0x09, "n": 0x0A, "v": 0x0B, "f": 0x0C, "r": 0x0D}
_CLASSES = {"d": sets.DIGITS, "w": sets.WORD, "s": sets.WHITESPACE}
_LOOKAROUNDS = ("=", "!", "<=", "<!")
_HEXADECIMAL = re.compile(r"[0-9A-Fa-f]+")
_LOW_SURROGATE = re.compile(r"\\u([Dd][C-Fc-f][0-9A-Fa-f]{2})")

LOOKAROUND_DEPTH = 100
"""Lookarounds are nested no deeper than this."""

_searches: WeakValueDictionary[str, Language] = WeakValueDictionary()
_matches: WeakValueDictionary[str, Language] = WeakValueDictionary()


def search_language(pattern: str) -> Language:
    """All strings in which the pattern is found somewhere, as JSON Schema's ``pattern`` wants.

    Raises:
        PatternError: for a malformed pattern; with ``supported=False`` for a back-reference, and
            for other valid constructs that can't be enforced.
    """
    found = _searches.get(pattern)
    if found is None:
        item = parse(pattern)
        choices = item.items if isinstance(item, Alternatives) else (item,)
        found = union(language_of([EVERYTHING, choice, EVERYTHING]) for choice in choices)
        _searches[pattern] = found
    return found


def match_language(pattern: str) -> Language:
    """All strings that the pattern matches as a whole.

    Raises:
        PatternError: as :func:`search_language`.
    """
    found = _matches.get(pattern)
    if found is None:
        found = _matches[pattern] = language_of([parse(pattern)])
    return found


@dataclass
class _Group:
    """An open group: what was read of it so far.

    ``kind`` is the text after ``(?``, ``depth`` the number of lookarounds around the content.
    """

    kind: str
    branches: list[Item] = field(default_factory=list)
    items: list[Item] = field(default_factory=list)
    looks_ahead: bool = False
    depth: int = 0

    def close_branch(self) -> None:
        self.branches.append(sequence(self.items))
        self.items = []


def parse(pattern: str) -> Item:
    """The pattern as an expression, or as items where it has assertions."""
    if not is_string(pattern):
        # Two surrogates in a row are one character with the u flag.
        pattern = pattern.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    return _Parser(pattern).parse()


class _Parser:
    """Reads from left to right, with a stack of open groups in place of recursion."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.position = 0
        self.captures = 0
        self.references: set[str] = set()
        self.back_reference: tuple[str, PatternError, PatternError] | None = None

    def error(self, reason: str) -> PatternError:
        return PatternError(self.pattern, f"{reason} at position {self.position}")

    def unsupported(self, construct: str) -> PatternError:
        return PatternError(
            self.pattern,
            f"{construct} at position {self.position} can't be enforced",
            supported=False,
        )

    def peek(self, text: str) -> bool:
        return self.pattern.startswith(text, self.position)

    def take(self, text: str) -> bool:
        """Step over the text, if it is next."""
        if not self.peek(text):
            return False
        self.position += len(text)
        return True

    def parse(self) -> Item:
        groups = [_Group("")]
        while self.position < len(self.pattern):
            group = groups[-1]
            if self.peek("("):
                kind = self.open_group()
                depth = group.depth + (kind in _LOOKAROUNDS)
                if depth > LOOKAROUND_DEPTH:
                    raise self.unsupported(f"more than {LOOKAROUND_DEPTH} nested lookarounds")
                groups.append(_Group(kind, depth=depth))
            elif self.take("|"):
                group.close_branch()
            elif self.peek(")"):
                if len(groups) == 1:
                    raise self.error("unmatched )")
                self.position += 1
                groups.pop()
                groups[-1].looks_ahead |= group.looks_ahead or group.kind in ("=", "!")
                groups[-1].items.append(self.quantified(self.close_group(group), group.kind))
            else:
                group.items.append(self.term(group))
        if len(groups) > 1:
            raise self.error("missing )")
        if self.back_reference is not None:
            # Only now are all groups known: one that doesn't exist makes the pattern malformed.
            name, unsupported, malformed = self.back_reference
            raise unsupported if name in self.references else malformed
        groups[0].close_branch()
        return alternatives(groups[0].branches)

    def open_group(self) -> str:
        opening = _GROUP.match(self.pattern, self.position)
        assert opening is not None
        kind, name = opening.groups()
        if name is not None:
            if not name.replace("$", "_").isidentifier():
                raise self.error(f"invalid group name {name!r}")
            self.references.add(name)
        elif kind is None and self.peek("(?"):
            if _MODIFIERS.match(self.pattern, self.position):
                raise self.unsupported("the modifiers of a group")
            raise self.error("invalid group")
        if kind is None:
            self.captures += 1
            self.references.add(str(self.captures))
        self.position = opening.end()
        return kind or ""

    def close_group(self, group: _Group) -> Item:
        group.close_branch()
        body = alternatives(group.branches)
        if group.kind in ("=", "!"):
            return Ahead(body, negative=group.kind == "!")
        if group.kind in ("<=", "<!"):
            if group.looks_ahead:
                raise self.unsupported("a lookahead, $ or word boundary in a lookbehind")
            return Behind(language_of([EVERYTHING, body]), negative=group.kind == "<!")
        return body

    def term(self, group: _Group) -> Item:
        """An assertion, or an atom with its quantifier."""
        if self.take("^"):
            return self.unquantified(Behind(EPSILON))
        if self.take("$"):
            group.looks_ahead = True
            return self.unquantified(End())
        for text, negative in (("\\b", False), ("\\B", True)):
            if self.take(text):
                group.looks_ahead = True
                return self.unquantified(WordBoundary(negative))
        reference = _BACK_REFERENCE.match(self.pattern, self.position)
        if reference is not None:
            name = reference.group(1) or reference.group(2)
            self.back_reference = self.back_reference or (
                name,
                self.unsupported("a back-reference"),
                self.error("a back-reference to no group"),
            )
            self.position = reference.end()
            return self.quantified(EPSILON, "")
        return self.quantified(characters(self.atom()), "")

    def unquantified(self, assertion: Item) -> Item:
        if _QUANTIFIER.match(self.pattern, self.position):
            raise self.error("nothing to repeat")
        return assertion

    def quantified(self, item: Item, kind: str) -> Item:
        found = _QUANTIFIER.match(self.pattern, self.position)
        if found is None:
            return item
        if kind in ("<=", "<!"):
            raise self.error("nothing to repeat")
        text = found.group()
        if text.startswith("{"):
            low = int(found.group(1))
            high = (
                low if found.group(2) is None else int(found.group(3)) if found.group(3) else None
            )
            if high is not None and high < low:
                raise self.error("numbers out of order in a quantifier")
        else:
            low = 1 if text.startswith("+") else 0
            high = 1 if text.startswith("?") else None
        self.position = found.end()
        if _QUANTIFIER.match(self.pattern, self.position):
            raise self.error("nothing to repeat")
        if isinstance(item, Language):
            return repetition(item, low, high)
        return Loop(item, low, high)

    def atom(self) -> Ranges:
        """The characters that an atom other than a group stands for."""
        if self.take("["):
            return self.character_class()
        if self.take("."):
            return sets.DOT
        if _QUANTIFIER.match(self.pattern, self.position):
            raise self.error("nothing to repeat")
        return _as_set(self.character(in_class=False))

    def character_class(self) -> Ranges:
        negative = self.take("^")
        ranges: list[tuple[int, int]] = []
        while not self.take("]"):
            first = self.character(in_class=True)
            if self.peek("-]") or not self.take("-"):
                ranges += _as_set(first)
                continue
            last = self.character(in_class=True)
            if not isinstance(first, int) or not isinstance(last, int):
                # Annex B: next to a class the hyphen is a character like others.
                ranges += (*_as_set(first), *sets.single("-"), *_as_set(last))
            elif first > last:
                raise self.error("range out of order in a character class")
            else:
                ranges.append((first, last))
        found = sets.normalise(ranges)
        return sets.complement(found) if negative else found

    def character(self, *, in_class: bool) -> int | Ranges:
        """A code point, or the set that an escape stands for."""
        if self.position >= len(self.pattern):
            raise self.error("missing ]")
        if self.take("\\"):
            return self.escape(in_class=in_class)
        self.position += 1
        return ord(self.pattern[self.position - 1])

    def escape(self, *, in_class: bool) -> int | Ranges:
        """What stands after a backslash."""
        if self.position >= len(self.pattern):
            raise self.error("nothing after the backslash")
        letter = self.pattern[self.position]
        self.position += 1
        if letter.lower() in _CLASSES:
            found = _CLASSES[letter.lower()]
            return found if letter.islower() else sets.complement(found)
        if letter in _CONTROLS:
            return _CONTROLS[letter]
        if letter == "b" and in_class:
            return 0x08
        if letter in "pP":
            return self.unicode_property(negative=letter == "P")
        if letter == "x":
            return self.hexadecimal(2)
        if letter == "u":
            return self.unicode_escape()
        following = self.pattern[self.position : self.position + 1]
        if letter == "c" and following.isascii() and following.isalpha():
            self.position += 1
            return ord(following) % 32
        if letter == "0" and not ("0" <= following <= "9"):
            return 0
        if letter.isascii() and letter.isalnum():
            raise self.error(f"invalid escape \\{letter}")
        return ord(letter)

    def unicode_property(self, *, negative: bool) -> Ranges:
        end = self.pattern.find("}", self.position)
        if not self.take("{") or end < 0:
            raise self.error("a property needs braces")
        expression = self.pattern[self.position : end]
        try:
            found = property_set(expression)
        except KeyError:
            raise self.error(f"unknown property {expression!r}") from None
        if found is None:
            raise self.unsupported(f"the property {expression!r}")
        self.position = end + 1
        return sets.complement(found) if negative else found

    def hexadecimal(self, digits: int) -> int:
        text = self.pattern[self.position : self.position + digits]
        if len(text) < digits or not _HEXADECIMAL.fullmatch(text):
            raise self.error(f"an escape needs {digits} hexadecimal digits")
        self.position += digits
        return int(text, 16)

    def unicode_escape(self) -> int:
        if self.take("{"):
            found = _HEXADECIMAL.match(self.pattern, self.position)
            self.position = self.position if found is None else found.end()
            if found is None or not self.take("}") or int(found.group(), 16) > sets.MAX:
                raise self.error("invalid code point")
            return int(found.group(), 16)
        high = self.hexadecimal(4)
        low = _LOW_SURROGATE.match(self.pattern, self.position)
        if 0xD800 <= high <= 0xDBFF and low is not None:
            self.position = low.end()
            return 0x10000 + ((high - 0xD800) << 10) + int(low.group(1), 16) - 0xDC00
        return high


def _as_set(found: int | Ranges) -> Ranges:
    return sets.normalise([(found, found)]) if isinstance(found, int) else found
