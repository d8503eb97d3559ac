"""Generating values of JSON Schemas for several prompts at once, over mlx-lm's ``BatchGenerator``.

A processor of ``BatchGenerator`` is shown an array of a row's tokens that is put together behind
the forward pass, so reading it row by row would wait for that pass before the first mask is made.
Here each row keeps what its sampler chose and reads that: the pass is dispatched once, by the first
row, and all masks of the step are made while the device works.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import mlx.core as mx
import numpy as np
from mlx_lm.generate import BatchGenerator, BatchResponse
from mlx_lm.tokenizer_utils import TokenizerWrapper

from mlx_structured.automaton.acceptor import Acceptor
from mlx_structured.compiler import Registry
from mlx_structured.decoding import LogitsProcessor, Sampler, greedy, take_chosen
from mlx_structured.driver import JsonSchemaAcceptorDriver, check_max_tokens
from mlx_structured.generation import Follower
from mlx_structured.masks import mask_logits
from mlx_structured.processor import as_acceptor
from mlx_structured.prompt_ids import as_ids, check_ids
from mlx_structured.style import Style
from mlx_structured.vocabulary import Vocabulary


@dataclass
class StructuredBatchResponse(BatchResponse):  # type: ignore[misc]
    """mlx-lm's ``BatchResponse``, and the values.

    Arguments:
        values: the parsed document of each row; ``None`` where the text isn't whole.
        finish_reasons: of each row, ``"stop"`` or ``"length"``.
    """

    values: list[Any] = field(default_factory=list)
    finish_reasons: list[str] = field(default_factory=list)


class _Row:
    """The constraint of one row: its processor and its sampler, which belong together."""

    def __init__(self, driver: JsonSchemaAcceptorDriver, sampler: Sampler) -> None:
        self._driver = driver
        self._sampler = sampler
        self._chosen: mx.array | None = None

    def process(self, tokens: mx.array, logits: mx.array) -> mx.array:
        """Mask the row's logits."""
        mx.async_eval(logits)  # type: ignore[no-untyped-call]
        if self._chosen is not None:
            take_chosen(self._driver, int(np.array(self._chosen).item()))
        return mask_logits(logits, self._driver.select_valid_tokens())

    def sample(self, logprobs: mx.array) -> mx.array:
        """Choose the row's next token."""
        self._chosen = self._sampler(logprobs)
        return self._chosen


def _limit(max_tokens: object) -> int:
    limit = check_max_tokens(max_tokens)
    if limit is None or limit < 1:
        raise ValueError(f"max_tokens of a row must be positive, not {limit}")
    return limit


