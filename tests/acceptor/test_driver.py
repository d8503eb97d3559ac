"""The driver: one sequence of tokens, its masks, and what is shared between sequences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from byte_vocabulary import (
    EOS,
    NEVER_TEXT,
    OBJECT,
    OTHER_EOS,
    TOKENS,
    allowed,
    make_vocabulary,
    readable,
    write,
)

from mlx_structured import (
    Acceptor,
    InvalidTokenError,
    JsonSchemaAcceptorDriver,
    Vocabulary,
    VocabularyError,
    compile_json_schema,
)


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    return make_vocabulary()


@pytest.fixture
def acceptor() -> Acceptor:
    return compile_json_schema(OBJECT)


@pytest.fixture
def driver(acceptor: Acceptor, vocabulary: Vocabulary) -> JsonSchemaAcceptorDriver:
    return JsonSchemaAcceptorDriver(acceptor, vocabulary)


# The bitmap


@pytest.mark.parametrize("size", [257, 287, 288, 289, 320, 1000])
def test_the_bitmap_has_one_bit_a_token_in_little_endian_words(size: int) -> None:
    tokens: list[bytes | None] = [bytes([byte]) for byte in range(256)]
    tokens += [None] * (size - 257)
    tokens.append(b"[]")
    driver = JsonSchemaAcceptorDriver(
        compile_json_schema({"type": "array"}), Vocabulary([*tokens, None], [size])
    )
    bitmap = driver.select_valid_tokens()
    assert bitmap.dtype == np.uint32
    assert bitmap.shape == (-(-(size + 1) // 32),)
    expected = {ord("["), size - 1}
    for token_id in range(len(bitmap) * 32):
        bit = int(bitmap[token_id // 32]) >> (token_id % 32) & 1
        assert bit == (token_id in expected)


def test_the_bitmap_cannot_be_written(driver: JsonSchemaAcceptorDriver) -> None:
    for text in ("", '{"a": 1', '{"a": 1}'):
        at = driver.fork()
        write(at, text)
        with pytest.raises(ValueError, match="read-only"):
            at.select_valid_tokens()[0] = 1
        at.advance_token(at and allowed(at)[0])
    at = driver.fork()
    write(at, '{"a": 1}')
    at.advance_token(EOS)
    with pytest.raises(ValueError, match="read-only"):
        at.select_valid_tokens()[0] = 1


def test_the_same_state_hands_out_the_same_array(
    acceptor: Acceptor, vocabulary: Vocabulary
) -> None:
    one = JsonSchemaAcceptorDriver(acceptor, vocabulary)
    two = JsonSchemaAcceptorDriver(acceptor, vocabulary)
    for text in ("", '{"a": 1', '{"a": 1}'):
        first, second = one.fork(), two.fork()
        write(first, text)
        write(second, text)
        assert first.select_valid_tokens() is first.select_valid_tokens()
        assert first.select_valid_tokens() is second.select_valid_tokens()


def test_ways_to_the_same_state_meet(acceptor: Acceptor, vocabulary: Vocabulary) -> None:
    by_bytes = JsonSchemaAcceptorDriver(acceptor, vocabulary)
    write(by_bytes, '{"a": 1')
    by_pieces = JsonSchemaAcceptorDriver(acceptor, vocabulary)
    for piece in ('{"', "a", '": ', "1"):
        by_pieces.advance_token(TOKENS.index(piece.encode()))
    assert by_bytes.select_valid_tokens() is by_pieces.select_valid_tokens()


@pytest.mark.parametrize("style", ["spaced", "flexible", "any"])
def test_a_mask_allows_what_can_be_read_and_nothing_else(
    style: str, vocabulary: Vocabulary
) -> None:
    acceptor = compile_json_schema(OBJECT, style=style)
    driver = JsonSchemaAcceptorDriver(acceptor, vocabulary)
    text = b'{"a": 12, "b": "x\\"\xc3\xa9", "c": [1, {"a": "b"}]}'
    for position in range(len(text) + 1):
        assert allowed(driver) == readable(acceptor, text[:position]), text[:position]
        if position < len(text):
            driver.advance_token(text[position])


# The end


def test_eos_is_allowed_exactly_when_the_text_is_a_document(
    driver: JsonSchemaAcceptorDriver, acceptor: Acceptor
) -> None:
    text = b'{"a": 12, "b": "}"}'
    for position in range(len(text) + 1):
        complete = position == len(text)
        assert acceptor.accepts(text[:position]) == complete
        assert driver.in_accepted_state() == complete
        for eos in (EOS, OTHER_EOS):
            assert (eos in allowed(driver)) == complete
        if not complete:
            with pytest.raises(InvalidTokenError, match="not complete"):
                driver.advance_token(EOS)
            driver.advance_token(text[position])


def test_eos_is_allowed_where_the_document_could_also_go_on(vocabulary: Vocabulary) -> None:
    driver = JsonSchemaAcceptorDriver(compile_json_schema({"type": "integer"}), vocabulary)
    write(driver, "1")
    assert driver.in_accepted_state()
    assert {EOS, OTHER_EOS, ord("2"), TOKENS.index(b"12")} <= set(allowed(driver))
    write(driver, "2")
    driver.advance_token(EOS)
    assert driver.is_finished


@pytest.mark.parametrize("eos", [EOS, OTHER_EOS])
def test_after_eos_only_eos_ids_are_allowed(driver: JsonSchemaAcceptorDriver, eos: int) -> None:
    write(driver, '{"a": 1}')
    assert not driver.is_finished
    driver.advance_token(eos)
    for _ in range(3):
        assert driver.is_finished
        assert driver.in_accepted_state()
        assert allowed(driver) == [EOS, OTHER_EOS]
        with pytest.raises(InvalidTokenError):
            driver.advance_token(ord(" "))
        driver.advance_token(OTHER_EOS)
    driver.rollback(4)
    assert not driver.is_finished
    assert driver.in_accepted_state()


def test_an_eos_id_is_never_text() -> None:
    # A tokenizer may show its EOS token as "}" or as "</s>": it ends the text all the same.
    tokens: list[bytes | None] = [bytes([byte]) for byte in range(256)]
    vocabulary = Vocabulary([*tokens, b"{", b"}", b"</s>"], eos_token_ids=[257, 258])
    driver = JsonSchemaAcceptorDriver(
        compile_json_schema({"type": ["object", "string"]}), vocabulary
    )
    driver.advance_token(256)
    assert 257 not in allowed(driver)
    driver.advance_token(ord("}"))
    assert allowed(driver) == [257, 258]
    inside = JsonSchemaAcceptorDriver(driver.acceptor, vocabulary)
    write(inside, '"a')
    assert not {257, 258} & set(allowed(inside))


# Tokens that aren't allowed


@pytest.mark.parametrize(
    ("token_id", "why"),
    [
        (ord("["), "does not fit"),
        (NEVER_TEXT, "no text"),
        (EOS, "not complete"),
        (-1, "ids 0 to"),
        (-len(TOKENS), "ids 0 to"),
        (len(TOKENS), "ids 0 to"),
        (10**9, "ids 0 to"),
        (np.int64(-1), "ids 0 to"),
        (np.int32(ord("[")), "does not fit"),
    ],
)
def test_a_token_that_is_not_allowed_leaves_the_driver_where_it_was(
    driver: JsonSchemaAcceptorDriver, token_id: int, why: str
) -> None:
    for text in ("", '{"a": 1'):
        write(driver, text)
        count = driver.token_count
        bitmap = driver.select_valid_tokens()
        for _ in range(2):
            with pytest.raises(InvalidTokenError, match=why) as raised:
                driver.advance_token(token_id)
            assert raised.value.token_id == token_id
            assert "\n" not in str(raised.value)
        assert driver.token_count == count
        assert driver.select_valid_tokens() is bitmap
        assert not driver.is_finished
    write(driver, "2}")
    assert driver.in_accepted_state()


@pytest.mark.parametrize("kind", [np.int32, np.int64, np.uint32, np.uint8])
def test_ids_may_be_numpy_integers(driver: JsonSchemaAcceptorDriver, kind: Any) -> None:
    other = driver.fork()
    for byte in b'{"a": 1}':
        driver.advance_token(kind(byte))
        other.advance_token(byte)
        assert driver.select_valid_tokens() is other.select_valid_tokens()
    assert driver.in_accepted_state()


@pytest.mark.parametrize(
    "token_id", ["{", 123.0, True, None, [123], np.float32(123), np.bool_(True)], ids=repr
)
def test_what_is_no_id_is_refused_by_its_type(
    driver: JsonSchemaAcceptorDriver, token_id: Any
) -> None:
    driver.advance_token(123)
    driver.rollback(1)  # On known ground: what equals an id would be found there.
    with pytest.raises(TypeError, match=f"whole number, not .* of type {type(token_id).__name__}"):
        driver.advance_token(token_id)
    assert driver.token_count == 0


def test_what_the_mask_allows_can_be_read_and_the_rest_can_not(
    driver: JsonSchemaAcceptorDriver,
) -> None:
    for text in ("", '{"', '{"a": 1', '{"a": 1, "b": "', '{"a": 1}'):
        at = driver.fork()
        write(at, text)
        ids = set(allowed(at))
        for token_id in range(len(TOKENS)):
            after = at.fork()
            if token_id in ids:
                after.advance_token(token_id)
                assert allowed(after)
            else:
                with pytest.raises(InvalidTokenError):
                    after.advance_token(token_id)


# Rollback and fork


def test_rollback_leads_back_to_the_same_states(driver: JsonSchemaAcceptorDriver) -> None:
    text = '{"a": 1, "b": "x"}'
    bitmaps = []
    for byte in text.encode():
        bitmaps.append(driver.select_valid_tokens())
        driver.advance_token(byte)
    assert driver.token_count == len(text)
    driver.rollback(0)
    assert driver.token_count == len(text)
    for left in range(len(text) - 1, -1, -1):
        driver.rollback(1)
        assert driver.token_count == left
        assert driver.select_valid_tokens() is bitmaps[left]
    write(driver, text)
    driver.rollback(len(text))
    assert driver.token_count == 0
    assert driver.select_valid_tokens() is bitmaps[0]
    write(driver, '{"a": 7}')
    assert driver.in_accepted_state()


@pytest.mark.parametrize("count", [-1, 3, 100])
def test_a_rollback_too_far_changes_nothing(driver: JsonSchemaAcceptorDriver, count: int) -> None:
    write(driver, '{"')
    with pytest.raises(ValueError, match="2 tokens"):
        driver.rollback(count)
    assert driver.token_count == 2
    write(driver, 'a": 1}')


def test_a_fork_goes_its_own_way(driver: JsonSchemaAcceptorDriver) -> None:
    write(driver, '{"a": 1')
    fork = driver.fork()
    assert fork.token_count == driver.token_count
    write(fork, "}")
    assert fork.in_accepted_state()
    assert not driver.in_accepted_state()
    write(driver, "23")
    assert driver.token_count == fork.token_count + 1
    fork.rollback(fork.token_count)
    assert driver.token_count == 9
    write(driver, "}")
    assert driver.in_accepted_state()
    assert fork.fork().token_count == 0


# Vocabularies


def test_one_acceptor_serves_two_vocabularies(acceptor: Acceptor, vocabulary: Vocabulary) -> None:
    backwards = Vocabulary(
        [*(bytes([255 - byte]) for byte in range(256)), None, b'{"a": '], eos_token_ids=[256]
    )
    one = JsonSchemaAcceptorDriver(acceptor, vocabulary)
    two = JsonSchemaAcceptorDriver(acceptor, backwards)
    assert allowed(one) == [ord("{"), TOKENS.index(b'{"')]
    assert allowed(two) == [255 - ord("{"), 257]
    two.advance_token(257)
    write(one, '{"a": ')
    for byte in b"12}":
        assert [token for token in allowed(one) if token < 256] == sorted(
            255 - token for token in allowed(two) if token < 256
        )
        one.advance_token(byte)
        two.advance_token(255 - byte)
    assert allowed(one) == [EOS, OTHER_EOS]
    assert allowed(two) == [256]


def test_the_masks_of_one_schema_do_not_leak_into_another(vocabulary: Vocabulary) -> None:
    drivers = [
        JsonSchemaAcceptorDriver(compile_json_schema(schema), vocabulary)
        for schema in (
            {"type": "array", "items": {"type": "string"}},
            {"type": "array", "items": {"type": "string", "maxLength": 1}},
            {"type": "array", "items": {"type": "string"}, "maxItems": 1},
        )
    ]
    for driver in drivers:
        write(driver, '["a')
    free, short, single = (set(allowed(driver)) for driver in drivers)
    assert short < free
    assert ord("b") in free & single
    assert ord("b") not in short
    for driver in drivers:
        write(driver, '"')
    free, short, single = (set(allowed(driver)) for driver in drivers)
    assert free == short == {ord(","), ord("]"), TOKENS.index(b", ")}
    assert single == {ord("]")}


def test_a_vocabulary_that_cannot_write_what_must_come_is_an_error() -> None:
    letters: list[bytes | None] = [bytes([byte]) for byte in b'abc"']
    vocabulary = Vocabulary([*letters, None], eos_token_ids=[4])
    acceptor = compile_json_schema({"enum": ["a", "bz"]})
    driver = JsonSchemaAcceptorDriver(acceptor, vocabulary)
    driver.advance_token(3)
    driver.advance_token(1)
    with pytest.raises(VocabularyError, match="single byte"):
        driver.select_valid_tokens()
    driver.rollback(1)
    for token_id in (0, 3, 4):
        assert token_id in allowed(driver)
        driver.advance_token(token_id)
    assert driver.is_finished
    with pytest.raises(VocabularyError):
        JsonSchemaAcceptorDriver(
            compile_json_schema({"type": "object"}), vocabulary
        ).select_valid_tokens()


def test_a_large_vocabulary_without_what_must_come_is_an_error_too() -> None:
    letters = "abcdefghijklmnopqrstuvwxyz"
    tokens: list[bytes | None] = [b'"', *(f"{a}{b}".encode() for a in letters for b in letters)]
    vocabulary = Vocabulary([*tokens, None], eos_token_ids=[len(tokens)])
    acceptor = compile_json_schema({"type": "string", "pattern": "^[ -@\\[-`{-~]+$"})
    driver = JsonSchemaAcceptorDriver(acceptor, vocabulary)
    driver.advance_token(0)
    with pytest.raises(VocabularyError, match="single byte"):
        driver.select_valid_tokens()


def test_tokens_may_split_a_character(vocabulary: Vocabulary) -> None:
    first, second = TOKENS.index("😀".encode()[:2]), TOKENS.index("😀".encode()[2:])
    acceptor = compile_json_schema({"type": "string", "maxLength": 1})
    driver = JsonSchemaAcceptorDriver(acceptor, vocabulary)
    write(driver, '"')
    assert first in allowed(driver)
    assert second not in allowed(driver)
    driver.advance_token(first)
    # Only bytes that complete the character: neither a quote nor another lead byte.
    assert set(allowed(driver)) == {*range(0x80, 0xC0), second}
    driver.advance_token(second)
    assert allowed(driver) == [ord('"')]
    driver.advance_token(ord('"'))
    assert driver.in_accepted_state()


def test_a_split_character_must_be_an_allowed_one(vocabulary: Vocabulary) -> None:
    first, second = TOKENS.index("😀".encode()[:2]), TOKENS.index("😀".encode()[2:])
    driver = JsonSchemaAcceptorDriver(compile_json_schema({"enum": ["😀", "😁é"]}), vocabulary)
    write(driver, '"')
    driver.advance_token(first)
    assert allowed(driver) == [0x98, second]
    write(driver, b"\x98")
    assert allowed(driver) == [0x80, 0x81]


def test_several_ids_of_the_same_text_are_allowed_together() -> None:
    tokens: list[bytes | None] = [bytes([byte]) for byte in range(256)]
    vocabulary = Vocabulary([*tokens, b"[", b"[]", b"[]", None], eos_token_ids=[259])
    driver = JsonSchemaAcceptorDriver(compile_json_schema({"type": "array"}), vocabulary)
    assert allowed(driver) == [ord("["), 256, 257, 258]
    for token_id in (257, 258):
        driver.advance_token(token_id)
        assert driver.in_accepted_state()
        driver.rollback(1)
