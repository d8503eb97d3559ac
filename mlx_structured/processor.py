"""Logits processors for mlx-lm: masking what doesn't fit, as a generation goes along.

What mlx-lm shows a processor (``mlx_lm.generate``, 0.30 to 0.32), and what follows from it:

- ``tokens`` is the prompt or some end of it, and then what was generated. In 0.32 it's the last
  token of the prompt in ``speculative_generate_step`` and all of it elsewhere; earlier versions
  differ. So the first call sets an anchor, and only what follows it counts.
- A step more is run than is shown, so there are calls after EOS and past ``max_tokens``.
- ``speculative_generate_step`` asks for a draft, takes its tokens back, and asks again for the
  checked ones: from one call to the next ``tokens`` may shrink, or end differently.
- With ``input_embeddings`` and an empty prompt the first token is chosen without any processor.
  That can't be noticed here: pass the prompt's ids beside the embeddings.
- The logits may have more rows than there are tokens, as padding.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import mlx.core as mx
import numpy as np
from numpy.typing import NDArray

from mlx_structured.automaton.acceptor import Acceptor
from mlx_structured.compiler import Registry, compile_json_schema
from mlx_structured.driver import JsonSchemaAcceptorDriver
from mlx_structured.errors import InvalidTokenError, SequenceError
from mlx_structured.json_schema.dialects import DRAFT202012
from mlx_structured.masks import mask_logits
from mlx_structured.style import Style
from mlx_structured.vocabulary import Vocabulary

LONGEST_DRAFT = 32
"""Going back by more tokens than this isn't speculative decoding, but another generation."""


class Driver(Protocol):
    """What a processor needs of a driver, such as a ``JsonSchemaAcceptorDriver``."""

    def select_valid_tokens(self) -> NDArray[np.uint32]:
        """The allowed tokens as a packed, read-only bitmap (see ``masks.create_mask``)."""

    def advance_token(self, token_id: int) -> None:
        """Takes a token. Raises ``InvalidTokenError`` for one that isn't allowed."""

    def rollback(self, count: int) -> None:
        """Takes back the last ``count`` tokens."""

    @property
    def is_finished(self) -> bool:
        """Whether the last token was an EOS."""


def _common_prefix(left: NDArray[Any], right: NDArray[Any]) -> int:
    length = min(left.size, right.size)
    different = np.flatnonzero(left[:length] != right[:length])
    return int(different[0]) if different.size else length


class LogitBiasProcessor:
    """Lets an mlx-lm generation choose only the tokens that a driver allows.

    Made by :func:`make_logit_bias_processor`; with another driver it can be made directly. It goes
    into ``logits_processors=[processor]``. It makes no ``mx.array`` until it's called, so one
    thread can make it and another generate with it.

    It follows one generation of one sequence. For the next, call :meth:`reset` or make a new one:
    tokens that don't continue the sequence raise ``SequenceError``. (Where they go back to the very
    same prompt after a few tokens, as speculative decoding does with its first draft, that is
    accepted once: the document begins anew, as it must in either case.)

    Attributes:
        driver: what the sequence is checked with. Its state is the one before the next token.
    """

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self._seen: NDArray[Any] | None = None
        self._anchor = 0
        self._restarted = False

    def reset(self) -> None:
        """Takes back all tokens of the generation, to be used for a new one."""
        if self._seen is not None:
            self.driver.rollback(self._seen.size - self._anchor)
        self._seen = None
        self._restarted = False

    def __call__(self, tokens: mx.array, logits: mx.array) -> mx.array:
        """The logits of the next token, with ``-inf`` for those that aren't allowed.

        Arguments:
            tokens: ``(n,)``, integer: the prompt or its end, then what was generated.
            logits: ``(1, V)`` or ``(V,)``, of any floating type, which is kept.

        Raises:
            SequenceError: if the tokens don't continue those of the last call.
            EmptyMaskError: if none of the ``V`` tokens is allowed.
            TypeError: if the logits aren't floating.
            ValueError: for other shapes, such as the logits of a whole batch.
        """
        if tokens.ndim != 1 or logits.ndim not in (1, 2) or logits.size != logits.shape[-1]:
            raise ValueError(
                f"tokens of shape {tokens.shape} with logits of shape {logits.shape}: a processor "
                "takes (n,) with (1, V) or (V,), as it follows one sequence; give each row of a "
                "batch its own (mlx_lm BatchGenerator.insert(logits_processors=[[p0], [p1], ...]))"
            )
        # In this order the device goes on with the forward pass while the mask is made here:
        # reading the tokens waits for them alone.
        mx.async_eval(tokens)  # type: ignore[no-untyped-call]
        mx.async_eval(logits)  # type: ignore[no-untyped-call]
        self._follow(np.array(tokens))
        return mask_logits(logits, self.driver.select_valid_tokens())

    def _follow(self, tokens: NDArray[Any]) -> None:
        if self._seen is None:
            self._seen, self._anchor = tokens, tokens.size
            return
        kept = _common_prefix(self._seen, tokens)
        if kept < self._anchor:
            raise SequenceError("the prompt isn't the one that this generation began with")
        undone = self._seen.size - kept
        if undone > LONGEST_DRAFT:
            raise SequenceError(f"the tokens go back by {undone}, which is longer than any draft")
        if undone and tokens.size == self._anchor:
            # Speculative decoding comes back to the prompt once, from its first draft. In 0.32 it
            # shows one token of the prompt, so more of them and EOS mean another generation.
            if self._restarted or (self._anchor > 1 and self.driver.is_finished):
                raise SequenceError("the tokens begin again after the prompt")
            self._restarted = True
        self.driver.rollback(undone)
        self._seen = tokens[:kept]
        for position in range(kept, tokens.size):
            try:
                self.driver.advance_token(int(tokens[position]))
            except InvalidTokenError as error:
                raise SequenceError(
                    f"token {position - self._anchor} after the prompt doesn't follow from the "
                    f"masks: {error}"
                ) from error
            self._seen = tokens[: position + 1]


