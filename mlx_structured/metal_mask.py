"""The Metal kernel that masks logits by the packed bitmap itself.

The bitmap is an eighth of a boolean mask and needs no expanding on the CPU. Where there's no Metal
device, ``masks`` goes through a boolean mask and ``mx.where``, with the same result.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import mlx.core as mx

SOURCE = """
    uint i = thread_position_in_grid.x;
    uint token = i % uint(logits_shape[logits_ndim - 1]);
    uint word = token >> 5;
    bool allowed = word < uint(bitmap_shape[0]) && ((bitmap[word] >> (token & 31)) & 1) != 0;
    masked[i] = allowed ? logits[i] : T(-INFINITY);
"""
"""One thread a logit. Shapes are arguments, so that no size makes it compile again."""

_THREADS = 256


def is_usable() -> bool:
    """Whether the default device runs Metal."""
    return mx.metal.is_available() and mx.default_device().type == mx.DeviceType.gpu


@cache
def _kernel() -> Any:
    return mx.fast.metal_kernel(
        name="mlx_structured_mask",
        input_names=["logits", "bitmap"],
        output_names=["masked"],
        source=SOURCE,
    )


def apply_packed(logits: mx.array, bitmap: mx.array) -> mx.array:
    """Logits with those of tokens without a bit set to ``-inf``.

    Arguments:
        logits: ``(V,)`` or ``(B, V)``, of a floating type.
        bitmap: ``(words,)``, ``uint32``, as ``masks.create_mask`` takes it.

    Returns:
        A lazy array of the shape and dtype of the logits.
    """
    (masked,) = _kernel()(
        inputs=[logits, bitmap],
        template=[("T", logits.dtype)],
        grid=(logits.size, 1, 1),
        threadgroup=(min(_THREADS, logits.size), 1, 1),
        output_shapes=[logits.shape],
        output_dtypes=[logits.dtype],
    )
    return masked  # type: ignore[no-any-return]
