"""Where this package's time goes, by stage, in a pass of its own with the clock around each."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import mlx.core as mx
from maskbench_worker import Case

from mlx_structured import (
    JsonSchemaAcceptorDriver,
    StructuredError,
    Vocabulary,
    apply_token_mask,
    compile_json_schema,
    create_mask,
)
from mlx_structured.automaton import guide, token_walk

STAGES: dict[str, list[tuple[Any, str]]] = {
    "advance": [(guide.Guide, "advance")],
    "network": [(guide.Guide, "_make_bitmap")],
    "narrow walk": [(token_walk.TokenWalk, "_walk_by_nodes")],
    "wide lexeme": [
        (token_walk.TokenWalk, "_walk_by_levels"),
        (token_walk.TokenWalk, "_difference"),
        (token_walk.TokenWalk, "_walk_by_characters"),
        (token_walk.TokenWalk, "_amend"),
    ],
    "assembly": [(guide.Guide, "_assemble")],
}
"""Stage -> functions; the time of a stage is its functions' without that of the stages inside."""

CONVERSION, APPLY, STEP = "conversion to mx", "apply", "the rest of a step"


class Stopwatch:
    """Adds up the time of nested stages."""

    def __init__(self) -> None:
        self.spent: dict[str, float] = dict.fromkeys([STEP, *STAGES, CONVERSION, APPLY], 0.0)
        self.calls: dict[str, int] = dict.fromkeys(self.spent, 0)
        self._inside = [0.0]

    def timed(self, stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, with its time added to the stage."""

        def call(*args: Any) -> Any:
            self._inside.append(0.0)
            begin = time.perf_counter()
            try:
                return function(*args)
            finally:
                spent = time.perf_counter() - begin
                self.spent[stage] += spent - self._inside.pop()
                self.calls[stage] += 1
                self._inside[-1] += spent

        return call


@contextmanager
def watched(watch: Stopwatch) -> Iterator[None]:
    """With the clock around the functions of all stages."""
    places = [(stage, owner, name) for stage, found in STAGES.items() for owner, name in found]
    before = [(owner, name, getattr(owner, name)) for _, owner, name in places]
    try:
        for (stage, owner, name), (_, _, function) in zip(places, before, strict=True):
            setattr(owner, name, watch.timed(stage, function))
        yield
    finally:
        for owner, name, function in before:
            setattr(owner, name, function)


def profile(vocabulary: Vocabulary, cases: Iterable[Case]) -> tuple[Stopwatch, int]:
    """The times of reading each first instance, and the number of tokens.

    Logits are masked too, on mlx's default device, each waited for.
    """
    watch = Stopwatch()
    logits = mx.zeros((1, vocabulary.size))
    convert = watch.timed(CONVERSION, lambda bitmap: _evaluated(create_mask(bitmap, logits.size)))
    apply = watch.timed(APPLY, lambda mask: _evaluated(apply_token_mask(logits, mask)))
    tokens = 0
    for case in cases:
        try:
            driver = JsonSchemaAcceptorDriver(compile_json_schema(case.schema), vocabulary)
        except StructuredError:
            continue
        select = watch.timed(STEP, driver.select_valid_tokens)
        advance = watch.timed(STEP, driver.advance_token)
        with watched(watch):
            for token in case.instances[0].ids if case.instances else ():
                try:
                    apply(convert(select()))
                    advance(token)
                except StructuredError:
                    break
                tokens += 1
    return watch, tokens


def _evaluated(array: mx.array) -> mx.array:
    mx.eval(array)
    return array


def print_profile(watch: Stopwatch, tokens: int) -> None:
    """One line a stage."""
    total = sum(watch.spent.values())
    print(f"\nour time by stage, first instances, {tokens} tokens (the clock's own time included)")
    print(f"{'':<20} {'us a token':>10} {'share':>7} {'calls':>9} {'us a call':>10}")
    for stage, spent in watch.spent.items():
        calls = watch.calls[stage]
        print(
            f"{stage:<20} {spent / max(tokens, 1) * 1e6:>10.2f} {spent / total:>7.1%} {calls:>9} "
            f"{spent / max(calls, 1) * 1e6:>10.2f}"
        )
