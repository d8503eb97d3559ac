"""Turns a GGUF file of the llama architecture into an mlx-lm model folder.

Metadata keys and tensor names are those of the GGUF specification (ggml, ``docs/gguf.md``). The
folder is what ``mlx_lm.load`` reads: ``config.json``, ``model.safetensors`` with the weights as
they are stored (4-bit ones stay 4-bit), ``tokenizer.json`` and ``tokenizer_config.json``.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import mlx.core as mx
import numpy as np

from mlx_structured.models.gguf_header import GGUFHeader, read_header
from mlx_structured.models.gguf_tensors import GROUP_SIZE, Array, read_tensor

LAYER_MODULES = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}

# Values of tokenizer.ggml.token_type.
CONTROL_TOKEN, USER_DEFINED_TOKEN, UNUSED_TOKEN = 3, 4, 5

BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}

# tokenizer.ggml.pre names how text is split before byte-pair merging.
PRE_TOKENIZERS: dict[str, dict[str, Any]] = {
    "gpt-2": {**BYTE_LEVEL, "use_regex": True},
    "smollm": {
        "type": "Sequence",
        "pretokenizers": [
            {"type": "Digits", "individual_digits": True},
            {**BYTE_LEVEL, "use_regex": True},
        ],
    },
}


def write_model_folder(gguf: Path, folder: Path) -> None:
    """Write an mlx-lm model folder with the model and tokenizer of a GGUF file.

    Arguments:
        gguf: a file of the llama architecture whose tokenizer is byte-level BPE.
        folder: an empty folder that exists.

    Raises:
        ModelLoadError: for a file that is broken, or that holds something other than the above.
        OSError: where the folder can't be written.
    """
    header = read_header(gguf)
    weights = model_weights(header)
    files = {
        "config.json": model_config(header, weights),
        "tokenizer.json": tokenizer(header),
        "tokenizer_config.json": tokenizer_config(header),
    }
    mx.save_safetensors(
        str(folder / "model.safetensors"),
        {name: mx.array(weight) for name, weight in weights.items()},
        metadata={"format": "mlx"},
    )
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")


def model_modules(header: GGUFHeader) -> dict[str, str]:
    """The module of mlx-lm's llama model for each module of the file.

    Raises:
        ModelLoadError: for another architecture, and for a file that has more or fewer tensors
            than a plain llama model.
    """
    architecture = header.text("general.architecture")
    if architecture != "llama":
        raise header.error(
            f"holds a model of the architecture {architecture!r}, and only 'llama' is read from "
            "GGUF; take the model's mlx-lm folder or name instead"
        )
    modules = {"token_embd": "model.embed_tokens", "output_norm": "model.norm"}
    if "output.weight" in header.tensors:
        modules["output"] = "lm_head"
    for layer in range(header.integer("llama.block_count")):
        for name, module in LAYER_MODULES.items():
            modules[f"blk.{layer}.{name}"] = f"model.layers.{layer}.{module}"
    wanted = {f"{name}.weight" for name in modules}
    if missing := sorted(wanted - header.tensors.keys()):
        raise header.error(
            f"has no tensor {missing[0]!r}; a model split over several files can't be read"
        )
    # Such as rope_freqs.weight (rescaled positions) or ffn_gate_exps.weight (experts).
    if foreign := sorted(header.tensors.keys() - wanted):
        raise header.error(
            f"has the tensor {foreign[0]!r}, which isn't part of a plain llama model; "
            "take the model's mlx-lm folder or name instead"
        )
    return modules


def head_counts(header: GGUFHeader) -> tuple[int, int]:
    """Heads of the queries, and heads of the keys and values."""
    heads = header.integer("llama.attention.head_count")
    key_heads = header.integer("llama.attention.head_count_kv", heads)
    if heads < 1 or key_heads < 1:
        raise header.error(f"{heads} attention heads over {key_heads} can't be right")
    return heads, key_heads


def restore_rotary_rows(rows: Array, head_count: int) -> Array:
    """Put the output rows of a query or key projection back into the order that mlx-lm rotates.

    llama.cpp rotates neighbouring rows of a head together, the models' own code (and mlx-lm)
    rows half a head apart. So llama.cpp's converter interleaves the two halves of each head
    (``LlamaModel.permute`` in ``convert_hf_to_gguf.py``), and this undoes it.

    Arguments:
        rows: a weight ``(head_count * head_dim, ...)``, or its packed form, scales or biases.
        head_count: heads of this projection.
    """
    pairs = rows.reshape(head_count, -1, 2, *rows.shape[1:])
    return pairs.swapaxes(1, 2).reshape(rows.shape)


def model_weights(header: GGUFHeader) -> dict[str, Array]:
    """The weights under mlx-lm's names: dense ones, or packed with ``scales`` and ``biases``.

    Raises:
        ModelLoadError: as :func:`model_modules`.
    """
    modules = model_modules(header)
    embedding = read_tensor(header.path, header.tensors["token_embd.weight"])
    dtype = embedding.get("scales", embedding["weight"]).dtype
    return {
        f"{module}.{part}": _arranged(header, name, rows, dtype)
        for name, module in modules.items()
        for part, rows in read_tensor(header.path, header.tensors[f"{name}.weight"]).items()
    }


def _arranged(header: GGUFHeader, name: str, rows: Array, dtype: np.dtype[Any]) -> Array:
    if name.endswith("norm"):
        return _narrowed(rows, dtype)
    query_heads, key_heads = head_counts(header)
    heads = {"attn_q": query_heads, "attn_k": key_heads}.get(name.rpartition(".")[2])
    if heads is None:
        return rows
    if rows.shape[0] % (2 * heads):
        raise header.error(f"{name} has {rows.shape[0]} rows, unfit for {heads} heads")
    return restore_rotary_rows(rows, heads)


def _narrowed(norm: Array, dtype: np.dtype[Any]) -> Array:
    """A norm's weight in the model's type, where that loses nothing.

    GGUF stores norms as float32 whatever the rest is, and mlx would promote all activations to it.
    """
    with np.errstate(over="ignore"):
        narrow = norm.astype(dtype)
    return narrow if np.array_equal(narrow, norm) else norm


def model_config(header: GGUFHeader, weights: Mapping[str, Array]) -> dict[str, Any]:
    """The ``config.json`` of the model.

    Raises:
        ModelLoadError: where the metadata asks for something that mlx-lm's llama doesn't do alike.
    """
    hidden_size = header.integer("llama.embedding_length")
    heads, key_heads = head_counts(header)
    head_size = header.integer("llama.attention.key_length", hidden_size // heads)
    for key, size in (
        ("llama.attention.value_length", head_size),
        ("llama.rope.dimension_count", head_size),
        ("llama.expert_count", 0),
    ):
        if header.integer(key, size) != size:
            raise header.error(f"{key} is {header.integer(key)}, and only {size} is supported")
    if (scaling := header.text("llama.rope.scaling.type", "none")) != "none":
        raise header.error(f"llama.rope.scaling.type is {scaling!r}, which isn't supported")
    config: dict[str, Any] = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": hidden_size,
        "num_hidden_layers": header.integer("llama.block_count"),
        "intermediate_size": header.integer("llama.feed_forward_length"),
        "num_attention_heads": heads,
        "num_key_value_heads": key_heads,
        "head_dim": head_size,
        "rms_norm_eps": header.number("llama.attention.layer_norm_rms_epsilon"),
        "rope_theta": header.number("llama.rope.freq_base", 10000.0),
        "rope_traditional": False,
        "max_position_embeddings": header.integer("llama.context_length"),
        "vocab_size": weights["model.embed_tokens.weight"].shape[0],
        "tie_word_embeddings": "lm_head.weight" not in weights,
        "eos_token_id": end_token_ids(header),
    }
    bits = dict(_quantized_bits(weights))
    if bits:
        ((usual, _),) = Counter(bits.values()).most_common(1)
        config["quantization"] = {
            "group_size": GROUP_SIZE,
            "bits": usual,
            **{
                module: {"group_size": GROUP_SIZE, "bits": own}
                for module, own in bits.items()
                if own != usual
            },
        }
    return config


def _quantized_bits(weights: Mapping[str, Array]) -> Iterator[tuple[str, int]]:
    for name, scales in weights.items():
        if name.endswith(".scales"):
            module = name.removesuffix(".scales")
            # 32 bits a word, 32 elements a scale: words for each scale are bits for each element.
            yield module, weights[f"{module}.weight"].shape[-1] // scales.shape[-1]


def end_token_ids(header: GGUFHeader) -> list[int]:
    """The tokens that end a text or a turn."""
    keys = ("tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id")
    ids = dict.fromkeys(header.integer(key) for key in keys if key in header.metadata)
    return list(ids) or [header.integer(keys[0])]


def tokenizer(header: GGUFHeader) -> dict[str, Any]:
    """The ``tokenizer.json`` (Hugging Face tokenizers) of the byte-level BPE tokenizer.

    Raises:
        ModelLoadError: for another kind of tokenizer, or a way to split text that isn't known.
    """
    kind = header.text("tokenizer.ggml.model")
    if kind != "gpt2":
        raise header.error(
            f"its tokenizer is of the kind {kind!r}, and only byte-level BPE ('gpt2') is read "
            "from GGUF; take the model's mlx-lm folder or name instead"
        )
    pre_tokenizer = header.text("tokenizer.ggml.pre", "gpt-2")
    if pre_tokenizer not in PRE_TOKENIZERS:
        raise header.error(
            f"its tokenizer splits text as {pre_tokenizer!r}, and only "
            f"{', '.join(PRE_TOKENIZERS)} are known; take the model's mlx-lm folder or name instead"
        )
    tokens = header.texts("tokenizer.ggml.tokens")
    types = header.integers("tokenizer.ggml.token_type")
    vocabulary = {token: id_ for id_, token in enumerate(tokens)}
    if not len(tokens) == len(types) == len(vocabulary):
        raise header.error("its tokens aren't distinct, or not each of them has a type")
    added = [
        {
            "id": id_,
            "content": token,
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "special": type_ != USER_DEFINED_TOKEN,
        }
        for id_, (token, type_) in enumerate(zip(tokens, types, strict=True))
        if type_ in (CONTROL_TOKEN, USER_DEFINED_TOKEN, UNUSED_TOKEN)
    ]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": None,
        "pre_tokenizer": PRE_TOKENIZERS[pre_tokenizer],
        "post_processor": _start_of_text(header, tokens),
        "decoder": {**BYTE_LEVEL, "add_prefix_space": True, "use_regex": True},
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "vocab": vocabulary,
            "merges": header.texts("tokenizer.ggml.merges"),
        },
    }


def _start_of_text(header: GGUFHeader, tokens: list[str]) -> dict[str, Any] | None:
    if not header.metadata.get("tokenizer.ggml.add_bos_token", False):
        return None
    token = _named_token(header, "tokenizer.ggml.bos_token_id", tokens)
    start = {"SpecialToken": {"id": token, "type_id": 0}}
    first, second = ({"Sequence": {"id": name, "type_id": 0}} for name in "AB")
    return {
        "type": "TemplateProcessing",
        "single": [start, first],
        "pair": [start, first, second],
        "special_tokens": {token: {"id": token, "ids": [tokens.index(token)], "tokens": [token]}},
    }


def _named_token(header: GGUFHeader, key: str, tokens: list[str]) -> str:
    id_ = header.integer(key)
    if not 0 <= id_ < len(tokens):
        raise header.error(f"{key} is {id_}, and there are {len(tokens)} tokens")
    return tokens[id_]


def tokenizer_config(header: GGUFHeader) -> dict[str, Any]:
    """The ``tokenizer_config.json``: which tokens play which part, and the chat template."""
    tokens = header.texts("tokenizer.ggml.tokens")
    config: dict[str, Any] = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "clean_up_tokenization_spaces": False,
        "model_max_length": header.integer("llama.context_length"),
    }
    for part, key in (
        ("bos_token", "tokenizer.ggml.bos_token_id"),
        ("eos_token", "tokenizer.ggml.eos_token_id"),
        ("unk_token", "tokenizer.ggml.unknown_token_id"),
        ("pad_token", "tokenizer.ggml.padding_token_id"),
    ):
        if key in header.metadata:
            config[part] = _named_token(header, key, tokens)
    if "tokenizer.chat_template" in header.metadata:
        config["chat_template"] = header.text("tokenizer.chat_template")
    return config
