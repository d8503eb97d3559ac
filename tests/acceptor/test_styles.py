"""Each style accepts exactly its own texts of a value."""

from __future__ import annotations

import json
import re
from functools import cache, partial
from itertools import permutations
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from json_spellings import (
    characters,
    hex_escape,
    printed_with_blanks,
    spelled,
    spelled_number,
    spelled_string,
    texts,
    values,
)

from mlx_structured import STYLES, Acceptor, Style, compile_json_schema

dumps = partial(json.dumps, ensure_ascii=False)
PRINTERS = {
    "spaced": dumps,
    "compact": partial(dumps, separators=(",", ":")),
    "pretty": partial(dumps, indent=2),
}
LONGER = settings(max_examples=120, deadline=None)
SHORTER = settings(max_examples=50, deadline=None)
any_blank = st.text(" \t\n\r", max_size=3)


@cache
def anything(style: str | Style) -> Acceptor:
    """The acceptor of all values; made anew for each style only."""
    return compile_json_schema(True, style=style)


def respellings(value: Any) -> list[str]:
    """Other texts of a value that people and models write."""
    return [
        json.dumps(value),
        dumps(value),
        dumps(value, separators=(",", ":")),
        dumps(value, separators=(" , ", " : ")),
        dumps(value, separators=(",", ": ")),
        dumps(value, indent=1),
        dumps(value, indent=2),
        dumps(value, indent=2, separators=(", ", ":")),
        dumps(value, indent=4),
        dumps(value, indent="\t"),
        " " + dumps(value),
        dumps(value) + "\n",
        dumps(value).replace("/", "\\/"),
        dumps(value).replace("\x7f", "\\u007f"),
    ]


@pytest.mark.parametrize("style", PRINTERS)
@given(values)
@LONGER
def test_a_printing_style_accepts_what_json_dumps_prints_and_no_other_text(
    style: str, value: Any
) -> None:
    acceptor = anything(style)
    printed = PRINTERS[style](value)
    assert acceptor.accepts(printed)
    for text in respellings(value):
        assert acceptor.accepts(text) == (text == printed), text


@pytest.mark.parametrize("style", PRINTERS)
@given(st.data(), values)
@LONGER
def test_a_printing_style_refuses_respelled_strings_and_numbers(
    style: str, data: st.DataObject, value: Any
) -> None:
    text = spelled(data.draw, value, any_blank)
    # 1.0 is another value than 1 for json.dumps, and has a text of its own.
    assert anything(style).accepts(text) == (text == PRINTERS[style](json.loads(text)))


@given(characters)
@LONGER
def test_a_character_has_one_spelling_in_json_dumps_spelling(character: str) -> None:
    printed = dumps(character)
    acceptor = anything("spaced")
    for inner in (
        character,
        hex_escape(character, upper=False),
        hex_escape(character, upper=True),
        "\\" + character,
        *(f"\\{letter}" for letter in "bfnrt/"),
    ):
        text = f'"{inner}"'
        if text == printed:
            assert acceptor.accepts(text)
            continue
        try:
            same_value = json.loads(text) == character
        except json.JSONDecodeError:
            same_value = True
        if same_value:
            assert not acceptor.accepts(text), text


@pytest.mark.parametrize(
    ("text", "accepted"),
    [
        ("1", True),
        ("1.0", True),
        ("-0", False),
        ("-0.0", True),
        ("0.0", True),
        ("1.50", False),
        ("01", False),
        ("1.", False),
        (".5", False),
        ("+1", False),
        ("100000.0", True),
        ("1E5", False),
        ("1e5", False),
        ("1e+16", True),
        ("1e16", False),
        ("1E+16", False),
        ("1.0e+16", False),
        ("1e-05", True),
        ("1e-5", False),
        ("0.0001", True),
        ("0.00001", False),
        ("5e-324", True),
        ("4e-324", False),
        ("1e-400", False),
        ("1.7976931348623157e+308", True),
        ("1e+309", False),
        ("0.1", True),
        ("0.30000000000000004", True),
        ("0.1000000000000000055511151231257827", False),
        ("9" * 40, True),
        ("9" * 41, False),
        ("-" + "1" * 40, True),
        ("-" + "1" * 41, False),
        ("NaN", False),
        ("Infinity", False),
    ],
)
@pytest.mark.parametrize("style", ["spaced", "compact", "pretty", "flexible"])
def test_numbers_as_json_dumps_prints_them(style: str, text: str, accepted: bool) -> None:
    assert anything(style).accepts(text) is accepted


