"""Masks written into a buffer of the caller."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from byte_vocabulary import EOS, OBJECT, TOKENS, make_vocabulary, write

from mlx_structured import (
    JsonSchemaAcceptorDriver,
    Vocabulary,
    VocabularyError,
    compile_json_schema,
    compile_regex,
)

WORDS = -(-len(TOKENS) // 32)
FULL = 0xFFFFFFFF


@pytest.fixture
def driver() -> JsonSchemaAcceptorDriver:
    return JsonSchemaAcceptorDriver(compile_json_schema(OBJECT), make_vocabulary())


def write_into(driver: JsonSchemaAcceptorDriver, buffer: npt.NDArray[np.uint32]) -> None:
    driver.write_mask_into(buffer.ctypes.data, buffer.size, buffer.itemsize)


def test_the_buffer_takes_the_mask_and_zeros_after_it(driver: JsonSchemaAcceptorDriver) -> None:
    buffers = [np.full(WORDS + more + 2, FULL, np.uint32) for more in (0, 1, 100)]
    for byte in b'{"a": 1}':
        for buffer in buffers:
            inner = buffer[1:-1]
            inner[:] = FULL
            write_into(driver, inner)
            assert (inner[:WORDS] == driver.select_valid_tokens()).all()
            assert not inner[WORDS:].any()
            assert buffer[0] == buffer[-1] == FULL
        driver.advance_token(byte)


def test_the_first_mask_of_a_regex_by_hand() -> None:
    driver = JsonSchemaAcceptorDriver(compile_regex("[ab]*"), make_vocabulary())
    buffer = np.zeros(WORDS, np.uint32)
    write_into(driver, buffer)
    expected = [ord("a"), ord("b"), TOKENS.index(b"ab"), EOS, EOS + 1]
    assert np.flatnonzero(np.unpackbits(buffer.view(np.uint8), bitorder="little")).tolist() == (
        expected
    )


def test_forks_write_their_own_masks_into_one_buffer(driver: JsonSchemaAcceptorDriver) -> None:
    fork = driver.fork()
    write(fork, '{"a": 1}')
    buffer = np.zeros(WORDS, np.uint32)
    for each in (driver, fork, driver):
        write_into(each, buffer)
        assert (buffer == each.select_valid_tokens()).all()


def test_two_buffers_take_turns(driver: JsonSchemaAcceptorDriver) -> None:
    one, two = np.zeros(WORDS, np.uint32), np.zeros(WORDS + 3, np.uint32)
    for byte in b'{"a"':
        for buffer in (one, two):
            write_into(driver, buffer)
            assert (buffer[:WORDS] == driver.select_valid_tokens()).all()
        driver.advance_token(byte)


def test_numpy_integers_do(driver: JsonSchemaAcceptorDriver) -> None:
    buffer = np.zeros(WORDS, np.uint32)
    driver.write_mask_into(np.int64(buffer.ctypes.data), np.int64(WORDS), np.int64(4))  # type: ignore[arg-type]
    assert (buffer == driver.select_valid_tokens()).all()


@pytest.mark.parametrize(
    ("shift", "numel", "element_size", "why"),
    [
        (0, WORDS, 8, "4 bytes, not of 8"),
        (0, WORDS * 4, 1, "4 bytes, not of 1"),
        (0, WORDS - 1, 4, f"has {WORDS} words, the buffer only {WORDS - 1}"),
        (0, 0, 4, "the buffer only 0"),
        (0, -5, 4, "the buffer only -5"),
        (2, WORDS, 4, "not aligned"),
        (None, WORDS, 4, "null"),
    ],
)
def test_a_buffer_that_does_not_fit_is_left_alone(
    driver: JsonSchemaAcceptorDriver, shift: int | None, numel: int, element_size: int, why: str
) -> None:
    buffer = np.full(WORDS + 2, FULL, np.uint32)
    for _ in range(2):
        with pytest.raises(ValueError, match=why):
            address = 0 if shift is None else buffer.ctypes.data + shift
            driver.write_mask_into(address, numel, element_size)
        assert (buffer == FULL).all()
        write_into(driver, buffer[:WORDS])
        buffer[:] = FULL


def test_where_no_token_can_go_on_nothing_is_written() -> None:
    vocabulary = Vocabulary([b"a", None], eos_token_ids=[1])
    driver = JsonSchemaAcceptorDriver(compile_regex("ab"), vocabulary)
    driver.advance_token(0)
    buffer = np.full(2, FULL, np.uint32)
    with pytest.raises(VocabularyError):
        write_into(driver, buffer)
    assert (buffer == FULL).all()
