"""The bytes of each token of a tokenizer object, and what these depend on."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from mlx_structured.errors import VocabularyError
from mlx_structured.vocabulary.flat_tokens import FlatTokens
from mlx_structured.vocabulary.model_pieces import model_pieces
from mlx_structured.vocabulary.piece_bytes import (
    byte_alphabet,
    byte_level_bytes,
    fallback_byte,
    sentencepiece_bytes,
    without_control,
    without_uncertain,
)
from mlx_structured.vocabulary.tokenizer_json import PLAIN_DATA, tokens_from_json

# Whitespace, a NUL, characters of two to four bytes, and text that some decoders rewrite.
_PROBE = '{"key": [\n1.5, "\u00e9\u6f22\U0001f642 <n>\x00"],\t"x y":  "don \'t , I \'m ."}\n'
_PROBED_TOKENS = 64


class TokenSource(NamedTuple):
    """Where the tokens of a tokenizer come from.

    Arguments:
        content: everything that the result of ``read`` depends on, exactly.
        read: the bytes of each token id, ``None`` for those that are never text. No list at all if
            it turns out that the content doesn't tell them.
    """

    content: tuple[bytes, ...]
    read: Callable[[], list[bytes | None] | None]


def unwrap(tokenizer: Any) -> Any:
    """The tokenizer inside mlx-lm's ``TokenizerWrapper`` or mistral-common's objects.

    Raises:
        VocabularyError: for an object that is no known kind of tokenizer.
    """
    if _is_wrapper(tokenizer):
        tokenizer = tokenizer._tokenizer
    inner = tokenizer
    for attribute in ("tokenizer", "instruct_tokenizer", "tokenizer"):
        inner = getattr(inner, attribute, None) or inner
    if hasattr(inner, "id_to_byte_piece"):
        return inner
    if not hasattr(tokenizer, "convert_ids_to_tokens"):
        raise VocabularyError(
            f"{type(tokenizer).__name__} is no tokenizer that mlx-lm loads; pass one from "
            f"mlx_lm.load or transformers, or {PLAIN_DATA}"
        )
    return tokenizer


def eos_token_ids(tokenizer: Any) -> set[int]:
    """The ids that end a generation: all of a ``TokenizerWrapper``, else the tokenizer's one.

    Raises:
        VocabularyError: if there is none.
    """
    if _is_wrapper(tokenizer):
        ids = set(tokenizer.eos_token_ids)
    else:
        inner = unwrap(tokenizer)
        name = "eos_id" if hasattr(inner, "id_to_byte_piece") else "eos_token_id"
        ids = {getattr(inner, name, None)} - {None}
    if not ids:
        raise VocabularyError(
            "the tokenizer has no EOS token, so a generation could never end; set its eos_token "
            "or wrap it: mlx_lm.tokenizer_utils.TokenizerWrapper(tokenizer, eos_token_ids=[...])"
        )
    return ids


class Revision(NamedTuple):
    """What can change about the tokens of a tokenizer after it was loaded.

    Arguments:
        backend: the identity of the object behind it, if there is one.
        special_ids: in order.
        added: id, content, and whether it is special, of each added token.
    """

    backend: int
    special_ids: tuple[int, ...]
    added: tuple[tuple[int, str, bool], ...]


def revision(tokenizer: Any) -> Revision | None:
    """That of an unwrapped tokenizer, ``None`` for one that doesn't change."""
    if hasattr(tokenizer, "id_to_byte_piece"):
        return None
    backend = getattr(tokenizer, "backend_tokenizer", None)
    special_ids = tuple(sorted(_special_ids(tokenizer)))
    return Revision(id(backend), special_ids, tuple(_added_tokens(tokenizer)))


def token_sources(tokenizer: Any, now: Revision | None) -> Iterator[TokenSource]:
    """How to read the tokens of an unwrapped tokenizer, by what kind of object it is.

    The last one always tells them, those before are faster.

    Arguments:
        tokenizer: the tokenizer.
        now: its :func:`revision`, which takes long to read.

    Raises:
        VocabularyError: for a slow tokenizer of no known kind.
    """
    backend: Any = getattr(tokenizer, "backend_tokenizer", None)
    if now is None:
        yield _known(_tekken_tokens(tokenizer))
    elif hasattr(backend, "to_str"):
        yield from _fast_sources(now, backend)
    else:
        yield _known(_slow_tokens(tokenizer))


