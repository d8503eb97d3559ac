"""From a JSON Schema to an acceptor."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

import referencing
from jsonschema_specifications import REGISTRY as METASCHEMAS

from mlx_structured.automaton.acceptor import Acceptor
from mlx_structured.automaton.forgetting import Origin
from mlx_structured.automaton.grammar import DocumentNetwork, Grammar
from mlx_structured.automaton.link import Configuration
from mlx_structured.automaton.number_lexeme import few_numbers, number_lexeme
from mlx_structured.errors import (
    LimitExceededError,
    UnsatisfiableSchemaError,
    UnsupportedSchemaError,
)
from mlx_structured.json_schema.dialects import DRAFT202012, Dialect, Dialects, find_dialect
from mlx_structured.json_schema.nodes import Node, NodeTable
from mlx_structured.json_schema.normal_form import NormalForm
from mlx_structured.json_schema.schema_text import parse_schema
from mlx_structured.json_schema.support import check_support, unsupported_keywords
from mlx_structured.languages.spelled_numbers import Numbers
from mlx_structured.limits import DEFAULT_LIMITS, Budget, Limits, check_limits
from mlx_structured.style import Style, get_style

Registry = Mapping[str, Any] | referencing.Registry[Any]


def compile_json_schema(
    schema: Mapping[str, Any] | bool | str,
    *,
    style: str | Style = "spaced",
    registry: Registry | None = None,
    default_dialect: str = DRAFT202012.uri,
    formats: bool = True,
    limits: Limits = DEFAULT_LIMITS,
) -> Acceptor:
    """The acceptor of the JSON texts whose value satisfies a schema.

    Arguments:
        schema: a JSON Schema as a dict, a bool, or JSON text.
        style: which texts of a value may be written: a preset's name (``"spaced"``, ``"compact"``,
            ``"pretty"``, ``"flexible"``, ``"any"``) or a :class:`~mlx_structured.style.Style`.
        registry: documents that references may lead to, and metaschemas that ``$schema`` may
            name, as a mapping of URI to schema or a ``referencing.Registry``. Nothing is fetched
            from the network.
        default_dialect: the URI of the metaschema of documents without ``$schema``.
        formats: whether ``format`` is enforced, or only an annotation.
        limits: what compiling may take, and later each step of a driver or text to judge.

    Raises:
        SchemaError: for a schema that isn't valid, or not JSON.
        UnsupportedSchemaError: for a keyword that isn't enforced, with keyword and pointer.
        UnsatisfiableSchemaError: if no value satisfies the schema.
        LimitExceededError: for a schema that takes more than the limits allow.
        TypeError: for an option of another type.
        ValueError: for an unknown style.
    """
    _check_options(default_dialect, formats, limits)
    written = get_style(style)
    dialect = find_dialect(default_dialect, "")
    with _bounded_nesting():
        table = NodeTable(_registry(registry, dialect), dialect, formats=formats)
        return _compile(parse_schema(schema), written, table, limits)


def find_unsupported(
    schema: Mapping[str, Any] | bool | str,
    *,
    registry: Registry | None = None,
    default_dialect: str = DRAFT202012.uri,
    formats: bool = True,
    limits: Limits = DEFAULT_LIMITS,
) -> tuple[UnsupportedSchemaError, ...]:
    """All keywords for which :func:`compile_json_schema` refuses a schema, not only the first.

    Arguments:
        schema: see :func:`compile_json_schema`.
        registry: likewise.
        default_dialect: likewise.
        formats: likewise.
        limits: what looking through the schema may take.

    Raises:
        SchemaError: for a schema that isn't valid, or not JSON.
        LimitExceededError: for a schema that takes more than the limits allow.
        TypeError: for an option of another type.
    """
    _check_options(default_dialect, formats, limits)
    dialect = find_dialect(default_dialect, "")
    with _bounded_nesting():
        table = NodeTable(_registry(registry, dialect), dialect, formats=formats)
        root = table.root(parse_schema(schema))
        with Budget(limits):
            return tuple(unsupported_keywords(root))


def _check_options(default_dialect: object, formats: object, limits: object) -> None:
    check_limits(limits)
    if not isinstance(default_dialect, str):
        raise TypeError(
            f"default_dialect is the URI of a metaschema, not a {type(default_dialect).__name__}"
        )
    if not isinstance(formats, bool):
        raise TypeError(f"formats is True or False, not {formats!r}")


@contextmanager
def _bounded_nesting() -> Iterator[None]:
    try:
        yield
    except RecursionError as error:
        raise LimitExceededError("is nested too deeply", "nesting") from error


def _compile(parsed: Any, written: Style, table: NodeTable, limits: Limits) -> Acceptor:
    root = table.root(parsed)
    with Budget(limits) as budget:
        before = budget.memory
        if not table.is_plainly_supported:
            check_support(root)
        form = _normal_form(table, root, written)
        if not form.is_nonempty(form.root):
            raise UnsatisfiableSchemaError("its keywords contradict each other")
    unused = [form]
    renewed = table.renewal()
    del table, root, form

    def make() -> Callable[[], tuple[Configuration, ...]]:
        if unused:
            return DocumentNetwork(Grammar(unused.pop(), written)).begin
        again = renewed()
        form = _normal_form(again, again.root(parsed), written)
        return DocumentNetwork(Grammar(form, written)).begin

    return Acceptor(Origin(make, limits, budget.memory - before))


def _normal_form(table: NodeTable, root: Node, written: Style) -> NormalForm:
    def has_text(numbers: Numbers) -> bool:
        return number_lexeme(numbers, written.spelling, written.max_digits) is not None

    def listed(numbers: Numbers, limit: int) -> list[Fraction] | None:
        return few_numbers(numbers, written.spelling, written.max_digits, limit)

    return NormalForm(table, root, has_text, listed)


def _registry(registry: Registry | None, dialect: Dialect) -> referencing.Registry[Any]:
    metaschemas: referencing.Registry[Any] = METASCHEMAS
    if registry is None:
        return metaschemas
    if isinstance(registry, referencing.Registry):
        return registry.combine(metaschemas)
    if not isinstance(registry, Mapping):
        raise TypeError(
            f"a registry is a mapping of URI to schema, not a {type(registry).__name__}"
        )
    documents = {uri: parse_schema(schema, uri) for uri, schema in registry.items()}
    by_name = {schema["$id"]: schema for schema in documents.values() if _has_name(schema)}
    opaque = {uri: referencing.Resource.opaque(of) for uri, of in {**by_name, **documents}.items()}
    dialects = Dialects(dialect)
    named = metaschemas.with_resources(opaque.items())
    return metaschemas.with_resources(
        (uri, dialects.of(schema, named).specification.create_resource(schema))
        for uri, schema in documents.items()
    )


def _has_name(schema: object) -> bool:
    return isinstance(schema, Mapping) and isinstance(schema.get("$id"), str)
