"""Hypothesis strategies: JSON values, and all the ways to write one."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

Draw = Callable[[st.SearchStrategy[Any]], Any]

ODD_CHARACTERS = (
    *map(chr, range(0x20)),
    *'"\\/',
    "\x7f",  # printed as it is, although a control character
    "\x80",
    "\u2028",  # line separators, which JSON doesn't escape
    "\u2029",
    "\ud7ff",  # the neighbours of the surrogates, of the planes, and of UTF-8's lengths
    "\ue000",
    "\ufeff",
    "\uffff",
    "\u07ff",
    "\u0800",
    "\U00010000",
    "\U0010ffff",
    "😀",
)
characters = st.sampled_from(ODD_CHARACTERS) | st.characters(exclude_categories=["Cs"])
texts = st.text(characters, max_size=8)
integers = st.integers(-(10**40) + 1, 10**40 - 1) | st.integers(-12, 12)
floats = st.floats(allow_nan=False, allow_infinity=False) | st.builds(
    lambda digits, exponent: float(f"{digits}e{exponent}"),
    st.integers(-99_999, 99_999),
    st.integers(-30, 30),
)
scalars = st.none() | st.booleans() | integers | floats | texts
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=8,
)

RAW_OR_ESCAPED = re.compile(r'[^\x00-\x1f"\\]')
SHORT_ESCAPES = {
    '"': '\\"',
    "\\": "\\\\",
    "/": "\\/",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
}


def hex_escape(character: str, upper: bool) -> str:
    """The character as one or two ``\\uXXXX``."""
    units = character.encode("utf-16-be").hex()
    if upper:
        units = units.upper()
    return "".join(f"\\u{units[i : i + 4]}" for i in range(0, len(units), 4))


def spelled_string(draw: Draw, text: str) -> str:
    """A JSON string with that value; each character raw where it may be, or escaped."""
    spelled = '"'
    for character in text:
        ways = [hex_escape(character, upper=False), hex_escape(character, upper=True)]
        if character in SHORT_ESCAPES:
            ways.insert(0, SHORT_ESCAPES[character])
        if RAW_OR_ESCAPED.fullmatch(character):
            ways.insert(0, character)
        spelled += draw(st.sampled_from(ways))
    return spelled + '"'


def spelled_number(draw: Draw, number: float) -> str:
    """A JSON number with exactly that value: the point moved, zeros added, an exponent."""
    sign, digit_tuple, exponent = Decimal(repr(number)).as_tuple()
    assert isinstance(exponent, int)
    digits = "".join(map(str, digit_tuple))
    zeros = draw(st.integers(0, 3))
    digits += "0" * zeros
    exponent -= zeros
    after_point = draw(st.integers(0, len(digits) + 2))
    digits = digits.rjust(after_point + 1, "0")
    exponent += after_point
    whole = digits[: len(digits) - after_point].lstrip("0") or "0"
    text = ("-" if sign else "") + whole
    if after_point:
        text += "." + digits[-after_point:]
    if exponent or draw(st.booleans()):
        text += draw(st.sampled_from("eE"))
        text += "-" if exponent < 0 else draw(st.sampled_from(["", "+"]))
        text += "0" * draw(st.integers(0, 2)) + str(abs(exponent))
    return text


def spelled(draw: Draw, value: Any, blank: st.SearchStrategy[str]) -> str:
    """A JSON text with that value; ``blank`` gives what stands at each place for whitespace."""
    if isinstance(value, str):
        return spelled_string(draw, value)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return spelled_number(draw, value)
    if isinstance(value, list):
        items = [draw(blank) + spelled(draw, item, blank) + draw(blank) for item in value]
        return f"[{','.join(items) or draw(blank)}]"
    if isinstance(value, dict):
        members = [
            f"{draw(blank)}{spelled_string(draw, key)}{draw(blank)}:"
            f"{draw(blank)}{spelled(draw, item, blank)}{draw(blank)}"
            for key, item in value.items()
        ]
        return f"{{{','.join(members) or draw(blank)}}}"
    return json.dumps(value)


def printed_with_blanks(draw: Draw, value: Any, blank: st.SearchStrategy[str]) -> str:
    """The text of ``json.dumps(value, ensure_ascii=False)`` but for whitespace."""
    if isinstance(value, list):
        items = [
            draw(blank) + printed_with_blanks(draw, item, blank) + draw(blank) for item in value
        ]
        return f"[{','.join(items) or draw(blank)}]"
    if isinstance(value, dict):
        members = [
            f"{draw(blank)}{json.dumps(key, ensure_ascii=False)}{draw(blank)}:"
            f"{draw(blank)}{printed_with_blanks(draw, item, blank)}{draw(blank)}"
            for key, item in value.items()
        ]
        return f"{{{','.join(members) or draw(blank)}}}"
    return json.dumps(value, ensure_ascii=False)
