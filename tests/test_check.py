"""The command that says what becomes of a schema, before any model is loaded."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shared_files import maskbench

from mlx_structured import STYLES, LimitExceededError, StructuredError, compile_json_schema
from mlx_structured.__main__ import main
from mlx_structured.automaton import example_document as search
from mlx_structured.automaton.example_document import example_document
from mlx_structured.check import Report, check_schema, format_report

DRAFT4 = "http://json-schema.org/draft-04/schema#"
CITY = {
    "title": "A city",
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 2, "x-note": 1},
        "founded": {"type": "integer", "minimum": 800, "maximum": 899},
    },
    "required": ["name", "founded"],
}
REFUSED: dict[str, Any] = {
    "type": "array",
    "items": {"pattern": r"(b)\1"},
    "prefixItems": [{"pattern": r"(a)\1"}, {"pattern": r"(a)\1"}],
    "additionalItems": False,
}


def checked(schema: Any, **arguments: Any) -> Report:
    return check_schema(json.dumps(schema), **arguments)


def run(path: Path | str, *options: str) -> int:
    return main(["check", str(path), *options])


@pytest.fixture
def city(tmp_path: Path) -> Path:
    file = tmp_path / "city.json"
    file.write_text(json.dumps(CITY))
    return file


# The report


def test_a_supported_schema_has_no_problems() -> None:
    report = checked(CITY)
    assert report.is_supported
    assert report.dialect == "draft 2020-12"


def test_every_keyword_that_is_not_enforced_is_named_with_its_pointer() -> None:
    problems = checked(REFUSED).problems
    for pointer in ("/items/pattern", "/prefixItems/0/pattern", "/additionalItems"):
        assert sum(f"at {pointer} " in problem for problem in problems) == 1
    assert all("\n" not in problem for problem in problems)


def test_the_first_problem_is_the_one_that_compiling_raises() -> None:
    with pytest.raises(StructuredError) as raised:
        compile_json_schema(REFUSED)
    assert str(raised.value) == checked(REFUSED).problems[0]


def test_a_keyword_of_another_draft_is_a_problem_only_there() -> None:
    schema = {"const": 1}
    assert checked(schema).is_supported
    (problem,) = checked(schema, default_dialect=DRAFT4).problems
    assert "draft 4" in problem
    (problem,) = checked({"$schema": DRAFT4, **schema}).problems
    assert "'const'" in problem


def test_a_schema_that_nothing_satisfies_is_a_problem() -> None:
    (problem,) = checked({"type": "integer", "minimum": 3, "maximum": 2}).problems
    assert "no value satisfies" in problem


def test_keywords_are_counted_over_all_subschemas() -> None:
    assert checked(CITY).enforced == {
        "type": 3,
        "properties": 1,
        "required": 1,
        "minLength": 1,
        "minimum": 1,
        "maximum": 1,
    }


def test_names_of_properties_and_values_are_not_counted() -> None:
    report = checked({"properties": {"title": {"enum": [{"minimum": 1}]}}, "default": {"type": 1}})
    assert report.enforced == {"properties": 1, "enum": 1}
    assert report.passed_over == {"default": 1}


def test_nothing_counts_as_enforced_where_the_schema_is_refused() -> None:
    assert checked(REFUSED).enforced == {}


def test_annotations_and_unknown_words_are_listed_as_passed_over() -> None:
    assert checked(CITY).passed_over == {"title": 1, "x-note": 1}


def test_a_format_that_is_not_enforced_is_listed_as_passed_over() -> None:
    report = checked({"anyOf": [{"format": "card-number"}, {"format": "date"}]})
    assert report.passed_over == {"format 'card-number'": 1}
    assert report.enforced == {"anyOf": 1, "format": 1}


def test_up_to_draft_7_what_stands_beside_a_reference_is_passed_over() -> None:
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "definitions": {"a": {"type": "integer"}},
        "items": {"$ref": "#/definitions/a", "minimum": 5},
    }
    assert checked(schema).passed_over == {"$schema": 1, "definitions": 1, "minimum": 1}


# The alternatives

JSON_TYPES = ["object", "array", "string", "number", "boolean", "null"]
TWO_OBJECTS: dict[str, Any] = {
    "oneOf": [
        {
            "type": "object",
            "properties": {
                "a": {"type": "array", "items": {"type": items}},
                "b": {"const": number},
            },
            "required": ["a", "b"],
        }
        for number, items in enumerate(["number", "string"])
    ]
}


@settings(deadline=None)
@given(st.sets(st.sampled_from(JSON_TYPES), min_size=1), st.sets(st.sampled_from(JSON_TYPES)))
def test_the_alternatives_are_the_types_that_are_left(asked: set[str], but: set[str]) -> None:
    schema = {"type": sorted(asked), "not": {"type": sorted(but)}} if but else {"type": list(asked)}
    alternatives = checked(schema, style="compact").alternatives
    assert list(alternatives) == [each for each in JSON_TYPES if each in asked - but]


@pytest.mark.parametrize(
    ("schema", "alternatives"),
    [
        (True, JSON_TYPES),
        ({"enum": [1, "x", None, 2.5, "y"]}, ["string", "number", "null"]),
        ({"type": ["string", "integer"], "minLength": 3, "maxLength": 2}, ["number"]),
        ({"const": False}, ["boolean"]),
        ({"anyOf": [{"type": "object", "required": ["a"]}, {"type": "object"}]}, ["object"]),
    ],
)
def test_a_type_that_no_value_can_have_is_no_alternative(
    schema: Any, alternatives: list[str]
) -> None:
    assert list(checked(schema).alternatives) == alternatives


def test_a_schema_that_can_not_be_used_has_no_alternatives() -> None:
    for schema in (REFUSED, {"enum": []}):
        report = checked(schema)
        assert (report.alternatives, report.side_by_side) == ((), 0)
        assert "alternatives" not in format_report(report)


def test_a_value_that_only_one_style_can_write_is_an_alternative_there() -> None:
    schema = {"type": "integer", "minimum": 10**50}
    assert checked(schema, style="any").alternatives == ("number",)


def test_alternatives_that_the_example_leaves_open_are_counted() -> None:
    # Both branches begin with an array, and the example's is empty.
    report = checked(TWO_OBJECTS)
    assert report.texts["compact"].startswith('{"a":[]')
    assert report.side_by_side == 2
    assert "up to 2 readings of it are followed side by side" in format_report(report)


def test_what_is_told_apart_at_once_is_one_reading() -> None:
    report = checked({"anyOf": [CITY, {"type": "array"}, {"type": "string"}]})
    assert report.side_by_side == 1
    assert "side by side" not in format_report(report)


# The report as a value


def test_a_report_can_not_be_changed() -> None:
    report = checked(CITY)
    with pytest.raises(AttributeError):
        report.problems = ()  # type: ignore[misc]
    with pytest.raises(TypeError):
        report.enforced["type"] = 0  # type: ignore[index]


# The example


def test_the_example_is_written_as_each_style_has_it() -> None:
    texts = checked(CITY).texts
    assert list(texts) == list(STYLES)
    value = {"name": "aa", "founded": 800}
    assert texts["spaced"] == json.dumps(value)
    assert texts["compact"] == json.dumps(value, separators=(",", ":"))
    assert texts["pretty"] == json.dumps(value, indent=2)
    assert json.loads(texts["flexible"]) == json.loads(texts["any"]) == value


@pytest.mark.parametrize("style", STYLES)
def test_with_a_style_the_example_is_shown_in_that_style_alone(style: str) -> None:
    assert list(checked(CITY, style=style).texts) == [style]


def test_a_value_that_only_one_style_can_write_is_shown_in_that_style() -> None:
    schema = {"type": "integer", "minimum": 10**50}
    assert not checked(schema).is_supported
    text = checked(schema, style="any").texts["any"]
    assert compile_json_schema(schema, style="any").accepts(text)


EXAMPLES: list[tuple[Any, str]] = [
    (True, "0"),
    ({"type": "null"}, "null"),
    ({"const": {"a": [1, {"b": None}]}}, '{"a":[1,{"b":null}]}'),
    ({"type": "string", "pattern": "^é{3}$"}, '"ééé"'),
    ({"type": "string", "const": 'a"\\\n\u0001'}, r'"a\"\\\n\u0001"'),
    ({"type": "integer", "minimum": 1, "multipleOf": 86400}, "86400"),
    ({"type": "integer", "maximum": -123456}, "-123456"),
    (
        {"type": "number", "exclusiveMinimum": 0, "maximum": 0.00025, "multipleOf": 0.00025},
        "0.00025",
    ),
    ({"type": "object", "properties": {"a": {}, "b": {}}, "required": ["b"]}, '{"b":0}'),
    ({"type": "array", "minItems": 2, "items": {"enum": ["long", "s"]}}, '["s","s"]'),
    ({"type": "array", "contains": {"const": "x"}, "maxItems": 1000}, '["x"]'),
    ({"type": "object", "patternProperties": {"^x": False}, "minProperties": 1}, '{"":0}'),
]


@pytest.mark.parametrize(("schema", "text"), EXAMPLES)
def test_the_example_is_short(schema: Any, text: str) -> None:
    assert checked(schema).texts["compact"] == text


def test_a_recursion_is_left_by_the_shortest_way() -> None:
    tree = {
        "type": "object",
        "properties": {"child": {"anyOf": [{"$ref": "#"}, {"type": "object", "maxProperties": 0}]}},
        "required": ["child"],
    }
    assert checked(tree).texts["compact"] == '{"child":{}}'


def test_an_item_that_the_array_must_contain_is_found_among_cheaper_ones() -> None:
    wanted = {"type": "object", "required": ["a"]}
    schema = {"type": "array", "contains": wanted, "minContains": 2, "maxItems": 1000}
    text = checked(schema).texts["compact"]
    jsonschema.Draft202012Validator(schema).validate(json.loads(text))
    assert len(text) < 100


LEAVES = st.sampled_from(
    [
        {"type": "integer", "minimum": 17},
        {"type": "string", "pattern": "^[a-c]{2,5}$"},
        {"enum": [None, "x", [1, 2]]},
        {"type": ["boolean", "null"]},
        {"type": "number", "exclusiveMaximum": -0.5},
    ]
)


def _objects(members: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.dictionaries(st.sampled_from("abcdé"), members, max_size=4).flatmap(
        lambda properties: st.fixed_dictionaries(
            {
                "type": st.just("object"),
                "properties": st.just(properties),
                "required": st.lists(st.sampled_from("abcdéz"), unique=True, max_size=4),
            }
        )
    )


def _arrays(items: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries(
        {"type": st.just("array"), "items": items, "minItems": st.integers(0, 3)}
    )


SCHEMAS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        _objects(inner),
        _arrays(inner),
        st.lists(inner, min_size=1, max_size=3).map(lambda options: {"anyOf": options}),
    ),
    max_leaves=8,
)


@settings(deadline=None)
@given(SCHEMAS)
def test_the_example_is_valid_and_each_style_accepts_its_text(schema: Any) -> None:
    report = checked(schema)
    assert set(report.texts) == set(STYLES)
    for style, text in report.texts.items():
        jsonschema.Draft202012Validator(schema).validate(json.loads(text))
        assert compile_json_schema(schema, style=style).accepts(text), style


def test_examples_of_real_schemas_are_accepted_and_found_fast() -> None:
    found = 0
    for each in list(maskbench())[::80]:
        try:
            acceptor = compile_json_schema(each["schema"], style="compact")
        except StructuredError:
            continue
        begin = time.perf_counter()
        text = example_document(acceptor)
        assert time.perf_counter() - begin < 5, each["name"]
        assert text is not None, each["name"]
        assert acceptor.accepts(text), each["name"]
        found += 1
    assert found > 30


def test_a_search_without_a_result_is_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "MAX_STEPS", 3)
    report = checked({"type": "array", "minItems": 50})
    assert report.is_supported
    assert report.texts == {}
    assert "no short document that fits was found" in format_report(report)


def test_a_pattern_too_large_for_an_example_is_no_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    def give_up(language: object) -> str:
        raise LimitExceededError("too many states")

    monkeypatch.setattr(search, "example", give_up)
    report = checked({"type": "string"})
    assert report.is_supported
    assert report.texts == {}


# The command


def test_the_command_prints_the_whole_report(
    city: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(city) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert captured.out.splitlines() == [
        "supported (draft 2020-12)",
        "",
        "enforced    times",
        "maximum         1",
        "minLength       1",
        "minimum         1",
        "properties      1",
        "required        1",
        "type            3",
        "",
        "passed over, as annotations are: title (1), x-note (1)",
        "",
        "alternatives at the root: 1 (object)",
        "",
        "a document that fits",
        '  spaced    {"name": "aa", "founded": 800}',
        '  compact   {"name":"aa","founded":800}',
        "  pretty    {",
        '              "name": "aa",',
        '              "founded": 800',
        "            }",
        '  flexible  {"name":"aa","founded":800}',
        '  any       {"name":"aa","founded":800}',
        "one of the texts that flexible and any may have for it",
    ]


@pytest.mark.parametrize("schema", [REFUSED, False, {"enum": []}])
def test_the_status_is_1_if_the_schema_can_not_be_used(
    schema: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "schema.json"
    file.write_text(json.dumps(schema))
    assert run(file) == 1
    assert capsys.readouterr().out.startswith("not supported (draft 2020-12)\n")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "not JSON"),
        (b'{"type": ', "not JSON"),
        (b'{"minimum": NaN}', "not JSON"),
        (b'"text"', "a schema is an object or a boolean"),
        (b'{"type": 3}', "/type"),
        (b'{"$ref": "http://example.com/other.json"}', "/$ref"),
        (b'{"$schema": "http://example.com/own"}', "/$schema"),
        (b'{"pattern": "("}', "/pattern"),
        (b'{"title": "\xff"}', "UTF-8"),
        (b'{"not":' * 3000 + b"true" + b"}" * 3000, "nested too deeply"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_an_invalid_schema_is_one_line_and_status_1(
    content: bytes, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "schema.json"
    file.write_bytes(content)
    assert run(file) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert len(captured.err.splitlines()) == 1
    assert said in captured.err


def test_a_file_that_can_not_be_read_is_one_line_and_status_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in (tmp_path / "missing.json", tmp_path):
        with pytest.raises(SystemExit) as raised:
            run(path)
        assert raised.value.code == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert str(path) in line


@pytest.mark.parametrize("options", [["--style", "fancy"], ["--dialect", "draft-03"], ["--what"]])
def test_wrong_options_are_status_2(
    options: list[str], city: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as raised:
        run(city, *options)
    assert raised.value.code == 2
    assert "Traceback" not in capsys.readouterr().err


def test_options_reach_the_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "schema.json"
    file.write_text('{"type": "array", "minItems": 1}')
    assert run(file, "--dialect", DRAFT4, "--style", "pretty") == 0
    out = capsys.readouterr().out
    assert out.startswith("supported (draft 4)")
    assert "compact" not in out


def test_a_byte_order_mark_is_passed_over(tmp_path: Path) -> None:
    file = tmp_path / "schema.json"
    file.write_bytes(b'\xef\xbb\xbf{"type": "null"}')
    assert run(file) == 0


def test_a_dash_reads_standard_input(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b'{"const": "here"}')))
    assert run("-") == 0
    assert '"here"' in capsys.readouterr().out


def test_a_terminal_without_unicode_gets_escapes(tmp_path: Path) -> None:
    file = tmp_path / "schema.json"
    file.write_text('{"const": "é", "x\\ud800\\u0007": 1}')
    ran = subprocess.run(
        [sys.executable, "-m", "mlx_structured", "check", str(file), "--style", "compact"],
        env={**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"},
        capture_output=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert rb'"\xe9"' in ran.stdout
    assert rb'"x\ud800\u0007" (1)' in ran.stdout
