"""The driver: one sequence of tokens on its way through an acceptor."""

from __future__ import annotations

import operator
from ctypes import c_char
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from mlx_structured.automaton.acceptor import LEARNING, Acceptor
from mlx_structured.automaton.completable_masks import CompletableMasks
from mlx_structured.automaton.forced_text import Encode, ForcedTokens, is_at_end
from mlx_structured.automaton.guide import Guide, GuideState
from mlx_structured.automaton.token_walk import TokenWalk
from mlx_structured.errors import InvalidTokenError, TokenBudgetError
from mlx_structured.vocabulary import Vocabulary

_walks: WeakKeyDictionary[Vocabulary, TokenWalk] = WeakKeyDictionary()


class _Shared(NamedTuple):
    """What all drivers of an acceptor and a vocabulary share."""

    walk: TokenWalk
    guide: Guide
    completable: CompletableMasks


_shared: WeakKeyDictionary[Acceptor, WeakKeyDictionary[Vocabulary, _Shared]] = WeakKeyDictionary()


def _share(acceptor: Acceptor, vocabulary: Vocabulary) -> _Shared:
    by_vocabulary = _shared.setdefault(acceptor, WeakKeyDictionary())
    shared = by_vocabulary.get(vocabulary)
    if shared is None:
        walk = _walks.get(vocabulary)
        if walk is None:
            walk = _walks[vocabulary] = TokenWalk(vocabulary)
        guide = Guide(acceptor.origin, vocabulary, walk)
        shared = by_vocabulary[vocabulary] = _Shared(walk, guide, CompletableMasks(guide, walk))
    return shared


class _Buffer(NamedTuple):
    """Memory of the caller.

    Arguments:
        address, numel, element_size: which memory.
        mask: the words of the mask.
        rest: the bytes after them.
        zeros: as many bytes of zero.
    """

    address: int
    numel: int
    element_size: int
    mask: memoryview
    rest: memoryview
    zeros: bytes


def _open_buffer(address: int, numel: int, element_size: int, words: int) -> _Buffer:
    if element_size != 4:
        raise ValueError(f"a mask is written in words of 4 bytes, not of {element_size}")
    if numel < words:
        raise ValueError(f"a mask of this vocabulary has {words} words, the buffer only {numel}")
    if address <= 0 or address % 4:
        raise ValueError(f"no uint32 can stand at the address {address}: null, or not aligned")
    memory = memoryview((c_char * (int(numel) * 4)).from_address(int(address))).cast("B")
    rest = memory[words * 4 :]
    return _Buffer(
        address, numel, element_size, memory[: words * 4].cast("I"), rest, bytes(len(rest))
    )


def check_max_tokens(max_tokens: object) -> int | None:
    """The limit as an ``int``. Raises ``TypeError`` for what isn't a whole number or ``None``."""
    if max_tokens is None:
        return None
    return _whole_number(max_tokens, "max_tokens is a whole number of tokens")


def _whole_number(value: object, what: str) -> int:
    """The value as an ``int``. Raises ``TypeError`` for any other kind of number, and a bool."""
    try:
        if not isinstance(value, bool):
            return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        pass
    raise TypeError(f"{what}, not {value!r} of type {type(value).__name__}")