@pytest.mark.parametrize("text", ["-0", "0.10", "1e2", "1E+2", "1.50e-007", "0e99", "9" * 500])
def test_any_spelling_of_a_number_in_style_any(text: str) -> None:
    assert anything("any").accepts(text)


@pytest.mark.parametrize("text", ["01", "1.", ".5", "+1", "1e", "1e+", "--1", "0x1", "NaN", "-"])
@pytest.mark.parametrize("style", STYLES)
def test_what_is_no_json_number_is_refused_in_every_style(style: str, text: str) -> None:
    assert not anything(style).accepts(text)


@given(st.data(), values)
@LONGER
def test_style_any_accepts_every_spelling(data: st.DataObject, value: Any) -> None:
    blanks = data.draw(st.tuples(any_blank, any_blank))
    text = blanks[0] + spelled(data.draw, value, any_blank) + blanks[1]
    assert anything("any").accepts(text)


@given(values)
@SHORTER
def test_style_any_accepts_what_other_styles_write(value: Any) -> None:
    for text in respellings(value):
        assert anything("any").accepts(text), text


@pytest.mark.parametrize("style", STYLES)
@given(values, st.data())
@SHORTER
def test_a_text_broken_at_one_place_is_accepted_only_if_it_is_json(
    style: str, value: Any, data: st.DataObject
) -> None:
    text = PRINTERS.get(style, dumps)(value)
    place = data.draw(st.integers(0, len(text)))
    inserted = data.draw(st.sampled_from([*' \n\t,:[]{}"\\0e.-', "null", "\x01", "\x00"]))
    broken = text[:place] + inserted + text[place + data.draw(st.integers(0, 1)) :]
    accepted = anything(style).accepts(broken)
    try:
        pairs: list[list[str]] = []
        read = json.loads(
            broken,
            object_pairs_hook=lambda found: pairs.append([k for k, _ in found]) or dict(found),
        )
    except json.JSONDecodeError:
        assert not accepted, broken
        return
    if any(len(keys) != len(set(keys)) for keys in pairs):
        assert not accepted, broken
    elif style in PRINTERS:
        assume(not re.search(r"\d{41}", broken))
        assert accepted == (PRINTERS[style](read) == broken), broken


UP_TO_32 = st.builds(
    lambda line_break, blanks: line_break + blanks,
    st.sampled_from(["", "\n", "\r\n"]),
    st.text(" \t", max_size=3) | st.text(" \t", min_size=32, max_size=32),
)


@given(st.data(), values)
@LONGER
def test_style_flexible_accepts_whitespace_within_its_bound_at_every_place(
    data: st.DataObject, value: Any
) -> None:
    assert anything("flexible").accepts(printed_with_blanks(data.draw, value, UP_TO_32))


@given(st.data(), values)
@LONGER
def test_style_flexible_refuses_too_much_whitespace_at_any_place(
    data: st.DataObject, value: Any
) -> None:
    excess = data.draw(st.sampled_from([" " * 33, "\t" * 33, "\n\n", "\n" + " " * 33, "\n \n"]))
    places = printed_with_blanks(data.draw, value, st.just("\0"))
    count = places.count("\0")
    assume(count)
    here = data.draw(st.integers(0, count - 1))
    parts = places.split("\0")
    text = (
        "".join(part + (excess if i == here else "") for i, part in enumerate(parts[:-1]))
        + parts[-1]
    )
    assert not anything("flexible").accepts(text), text
    assert anything("flexible").accepts("".join(parts))


@pytest.mark.parametrize("style", ["spaced", "compact", "pretty", "flexible"])
@pytest.mark.parametrize("blank", [" ", "\n", "\t", "\r\n"])
@pytest.mark.parametrize("value", [1, "x", [1], {"a": 1}, None])
def test_no_whitespace_around_the_document(style: str, blank: str, value: Any) -> None:
    text = PRINTERS.get(style, dumps)(value)
    assert anything(style).accepts(text)
    assert not anything(style).accepts(text + blank)
    assert not anything(style).accepts(blank + text)


