"""Writes the README's table of keywords from the lists that the code itself goes by.

python scratch/keyword_table.py
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jsonschema_specifications import REGISTRY

from mlx_structured.json_schema.dialects import (
    ANNOTATIONS,
    DIALECTS,
    DRAFT4,
    DRAFT7,
    DRAFT202012,
    ENFORCED,
)
from mlx_structured.languages.formats import FORMATS

README = Path(__file__).resolve().parents[1] / "README.md"
BEGIN, END = "<!-- keywords -->\n", "<!-- /keywords -->\n"

TREATMENTS = {"enforced": ENFORCED, "annotation": ANNOTATIONS}
EXACT = "exact decimals"

GROUPS: tuple[tuple[tuple[str, ...], str], ...] = (
    (
        ("type", "enum", "const"),
        "any JSON value; `type` also as a list; in draft 4 `1.0` is no integer",
    ),
    (("properties", "required", "additionalProperties"), "a key never appears twice"),
    (("patternProperties", "propertyNames"), "ECMA-262 patterns, searched"),
    (("minProperties", "maxProperties"), "of any size"),
    (("dependentRequired", "dependentSchemas", "dependencies"), "keys, or a schema, for a key"),
    (("unevaluatedProperties", "unevaluatedItems"), "looks into subschemas of the same value"),
    (("items", "prefixItems", "additionalItems"), "`items` as a list up to draft 2019-09"),
    (("minItems", "maxItems"), "of any size"),
    (("contains", "minContains", "maxContains"), "the last two only beside `contains`"),
    (("uniqueItems",), "by value, containers too; also its opposite, below `not` and `if`"),
    (("minLength", "maxLength"), "in code points"),
    (("pattern",), "ECMA-262, searched; back-references are refused"),
    (("format",), "as assertions"),
    (("minimum", "maximum", "multipleOf"), EXACT),
    (("exclusiveMinimum", "exclusiveMaximum"), f"{EXACT}; booleans in draft 4"),
    (("allOf", "anyOf", "oneOf", "not"), "however deep"),
    (("if", "then", "else"), "the last two only beside `if`"),
    (("$ref",), "recursion, `$id`, `$anchor`, a registry of other documents"),
    (("$dynamicRef", "$recursiveRef"), "looked up from the outermost resource"),
    (("$dynamicAnchor", "$recursiveAnchor"), "what dynamic references lead to"),
    (("$vocabulary",), "which of a draft's keywords a metaschema uses"),
    (
        ("$schema", "$id", "id", "$anchor", "$defs", "definitions"),
        "says nothing about values by itself, but gives references and the draft their meaning",
    ),
    (
        (
            "$comment",
            "title",
            "description",
            "default",
            "examples",
            "deprecated",
            "readOnly",
            "writeOnly",
            "contentEncoding",
            "contentMediaType",
            "contentSchema",
        ),
        "says nothing about values",
    ),
)
"""All keywords of the specification as the table orders them, with what to know of them."""


NOT_IN_METASCHEMA = {
    DRAFT4.uri: ("$ref",),
    DRAFT7.uri: ("writeOnly",),
    DRAFT202012.uri: ("definitions",),
}
"""Keywords that a draft has though its metaschema doesn't list them, or calls them deprecated."""


def specification_keywords() -> dict[str, list[str]]:
    """Keyword -> the drafts whose metaschemas know it, the oldest first.

    Without what a metaschema only lists as left over from another draft.
    """
    found: dict[str, list[str]] = {}
    for uri, dialect in DIALECTS.items():
        for keyword in _metaschema_keywords(uri):
            if keyword not in dialect.unknown:
                found.setdefault(keyword, []).append(dialect.name.removeprefix("draft "))
    return found


def _metaschema_keywords(uri: str) -> Iterator[str]:
    resolver = REGISTRY.resolver(uri)
    metaschema: dict[str, Any] = resolver.lookup(uri).contents
    properties = metaschema["properties"].items()
    current = [keyword for keyword, value in properties if not _is_deprecated(value)]
    yield from dict.fromkeys((*current, *NOT_IN_METASCHEMA.get(uri, ())))
    for vocabulary in metaschema.get("allOf", ()):
        yield from resolver.lookup(vocabulary["$ref"]).contents.get("properties", ())


def _is_deprecated(schema: dict[str, Any] | bool) -> bool:
    return isinstance(schema, dict) and schema.get("deprecated") is True


def _drafts(keyword: str, drafts: list[str]) -> str:
    """The keyword with the drafts that know it, where that aren't all."""
    names = [dialect.name.removeprefix("draft ") for dialect in DIALECTS.values()]
    if drafts == names:
        return f"`{keyword}`"
    if len(drafts) == 1:
        return f"`{keyword}` ({drafts[0]})"
    if drafts[-1] == names[-1]:
        return f"`{keyword}` ({drafts[0]}+)"
    return f"`{keyword}` (to {drafts[-1]})"


def _note(keywords: list[str], note: str) -> str:
    if keywords == ["format"]:
        known = ", ".join(f"`{name}`" for name in sorted(FORMATS))
        return f"{note}: {known}; others are annotations"
    return note


def keyword_table() -> str:
    """The table in Markdown: one row for the keywords of a group that are treated alike.

    Raises:
        KeyError: for a keyword of the specification without a group.
    """
    drafts = specification_keywords()
    rows = ["| keyword (drafts, if not all) | | |", "|---|---|---|"]
    left = set(drafts)
    for group, note in GROUPS:
        left -= set(group)
        for treatment, members in TREATMENTS.items():
            keywords = [keyword for keyword in group if keyword in members]
            if keywords:
                names = ", ".join(_drafts(each, drafts[each]) for each in keywords)
                rows.append(f"| {names} | {treatment} | {_note(keywords, note)} |")
    if left:
        raise KeyError(f"no group has {', '.join(sorted(left))}")
    rows.append("| words that no draft knows | annotation | says nothing about values |")
    return "\n".join(rows) + "\n"


def with_table(readme: str) -> str:
    """The README's text with the table between its two marks."""
    before, rest = readme.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}{keyword_table()}{END}{after}"


if __name__ == "__main__":
    README.write_text(with_table(README.read_text(encoding="utf-8")), encoding="utf-8")
    print(keyword_table(), end="")
