"""The Metal kernel: its source compiled as C++, where there's a compiler, against the other way.

Whether Metal takes it can only be seen on a device.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess

import mlx.core as mx
import numpy as np
import pytest

from mlx_structured import metal_mask
from mlx_structured.errors import EmptyMaskError
from mlx_structured.masks import apply_token_mask, create_mask, mask_logits

PROGRAM = """
#include <cmath>
typedef unsigned int uint;
typedef float T;
struct Position { uint x; };
extern "C" void run(
    const float* logits, const int* logits_shape, int logits_ndim,
    const uint* bitmap, const int* bitmap_shape, float* masked, uint threads
) {
    for (uint thread = 0; thread < threads; ++thread) {
        Position thread_position_in_grid{thread};
        %s
    }
}
"""


@pytest.fixture(scope="module")
def kernel(tmp_path_factory):
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    folder = tmp_path_factory.mktemp("kernel")
    source, library = folder / "mask.cpp", folder / "mask.so"
    source.write_text(PROGRAM % metal_mask.SOURCE)
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source], check=True)
    run = ctypes.CDLL(str(library)).run

    def masked(logits, bitmap):
        out = np.zeros_like(logits)
        run(
            *(logits.ctypes.data_as(ctypes.c_void_p), (ctypes.c_int * logits.ndim)(*logits.shape)),
            logits.ndim,
            *(bitmap.ctypes.data_as(ctypes.c_void_p), (ctypes.c_int * 1)(*bitmap.shape)),
            out.ctypes.data_as(ctypes.c_void_p),
            logits.size,
        )
        return out

    return masked


@pytest.mark.parametrize("shape", [(1,), (32,), (100,), (1, 70), (3, 70), (2, 129)])
@pytest.mark.parametrize("words", [1, 3, 5])
def test_the_kernel_masks_as_where_does(kernel, shape, words):
    rng = np.random.default_rng(words)
    bitmap = rng.integers(0, 2**32, words, dtype=np.uint32)
    bitmap[0] |= 1
    logits = rng.normal(size=shape).astype(np.float32)
    expected = apply_token_mask(mx.array(logits), create_mask(bitmap, shape[-1]))
    assert np.array_equal(kernel(logits, bitmap), np.array(expected))


@pytest.fixture
def as_on_metal(kernel, monkeypatch):
    """``mask_logits`` as on a Metal device, with the compiled source in place of the kernel."""

    def apply_packed(logits, bitmap):
        return mx.array(kernel(np.array(logits), np.array(bitmap)))

    monkeypatch.setattr(metal_mask, "is_usable", lambda: True)
    monkeypatch.setattr(metal_mask, "apply_packed", apply_packed)


def test_mask_logits_gives_the_same_either_way(as_on_metal):
    bitmap = np.array([5, 1], np.uint32)
    logits = mx.arange(40, dtype=mx.float32)[None]
    expected = apply_token_mask(logits, create_mask(bitmap, 40))
    assert mx.array_equal(mask_logits(logits, bitmap), expected)


def test_what_is_refused_is_the_same_either_way(as_on_metal):
    with pytest.raises(EmptyMaskError, match="none of the 40 tokens"):
        mask_logits(mx.zeros((1, 40)), np.array([0, 0x100], np.uint32))
    with pytest.raises(TypeError, match="floating"):
        mask_logits(mx.zeros((1, 40), mx.int32), np.array([1], np.uint32))
    with pytest.raises(ValueError, match="shape"):
        mask_logits(mx.zeros((1, 1, 40)), np.array([1], np.uint32))


@pytest.mark.skipif(not mx.metal.is_available(), reason="no Metal device")
@pytest.mark.parametrize("dtype", [mx.float32, mx.float16, mx.bfloat16])
def test_metal_masks_as_where_does(dtype):
    bitmap = np.random.default_rng(1).integers(0, 2**32, 40, dtype=np.uint32)
    logits = mx.random.normal((2, 1300)).astype(dtype)
    expected = apply_token_mask(logits, create_mask(bitmap, 1300))
    assert mx.array_equal(mask_logits(logits, bitmap), expected)
