from __future__ import annotations

import threading

import mlx.core as mx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlx_structured import masks
from mlx_structured.errors import EmptyMaskError
from mlx_structured.limits import CACHES
from mlx_structured.masks import (
    MASK_CACHE,
    MaskCache,
    apply_token_mask,
    create_mask,
)

FLOATS = [mx.float32, mx.float16, mx.bfloat16]


def bitmap_of(tokens, size, *, read_only=True):
    words = [0] * ((size + 31) // 32)
    for token in tokens:
        words[token >> 5] |= 1 << (token & 31)
    bitmap = np.array(words, dtype=np.uint32)
    bitmap.flags.writeable = not read_only
    return bitmap


def allowed_tokens(mask):
    return [token for token, allowed in enumerate(mask.tolist()) if allowed]


def test_token_t_is_bit_t_and_31_of_word_t_over_32():
    mask = create_mask(np.array([0x80000001, 0x00000002], dtype=np.uint32), 64)
    assert mask.dtype == mx.bool_
    assert mask.shape == (64,)
    assert allowed_tokens(mask) == [0, 31, 33]


@given(
    tokens=st.sets(st.integers(0, 255), min_size=1),
    bits=st.integers(1, 256),
    vocab_size=st.integers(1, 300),
)
def test_a_mask_allows_what_both_bitmap_and_logits_have(tokens, bits, vocab_size):
    bitmap = bitmap_of([token for token in tokens if token < bits], bits)
    expected = sorted(token for token in tokens if token < min(bits, vocab_size))
    if expected:
        mask = create_mask(bitmap, vocab_size)
        assert mask.shape == (vocab_size,)
        assert allowed_tokens(mask) == expected
    else:
        with pytest.raises(EmptyMaskError):
            create_mask(bitmap, vocab_size)


@pytest.mark.parametrize("token", [31, 32767, 32768, 65535, 65536, 131071, 200_000, 247_999])
def test_a_single_token_far_up_is_found(token):
    mask = create_mask(bitmap_of([token], 248_000), 248_000)
    assert int(mx.argmax(mask)) == token
    assert int(mx.sum(mask)) == 1


def test_logits_wider_than_the_bitmap_have_no_token_in_their_padding():
    mask = create_mask(bitmap_of(range(64), 64), 100)
    assert allowed_tokens(mask) == list(range(64))


def test_a_bitmap_wider_than_the_logits_is_cut():
    mask = create_mask(bitmap_of([3, 39, 40, 95], 96), 40)
    assert allowed_tokens(mask) == [3, 39]


def test_a_bitmap_with_gaps_between_its_words_is_read_right():
    every_second = bitmap_of([1, 64], 128)[::2]
    assert allowed_tokens(create_mask(every_second, 64)) == [1, 32]


def test_a_mask_that_allows_nothing_raises():
    with pytest.raises(EmptyMaskError, match="none of the 64 tokens"):
        create_mask(bitmap_of([], 64), 64)


def test_a_mask_that_allows_only_tokens_without_logits_raises():
    with pytest.raises(EmptyMaskError, match="none of the 40 tokens"):
        create_mask(bitmap_of([40, 63], 64), 40)


@pytest.mark.parametrize("dtype", [np.int32, np.uint8, np.uint64, np.bool_, np.float32, ">u4"])
def test_a_bitmap_of_another_type_is_refused_by_name(dtype):
    with pytest.raises(TypeError, match="1-D uint32 numpy array"):
        create_mask(np.ones(4, dtype=dtype), 128)


def test_a_bitmap_that_is_no_numpy_array_is_refused_by_name():
    with pytest.raises(TypeError, match=r"uint32 numpy array, not int"):
        create_mask(0b1011, 4)
    with pytest.raises(TypeError, match=r"uint32 numpy array, not list"):
        create_mask([1, 2], 64)


@pytest.mark.parametrize("shape", [(), (1, 4), (4, 1)])
def test_a_bitmap_of_another_shape_is_refused_by_name(shape):
    with pytest.raises(ValueError, match=rf"1-D .*\({', '.join(map(str, shape))}"):
        create_mask(np.ones(shape, dtype=np.uint32), 128)


@pytest.mark.parametrize("vocab_size", [0, -1])
def test_logits_of_no_token_are_refused(vocab_size):
    with pytest.raises(ValueError, match="positive"):
        create_mask(bitmap_of([0], 32), vocab_size)


def test_the_same_bitmap_gives_the_same_mask_object():
    bitmap = bitmap_of([5], 128)
    assert create_mask(bitmap, 128) is create_mask(bitmap, 128)
    assert create_mask(bitmap, 100) is not create_mask(bitmap, 128)
    assert create_mask(bitmap, 100).shape == (100,)


def test_equal_bitmaps_that_can_be_written_to_share_a_mask():
    first, second = (bitmap_of([7], 128, read_only=False) for _ in range(2))
    assert create_mask(first, 128) is create_mask(second, 128)


def test_a_bitmap_changed_between_calls_gives_its_new_mask():
    bitmap = bitmap_of([7], 64, read_only=False)
    assert allowed_tokens(create_mask(bitmap, 64)) == [7]
    bitmap[0] = 1 << 8
    assert allowed_tokens(create_mask(bitmap, 64)) == [8]


def test_a_bitmap_in_the_place_of_a_dead_one_gets_its_own_mask():
    cache = MaskCache(100_000)
    for token in range(200):
        bitmap = bitmap_of([token], 256)
        assert allowed_tokens(cache.get(bitmap, 256)) == [token]
        del bitmap


def test_the_cache_is_bounded_by_bytes_and_lets_the_oldest_use_go_first():
    # 320 tokens: 320 bytes of mask and 40 of bitmap.
    cache = MaskCache(capacity=3 * 360 + 100)
    bitmaps = [bitmap_of([token], 320) for token in range(4)]
    made = [cache.get(bitmap, 320) for bitmap in bitmaps[:3]]
    assert (len(cache), cache.nbytes) == (3, 3 * 360)
    assert cache.get(bitmaps[0], 320) is made[0]
    cache.get(bitmaps[3], 320)
    assert (len(cache), cache.nbytes) == (3, 3 * 360)
    assert cache.get(bitmaps[0], 320) is made[0]
    assert cache.get(bitmaps[2], 320) is made[2]
    assert cache.get(bitmaps[1], 320) is not made[1]


def test_the_cache_holds_fewer_masks_of_a_larger_vocabulary():
    small, large = MaskCache(capacity=100_000), MaskCache(capacity=100_000)
    for token in range(100):
        small.get(bitmap_of([token], 1_000), 1_000)
        large.get(bitmap_of([token], 30_000), 30_000)
    assert large.nbytes <= 100_000
    assert small.nbytes <= 100_000
    assert len(large) == 2
    assert len(small) == 88


def test_a_mask_larger_than_the_cache_is_still_right():
    cache = MaskCache(capacity=100)
    bitmap = bitmap_of([150], 200)
    assert allowed_tokens(cache.get(bitmap, 200)) == [150]
    assert (len(cache), cache.nbytes) == (0, 0)
    with pytest.raises(ValueError, match="negative"):
        MaskCache(capacity=-1)


def test_a_cleared_cache_holds_nothing():
    cache = MaskCache(100_000)
    bitmap = bitmap_of([1], 64)
    mask = cache.get(bitmap, 64)
    cache.clear()
    assert (len(cache), cache.nbytes) == (0, 0)
    assert cache.get(bitmap, 64) is not mask


def test_create_mask_uses_a_quarter_of_what_all_caches_may_hold(monkeypatch):
    assert MASK_CACHE.capacity == 64 * 2**20
    create_mask(bitmap_of([1], 64), 64)
    monkeypatch.setattr(CACHES, "total", 0)
    create_mask(bitmap_of([2], 64), 64)
    assert (len(MASK_CACHE), MASK_CACHE.nbytes) == (0, 0)


def test_a_mask_made_in_one_thread_works_in_others():
    bitmap = bitmap_of([2], 64)
    made, applied, failed = [], [], []

    def make():
        made.append(create_mask(bitmap, 64))

    def use():
        try:
            masked = apply_token_mask(mx.zeros((1, 64)), create_mask(bitmap, 64))
            applied.append((create_mask(bitmap, 64), int(mx.argmax(masked))))
        except RuntimeError as error:
            failed.append(error)

    for work in (make, use, use):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    use()
    assert not failed
    assert [token for _, token in applied] == [2, 2, 2]
    assert all(mask is made[0] for mask, _ in applied)


def test_threads_that_share_a_small_cache_get_their_own_masks():
    cache = MaskCache(capacity=5 * 288)
    bitmaps = [bitmap_of([token], 256) for token in range(40)]
    wrong = []

    def work(offset):
        for step in range(400):
            token = (offset + step * 7) % 40
            if not cache.get(bitmaps[token], 256)[token].item():
                wrong.append(token)

    threads = [threading.Thread(target=work, args=(offset,)) for offset in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert cache.nbytes == 288 * len(cache) <= cache.capacity


def test_a_mask_that_two_threads_make_at_once_is_counted_once(monkeypatch):
    cache = MaskCache(100_000)
    bitmap = bitmap_of([9], 320)
    expand = masks._expand

    def expand_while_another_thread_does(*arguments):
        monkeypatch.setattr(masks, "_expand", expand)
        cache.get(*arguments)
        return expand(*arguments)

    monkeypatch.setattr(masks, "_expand", expand_while_another_thread_does)
    assert allowed_tokens(cache.get(bitmap, 320)) == [9]
    assert (len(cache), cache.nbytes) == (1, 360)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(96,), (1, 96), (3, 96)])
