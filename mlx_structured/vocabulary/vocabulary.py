"""The vocabulary: which bytes each token id of a model stands for."""

from __future__ import annotations

import hashlib
import operator
import threading
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from mlx_structured.errors import VocabularyError
from mlx_structured.vocabulary import disk_cache
from mlx_structured.vocabulary.disk_cache import Prepared
from mlx_structured.vocabulary.flat_tokens import FlatTokens, flatten
from mlx_structured.vocabulary.token_trie import TokenTrie, build_token_trie
from mlx_structured.vocabulary.tokenizer_bytes import (
    Revision,
    TokenSource,
    check_against_decode,
    eos_token_ids,
    revision,
    token_sources,
    unwrap,
)

_prepared: WeakKeyDictionary[Any, dict[Hashable, Vocabulary]] = WeakKeyDictionary()
_prepared_lock = threading.Lock()
# A tokenizer whose EOS ids or added tokens keep changing must not pile up vocabularies.
_PREPARED_PER_TOKENIZER = 4


@dataclass(frozen=True, init=False, repr=False, eq=False)
class Vocabulary:
    """The tokens of a model as bytes, ready for masks. Immutable; equal if the content is equal.

    Arguments:
        tokens: one ``bytes`` a token id, ``None`` for ids that are never text (control tokens,
            padding). An empty token counts as ``None``, since choosing it would change nothing. A
            token need not be whole UTF-8.
        eos_token_ids: ids that end a generation. They are never text.

    Attributes:
        size: number of token ids.
        eos_token_ids: ascending and distinct.
        flat: the tokens as two arrays; ``flat[id]`` is one of them, with no need of ``tokens``.
        trie: all tokens that are text.
        fingerprint: a hash (hexadecimal) of tokens and EOS ids, the same in every process.
        longest: number of bytes of the longest token.

    Raises:
        VocabularyError: for no tokens or none that is text, a token that isn't ``bytes``, no EOS
            id, or one that isn't an id.
    """

    size: int
    eos_token_ids: tuple[int, ...]
    flat: FlatTokens
    trie: TokenTrie
    fingerprint: str
    longest: int

    def __init__(self, tokens: Sequence[bytes | None], eos_token_ids: Iterable[int]) -> None:
        tokens = list(tokens)
        for index, token in enumerate(tokens):
            if token is not None and not isinstance(token, bytes):
                raise VocabularyError(
                    f"token {index} is {token!r}, not bytes: give the UTF-8 bytes that it stands "
                    "for, or None if it is never text"
                )
        eos = _checked_eos(eos_token_ids, len(tokens))
        flat = _flatten_text(tokens, eos)
        self._fill(Prepared(flat, build_token_trie(flat), _fingerprint(flat, eos)), eos)

    @classmethod
    def from_tokenizer(cls, tokenizer: Any) -> Vocabulary:
        """The vocabulary of any tokenizer that mlx-lm loads.

        Prepared once: a later call for the same tokenizer object returns the same vocabulary, and
        another process reads it from :func:`~mlx_structured.cache_directory.cache_directory`, under
        a hash of all that it was made from. A progress bar shows on a terminal if it takes long.

        The bytes of a token are what the tokenizer's decoder turns it into in the midst of a text.
        Three things about that are decided here:

        - **Leading space.** SentencePiece decoders drop one space at the very beginning of a text;
          of mlx-lm's detokenizers, ``BPEStreamingDetokenizer`` and ``SPMStreamingDetokenizer``
          (with ``trim_space``) do so for generated text, ``NaiveStreamingDetokenizer`` with such a
          decoder also after each line break. Here a token keeps its space. Between JSON's tokens
          it is whitespace, which may come or go; other languages see one space less if their text
          begins with one. Likewise ``clean_up_tokenization_spaces``, which only
          ``NaiveStreamingDetokenizer`` applies, is left aside.
        - **Control tokens** are never text: all EOS ids, special tokens, and added tokens that look
          like a marker although they aren't flagged special; see
          :func:`~mlx_structured.vocabulary.piece_bytes.without_control`.
        - **Other added tokens** are text where every decoder gives their content as it is; see
          :func:`~mlx_structured.vocabulary.piece_bytes.without_uncertain`.

        Arguments:
            tokenizer: mlx-lm's ``TokenizerWrapper`` (all its EOS ids count), a Hugging Face
                tokenizer (byte-level BPE or SentencePiece, slow ones too), or mistral-common's
                ``Tekkenizer``, bare or inside ``MistralTokenizer`` or ``MistralCommonBackend``.

        Raises:
            VocabularyError: if it has no EOS token, or if the bytes of its tokens can't be told.
        """
        inner = unwrap(tokenizer)
        eos = _checked_eos(eos_token_ids(tokenizer))
        with _prepared_lock:
            vocabularies = _prepared.setdefault(inner, {})
            state = (eos, revision(inner))
            if state not in vocabularies:
                prepared = _prepare(inner, *state)
                vocabulary = cls.__new__(cls)
                vocabulary._fill(prepared, eos)
                check_against_decode(inner, prepared.tokens)
                while len(vocabularies) >= _PREPARED_PER_TOKENIZER:
                    del vocabularies[next(iter(vocabularies))]
                vocabularies[state] = vocabulary
            return vocabularies[state]

    def _fill(self, prepared: Prepared, eos: tuple[int, ...]) -> None:
        flat = prepared.tokens
        for name, value in (
            ("size", len(flat.offsets) - 1),
            ("eos_token_ids", eos),
            ("flat", flat),
            ("trie", prepared.trie),
            ("fingerprint", prepared.fingerprint.hex()),
            ("longest", int(np.max(flat.lengths))),
        ):
            object.__setattr__(self, name, value)

    @cached_property
    def tokens(self) -> tuple[bytes | None, ...]:
        """One ``bytes`` or ``None`` a token id, made when first asked for."""
        return self.flat.split()

    def __len__(self) -> int:
        """The number of token ids."""
        return self.size

    def __repr__(self) -> str:
        return f"Vocabulary({self.size} tokens, eos_token_ids={list(self.eos_token_ids)})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)


