"""The laws of ``not``, ``allOf``, ``anyOf``, ``oneOf`` and ``if``, to be tried on any schemas."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from generated_schemas import DRAFTS, SchemaDrawer, random_value
from lockstep import walk_together

from mlx_structured import (
    Acceptor,
    LimitExceededError,
    UnsatisfiableSchemaError,
    compile_json_schema,
)

Schema = Any
Sides = Callable[[Schema, Schema, Schema], tuple[Schema, Schema]]
NAMES = ("x", "y", "z")
EVERYTHING: Schema = {}
NOTHING: Schema = {"not": {}}


@dataclass(frozen=True)
class Law:
    """Two ways to say the same of three schemas.

    Arguments:
        sides: the two, given the three.
        since: the first draft that has the keywords.
        keeps_order: whether both sides declare the same keys in the same order.
    """

    sides: Sides
    since: str = "4"
    keeps_order: bool = False


def negated(schema: Schema) -> Schema:
    return {"not": schema}


def both(*schemas: Schema) -> Schema:
    return {"allOf": list(schemas)}


def either(*schemas: Schema) -> Schema:
    return {"anyOf": list(schemas)}


def one_of(*schemas: Schema) -> Schema:
    return {"oneOf": list(schemas)}


def if_(condition: Schema, then: Schema, otherwise: Schema) -> Schema:
    return {"if": condition, "then": then, "else": otherwise}


LAWS: Mapping[str, Law] = {
    "not not S is S": Law(lambda s, _, __: (negated(negated(s)), s), keeps_order=True),
    "S and not S is nothing": Law(lambda s, _, __: (both(s, negated(s)), NOTHING)),
    "S or not S is everything": Law(lambda s, _, __: (either(s, negated(s)), EVERYTHING)),
    "one of S and S is nothing": Law(lambda s, _, __: (one_of(s, s), NOTHING)),
    "one of S and not S is everything": Law(lambda s, _, __: (one_of(s, negated(s)), EVERYTHING)),
    "S and S is S": Law(lambda s, _, __: (both(s, s), s), keeps_order=True),
    "S or S is S": Law(lambda s, _, __: (either(s, s), s), keeps_order=True),
    "one of S and nothing is S": Law(lambda s, _, __: (one_of(s, NOTHING), s), keeps_order=True),
    "if S then everything else nothing is S": Law(
        lambda s, _, __: (if_(s, EVERYTHING, NOTHING), s), since="7", keeps_order=True
    ),
    "not (S or T) is not S and not T": Law(
        lambda s, t, _: (negated(either(s, t)), both(negated(s), negated(t))), keeps_order=True
    ),
    "not (S and T) is not S or not T": Law(
        lambda s, t, _: (negated(both(s, t)), either(negated(s), negated(t))), keeps_order=True
    ),
    "one of S and T is S and not T, or T and not S": Law(
        lambda s, t, _: (one_of(s, t), either(both(s, negated(t)), both(negated(s), t))),
        keeps_order=True,
    ),
    "one of S, T and U, and S and T, is nothing": Law(
        lambda s, t, u: (both(one_of(s, t, u), s, t), NOTHING)
    ),
    "if S then T is not S or T": Law(
        lambda s, t, _: ({"if": s, "then": t}, either(negated(s), t)), since="7", keeps_order=True
    ),
    "if S then T else not T is not one of S and T": Law(
        lambda s, t, _: (if_(s, t, negated(t)), negated(one_of(s, t))), since="7", keeps_order=True
    ),
    "if S then T else U is S and T, or U and not S": Law(
        lambda s, t, u: (if_(s, t, u), either(both(s, t), both(negated(s), u))),
        since="7",
        keeps_order=True,
    ),
    "S or S and T is S": Law(lambda s, t, _: (either(s, both(s, t)), s)),
    "S and (S or T) is S": Law(lambda s, t, _: (both(s, either(s, t)), s)),
    "S and (T or U) is S and T, or S and U": Law(
        lambda s, t, u: (both(s, either(t, u)), either(both(s, t), both(s, u))), keeps_order=True
    ),
    "S or T and U is (S or T) and (S or U)": Law(
        lambda s, t, u: (either(s, both(t, u)), both(either(s, t), either(s, u))), keeps_order=True
    ),
}


class BrokenLawError(AssertionError):
    """Two ways to say the same were not the same."""


def compiled(schema: Schema, style: str) -> Acceptor | None:
    """The acceptor, ``None`` where nothing is accepted."""
    try:
        return compile_json_schema(schema, style=style)
    except UnsatisfiableSchemaError:
        return None


def draw_definitions(
    seed: int, depth: int, *, unique: bool = False
) -> tuple[SchemaDrawer, dict[str, Schema]]:
    """Three schemas that may refer to each other, in a draft that goes with the seed.

    Arguments:
        seed: decides all.
        depth: of the first schema; the others are one less deep.
        unique: whether ``uniqueItems`` may occur.
    """
    rng = random.Random(seed)
    drawer = SchemaDrawer(rng, DRAFTS[seed % len(DRAFTS)], unique=unique, references=NAMES)
    definitions = {
        name: replace(drawer, in_place=NAMES[i + 1 :]).schema(depth - 1 if i else depth)
        for i, name in enumerate(NAMES)
    }
    return drawer, definitions


def try_laws(
    drawer: SchemaDrawer,
    definitions: dict[str, Schema],
    laws: Mapping[str, Law],
    counts: Counter[str],
) -> None:
    """Compare both sides of each law on values, and byte by byte.

    Arguments:
        drawer: of the draft.
        definitions: the three schemas.
        laws: the laws to try.
        counts: where the laws tried are counted, and what can't be compared.

    Raises:
        BrokenLawError: with the law and the schemas.
    """
    references = [drawer.reference(name) for name in NAMES]
    values = [json.dumps(random_value(drawer.rng, 3)) for _ in range(12)]
    for name, law in laws.items():
        if DRAFTS.index(drawer.draft) < DRAFTS.index(law.since):
            continue
        style = drawer.rng.choice(("any", "compact")) if law.keeps_order else "any"
        sides = [
            drawer.document(side, definitions)
            for side in law.sides(references[0], references[1], references[2])
        ]
        try:
            one, other = (compiled(side, style) for side in sides)
            _compare(one, other, values, drawer.rng)
        except LimitExceededError:
            counts["limit exceeded"] += 1
        except AssertionError as error:
            raise BrokenLawError(f"{name}, in style {style}: {error}; {definitions}") from error
        else:
            counts[name] += 1
            counts["nothing" if one is None else "something"] += 1


def _compare(
    one: Acceptor | None, other: Acceptor | None, values: list[str], rng: random.Random
) -> None:
    if one is None or other is None:
        assert one is other, "only one side is unsatisfiable"
        return
    for text in values:
        assert one.accepts(text) == other.accepts(text), f"only one side accepts {text}"
    for first, second in ((one, other), (other, one), (one, other)):
        walk_together(first, second, rng)
