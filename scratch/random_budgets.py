"""Generations of a real model with few tokens: is every text a valid document?

    python scratch/random_budgets.py [--generations 100] [--seed 0]

SmolLM2 135M, sampled at temperature 1, over a few schemas, with random ``max_tokens`` between the
fewest that do and 60.
"""

from __future__ import annotations

import argparse
import collections
import json
import random
from typing import Any

import jsonschema
import mlx.core as mx
from mlx_lm.sample_utils import make_sampler

from mlx_structured import JsonSchemaAcceptorDriver, Vocabulary, compile_json_schema, generate
from mlx_structured.models import load_model

SCHEMAS: dict[str, Any] = {
    "a country": {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "continent": {"enum": ["Africa", "Asia", "Europe", "North America"]},
        },
        "required": ["name", "continent"],
        "additionalProperties": False,
    },
    "a list of numbers": {"type": "array", "items": {"type": "number"}, "minItems": 1},
    "a person": {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "born": {"type": "string", "format": "date"},
            "children": {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
        },
        "required": ["name"],
    },
    "anything": True,
}


def main() -> None:
    """Print how many texts were whole, by schema."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--generations", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    count = arguments.generations
    rng = random.Random(arguments.seed)
    model, tokenizer = load_model("smollm2")
    vocabulary = Vocabulary.from_tokenizer(tokenizer)
    acceptors = {name: compile_json_schema(schema) for name, schema in SCHEMAS.items()}
    done: collections.Counter[str] = collections.Counter()
    for number in range(count):
        name = rng.choice(list(SCHEMAS))
        needed = JsonSchemaAcceptorDriver(acceptors[name], vocabulary).tokens_to_complete()
        limit = rng.randint(needed, 60)
        prompt = tokenizer.apply_chat_template(
            [{"role": "user", "content": f"Write {name} as JSON."}], add_generation_prompt=True
        )
        mx.random.seed(number)
        sampler = make_sampler(temp=1.0)
        answer = generate(
            model, tokenizer, prompt, acceptors[name], max_tokens=limit, sampler=sampler
        )
        value = json.loads(answer.text)
        jsonschema.validate(value, SCHEMAS[name], format_checker=jsonschema.FormatChecker())
        done[name] += 1
        print(f"{limit:3} tokens at most, {answer.generation_tokens:3} used: {answer.text}")
    print(f"{sum(done.values())} of {count} parse and validate: {dict(done)}")


if __name__ == "__main__":
    main()
