"""Tokens a second on a real model: unconstrained, with the processor, with forced text.

    python scratch/generation_speed.py [--rounds 3]

The model is SmolLM2 135M as dense float32, the schema an array of 12 countries ``{name,
continent}`` with an enum of continents. Each way is run in turn, round by round, and the ratios are
those of the medians. The unconstrained runs write as many tokens as the document has.

On a GPU a pass over a few tokens costs little more than one over a single token. The BLAS in mlx's
wheel for Linux is too slow to show that; the environment variable ``FAST_BLAS`` may name a Python
file that replaces it, which is run before mlx is imported.
"""

from __future__ import annotations

import argparse
import os
import runpy
import statistics
import time
from collections.abc import Callable
from typing import Any

if "FAST_BLAS" in os.environ:
    runpy.run_path(os.environ["FAST_BLAS"])

import mlx.core as mx
import mlx_lm
from mlx import nn
from mlx.utils import tree_map_with_path

from mlx_structured import compile_json_schema, make_logit_bias_processor
from mlx_structured.generation import stream_generate
from mlx_structured.models import load_model

CONTINENTS = ["Africa", "Asia", "Europe", "North America", "Oceania", "South America"]
SCHEMA = {
    "type": "array",
    "minItems": 12,
    "maxItems": 12,
    "items": {
        "type": "object",
        "properties": {
            "name": {"type": "string", "maxLength": 30},
            "continent": {"enum": CONTINENTS},
        },
        "required": ["name", "continent"],
        "additionalProperties": False,
    },
}
QUESTION = "List twelve countries of the world with their continents, as JSON."
MAX_TOKENS = 260


def dense(model: Any) -> None:
    """Turn all weights into float32, quantized ones too."""

    def replaced(path: str, module: Any) -> Any:
        if isinstance(module, (nn.QuantizedLinear, nn.QuantizedEmbedding)):
            weight = mx.dequantize(
                module.weight,
                module.scales,
                module.biases,
                group_size=module.group_size,
                bits=module.bits,
            ).astype(mx.float32)
            if isinstance(module, nn.QuantizedEmbedding):
                made: Any = nn.Embedding(1, 1)
            else:
                made = nn.Linear(1, 1, bias="bias" in module)
                if "bias" in module:
                    made.bias = module.bias.astype(mx.float32)
            made.weight = weight
            return made
        return module

    leaves = tree_map_with_path(replaced, model.leaf_modules(), is_leaf=nn.Module.is_module)
    model.update_modules(leaves)
    model.set_dtype(mx.float32)
    mx.eval(model.parameters())


def timed(responses: Any) -> tuple[float, int]:
    """Seconds from the first token on, and how many tokens came after it."""
    count = 0
    start = time.perf_counter()
    for response in responses:
        if not count:
            start = time.perf_counter()
        count = response.generation_tokens
    return time.perf_counter() - start, count


def main() -> None:
    """Print tokens a second of each way, and the ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    model, tokenizer = load_model("smollm2")
    dense(model)
    prompt = tokenizer.apply_chat_template(
        [{"role": "user", "content": QUESTION}], add_generation_prompt=True
    )
    acceptor = compile_json_schema(SCHEMA)

    def forced() -> Any:
        return stream_generate(model, tokenizer, prompt, acceptor, max_tokens=MAX_TOKENS)

    def processor() -> Any:
        processors = [make_logit_bias_processor(tokenizer, acceptor, max_tokens=MAX_TOKENS)]
        return mlx_lm.stream_generate(
            model, tokenizer, prompt, max_tokens=MAX_TOKENS, logits_processors=processors
        )

    responses = list(forced())
    length = len(responses)
    forced_share = sum(response.is_forced for response in responses) / length
    print(f"{length} tokens, {forced_share:.2f} of them forced: {responses[-1].value}")

    def unconstrained() -> Any:
        # EOS is banned, so that it writes as many.
        eos = list(tokenizer.eos_token_ids)
        bias = mx.zeros(model.args.vocab_size).at[mx.array(eos)].add(-1e9)
        mx.eval(bias)
        return mlx_lm.stream_generate(
            model,
            tokenizer,
            prompt,
            max_tokens=length,
            sampler=lambda logprobs: mx.argmax(logprobs + bias, axis=-1),
        )

    ways: dict[str, Callable[[], Any]] = {
        "unconstrained": unconstrained,
        "processor": processor,
        "forced text": forced,
    }
    speeds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            seconds, count = timed(way())
            speeds[name].append(count / seconds)
            print(f"{name:14} {count:4} tokens {count / seconds:7.2f} a second", flush=True)
    base = statistics.median(speeds["unconstrained"])
    for name, values in speeds.items():
        speed = statistics.median(values)
        print(f"{name:14} median {speed:7.2f}, ratio {speed / base:.3f}")


if __name__ == "__main__":
    main()
