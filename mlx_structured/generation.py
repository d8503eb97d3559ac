"""Generating a value of a JSON Schema: ``generate`` and ``stream_generate``.

They take what mlx-lm's functions of these names take, and a schema. What is different:

- The text is a whole document however few ``max_tokens`` are: near the limit only what can still be
  completed is allowed.
- Text that the schema leaves no choice about is fed and not sampled. It's written with the tokens
  that the tokenizer has for it (the fewest, where the tokenizer can't write that text alone), while
  under masks alone a model may split the same text otherwise; in that case greedy output may differ
  from that of a logits processor. The last of these tokens is left to the model wherever a longer
  token could stand in its place.
- Where nothing but EOS could follow, the generation ends without it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from inspect import signature
from typing import Any

import mlx.core as mx
import mlx_lm
from mlx_lm.generate import (
    GenerationResponse,
    generation_stream,
    speculative_generate_step,
    wired_limit,
)
from mlx_lm.tokenizer_utils import TokenizerWrapper

from mlx_structured.automaton.acceptor import Acceptor
from mlx_structured.compiler import Registry
from mlx_structured.decoding import Decoded, decode, tokenizer_encode
from mlx_structured.driver import JsonSchemaAcceptorDriver, TokenForcer, check_max_tokens
from mlx_structured.errors import LimitExceededError
from mlx_structured.processor import LONGEST_DRAFT, LogitBiasProcessor, as_acceptor
from mlx_structured.prompt_ids import as_ids, check_ids
from mlx_structured.style import Style
from mlx_structured.vocabulary import Vocabulary

_OPTIONS = {
    name for name, each in signature(decode).parameters.items() if each.kind is each.KEYWORD_ONLY
} - {"max_tokens"} | {"num_draft_tokens"}
"""What ``stream_generate`` passes on."""


@dataclass
class StructuredResponse(GenerationResponse):  # type: ignore[misc]
    """mlx-lm's ``GenerationResponse``, and what is known of the value.

    Arguments:
        value: the parsed document, on the last response of a document that is whole.
        is_complete: whether the text so far is a whole document, as far as is known.
        is_forced: whether the token was fed because nothing else could come. Its ``logprobs`` are
            those that the model gave at its place without any mask.
    """

    value: Any = None
    is_complete: bool = False
    is_forced: bool = False

    def __str__(self) -> str:
        """The text."""
        return str(self.text)


class Follower:
    """The text of tokens that come one by one, and its value.

    Arguments:
        driver: where the document stands; it's left where it is.
    """

    def __init__(self, driver: JsonSchemaAcceptorDriver) -> None:
        self._driver = driver.fork()
        self._text = bytearray()

    def take(self, token: int) -> None:
        """Read a token."""
        self._driver.advance_token(token)
        self._text += self._driver.vocabulary.flat[token] or b""

    @property
    def is_complete(self) -> bool:
        """Whether the text is a whole document."""
        return self._driver.in_accepted_state()

    @property
    def value(self) -> Any:
        """The parsed document; ``None`` if it isn't whole."""
        acceptor = self._driver.acceptor
        return acceptor.parse(bytes(self._text)) if self.is_complete else None