def check_against_decode(tokenizer: Any, tokens: FlatTokens) -> None:
    """Compares the tokens with what an unwrapped tokenizer's own ``decode`` makes of some of them.

    Catches classes that do more than their decoder says (mlx-lm's ``NewlineTokenizer``).

    Raises:
        VocabularyError: if the two differ.
    """
    if hasattr(tokenizer, "id_to_byte_piece"):
        return
    spread = range(0, len(tokens), max(1, len(tokens) // _PROBED_TOKENS))
    for ids in (
        [i for i in tokenizer.encode(_PROBE, add_special_tokens=False) if tokens[i] is not None],
        [i for i in spread if _is_utf8(tokens[i])],
    ):
        ours = b"".join(tokens[i] or b"" for i in ids).decode(errors="replace").strip()
        theirs = tokenizer.decode(ids, clean_up_tokenization_spaces=False).strip()
        if ours != theirs:
            raise VocabularyError(
                f"{type(tokenizer).__name__} decodes tokens to {theirs!r}, where its tokens say "
                f"{ours!r}: it does more than to join them; {PLAIN_DATA}"
            )


def _fast_sources(now: Revision, backend: Any) -> Iterator[TokenSource]:
    special_ids = now.special_ids
    special = repr(list(special_ids)).encode()
    pieces = model_pieces(backend, now.added)
    if pieces is not None:

        def read() -> list[bytes | None] | None:
            document = pieces.document()
            return None if document is None else tokens_from_json(document, special_ids)

        yield TokenSource((*pieces.content, special), read)
    serialised: str = backend.to_str()
    # Truncation and padding stand first, change from call to call and don't touch the tokens.
    _, _, content = serialised.partition('"added_tokens":')
    yield TokenSource(
        ((content or serialised).encode(), special),
        lambda: tokens_from_json(json.loads(serialised), special_ids),
    )


def _known(tokens: list[bytes | None]) -> TokenSource:
    lengths = ",".join(str(len(token or b"")) for token in tokens)
    content = (lengths.encode(), b"".join(token for token in tokens if token))
    return TokenSource(content, lambda: tokens)


def _tekken_tokens(tekkenizer: Any) -> list[bytes | None]:
    special = tekkenizer.special_ids
    return [
        None if index in special else tekkenizer.id_to_byte_piece(index)
        for index in range(tekkenizer.n_words)
    ]


def _slow_tokens(tokenizer: Any) -> list[bytes | None]:
    added = _added_tokens(tokenizer)
    special_ids = _special_ids(tokenizer)
    size = max([len(tokenizer), *(index + 1 for index, _, _ in added)])
    pieces = tokenizer.convert_ids_to_tokens(list(range(size)))
    model: Any = getattr(tokenizer, "sp_model", None)
    if hasattr(model, "is_control"):
        nameless = {
            model.id_to_piece(index)
            for index in range(model.get_piece_size())
            if model.is_control(index) or model.is_unknown(index) or model.is_unused(index)
        }
        pieces = [None if piece in nameless else piece for piece in pieces]
        tokens = sentencepiece_bytes(pieces, byte_fallback=_decodes_bytes(tokenizer, pieces))
    elif getattr(tokenizer, "byte_decoder", None) == byte_alphabet():
        tokens = byte_level_bytes(pieces)
    elif any(isinstance(piece, bytes) for piece in pieces):
        tokens = [piece.encode() if isinstance(piece, str) else piece for piece in pieces]
    else:
        raise VocabularyError(
            f"{type(tokenizer).__name__} is a slow tokenizer of no known kind (neither "
            f"SentencePiece nor byte-level); use its fast version, or {PLAIN_DATA}"
        )
    without_uncertain(tokens, [(index, content) for index, content, _ in added])
    return without_control(tokens, added, special_ids)


def _decodes_bytes(tokenizer: Any, pieces: list[str | None]) -> bool:
    for index, piece in enumerate(pieces):
        byte = None if piece is None else fallback_byte(piece)
        if byte is not None and 0x21 <= byte <= 0x7E:
            return bool(tokenizer.decode([index]) == chr(byte))
    return False


def _special_ids(tokenizer: Any) -> set[int]:
    ids = {index for index in tokenizer.all_special_ids if index is not None}
    # Tokenizers around tiktoken name tokens here that Hugging Face's part doesn't know of.
    further = getattr(tokenizer, "special_tokens", None)
    return ids.union(further.values()) if isinstance(further, Mapping) else ids


def _added_tokens(tokenizer: Any) -> list[tuple[int, str, bool]]:
    backend: Any = getattr(tokenizer, "backend_tokenizer", None)
    if hasattr(backend, "get_added_tokens_decoder"):
        added: Any = backend.get_added_tokens_decoder()
    else:
        added = getattr(tokenizer, "added_tokens_decoder", None)
    if not isinstance(added, Mapping):
        return []
    return [(index, token.content, token.special) for index, token in added.items()]


def _is_wrapper(tokenizer: Any) -> bool:
    # Whoever holds a wrapper has imported its module; it needs no import for anyone else.
    module = sys.modules.get("mlx_lm.tokenizer_utils")
    return module is not None and isinstance(tokenizer, module.TokenizerWrapper)


def _is_utf8(token: bytes | None) -> bool:
    if token is None:
        return False
    try:
        token.decode()
    except UnicodeDecodeError:
        return False
    return True
