"""Random walks over all MaskBench schemas: whatever the masks let through must be valid.

    python scratch/random_walks.py [--seed 0] [--walks 2] [--first 0] [--count 5000]

Prints progress, and each failure: an invalid document, a state that allows nothing, a walk without
an end, an error. Needs the suites and tokenizers beside the project, as the tests do.
"""

from __future__ import annotations

import argparse
import itertools
import random
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parents[1] / "tests"
sys.path[:0] = [str(TESTS), str(TESTS / "acceptor")]

from shared_files import maskbench, shared  # noqa: E402
from test_random_walks import STYLES, compiled, judged  # noqa: E402
from transformers import AutoTokenizer  # noqa: E402
from walks import StuckError, required_names, walk  # noqa: E402

from mlx_structured import StructuredError, Vocabulary  # noqa: E402

SLOW = 20.0
"""Seconds for the walks of one schema that are worth a line."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--walks", type=int, default=2, help="of each schema")
    parser.add_argument("--first", type=int, default=0, help="the number of the first schema")
    parser.add_argument("--count", type=int, default=5_000, help="how many schemas")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so many")
    options = parser.parse_args()
    tokenizer = AutoTokenizer.from_pretrained(shared("tokenizers/deepseek"))
    vocabulary = Vocabulary.from_tokenizer(tokenizer)
    counts: Counter[str] = Counter()
    begin = time.monotonic()
    number = options.first
    cases = itertools.islice(maskbench(), options.first, options.first + options.count)
    for number, case in enumerate(cases, options.first):
        elapsed = time.monotonic() - begin
        if elapsed > options.seconds:
            break
        if number % 100 == 0:
            print(f"{number}: {elapsed:.0f} s, {dict(counts)}", flush=True)
        for problem in walk_on(case, number, options, vocabulary, counts):
            counts["problems"] += 1
            print(f"{number} {case['name']}: {problem}", flush=True)
    print(f"next is {number}: {dict(counts)}")


def walk_on(
    case: dict[str, Any],
    number: int,
    options: argparse.Namespace,
    vocabulary: Vocabulary,
    counts: Counter[str],
) -> list[str]:
    """The problems that walks on one schema meet."""
    style = STYLES[(number + options.seed) % len(STYLES)]
    if style == "any" and "draft-04" in str(case["schema"].get("$schema")):
        style = "spaced"  # 1.0 is an integer here, in draft 4 too: one judge disagrees
    begin = time.monotonic()
    problems = []
    try:
        acceptor = compiled(case["schema"], style)
        if acceptor is None:
            counts["not compiled"] += 1
            return []
        is_valid = judged(case["schema"])
        required = required_names(case["schema"])
        rng = random.Random(options.seed * 100_000 + number)
        for _ in range(options.walks):
            free = rng.choice((0, 8, 24, 24, 80))
            text = walk(acceptor, vocabulary, rng, required=required, free=free)
            counts["walks"] += 1
            if text is None:
                problems.append(f"{style}: no end in 2,000 tokens")
            elif not is_valid(text.decode()):
                problems.append(f"{style}: invalid {text.decode()}")
            elif not acceptor.accepts(text):
                problems.append(f"{style}: not accepted {text.decode()}")
    except (StructuredError, StuckError) as error:
        problems.append(f"{style}: {type(error).__name__}: {str(error)[:400]}")
    if time.monotonic() - begin > SLOW:
        problems.append(f"{style}: took {time.monotonic() - begin:.0f} s")
    return problems


if __name__ == "__main__":
    main()