def test_style_flexible_refuses_respelled_strings() -> None:
    assert not anything("flexible").accepts('["\\u0061"]')
    assert not anything("flexible").accepts('["\\/"]')


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize(
    "text",
    [
        '"\\ud800"',
        '"\\udc00"',
        '"\\uDBFF\\u0041"',
        '"\\ud83dx"',
        '"\\ud83d\\n"',
        '"\\ud83d\\ud83d\\ude00"',
        '"\\ude00\\ud83d"',
        b'"\xed\xa0\x80"',  # the UTF-8 pattern of a surrogate
        b'"\xed\xa0\xbd\xed\xb8\x80"',
        b'"\xc0\xaf"',  # overlong
        b'"\xe0\x80\xaf"',
        b'"\xf4\x90\x80\x80"',  # beyond U+10FFFF
        b'"\xff"',
        b'"\xe2\x82"',  # cut off
        b'{"\xed\xa0\x80": 1}',
    ],
)
def test_unpaired_surrogates_and_broken_utf8_are_refused(style: str, text: str | bytes) -> None:
    assert not anything(style).accepts(text)


@pytest.mark.parametrize("style", STYLES)
def test_a_key_that_is_no_text_is_never_begun(style: str) -> None:
    acceptor = compile_json_schema(
        {
            "type": "object",
            "properties": {"\ud800": True, "a\udfff": True},
            "additionalProperties": False,
        },
        style=style,
    )
    assert acceptor.accepts("{}")
    assert not acceptor.accepts_prefix('{"')


@pytest.mark.parametrize("pair", ["\\ud83d\\ude00", "\\uD83D\\uDE00", "\\uD83d\\udE00"])
def test_style_any_accepts_surrogate_pairs_in_both_cases(pair: str) -> None:
    acceptor = compile_json_schema({"const": "x😀"}, style="any")
    assert acceptor.accepts(f'"x{pair}"')
    assert not acceptor.accepts(f'"x{pair[:-1]}1"')
    assert not compile_json_schema({"const": "x😀"}).accepts(f'"x{pair}"')


# Key order


ORDERED = {
    "properties": {"b": True, "a": True},
    "required": ["z", "a", "y"],
}


@pytest.mark.parametrize("style", ["spaced", "compact", "pretty", "flexible"])
def test_declared_order_is_declared_then_required_then_others(style: str) -> None:
    acceptor = compile_json_schema(ORDERED, style=style)
    dump = PRINTERS.get(style, dumps)
    for keys in permutations(["b", "a", "z", "y", "q"]):
        text = dump(dict.fromkeys(keys, 0))
        assert acceptor.accepts(text) == (keys == ("b", "a", "z", "y", "q")), text
    assert acceptor.accepts(dump(dict.fromkeys(["a", "z", "y"], 0)))
    assert not acceptor.accepts(dump(dict.fromkeys(["b", "z", "y"], 0)))


def test_other_keys_come_in_any_order_after_the_declared_ones() -> None:
    acceptor = compile_json_schema({"properties": {"b": True, "a": True}})
    for others in permutations(["x", "", "ba"]):
        assert acceptor.accepts(dumps(dict.fromkeys(["b", "a", *others], 0)))
        assert acceptor.accepts(dumps(dict.fromkeys(["b", *others], 0)))
        assert not acceptor.accepts(dumps(dict.fromkeys(["b", *others, "a"], 0)))


def test_any_order_accepts_every_order() -> None:
    acceptor = compile_json_schema(ORDERED, style="any")
    for keys in permutations(["b", "a", "z", "y", "q"]):
        assert acceptor.accepts(dumps(dict.fromkeys(keys, 0)))
    for missing in "azy":
        keys = [key for key in "bqazy" if key != missing]
        assert not acceptor.accepts(dumps(dict.fromkeys(keys, 0)))


