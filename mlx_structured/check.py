"""What the library makes of a schema, as a report for a person to read.

``python -m mlx_structured check schema.json`` prints it.
"""

from __future__ import annotations

import json
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from mlx_structured.automaton.acceptor import LEARNING, Acceptor, advance
from mlx_structured.automaton.example_document import example_document
from mlx_structured.automaton.link import Configuration, JoinedLink
from mlx_structured.compiler import compile_json_schema, find_unsupported
from mlx_structured.errors import LimitExceededError, UnsatisfiableSchemaError
from mlx_structured.json_schema.dialects import (
    DIALECTS,
    DRAFT202012,
    ENFORCED,
    NEUTRAL,
    Dialect,
    find_dialect,
)
from mlx_structured.languages.formats import FORMATS
from mlx_structured.style import STYLES, Style

_LINE = 88
_NOTHING = object()
_SHORT = STYLES["compact"]
_LONG = replace(_SHORT, spelling="any", max_digits=None)
_BEGINNINGS = {
    "object": b"{",
    "array": b"[",
    "string": b'"',
    "number": b"-0123456789",
    "boolean": b"tf",
    "null": b"n",
}


@dataclass(frozen=True)
class Report:
    """What :func:`check_schema` found.

    Arguments:
        dialect: the draft that the document is read by.
        problems: why the schema can't be used, one line each; none if it can.
        enforced: keywords that say something about values -> how often they stand in the document.
            Empty if the schema can't be used: nothing is enforced in part.
        passed_over: annotations, words that no draft knows, and formats that aren't known,
            likewise.
        alternatives: the JSON types that a whole document may have. Schemas joined by ``anyOf`` and
            the like are one alternative for each type: they aren't multiplied out. Empty if the
            schema can't be used.
        side_by_side: how many readings of the example are followed side by side, where it leaves
            the most of them open; 1 if it is read in one way throughout, 0 if there is none.
        texts: style -> the example document as that style writes it, for each style asked for that
            has a text of it. Empty if the schema can't be used, or no example was found.
    """

    dialect: str
    problems: tuple[str, ...]
    enforced: Mapping[str, int]
    passed_over: Mapping[str, int]
    alternatives: tuple[str, ...]
    side_by_side: int
    texts: Mapping[str, str]

    @property
    def is_supported(self) -> bool:
        """Whether the schema can be used."""
        return not self.problems


def check_schema(
    schema: str, *, style: str | None = None, default_dialect: str = DRAFT202012.uri
) -> Report:
    """Whether and how a schema is enforced, with an example of what it lets through.

    Arguments:
        schema: the schema as JSON text.
        style: the preset that documents are written in; ``None`` judges by the default style and
            shows the example in all of them.
        default_dialect: the URI of the metaschema if the document doesn't name one.

    Raises:
        SchemaError: if it isn't valid JSON Schema, or not JSON.
        LimitExceededError: for a schema that is too large to analyse.
        ValueError: for an unknown style.
    """
    if style is not None and style not in STYLES:
        raise ValueError(f"unknown style {style!r}; presets are {', '.join(STYLES)}")
    problems = [str(error) for error in find_unsupported(schema, default_dialect=default_dialect)]
    parsed = json.loads(schema)
    dialect = _dialect_of(parsed, find_dialect(default_dialect, ""))
    enforced, passed_over = _count_words(parsed, dialect)
    texts: dict[str, str] = {}
    alternatives: tuple[str, ...] = ()
    side_by_side = 0
    if not problems:
        try:
            acceptor = _acceptor(schema, style, default_dialect)
        except UnsatisfiableSchemaError as error:
            problems = [str(error)]
        else:
            alternatives = _alternatives(acceptor)
            text, side_by_side = _example(acceptor, parsed)
            if text is not None:
                names = list(STYLES) if style is None else [style]
                texts = {name: _written(text, STYLES[name]) for name in names}
    return Report(
        dialect.name,
        tuple(problems),
        MappingProxyType({} if problems else enforced),
        MappingProxyType(passed_over),
        alternatives,
        side_by_side,
        MappingProxyType(texts),
    )


def _count_words(parsed: Any, dialect: Dialect) -> tuple[dict[str, int], dict[str, int]]:
    """The keywords of all subschemas that are enforced, and those that are passed over."""
    enforced: Counter[str] = Counter()
    passed_over: Counter[str] = Counter()
    for each, its_dialect in _subschemas(parsed, dialect):
        hides = its_dialect.ref_hides_siblings and "$ref" in each
        for word, value in each.items():
            if word == "format" and value not in FORMATS:
                passed_over[f"format {value!r}"] += 1
            elif (
                (hides and word != "$ref")
                or word not in ENFORCED
                or value == NEUTRAL.get(word, _NOTHING)
            ):
                passed_over[word] += 1
            elif word not in its_dialect.unknown:
                enforced[word] += 1
    return dict(sorted(enforced.items())), dict(sorted(passed_over.items()))


