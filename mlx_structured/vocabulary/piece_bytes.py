"""From the text by which a tokenizer names a token to the bytes that the token decodes to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

SPACE_MARK = "\u2581"
_HEX_DIGITS = frozenset("0123456789abcdefABCDEF")
_MARKER_SIGNS = frozenset("<>[]{}|\uff1c\uff1e\uff3b\uff3d\uff5b\uff5d\uff5c")


@cache
def byte_alphabet() -> dict[str, int]:
    """Character -> byte of byte-level BPE (``bytes_to_unicode`` of GPT-2's ``encoder.py``).

    Printable bytes of Latin-1 are themselves; the others, in order, are U+0100 and following.
    """
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = sorted(set(range(0x100)) - set(printable))
    return {
        **{chr(byte): byte for byte in printable},
        **{chr(0x100 + index): byte for index, byte in enumerate(others)},
    }


@cache
def _byte_table() -> NDArray[np.int16]:
    """Code point -> byte, -1 where there is none; the last element stands for all above."""
    alphabet = byte_alphabet()
    table = np.full(max(map(ord, alphabet)) + 2, -1, np.int16)
    for character, byte in alphabet.items():
        table[ord(character)] = byte
    return table


def byte_level_bytes(pieces: Sequence[str | None]) -> list[bytes | None]:
    """The bytes of byte-level pieces, ``None`` where there is no piece.

    A piece with a character outside the alphabet (an added token with a space in it, say) is
    literal text, as in the decoder of the ``tokenizers`` library. mlx-lm's
    ``BPEStreamingDetokenizer`` reads character by character instead; where the two differ the token
    has no certain text and is ``None``.
    """
    lengths = np.fromiter((len(piece) if piece else 0 for piece in pieces), np.int64, len(pieces))
    ends = np.cumsum(lengths)
    joined = "".join(piece for piece in pieces if piece)
    table = _byte_table()
    codes = np.frombuffer(joined.encode("utf-32-le"), "<u4")
    values = table[np.minimum(codes, len(table) - 1)]
    data = values.astype(np.uint8).tobytes()
    tokens: list[bytes | None] = [
        data[start:end] or None for start, end in pairwise([0, *ends.tolist()])
    ]
    outside = np.unique(np.searchsorted(ends, np.flatnonzero(values < 0), side="right"))
    for index in outside.tolist():
        piece = pieces[index] or ""
        ambiguous = any(ord(c) >= 0x80 and c in byte_alphabet() for c in piece)
        tokens[index] = None if ambiguous else piece.encode()
    return tokens


def sentencepiece_bytes(
    pieces: Sequence[str | None], *, space: str = SPACE_MARK, byte_fallback: bool = True
) -> list[bytes | None]:
    """The bytes of SentencePiece pieces, ``None`` where there is no piece.

    ``space`` stands for a space and ``<0xNN>`` for a byte. Other pieces that begin with ``<0x``,
    and ``<0xNN>`` where the decoder leaves it as it is, have no certain text (mlx-lm's
    ``SPMStreamingDetokenizer`` takes both for bytes) and are ``None``.
    """
    tokens: list[bytes | None] = []
    for piece in pieces:
        if not piece:
            tokens.append(None)
        elif piece.startswith("<0x"):
            byte = fallback_byte(piece)
            tokens.append(None if byte is None or not byte_fallback else bytes((byte,)))
        else:
            tokens.append(piece.replace(space, " ").encode())
    return tokens


def fallback_byte(piece: str) -> int | None:
    """The byte that a piece ``<0xNN>`` stands for, ``None`` for any other piece."""
    digits = piece[3:5]
    if len(piece) != 6 or piece != f"<0x{digits}>" or not _HEX_DIGITS.issuperset(digits):
        return None
    return int(digits, 16)


def without_uncertain(
    tokens: list[bytes | None], added: Iterable[tuple[int, str]]
) -> list[bytes | None]:
    """The tokens with those set to ``None`` whose text depends on who decodes them.

    Whether decoders apply to tokens added to a model's own has changed between versions of the
    ``tokenizers`` library. So such a token is text only if its content comes out as it is: runs of
    whitespace and plain words do, ``\u00e9`` in a byte-level vocabulary (there it names a byte)
    doesn't.

    Arguments:
        tokens: bytes of each token id, by the decoder; changed in place.
        added: id and content of each token that isn't in the model's own vocabulary.
    """
    for index, content in added:
        if tokens[index] != content.encode():
            tokens[index] = None
    return tokens


def without_control(
    tokens: list[bytes | None],
    added: Iterable[tuple[int, str, bool]],
    special_ids: Iterable[int],
) -> list[bytes | None]:
    """The tokens with those that steer a model, instead of being text, set to ``None``.

    - A special token is control, whatever it looks like. One exception: a single printable ASCII
      character, because some models pad with one (``!``) and have no other token for it.
    - A token that was added without being special is text, unless it looks like a marker
      (:func:`is_marker`): ``<tool_call>``, ``<think>`` and ``<|fim_prefix|>`` are often flagged so.
      Runs of whitespace and added words stay text.

    Leaving a token out makes no text impossible where each byte has a token of its own, as in
    byte-level vocabularies and those with byte fallback.

    Arguments:
        tokens: bytes of each token id; changed in place.
        added: id, content and whether it is special, for each token added to the model's own.
        special_ids: further special tokens (the tokenizer's unk, pad, ...).
    """
    control = {i for i, content, special in added if special or is_marker(content)}
    for index in control.union(special_ids):
        if index < len(tokens):
            token = tokens[index]
            if token is None or len(token) > 1 or not 0x21 <= token[0] <= 0x7E:
                tokens[index] = None
    return tokens


def is_marker(content: str) -> bool:
    """Whether an added token looks like a marker: brackets or bars together with a letter or digit.

    ``<think>``, ``[INST]``, ``|||NAME|||``, ``<dsml:`` and full-width look-alikes are markers;
    whitespace, words, ``{`` and ``[]`` are not. HTML tags are taken for markers: a model can still
    write them with its other tokens.
    """
    return not _MARKER_SIGNS.isdisjoint(content) and any(map(str.isalnum, content))
