"""Reads the tensors of a GGUF file into the arrays that mlx computes with.

ggml quantizes blocks of 32 elements (ggml, ``ggml-common.h``); mlx's affine quantization with
groups of 32 has the same values in another order: ``scale * quant + bias``, with the quants packed
into ``uint32`` from the lowest bits up (``mx.quantize``). So nothing is lost or rounded. They are
repacked here because ``mx.load`` scrambled Q4_1 in mlx before 0.32.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from mlx_structured.models.gguf_header import TensorEntry

Array = npt.NDArray[np.generic]
Bytes = npt.NDArray[np.uint8]

# Elements that share a scale and a bias.
GROUP_SIZE = 32


def read_tensor(path: Path, entry: TensorEntry) -> dict[str, Array]:
    """The arrays of one tensor.

    Arguments:
        path: the GGUF file.
        entry: of the tensor, from the file's header.

    Returns:
        ``weight`` of the tensor's shape in float32 or float16; or, for a quantized tensor of shape
        ``(..., n)``, ``weight`` in uint32 ``(..., n * bits / 32)``, and ``scales`` and ``biases``
        in float16 ``(..., n / 32)``.
    """
    data = np.fromfile(path, np.uint8, entry.size, offset=entry.start)
    name, shape = entry.encoding.name, entry.shape
    if name in DENSE:
        return {"weight": data.view(DENSE[name]).reshape(shape)}
    blocks = data.reshape(*shape[:-1], shape[-1] // GROUP_SIZE, entry.encoding.block_bytes)
    return QUANTIZED[name](blocks)


def _q4_0(blocks: Bytes) -> dict[str, Array]:
    scales = _halves(blocks[..., 0:2])
    return _group(_packed_nibbles(blocks[..., 2:]), scales, np.float16(-8) * scales)


def _q4_1(blocks: Bytes) -> dict[str, Array]:
    scales, biases = _halves(blocks[..., 0:2]), _halves(blocks[..., 2:4])
    return _group(_packed_nibbles(blocks[..., 4:]), scales, biases)


def _q8_0(blocks: Bytes) -> dict[str, Array]:
    scales = _halves(blocks[..., 0:2])
    # Flipping the sign bit adds 128: signed bytes become unsigned ones, as mlx has them.
    return _group(blocks[..., 2:] ^ np.uint8(0x80), scales, np.float16(-128) * scales)


DENSE = {"F32": np.float32, "F16": np.float16}
QUANTIZED = {"Q4_0": _q4_0, "Q4_1": _q4_1, "Q8_0": _q8_0}


def _group(quants: Bytes, scales: Array, biases: Array) -> dict[str, Array]:
    words = np.ascontiguousarray(quants).view(np.uint32)
    return {
        "weight": words.reshape(*scales.shape[:-1], -1),
        "scales": scales,
        "biases": biases,
    }


def _halves(pairs: Bytes) -> npt.NDArray[np.float16]:
    return np.ascontiguousarray(pairs).view(np.float16)[..., 0]


def _packed_nibbles(quants: Bytes) -> Bytes:
    """ggml has elements 0 to 15 in the low nibbles and 16 to 31 in the high ones."""
    low, high = quants & np.uint8(0x0F), quants >> np.uint8(4)
    elements: Bytes = np.concatenate([low, high], axis=-1)
    packed: Bytes = elements[..., 0::2] | elements[..., 1::2] << np.uint8(4)
    return packed