def stream_generate(
    model: Any,
    tokenizer: Any,
    prompt: str | mx.array | list[int],
    schema_or_acceptor: Mapping[str, Any] | bool | str | Acceptor,
    *,
    max_tokens: int = 256,
    draft_model: Any = None,
    complete: bool = True,
    style: str | Style | None = None,
    registry: Registry | None = None,
    default_dialect: str | None = None,
    formats: bool | None = None,
    vocabulary: Vocabulary | None = None,
    **kwargs: Any,
) -> Iterator[StructuredResponse]:
    """Text of a value of a JSON Schema, token by token, as ``mlx_lm.stream_generate`` has it.

    For example::

        for response in stream_generate(model, tokenizer, prompt, schema, max_tokens=100):
            print(response.text, end="", flush=True)
        print(response.value)

    With a ``draft_model`` mlx-lm's speculative decoding is used under a logits processor, and no
    text is forced.

    Arguments:
        model: what ``mlx_lm.load`` returned.
        tokenizer: likewise.
        prompt: text or token ids.
        schema_or_acceptor: a schema (a dict, a bool or JSON text); or what ``compile_json_schema``
            made of one, to share its states between generations; or what ``compile_regex`` made,
            whose value is the text itself.
        max_tokens: the most tokens of the text; -1 for no limit.
        draft_model: a smaller model with the same tokenizer.
        complete: whether ``max_tokens`` narrows what may be written, so that the text is a whole
            document at the limit. If not, it's cut off.
        style, registry, default_dialect, formats: of the schema, as for ``compile_json_schema``.
        vocabulary: in place of the tokenizer's.
        kwargs: ``sampler``, ``logits_processors`` (run before the mask), ``max_kv_size``,
            ``prompt_cache``, ``prefill_step_size``, ``kv_bits``, ``kv_group_size``,
            ``quantized_kv_start``, ``prompt_progress_callback``, ``input_embeddings``, ``stream``
            and, with a ``draft_model``, ``num_draft_tokens``: those of mlx-lm. After an
            interruption a ``prompt_cache`` has the tokens of all responses, and maybe forced ones
            whose responses were still to come; at the end it has EOS, too, if the text is whole.

    Raises:
        TokenBudgetError: at once, if ``max_tokens`` is too few for any document that was found.
        LimitExceededError: at once, if no short document was found, with ``complete``; or later, if
            a step takes more than the acceptor's limits allow. Then the text up to there has come
            before (with a ``draft_model``, all but the tokens of the last draft).
        SchemaError, UnsupportedSchemaError, UnsatisfiableSchemaError: as ``compile_json_schema``.
        VocabularyError: as ``Vocabulary.from_tokenizer``.
        TypeError: at once, for a prompt, ``max_tokens`` or an option of another type, or an option
            that isn't known.
        ValueError: for ``max_tokens=0``, an empty prompt, a prompt with token ids that the model
            doesn't have, an option of the schema beside an acceptor, or ``num_draft_tokens`` out of
            range.
    """
    _check_options(kwargs, with_draft=draft_model is not None)
    limit = check_max_tokens(max_tokens)
    if limit is None or limit == 0 or limit < -1:
        raise ValueError(f"max_tokens must not be {limit}; -1 is for no limit")
    max_tokens = limit
    acceptor = as_acceptor(
        schema_or_acceptor,
        style=style,
        registry=registry,
        default_dialect=default_dialect,
        formats=formats,
    )
    if vocabulary is None:
        vocabulary = Vocabulary.from_tokenizer(tokenizer)
    driver = JsonSchemaAcceptorDriver(
        acceptor, vocabulary, max_tokens=max_tokens if complete and max_tokens > 0 else None
    )
    if not isinstance(tokenizer, TokenizerWrapper):
        tokenizer = TokenizerWrapper(tokenizer, eos_token_ids=vocabulary.eos_token_ids)
    ids = as_ids(tokenizer, prompt)
    if kwargs.get("input_embeddings") is None:
        for each in (model, draft_model):
            check_ids(ids, each)
    if draft_model is not None:
        drafted = kwargs.get("num_draft_tokens", 1)
        if not 1 <= drafted <= LONGEST_DRAFT:
            raise ValueError(f"num_draft_tokens must be 1 to {LONGEST_DRAFT}, not {drafted}")
        # Speculative decoding of mlx-lm knows no -1.
        endless = max_tokens if max_tokens > 0 else sys.maxsize
        kwargs |= {"max_tokens": endless, "draft_model": draft_model}
        return _with_draft(model, tokenizer, ids, driver, kwargs)
    kwargs.pop("num_draft_tokens", None)
    kwargs["max_tokens"] = max_tokens
    return _stream(model, tokenizer, ids, driver, kwargs)


def _check_options(options: Mapping[str, Any], *, with_draft: bool) -> None:
    """Raise ``TypeError`` for options that the loop doesn't take, before anything is done."""
    known = set(_OPTIONS)
    if with_draft:
        # mlx-lm passes over the first two, and refuses the third one by name.
        known &= {
            "max_kv_size",
            "prompt_progress_callback",
            "input_embeddings",
            *signature(mlx_lm.stream_generate).parameters,
            *signature(speculative_generate_step).parameters,
        }
    unknown = sorted(options.keys() - known)
    if unknown:
        raise TypeError(
            f"{unknown[0]!r} is no option of a generation"
            f"{' with a draft_model' if with_draft else ''}; those of mlx-lm are "
            f"{', '.join(sorted(known))}"
        )