def _fingerprint(flat: FlatTokens, eos: tuple[int, ...]) -> bytes:
    digest = hashlib.sha256(repr((len(flat.offsets), eos)).encode())
    digest.update(flat.offsets.tobytes())
    digest.update(flat.data.tobytes())
    return digest.digest()


def _prepare(tokenizer: Any, eos: tuple[int, ...], now: Revision | None) -> Prepared:
    for source in token_sources(tokenizer, now):
        key = disk_cache.cache_key(*source.content, repr(eos).encode())
        found = disk_cache.load(key)
        if found is not None:
            return found
        found = _build(source, eos)
        if found is not None:
            disk_cache.store(key, found)
            return found
    raise AssertionError("the last source tells the tokens")


def _build(source: TokenSource, eos: tuple[int, ...]) -> Prepared | None:
    from tqdm import tqdm  # type: ignore[import-untyped]  # noqa: PLC0415  # slow to import

    with tqdm(
        desc="Preparing the vocabulary", unit=" tokens", delay=1, leave=False, disable=None
    ) as bar:
        tokens = source.read()
        if tokens is None:
            return None
        bar.total = 2 * len(tokens)
        bar.update(len(tokens))
        # A model's EOS id may lie in the padding behind the tokenizer's own ids.
        tokens.extend([None] * (eos[-1] + 1 - len(tokens)))
        flat = _flatten_text(tokens, eos)
        return Prepared(flat, build_token_trie(flat, bar.update), _fingerprint(flat, eos))


def _flatten_text(tokens: list[bytes | None], eos: tuple[int, ...]) -> FlatTokens:
    for index in eos:
        tokens[index] = None
    flat = flatten(tokens)
    if not len(flat.data):
        raise VocabularyError(
            f"none of the {len(tokens)} tokens is text: give one bytes a token id in tokens"
        )
    return flat


def _checked_eos(eos_token_ids: Iterable[int], size: int | None = None) -> tuple[int, ...]:
    try:
        ids = tuple(sorted({operator.index(index) for index in eos_token_ids}))
    except TypeError:
        raise VocabularyError(
            f"eos_token_ids must be a list of token ids, not {eos_token_ids!r}"
        ) from None
    if not ids:
        raise VocabularyError(
            "eos_token_ids is empty, so a generation could never end: give at least one id"
        )
    for index in ids:
        if index < 0 or (size is not None and index >= size):
            limit = "" if size is None else f" of a vocabulary of {size} tokens"
            raise VocabularyError(
                f"EOS id {index} is not a token id{limit}: give ids that the model can emit, and "
                "one entry in tokens for each of them (None for those that are never text)"
            )
    return ids
