"""Token masks as ``mx.array``: from a packed bitmap to logits."""

from __future__ import annotations

import operator
import threading
from collections import OrderedDict

import mlx.core as mx
import numpy as np
from numpy.typing import NDArray

from mlx_structured.errors import EmptyMaskError
from mlx_structured.limits import CACHES

DEFAULT_CACHE_BYTES = CACHES.masks
"""What :data:`MASK_CACHE` may hold: about 450 masks of 128k tokens, or 230 of 248k."""


def _check_bitmap(bitmap: NDArray[np.uint32]) -> None:
    if not isinstance(bitmap, np.ndarray):
        raise TypeError(f"bitmap must be a 1-D uint32 numpy array, not {type(bitmap).__name__}")
    if bitmap.dtype != np.uint32:
        raise TypeError(f"bitmap must be a 1-D uint32 numpy array, not one of {bitmap.dtype}")
    if bitmap.ndim != 1:
        raise ValueError(f"bitmap must be a 1-D uint32 numpy array, not of shape {bitmap.shape}")


def _expand(bitmap: NDArray[np.uint32], vocab_size: int) -> mx.array:
    # ``count`` cuts a wider bitmap and fills up a narrower one with False.
    octets = np.ascontiguousarray(bitmap.astype("<u4", copy=False)).view(np.uint8)
    allowed = np.unpackbits(octets, count=vocab_size, bitorder="little").view(np.bool_)
    if not allowed.any():
        raise EmptyMaskError(
            f"the bitmap of {bitmap.size * 32} bits allows none of the {vocab_size} tokens that "
            "the logits are for; if it allows tokens above those, tokenizer and model don't belong "
            "together"
        )
    # Made from host memory, so it needs no stream: the device may be busy with the forward pass,
    # and any thread may use it. (It's also the fastest: bit operations in mlx take 10 times as
    # long on a CPU.)
    return mx.array(allowed)


class MaskCache:
    """The masks used last, bounded by the memory they take. Threads may share it.

    A read-only bitmap is found by its identity: being read-only says that it never changes, and
    the cache keeps it alive. One that can be written to is found by its content.

    Arguments:
        capacity: bytes that the masks, and the bitmaps they are found by, may take together.

    Raises:
        ValueError: for a negative capacity.
    """

    def __init__(self, capacity: int = DEFAULT_CACHE_BYTES) -> None:
        if capacity < 0:
            raise ValueError(f"capacity must not be negative: {capacity}")
        self.capacity = capacity
        self._nbytes = 0
        self._masks: OrderedDict[
            tuple[int | bytes, int], tuple[mx.array, NDArray[np.uint32] | None, int]
        ] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._masks)

    @property
    def nbytes(self) -> int:
        """Bytes held now."""
        return self._nbytes

    def clear(self) -> None:
        """Lets go of all masks."""
        with self._lock:
            self._masks.clear()
            self._nbytes = 0

    def get(self, bitmap: NDArray[np.uint32], vocab_size: int) -> mx.array:
        """The mask of a bitmap, from the cache if it's there. See :func:`create_mask`."""
        _check_bitmap(bitmap)
        vocab_size = operator.index(vocab_size)
        if vocab_size < 1:
            raise ValueError(f"vocab_size must be positive, not {vocab_size}")
        by_content = bitmap.flags.writeable
        key = (bitmap.tobytes() if by_content else id(bitmap), vocab_size)
        with self._lock:
            found = self._masks.get(key)
            if found is not None:
                self._masks.move_to_end(key)
                return found[0]
        mask = _expand(bitmap, vocab_size)
        size = mask.nbytes + bitmap.nbytes
        if size <= self.capacity:
            with self._lock:
                if key not in self._masks:
                    self._nbytes += size
                    self._masks[key] = (mask, None if by_content else bitmap, size)
                while self._nbytes > self.capacity:
                    self._nbytes -= self._masks.popitem(last=False)[1][2]
        return mask


MASK_CACHE = MaskCache()
"""The cache behind :func:`create_mask`. Its ``capacity`` may be changed."""


def create_mask(bitmap: NDArray[np.uint32], vocab_size: int) -> mx.array:
    """Which tokens are allowed, as an array that :func:`apply_token_mask` takes.

    Arguments:
        bitmap: 1-D ``uint32``, one bit a token: token ``t`` is bit ``t & 31`` of word ``t >> 5``,
            as ``select_valid_tokens`` of a driver returns it. It may be narrower than the logits
            (the tokens it has no bit for, such as rows of padding, aren't allowed) or wider (the
            bits above the logits are cut off).
        vocab_size: how many tokens the logits are for, the last axis of their shape.

    Returns:
        A boolean array of shape ``(vocab_size,)``; the same object while :data:`MASK_CACHE` holds
        it, so don't write to it. It's evaluated, and any thread may use it.

    Raises:
        EmptyMaskError: if it allows no token, as it would turn all logits to ``-inf``.
        TypeError: if the bitmap isn't a numpy array of ``uint32``.
        ValueError: if the bitmap isn't 1-D, or ``vocab_size`` isn't positive.
    """
    return MASK_CACHE.get(bitmap, vocab_size)


def apply_token_mask(logits: mx.array, mask: mx.array) -> mx.array:
    """Logits with those of tokens that aren't allowed set to ``-inf``.

    Arguments:
        logits: ``(V,)``, ``(1, V)`` or ``(B, V)``, of any floating type.
        mask: boolean, ``(V,)`` for all rows or ``(B, V)`` for one each (:func:`create_mask`).

    Returns:
        A lazy array of the shape and dtype of the logits.

    Raises:
        TypeError: if the logits aren't floating, or the mask isn't boolean.
        ValueError: if the shapes don't belong together.
    """
    if not mx.issubdtype(logits.dtype, mx.floating):
        raise TypeError(f"logits must be of a floating type to hold -inf, not {logits.dtype}")
    if mask.dtype != mx.bool_:
        raise TypeError(f"mask must be boolean, not {mask.dtype}")
    if logits.ndim not in (1, 2) or mask.shape not in (logits.shape, logits.shape[-1:]):
        raise ValueError(
            f"a mask of shape {mask.shape} doesn't fit logits of shape {logits.shape}: "
            "it takes (V,) with (V,), and (V,) or (B, V) with (B, V)"
        )
    return mx.where(mask, logits, -mx.inf)
