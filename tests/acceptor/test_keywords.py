"""What each keyword says about scalars, in tables made by hand from the specification."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from judging import Case, judge

from mlx_structured import compile_json_schema

DRAFT4 = "http://json-schema.org/draft-04/schema#"
DRAFT6 = "http://json-schema.org/draft-06/schema#"
DRAFT7 = "http://json-schema.org/draft-07/schema#"
DRAFT201909 = "https://json-schema.org/draft/2019-09/schema"

ONE_OF_EACH = [None, True, False, 0, 1, -1, 1.5, "", "x", [], [1], {}, {"a": 1}]


def without(*excluded: Any) -> list[Any]:
    """One value of each kind but these; 1 isn't true here."""
    return [
        value
        for value in ONE_OF_EACH
        if not any(type(value) is type(each) and value == each for each in excluded)
    ]


TYPES = [
    Case("null", {"type": "null"}, [None], without(None)),
    Case("boolean", {"type": "boolean"}, [True, False], without(True, False)),
    Case("integer", {"type": "integer"}, [0, -7, 10**39], without(0, 1, -1)),
    Case("number", {"type": "number"}, [0, 1.5, -2.25, 1e300], without(0, 1, -1, 1.5)),
    Case("string", {"type": "string"}, ["", "null", "1"], without("", "x")),
    Case("array", {"type": "array"}, [[], [1, "a", [None]]], without([], [1])),
    Case("object", {"type": "object"}, [{}, {"a": {"b": []}}], without({}, {"a": 1})),
    Case("a list", {"type": ["integer", "null"]}, [3, None], without(0, 1, -1, None)),
    Case("a list of one", {"type": ["string"]}, ["a"], [1, None]),
    Case("integer and number", {"type": ["integer", "number"]}, [1, 1.5], ["1"]),
    Case("no keyword", {}, ONE_OF_EACH),
    Case("true", True, ONE_OF_EACH),
    Case("false", False, [], ONE_OF_EACH),
    Case("annotations only", {"title": "t", "default": 3, "examples": ["x"]}, ONE_OF_EACH),
]

QUOTES = 'he said "no\\yes"\n\t/'
CONSTANTS = [
    Case("null", {"const": None}, [None], [False, 0, "", "null", [], {}]),
    Case("false is not 0", {"const": False}, [False], [0, 0.0, None, "", []]),
    Case("true is not 1", {"const": True}, [True], [1, 1.0, "true"]),
    Case("1 is not true", {"const": 1}, [1], [True, "1", 10, 0.1]),
    Case("0 is not false", {"const": 0}, [0], [False, None]),
    Case(
        "nested false is not 0",
        {"const": [False, {"a": True}]},
        [[False, {"a": True}]],
        [[0, {"a": True}], [False, {"a": 1}]],
    ),
    Case("string", {"const": QUOTES}, [QUOTES], ["", QUOTES + " ", QUOTES[:-1]]),
    Case("empty string", {"const": ""}, [""], [" ", None]),
    Case("string of another script", {"const": "é😀\u2028"}, ["é😀\u2028"], ["e\u0301😀\u2028"]),
    Case("array", {"const": [1, "a", []]}, [[1, "a", []]], [[1, "a"], ["a", 1, []], [1, "a", {}]]),
    Case("empty array", {"const": []}, [[]], [[[]], {}, None]),
    Case(
        "object",
        {"const": {"b": 1, "a": [2]}},
        [{"b": 1, "a": [2]}],
        [{"b": 1}, {"b": 1, "a": [2], "c": 3}, {"b": 1, "a": [3]}, {}],
    ),
    Case("empty object", {"const": {}}, [{}], [{"a": 1}, []]),
    Case(
        "object with odd keys", {"const": {QUOTES: 1, "": 2}}, [{QUOTES: 1, "": 2}], [{QUOTES: 1}]
    ),
    Case("large integer", {"const": 2**70}, [2**70], [2**70 + 1, float(2**70)]),
    Case("tenth", {"const": 0.1}, [0.1], [0.1000000001, 0.2, 1]),
    Case(
        "enum",
        {"enum": [1, "1", None, [1], {"a": 1}]},
        [1, "1", None, [1], {"a": 1}],
        [True, "null", [], [1, 1], {"a": 2}, {}, 2],
    ),
    Case(
        "enum with common beginnings",
        {"enum": ["a", "ab", "abc", 1, 12, 123]},
        ["a", "ab", "abc", 1, 12, 123],
        ["", "b", "abcd", 3, 1234],
    ),
    Case(
        "enum with quotes",
        {"enum": ['"', "\\", '\\"', "/", "\\n", "\n"]},
        ['"', "\\", '\\"', "/", "\\n", "\n"],
        ["", '""', "\\\\", "n"],
    ),
    Case(
        "enum of objects with the same keys",
        {"enum": [{"a": 1, "b": 1}, {"a": 1, "b": 2}]},
        [{"a": 1, "b": 1}, {"a": 1, "b": 2}],
        [{"a": 1}, {"a": 1, "b": 3}, {"a": 2, "b": 1}],
    ),
    Case(
        "enum of arrays of arrays",
        {"enum": [[[]], [[], []], [[[]]]]},
        [[[]], [[], []], [[[]]]],
        [[], [[], [[]]]],
    ),
    Case("enum and type", {"enum": [1, "a", None], "type": "string"}, ["a"], [1, None]),
    Case("enum and const", {"enum": [1, 2, {"a": 2}], "const": {"a": 2}}, [{"a": 2}], [1, 2]),
    Case(
        "enum and bounds", {"enum": [1, 5, 9, "x"], "minimum": 4, "maxLength": 0}, [5, 9], [1, "x"]
    ),
    Case(
        "enum of objects and properties",
        {"enum": [{"a": 1}, {"a": "x"}, {}], "properties": {"a": {"type": "string"}}},
        [{"a": "x"}, {}],
        [{"a": 1}],
    ),
    Case(
        "enum of arrays and items",
        {"enum": [[1], ["x"], []], "items": {"type": "integer"}},
        [[1], []],
        [["x"]],
    ),
    Case("enum with a value twice", {"enum": [1, 1.0, [1], [1.0]]}, [1, [1]], [2, [2], True]),
]

