"""Drawn values are accepted exactly where they are valid: the long form of the tests.

    python scratch/mixed_keywords.py [--seed 0] [--count 1000] [--depth 1] [--values 20]

For each number a small schema that mixes keywords, values that hypothesis-jsonschema draws for it,
and values next to them, judged by two validators. Prints progress, and each value that is judged
otherwise, with the schema and its number. The exit status is 1 if there was one.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections import Counter
from pathlib import Path
from typing import NoReturn

TESTS = Path(__file__).resolve().parents[1] / "tests"
sys.path[:0] = [str(TESTS), str(TESTS / "acceptor")]

from mixed_keywords import (  # noqa: E402
    CAN_DRAW,
    DisagreementError,
    compare_with_judges,
    draw_schema,
)

from mlx_structured import LimitExceededError, StructuredError  # noqa: E402


class TooSlowError(BaseException):
    """Not to be taken for an error of the library."""


def too_slow(*_: object) -> NoReturn:
    raise TooSlowError


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=0, help="the number of the first schema")
    parser.add_argument("--count", type=int, default=1_000, help="how many schemas")
    parser.add_argument("--depth", type=int, default=1)
    parser.add_argument("--values", type=int, default=20, help="drawn for each schema, at most")
    parser.add_argument("--patience", type=int, default=30, help="seconds for one schema")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so many")
    options = parser.parse_args()
    if not CAN_DRAW:
        parser.error("hypothesis-jsonschema draws no objects with hypothesis 6.170")
    signal.signal(signal.SIGALRM, too_slow)
    counts: Counter[str] = Counter()
    begin = time.monotonic()
    number = options.seed
    try:
        for number in range(options.seed, options.seed + options.count):
            elapsed = time.monotonic() - begin
            if elapsed > options.seconds:
                break
            if number % 50 == 0:
                print(f"{number}: {elapsed:.0f} s, {dict(counts)}", flush=True)
            compare(number, options, counts)
        else:
            number += 1
    except KeyboardInterrupt:
        print("interrupted")
    print(f"next is {number}")
    for name, count in sorted(counts.items()):
        print(f"{count:8} {name}")
    broken = counts["disagreements"] + counts["errors"]
    print(f"{counts['schemas']} schemas, {counts['valid'] + counts['invalid']} values: ", end="")
    print(f"{broken} judged otherwise or failed" if broken else "all judged as the validators do")
    return 1 if broken else 0


def compare(number: int, options: argparse.Namespace, counts: Counter[str]) -> None:
    """Compare on the schema of one number, and print what goes wrong."""
    signal.alarm(options.patience)
    try:
        compare_with_judges(number, options.values, counts, depth=options.depth)
    except DisagreementError as error:
        counts["disagreements"] += 1
        print(f"{number}: {error}", flush=True)
    except LimitExceededError as error:
        counts["limit exceeded"] += 1
        print(f"{number}: {error}; {draw_schema(number, options.depth)}", flush=True)
    except StructuredError as error:
        counts["errors"] += 1
        print(f"{number}: {type(error).__name__}: {error}", flush=True)
    except TooSlowError:
        counts["too slow"] += 1
        print(f"{number}: too slow; {draw_schema(number, options.depth)}", flush=True)
    finally:
        signal.alarm(0)
    counts["schemas"] += 1


if __name__ == "__main__":
    sys.exit(main())
