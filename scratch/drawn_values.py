"""Values that hypothesis-jsonschema draws for many schemas: the long form of a test.

    python scratch/drawn_values.py [--first 2000] [--count 1000] [--values 20] [--seconds S]

Each schema mixes keywords. Of each value, and of values next to it, the acceptor must say what two
validators say. Prints progress and each wrong verdict; ends with 1 if there was one.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1] / "tests"
sys.path[:0] = [str(TESTS), str(TESTS / "acceptor")]

from mixed_keywords import CAN_DRAW, WrongVerdictError, compare_with_validators  # noqa: E402

from mlx_structured import LimitExceededError  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--first", type=int, default=2_000, help="the number of the first schema")
    parser.add_argument("--count", type=int, default=1_000, help="how many schemas")
    parser.add_argument("--values", type=int, default=20, help="drawn values a schema, at most")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so many")
    options = parser.parse_args()
    if not CAN_DRAW:
        parser.error("hypothesis-jsonschema draws no objects with hypothesis 6.170 or later")
    counts: Counter[str] = Counter()
    begin = time.monotonic()
    try:
        for number in range(options.first, options.first + options.count):
            elapsed = time.monotonic() - begin
            if elapsed > options.seconds:
                break
            if number % 50 == 0:
                print(f"{number}: {elapsed:.0f} s", flush=True)
            counts["schemas"] += 1
            try:
                compare_with_validators(number, options.values, counts)
            except WrongVerdictError as error:
                counts["wrong"] += 1
                print(error, flush=True)
            except LimitExceededError as error:
                counts["gave up"] += 1
                print(f"{number}: {error}", flush=True)
    except KeyboardInterrupt:
        print("stopped")
    print(", ".join(f"{count:,} {name}" for name, count in sorted(counts.items())))
    return 1 if counts["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
