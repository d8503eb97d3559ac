"""Compares an acceptor with what a schema's author says is valid."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

from mlx_structured import StructuredError, UnsatisfiableSchemaError, compile_json_schema


class Case(NamedTuple):
    """A schema with instances that satisfy it and some that don't, judged by hand.

    Keys of valid instances stand in declared order.
    """

    name: str
    schema: Any
    valid: Iterable[Any] = ()
    invalid: Iterable[Any] = ()


def judge(case: Case, **arguments: Any) -> None:
    """Assert that the instances are accepted or refused, however they are written."""
    for style in ("any", "spaced", "compact"):
        acceptor = None
        try:
            acceptor = compile_json_schema(case.schema, style=style, **arguments)
        except UnsatisfiableSchemaError:
            assert not list(case.valid)
        separators = (",", ":") if style == "compact" else None
        for instances, accepted in ((case.valid, True), (case.invalid, False)):
            for instance in instances:
                text = json.dumps(instance, ensure_ascii=False, separators=separators)
                judged = acceptor is not None and acceptor.accepts(text)
                assert judged is accepted, f"{style}: {text}"


def assert_says_what_to_do(error: StructuredError) -> None:
    """One line, with no stack of causes in it, that isn't cut short."""
    message = str(error)
    assert "\n" not in message
    assert 20 < len(message) < 400
    assert not message.endswith((":", ";", ","))
