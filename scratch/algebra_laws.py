"""Laws of logic on many generated schemas: the long form of the tests in tests/acceptor.

    python scratch/algebra_laws.py [--seed 0] [--count 1000] [--depth 3] [--unique]

Prints progress, and each broken law with the seed and the schemas.
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

from laws import LAWS, BrokenLawError, draw_definitions, try_laws  # noqa: E402

from mlx_structured import StructuredError  # noqa: E402


class TooSlowError(BaseException):
    """Not to be taken for an error of the library."""


def too_slow(*_: object) -> NoReturn:
    raise TooSlowError


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, default=1_000, help="how many seeds")
    parser.add_argument("--depth", type=int, default=3)
    parser.add_argument("--unique", action="store_true", help="with uniqueItems")
    parser.add_argument("--patience", type=int, default=15, help="seconds for all laws of a seed")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so many")
    options = parser.parse_args()
    signal.signal(signal.SIGALRM, too_slow)
    counts: Counter[str] = Counter()
    begin = time.monotonic()
    seed = options.seed
    for seed in range(options.seed, options.seed + options.count):
        elapsed = time.monotonic() - begin
        if elapsed > options.seconds:
            break
        if seed % 50 == 0:
            print(f"{seed}: {elapsed:.0f} s", flush=True)
        drawer, definitions = draw_definitions(seed, options.depth, unique=options.unique)
        signal.alarm(options.patience)
        try:
            try_laws(drawer, definitions, LAWS, counts)
        except BrokenLawError as error:
            counts["broken"] += 1
            print(f"{seed}, draft {drawer.draft}: {error}", flush=True)
        except StructuredError as error:
            counts[f"refused: {type(error).__name__}"] += 1
            print(f"{seed}, draft {drawer.draft}: {error}; {definitions}", flush=True)
        except TooSlowError:
            counts["too slow"] += 1
            print(f"{seed}, draft {drawer.draft}: too slow; {definitions}", flush=True)
        finally:
            signal.alarm(0)
    print(f"next is {seed}")
    for name, count in sorted(counts.items()):
        print(f"{count:6} {name}")


if __name__ == "__main__":
    main()
