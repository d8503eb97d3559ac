"""Tokens of real tokenizers, judged by the tokenizers themselves and mlx-lm's detokenizers."""

from __future__ import annotations

import base64
import json
import random
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mlx_lm.tokenizer_utils import (
    BPEStreamingDetokenizer,
    NaiveStreamingDetokenizer,
    SPMStreamingDetokenizer,
    TokenizerWrapper,
)
from sentencepiece import SentencePieceProcessor
from transformers import MistralCommonBackend
from transformers.tokenization_utils_sentencepiece import SentencePieceBackend

from mlx_structured.errors import VocabularyError
from mlx_structured.vocabulary import Vocabulary

TEXTS = {
    "json": '{"name": "Nigeria", "continent": "Africa", "n": [1, -2.5e10, true, null]}',
    "pretty": '{\n  "a": [\n    1,\n\t{"b": []}\r\n  ]\n}\n',
    "escapes": r'{"quote": "\"", "path": "C:\\dir\\", "u": "\u00e9\ud83d\ude42"}',
    "emoji": "🙂 👩‍👩‍👧‍👦 🇳🇬 ✈️ 🫠",
    "cjk": "東京は日本の首都です。中文测试，한국어도.",
    "arabic": "مرحبا بالعالم، كيف الحال؟",
    "combining": "e\u0301 a\u0308\u0323 न\u093cमस्ते",
    "control": "\x00\x01\x1f\x7f\x85\u2028\ufeff\u200b",
    "rare": "\U00010348 \U0001f9ff ẞ ꙮ \U000e0041 \ufffd \uffff",
    "space": "a   b\u00a0c\u3000d        e",
    "code": "if (x <= y && z != 'it''s') { return `<n>` | 0; }",
}


def joined(vocabulary: Vocabulary, ids: list[int]) -> bytes:
    tokens = [vocabulary.tokens[index] for index in ids]
    assert None not in tokens
    return b"".join(token or b"" for token in tokens)


def as_encoded(tokenizer: Any, text: str) -> str:
    """The text that a tokenizer encodes: some normalise it, SentencePiece puts a space first."""
    normaliser = tokenizer.backend_tokenizer.normalizer
    return normaliser.normalize_str(text).replace("▁", " ") if normaliser else text


@pytest.mark.parametrize("name", TEXTS)
def test_tokens_of_a_text_join_to_its_utf8(
    tokenizer: Any, vocabulary: Vocabulary, name: str
) -> None:
    ids = tokenizer.encode(TEXTS[name], add_special_tokens=False)
    expected = as_encoded(tokenizer, TEXTS[name])
    assert unicodedata.normalize("NFC", expected.strip()) == unicodedata.normalize(
        "NFC", TEXTS[name].strip()
    )
    assert joined(vocabulary, ids) == expected.encode()


def test_each_token_is_what_decode_makes_of_it(tokenizer: Any, vocabulary: Vocabulary) -> None:
    # Behind a letter, so that no decoder takes the token for the beginning of a text.
    letter = tokenizer.convert_tokens_to_ids("x")
    text = [i for i, token in enumerate(vocabulary.tokens) if token is not None]
    compared = 0
    for index in random.Random(0).sample(text, 1500):
        token = vocabulary.tokens[index] or b""
        decoded = tokenizer.decode([letter, index], clean_up_tokenization_spaces=False)
        assert decoded[0] == "x"
        try:
            expected = token.decode()
        except UnicodeDecodeError:
            assert "\ufffd" in decoded
        else:
            assert decoded[1:] == expected
            compared += 1
    assert compared > 1000


def test_special_tokens_are_never_text(tokenizer: Any, vocabulary: Vocabulary) -> None:
    special = {i for i, token in tokenizer.added_tokens_decoder.items() if token.special}
    special.update(tokenizer.all_special_ids)
    assert special
    assert {vocabulary.tokens[index] for index in special} == {None}


def test_all_other_tokens_of_the_model_are_text(tokenizer: Any, vocabulary: Vocabulary) -> None:
    added = set(tokenizer.added_tokens_decoder)
    assert vocabulary.size == max(tokenizer.get_vocab().values()) + 1
    absent = {i for i, token in enumerate(vocabulary.tokens) if token is None}
    assert absent <= added


@pytest.mark.parametrize(
    ("name", "markers"),
    [
        ("qwen", ["<tool_call>", "</tool_call>", "<think>", "<|fim_prefix|>", "<|repo_name|>"]),
        ("deepseek", ["<think>", "<｜User｜>", "<｜tool▁calls▁begin｜>", "｜DSML｜", "</dsml:"]),
    ],
)
def test_markers_that_are_not_flagged_special_are_never_text(
    load_tokenizer: Callable[[str], Any], name: str, markers: list[str]
) -> None:
    tokenizer = load_tokenizer(name)
    vocabulary = Vocabulary.from_tokenizer(tokenizer)
    for marker in markers:
        index = tokenizer.convert_tokens_to_ids(marker)
        assert not tokenizer.added_tokens_decoder[index].special
        assert vocabulary.tokens[index] is None


def test_each_byte_of_utf8_has_a_token(tokenizer: Any, vocabulary: Vocabulary) -> None:
    never_in_utf8 = {0xC0, 0xC1, *range(0xF5, 0x100)}
    single = {token[0] for token in vocabulary.tokens if token is not None and len(token) == 1}
    assert single >= set(range(0x100)) - never_in_utf8


