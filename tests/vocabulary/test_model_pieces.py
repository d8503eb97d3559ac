"""The key of a prepared vocabulary is exact: read from the tokenizer object as it is now."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from mlx_structured.vocabulary import Vocabulary
from mlx_structured.vocabulary.model_pieces import model_pieces
from mlx_structured.vocabulary.tokenizer_bytes import revision, token_sources


def backend(vocab: dict[str, int], **options: Any) -> Tokenizer:
    result = Tokenizer(models.BPE(vocab, [], **options))
    result.decoder = decoders.ByteLevel()
    return result


def hugging_face(vocab: dict[str, int]) -> Any:
    return PreTrainedTokenizerFast(tokenizer_object=backend(vocab), eos_token="</s>")


def told(tokenizer: Tokenizer) -> dict[str, int] | None:
    """The pieces with their ids, if they were read without serialising."""
    pieces = model_pieces(tokenizer, ())
    document = None if pieces is None else pieces.document()
    return None if document is None else document["model"]["vocab"]


def content(tokenizer: Tokenizer) -> tuple[bytes, ...] | None:
    pieces = model_pieces(tokenizer, ())
    return None if pieces is None else pieces.content


PIECES = st.text("ab \u0120\u00e9\n", max_size=3)


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(PIECES, st.integers(0, 6), max_size=6))
def test_pieces_are_those_of_the_model_or_not_told(vocab: dict[str, int]) -> None:
    """Gaps, spaces and empty pieces together can look like a vocabulary without any of them."""
    by_id = {index: piece for piece, index in vocab.items()}
    vocab = {piece: index for index, piece in by_id.items()}
    found = told(backend(vocab))
    is_plain = sorted(by_id) == list(range(len(by_id))) and all(
        piece and " " not in piece for piece in vocab
    )
    if found is None:
        assert not is_plain or not vocab
    else:
        assert found == vocab


@pytest.mark.parametrize("size", [255, 256, 257, 512, 513])
def test_a_gap_is_found_wherever_it_lies(size: int) -> None:
    for missing in (0, 1, 254, size - 1):
        ids = [index for index in range(size + 1) if index != missing]
        assert told(backend({f"p{index}": index for index in ids})) is None
        # One piece too few, one space too many.
        ids = [index for index in range(size) if index != missing]
        vocab = {f"p{index}": index for index in ids}
        vocab[f"p{ids[0]} x"] = vocab.pop(f"p{ids[0]}")
        assert told(backend({**vocab, "far": 10_000})) is None
    whole = {f"p{index}": index for index in range(size)}
    assert told(backend(whole)) == whole


@settings(max_examples=300, deadline=None)
@given(st.permutations(["a", "b", "c", "a b", "b c", "c a", "d"]), st.integers(1, 5), st.data())
def test_equal_contents_are_of_equal_pieces(
    pieces: list[str], size: int, data: st.DataObject
) -> None:
    """Also where one of two tokenizers has gaps and spaces that even each other out."""
    ids = data.draw(st.lists(st.integers(0, size), min_size=size, max_size=size, unique=True))
    vocab = dict(zip(pieces, ids, strict=False))
    other = backend({piece: index for index, piece in enumerate("abcd"[:size])})
    contents = [content(each) for each in (backend(vocab), other)]
    assert (contents[0] == contents[1]) == (vocab == other.get_vocab())


def test_a_gap_beside_a_space_is_read_by_serialising() -> None:
    plain = hugging_face({"a": 0, "b": 1, "c": 2})
    for ids in ((0, 2), (1, 2), (0, 1), (0, 9)):
        vocab = {**dict(zip(("a b", "c"), ids, strict=True)), "d": 10}
        assert Vocabulary.from_tokenizer(plain).tokens[:3] == (b"a", b"b", b"c")
        found = Vocabulary.from_tokenizer(hugging_face(vocab)).tokens
        for piece, index in vocab.items():
            assert found[index] == piece.encode()
        assert sum(token is not None for token in found) == len(vocab)


def test_every_change_of_a_tokenizer_object_changes_the_content() -> None:
    def changed(change: Any) -> tuple[bytes, ...]:
        tokenizer = hugging_face({"a": 0, "b": 1, "c": 2})
        change(tokenizer, tokenizer.backend_tokenizer)
        return next(token_sources(tokenizer, revision(tokenizer))).content

    def replace_model(**options: Any) -> Any:
        vocab = options.pop("vocab", {"a": 0, "b": 1, "c": 2})

        def change(_: Any, backend: Any) -> None:
            backend.model = models.BPE(vocab, [], **options)

        return change

    def set_decoder(decoder: Any) -> Any:
        def change(_: Any, backend: Any) -> None:
            backend.decoder = decoder

        return change

    contents = [
        changed(change)
        for change in (
            lambda *_: None,
            replace_model(vocab={"b": 0, "a": 1, "c": 2}),
            replace_model(vocab={"a": 0, "b": 1, "d": 2}),
            replace_model(vocab={"a": 0, "b": 1, "c": 2, "d": 3}),
            replace_model(unk_token="a"),
            replace_model(continuing_subword_prefix="##"),
            replace_model(end_of_word_suffix="</w>"),
            set_decoder(decoders.Fuse()),
            set_decoder(decoders.Replace("_", " ")),
            set_decoder(decoders.Replace("-", " ")),
            set_decoder(decoders.Sequence([decoders.Replace("_", " "), decoders.ByteFallback()])),
            lambda tokenizer, _: tokenizer.add_tokens(["d"]),
            lambda tokenizer, _: tokenizer.add_tokens(["e"]),
            lambda tokenizer, _: tokenizer.add_tokens(["b"]),
            lambda tokenizer, _: tokenizer.add_tokens([AddedToken("d", special=True)]),
            lambda tokenizer, _: tokenizer.add_special_tokens({"pad_token": "a"}),
            lambda tokenizer, _: tokenizer.add_special_tokens({"pad_token": "b"}),
        )
    ]
    assert len(set(contents)) == len(contents)


def test_what_only_encoding_depends_on_leaves_the_content_alone() -> None:
    plain, other = (hugging_face({"a": 0, "b": 1, "ab": 2}) for _ in range(2))
    other.backend_tokenizer.normalizer = normalizers.Lowercase()
    other.backend_tokenizer.model.dropout = 0.5
    contents = [next(token_sources(each, revision(each))).content for each in (plain, other)]
    assert contents[0] == contents[1]


def test_a_change_after_the_first_vocabulary_is_seen() -> None:
    tokenizer = hugging_face({"a": 0, "b": 1})
    assert Vocabulary.from_tokenizer(tokenizer).tokens == (b"a", b"b", None)
    tokenizer.add_tokens(["word"])
    assert Vocabulary.from_tokenizer(tokenizer).tokens == (b"a", b"b", None, b"word")


def test_a_file_that_changed_on_disk_is_another_vocabulary(tmp_path: Path) -> None:
    hugging_face({"a": 0, "b": 1}).save_pretrained(tmp_path)
    first = AutoTokenizer.from_pretrained(tmp_path)
    assert Vocabulary.from_tokenizer(first).tokens[:2] == (b"a", b"b")
    file = tmp_path / "tokenizer.json"
    document = json.loads(file.read_text())
    document["model"]["vocab"] = {"b": 0, "a": 1}
    file.write_text(json.dumps(document))
    second = AutoTokenizer.from_pretrained(tmp_path)
    assert Vocabulary.from_tokenizer(second).tokens[:2] == (b"b", b"a")
    # The first object is still what it was read from.
    assert Vocabulary.from_tokenizer(first).tokens[:2] == (b"a", b"b")
    del first


def test_other_models_are_serialised() -> None:
    assert model_pieces(Tokenizer(models.WordLevel({"a": 0}, unk_token="a")), ()) is None
    assert model_pieces(Tokenizer(models.Unigram([("a", 0.0)], 0, False)), ()) is None


def test_real_tokenizers_are_read_without_serialising(tokenizer: Any) -> None:
    serialised = json.loads(tokenizer.backend_tokenizer.to_str())
    found = model_pieces(tokenizer.backend_tokenizer, revision(tokenizer).added)
    assert found is not None
    document = found.document()
    assert document is not None
    assert document["model"]["vocab"] == serialised["model"]["vocab"]
    assert document["decoder"] == serialised["decoder"]
    for ours, theirs in zip(document["added_tokens"], serialised["added_tokens"], strict=True):
        assert ours.items() <= theirs.items()