class JsonSchemaAcceptorDriver:
    """Tracks which tokens may come next in one sequence of any acceptor, of a schema or a regex.

    States are shared by all drivers of the same acceptor and vocabulary, so a driver is cheap, a
    fork is a copy of a list, and a rollback shortens it.

    Arguments:
        acceptor: what :func:`~mlx_structured.compile_json_schema` or
            :func:`~mlx_structured.compile_regex` returns.
        vocabulary: the tokens of the model.
        max_tokens: how many tokens may be read in all, EOS aside; ``None`` for no limit. With a
            limit, a token is only allowed if the document can still be completed after it.

    Raises:
        TokenBudgetError: if ``max_tokens`` is too few for any document that was found.
        LimitExceededError: if ``max_tokens`` is given, and no short document was found.
        TypeError: for an acceptor, a vocabulary or ``max_tokens`` of another type.
        ValueError: for negative ``max_tokens``.
    """

    def __init__(
        self, acceptor: Acceptor, vocabulary: Vocabulary, *, max_tokens: int | None = None
    ) -> None:
        if not isinstance(acceptor, Acceptor):
            raise TypeError(
                f"an Acceptor is needed, not a {type(acceptor).__name__}: "
                "call compile_json_schema for a schema, compile_regex for a regular expression"
            )
        if not isinstance(vocabulary, Vocabulary):
            raise TypeError(
                f"a Vocabulary is needed, not a {type(vocabulary).__name__}: "
                "call Vocabulary.from_tokenizer for a tokenizer"
            )
        self.acceptor = acceptor
        self.vocabulary = vocabulary
        self.max_tokens = max_tokens = check_max_tokens(max_tokens)
        if max_tokens is not None and max_tokens < 0:
            raise ValueError(f"max_tokens={max_tokens} is negative: None is for no limit")
        with LEARNING:
            self._walk, self._guide, self._completable = _share(acceptor, vocabulary)
        self._states: list[GuideState] = [self._guide.start]
        self._buffer: _Buffer | None = None
        if max_tokens is not None and max_tokens < (needed := self.tokens_to_complete()):
            raise TokenBudgetError(max_tokens, needed)

    def select_valid_tokens(self) -> npt.NDArray[np.uint32]:
        """The tokens that may come next.

        Returns:
            A read-only array of ``ceil(vocabulary.size / 32)`` ``uint32``: token ``t`` is allowed
            if bit ``t % 32`` of word ``t // 32`` is set. EOS ids are allowed exactly when the text
            so far is a whole document. The same state returns the same array, unless
            ``max_tokens`` is near.

        Raises:
            VocabularyError: if no token of the vocabulary can write what must come next.
            LimitExceededError: if finding out takes more than the acceptor's limits allow. The
                driver stays where it was.
        """
        state = self._states[-1]
        bitmap = state.bitmap
        if self.max_tokens is not None:
            left = self.max_tokens - len(self._states) + 1
            ceiling = state.ceiling
            if bitmap is None or ceiling is None or ceiling >= left:
                return self._completable.bitmap(state, left)
        return self._guide.bitmap(state) if bitmap is None else bitmap

    def write_mask_into(self, data_ptr: int, numel: int, element_size: int) -> None:
        """Write the tokens that may come next into memory of the caller.

        The arguments are those of ``Guide.write_mask_into`` in outlines-core, and so is the
        meaning: for an array of numpy, ``array.ctypes.data, array.size, array.itemsize``; for a
        tensor of torch on the CPU, ``data_ptr(), numel(), element_size()``. The memory must be
        contiguous, writable, and at least as large as the arguments say: that can't be checked.

        Arguments:
            data_ptr: the address of the first of the 32-bit words.
            numel: how many words there are. The first ``ceil(vocabulary.size / 32)`` become what
                :meth:`select_valid_tokens` returns, those after them zero.
            element_size: bytes of a word: 4.

        Raises:
            ValueError: for words of another size, too few of them, or an address that is null or
                not a multiple of 4. Nothing is written then.
            VocabularyError: as :meth:`select_valid_tokens`.
        """
        buffer = self._buffer
        if buffer is None or buffer[:3] != (data_ptr, numel, element_size):
            words = (self.vocabulary.size + 31) // 32
            buffer = self._buffer = _open_buffer(data_ptr, numel, element_size, words)
        buffer.mask[:] = self.select_valid_tokens()  # type: ignore[call-overload]
        if buffer.rest:
            buffer.rest[:] = buffer.zeros

    def advance_token(self, token_id: int) -> None:
        """Go on with a token.

        Arguments:
            token_id: a whole number, of numpy too.

        Raises:
            InvalidTokenError: if the token isn't allowed; the driver stays where it was.
            LimitExceededError: as :meth:`select_valid_tokens`.
            TypeError: for what isn't a whole number.
        """
        if type(token_id) is not int:
            # A float or a bool would be found as the number that it equals.
            token_id = _whole_number(token_id, "a token id is a whole number")
        state = self._states[-1]
        following = state.next.get(token_id)
        if following is None:
            following = self._step(state, token_id)
        self._states.append(following)

    def _step(self, state: GuideState, token_id: int) -> GuideState:
        size = self.vocabulary.size
        if not 0 <= token_id < size:
            raise InvalidTokenError(token_id, f"the vocabulary has ids 0 to {size - 1}")
        following = self._guide.advance(state, token_id)
        if following is None:
            if token_id in self.vocabulary.eos_token_ids:
                raise InvalidTokenError(token_id, "it ends the text, which is not complete yet")
            text = self.vocabulary.flat[token_id]
            raise InvalidTokenError(
                token_id,
                "it is no text" if text is None else f"its text {text!r} does not fit here",
            )
        return following

    def in_accepted_state(self) -> bool:
        """Whether the text so far is a whole document."""
        return self._states[-1].is_accepting

    @property
    def is_finished(self) -> bool:
        """Whether an EOS id was read; from then on only EOS ids are allowed."""
        return self._states[-1].is_finished

    @property
    def token_count(self) -> int:
        """How many tokens were read."""
        return len(self._states) - 1

    @property
    def is_at_end(self) -> bool:
        """Whether the document is complete and nothing but EOS can follow."""
        state = self._states[-1]
        if state.is_finished or not state.is_accepting:
            return state.is_finished
        with LEARNING, self.acceptor.origin.work:
            return is_at_end(state.configurations)

    def tokens_to_complete(self) -> int:
        """How many tokens the completion found for this state takes, 0 where it may end.

        Raises:
            LimitExceededError: if none was found with a bounded search.
        """
        return len(self._completable.completion(self._states[-1]))

    def can_complete_within(self, tokens: int) -> bool:
        """Whether a completion with at most so many tokens is known."""
        return self._completable.fits(self._states[-1], tokens)

    def rollback(self, count: int) -> None:
        """Take back the last tokens.

        Raises:
            ValueError: if fewer tokens were read, or ``count`` is negative.
        """
        if not 0 <= count <= self.token_count:
            raise ValueError(f"can't take back {count} of {self.token_count} tokens")
        if count:
            del self._states[-count:]

    def fork(self) -> JsonSchemaAcceptorDriver:
        """Another driver at the same place, independent from now on."""
        other = JsonSchemaAcceptorDriver.__new__(JsonSchemaAcceptorDriver)
        other.acceptor = self.acceptor
        other.vocabulary = self.vocabulary
        other.max_tokens = self.max_tokens
        other._walk, other._guide, other._completable = self._walk, self._guide, self._completable
        other._states = self._states.copy()
        other._buffer = self._buffer
        return other


class TokenForcer:
    """Finds the tokens of text that the grammar leaves no choice about, for one driver.

    Arguments:
        driver: where the document stands.
        encode: the tokens with which the model's tokenizer writes a text; ``None`` where it can't.
            Then the fewest tokens are taken.
    """

    def __init__(self, driver: JsonSchemaAcceptorDriver, encode: Encode) -> None:
        self._driver = driver
        self._forced = ForcedTokens(driver._guide, driver._walk, driver._completable, encode)

    def advance(self, most: int | None = None) -> list[int]:
        """The tokens that must come next; the driver has read them when this returns.

        Those at the end that could also begin a longer token, with what may follow, are left out.
        With ``max_tokens`` no more are taken than leave enough to complete the document.

        Arguments:
            most: not more than this; ``None`` for no limit.
        """
        driver = self._driver
        tokens: list[int] = []
        for token in self._forced.after(driver._states[-1])[:most]:
            driver.advance_token(token)
            left = None if driver.max_tokens is None else driver.max_tokens - driver.token_count
            if left is not None and not driver.can_complete_within(left):
                driver.rollback(1)
                break
            tokens.append(token)
        return tokens
