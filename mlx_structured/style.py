"""Which of the JSON texts of a value may be written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

KeyOrder = Literal["declared", "any"]
Spelling = Literal["json.dumps", "any"]


@dataclass(frozen=True)
class Style:
    """The texts that a value may be written as. Presets: :data:`STYLES`.

    Arguments:
        item_separator: text between items and members, as in ``json.dumps(separators=...)``.
        key_separator: text between a key and its value.
        indent: spaces of one level, or ``None`` to write everything on one line.
        whitespace: how much whitespace of the model's choice may stand at each place, on top of
            the separators: at most one line break, then at most this many spaces and tabs.
            ``None`` is any JSON whitespace without a bound, around the document as well.
        key_order: ``"declared"`` (declared keys as the schema orders them, then required ones
            that it doesn't declare, then others) or ``"any"``.
        spelling: of numbers and of characters in strings: ``"json.dumps"`` (what
            ``json.dumps(value, ensure_ascii=False)`` prints) or ``"any"`` (every spelling that
            RFC 8259 has for the value).
        max_digits: the most digits of a whole number, so that a model can't emit digits for
            ever. ``None`` is without a bound. Fractions in ``"json.dumps"`` spelling end by
            themselves, with the 17 digits of a double.

    Raises:
        ValueError: for a separator that isn't a comma (a colon) with JSON whitespace, a negative
            number, or free whitespace together with an indent.
    """

    item_separator: str = ", "
    key_separator: str = ": "
    indent: int | None = None
    whitespace: int | None = 0
    key_order: KeyOrder = "declared"
    spelling: Spelling = "json.dumps"
    max_digits: int | None = 40

    def __post_init__(self) -> None:
        for name, text, core in (
            ("item_separator", self.item_separator, ","),
            ("key_separator", self.key_separator, ":"),
        ):
            if text.strip(" \t\n\r") != core:
                raise ValueError(f"{name} must be {core!r} with whitespace around it, not {text!r}")
        for name, number in (
            ("indent", self.indent),
            ("whitespace", self.whitespace),
            ("max_digits", self.max_digits),
        ):
            if number is not None and number < (1 if name == "max_digits" else 0):
                raise ValueError(f"{name} must not be {number}")
        if self.indent is not None and self.whitespace != 0:
            raise ValueError("an indent leaves no whitespace to choose: use whitespace=0 with it")
        if self.key_order not in ("declared", "any"):
            raise ValueError(f"key_order must be 'declared' or 'any', not {self.key_order!r}")
        if self.spelling not in ("json.dumps", "any"):
            raise ValueError(f"spelling must be 'json.dumps' or 'any', not {self.spelling!r}")


STYLES: dict[str, Style] = {
    "spaced": Style(),
    "compact": Style(item_separator=",", key_separator=":"),
    "pretty": Style(item_separator=",", indent=2),
    "flexible": Style(item_separator=",", key_separator=":", whitespace=32),
    "any": Style(
        item_separator=",",
        key_separator=":",
        whitespace=None,
        key_order="any",
        spelling="any",
        max_digits=None,
    ),
}


def get_style(style: str | Style) -> Style:
    """The preset of that name, or the style itself.

    Raises:
        TypeError: for what is neither.
        ValueError: for another name.
    """
    if isinstance(style, Style):
        return style
    if not isinstance(style, str):
        raise TypeError(
            f"a style is a Style(...) or one of {', '.join(STYLES)}, not a {type(style).__name__}"
        )
    if style not in STYLES:
        raise ValueError(f"unknown style {style!r}; presets are {', '.join(STYLES)}")
    return STYLES[style]
