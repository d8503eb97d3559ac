"""Regular expressions of ECMA-262 (2025, 22.2) with the u flag, which JSON Schema's ``pattern`` is.

Beyond that grammar what Annex B allows without the u flag is accepted where it can't mean anything
else: ``\\-`` and other escaped punctuation, ``{``, ``}`` and ``]`` that open or close nothing, and
quantified lookaheads. Greedy or lazy makes no difference to which strings match.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from weakref import WeakValueDictionary

import regex

from mlx_structured.errors import PatternError
from mlx_structured.languages import characters as sets
from mlx_structured.languages.algebra import (
    characters,
    concatenation,
    repetition,
    union,
)
from mlx_structured.languages.assertions import (
    Ahead,
    Alternatives,
    Behind,
    End,
    Item,
    Loop,
    alternatives,
    language_of,
    look_behind,
    sequence,
    word_boundary,
)
from mlx_structured.languages.case_folding import ignoring_case
from mlx_structured.languages.characters import Ranges
from mlx_structured.languages.expression import EPSILON, EVERYTHING, Language
from mlx_structured.languages.membership import is_string
from mlx_structured.languages.unicode_properties import property_set

_QUANTIFIER = re.compile(r"(?:\*|\+|\?|\{([0-9]+)(?:(,)([0-9]*))?\})\??")
_GROUP = re.compile(r"\((?:\?(?:(:|=|!|<=|<!)|<([^>]*)>))?")
_MODIFIERS = re.compile(r"\(\?([ims]*)-?([ims]*):")
_BACK_REFERENCE = re.compile(r"\\(?:([1-9][0-9]*)|k<([^>]*)>)")
_NAME = regex.compile(r"[$_\p{ID_Start}][$\u200C\u200D\p{ID_Continue}]*")
_NAME_ESCAPE = re.compile(
    r"\\u(?:([Dd][89ABab][0-9A-Fa-f]{2})\\u([Dd][C-Fc-f][0-9A-Fa-f]{2})"
    r"|([0-9A-Fa-f]{4})|\{0*([0-9A-Fa-f]{1,6})\})"
)
_CONTROLS = {"t": 0x09, "n": 0x0A, "v": 0x0B, "f": 0x0C, "r": 0x0D}
_CLASSES = {"d": sets.DIGITS, "w": sets.WORD, "s": sets.WHITESPACE}
_LOOKAROUNDS = ("=", "!", "<=", "<!")
_HEXADECIMAL = re.compile(r"[0-9A-Fa-f]+")
_LOW_SURROGATE = re.compile(r"\\u([Dd][C-Fc-f][0-9A-Fa-f]{2})")

LOOKAROUND_DEPTH = 100
"""Lookarounds are nested no deeper than this."""

_WORD_BOUNDARIES = {
    negative: word_boundary(sets.WORD, negative=negative) for negative in (False, True)
}
_LINE_START = Behind(union(EPSILON, concatenation(EVERYTHING, characters(sets.LINE_TERMINATORS))))
_LINE_END = alternatives([End(), Ahead(characters(sets.LINE_TERMINATORS))])

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

    ``kind`` is the text after ``(?``, ``depth`` the number of lookarounds around the content,
    ``flags`` those of ``i``, ``m`` and ``s`` that are set within. ``names`` are the names of the
    groups in the open branch, ``closed_names`` those in the branches before.
    """

    kind: str
    flags: frozenset[str] = frozenset()
    branches: list[Item] = field(default_factory=list)
    items: list[Item] = field(default_factory=list)
    looks_ahead: bool = False
    depth: int = 0
    names: set[str] = field(default_factory=set)
    closed_names: set[str] = field(default_factory=set)

    def close_branch(self) -> None:
        self.branches.append(sequence(self.items))
        self.items = []
        self.closed_names |= self.names
        self.names = set()


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
        self.flags: frozenset[str] = frozenset()
        """Those that are set for the atom which is read."""
        self.references: set[str] = set()
        self.taken_names: set[str] = set()
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
                opened = self.open_group(group)
                if opened.depth > LOOKAROUND_DEPTH:
                    raise self.unsupported(f"more than {LOOKAROUND_DEPTH} nested lookarounds")
                groups.append(opened)
            elif self.take("|"):
                # Groups of one name must not both take part in a match.
                self.taken_names -= group.names
                group.close_branch()
            elif self.peek(")"):
                if len(groups) == 1:
                    raise self.error("unmatched )")
                self.position += 1
                groups.pop()
                groups[-1].looks_ahead |= group.looks_ahead or group.kind in ("=", "!")
                groups[-1].items.append(self.quantified(self.close_group(group), group.kind))
                groups[-1].names |= group.closed_names
                self.taken_names |= group.closed_names
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

    def open_group(self, outer: _Group) -> _Group:
        opening = _GROUP.match(self.pattern, self.position)
        assert opening is not None
        kind, name = opening.groups()
        if name is not None:
            name = self.group_name(name)
            if name in self.taken_names:
                raise self.error(f"two groups with the name {name!r}")
            self.references.add(name)
            self.taken_names.add(name)
            outer.names.add(name)
        elif kind is None and self.peek("(?"):
            return self.open_modifiers(outer)
        if kind is None:
            self.captures += 1
            self.references.add(str(self.captures))
        self.position = opening.end()
        depth = outer.depth + (kind in _LOOKAROUNDS)
        return _Group(kind or "", outer.flags, depth=depth)

    def group_name(self, text: str) -> str:
        """ECMA-262 22.2.1, ``RegExpIdentifierName``: the name that stands between the brackets."""
        name = _NAME_ESCAPE.sub(_unescaped, text)
        if _NAME.fullmatch(name) is None:
            raise self.error(f"invalid group name {text!r}")
        return name

    def open_modifiers(self, outer: _Group) -> _Group:
        """ECMA-262 22.2.1: each flag once, added or removed, and at least one."""
        opening = _MODIFIERS.match(self.pattern, self.position)
        if opening is None:
            raise self.error("invalid group")
        added, removed = opening.groups()
        flags = added + removed
        if not flags or len(set(flags)) < len(flags):
            raise self.error("invalid modifiers of a group")
        self.position = opening.end()
        return _Group(":", (outer.flags | set(added)) - set(removed), depth=outer.depth)

    def close_group(self, group: _Group) -> Item:
        group.close_branch()
        body = alternatives(group.branches)
        if group.kind in ("=", "!"):
            return Ahead(body, negative=group.kind == "!")
        if group.kind in ("<=", "<!"):
            negative = group.kind == "<!"
            return look_behind(body, negative=negative, looks_ahead=group.looks_ahead)
        return body

    def term(self, group: _Group) -> Item:
        """An assertion, or an atom with its quantifier."""
        if self.take("^"):
            return self.unquantified(_LINE_START if "m" in group.flags else Behind(EPSILON))
        if self.take("$"):
            group.looks_ahead = True
            return self.unquantified(_LINE_END if "m" in group.flags else End())
        for text, negative in (("\\b", False), ("\\B", True)):
            if self.take(text):
                group.looks_ahead = True
                if "i" in group.flags:
                    word = ignoring_case(sets.WORD)
                    return self.unquantified(word_boundary(word, negative=negative))
                return self.unquantified(_WORD_BOUNDARIES[negative])
        reference = _BACK_REFERENCE.match(self.pattern, self.position)
        if reference is not None:
            name = reference.group(1) or self.group_name(reference.group(2))
            self.back_reference = self.back_reference or (
                name,
                self.unsupported("a back-reference"),
                self.error("a back-reference to no group"),
            )
            self.position = reference.end()
            return self.quantified(EPSILON, "")
        self.flags = group.flags
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
            return sets.ALL if "s" in self.flags else sets.DOT
        if _QUANTIFIER.match(self.pattern, self.position):
            raise self.error("nothing to repeat")
        return self.in_any_case(_as_set(self.character(in_class=False)))

    def in_any_case(self, found: Ranges) -> Ranges:
        """The set, with what differs by case alone if that is to be ignored."""
        return ignoring_case(found) if "i" in self.flags else found

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
        found = self.in_any_case(sets.normalise(ranges))
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
            found = self.in_any_case(_CLASSES[letter.lower()])
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
            return _joined(high, int(low.group(1), 16))
        return high


def _unescaped(escape: re.Match[str]) -> str:
    """The character of an escape in a name; itself where there is no such character."""
    first, second, unit, code_point = escape.groups()
    if first is not None:
        return chr(_joined(int(first, 16), int(second, 16)))
    value = int(unit or code_point, 16)
    return chr(value) if value <= sets.MAX else escape.group()


def _joined(first: int, second: int) -> int:
    """The code point of a surrogate pair."""
    return 0x10000 + ((first - 0xD800) << 10) + second - 0xDC00


def _as_set(found: int | Ranges) -> Ranges:
    return sets.normalise([(found, found)]) if isinstance(found, int) else found
