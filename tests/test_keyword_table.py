"""The README says of each keyword what the code does with it."""

from __future__ import annotations

import sys
from itertools import combinations
from pathlib import Path

import pytest

from mlx_structured.json_schema.dialects import ANNOTATIONS, DIALECTS, ENFORCED
from mlx_structured.json_schema.keywords import KEYWORDS
from mlx_structured.languages.formats import FORMATS

SCRATCH = Path(__file__).resolve().parents[1] / "scratch"
sys.path.insert(0, str(SCRATCH))
import keyword_table  # noqa: E402

ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in keyword_table.keyword_table().splitlines()
]

# 2020-12 validation, section 7.3.
SPECIFIED_FORMATS = [
    "date-time",
    "date",
    "time",
    "duration",
    "email",
    "idn-email",
    "hostname",
    "idn-hostname",
    "ipv4",
    "ipv6",
    "uri",
    "uri-reference",
    "iri",
    "iri-reference",
    "uuid",
    "uri-template",
    "json-pointer",
    "relative-json-pointer",
    "regex",
]


def row_of(keyword: str) -> list[str]:
    (row,) = [row for row in ROWS if f"`{keyword}`" in row[0]]
    return row


def test_the_table_in_the_readme_is_what_the_code_says() -> None:
    readme = keyword_table.README.read_text(encoding="utf-8")
    assert keyword_table.with_table(readme) == readme, "run python scratch/keyword_table.py"


def test_every_keyword_of_a_metaschema_is_decided_once() -> None:
    for first, second in combinations((ENFORCED, ANNOTATIONS), 2):
        assert not first & second
    for dialect in DIALECTS.values():
        metaschema = dialect.validator.META_SCHEMA["properties"]
        assert set(metaschema) <= ENFORCED | ANNOTATIONS
    assert set(keyword_table.specification_keywords()) == ENFORCED | ANNOTATIONS


def test_what_the_table_calls_enforced_has_a_function() -> None:
    assert KEYWORDS.keys() >= ENFORCED


@pytest.mark.parametrize("keyword", sorted(ENFORCED | ANNOTATIONS))
def test_each_keyword_has_one_row_with_its_treatment(keyword: str) -> None:
    lists = {"enforced": ENFORCED, "annotation": ANNOTATIONS}
    assert keyword in lists[row_of(keyword)[1]]


@pytest.mark.parametrize(
    ("keyword", "drafts"),
    [
        ("type", ""),
        ("$ref", ""),
        ("id", "4"),
        ("const", "6+"),
        ("if", "7+"),
        ("writeOnly", "7+"),
        ("dependencies", "to 2019-09"),
        ("dependentRequired", "2019-09+"),
        ("$recursiveRef", "2019-09"),
        ("additionalItems", "to 2019-09"),
        ("prefixItems", "2020-12"),
    ],
)
def test_a_keyword_is_shown_with_the_drafts_that_have_it(keyword: str, drafts: str) -> None:
    cell = row_of(keyword)[0].split(", ")
    assert (f"`{keyword}` ({drafts})" if drafts else f"`{keyword}`") in cell


@pytest.mark.parametrize("name", SPECIFIED_FORMATS)
def test_each_format_of_the_specification_is_enforced(name: str) -> None:
    assert name in FORMATS
    assert f"`{name}`" in row_of("format")[2]


def test_a_keyword_without_a_group_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    groups = [group for group in keyword_table.GROUPS if "uniqueItems" not in group[0]]
    monkeypatch.setattr(keyword_table, "GROUPS", groups)
    with pytest.raises(KeyError, match="uniqueItems"):
        keyword_table.keyword_table()
