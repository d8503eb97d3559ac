"""The progress bar: only if preparation is slow, only on a terminal."""

from __future__ import annotations

import io
import sys
from itertools import count

import pytest
from tokenizers import Tokenizer, decoders, models
from transformers import PreTrainedTokenizerFast

from mlx_structured.vocabulary import Vocabulary


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "seconds", "shown"),
    [(Terminal(), 0.6, True), (Terminal(), 0.001, False), (io.StringIO(), 0.6, False)],
)
def test_a_bar_shows_only_on_a_terminal_and_after_a_second(
    monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, seconds: float, shown: bool
) -> None:
    clock = count(1000)
    backend = Tokenizer(models.BPE({"a": 0, "b": 1, "ab": 2}, []))
    backend.decoder = decoders.ByteLevel()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="</s>")
    monkeypatch.setattr("tqdm.std.time", lambda: next(clock) * seconds)
    monkeypatch.setattr(sys, "stderr", stream)
    Vocabulary.from_tokenizer(tokenizer)
    assert ("Preparing the vocabulary" in stream.getvalue()) == shown
    assert bool(stream.getvalue()) == shown
