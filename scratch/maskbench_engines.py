"""The engines that MaskBench's schemas are put to: this package's, and llguidance's.

Each is asked the same: take a schema, make the first mask, read the tokens of an instance as far as
the masks let them through. Each keeps its own times.
"""

from __future__ import annotations

import importlib.util
import time
from array import array
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

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

HAS_LLGUIDANCE = importlib.util.find_spec("llguidance") is not None

LIMIT = "limit"


class RefusedError(Exception):
    """The schema was refused: the kind to count it under, and the engine's message."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class StepLimitError(Exception):
    """An engine gave up in the middle of a text."""


class TimeIsUpError(Exception):
    """A schema took longer than it may."""


class Times(NamedTuple):
    """Seconds, as many as were measured."""

    compile: array[float]
    first_mask: array[float]
    step: array[float]


class Engine(Protocol):
    """An engine under test."""

    name: str
    times: Times

    def compile(self, schema: Any) -> None:
        """Take a schema. Raises ``RefusedError``."""

    def first_mask(self) -> None:
        """Make the mask before the first token."""

    def tokens_read(self, ids: Sequence[int]) -> int:
        """How many tokens the masks let through; one more with the EOS after them."""

    def tokens_read_in_any_order(self, ids: Sequence[int]) -> int:
        """The same with keys in any order, where the engine has that."""


def new_times() -> Times:
    """No times yet."""
    return Times(array("d"), array("d"), array("d"))


class Ours:
    """This package."""

    name = "mlx-structured"

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.times = new_times()
        self._vocabulary = vocabulary
        (self._eos, *_) = vocabulary.eos_token_ids
        self._schema: Any = None
        self._acceptor: Acceptor | None = None
        self._any_order: Acceptor | None = None
        self._gave_up_any_order = ""

    def compile(self, schema: Any) -> None:
        self._schema = schema
        self._acceptor = self._any_order = None
        self._gave_up_any_order = ""
        try:
            self._acceptor = compile_json_schema(schema)
            JsonSchemaAcceptorDriver(self._acceptor, self._vocabulary)
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

    def first_mask(self) -> None:
        assert self._acceptor is not None
        JsonSchemaAcceptorDriver(self._acceptor, self._vocabulary).select_valid_tokens()

    def tokens_read(self, ids: Sequence[int]) -> int:
        assert self._acceptor is not None
        return self._read(self._acceptor, ids, self.times.step)

    def tokens_read_in_any_order(self, ids: Sequence[int]) -> int:
        if self._gave_up_any_order:
            raise StepLimitError(self._gave_up_any_order)
        if self._any_order is None:
            self._any_order = compile_json_schema(self._schema, style=Style(key_order="any"))
        try:
            return self._read(self._any_order, ids, None)
        except (StepLimitError, TimeIsUpError) as error:
            self._gave_up_any_order = str(error)
            raise

    def _read(self, acceptor: Acceptor, ids: Sequence[int], times: array[float] | None) -> int:
        driver = JsonSchemaAcceptorDriver(acceptor, self._vocabulary)
        clock = time.perf_counter
        for count, token in enumerate((*ids, self._eos)):
            begin = clock()
            try:
                if not int(driver.select_valid_tokens()[token >> 5]) >> (token & 31) & 1:
                    return count
                driver.advance_token(token)
            except StructuredError as error:
                raise StepLimitError(f"after {count} tokens: {error}") from error
            if times is not None:
                times.append(clock() - begin)
        return len(ids) + 1


class LLGuidance:
    """The engine of that name, through its ``LLMatcher``."""

    name = "llguidance"

    def __init__(self, tokenizer: Any) -> None:
        from llguidance import LLMatcher  # noqa: PLC0415  # optional
        from llguidance.hf import from_tokenizer  # noqa: PLC0415

        self.times = new_times()
        self._tokenizer = from_tokenizer(tokenizer)
        self._eos = self._tokenizer.eos_token
        self._matcher_of = LLMatcher
        self._matcher: Any = None

    def compile(self, schema: Any) -> None:
        grammar = self._matcher_of.grammar_from_json_schema(
            schema, overrides={"whitespace_flexible": True}
        )
        self._matcher = self._matcher_of(self._tokenizer, grammar, log_level=0)
        if self._matcher.is_error():
            message = self._matcher.get_error()
            raise RefusedError(message.partition("\n")[0][:60], message)

    def first_mask(self) -> None:
        self._matcher.compute_bitmask()

    def tokens_read(self, ids: Sequence[int]) -> int:
        matcher = self._matcher
        matcher.reset()
        times = self.times.step
        clock = time.perf_counter
        for count, token in enumerate((*ids, self._eos)):
            begin = clock()
            if not matcher.compute_bitmask()[token >> 3] >> (token & 7) & 1:
                if matcher.is_error():
                    raise StepLimitError(f"after {count} tokens: {matcher.get_error()}")
                return count
            matcher.consume_token(token)
            times.append(clock() - begin)
        return len(ids) + 1

    def tokens_read_in_any_order(self, ids: Sequence[int]) -> int:
        return 0
