"""Keywords that speak about strings."""

from __future__ import annotations

from typing import Any

from mlx_structured.json_schema.formula import TRUE, Formula, Within
from mlx_structured.json_schema.json_types import JsonType
from mlx_structured.json_schema.nodes import SchemaNode
from mlx_structured.languages.ecma_pattern import search_language
from mlx_structured.languages.formats import FORMATS, OPPOSITES, ascii_hostname
from mlx_structured.languages.language import length_between


def min_length(node: SchemaNode, json_type: JsonType, value: Any) -> Formula:
    """``minLength`` (2020-12 validation, section 6.3.2), in code points."""
    return Within(length_between(int(value), None))


def max_length(node: SchemaNode, json_type: JsonType, value: Any) -> Formula:
    """``maxLength`` (2020-12 validation, section 6.3.1), in code points."""
    return Within(length_between(0, int(value)))


def pattern(node: SchemaNode, json_type: JsonType, value: Any) -> Formula:
    """``pattern`` (2020-12 validation, section 6.3.3): ECMA-262, searched."""
    return Within(search_language(value))


def format_(node: SchemaNode, json_type: JsonType, value: Any) -> Formula:
    """``format`` (2020-12 validation, section 7) as an assertion; unknown ones are annotations."""
    if value == "hostname" and node.dialect.hostnames_are_ascii:
        return Within(ascii_hostname())
    language, opposite = FORMATS.get(value), OPPOSITES.get(value)
    if language is None:
        return TRUE
    return Within(language(), None if opposite is None else opposite())
