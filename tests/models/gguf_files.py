"""Writes small GGUF files after the GGUF specification, and says what their models compute."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tokenizers.pre_tokenizers import ByteLevel

F32, F16, Q4_0, Q4_1, Q8_0, Q6_K = 0, 1, 2, 3, 8, 14

ALIGNMENT = 32


@dataclass(frozen=True)
class StoredTensor:
    """A tensor as the file has it, and the numbers that stand for it."""

    type: int
    data: bytes
    values: np.ndarray


def string(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def metadata_value(value: object) -> bytes:
    if isinstance(value, bool):
        return struct.pack("<I?", 7, value)
    if isinstance(value, int):
        return struct.pack("<II", 4, value)
    if isinstance(value, float):
        return struct.pack("<If", 6, value)
    if isinstance(value, str):
        return struct.pack("<I", 8) + string(value)
    assert isinstance(value, list)
    if all(isinstance(item, int) for item in value):
        return struct.pack(f"<IIQ{len(value)}i", 9, 5, len(value), *value)
    return struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(string, value))


def gguf_bytes(
    metadata: dict[str, object], tensors: dict[str, StoredTensor], version: int = 3
) -> bytes:
    header = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(metadata))
    for key, value in metadata.items():
        header += string(key) + metadata_value(value)
    data = b""
    for name, tensor in tensors.items():
        shape = tensor.values.shape[::-1]
        header += string(name) + struct.pack(f"<I{len(shape)}Q", len(shape), *shape)
        header += struct.pack("<IQ", tensor.type, len(data))
        data += tensor.data + bytes(-len(tensor.data) % ALIGNMENT)
    return header + bytes(-len(header) % ALIGNMENT) + data


def random_tensor(rng: np.random.Generator, kind: int, *shape: int) -> StoredTensor:
    """Random content in one of ggml's encodings; the values as ggml's ``dequantize_row_*`` has."""
    if kind in (F32, F16):
        values = rng.normal(0, 0.2, shape).astype({F32: np.float32, F16: np.float16}[kind])
        return StoredTensor(kind, values.tobytes(), values.astype(np.float32))
    data, values = b"", []
    for _ in range(np.prod(shape) // 32):
        scale, minimum = rng.uniform(0.005, 0.03), rng.uniform(-0.3, 0.0)
        d, m = np.float16(scale), np.float16(minimum)
        if kind == Q8_0:
            quants = rng.integers(-128, 128, 32).astype(np.int8)
            data += d.tobytes() + quants.tobytes()
            values.append(np.float32(d) * quants)
            continue
        quants = rng.integers(0, 16, 32).astype(np.uint8)
        nibbles = bytes(int(quants[j]) | int(quants[j + 16]) << 4 for j in range(16))
        if kind == Q4_0:
            data += d.tobytes() + nibbles
            values.append(np.float32(d) * (quants.astype(np.float32) - 8))
        else:
            data += d.tobytes() + m.tobytes() + nibbles
            values.append(np.float32(d) * quants + np.float32(m))
    return StoredTensor(kind, data, np.array(values, dtype=np.float32).reshape(shape))


SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
# GPT-2's printable stand-ins for the 256 bytes; U+0120 stands for a space.
BYTES = sorted(ByteLevel.alphabet())
MERGED = ["ab", "Ġa", "Ġab", "12", "Ġ1"]
MERGES = ["a b", "Ġ a", "Ġ ab", "1 2", "Ġ 1"]
TOKENS = [*SPECIAL, *BYTES, *MERGED]
TOKEN_ID = {token: id_ for id_, token in enumerate(TOKENS)}
CHAT_TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['content'] }}<|im_end|>{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>{% endif %}"
)


@dataclass(frozen=True)
class Dimensions:
    """The sizes of the small model of these tests."""

    hidden: int = 64
    heads: int = 4
    key_heads: int = 2
    inner: int = 96
    layers: int = 2
    head_size: int = 16
    theta: float = 500.0
    epsilon: float = 0.03


SIZES = Dimensions()


def metadata(**changes: object) -> dict[str, object]:
    """The metadata of the small model. In a key of ``changes``, ``__`` stands for a dot."""
    content: dict[str, object] = {
        "general.architecture": "llama",
        "general.name": "small",
        "llama.block_count": SIZES.layers,
        "llama.context_length": 128,
        "llama.embedding_length": SIZES.hidden,
        "llama.feed_forward_length": SIZES.inner,
        "llama.attention.head_count": SIZES.heads,
        "llama.attention.head_count_kv": SIZES.key_heads,
        "llama.attention.layer_norm_rms_epsilon": SIZES.epsilon,
        "llama.rope.freq_base": SIZES.theta,
        "llama.rope.dimension_count": SIZES.head_size,
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "smollm",
        "tokenizer.ggml.tokens": TOKENS,
        "tokenizer.ggml.token_type": [3 if token in SPECIAL else 1 for token in TOKENS],
        "tokenizer.ggml.merges": MERGES,
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
        "tokenizer.ggml.add_bos_token": False,
        "tokenizer.chat_template": CHAT_TEMPLATE,
    }
    content.update({key.replace("__", "."): value for key, value in changes.items()})
    return {key: value for key, value in content.items() if value is not None}


def model_tensors(
    kind: int = Q4_1, *, embedding: int | None = None, output: int | None = None, seed: int = 0
) -> dict[str, StoredTensor]:
    """Random tensors of the small model: matrices as ``kind``, norms as float32."""
    rng = np.random.default_rng(seed)
    attended = SIZES.heads * SIZES.head_size
    remembered = SIZES.key_heads * SIZES.head_size
    shapes = {
        "attn_q": (attended, SIZES.hidden),
        "attn_k": (remembered, SIZES.hidden),
        "attn_v": (remembered, SIZES.hidden),
        "attn_output": (SIZES.hidden, attended),
        "ffn_gate": (SIZES.inner, SIZES.hidden),
        "ffn_up": (SIZES.inner, SIZES.hidden),
        "ffn_down": (SIZES.hidden, SIZES.inner),
        "attn_norm": (SIZES.hidden,),
        "ffn_norm": (SIZES.hidden,),
    }
    vocabulary = (len(TOKENS), SIZES.hidden)
    tensors = {
        "token_embd.weight": random_tensor(
            rng, kind if embedding is None else embedding, *vocabulary
        ),
        "output_norm.weight": random_tensor(rng, F32, SIZES.hidden),
    }
    if output is not None:
        tensors["output.weight"] = random_tensor(rng, output, *vocabulary)
    for layer in range(SIZES.layers):
        for name, shape in shapes.items():
            stored = kind if len(shape) == 2 else F32
            tensors[f"blk.{layer}.{name}.weight"] = random_tensor(rng, stored, *shape)
    return tensors


def write_model(
    path: Path, tensors: dict[str, StoredTensor] | None = None, **changes: object
) -> Path:
    path.write_bytes(gguf_bytes(metadata(**changes), tensors or model_tensors()))
    return path


def logits(tensors: dict[str, StoredTensor], token_ids: list[int]) -> np.ndarray:
    """What llama.cpp computes for such a file: pairs of neighbouring rows are rotated together."""
    weight = {name.removesuffix(".weight"): stored.values for name, stored in tensors.items()}
    hidden = weight["token_embd"][token_ids]
    for layer in range(SIZES.layers):
        block = {
            name.split(".")[2]: values
            for name, values in weight.items()
            if name.startswith(f"blk.{layer}.")
        }
        x = _normalized(hidden, block["attn_norm"])
        queries = _rotated(_heads(x @ block["attn_q"].T))
        keys = _rotated(_heads(x @ block["attn_k"].T))
        values = _heads(x @ block["attn_v"].T)
        share = SIZES.heads // SIZES.key_heads
        attended = []
        for head in range(SIZES.heads):
            scores = queries[:, head] @ keys[:, head // share].T / np.sqrt(SIZES.head_size)
            scores[np.triu_indices(len(token_ids), 1)] = -np.inf
            odds = np.exp(scores - scores.max(axis=1, keepdims=True))
            attended.append(odds / odds.sum(axis=1, keepdims=True) @ values[:, head // share])
        hidden = hidden + np.concatenate(attended, axis=1) @ block["attn_output"].T
        x = _normalized(hidden, block["ffn_norm"])
        gate = x @ block["ffn_gate"].T
        inner = gate / (1 + np.exp(-gate)) * (x @ block["ffn_up"].T)
        hidden = hidden + inner @ block["ffn_down"].T
    return _normalized(hidden, weight["output_norm"]) @ weight.get("output", weight["token_embd"]).T


def _normalized(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    return x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + SIZES.epsilon) * weight


def _heads(x: np.ndarray) -> np.ndarray:
    return x.reshape(len(x), -1, SIZES.head_size)


def _rotated(heads: np.ndarray) -> np.ndarray:
    rotated = np.empty_like(heads)
    for position in range(len(heads)):
        for pair in range(SIZES.head_size // 2):
            angle = position * SIZES.theta ** (-2 * pair / SIZES.head_size)
            x, y = heads[position, :, 2 * pair], heads[position, :, 2 * pair + 1]
            rotated[position, :, 2 * pair] = x * np.cos(angle) - y * np.sin(angle)
            rotated[position, :, 2 * pair + 1] = x * np.sin(angle) + y * np.cos(angle)
    return rotated