@given(st.permutations([*"abcdef"]), st.permutations([*"abcdef"]), st.integers(0, 6))
@SHORTER
def test_declared_order_is_the_order_of_properties(
    declared: list[str], written: list[str], count: int
) -> None:
    acceptor = compile_json_schema({"properties": dict.fromkeys(declared, True)})
    keys = written[:count]
    in_order = keys == sorted(keys, key=declared.index)
    assert acceptor.accepts(dumps(dict.fromkeys(keys))) == in_order


@pytest.mark.parametrize("keyword", ["allOf", "anyOf"])
def test_keys_of_applied_subschemas_are_declared_where_they_stand(keyword: str) -> None:
    acceptor = compile_json_schema(
        {
            "properties": {"a": True},
            keyword: [{"properties": {"b": True}}, {"$ref": "#/$defs/c"}],
            "$defs": {"c": {"properties": {"c": True, "a": True}}},
        }
    )
    for keys in permutations("abc"):
        text = dumps(dict.fromkeys(keys, 0))
        assert acceptor.accepts(text) == (keys == ("a", "b", "c")), text


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("schema", [True, {"properties": {"a": True}}, {"required": ["a"]}])
def test_a_key_never_comes_twice(style: str, schema: Any) -> None:
    acceptor = compile_json_schema(schema, style=style)
    dump = PRINTERS.get(style, dumps)
    text = dump({"a": 1, "~": 2, "c": 3})
    assert acceptor.accepts(text)
    for twice in "ac":
        assert not acceptor.accepts(text.replace("~", twice)), twice


@pytest.mark.parametrize("schema", [True, {"properties": {"é😀": True}}])
@given(st.data())
@SHORTER
def test_a_key_never_comes_twice_in_another_spelling(schema: Any, data: st.DataObject) -> None:
    acceptor = compile_json_schema(schema, style="any")
    first = spelled_string(data.draw, "é😀")
    second = spelled_string(data.draw, "é😀")
    assert acceptor.accepts(f'{{{first}: 1, "x": 2}}')
    assert not acceptor.accepts(f"{{{first}: 1, {second}: 2}}")
    assert not acceptor.accepts(f'{{{first}: 1, "x": {{}}, {second}: 2}}')


@given(st.data(), texts)
@SHORTER
def test_a_declared_key_is_recognised_in_every_spelling(data: st.DataObject, key: str) -> None:
    schema = {"properties": {key: {"const": 1}}, "additionalProperties": {"const": 2}}
    spelling = spelled_string(data.draw, key)
    acceptor = compile_json_schema(schema, style="any")
    assert acceptor.accepts(f"{{{spelling}: 1}}")
    assert not acceptor.accepts(f"{{{spelling}: 2}}")
    assert not acceptor.accepts(f'{{{spelling[:-1]}x": 1}}')
    assert acceptor.accepts(f'{{{spelling[:-1]}x": 2}}')


@given(st.data(), values)
@SHORTER
def test_const_is_accepted_in_every_spelling_in_style_any(data: st.DataObject, value: Any) -> None:
    acceptor = compile_json_schema({"const": value}, style="any")
    assert acceptor.accepts(spelled(data.draw, value, any_blank))
    assert not acceptor.accepts(spelled(data.draw, [value], any_blank))


# Styles of one's own


SEPARATORS = st.tuples(st.text(" \t\n\r", max_size=2), st.text(" \t\n\r", max_size=2))


@given(SEPARATORS, SEPARATORS, st.none() | st.integers(0, 5), values)
@SHORTER
def test_separators_and_indent_mean_what_they_mean_to_json_dumps(
    around_comma: tuple[str, str], around_colon: tuple[str, str], indent: int | None, value: Any
) -> None:
    separators = (",".join(around_comma), ":".join(around_colon))
    style = Style(item_separator=separators[0], key_separator=separators[1], indent=indent)
    text = dumps(value, separators=separators, indent=indent)
    acceptor = compile_json_schema(True, style=style)
    assert acceptor.accepts(text)
    for other in respellings(value):
        assert acceptor.accepts(other) == (other == text)