def test_allowed_logits_stay_and_all_others_become_minus_infinity(shape, dtype):
    logits = mx.random.normal(shape).astype(dtype)
    allowed = np.zeros(96, dtype=bool)
    allowed[[0, 31, 32, 90]] = True
    masked = apply_token_mask(logits, create_mask(bitmap_of([0, 31, 32, 90], 96), 96))
    assert masked.dtype == dtype
    assert masked.shape == shape
    before = np.array(logits.astype(mx.float32))
    after = np.array(masked.astype(mx.float32))
    assert (after == np.where(allowed, before, -np.inf)).all()


@pytest.mark.parametrize("dtype", FLOATS)
def test_one_row_of_logits_is_masked_by_token_and_not_by_row(dtype):
    # Read as (V,), the only row would be token 0.
    logits = mx.zeros((1, 64), dtype=dtype)
    masked = apply_token_mask(logits, create_mask(bitmap_of([40], 64), 64))
    assert mx.argmax(masked, axis=-1).tolist() == [40]
    assert mx.softmax(masked, axis=-1)[0, 40].item() == 1.0


@pytest.mark.parametrize("dtype", FLOATS)
def test_each_row_of_a_batch_can_have_its_own_mask(dtype):
    rows = mx.stack([create_mask(bitmap_of([token], 64), 64) for token in (1, 50, 33)])
    masked = apply_token_mask(mx.zeros((3, 64), dtype=dtype), rows)
    assert masked.dtype == dtype
    assert mx.argmax(masked, axis=-1).tolist() == [1, 50, 33]