def test_a_character_is_split_over_tokens(tokenizer: Any, vocabulary: Vocabulary) -> None:
    ids = tokenizer.encode("\U0001fae8", add_special_tokens=False)
    tokens = [vocabulary.tokens[index] or b"" for index in ids]
    assert b"".join(tokens).lstrip() == "\U0001fae8".encode()
    assert sum(not token.isascii() for token in tokens) > 1


@pytest.mark.parametrize(
    ("name", "detokenizer_class"),
    [
        ("qwen", BPEStreamingDetokenizer),
        ("deepseek-package", BPEStreamingDetokenizer),
        ("deepseek-package", NaiveStreamingDetokenizer),
        ("mistral-v1", SPMStreamingDetokenizer),
        ("mistral-v1", NaiveStreamingDetokenizer),
    ],
)
def test_mlx_lm_shows_the_text_of_the_tokens(
    load_tokenizer: Callable[[str], Any], name: str, detokenizer_class: type
) -> None:
    wrapper = TokenizerWrapper(load_tokenizer(name), detokenizer_class)
    vocabulary = Vocabulary.from_tokenizer(wrapper)
    ascii_ids = [i for i, t in enumerate(vocabulary.tokens) if t and t.isascii() and 0 not in t]
    for ids in (
        wrapper.encode(TEXTS["pretty"], add_special_tokens=False),
        wrapper.encode(TEXTS["emoji"] + TEXTS["cjk"], add_special_tokens=False),
        random.Random(1).sample(ascii_ids, 300),
    ):
        detokenizer = wrapper.detokenizer
        for index in ids:
            detokenizer.add_token(index)
        detokenizer.finalize()
        expected = joined(vocabulary, ids).decode()
        assert detokenizer.text in (expected, expected.removeprefix(" "))


def test_tekken_has_the_bytes_of_its_file_after_1000_control_tokens(
    tekkenizer: Any, mistral_files: Path
) -> None:
    entries = json.loads((mistral_files / "tekken_240718.json").read_bytes())["vocab"]
    vocabulary = Vocabulary.from_tokenizer(tekkenizer)
    assert vocabulary.size == 131072
    assert vocabulary.eos_token_ids == (2,)
    assert vocabulary.tokens[:1000] == (None,) * 1000
    for entry in entries[: 131072 - 1000]:
        assert vocabulary.tokens[entry["rank"] + 1000] == base64.b64decode(entry["token_bytes"])
    for index, text in {1091: b"[", 4344: b"[]", 33966: b"[\n", 57096: b"[{"}.items():
        assert vocabulary.tokens[index] == text


def test_tekken_is_the_same_in_the_backend_of_transformers(
    tekkenizer: Any, mistral_files: Path
) -> None:
    vocabulary = Vocabulary.from_tokenizer(tekkenizer)
    backend = MistralCommonBackend(tokenizer_path=str(mistral_files / "tekken_240718.json"))
    assert Vocabulary.from_tokenizer(backend) == vocabulary
    assert Vocabulary.from_tokenizer(TokenizerWrapper(backend)) == vocabulary


def test_tekken_is_the_same_in_hugging_face_form(
    tekkenizer: Any, load_tokenizer: Callable[[str], Any]
) -> None:
    hugging_face = Vocabulary.from_tokenizer(load_tokenizer("tekken"))
    assert hugging_face == Vocabulary.from_tokenizer(tekkenizer)


def test_sentencepiece_inside_mistral_common_is_refused(mistral_files: Path) -> None:
    # Its decode shows pieces, with their marks, in place of text.
    backend = MistralCommonBackend(tokenizer_path=str(mistral_files / "tokenizer.model.v1"))
    with pytest.raises(VocabularyError, match="no known kind"):
        Vocabulary.from_tokenizer(backend)


def test_sentencepiece_model_as_a_slow_tokenizer(mistral_files: Path) -> None:
    class Slow(SentencePieceBackend):
        def convert_tokens_to_string(self, tokens: list[str]) -> str:
            return self.sp_model.decode(tokens)

    path = str(mistral_files / "tokenizer.model.v1")
    slow = Slow(vocab_file=path, eos_token="</s>", bos_token="<s>", unk_token="<unk>")
    vocabulary = Vocabulary.from_tokenizer(slow)
    processor = SentencePieceProcessor(model_file=path)
    assert vocabulary.tokens[:3] == (None, None, None)
    for text in TEXTS.values():
        ids = processor.encode(text)
        assert joined(vocabulary, ids) == (" " + processor.decode(ids)).encode()
    letter = processor.piece_to_id("x")
    for index in random.Random(2).sample(range(300, 32000), 1000):
        token = vocabulary.tokens[index] or b""
        assert processor.decode([letter, index])[1:] == token.decode()


def test_byte_tokens_that_a_slow_tokenizer_leaves_as_they_are_are_never_text(
    mistral_files: Path,
) -> None:
    path = str(mistral_files / "tokenizer.model.v1")
    slow = SentencePieceBackend(vocab_file=path, eos_token="</s>", unk_token="<unk>")
    newline = slow.convert_tokens_to_ids("<0x0A>")
    assert slow.decode([newline]) == "<0x0A>"
    vocabulary = Vocabulary.from_tokenizer(slow)
    assert vocabulary.tokens[newline] is None
    assert vocabulary.trie.find(b"\n") is None
