"""A llama model in GGUF becomes an mlx-lm folder that computes and tokenizes the same."""

from __future__ import annotations

import json
from pathlib import Path

import mlx.core as mx
import mlx_lm
import numpy as np
import pytest
from gguf_files import (
    CHAT_TEMPLATE,
    F16,
    F32,
    Q4_0,
    Q4_1,
    Q8_0,
    SIZES,
    SPECIAL,
    TOKEN_ID,
    TOKENS,
    logits,
    metadata,
    model_tensors,
    random_tensor,
    write_model,
)
from mlx_lm.tokenizer_utils import BPEStreamingDetokenizer, TokenizerWrapper

from mlx_structured.errors import ModelLoadError
from mlx_structured.models.gguf import restore_rotary_rows, write_model_folder
from mlx_structured.models.gguf_header import read_header
from mlx_structured.models.gguf_tensors import read_tensor


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "model").mkdir()
    return tmp_path / "model"


def tokenizer_of(gguf: Path, folder: Path) -> TokenizerWrapper:
    write_model_folder(gguf, folder)
    return mlx_lm.load(str(folder))[1]


@pytest.mark.parametrize(
    ("kind", "embedding", "output"),
    [
        (Q4_1, None, None),
        (Q4_1, Q8_0, None),
        (Q4_0, F16, Q8_0),
        (Q8_0, None, F32),
        (F16, None, None),
        (F32, None, F32),
    ],
)
def test_the_model_computes_what_llama_cpp_computes_with_the_stored_weights(
    tmp_path: Path, folder: Path, kind: int, embedding: int | None, output: int | None
) -> None:
    tensors = model_tensors(kind, embedding=embedding, output=output)
    write_model_folder(write_model(tmp_path / "small.gguf", tensors), folder)
    model, _ = mlx_lm.load(str(folder))
    model.set_dtype(mx.float32)
    token_ids = [5, 80, 33, 5, 260]
    with mx.stream(mx.cpu):
        computed = np.array(model(mx.array([token_ids]))[0])
    expected = logits(tensors, token_ids)
    np.testing.assert_allclose(computed, expected, rtol=0, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize(
    ("kind", "bits"), [(F32, None), (F16, None), (Q4_0, 4), (Q4_1, 4), (Q8_0, 8)]
)
def test_mlx_sees_exactly_the_values_that_ggml_stored(
    tmp_path: Path, kind: int, bits: int | None
) -> None:
    tensor = random_tensor(np.random.default_rng(3), kind, 5, 96)
    path = write_model(tmp_path / "one.gguf", {"t.weight": tensor})
    parts = {
        part: mx.array(rows)
        for part, rows in read_tensor(path, read_header(path).tensors["t.weight"]).items()
    }
    weight = parts["weight"]
    if bits is not None:
        scales, biases = (parts[part].astype(mx.float32) for part in ("scales", "biases"))
        with mx.stream(mx.cpu):
            weight = mx.dequantize(weight, scales, biases, group_size=32, bits=bits)
    np.testing.assert_allclose(np.array(weight), tensor.values, rtol=1e-6, atol=1e-6)


def test_quantized_weights_stay_packed(tmp_path: Path, folder: Path) -> None:
    write_model_folder(
        write_model(tmp_path / "s.gguf", model_tensors(Q4_1, embedding=Q8_0)), folder
    )
    weights = mx.load(str(folder / "model.safetensors"))
    assert weights["model.layers.1.mlp.up_proj.weight"].dtype == mx.uint32
    assert weights["model.layers.1.mlp.up_proj.weight"].shape == (SIZES.inner, SIZES.hidden // 8)
    assert weights["model.embed_tokens.weight"].shape == (len(TOKENS), SIZES.hidden // 4)
    config = json.loads((folder / "config.json").read_text())
    assert config["quantization"] == {
        "group_size": 32,
        "bits": 4,
        "model.embed_tokens": {"group_size": 32, "bits": 8},
    }


def test_the_halves_of_each_head_are_put_back_together() -> None:
    # Two heads of 8 rows, as llama.cpp interleaves them: first half 0 1 2 3, second half 4 5 6 7.
    stored = np.array([0, 4, 1, 5, 2, 6, 3, 7, 10, 14, 11, 15, 12, 16, 13, 17])
    restored = [0, 1, 2, 3, 4, 5, 6, 7, 10, 11, 12, 13, 14, 15, 16, 17]
    assert restore_rotary_rows(stored, 2).tolist() == restored
    columns = np.stack([stored, stored + 100], axis=1)
    assert restore_rotary_rows(columns, 2)[:, 1].tolist() == [row + 100 for row in restored]


def test_a_norm_is_narrowed_only_where_nothing_is_lost(tmp_path: Path, folder: Path) -> None:
    tensors = model_tensors()
    rng = np.random.default_rng(0)
    exact = random_tensor(rng, F16, SIZES.hidden)
    tensors["output_norm.weight"] = type(exact)(F32, exact.values.tobytes(), exact.values)
    write_model_folder(write_model(tmp_path / "small.gguf", tensors), folder)
    weights = mx.load(str(folder / "model.safetensors"))
    assert weights["model.norm.weight"].dtype == mx.float16
    assert weights["model.layers.0.input_layernorm.weight"].dtype == mx.float32
    stored = tensors["blk.0.attn_norm.weight"].values
    assert np.array_equal(np.array(weights["model.layers.0.input_layernorm.weight"]), stored)


def test_digits_are_tokens_of_their_own_for_smollm(tmp_path: Path, folder: Path) -> None:
    tokenizer = tokenizer_of(write_model(tmp_path / "small.gguf"), folder)
    assert tokenizer.encode("ab ab 12") == [
        TOKEN_ID[token] for token in ("ab", "Ġab", "Ġ", "1", "2")
    ]


def test_digits_merge_for_gpt_2(tmp_path: Path, folder: Path) -> None:
    gguf = write_model(tmp_path / "small.gguf", tokenizer__ggml__pre="gpt-2")
    tokenizer = tokenizer_of(gguf, folder)
    assert tokenizer.encode("ab 12") == [TOKEN_ID[token] for token in ("ab", "Ġ", "12")]


def test_text_is_read_as_its_utf_8_bytes(tmp_path: Path, folder: Path) -> None:
    tokenizer = tokenizer_of(write_model(tmp_path / "small.gguf"), folder)
    # U+20AC is E2 82 AC; GPT-2 writes these bytes as U+00E2, U+0124 and U+00AC.
    assert tokenizer.encode("€") == [TOKEN_ID[char] for char in "âĤ¬"]
    for text in ("naïve\tcafé\r\n  x", "🙂 don't", "\x00\x7f", ""):
        assert tokenizer.decode(tokenizer.encode(text)) == text


def test_control_tokens_are_special_and_never_text(tmp_path: Path, folder: Path) -> None:
    tokenizer = tokenizer_of(write_model(tmp_path / "small.gguf"), folder)
    ids = tokenizer.encode("<|im_start|>ab<|im_end|>")
    assert ids == [1, TOKEN_ID["ab"], 2]
    assert tokenizer.decode(ids, skip_special_tokens=True) == "ab"
    assert sorted(tokenizer.all_special_ids) == [1, 2]
    assert set(tokenizer.get_added_vocab()) == set(SPECIAL)


def test_a_user_defined_token_is_whole_but_text(tmp_path: Path, folder: Path) -> None:
    types = [3 if token in SPECIAL else 4 if token == "Ġ1" else 1 for token in TOKENS]
    gguf = write_model(tmp_path / "small.gguf", tokenizer__ggml__token_type=types)
    tokenizer = tokenizer_of(gguf, folder)
    assert tokenizer.encode("aĠ1") == [TOKEN_ID["a"], TOKEN_ID["Ġ1"]]
    assert tokenizer.decode([TOKEN_ID["Ġ1"]], skip_special_tokens=True) != ""


def test_every_end_token_ends_the_text(tmp_path: Path, folder: Path) -> None:
    gguf = write_model(tmp_path / "small.gguf", tokenizer__ggml__eot_token_id=0)
    tokenizer = tokenizer_of(gguf, folder)
    assert tokenizer.eos_token_ids == {0, 2}
    assert tokenizer.eos_token == "<|im_end|>"


def test_the_chat_template_comes_from_the_metadata(tmp_path: Path, folder: Path) -> None:
    tokenizer = tokenizer_of(write_model(tmp_path / "small.gguf"), folder)
    assert tokenizer.chat_template == CHAT_TEMPLATE
    messages = [{"role": "user", "content": "ab"}]
    ids = tokenizer.apply_chat_template(messages, add_generation_prompt=True)
    assert ids == [1, TOKEN_ID["ab"], 2, 1]


def test_a_start_token_is_put_before_the_text_where_the_file_says_so(
    tmp_path: Path, folder: Path
) -> None:
    gguf = write_model(tmp_path / "small.gguf", tokenizer__ggml__add_bos_token=True)
    tokenizer = tokenizer_of(gguf, folder)
    assert tokenizer.encode("ab") == [1, TOKEN_ID["ab"]]
    assert tokenizer.encode("ab", add_special_tokens=False) == [TOKEN_ID["ab"]]


def test_the_fast_detokenizer_joins_a_character_split_over_tokens(
    tmp_path: Path, folder: Path
) -> None:
    tokenizer = tokenizer_of(write_model(tmp_path / "small.gguf"), folder)
    detokenizer = tokenizer.detokenizer
    assert isinstance(detokenizer, BPEStreamingDetokenizer)
    seen = []
    for token_id in tokenizer.encode("a€ab"):
        detokenizer.add_token(token_id)
        seen.append(detokenizer.last_segment)
    detokenizer.finalize()
    assert "".join([*seen, detokenizer.last_segment]) == "a€ab"
    assert "\ufffd" not in "".join(seen)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"general__architecture": "qwen2"}, "architecture 'qwen2'"),
        ({"general__architecture": None}, "'general.architecture', and has nothing"),
        ({"llama__block_count": 3}, "no tensor 'blk.2."),
        ({"llama__block_count": 1}, "isn't part of a plain llama model"),
        ({"llama__attention__head_count": 0}, "attention heads"),
        ({"llama__attention__head_count": [4, 4]}, "needs a whole number"),
        ({"llama__attention__head_count": 5}, "unfit for 5 heads"),
        ({"llama__attention__layer_norm_rms_epsilon": None}, "layer_norm_rms_epsilon"),
        ({"llama__rope__scaling__type": "linear"}, "llama.rope.scaling.type is 'linear'"),
        ({"llama__rope__dimension_count": 8}, "llama.rope.dimension_count is 8"),
        ({"llama__expert_count": 8}, "llama.expert_count is 8"),
        ({"tokenizer__ggml__model": "llama"}, "of the kind 'llama'"),
        ({"tokenizer__ggml__pre": "qwen2"}, "splits text as 'qwen2'"),
        ({"tokenizer__ggml__tokens": TOKENS[:-1] + TOKENS[:1]}, "aren't distinct"),
        ({"tokenizer__ggml__tokens": [1]}, "needs a list of texts"),
        ({"tokenizer__ggml__token_type": [1, 2]}, "has a type"),
        ({"tokenizer__ggml__merges": None}, "tokenizer.ggml.merges"),
        ({"tokenizer__ggml__eos_token_id": None}, "tokenizer.ggml.eos_token_id"),
        ({"tokenizer__ggml__eos_token_id": 9999}, "tokenizer.ggml.eos_token_id is 9999"),
    ],
)
def test_what_cannot_be_had_exactly_is_refused_by_name(
    tmp_path: Path, folder: Path, changes: dict[str, object], message: str
) -> None:
    gguf = write_model(tmp_path / "other.gguf", **changes)
    with pytest.raises(ModelLoadError) as raised:
        write_model_folder(gguf, folder)
    assert message in str(raised.value)
    assert str(gguf) in str(raised.value)
    assert "\n" not in str(raised.value)


def test_rescaled_positions_are_refused(tmp_path: Path, folder: Path) -> None:
    tensors = model_tensors()
    tensors["rope_freqs.weight"] = random_tensor(np.random.default_rng(0), F32, 8)
    with pytest.raises(ModelLoadError, match="rope_freqs"):
        write_model_folder(write_model(tmp_path / "small.gguf", tensors), folder)


def test_the_untouched_metadata_of_these_tests_is_accepted(tmp_path: Path, folder: Path) -> None:
    assert metadata()["general.architecture"] == "llama"
    write_model_folder(write_model(tmp_path / "small.gguf"), folder)
    assert {path.name for path in folder.iterdir()} == {
        "config.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
    }
