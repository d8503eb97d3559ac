"""Tiny models of random weights, and a small byte-level BPE tokenizer that has seen some JSON."""

from __future__ import annotations

import json

import mlx.core as mx
from mlx_lm.models import llama
from mlx_lm.tokenizer_utils import TokenizerWrapper
from tokenizers import Tokenizer
from tokenizers.decoders import ByteLevel as ByteLevelDecoder
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel
from tokenizers.trainers import BpeTrainer
from transformers import PreTrainedTokenizerFast

CORPUS = [
    json.dumps([{"name": name, "continent": continent, "population": 1234567, "visited": True}])
    for name in ("Nigeria", "Japan", "Peru", "Fiji")
    for continent in ("Africa", "Asia", "South America", "Oceania")
] * 3


def tiny_model(seed: int, vocab_size: int, hidden_size: int = 32) -> llama.Model:
    """A llama of two layers with two heads."""
    mx.random.seed(seed)
    model = llama.Model(
        llama.ModelArgs(
            model_type="llama",
            hidden_size=hidden_size,
            num_hidden_layers=2,
            intermediate_size=48,
            num_attention_heads=2,
            rms_norm_eps=1e-5,
            vocab_size=vocab_size,
            tie_word_embeddings=False,
        )
    )
    mx.eval(model.parameters())
    return model


def json_tokenizer(vocab_size: int = 420) -> TokenizerWrapper:
    """All bytes, and what byte pair encoding merges in a few lines of JSON: nothing with 257."""
    backend = Tokenizer(BPE())
    backend.pre_tokenizer = ByteLevel(add_prefix_space=False)
    backend.decoder = ByteLevelDecoder()
    trainer = BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=["<eos>"],
        initial_alphabet=ByteLevel.alphabet(),
        show_progress=False,
    )
    backend.train_from_iterator(CORPUS, trainer)
    return TokenizerWrapper(PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="<eos>"))
