"""Prepared vocabularies on disk, one file for each content of a tokenizer.

A file is ``MAGIC``, the SHA-256 of all that follows, the key, the vocabulary's fingerprint, the
lengths of the arrays (int64) and the arrays themselves, little-endian. It is trusted only if both
hash and key are right, so that a damaged, foreign or renamed file counts as absent. Files are
written beside their place and moved into it, so nobody ever sees half of one.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import tempfile
from itertools import accumulate, pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mlx_structured.cache_directory import cache_directory
from mlx_structured.vocabulary.flat_tokens import FlatTokens
from mlx_structured.vocabulary.token_trie import TokenTrie

logger = logging.getLogger(__name__)

# Part of every key: raise it whenever other bytes, nodes or arrays come out of the same tokenizer.
FORMAT_VERSION = 3
MAGIC = b"mlx-structured vocabulary\n\0\0\0\0\0\0"
_INT32_ARRAYS = 9
_UINT8_ARRAYS = 3
_INT32: np.dtype[np.int32] = np.dtype("<i4")
_INT64: np.dtype[np.int64] = np.dtype("<i8")
_DIGEST_SIZE = 32
_LARGE = 255
"""In place of the sizes of the few large subtrees, which stand apart."""


def cache_key(*parts: bytes) -> bytes:
    """The SHA-256 (32 bytes) of the parts and of the format's version."""
    digest = hashlib.sha256(FORMAT_VERSION.to_bytes(4, "little"))
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.digest()


def cache_file(key: bytes) -> Path:
    """The file that holds the vocabulary of that key, if there is one."""
    return cache_directory() / "vocabularies" / f"{key.hex()}.bin"


class Prepared(NamedTuple):
    """What a vocabulary is made of.

    Arguments:
        tokens: the bytes of each token id.
        trie: of all tokens that are text.
        fingerprint: 32 bytes, a hash of the tokens and of the EOS ids.
    """

    tokens: FlatTokens
    trie: TokenTrie
    fingerprint: bytes


def load(key: bytes) -> Prepared | None:
    """The vocabulary of that key, ``None`` if it isn't there or its file isn't whole."""
    path = cache_file(key)
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        logger.debug("no vocabulary read from %s: %s", path, error)
        return None
    body = memoryview(content)[len(MAGIC) + _DIGEST_SIZE :]
    head = MAGIC + hashlib.sha256(body).digest()
    if not content.startswith(head + key):
        logger.debug("the vocabulary in %s is damaged, preparing it again", path)
        return None
    return _unpack(body)


def store(key: bytes, prepared: Prepared) -> None:
    """Keeps a prepared vocabulary. Where the folder can't be written nothing is kept."""
    path = cache_file(key)
    body = _pack(key, prepared)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(suffix=".tmp", dir=path.parent)
    except OSError as error:
        logger.debug("no vocabulary kept in %s: %s", path, error)
        return
    try:
        with open(descriptor, "wb") as file:
            file.write(MAGIC + hashlib.sha256(body).digest())
            file.write(body)
        os.replace(temporary, path)
    except OSError as error:
        logger.debug("no vocabulary kept in %s: %s", path, error)
    finally:
        # There is nothing left to remove once the file has been moved.
        with contextlib.suppress(OSError):
            os.unlink(temporary)


def _pack(key: bytes, prepared: Prepared) -> bytes:
    tokens, trie, fingerprint = prepared
    large = np.flatnonzero(trie.subtree_size >= _LARGE).astype(np.int32)
    arrays: tuple[NDArray[np.int32] | NDArray[np.uint8], ...] = (
        tokens.offsets,
        trie.parent,
        trie.first_child,
        trie.token,
        large,
        trie.subtree_size[large],
        np.array(trie.level_start, np.int32),
        np.array([i for group in trie.duplicates for i in group], np.int32),
        np.array(list(accumulate(map(len, trie.duplicates))), np.int32),
        trie.byte,
        np.minimum(trie.subtree_size, _LARGE).astype(np.uint8),
        tokens.data,
    )
    lengths = np.array([len(array) for array in arrays], _INT64)
    parts = (array.astype(array.dtype.newbyteorder("<"), copy=False) for array in arrays)
    return b"".join((key, fingerprint, lengths.tobytes(), *(part.tobytes() for part in parts)))


def _unpack(body: memoryview) -> Prepared:
    lengths = np.frombuffer(body, _INT64, _INT32_ARRAYS + _UINT8_ARRAYS, 2 * _DIGEST_SIZE).tolist()
    start = 2 * _DIGEST_SIZE + _INT64.itemsize * len(lengths)
    int32 = []
    for length in lengths[:_INT32_ARRAYS]:
        int32.append(np.frombuffer(body, _INT32, length, start))
        start += int32[-1].nbytes
    uint8 = []
    for length in lengths[_INT32_ARRAYS:]:
        uint8.append(np.frombuffer(body, np.uint8, length, start))
        start += length
    offsets, parent, first_child, token, large, large_sizes, *lists = int32
    level_start, ids, ends = (array.tolist() for array in lists)
    byte, small_sizes, data = uint8
    # All children lie side by side, so they end where those of the next node begin.
    child_count = np.diff(first_child, append=np.int32(len(byte)))
    subtree_size = small_sizes.astype(np.int32)
    subtree_size[large] = large_sizes
    for array in (child_count, subtree_size):
        array.setflags(write=False)
    trie = TokenTrie(
        byte=byte,
        parent=parent,
        first_child=first_child,
        child_count=child_count,
        token=token,
        subtree_size=subtree_size,
        level_start=tuple(level_start),
        duplicates=tuple(tuple(ids[first:last]) for first, last in pairwise([0, *ends])),
    )
    fingerprint = bytes(body[_DIGEST_SIZE : 2 * _DIGEST_SIZE])
    return Prepared(FlatTokens(data, offsets), trie, fingerprint)
