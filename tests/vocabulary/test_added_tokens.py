"""Small tokenizers made here: added tokens, kinds of decoders, and what isn't supported."""

from __future__ import annotations

from typing import Any

import pytest
from mlx_lm.tokenizer_utils import NewlineTokenizer, TokenizerWrapper
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers
from transformers import PreTrainedTokenizer, PreTrainedTokenizerFast
from transformers.convert_slow_tokenizer import bytes_to_unicode

from mlx_structured.errors import VocabularyError
from mlx_structured.vocabulary import Vocabulary

ALPHABET = {piece: bytes((byte,)) for byte, piece in bytes_to_unicode().items()}
BYTES = {piece: i for i, piece in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
SPM_DECODER = decoders.Sequence(
    [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1)]
)


def byte_level(*added: AddedToken) -> Tokenizer:
    backend = Tokenizer(models.BPE(BYTES, []))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    backend.decoder = decoders.ByteLevel()
    backend.add_tokens(list(added))
    return backend


def sentencepiece(*pieces: str) -> Tokenizer:
    names = ["<unk>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), "▁", *pieces]
    vocab = {piece: i for i, piece in enumerate(names)}
    backend = Tokenizer(models.BPE(vocab, [], unk_token="<unk>", byte_fallback=True))
    backend.normalizer = normalizers.Replace(" ", "▁")
    backend.decoder = SPM_DECODER
    backend.add_special_tokens(["</s>"])
    return backend


def hugging_face(backend: Tokenizer, **special: str) -> PreTrainedTokenizerFast:
    return PreTrainedTokenizerFast(
        tokenizer_object=backend, **(special or {"eos_token": "</s>"}), clean_up=False
    )


class Slow(PreTrainedTokenizer):
    """Bytes as tokens, named by byte-level pieces or (as_bytes) by themselves."""

    special_tokens = {"<|reserved|>": 256}  # noqa: RUF012  (as in tokenizers around tiktoken)
    as_bytes = False

    @property
    def vocab_size(self) -> int:
        return 257

    def get_vocab(self) -> dict[str, int]:
        return {**BYTES, **self.special_tokens, **self.added_tokens_encoder}

    def _tokenize(self, text: str, **_: Any) -> list[str]:
        return [bytes_to_unicode()[byte] for byte in text.encode()]

    def _convert_token_to_id(self, token: str) -> int | None:
        return BYTES.get(token)

    def _convert_id_to_token(self, index: int) -> Any:
        piece = list(self.get_vocab())[index]
        return ALPHABET.get(piece, piece) if self.as_bytes else piece

    def convert_tokens_to_string(self, tokens: list[Any]) -> str:
        parts = (t if isinstance(t, bytes) else ALPHABET.get(t, t.encode()) for t in tokens)
        return b"".join(parts).decode(errors="replace")


def slow_tokenizer(as_bytes: bool = False) -> Slow:
    tokenizer = Slow(eos_token="</s>")
    tokenizer.as_bytes = as_bytes
    tokenizer.add_tokens([plain("two words")])
    return tokenizer


def token_of(tokenizer: Any, content: str) -> bytes | None:
    index = tokenizer.convert_tokens_to_ids(content)
    assert index is not None
    return Vocabulary.from_tokenizer(tokenizer).tokens[index]


def plain(content: str) -> AddedToken:
    return AddedToken(content, special=False, normalized=False)


@pytest.mark.parametrize(
    "content", ["   ", "\n\n", "\t\t\t", "a word", "mlx", "日", "日本", "...", "||", "[]", "->"]
)
def test_added_ordinary_text_is_text(content: str) -> None:
    tokenizer = hugging_face(byte_level(plain(content)))
    tokens = Vocabulary.from_tokenizer(tokenizer).tokens
    assert tokens[:256] == tuple(ALPHABET[piece] for piece in BYTES)
    assert tokens[256:] == (content.encode(), None)


@pytest.mark.parametrize(
    "content",
    [
        "<tool_call>",
        "</think>",
        "<|fim_prefix|>",
        "<｜User｜>",
        "｜DSML｜",
        "</dsml:",
        "[INST]",
        "[gMASK]",
        "|||EMAIL_ADDRESS|||",
        "]~b]",
        "＜ａｎｓｗｅｒ＞",
    ],
)
def test_added_markers_are_never_text_although_not_flagged_special(content: str) -> None:
    assert token_of(hugging_face(byte_level(plain(content))), content) is None


@pytest.mark.parametrize("content", ["naïve", "é漢", "đem", "Ġword"])
def test_an_added_token_that_decoders_disagree_about_is_never_text(content: str) -> None:
    backend = byte_level(plain(content))
    assert token_of(hugging_face(backend), content) is None


def test_a_special_token_is_never_text_even_if_it_is_a_word() -> None:
    backend = byte_level(AddedToken("### End", special=True))
    assert token_of(hugging_face(backend), "### End") is None


def test_a_special_token_of_the_config_alone_is_never_text() -> None:
    backend = sentencepiece("<pad>", "x")
    assert token_of(hugging_face(backend, eos_token="</s>", pad_token="<pad>"), "<pad>") is None


def test_a_model_that_pads_with_a_printable_character_can_still_write_it() -> None:
    tokenizer = hugging_face(byte_level(), eos_token="</s>", pad_token="!")
    assert tokenizer.added_tokens_decoder[BYTES["!"]].special
    assert token_of(tokenizer, "!") == b"!"


def test_an_eos_token_is_never_text_even_if_it_is_a_character() -> None:
    tokenizer = hugging_face(byte_level(), eos_token="!")
    assert token_of(tokenizer, "!") is None
    assert Vocabulary.from_tokenizer(tokenizer).eos_token_ids == (BYTES["!"],)


def test_byte_level_pieces_name_the_bytes_of_the_gpt2_alphabet() -> None:
    # Space, line break, NUL and 0xFF as GPT-2's encoder.py writes them.
    tokenizer = hugging_face(byte_level())
    assert [token_of(tokenizer, p) for p in "ĠĊĀÿ"] == [b" ", b"\n", b"\x00", b"\xff"]
    tokens = Vocabulary.from_tokenizer(tokenizer).tokens
    assert {token for token in tokens if token} == {bytes((byte,)) for byte in range(256)}


def test_sentencepiece_pieces() -> None:
    tokenizer = hugging_face(sentencepiece("▁the", "▁▁", "é", "<0x41", "a▁b", "<0xZZ>", "<0x4>"))
    expected = {
        "▁the": b" the",
        "▁▁": b"  ",
        "a▁b": b"a b",
        "é": "é".encode(),
        "<0x0A>": b"\n",
        "<0xE9>": b"\xe9",
        "<unk>": None,
        # mlx-lm's detokenizer takes these for bytes, Hugging Face's for text.
        "<0x41": None,
        "<0xZZ>": None,
        "<0x4>": None,
    }
    assert {piece: token_of(tokenizer, piece) for piece in expected} == expected


def test_runs_of_spaces_listed_as_added_but_in_the_model_are_spaces() -> None:
    # Gemma lists "▁▁" and "\n\n", which its model has, as added tokens that aren't special.
    backend = sentencepiece("▁▁", "\n\n")
    backend.add_tokens([plain("▁▁"), plain("\n\n"), plain("▁▁▁▁▁")])
    tokenizer = hugging_face(backend)
    assert token_of(tokenizer, "▁▁") == b"  "
    assert token_of(tokenizer, "\n\n") == b"\n\n"
    assert token_of(tokenizer, "▁▁▁▁▁") is None


def test_byte_pieces_are_never_text_where_the_decoder_leaves_them() -> None:
    backend = sentencepiece("x")
    backend.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.Fuse()])
    tokenizer = hugging_face(backend)
    assert tokenizer.decode([tokenizer.convert_tokens_to_ids("<0x41>")]) == "<0x41>"
    assert token_of(tokenizer, "<0x41>") is None
    assert token_of(tokenizer, "x") == b"x"


