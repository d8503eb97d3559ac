"""Memory over many different schemas one after the other, and over many documents of one.

    python scratch/memory_flat.py [--schemas 10000] [--tokens 128000]

Each schema is compiled and a few masks are made; one acceptor in any key order then reads as many
different documents. After a warm-up the memory of the process must be flat.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import resource
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mlx_structured import JsonSchemaAcceptorDriver, Vocabulary, compile_json_schema


def resident() -> float:
    """MiB of the process now (Linux), or at most so far (elsewhere)."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmRSS"))
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def made_vocabulary(size: int, rng: random.Random) -> Vocabulary:
    """All bytes, and words of letters, digits and punctuation."""
    tokens: set[bytes] = {bytes([byte]) for byte in range(256)}
    letters = "etaoinshrdlu"
    while len(tokens) < size:
        word = "".join(rng.choices(letters, k=rng.randint(1, 7)))
        tokens.add((rng.choice(["", " ", '"', '", "', "_", "1"]) + word).encode())
    return Vocabulary([*sorted(tokens), None], eos_token_ids=[len(tokens)])


def schemas(rng: random.Random) -> Iterator[dict[str, Any]]:
    """Different schemas without an end."""
    number = 0
    while True:
        number += 1
        words = ["".join(rng.choices("etaoins", k=6)) for _ in range(8)]
        yield {
            "type": "object",
            "properties": {
                words[0]: {"type": "string", "pattern": f"^[a-z]{{1,{number % 50 + 1}}}{words[1]}"},
                words[2]: {"enum": [words[3], words[4], number]},
                words[5]: {"type": "number", "multipleOf": number % 97 + 1, "minimum": number},
                words[6]: {
                    "type": "array",
                    "items": {"type": "string", "minLength": 1, "maxLength": number % 300 + 1},
                },
            },
            "required": [words[0], words[2], words[5], words[6]],
            "additionalProperties": {"not": {"const": words[7]}},
        }


def main() -> None:
    """Print the memory every 500 schemas, then every 500 documents."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--schemas", type=int, default=10_000)
    parser.add_argument("--tokens", type=int, default=128_000)
    chosen = parser.parse_args()
    rng = random.Random(1)
    vocabulary = made_vocabulary(chosen.tokens, rng)
    ids = {token: number for number, token in enumerate(vocabulary.tokens)}

    def read(driver: JsonSchemaAcceptorDriver, text: str) -> None:
        for byte in text.encode():
            bitmap = driver.select_valid_tokens()
            token = ids[bytes([byte])]
            if not bitmap[token >> 5] >> (token & 31) & 1:
                return
            driver.advance_token(token)

    begin = time.perf_counter()
    print("schemas    MiB  seconds")
    for number, schema in enumerate(schemas(rng)):
        if number % 500 == 0:
            gc.collect()
            print(f"{number:7} {resident():6.0f} {time.perf_counter() - begin:8.1f}", flush=True)
        if number == chosen.schemas:
            break
        driver = JsonSchemaAcceptorDriver(compile_json_schema(schema), vocabulary)
        keys = list(schema["properties"])
        text = {keys[0]: "a", keys[1]: number}
        read(driver, json.dumps(text)[:-1])
    acceptor = compile_json_schema(
        {"additionalProperties": {"type": ["string", "integer"]}, "minProperties": 2}, style="any"
    )
    print("documents  MiB  seconds")
    for number in range(chosen.schemas + 1):
        if number % 500 == 0:
            gc.collect()
            print(f"{number:7} {resident():6.0f} {time.perf_counter() - begin:8.1f}", flush=True)
        document = {f"key {number} {i}": rng.choice([i, f"v{number}"]) for i in range(6)}
        read(JsonSchemaAcceptorDriver(acceptor, vocabulary), json.dumps(document))


if __name__ == "__main__":
    main()
