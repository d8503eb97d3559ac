"""Ways to turn a bitmap of allowed tokens into masked logits, timed.

    python scratch/apply_token_mask_timeit.py

Each starts from what a driver hands out (a Python int or packed words, one bit a token, a tenth of
the tokens allowed) and ends with evaluated float32 logits of shape (1, V). One row for each way,
medians in milliseconds: ``mask`` is making the mask alone, ``total`` is making and applying it,
``ratio`` compares the total with that of this package's ``create_mask`` without its cache.
"""

from __future__ import annotations

import functools
import statistics
import time
from collections.abc import Callable

import mlx.core as mx
import numpy as np

from mlx_structured.masks import MaskCache, apply_token_mask, create_mask

VOCABULARY_SIZES = (10_000, 128_000, 248_000)
SECONDS_EACH = 0.8
FEWEST, MOST = 3, 300

Mask = Callable[[], mx.array]
Apply = Callable[[mx.array], mx.array]


def mask_from_bits(number: int, vocab_size: int) -> mx.array:
    """One shift of the whole bitmap for each token."""
    return mx.array([(number >> token) & 1 == 1 for token in range(vocab_size)])


def mask_from_format_string(number: int, vocab_size: int) -> mx.array:
    """The bitmap printed as binary digits, the highest token first."""
    return mx.array([digit == "1" for digit in reversed(f"{number:0{vocab_size}b}")])


def rejected_tokens(number: int, vocab_size: int) -> mx.array:
    """The id of each token that isn't allowed."""
    digits = reversed(f"{number:0{vocab_size}b}")
    return mx.array([token for token, digit in enumerate(digits) if digit == "0"])


def median_of(make: Mask, apply: Apply | None = None) -> float:
    """Milliseconds of the median run, of as many as the time allows; the first isn't counted."""
    times: list[float] = []
    end = time.perf_counter() + SECONDS_EACH
    while len(times) <= FEWEST or (len(times) <= MOST and time.perf_counter() < end):
        start = time.perf_counter()
        mx.eval(make() if apply is None else apply(make()))
        times.append(time.perf_counter() - start)
    return statistics.median(times[1:]) * 1e3


def variants(vocab_size: int) -> tuple[dict[str, tuple[Mask, Apply]], list[int]]:
    """Name -> how to make the mask and how to apply it; and the tokens that are allowed."""
    allowed = np.random.default_rng(vocab_size).random(vocab_size) < 0.1
    octets = np.packbits(allowed, bitorder="little").tobytes()
    number = int.from_bytes(octets, "little")
    words = np.frombuffer(octets.ljust(-(-len(octets) // 4) * 4, b"\0"), dtype=np.uint32)

    logits = mx.random.normal((1, vocab_size), key=mx.random.key(0))
    mx.eval(logits)
    uncached = MaskCache(capacity=0)
    remembered = functools.lru_cache(maxsize=64)(mask_from_format_string)

    def where(mask: mx.array) -> mx.array:
        return mx.where(mask, logits, -mx.inf)

    def put(rejected: mx.array) -> mx.array:
        return mx.put_along_axis(logits, rejected[None], mx.array(-mx.inf), axis=-1)

    def ours(mask: mx.array) -> mx.array:
        return apply_token_mask(logits, mask)

    table: dict[str, tuple[Mask, Apply]] = {
        "list of bits": (lambda: mask_from_bits(number, vocab_size), where),
        "format string": (lambda: mask_from_format_string(number, vocab_size), where),
        "format string, lru_cache, warm": (lambda: remembered(number, vocab_size), where),
        "put_along_axis of rejected": (lambda: rejected_tokens(number, vocab_size), put),
        "create_mask, cold": (lambda: uncached.get(words, vocab_size), ours),
        "create_mask, warm": (lambda: create_mask(words, vocab_size), ours),
    }
    return table, np.flatnonzero(allowed).tolist()


def main() -> None:
    rows: dict[str, list[tuple[float, float]]] = {}
    for vocab_size in VOCABULARY_SIZES:
        table, allowed = variants(vocab_size)
        for name, (make, apply) in table.items():
            finite = np.flatnonzero(np.isfinite(np.array(apply(make()))[0])).tolist()
            if finite != allowed:
                raise AssertionError(f"{name} masks other tokens than the bitmap says")
            rows.setdefault(name, []).append((median_of(make), median_of(make, apply)))

    print(" " * 30 + "".join(f"{size:>18,} tokens" for size in VOCABULARY_SIZES))
    print(" " * 30 + f"{'mask':>9}{'total':>9}{'ratio':>7}" * len(VOCABULARY_SIZES))
    for name, times in rows.items():
        cells = ""
        for (mask, total), (_, reference) in zip(times, rows["create_mask, cold"], strict=True):
            cells += f"{mask:9.3f}{total:9.3f}{total / reference:7.1f}"
        print(f"{name:30}{cells}")


if __name__ == "__main__":
    main()
