"""The generation loop in which forced text is fed with the token before it, in one forward pass.

A pass of the model over a few tokens costs little more than one over a single token, so text that
the schema leaves no choice about costs next to nothing. Nothing that was fed is ever taken back:
the cache need not be one that can be trimmed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import mlx.core as mx
import numpy as np
from mlx_lm.generate import (
    DEFAULT_QUANTIZED_KV_START,
    generation_stream,
    maybe_quantize_kv_cache,
)
from mlx_lm.models.cache import make_prompt_cache
from mlx_lm.utils import does_model_support_input_embeddings

from mlx_structured.driver import JsonSchemaAcceptorDriver, TokenForcer
from mlx_structured.errors import InvalidTokenError, LimitExceededError, StructuredError
from mlx_structured.masks import mask_logits
from mlx_structured.vocabulary import Vocabulary

Sampler: TypeAlias = Callable[[mx.array], mx.array]
LogitsProcessor: TypeAlias = Callable[[mx.array, mx.array], mx.array]


LONGEST_PASS = 64
"""Tokens fed at once: each has logits, which take memory."""


class Decoded(NamedTuple):
    """A token of the generation.

    Arguments:
        token: its id.
        logprobs: ``(V,)``: what it was sampled from, or, of a forced token, the log probabilities
            that the model gave at that place without any mask.
        is_forced: whether it wasn't sampled.
        is_last: whether the generation ends with it.
        is_before_error: whether an error comes next.
    """

    token: int
    logprobs: mx.array
    is_forced: bool
    is_last: bool = False
    is_before_error: bool = False


def _decoded(sampled: Decoded | None, forced: list[int], rows: list[mx.array]) -> list[Decoded]:
    """A sampled token and the forced ones after it, with the logits that the model gave there."""
    found = [] if sampled is None else [sampled]
    for token, row in zip(forced, rows, strict=False):
        found.append(Decoded(token, row - mx.logsumexp(row), is_forced=True))
    return found


def greedy(logprobs: mx.array) -> mx.array:
    """The sampler that takes the most likely token."""
    return mx.argmax(logprobs, axis=-1)


def take_chosen(driver: JsonSchemaAcceptorDriver, token: int) -> None:
    """Advance by a token that a sampler chose. Raises ``InvalidTokenError`` if it was masked."""
    try:
        driver.advance_token(token)
    except InvalidTokenError as error:
        raise InvalidTokenError(
            token,
            "the sampler chose it against the mask, or logits_processors had set all allowed "
            "tokens to -inf (the schema needs no processor of its own here)",
        ) from error


def tokenizer_encode(
    tokenizer: Any, vocabulary: Vocabulary
) -> Callable[[bytes], Sequence[int] | None]:
    """How a tokenizer writes a text in the midst of another, as ``TokenForcer`` needs it."""

    def encode(text: bytes) -> Sequence[int] | None:
        whole = _whole_characters(text)
        # Some tokenizers put a space before a text, but not within one.
        for before in ("", "\n"):
            head = tokenizer.encode(before, add_special_tokens=False) if before else []
            ids = tokenizer.encode(before + whole, add_special_tokens=False)
            rest = ids[len(head) :]
            if ids[: len(head)] == head and _spelled(rest, vocabulary) == whole.encode():
                return rest or None
        return None

    return encode


def _whole_characters(text: bytes) -> str:
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        return text[: error.start].decode()


def _spelled(ids: Sequence[int], vocabulary: Vocabulary) -> bytes:
    tokens = vocabulary.flat
    return b"".join(tokens[i] or b"" for i in ids if i < vocabulary.size)


class _Model:
    """A model with its cache: what was fed to it."""

    def __init__(
        self, model: Any, cache: list[Any], step_size: int, quantize: Mapping[str, Any]
    ) -> None:
        self._model = model
        self._cache = cache
        self._step_size = step_size
        self._quantize = quantize

    def prefill(
        self,
        prompt: mx.array,
        embeddings: mx.array | None,
        progress: Callable[[int, int], object],
    ) -> tuple[mx.array, mx.array | None]:
        """Feed all of the prompt but its last token, which is returned with its embedding."""
        total = prompt.size if embeddings is None else len(embeddings)
        done = 0
        progress(done, total)
        while total - done > 1:
            count = min(self._step_size, total - done - 1)
            self._feed(prompt[:count], None if embeddings is None else embeddings[:count])
            self.evaluate()
            prompt = prompt[count:]
            embeddings = None if embeddings is None else embeddings[count:]
            done += count
            progress(done, total)
            mx.clear_cache()
        return prompt, embeddings

    def feed(
        self, token: mx.array, embedding: mx.array | None, forced: list[int]
    ) -> tuple[list[mx.array], mx.array]:
        """Feed a token and the forced ones after it.

        Arguments:
            token: ``(1,)``; with an embedding it may be ``(0,)``.
            embedding: ``(1, D)`` in place of the token's own, or ``None``.
            forced: the ids after it.

        Returns:
            Logits ``(V,)`` for the place of each forced token, and ``(1, V)`` for what comes next.
            They are lazy.
        """
        rows: list[mx.array] = []
        if embedding is not None:
            passes = [self._feed(token, embedding)]
            rest = mx.array(forced, mx.uint32)
        else:
            passes = []
            rest = mx.concatenate([token, mx.array(forced, token.dtype)]) if forced else token
        while rest.size:
            passes.append(self._feed(rest[:LONGEST_PASS], None))
            rest = rest[LONGEST_PASS:]
            if rest.size:
                self.evaluate()
        rows = [logits[0, i] for logits in passes for i in range(logits.shape[1])]
        return rows[: len(forced)], passes[-1][:, -1, :]

    def _feed(self, tokens: mx.array, embeddings: mx.array | None) -> mx.array:
        offsets = [getattr(each, "offset", None) for each in self._cache]
        options = {} if embeddings is None else {"input_embeddings": embeddings[None]}
        try:
            logits: mx.array = self._model(tokens[None], cache=self._cache, **options)
        except BaseException:
            # Interrupted between two layers: those that have the tokens give them back.
            for each, offset in zip(self._cache, offsets, strict=True):
                if isinstance(offset, int) and each.offset > offset and each.is_trimmable():
                    each.trim(each.offset - offset)
            raise
        maybe_quantize_kv_cache(self._cache, **self._quantize)
        return logits

    def evaluate(self) -> None:
        """Wait until all that was fed is in the cache."""
        mx.eval([each.state for each in self._cache])


def decode(
    model: Any,
    prompt: mx.array,
    driver: JsonSchemaAcceptorDriver,
    forcer: TokenForcer,
    *,
    max_tokens: int,
    sampler: Sampler | None = None,
    logits_processors: Sequence[LogitsProcessor] | None = None,
    max_kv_size: int | None = None,
    prompt_cache: list[Any] | None = None,
    prefill_step_size: int = 2048,
    kv_bits: int | None = None,
    kv_group_size: int = 64,
    quantized_kv_start: int = DEFAULT_QUANTIZED_KV_START,
    prompt_progress_callback: Callable[[int, int], object] | None = None,
    input_embeddings: mx.array | None = None,
    stream: Any = generation_stream,
) -> Iterator[Decoded]:
    """Tokens of a document, as the driver allows them.

    The arguments are those of ``mlx_lm.generate.generate_step``, with a driver at its start and
    its forcer. It ends after an EOS, after ``max_tokens``, or where only EOS could follow; then no
    EOS is sampled. A ``prompt_cache`` of the caller's has been fed the prompt and every token
    whose response is out, forced ones maybe ahead of their responses; at the end all of them and,
    if the document is complete, EOS.

    Before an error of this package all tokens come that there are up to it.
    """
    _check_prompt(model, prompt, input_embeddings)
    cache = prompt_cache
    if cache is None:
        cache = make_prompt_cache(model, max_kv_size=max_kv_size)
    runner = _Model(
        model,
        cache,
        prefill_step_size,
        {
            "quantized_kv_start": quantized_kv_start,
            "kv_group_size": kv_group_size,
            "kv_bits": kv_bits,
        },
    )
    sampler = sampler or greedy
    processors = logits_processors or ()
    progress = prompt_progress_callback or (lambda *_: None)
    total = prompt.size if input_embeddings is None else len(input_embeddings)
    context = prompt
    sampled: Decoded | None = None
    count = 0
    with mx.stream(stream):
        token, embedding = runner.prefill(prompt, input_embeddings, progress)
    while True:
        forced: list[int] = []
        rows: list[mx.array] | None = None
        failure: StructuredError | None = None
        try:
            if not driver.is_at_end:
                forced = forcer.advance(None if max_tokens < 0 else max_tokens - count)
                count += len(forced)
            # An empty document has a response, too: that of EOS.
            if (driver.is_at_end and driver.token_count) or count == max_tokens:
                break
            with mx.stream(stream):
                rows, logits = runner.feed(token, embedding, forced)
                # In this order the device is busy while the mask is made here.
                mx.async_eval(logits)  # type: ignore[no-untyped-call]
                bitmap = driver.select_valid_tokens()
                if processors:
                    context = mx.concatenate([context, mx.array(forced, context.dtype)])
                for processor in processors:
                    logits = processor(context, logits)
                logits = mask_logits(logits, bitmap)
                logprobs = logits - mx.logsumexp(logits, axis=-1, keepdims=True)
                chosen = sampler(logprobs)
                mx.async_eval(chosen, logprobs)  # type: ignore[no-untyped-call]
        except StructuredError as error:
            failure = error
        if failure is not None:
            with mx.stream(stream):
                if rows is None and (forced or prompt_cache is not None):
                    rows, _ = runner.feed(token, embedding, forced)
                if prompt_cache is not None:
                    runner.evaluate()
            pending = _decoded(sampled, forced, rows or [])
            yield from pending[:-1]
            for last in pending[-1:]:
                yield last._replace(is_before_error=True)
            raise failure
        yield from _decoded(sampled, forced, rows or [])
        chosen_token = int(np.array(chosen).item())
        if sampled is None:
            progress(total, total)
        sampled = Decoded(chosen_token, logprobs.squeeze(0), is_forced=False)
        token, embedding = chosen.reshape(1).astype(mx.uint32), None
        try:
            take_chosen(driver, chosen_token)
        except LimitExceededError:
            # The mask allowed it, so it belongs to the text.
            if prompt_cache is not None:
                with mx.stream(stream):
                    runner.feed(token, None, [])
                    runner.evaluate()
            yield sampled._replace(is_before_error=True)
            raise
        count += 1
        if count % 256 == 0:
            mx.clear_cache()
        if processors:
            context = mx.concatenate([context, token.astype(context.dtype)])
    rows = []
    if forced or prompt_cache is not None:
        eos = driver.vocabulary.eos_token_ids[:1] if not driver.is_finished else ()
        ending = [*forced, *(eos if driver.is_at_end else ())]
        with mx.stream(stream):
            rows, _ = runner.feed(token, embedding, ending)
            if prompt_cache is not None:
                runner.evaluate()
    if sampled is None:
        progress(total, total)
    *others, last = _decoded(sampled, forced, rows)
    yield from others
    yield last._replace(is_last=True)


def _check_prompt(model: Any, prompt: mx.array, embeddings: mx.array | None) -> None:
    if embeddings is None:
        if not prompt.size:
            raise ValueError("an empty prompt: give tokens, input_embeddings or both")
    elif not does_model_support_input_embeddings(model):
        raise ValueError("the model takes no input_embeddings")
    elif prompt.size not in (0, len(embeddings)):
        raise ValueError(
            f"{len(embeddings)} input_embeddings with a prompt of {prompt.size} tokens: give as "
            "many, or an empty prompt"
        )