@pytest.mark.parametrize(
    ("logits_shape", "mask_shape"),
    [
        ((64,), (65,)),
        ((64,), (1,)),
        ((64,), (1, 64)),
        ((1, 64), (65,)),
        ((1, 64), (2, 64)),
        ((2, 64), (1, 64)),
        ((2, 64), (2,)),
        ((2, 64), (64, 2)),
        ((2, 64), ()),
        ((1, 1, 64), (64,)),
        ((), ()),
    ],
)
def test_shapes_that_do_not_belong_together_are_named(logits_shape, mask_shape):
    with pytest.raises(ValueError) as error:
        apply_token_mask(mx.zeros(logits_shape), mx.ones(mask_shape, dtype=mx.bool_))
    assert str(logits_shape) in str(error.value)
    assert str(mask_shape) in str(error.value)


@pytest.mark.parametrize("dtype", [mx.int32, mx.uint32, mx.int8, mx.bool_])
def test_logits_that_cannot_hold_infinity_are_refused(dtype):
    with pytest.raises(TypeError, match="floating"):
        apply_token_mask(mx.zeros((1, 64), dtype=dtype), mx.ones((64,), dtype=mx.bool_))


@pytest.mark.parametrize("dtype", [mx.uint32, mx.float32])
def test_a_mask_of_numbers_is_refused(dtype):
    with pytest.raises(TypeError, match="boolean"):
        apply_token_mask(mx.zeros((1, 64)), mx.ones((64,), dtype=dtype))
