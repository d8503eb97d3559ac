"""The bytes of all tokens as two arrays: what the trie is built from and the disk cache holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray


def flatten(tokens: Sequence[bytes | None]) -> FlatTokens:
    """One ``bytes`` a token id as arrays. ``None`` and empty tokens become empty."""
    lengths = np.fromiter((len(token) if token else 0 for token in tokens), np.int64, len(tokens))
    offsets = np.zeros(len(tokens) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    offsets.setflags(write=False)
    data = np.frombuffer(b"".join(token for token in tokens if token), np.uint8)
    return FlatTokens(data, offsets)


@dataclass(frozen=True, eq=False)
class FlatTokens:
    """Token ``i`` is ``data[offsets[i]:offsets[i + 1]]``; an empty one is never text.

    Arguments:
        data: bytes of all tokens in order of their ids, uint8, read-only.
        offsets: where each token begins, int32, one more than there are ids, read-only.
    """

    data: NDArray[np.uint8]
    offsets: NDArray[np.int32]

    @property
    def lengths(self) -> NDArray[np.int32]:
        """Number of bytes of each token, int32."""
        return np.diff(self.offsets)

    def __len__(self) -> int:
        """The number of token ids."""
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> bytes | None:
        """The bytes of a token id (not negative), ``None`` if it is never text."""
        data, ends = self._views
        return data[ends[index] : ends[index + 1]] or None

    @cached_property
    def _views(self) -> tuple[bytes, memoryview]:
        # Elements of a memoryview are plain integers, and take a third of the time of an array's.
        return self.data.tobytes(), self.offsets.astype(np.int32).data

    def split(self) -> tuple[bytes | None, ...]:
        """One ``bytes`` a token id, ``None`` for those that are never text."""
        data, ends = self._views
        return tuple(data[start:end] or None for start, end in pairwise(ends.tolist()))
