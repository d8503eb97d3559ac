"""A schema of countries, and generations of it."""

from __future__ import annotations

from mlx_structured import stream_generate

COUNTRY = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 12},
        "continent": {"enum": ["Africa", "Asia", "South America", "Oceania"]},
    },
    "required": ["name", "continent"],
    "additionalProperties": False,
}
COUNTRIES = {"type": "array", "items": COUNTRY, "minItems": 2, "maxItems": 3}
PROMPT = [7, 9, 8, 10, 5]


def run(model, tokenizer, schema, prompt=PROMPT, **kwargs):
    return list(stream_generate(model, tokenizer, prompt, schema, **kwargs))


def tokens_of(responses):
    return [response.token for response in responses]
