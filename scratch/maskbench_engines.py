"""The engines that MaskBench's schemas are put to: this package's and its peers.

Each is asked the same: prepare a vocabulary, take a schema, begin a text, and then a mask and an
advance for each token. What is timed is done by nothing but the engine's own function: the three of
a :class:`Text` are its bound methods wherever their arguments allow that.

A peer that isn't installed is left out. They are used as their documentation shows, with one thread
and the settings that come closest to JSON Schema: flexible whitespace, and objects that are open
unless the schema closes them. outlines-core gets the regular expression that its own
``build_regex_from_schema`` makes.
"""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, Protocol
from unittest.mock import patch

import numpy as np

from mlx_structured import (
    Acceptor,
    JsonSchemaAcceptorDriver,
    LimitExceededError,
    SchemaError,
    StructuredError,
    Style,
    UnsatisfiableSchemaError,
    UnsupportedSchemaError,
    Vocabulary,
    compile_json_schema,
)

LIMIT = "limit"


class RefusedError(Exception):
    """The schema was refused: the kind to count it under, and the engine's message."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class StepLimitError(Exception):
    """An engine gave up in the middle of a text."""


class Text(NamedTuple):
    """One text on its way through an engine.

    Arguments:
        mask: makes the mask of the tokens that may come next.
        allows: whether that mask lets a token through. Not timed. Raises ``StepLimitError`` where
            the engine has given up without an error of its own.
        advance: goes on with a token.
    """

    mask: Callable[[], object]
    allows: Callable[[int], bool]
    advance: Callable[[int], object]


class Engine(Protocol):
    """An engine under test. It is made from a tokenizer, which is what *preparation* times."""

    name: str
    errors: tuple[type[Exception], ...]
    """What it raises where it gives up in the middle of a text."""
    grammar: Any
    """What was made of the last schema: whoever keeps it keeps all that belongs to it."""

    def forget(self) -> None:
        """Let go of the last schema."""

    def compile(self, schema: Any) -> None:
        """Take a schema. Raises ``RefusedError``."""

    def text(self) -> Text:
        """Begin a text of the last schema."""

    def text_in_any_order(self) -> Text | None:
        """The same with keys in any order, where the engine has that."""


class Ours:
    """This package."""

    name = "mlx-structured"
    errors: tuple[type[Exception], ...] = (StructuredError,)

    def __init__(self, tokenizer: Any, vocabulary: Vocabulary) -> None:
        # From nothing: the cache on disk is one of its own, and empty.
        with TemporaryDirectory() as folder, patch.dict(os.environ, MLX_STRUCTURED_CACHE=folder):
            self._vocabulary = Vocabulary.from_tokenizer(tokenizer)
        JsonSchemaAcceptorDriver(compile_json_schema(True), self._vocabulary)
        self._schema: Any = None
        self.grammar: Any = None
        self._any_order: Acceptor | None = None

    def forget(self) -> None:
        self.grammar = self._any_order = None

    def compile(self, schema: Any) -> None:
        self._schema = schema
        try:
            self.grammar = compile_json_schema(schema)
        except UnsupportedSchemaError as error:
            foreign = error.reason.startswith("does not belong")
            raise RefusedError(
                f"{error.keyword}{' of another draft' if foreign else ''}", str(error)
            ) from error
        except UnsatisfiableSchemaError as error:
            raise RefusedError("unsatisfiable", str(error)) from error
        except SchemaError as error:
            raise RefusedError("invalid schema", str(error)) from error
        except LimitExceededError as error:
            raise RefusedError(LIMIT, str(error)) from error

    def text(self) -> Text:
        return self._text(self.grammar)

    def text_in_any_order(self) -> Text:
        if self._any_order is None:
            self._any_order = compile_json_schema(self._schema, style=Style(key_order="any"))
        return self._text(self._any_order)

    def _text(self, acceptor: Acceptor) -> Text:
        driver = JsonSchemaAcceptorDriver(acceptor, self._vocabulary)

        def allows(token: int) -> bool:
            return bool(int(driver.select_valid_tokens()[token >> 5]) >> (token & 31) & 1)

        return Text(driver.select_valid_tokens, allows, driver.advance_token)


class _Buffer:
    """Memory for a packed mask."""

    def __init__(self, size: int) -> None:
        self.words = np.zeros((1, (size + 31) // 32), np.int32)
        self.address = self.words.ctypes.data

    def has(self, token: int) -> bool:
        """Whether the bit of a token is set."""
        return bool(int(self.words[0, token >> 5]) >> (token & 31) & 1)


class LLGuidance:
    """llguidance, through its ``LLMatcher``."""

    name = "llguidance"
    errors: tuple[type[Exception], ...] = ()

    def __init__(self, tokenizer: Any, vocabulary: Vocabulary) -> None:
        from llguidance import LLMatcher  # noqa: PLC0415  # optional
        from llguidance.hf import from_tokenizer  # noqa: PLC0415

        self._tokenizer = from_tokenizer(tokenizer)
        self._matcher_of = LLMatcher
        self._buffer = _Buffer(self._tokenizer.vocab_size)
        self.grammar: Any = None

    def forget(self) -> None:
        self.grammar = None

    def compile(self, schema: Any) -> None:
        grammar = self._matcher_of.grammar_from_json_schema(
            schema, overrides={"whitespace_flexible": True}
        )
        self.grammar = self._matcher_of(self._tokenizer, grammar, log_level=0)
        if self.grammar.is_error():
            message = self.grammar.get_error()
            raise RefusedError(message.partition("\n")[0][:60], message)

    def text(self) -> Text:
        matcher = self.grammar
        matcher.reset()
        buffer = self._buffer

        def allows(token: int) -> bool:
            if buffer.has(token):
                return True
            if matcher.is_error():
                raise StepLimitError(matcher.get_error())
            return False

        mask = partial(matcher.unsafe_compute_mask_ptr, buffer.address, buffer.words.nbytes)
        return Text(mask, allows, matcher.consume_token)

    def text_in_any_order(self) -> None:
        return None


class XGrammar:
    """XGrammar, which needs torch."""

    name = "XGrammar"
    errors: tuple[type[Exception], ...] = (RuntimeError,)

    def __init__(self, tokenizer: Any, vocabulary: Vocabulary) -> None:
        import xgrammar  # noqa: PLC0415  # optional

        info = xgrammar.TokenizerInfo.from_huggingface(
            tokenizer,
            vocab_size=vocabulary.size,
            stop_token_ids=list(vocabulary.eos_token_ids),
        )
        self._module = xgrammar
        self._compiler = xgrammar.GrammarCompiler(info, max_threads=1, cache_enabled=False)
        self._buffer = _Buffer(vocabulary.size)
        self.grammar: Any = None

    def forget(self) -> None:
        self.grammar = None

    def compile(self, schema: Any) -> None:
        try:
            self.grammar = self._compiler.compile_json_schema(json.dumps(schema), strict_mode=False)
        except (RuntimeError, ValueError) as error:
            message = str(error)
            raise RefusedError(message.rpartition("] ")[2][:60], message) from error

    def text(self) -> Text:
        matcher = self._module.GrammarMatcher(self.grammar)
        mask = partial(matcher.fill_next_token_bitmask, self._buffer.words)
        return Text(mask, self._buffer.has, matcher.accept_token)

    def text_in_any_order(self) -> None:
        return None


class OutlinesCore:
    """outlines-core, by way of a regular expression of the schema."""

    name = "outlines-core"
    errors: tuple[type[Exception], ...] = ()

    def __init__(self, tokenizer: Any, vocabulary: Vocabulary) -> None:
        import outlines_core  # noqa: PLC0415  # optional
        from outlines_core.json_schema import build_regex_from_schema  # noqa: PLC0415

        by_text: dict[bytes, list[int]] = {}
        for token_id, token in enumerate(vocabulary.tokens):
            if token is not None:
                by_text.setdefault(token, []).append(token_id)
        self._vocabulary = outlines_core.Vocabulary(vocabulary.eos_token_ids[0], by_text)
        self._module = outlines_core
        self._regex_of = build_regex_from_schema
        self._buffer = _Buffer(vocabulary.size)
        self.grammar: Any = None

    def forget(self) -> None:
        self.grammar = None

    def compile(self, schema: Any) -> None:
        try:
            regex = self._regex_of(json.dumps(schema))
            self.grammar = self._module.Index(regex, self._vocabulary)
        except (ValueError, TypeError, RuntimeError, NotImplementedError) as error:
            message = str(error)
            raise RefusedError(message.partition("\n")[0][:60], message) from error

    def text(self) -> Text:
        guide = self._module.Guide(self.grammar)
        words = self._buffer.words
        mask = partial(guide.write_mask_into, self._buffer.address, words.size, words.itemsize)
        return Text(mask, self._buffer.has, partial(guide.advance, return_tokens=False))

    def text_in_any_order(self) -> None:
        return None


class LLMStructuredOutput:
    """llm-structured-output, in Python. Its mask is one large integer."""

    name = "llm-structured-output"
    errors: tuple[type[Exception], ...] = ()

    def __init__(self, tokenizer: Any, vocabulary: Vocabulary) -> None:
        from llm_structured_output import json_schema_acceptor as peer  # noqa: PLC0415  # optional

        self.errors = (
            peer.SchemaNotImplementedError,
            peer.InvalidSchemaError,
            peer.DefinitionNotFoundError,
            peer.UnknownSchemaTypeError,
            peer.JsonSchemaAcceptorDriver.TokenRejected,
            AttributeError,
            LookupError,
            NotImplementedError,
            RecursionError,
            TypeError,
            ValueError,
        )

        # It reads characters: tokens that split one can't be told to it.
        fragments = [
            (token_id, token.decode())
            for token_id, token in enumerate(vocabulary.tokens)
            if token is not None and _is_text(token)
        ]
        self._factory = peer.JsonSchemaAcceptorDriver.driver_factory_for_model(
            fragments, vocabulary.eos_token_ids[0]
        )
        self._schema: Any = None
        self.grammar: Any = None

    def forget(self) -> None:
        self.grammar = None

    def compile(self, schema: Any) -> None:
        self._schema = schema
        try:
            self.grammar = self._factory(schema)
        except self.errors as error:
            kind = f"{type(error).__name__} {error}"[:60]
            raise RefusedError(kind, str(error)) from error

    def text(self) -> Text:
        driver = self._factory(self._schema)
        self.grammar = driver
        found = 0

        def mask() -> None:
            nonlocal found
            found = driver.select_valid_tokens()

        return Text(mask, lambda token: bool(found >> token & 1), driver.advance_token)

    def text_in_any_order(self) -> None:
        return None


def _is_text(token: bytes) -> bool:
    try:
        token.decode()
    except UnicodeDecodeError:
        return False
    return True


ENGINES: dict[str, Callable[[Any, Vocabulary], Engine]] = {
    engine.name: engine
    for engine in (Ours, LLGuidance, XGrammar, OutlinesCore, LLMStructuredOutput)
}
_MODULES = {
    "llguidance": ("llguidance",),
    "XGrammar": ("xgrammar", "torch"),
    "outlines-core": ("outlines_core",),
    "llm-structured-output": ("llm_structured_output",),
}


def installed() -> list[str]:
    """The names of the engines that are there, ours first."""
    return [
        name
        for name in ENGINES
        if all(importlib.util.find_spec(module) for module in _MODULES.get(name, ()))
    ]


def version_of(name: str) -> str:
    """The version of an engine's package."""
    return version(name.lower())
