"""The lexemes between the values of a document, as a style writes them."""

from __future__ import annotations

from functools import lru_cache

from mlx_structured.automaton.lexeme import LexemeState
from mlx_structured.automaton.text_lexeme import Whitespace, text_lexeme
from mlx_structured.style import Style


@lru_cache(maxsize=16)
def punctuation_of(style: Style) -> Punctuation:
    """The lexemes of a style, the same ones for all schemas."""
    return Punctuation(style)


class Punctuation:
    """Brackets, commas and colons with the whitespace around them.

    Arguments:
        style: what is written.
    """

    def __init__(self, style: Style) -> None:
        self._free = Whitespace(style.whitespace, line_break=style.whitespace != 0)
        self._indent = style.indent
        free = self._free
        self.is_fixed = style.whitespace == 0
        """Whether there is no choice between whitespace anywhere."""
        self.colon_text = style.key_separator.encode()
        """What stands between a key and its value, where it is fixed."""
        self.colon = self._separator(style.key_separator)
        self._comma = style.item_separator
        self.open_brace = text_lexeme(b"{", free)
        self.open_bracket = text_lexeme(b"[", free)
        self.close_empty_brace = text_lexeme(b"}")
        self.close_empty_bracket = text_lexeme(b"]")
        unbounded = style.whitespace is None
        self.leading = text_lexeme(free) if unbounded else None
        """Whitespace before the document, where the style allows any."""
        self.trailing = text_lexeme(free) if unbounded else text_lexeme()
        """What may follow the document."""
        # Without an indent these are the same at each depth.
        is_flat = style.indent is None
        self._flat_comma = self._separator(style.item_separator) if is_flat else None
        self._flat_brace = text_lexeme(free, b"}") if is_flat else None
        self._flat_bracket = text_lexeme(free, b"]") if is_flat else None

    def _separator(self, text: str) -> LexemeState:
        # The separator's own whitespace comes first: after free whitespace it couldn't be told.
        rest = text.lstrip()
        before = text[: len(text) - len(rest)]
        return text_lexeme(before.encode(), self._free, rest.encode(), self._free)

    def _new_line(self, depth: int) -> bytes:
        return b"" if self._indent is None else b"\n" + b" " * (self._indent * depth)

    def first(self, depth: int) -> LexemeState | None:
        """What stands between an opening bracket and the first item, if anything."""
        return None if self._indent is None else text_lexeme(self._new_line(depth))

    def first_text(self, depth: int) -> bytes:
        """What stands between an opening bracket and the first item, where it is fixed."""
        return self._new_line(depth)

    def comma_text(self, depth: int) -> bytes:
        """What stands between two items, where it is fixed."""
        return self._comma.encode() + self._new_line(depth)

    def comma(self, depth: int) -> LexemeState:
        """What stands between two items."""
        return self._flat_comma or text_lexeme(self.comma_text(depth))

    def close_brace(self, depth: int) -> LexemeState:
        """The end of an object that isn't empty."""
        return self._flat_brace or text_lexeme(self._new_line(depth - 1) + b"}")

    def close_bracket(self, depth: int) -> LexemeState:
        """The end of an array that isn't empty."""
        return self._flat_bracket or text_lexeme(self._new_line(depth - 1) + b"]")