def _subschemas(parsed: Any, dialect: Dialect) -> Iterator[tuple[Mapping[str, Any], Dialect]]:
    stack = [(parsed, dialect)]
    while stack:
        schema, outer = stack.pop()
        if isinstance(schema, Mapping):
            own = _dialect_of(schema, outer)
            yield schema, own
            stack += ((each, own) for each in own.specification.subresources_of(schema))


def _dialect_of(schema: Any, outer: Dialect) -> Dialect:
    """The draft that the schema names, or the one around it."""
    named = schema.get("$schema", "") if isinstance(schema, Mapping) else ""
    return DIALECTS.get(str(named).removesuffix("#"), outer)


def _acceptor(schema: str, style: str | None, default_dialect: str) -> Acceptor:
    """The acceptor that the example is of. Raises ``UnsatisfiableSchemaError``."""
    try:
        return compile_json_schema(schema, style=_SHORT, default_dialect=default_dialect)
    except UnsatisfiableSchemaError:
        # Only numbers of more digits than the other styles write can make a difference.
        if style != "any":
            raise
        return compile_json_schema(schema, style=_LONG, default_dialect=default_dialect)


def _alternatives(acceptor: Acceptor) -> tuple[str, ...]:
    """The types of the documents, by what they may begin with: a state leads to no dead end."""
    with LEARNING, acceptor.origin.work:
        first = {byte for each in acceptor.begin() for byte in each.lexeme.following}
    return tuple(each for each, begin in _BEGINNINGS.items() if not first.isdisjoint(begin))


def _example(acceptor: Acceptor, parsed: Any) -> tuple[str | None, int]:
    """A document, and how many readings of it there are side by side."""
    try:
        text = example_document(acceptor, _required_names(parsed))
        return text, 0 if text is None else _side_by_side(acceptor, text)
    except LimitExceededError:
        return None, 0


def _side_by_side(acceptor: Acceptor, text: str) -> int:
    """The most readings of the document that go on with the same character."""
    most = 0
    with LEARNING, acceptor.origin.work:
        reached = acceptor.begin()
        for byte in text.encode():
            character = bytes([byte])
            going_on = [each for each in reached if advance([each], character)]
            most = max(most, sum(map(_places, going_on)))
            reached = advance(going_on, character)
    return most


def _places(configuration: Configuration) -> int:
    link = configuration.link
    return len(link.links) if isinstance(link, JoinedLink) else 1


def _required_names(parsed: Any) -> frozenset[str]:
    """All that is required anywhere in the document."""
    names: set[str] = set()
    stack = [parsed]
    while stack:
        each = stack.pop()
        if isinstance(each, Mapping):
            required = each.get("required")
            if isinstance(required, list):
                names.update(name for name in required if isinstance(name, str))
            stack += each.values()
        elif isinstance(each, list):
            stack += each
    return frozenset(names)


def _written(text: str, style: Style) -> str:
    """The text of the same value in another style, ``text`` itself where that may be written."""
    if style.whitespace != 0:
        return text
    separators = (style.item_separator, style.key_separator)
    value = json.loads(text)
    return json.dumps(value, ensure_ascii=False, indent=style.indent, separators=separators)


def format_report(report: Report) -> str:
    """The report as lines of text for a terminal."""
    lines = [f"{'supported' if report.is_supported else 'not supported'} ({report.dialect})"]
    lines += report.problems
    if report.enforced:
        width = max(len("enforced"), *map(len, report.enforced))
        lines += ["", f"{'enforced':{width}}  times"]
        lines += [f"{word:{width}}  {times:5}" for word, times in report.enforced.items()]
    if report.passed_over:
        words = [f"{_printable(word)} ({times})" for word, times in report.passed_over.items()]
        text = "passed over, as annotations are: " + ", ".join(words)
        lines += ["", *textwrap.wrap(text, _LINE, subsequent_indent="  ", break_on_hyphens=False)]
    if report.alternatives:
        types = ", ".join(report.alternatives)
        lines += ["", f"alternatives at the root: {len(report.alternatives)} ({types})"]
    if report.texts:
        width = max(map(len, report.texts))
        lines += ["", "a document that fits"]
        for style, text in report.texts.items():
            first, *rest = text.split("\n")
            lines.append(f"  {style:{width}}  {first}")
            lines += [f"  {'':{width}}  {line}" for line in rest]
        chosen = [style for style in report.texts if STYLES[style].whitespace != 0]
        if chosen:
            lines.append(f"one of the texts that {' and '.join(chosen)} may have for it")
        if report.side_by_side > 1:
            lines.append(f"up to {report.side_by_side} readings of it are followed side by side")
    elif report.is_supported:
        lines += ["", "no short document that fits was found; this says nothing against the schema"]
    return "\n".join(lines)


def _printable(word: str) -> str:
    return word if word.isprintable() and word.strip() else json.dumps(word)