def test_unigram_model_with_metaspace() -> None:
    pieces = [("<unk>", 0.0), ("▁a", -1.0), ("b", -2.0), ("▁", -3.0)]
    backend = Tokenizer(models.Unigram(pieces, unk_id=0, byte_fallback=False))
    backend.decoder = decoders.Metaspace()
    backend.add_special_tokens(["</s>"])
    tokens = Vocabulary.from_tokenizer(hugging_face(backend)).tokens
    assert tokens == (None, b" a", b"b", b" ", None)


def test_ids_without_a_token_are_never_text() -> None:
    backend = Tokenizer(models.BPE({"a": 0, "b": 3}, []))
    backend.decoder = decoders.ByteLevel()
    tokenizer = hugging_face(backend, eos_token="b")
    assert Vocabulary.from_tokenizer(tokenizer).tokens == (b"a", None, None, None)


@pytest.mark.parametrize(
    ("decoder", "named"),
    [
        (None, "none"),
        (decoders.WordPiece(), "WordPiece"),
        (decoders.BPEDecoder(), "BPEDecoder"),
        (decoders.Sequence([decoders.ByteLevel(), decoders.Strip(" ", 1)]), "Strip"),
        (decoders.Sequence([decoders.Replace("_", " "), decoders.Fuse()]), "Replace"),
        # Before Fuse it would strip each token.
        (decoders.Sequence([decoders.Replace("▁", " "), decoders.Strip(" ", 1)]), "Strip"),
        (decoders.Sequence([decoders.ByteFallback(), decoders.Fuse()]), "ByteFallback"),
    ],
)
def test_an_unknown_decoder_is_refused_by_name(decoder: Any, named: str) -> None:
    backend = byte_level()
    if decoder is None:
        state = backend.to_str().replace(
            '"decoder":{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,'
            '"use_regex":true}',
            '"decoder":null',
        )
        backend = Tokenizer.from_str(state)
    else:
        backend.decoder = decoder
    with pytest.raises(VocabularyError, match=rf"{named}.*Vocabulary\(tokens, eos_token_ids"):
        Vocabulary.from_tokenizer(hugging_face(backend))


