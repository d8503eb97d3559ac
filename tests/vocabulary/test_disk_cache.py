"""The cache on disk may be damaged, shared or unwritable: it never changes the result."""

from __future__ import annotations

import os
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tokenizers import Tokenizer, decoders, models
from transformers import PreTrainedTokenizerFast

from mlx_structured.vocabulary import Vocabulary, disk_cache
from mlx_structured.vocabulary.vocabulary import build_token_trie

PIECES = ("a", "b", "ab", "Ġab", "ðŁ", "Ļ", "Ċ")


def tokenizer(*pieces: str) -> Any:
    """A new tokenizer object each time, so that nothing is found in memory."""
    vocab = {piece: i for i, piece in enumerate(pieces or PIECES)}
    backend = Tokenizer(models.BPE(vocab, []))
    backend.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="</s>")


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Grows with each trie that is built, which a hit in the cache spares."""
    builds: list[int] = []

    def build(*arguments: Any) -> Any:
        builds.append(1)
        return build_token_trie(*arguments)

    monkeypatch.setattr("mlx_structured.vocabulary.vocabulary.build_token_trie", build)
    return builds


def only_file(folder: Path) -> Path:
    (file,) = (path for path in folder.rglob("*") if path.is_file())
    return file


def assert_same(one: Vocabulary, other: Vocabulary) -> None:
    assert one == other
    assert one.tokens == other.tokens
    assert one.longest == other.longest
    for field in fields(one.trie):
        mine, theirs = getattr(one.trie, field.name), getattr(other.trie, field.name)
        if isinstance(mine, np.ndarray):
            assert mine.dtype == theirs.dtype
            assert not theirs.flags.writeable
            assert mine.tolist() == theirs.tolist()
        else:
            assert mine == theirs


def test_a_second_process_gets_equal_content_without_building(built: list[int]) -> None:
    first = Vocabulary.from_tokenizer(tokenizer())
    second = Vocabulary.from_tokenizer(tokenizer())
    assert len(built) == 1
    assert first is not second
    assert_same(first, second)


def test_duplicates_survive(built: list[int]) -> None:
    def twice() -> Any:
        result = tokenizer("a", "b")
        result.add_tokens(["x y", "c"])
        backend = result.backend_tokenizer
        backend.model = models.BPE({"a": 0, "b": 1, "<0x61>": 5}, [], byte_fallback=True)
        backend.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback()])
        return result

    first = Vocabulary.from_tokenizer(twice())
    assert first.trie.duplicates == ((0, 5),)
    assert_same(first, Vocabulary.from_tokenizer(twice()))
    assert len(built) == 1


def test_the_same_tokenizer_object_gives_the_same_vocabulary(built: list[int]) -> None:
    same = tokenizer()
    assert Vocabulary.from_tokenizer(same) is Vocabulary.from_tokenizer(same)
    assert len(built) == 1


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: content[:-1],
        lambda content: content[: len(content) // 2],
        lambda content: content + b"\0",
        lambda content: b"PK\x03\x04" + content[4:],
        lambda content: content[:200] + bytes((content[200] ^ 1,)) + content[201:],
        lambda content: content[:-1] + bytes((content[-1] ^ 0x80,)),
        lambda content: b"x" * 5000,
    ],
)
def test_a_damaged_or_foreign_file_is_built_again(
    cache_folder: Path, built: list[int], damage: Any
) -> None:
    first = Vocabulary.from_tokenizer(tokenizer())
    file = only_file(cache_folder)
    whole = file.read_bytes()
    file.write_bytes(damage(whole))
    assert_same(first, Vocabulary.from_tokenizer(tokenizer()))
    assert len(built) == 2
    assert only_file(cache_folder).read_bytes() == whole


def test_a_file_under_another_key_is_not_taken(cache_folder: Path, built: list[int]) -> None:
    Vocabulary.from_tokenizer(tokenizer())
    file = only_file(cache_folder)
    other = Vocabulary.from_tokenizer(tokenizer("b", "a"))
    (second,) = set(file.parent.iterdir()) - {file}
    second.write_bytes(file.read_bytes())
    assert_same(other, Vocabulary.from_tokenizer(tokenizer("b", "a")))
    assert len(built) == 3


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError, SystemExit])
def test_an_interrupted_write_leaves_no_file(
    cache_folder: Path, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    def interrupted(*_: Any) -> None:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", interrupted)
        if error is OSError:
            Vocabulary.from_tokenizer(tokenizer())
        else:
            with pytest.raises(error):
                Vocabulary.from_tokenizer(tokenizer())
    assert [path for path in cache_folder.rglob("*") if path.is_file()] == []
    Vocabulary.from_tokenizer(tokenizer())
    only_file(cache_folder)


def test_a_file_appears_only_when_it_is_whole(
    cache_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace = os.replace
    seen: list[int] = []

    def watched(source: str, target: Path) -> None:
        assert not target.exists()
        seen.append(os.stat(source).st_size)
        replace(source, target)

    monkeypatch.setattr(os, "replace", watched)
    Vocabulary.from_tokenizer(tokenizer())
    assert seen == [only_file(cache_folder).stat().st_size]


def test_a_folder_that_cannot_be_written_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv("MLX_STRUCTURED_CACHE", str(tmp_path / "file"))
    caplog.set_level("DEBUG")
    assert_same(Vocabulary.from_tokenizer(tokenizer()), Vocabulary.from_tokenizer(tokenizer()))
    assert "no vocabulary kept" in caplog.text


def test_tokenizers_of_equal_size_do_not_collide() -> None:
    assert Vocabulary.from_tokenizer(tokenizer("a", "b")).tokens == (b"a", b"b", None)
    assert Vocabulary.from_tokenizer(tokenizer("b", "a")).tokens == (b"b", b"a", None)
    assert Vocabulary.from_tokenizer(tokenizer("a", "c")).tokens == (b"a", b"c", None)


def test_what_else_decides_the_tokens_is_part_of_the_key() -> None:
    def with_x(**special: Any) -> Vocabulary:
        backend = tokenizer("x", "<0x41>").backend_tokenizer
        return Vocabulary.from_tokenizer(
            PreTrainedTokenizerFast(tokenizer_object=backend, **special)
        )

    assert with_x(eos_token="</s>").tokens == (b"x", b"<0x41>", None)
    assert with_x(eos_token="x").tokens == (None, b"<0x41>", None)
    assert with_x(eos_token="</s>", pad_token="<0x41>").tokens == (b"x", None, None)
    other = tokenizer("x", "<0x41>")
    other.backend_tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    )
    assert Vocabulary.from_tokenizer(other).tokens == (b"x", b"A", None)


def test_padding_and_truncation_do_not_multiply_files(cache_folder: Path) -> None:
    for length in (8, 16):
        padded = tokenizer()
        padded.backend_tokenizer.enable_truncation(length)
        padded.backend_tokenizer.enable_padding(length=length)
        Vocabulary.from_tokenizer(padded)
    only_file(cache_folder)


def test_another_version_of_the_format_is_another_key(monkeypatch: pytest.MonkeyPatch) -> None:
    before = disk_cache.cache_key(b"ab", b"c")
    assert before != disk_cache.cache_key(b"a", b"bc")
    monkeypatch.setattr(disk_cache, "FORMAT_VERSION", disk_cache.FORMAT_VERSION + 1)
    assert before != disk_cache.cache_key(b"ab", b"c")