def as_acceptor(
    schema_or_acceptor: Mapping[str, Any] | bool | str | Acceptor,
    *,
    style: str | Style | None = None,
    registry: Registry | None = None,
    default_dialect: str | None = None,
    formats: bool | None = None,
) -> Acceptor:
    """The acceptor itself, or a schema's, with the options of ``compile_json_schema``.

    Raises:
        SchemaError, UnsupportedSchemaError, UnsatisfiableSchemaError: as ``compile_json_schema``.
        TypeError: for an option of another type.
        ValueError: if an option is given for an acceptor, which has its own.
    """
    if not isinstance(schema_or_acceptor, Acceptor):
        return compile_json_schema(
            schema_or_acceptor,
            style="spaced" if style is None else style,
            registry=registry,
            default_dialect=DRAFT202012.uri if default_dialect is None else default_dialect,
            formats=True if formats is None else formats,
        )
    if any(each is not None for each in (style, registry, default_dialect, formats)):
        raise ValueError(
            "style, registry, default_dialect and formats belong to a schema: "
            "an acceptor has its own, give them to compile_json_schema"
        )
    return schema_or_acceptor


def make_logit_bias_processor(
    tokenizer: Any,
    schema_or_acceptor: Mapping[str, Any] | bool | str | Acceptor,
    *,
    style: str | Style | None = None,
    registry: Registry | None = None,
    default_dialect: str | None = None,
    formats: bool | None = None,
    vocabulary: Vocabulary | None = None,
    max_tokens: int | None = None,
) -> LogitBiasProcessor:
    """A logits processor that makes an mlx-lm generation write a value of a JSON Schema.

    Given an acceptor, the generation writes one of its texts, such as one that a regular expression
    matches.

    For example::

        processor = make_logit_bias_processor(tokenizer, {"type": "array"})
        mlx_lm.generate(model, tokenizer, prompt, logits_processors=[processor])

    It serves one generation of one sequence; ``processor.reset()`` readies it for the next. Put it
    last in the list of processors, so that no other changes what it masked. Give it the
    ``max_tokens`` of the generation, so that the text is a whole document even if they are few.

    Arguments:
        tokenizer: what ``mlx_lm.load`` returned, or a Hugging Face tokenizer. Its vocabulary is
            prepared once.
        schema_or_acceptor: a schema (a dict, a bool or JSON text); or what ``compile_json_schema``
            made of one, to share its states between generations; or what ``compile_regex`` made.
        style: which texts of a value may be written, by name or as a ``Style``; ``"spaced"`` if
            it isn't given.
        registry: schemas that the schema refers to, by URI.
        default_dialect: the metaschema's URI, for schemas without ``$schema``; draft 2020-12's if
            it isn't given.
        formats: whether ``format`` is enforced, as it is if this isn't given.
        vocabulary: in place of the tokenizer's, which is then not looked at.
        max_tokens: of the generation. When they are nearly used up, the masks narrow to what can
            be completed with those left. ``None`` leaves the text to be cut off. EOS isn't
            counted, so the text may be complete while ``finish_reason`` is ``"length"``.

    Raises:
        TokenBudgetError: if ``max_tokens`` is too few for any document that was found.
        LimitExceededError: if ``max_tokens`` is given, and no short document was found.
        SchemaError, UnsupportedSchemaError, UnsatisfiableSchemaError: as ``compile_json_schema``.
        VocabularyError: as ``Vocabulary.from_tokenizer``.
        TypeError: for ``max_tokens`` or an option of another type.
        ValueError: if any of the four is given for an acceptor, which has its own.
    """
    acceptor = as_acceptor(
        schema_or_acceptor,
        style=style,
        registry=registry,
        default_dialect=default_dialect,
        formats=formats,
    )
    if vocabulary is None:
        vocabulary = Vocabulary.from_tokenizer(tokenizer)
    driver = JsonSchemaAcceptorDriver(acceptor, vocabulary, max_tokens=max_tokens)
    return LogitBiasProcessor(driver)
