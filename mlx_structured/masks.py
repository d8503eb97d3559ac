"""Token masks as ``mx.array``: from a packed bitmap to logits."""

from __future__ import annotations

import operator
import threading
from collections import OrderedDict
from collections.abc import Callable

import mlx.core as mx
import numpy as np
from numpy.typing import NDArray

from mlx_structured import metal_mask
from mlx_structured.errors import EmptyMaskError
from mlx_structured.limits import CACHES


def _check_bitmap(bitmap: NDArray[np.uint32]) -> None:
    if not isinstance(bitmap, np.ndarray):
        raise TypeError(f"bitmap must be a 1-D uint32 numpy array, not {type(bitmap).__name__}")
    if bitmap.dtype != np.uint32:
        raise TypeError(f"bitmap must be a 1-D uint32 numpy array, not one of {bitmap.dtype}")
    if bitmap.ndim != 1:
        raise ValueError(f"bitmap must be a 1-D uint32 numpy array, not of shape {bitmap.shape}")


def _check_allows_any(bitmap: NDArray[np.uint32], vocab_size: int) -> None:
    whole, rest = divmod(vocab_size, 32)
    last = int(bitmap[whole]) & ((1 << rest) - 1) if whole < bitmap.size else 0
    if not last and not bitmap[:whole].any():
        raise EmptyMaskError(
            f"the bitmap of {bitmap.size * 32} bits allows none of the {vocab_size} tokens that "
            "the logits are for; if it allows tokens above those, tokenizer and model don't belong "
            "together"
        )


def _expand(bitmap: NDArray[np.uint32], vocab_size: int) -> mx.array:
    # ``count`` cuts a wider bitmap and fills up a narrower one with False.
    octets = np.ascontiguousarray(bitmap.astype("<u4", copy=False)).view(np.uint8)
    allowed = np.unpackbits(octets, count=vocab_size, bitorder="little").view(np.bool_)
    # Made from host memory, so it needs no stream: the device may be busy with the forward pass,
    # and any thread may use it. (It's also the fastest: bit operations in mlx take 10 times as
    # long on a CPU.)
    return mx.array(allowed)


def _packed(bitmap: NDArray[np.uint32], vocab_size: int) -> mx.array:
    return mx.array(bitmap)


def _check_floating(logits: mx.array) -> None:
    if not mx.issubdtype(logits.dtype, mx.floating):
        raise TypeError(f"logits must be of a floating type to hold -inf, not {logits.dtype}")


class MaskCache:
    """The masks used last, bounded by the memory they take. Threads may share it.

    A read-only bitmap is found by its identity: being read-only says that it never changes, and
    the cache keeps it alive. One that can be written to is found by its content.

    Arguments:
        capacity: bytes that the masks, and the bitmaps they are found by, may take together; or a
            function that says how many they are now.
        make: makes a mask of a bitmap and the number of tokens; a boolean one if it isn't given.

    Raises:
        ValueError: for a negative capacity.
    """

    def __init__(
        self,
        capacity: int | Callable[[], int],
        make: Callable[[NDArray[np.uint32], int], mx.array] = _expand,
    ) -> None:
        if not callable(capacity) and capacity < 0:
            raise ValueError(f"capacity must not be negative: {capacity}")
        self._capacity = capacity
        self._make = make
        self._nbytes = 0
        self._masks: OrderedDict[
            tuple[int | bytes, int], tuple[mx.array, NDArray[np.uint32] | None, int]
        ] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._masks)

    @property
    def capacity(self) -> int:
        """Bytes that may be held."""
        return self._capacity() if callable(self._capacity) else self._capacity

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
        _check_allows_any(bitmap, vocab_size)
        mask = self._make(bitmap, vocab_size)
        size = mask.nbytes + bitmap.nbytes
        capacity = self.capacity
        with self._lock:
            if size <= capacity and key not in self._masks:
                self._nbytes += size
                self._masks[key] = (mask, None if by_content else bitmap, size)
            while self._nbytes > capacity:
                self._nbytes -= self._masks.popitem(last=False)[1][2]
        return mask


MASK_CACHE = MaskCache(lambda: CACHES.masks)
"""The cache behind :func:`create_mask`: by default about 450 masks of 128k tokens, or 230 of 248k.
"""

PACKED_CACHE = MaskCache(lambda: CACHES.packed_masks, make=_packed)
"""The cache of bitmaps on a Metal device, behind :func:`mask_logits`."""


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
    _check_floating(logits)
    if mask.dtype != mx.bool_:
        raise TypeError(f"mask must be boolean, not {mask.dtype}")
    if logits.ndim not in (1, 2) or mask.shape not in (logits.shape, logits.shape[-1:]):
        raise ValueError(
            f"a mask of shape {mask.shape} doesn't fit logits of shape {logits.shape}: "
            "it takes (V,) with (V,), and (V,) or (B, V) with (B, V)"
        )
    return mx.where(mask, logits, -mx.inf)


def mask_logits(logits: mx.array, bitmap: NDArray[np.uint32]) -> mx.array:
    """Logits with those of tokens that aren't allowed set to ``-inf``, the fastest way there is.

    On a Metal device a kernel reads the bitmap, elsewhere it's :func:`create_mask` and
    :func:`apply_token_mask`; the result is the same.

    Arguments:
        logits: ``(V,)``, ``(1, V)`` or ``(B, V)``, of any floating type.
        bitmap: as :func:`create_mask` takes it, for all rows.

    Returns:
        A lazy array of the shape and dtype of the logits.

    Raises:
        EmptyMaskError, TypeError, ValueError: as those two functions.
    """
    if not metal_mask.is_usable():
        return apply_token_mask(logits, create_mask(bitmap, logits.shape[-1]))
    _check_floating(logits)
    if logits.ndim not in (1, 2):
        raise ValueError(f"logits must have shape (V,) or (B, V), not {logits.shape}")
    return metal_mask.apply_packed(logits, PACKED_CACHE.get(bitmap, logits.shape[-1]))