STRINGS = [
    Case("minLength", {"minLength": 2}, ["ab", "abc", 1, None], ["", "a"]),
    Case("maxLength", {"maxLength": 2}, ["", "ab", 123, [1, 2, 3]], ["abc"]),
    Case("maxLength 0", {"maxLength": 0}, [""], ["a", " "]),
    Case(
        "lengths count code points",
        {"minLength": 2, "maxLength": 2},
        ["😀😀", "é\n", "e\u0301"],
        ["😀", "é", "\n", "abc", "👩\u200d👩"],
    ),
    Case("an escape is one character", {"maxLength": 3}, ['"\\\n', "\x00\x01\x02"], ['"\\\n\t']),
    Case("lengths as floats", {"minLength": 1.0, "maxLength": 2.0}, ["a", "ab"], ["", "abc"]),
    Case("pattern is searched", {"pattern": "b"}, ["b", "abc", 1], ["", "ac"]),
    Case(
        "pattern with anchors",
        {"pattern": "^a.c$"},
        ["abc", 'a"c', "a\\c", "a😀c"],
        ["ac", "a\nc", "xabc"],
    ),
    Case("$ is the very end", {"pattern": "^a$"}, ["a"], ["a\n"]),
    Case("ASCII digits", {"pattern": "^\\d+$"}, ["09"], ["٣", ""]),
    Case(
        "pattern and length",
        {"pattern": "^a*$", "minLength": 2, "maxLength": 3},
        ["aa", "aaa"],
        ["a", "aaaa", "ab"],
    ),
    Case(
        "two patterns",
        {"allOf": [{"pattern": "a"}, {"pattern": "b"}]},
        ["ab", "ba", "cba"],
        ["a", "b"],
    ),
    Case(
        "pattern of control characters",
        {"pattern": "^[\\x00-\\x1f]$"},
        ["\x00", "\n", "\x1f"],
        [" "],
    ),
]