@given(SEPARATORS, SEPARATORS, st.none() | st.integers(1, 4), values)
@SHORTER
def test_whitespace_of_choice_comes_on_top_of_the_separators(
    around_comma: tuple[str, str],
    around_colon: tuple[str, str],
    whitespace: int | None,
    value: Any,
) -> None:
    separators = (",".join(around_comma), ":".join(around_colon))
    style = Style(item_separator=separators[0], key_separator=separators[1], whitespace=whitespace)
    acceptor = compile_json_schema(True, style=style)
    assert acceptor.accepts(dumps(value, separators=separators))
    wider = (f"{separators[0]}\t", f"{separators[1]}\t")
    assert acceptor.accepts(dumps(value, separators=wider))


@pytest.mark.parametrize("whitespace", [1, 4])
@pytest.mark.parametrize("separator", [" ,", ",", ", ", " , "])
def test_whitespace_of_choice_is_bounded_on_top_of_the_separators(
    whitespace: int, separator: str
) -> None:
    style = Style(item_separator=separator, whitespace=whitespace)
    acceptor = compile_json_schema({"type": "array"}, style=style)
    before, after = separator.split(",")
    for more in range(whitespace + 2):
        bounded = more <= whitespace
        assert acceptor.accepts(f"[1{before}{' ' * more},{after}2]") == bounded
        assert acceptor.accepts(f"[1{before},{after}{' ' * more}2]") == bounded
    if before:
        assert not acceptor.accepts(f"[1,{after}2]")
    if after:
        assert not acceptor.accepts(f"[1{before},2]")


@pytest.mark.parametrize("digits", [1, 3, 40])
@pytest.mark.parametrize("schema", [True, {"type": "integer"}])
def test_a_whole_number_has_at_most_max_digits(digits: int, schema: Any) -> None:
    acceptor = compile_json_schema(schema, style=Style(max_digits=digits))
    for sign in ("", "-"):
        assert acceptor.accepts(sign + "9" * digits)
        assert not acceptor.accepts(sign + "9" * (digits + 1))
        # json.dumps prints floats with up to 16 digits before the point.
        longest = max(digits, 16) if schema is True else digits
        assert not acceptor.accepts_prefix(sign + "9" * (longest + 1))


@given(st.data(), st.integers(-(10**12), 10**12))
@SHORTER
def test_spelling_is_independent_of_key_order_and_whitespace(
    data: st.DataObject, number: int
) -> None:
    acceptor = compile_json_schema(
        {"properties": {"a": {"const": number}, "b": True}}, style=Style(spelling="any")
    )
    spelling = spelled_number(data.draw, number)
    assume(len(spelling.lstrip("-").partition(".")[0].lower().partition("e")[0]) <= 40)
    assert acceptor.accepts(f'{{"\\u0061": {spelling}}}')
    assert not acceptor.accepts(f'{{"b": 0, "\\u0061": {spelling}}}')
    assert not acceptor.accepts(f'{{"\\u0061":{spelling}}}')


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"item_separator": ";"}, "item_separator"),
        ({"item_separator": ""}, "item_separator"),
        ({"item_separator": ", x"}, "item_separator"),
        ({"item_separator": ",\u00a0"}, "item_separator"),
        ({"key_separator": ","}, "key_separator"),
        ({"key_separator": "=>"}, "key_separator"),
        ({"indent": -1}, "indent"),
        ({"whitespace": -1}, "whitespace"),
        ({"max_digits": 0}, "max_digits"),
        ({"max_digits": -3}, "max_digits"),
        ({"indent": 2, "whitespace": 4}, "indent"),
        ({"indent": 2, "whitespace": None}, "indent"),
        ({"key_order": "sorted"}, "key_order"),
        ({"spelling": "yaml"}, "spelling"),
    ],
)
def test_a_style_that_makes_no_sense_is_refused(arguments: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        Style(**arguments)


def test_the_default_is_the_preset_spaced() -> None:
    assert STYLES["spaced"] == Style()
    assert list(STYLES) == ["spaced", "compact", "pretty", "flexible", "any"]
    assert compile_json_schema(True).accepts('{"a": [1, 2]}')
    assert not compile_json_schema(True).accepts('{"a":[1,2]}')


@pytest.mark.parametrize("style", ["json", "", None, 3, "Spaced"])
def test_an_unknown_style_names_the_presets(style: Any) -> None:
    error = ValueError if isinstance(style, str) else TypeError
    with pytest.raises(error, match="spaced, compact, pretty, flexible, any"):
        compile_json_schema(True, style=style)