def batch_generate(
    model: Any,
    tokenizer: Any,
    prompts: Sequence[str | mx.array | list[int]],
    schemas_or_acceptors: Sequence[Mapping[str, Any] | bool | str | Acceptor],
    *,
    prompt_caches: list[list[Any]] | None = None,
    max_tokens: int | list[int] = 128,
    complete: bool = True,
    verbose: bool = False,
    return_prompt_caches: bool = False,
    style: str | Style | None = None,
    registry: Registry | None = None,
    default_dialect: str | None = None,
    formats: bool | None = None,
    vocabulary: Vocabulary | None = None,
    sampler: Sampler | None = None,
    logits_processors: Sequence[LogitsProcessor] | None = None,
    **kwargs: Any,
) -> StructuredBatchResponse:
    """A value for each prompt, each of its own schema, as ``mlx_lm.batch_generate`` generates.

    Arguments:
        model: what ``mlx_lm.load`` returned.
        tokenizer: likewise.
        prompts: text or token ids, one a row.
        schemas_or_acceptors: one a row. Rows with the same schema object or acceptor share their
            states.
        prompt_caches: what was computed for each prompt before; not changed.
        max_tokens: the most tokens of the text, of all rows or of each.
        complete: whether ``max_tokens`` narrows what may be written, so that each text is a whole
            document at the limit.
        verbose: print progress and speed.
        return_prompt_caches: whether the response has the caches.
        style, registry, default_dialect, formats: of the schemas, as for ``compile_json_schema``.
        vocabulary: in place of the tokenizer's.
        sampler: of all rows; greedy if it isn't given.
        logits_processors: of all rows, run before the masks.
        kwargs: the other options of mlx-lm's ``BatchGenerator``.

    Raises:
        ValueError: if there aren't as many schemas as prompts, or as many ``max_tokens``, or one
            of these isn't positive, or for a prompt with token ids that the model doesn't have.
        TypeError: for one schema in place of a list, or a prompt or ``max_tokens`` of another type.
        TokenBudgetError, LimitExceededError, SchemaError, UnsupportedSchemaError,
        UnsatisfiableSchemaError, VocabularyError: as ``stream_generate``, before any generation.
    """
    if isinstance(prompts, str):
        raise TypeError("prompts are a list with one prompt a row, not a text")
    if isinstance(schemas_or_acceptors, (Mapping, bool, str, Acceptor)):
        raise TypeError(
            "schemas_or_acceptors are a list with a schema or an acceptor for each row: for the "
            "same in all rows give [schema] * len(prompts)"
        )
    each_limit = (
        max_tokens if isinstance(max_tokens, (list, tuple)) else [max_tokens] * len(prompts)
    )
    limits = [_limit(each) for each in each_limit]
    if not len(prompts) == len(schemas_or_acceptors) == len(limits):
        raise ValueError(
            f"{len(prompts)} prompts, {len(schemas_or_acceptors)} schemas and {len(limits)} "
            "max_tokens: give one of each a row"
        )
    if vocabulary is None:
        vocabulary = Vocabulary.from_tokenizer(tokenizer)
    if not isinstance(tokenizer, TokenizerWrapper):
        tokenizer = TokenizerWrapper(tokenizer, eos_token_ids=vocabulary.eos_token_ids)
    ids = [as_ids(tokenizer, prompt) for prompt in prompts]
    for each_prompt in ids:
        check_ids(each_prompt, model)
    acceptors: dict[int, Acceptor] = {}
    for each in schemas_or_acceptors:
        if id(each) not in acceptors:
            acceptors[id(each)] = as_acceptor(
                each,
                style=style,
                registry=registry,
                default_dialect=default_dialect,
                formats=formats,
            )
    drivers = [
        JsonSchemaAcceptorDriver(
            acceptors[id(each)], vocabulary, max_tokens=limit if complete else None
        )
        for each, limit in zip(schemas_or_acceptors, limits, strict=True)
    ]
    followers = [Follower(driver) for driver in drivers]
    rows = [_Row(driver, sampler or greedy) for driver in drivers]
    generator = BatchGenerator(
        model, stop_tokens=[[token] for token in vocabulary.eos_token_ids], **kwargs
    )
    try:
        uids = generator.insert(
            [cast("list[int]", each_prompt.tolist()) for each_prompt in ids],
            limits,
            caches=prompt_caches,
            samplers=[row.sample for row in rows],
            logits_processors=[[*(logits_processors or ()), row.process] for row in rows],
        )
        index = {uid: i for i, uid in enumerate(uids)}
        tokens: list[list[int]] = [[] for _ in rows]
        reasons = [""] * len(rows)
        caches: list[Any] = [None] * len(rows)
        with generator.stats() as stats:
            while responses := generator.next_generated():
                for response in responses:
                    i = index[response.uid]
                    followers[i].take(response.token)
                    if response.token not in vocabulary.eos_token_ids:
                        tokens[i].append(response.token)
                    if response.finish_reason is not None:
                        reasons[i] = response.finish_reason
                        caches[i] = response.prompt_cache
                        if verbose:
                            done = sum(map(bool, reasons))
                            print(f"[batch_generate] Finished {done}/{len(rows)} ...", end="\r")
    finally:
        generator.close()
    if verbose:
        print(
            f"\n[batch_generate] Prompt: {stats.prompt_tokens} tokens, "
            f"{stats.prompt_tps:.3f} tokens-per-sec\n"
            f"[batch_generate] Generation: {stats.generation_tokens} tokens, "
            f"{stats.generation_tps:.3f} tokens-per-sec\n"
            f"[batch_generate] Peak memory: {stats.peak_memory:.3f} GB"
        )
    return StructuredBatchResponse(
        texts=[tokenizer.decode(ids) for ids in tokens],
        stats=stats,
        caches=caches if return_prompt_caches else None,
        values=[follower.value for follower in followers],
        finish_reasons=reasons,
    )
