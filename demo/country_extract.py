"""Asks a model which countries a sentence mentions, under a JSON Schema, and shows the answer.

python demo/country_extract.py
python demo/country_extract.py --model mlx-community/Qwen3-0.6B-4bit --schema my_schema.json
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mlx_lm

from mlx_structured import StructuredError, compile_json_schema, make_logit_bias_processor
from mlx_structured.models import load_model

SCHEMA_PLACEHOLDER = "#!JSON_SCHEMA!#"
SCHEMA = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {"name": {"type": "string"}, "continent": {"type": "string"}},
        "required": ["name", "continent"],
        "additionalProperties": False,
    },
}
QUESTION = "Which countries are mentioned in the sentence {!r}?"
EXAMPLE_SENTENCE = "Lena spent her holidays in Japan"
EXAMPLE_ANSWER = [{"name": "Japan", "continent": "Asia"}]
SENTENCE = "Adamma went home to Nigeria for the hols"


def arguments(description: str) -> argparse.Namespace:
    """The command line that the country demos share."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--model", default="smollm2", help="mlx-lm model name, folder or .gguf")
    parser.add_argument("--schema", type=Path, help="file with a JSON Schema for the answer")
    parser.add_argument(
        "--prompt", help=f"another question; {SCHEMA_PLACEHOLDER} in it stands for the schema"
    )
    parser.add_argument("--style", default="spaced", help="how the JSON is written")
    parser.add_argument("--max-tokens", type=positive, default=200)
    return parser.parse_args()


def positive(text: str) -> int:
    """A number of tokens, from the command line."""
    number = int(text)
    if number < 1:
        raise ValueError("at least 1")
    return number


def read_schema(path: Path | None) -> Any:
    """The schema in a file as JSON text, or the countries'."""
    if path is None:
        return SCHEMA
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SystemExit(f"can't read the schema file {path}: {error}") from error


def chat_messages(prompt: str | None, schema: Any) -> list[dict[str, str]]:
    """The question, with one worked example before it unless the prompt is the user's own."""
    if prompt is not None:
        text = schema if isinstance(schema, str) else json.dumps(schema)
        return [{"role": "user", "content": prompt.replace(SCHEMA_PLACEHOLDER, text)}]
    return [
        {"role": "user", "content": QUESTION.format(EXAMPLE_SENTENCE)},
        {"role": "assistant", "content": json.dumps(EXAMPLE_ANSWER)},
        {"role": "user", "content": QUESTION.format(SENTENCE)},
    ]


def main() -> None:
    """Generate the answer token by token, then print its value."""
    options = arguments("Which countries does a sentence mention?")
    schema = read_schema(options.schema)
    acceptor = compile_json_schema(schema, style=options.style)
    model, tokenizer = load_model(options.model)
    prompt = tokenizer.apply_chat_template(
        chat_messages(options.prompt, schema), add_generation_prompt=True
    )
    processor = make_logit_bias_processor(tokenizer, acceptor)
    text = ""
    for response in mlx_lm.stream_generate(
        model, tokenizer, prompt, max_tokens=options.max_tokens, logits_processors=[processor]
    ):
        print(response.text, end="", flush=True)
        text += response.text
    print()
    if not processor.driver.is_finished:
        raise SystemExit(f"cut off after {options.max_tokens} tokens: raise --max-tokens")
    print(json.loads(text))


def run(demo: Callable[[], None]) -> None:
    """Run a demo; what a person can do something about ends in one line."""
    try:
        demo()
    except (StructuredError, ValueError) as error:
        raise SystemExit(f"error: {error}") from error
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(1) from None
    except KeyboardInterrupt:
        raise SystemExit("\nstopped") from None


if __name__ == "__main__":
    run(main)