NUMBERS = [
    Case("minimum", {"minimum": 1.5}, [1.5, 2, 1e10, "a"], [1, 1.4999, -3]),
    Case("maximum", {"maximum": -1}, [-1, -1.5, -10], [0, -0.5, 1]),
    Case("exclusiveMinimum", {"exclusiveMinimum": 2}, [2.0001, 3], [2, 1]),
    Case("exclusiveMaximum", {"exclusiveMaximum": 2}, [1.9999, -3], [2, 3]),
    Case("both kinds of minimum", {"minimum": 3, "exclusiveMinimum": 1}, [3], [2]),
    Case("both kinds of maximum", {"maximum": 3, "exclusiveMaximum": 3}, [2], [3]),
    Case(
        "integer range",
        {"type": "integer", "minimum": -12, "maximum": 103},
        [-12, -9, 0, 99, 100, 103],
        [-13, -100, 104, 110, 999],
    ),
    Case(
        "integer between fractions",
        {"type": "integer", "minimum": 1.2, "maximum": 2.9},
        [2],
        [1, 3],
    ),
    Case(
        "number range",
        {"minimum": 0.1, "maximum": 0.3},
        [0.1, 0.2, 0.15, 0.3],
        [0, 0.05, 0.31, 1, 0.30000000000000004],
    ),
    Case("one number", {"minimum": 7, "maximum": 7}, [7], [6, 8, 7.5, 70]),
    Case(
        "integer of one value",
        {"type": "integer", "exclusiveMinimum": 41, "exclusiveMaximum": 43},
        [42],
        [41, 43],
    ),
    Case("large bound", {"type": "integer", "minimum": 10**20}, [10**20, 10**21], [10**20 - 1, 9]),
    Case("bound with exponent", {"maximum": 1e3, "minimum": 1e-3}, [1000, 0.001], [1001, 0.0009]),
]


FORMATS = [
    Case(
        "date-time",
        {"format": "date-time"},
        ["2024-02-29T23:59:59Z", "1985-04-12T23:20:50.52Z", "1996-12-19T16:39:57-08:00", 3],
        [
            "2023-02-29T00:00:00Z",
            "2024-01-01",
            "2024-01-01T24:00:00Z",
            "2024-13-01T00:00:00Z",
            "2024-01-01T00:00:00",
            "",
        ],
    ),
    Case(
        "date",
        {"format": "date"},
        ["2024-02-29", "1999-12-31"],
        ["2023-02-29", "2024-02-30", "2024-2-3", "2024-00-01", "24-01-01", "1900-02-29", ""],
    ),
    Case(
        "time",
        {"format": "time"},
        ["08:30:06Z", "23:20:50.5+00:30"],
        ["24:00:00Z", "08:30:06", "8:30:06Z", "08:60:00Z"],
    ),
    Case(
        "email",
        {"format": "email"},
        ["joe@example.com", "a.b+c@x.org"],
        ["joe", "@x.org", "a@", ".a@x.org", "a..b@x.org", ""],
    ),
    Case(
        "uri",
        {"format": "uri"},
        ["http://example.com/a?b#c", "urn:isbn:0451450523", "mailto:a@b.c"],
        ["/relative", "//host/path", "a b:c", "http://a b", "", "http://[::1"],
    ),
    Case(
        "uuid",
        {"format": "uuid"},
        ["2eb8aa08-aa98-11ea-b4aa-73b441d16380", "2EB8AA08-AA98-11EA-B4AA-73B441D16380"],
        [
            "2eb8aa08aa9811eab4aa73b441d16380",
            "2eb8aa08-aa98-11ea-b4aa-73b441d1638",
            "2eb8aa08-aa98-11ea-b4aa-73b441d1638g",
            "",
        ],
    ),
    Case(
        "ipv4",
        {"format": "ipv4"},
        ["192.168.0.1", "255.255.255.255", "0.0.0.0"],
        ["256.0.0.1", "1.2.3", "01.2.3.4", "1.2.3.4.5", ""],
    ),
    Case(
        "ipv6",
        {"format": "ipv6"},
        ["::1", "::", "2001:db8::8:800:200c:417a", "::ffff:192.168.0.1", "1:2:3:4:5:6:7:8"],
        ["1::2::3", "12345::", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", ":::", "::1%eth0", ""],
    ),
    Case(
        "hostname",
        {"format": "hostname"},
        ["example.com", "a-b.c"],
        ["-a.com", "a-.com", "a..b", "a_b", "a" * 64],
    ),
    Case("an unknown format is an annotation", {"format": "color"}, ["", "x", 1]),
    Case(
        "format and length", {"format": "ipv4", "maxLength": 7}, ["1.2.3.4"], ["10.2.3.4", "1.2.3"]
    ),
    Case(
        "format and enum",
        {"format": "date", "enum": ["2024-01-01", "soon", 3]},
        ["2024-01-01", 3],
        ["soon", "2024-01-02"],
    ),
    Case("format leaves other types alone", {"format": "uuid"}, [1, None, [], {}]),
]


TABLES = {
    "type": TYPES,
    "const": CONSTANTS,
    "strings": STRINGS,
    "numbers": NUMBERS,
    "formats": FORMATS,
}


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=f"{table}-{case.name}")
        for table, cases in TABLES.items()
        for case in cases
    ],
)
def test_keyword(case: Case) -> None:
    judge(case)