def test_a_model_whose_pieces_carry_affixes_is_refused() -> None:
    backend = Tokenizer(models.BPE({"a": 0, "a</w>": 1}, [], end_of_word_suffix="</w>"))
    backend.decoder = decoders.ByteLevel()
    with pytest.raises(VocabularyError, match="</w>"):
        Vocabulary.from_tokenizer(hugging_face(backend))
    wordpiece = Tokenizer(models.WordPiece({"a": 0, "[UNK]": 1}, unk_token="[UNK]"))
    with pytest.raises(VocabularyError, match=r"##|WordPiece"):
        Vocabulary.from_tokenizer(hugging_face(wordpiece))


def test_a_class_that_decodes_otherwise_than_its_decoder_is_refused_each_time() -> None:
    backend = byte_level()
    Vocabulary.from_tokenizer(hugging_face(backend))
    for _ in range(2):
        tokenizer = NewlineTokenizer(tokenizer_object=backend, eos_token="</s>")
        with pytest.raises(VocabularyError, match="NewlineTokenizer decodes"):
            Vocabulary.from_tokenizer(tokenizer)


@pytest.mark.parametrize("as_bytes", [False, True])
def test_a_slow_byte_level_tokenizer(as_bytes: bool) -> None:
    tokenizer = slow_tokenizer(as_bytes)
    if not as_bytes:
        tokenizer.byte_decoder = {piece: byte for byte, piece in bytes_to_unicode().items()}
    tokens = Vocabulary.from_tokenizer(tokenizer).tokens
    assert tokens[:256] == tuple(ALPHABET[piece] for piece in BYTES)
    assert tokens[256:] == (None, None, b"two words")


def test_a_slow_tokenizer_of_unknown_kind_is_refused() -> None:
    with pytest.raises(VocabularyError, match=r"Slow is a slow tokenizer of no known kind"):
        Vocabulary.from_tokenizer(slow_tokenizer())


def test_every_eos_id_of_a_wrapper_counts() -> None:
    backend = byte_level(plain("<|a|>"), AddedToken("<|b|>", special=True))
    tokenizer = hugging_face(backend)
    ids = [tokenizer.convert_tokens_to_ids(name) for name in ("</s>", "<|a|>", "<|b|>", "Ċ")]
    wrapper = TokenizerWrapper(tokenizer, eos_token_ids=ids[1:])
    vocabulary = Vocabulary.from_tokenizer(wrapper)
    # Whether the tokenizer's own EOS joins those that are given depends on mlx-lm's version.
    assert vocabulary.eos_token_ids == tuple(sorted(wrapper.eos_token_ids))
    assert set(vocabulary.eos_token_ids) >= set(ids[1:])
    assert [vocabulary.tokens[index] for index in ids] == [None] * 4
    assert vocabulary.trie.find(b"\n") is None
    assert Vocabulary.from_tokenizer(tokenizer).eos_token_ids == (ids[0],)
    assert token_of(tokenizer, "Ċ") == b"\n"


def test_an_eos_id_beyond_the_tokenizer_widens_the_vocabulary() -> None:
    wrapper = TokenizerWrapper(hugging_face(byte_level()), eos_token_ids=[300])
    vocabulary = Vocabulary.from_tokenizer(wrapper)
    assert vocabulary.size == 301
    assert vocabulary.eos_token_ids == tuple(sorted(wrapper.eos_token_ids))
    assert 300 in vocabulary.eos_token_ids
    assert vocabulary.tokens[256:] == (None,) * 45


def test_an_eos_token_added_to_a_wrapper_later_is_seen() -> None:
    wrapper = TokenizerWrapper(hugging_face(byte_level()))
    before = Vocabulary.from_tokenizer(wrapper)
    wrapper.add_eos_token("!")
    after = Vocabulary.from_tokenizer(wrapper)
    assert before.tokens[BYTES["!"]] == b"!"
    assert after.tokens[BYTES["!"]] is None
    assert after.eos_token_ids == (BYTES["!"], 256)


def test_a_token_added_or_flagged_later_is_seen() -> None:
    tokenizer = hugging_face(byte_level(plain("word")))
    before = Vocabulary.from_tokenizer(tokenizer)
    tokenizer.add_tokens(["more"])
    assert token_of(tokenizer, "more") == b"more"
    tokenizer.add_special_tokens({"additional_special_tokens": [AddedToken("word", special=True)]})
    assert token_of(tokenizer, "word") is None
    assert b"word" in before.tokens


def test_a_tokenizer_without_eos_is_refused() -> None:
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=byte_level())
    with pytest.raises(VocabularyError, match=r"no EOS token.*eos_token"):
        Vocabulary.from_tokenizer(tokenizer)


@pytest.mark.parametrize("thing", ["qwen", None, byte_level()])
def test_what_is_no_tokenizer_is_refused(thing: Any) -> None:
    with pytest.raises(VocabularyError, match=r"is no tokenizer that mlx-lm loads"):
        Vocabulary.from_tokenizer(thing)