def generate(
    model: Any,
    tokenizer: Any,
    prompt: str | mx.array | list[int],
    schema_or_acceptor: Mapping[str, Any] | bool | str | Acceptor,
    verbose: bool = False,
    **kwargs: Any,
) -> StructuredResponse:
    """The whole text of a value of a JSON Schema, and the value.

    For example::

        answer = generate(model, tokenizer, prompt, schema, max_tokens=100)
        print(answer.value)

    Arguments:
        model, tokenizer, prompt, schema_or_acceptor: as for :func:`stream_generate`.
        verbose: print the text as it comes, and how fast it came.
        kwargs: the other arguments of :func:`stream_generate`.

    Returns:
        The last response, with all of the text as its ``text``; ``str()`` of it is the text.

    Raises:
        As :func:`stream_generate`.
    """
    text = ""
    response = None
    for response in stream_generate(model, tokenizer, prompt, schema_or_acceptor, **kwargs):
        text += response.text
        if verbose:
            print(response.text, end="", flush=True)
    if response is None:
        raise AssertionError("a generation has at least one response")
    response.text = text
    if verbose:
        print(
            f"\nPrompt: {response.prompt_tokens} tokens, {response.prompt_tps:.3f} tokens-per-sec\n"
            f"Generation: {response.generation_tokens} tokens, "
            f"{response.generation_tps:.3f} tokens-per-sec\n"
            f"Peak memory: {response.peak_memory:.3f} GB"
        )
    return response


def _stream(
    model: Any,
    tokenizer: TokenizerWrapper,
    prompt: mx.array,
    driver: JsonSchemaAcceptorDriver,
    options: dict[str, Any],
) -> Iterator[StructuredResponse]:
    follower = Follower(driver)
    forcer = TokenForcer(driver, tokenizer_encode(tokenizer, driver.vocabulary))
    stream = options.get("stream", generation_stream)
    detokenizer = tokenizer.detokenizer
    with wired_limit(model, [stream]):
        start = time.perf_counter()
        prompt_tps = 0.0
        tokens = decode(model, prompt, driver, forcer, **options)
        for count, each in enumerate(tokens, 1):
            if count == 1:
                prompt_tps = prompt.size / (time.perf_counter() - start)
                start = time.perf_counter()
            try:
                follower.take(each.token)
                is_complete = follower.is_complete
            except LimitExceededError:
                if not each.is_before_error:
                    raise
                is_complete = False
            if each.token not in driver.vocabulary.eos_token_ids:
                detokenizer.add_token(each.token)
            if each.is_last or each.is_before_error:
                detokenizer.finalize()
            yield StructuredResponse(
                text=detokenizer.last_segment,
                token=each.token,
                logprobs=each.logprobs,
                from_draft=False,
                prompt_tokens=prompt.size,
                prompt_tps=prompt_tps,
                generation_tokens=count,
                generation_tps=count / (time.perf_counter() - start),
                peak_memory=mx.get_peak_memory() / 1e9,
                finish_reason=_finish_reason(each, driver),
                value=follower.value if each.is_last else None,
                is_complete=is_complete,
                is_forced=each.is_forced,
            )


def _finish_reason(last: Decoded, driver: JsonSchemaAcceptorDriver) -> str | None:
    if not last.is_last:
        return None
    return "stop" if driver.is_at_end else "length"


def _with_draft(
    model: Any,
    tokenizer: TokenizerWrapper,
    prompt: mx.array,
    driver: JsonSchemaAcceptorDriver,
    options: dict[str, Any],
) -> Iterator[StructuredResponse]:
    follower = Follower(driver)
    processors = [*(options.pop("logits_processors", None) or ()), LogitBiasProcessor(driver)]
    responses = mlx_lm.stream_generate(
        model,
        tokenizer,
        prompt,
        logits_processors=processors,
        **options,
    )
    for response in responses:
        follower.take(response.token)
        is_last = response.finish_reason is not None
        yield StructuredResponse(
            **vars(response),
            value=follower.value if is_last else None,
            is_complete=follower.is_complete,
        )