@pytest.mark.parametrize("text", ["1.0", "10e-1", "1E0", "0.1e1", "-2.000", "1e2", "5e+3", "-0.0"])
def test_integer_is_a_value_and_not_a_spelling_in_style_any(text: str) -> None:
    assert compile_json_schema({"type": "integer"}, style="any").accepts(text)
    assert not compile_json_schema({"type": "integer"}).accepts(text)


@pytest.mark.parametrize("text", ["1.5", "1e-1", "15e-1", "0.1"])
@pytest.mark.parametrize("style", ["any", "spaced"])
def test_a_fraction_is_no_integer(style: str, text: str) -> None:
    assert not compile_json_schema({"type": "integer"}, style=style).accepts(text)


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"const": 1}, "1.0"),
        ({"const": 100}, "1e2"),
        ({"const": 1.0}, "1"),
        ({"enum": [0.5, "x"]}, "5E-1"),
        ({"const": [1, {"a": 2}]}, '[1.0, {"a": 2.0}]'),
        ({"const": 0}, "-0.0"),
        ({"const": 0.1}, "0.10"),
    ],
)
def test_numbers_are_equal_by_value_in_style_any(schema: Any, text: str) -> None:
    assert compile_json_schema(schema, style="any").accepts(text)


def test_a_number_of_the_schema_is_the_decimal_that_it_writes() -> None:
    acceptor = compile_json_schema('{"const": 0.1}', style="any")
    assert acceptor.accepts("0.1")
    # The double next to 0.1 is this number; JSON's 0.1 is one tenth.
    assert not acceptor.accepts("0.1000000000000000055511151231257827021181583404541015625")


def test_const_with_a_float_of_whole_value_has_a_text_in_json_dumps_spelling() -> None:
    for schema in ({"const": 2.0}, {"const": 2}):
        acceptor = compile_json_schema(schema)
        assert acceptor.accepts("2")


@pytest.mark.parametrize(
    ("style", "most"),
    [("spaced", 2_000), ("any", 1_000), pytest.param("spaced", 10_000, marks=pytest.mark.slow)],
)
def test_long_strings_are_counted(style: str, most: int) -> None:
    schema = {"type": "string", "minLength": most - 1, "maxLength": most}
    acceptor = compile_json_schema(schema, style=style)
    assert not acceptor.accepts('"' + "é" * (most - 2) + '"')
    assert acceptor.accepts('"' + "é" * most + '"')
    assert not acceptor.accepts_prefix('"' + "é" * (most + 1))


@given(
    st.integers(-(10**6), 10**6),
    st.integers(0, 10**4),
    st.booleans(),
    st.booleans(),
    st.integers(-3, 3),
)
@settings(max_examples=150, deadline=None)
def test_integer_bounds(low: int, width: int, above: bool, below: bool, offset: int) -> None:
    high = low + width
    schema = {
        "type": "integer",
        "exclusiveMinimum" if above else "minimum": low - above,
        "exclusiveMaximum" if below else "maximum": high + below,
    }
    acceptor = compile_json_schema(schema)
    for number in (low + offset, high + offset):
        assert acceptor.accepts(str(number)) == (low <= number <= high)


@given(st.from_regex(r"[ab]{0,3}(c|\.)?[ab*+?]{0,2}", fullmatch=True), st.text("abc.", max_size=5))
@settings(max_examples=150, deadline=None)
def test_patterns_agree_with_another_engine(pattern: str, text: str) -> None:
    try:
        expected = re.search(pattern, text) is not None
    except re.error:
        return
    if re.search(r"[*+?][*+]", pattern):
        return  # possessive in Python, an error in ECMA-262
    schema = {"type": "string", "pattern": pattern}
    assert compile_json_schema(schema).accepts(json.dumps(text)) == expected
