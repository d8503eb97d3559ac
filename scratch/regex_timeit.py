"""Six regular expressions: compile and first mask, later masks, and whether they are right.

    python scratch/regex_timeit.py [--tokenizer NAME ...] [--walks N]

The expressions are those of outlines-core's own benchmark. Its index of the same vocabulary (bench
extra) is built and timed beside ours, and along random walks each mask is compared with its mask,
bit for bit. The tokenizers are folders of ``tokenizers`` below ``$MLX_STRUCTURED_SHARED`` (by
default ``../shared``).

outlines-core gets each expression as ``(?:...)$``. Without the ``$`` it stops at the first match in
the order of alternatives: of ``[0-9][0-9]|19[0-9][0-9]`` it never writes four digits. It also gets
``\\d``, ``\\w`` and ``\\s`` as ECMA-262 defines them, since its own are those of Unicode.

*first* is compile and first mask (for outlines-core: the index, and a mask), of a process that has
seen the vocabulary; *write* is one mask of a known state into a caller's buffer, the median and the
most over the states of the walks, each an average of many calls.
"""

from __future__ import annotations

import argparse
import gc
import os
import random
import statistics
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import outlines_core
from transformers import AutoTokenizer

from mlx_structured import JsonSchemaAcceptorDriver, Vocabulary, compile_regex

SHARED = Path(
    os.environ.get("MLX_STRUCTURED_SHARED") or Path(__file__).resolve().parents[2] / "shared"
)

# benchmarks/bench_regex_guide.py of github.com/dottxt-ai/outlines-core (Apache-2.0); it has two
# for phone numbers.
PATTERNS = {
    "email": r"[a-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*"
    r"@(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z0-9](?:[a-z0-9-]*[a-z0-9])?",
    "phone": r"\+?\d{1,4}?[-.\s]?\(?\d{1,3}?\)?[-.\s]?\d{1,4}[-.\s]?\d{1,4}[-.\s]?\d{1,9}",
    "simple phone": r"\+?[1-9][0-9]{7,14}",
    "date": r"([1-9]|0[1-9]|1[0-9]|2[0-9]|3[0-1])(\.|-|/)([1-9]|0[1-9]|1[0-2])(\.|-|/)"
    r"([0-9][0-9]|19[0-9][0-9]|20[0-9][0-9])"
    r"|([0-9][0-9]|19[0-9][0-9]|20[0-9][0-9])(\.|-|/)([1-9]|0[1-9]|1[0-2])(\.|-|/)"
    r"([1-9]|0[1-9]|1[0-9]|2[0-9]|3[0-1])",
    "IP": r"(?:(?:25[0-5]|2[0-4][0-9]|[01]?[0-9][0-9]?)\.){3}"
    r"(?:25[0-5]|2[0-4][0-9]|[01]?[0-9][0-9]?)",
    "URL": r"(https?:\/\/)?([\da-z\.-]+)\.([a-z\.]{2,6})([\/\w \.-]*)*\/?",
    "SSN": r"\d{3}-\d{2}-\d{4}",
}

ECMA_CLASSES = {
    r"\d": "[0-9]",
    r"\w": "[0-9A-Za-z_]",
    r"\s": r"[\t\n\v\f\r \x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}"
    r"\x{FEFF}]",
}


class Tokens(NamedTuple):
    """One vocabulary, as both engines have it."""

    ours: Vocabulary
    theirs: Any
    eos: int


def for_outlines_core(pattern: str) -> str:
    """The same texts in outlines-core's syntax."""
    for name, members in ECMA_CLASSES.items():
        pattern = pattern.replace(name, members)
    return f"(?:{pattern})$"


def load(name: str) -> Tokens:
    """The tokenizer's vocabulary, with one EOS id: outlines-core can't have more."""
    full = Vocabulary.from_tokenizer(AutoTokenizer.from_pretrained(SHARED / "tokenizers" / name))
    eos = full.eos_token_ids[0]
    by_text: dict[bytes, list[int]] = {}
    for token_id, token in enumerate(full.tokens):
        if token is not None:
            by_text.setdefault(token, []).append(token_id)
    return Tokens(Vocabulary(full.tokens, [eos]), outlines_core.Vocabulary(eos, by_text), eos)


def microseconds(call: Callable[[], None]) -> float:
    """The average time of a call; the best of three rounds, as the machine has other work."""
    rounds = []
    for _ in range(3):
        begin = time.perf_counter_ns()
        for _ in range(200):
            call()
        rounds.append((time.perf_counter_ns() - begin) / 200e3)
    return min(rounds)


class Walked(NamedTuple):
    """What the walks of an expression found; times of a write in microseconds."""

    masks: int
    differences: list[str]
    ours: list[float]
    theirs: list[float]


def walk(acceptor: Any, index: Any, tokens: Tokens, walks: int, rng: random.Random) -> Walked:
    """Compare the masks along random walks of at most 40 tokens, and time the writes."""
    found = Walked(0, [], [], [])
    words = -(-tokens.ours.size // 32)
    own, other = np.zeros(words, np.uint32), np.zeros(words, np.uint32)
    to_own = (own.ctypes.data, own.size, own.itemsize)
    to_other = (other.ctypes.data, other.size, other.itemsize)
    masks = 0
    for _ in range(walks):
        driver = JsonSchemaAcceptorDriver(acceptor, tokens.ours)
        guide = outlines_core.Guide(index)
        text = b""
        for _ in range(40):
            driver.write_mask_into(*to_own)
            guide.write_mask_into(*to_other)
            masks += 1
            if (own != other).any():
                bits = np.unpackbits((own ^ other).view(np.uint8), bitorder="little")
                ids = np.flatnonzero(bits)[:5].tolist()
                shown = ", ".join(f"{i} {tokens.ours.tokens[i]!r}" for i in ids)
                found.differences.append(f"after {text!r}: {shown}")
                break
            if masks % 4 == 1:
                found.ours.append(microseconds(lambda at=driver: at.write_mask_into(*to_own)))
                found.theirs.append(microseconds(lambda at=guide: at.write_mask_into(*to_other)))
            token_id = choose(own, tokens, rng)
            if token_id == tokens.eos:
                break
            driver.advance_token(token_id)
            guide.advance(token_id, return_tokens=False)
            text += tokens.ours.tokens[token_id] or b""
    return found._replace(masks=masks)


def choose(mask: np.ndarray[Any, np.dtype[np.uint32]], tokens: Tokens, rng: random.Random) -> int:
    """A random allowed token: often a single byte, which leads to places that few tokens reach."""
    ids = np.flatnonzero(np.unpackbits(mask.view(np.uint8), bitorder="little")).tolist()
    short = [i for i in ids if i != tokens.eos and len(tokens.ours.tokens[i] or b"") == 1]
    return rng.choice(short if short and rng.random() < 0.4 else ids)


def main() -> None:
    """One row for each vocabulary and expression."""
    parser = argparse.ArgumentParser(description="outlines-core's regular expressions")
    parser.add_argument("--tokenizer", nargs="+", default=["deepseek", "qwen"])
    parser.add_argument("--walks", type=int, default=30)
    options = parser.parse_args()
    print(f"ours, then outlines-core {version('outlines-core')}")
    print(
        f"{'tokenizer':<10} {'expression':<13} {'first mask, ms':>20} {'ratio':>7} "
        f"{'write median, us':>20} {'write max, us':>18} {'masks':>6} {'equal':>6}"
    )
    wrong = 0
    for name in options.tokenizer:
        if not (SHARED / "tokenizers" / name).is_dir():
            sys.exit(f"no tokenizer {name} in {SHARED}: set MLX_STRUCTURED_SHARED to its folder")
        tokens = load(name)
        JsonSchemaAcceptorDriver(compile_regex("-"), tokens.ours).select_valid_tokens()
        gc.collect()
        gc.freeze()
        for expression, pattern in PATTERNS.items():
            begin = time.perf_counter()
            acceptor = compile_regex(pattern)
            JsonSchemaAcceptorDriver(acceptor, tokens.ours).select_valid_tokens()
            own = (time.perf_counter() - begin) * 1e3
            begin = time.perf_counter()
            index = outlines_core.Index(for_outlines_core(pattern), tokens.theirs)
            outlines_core.Guide(index).get_tokens()
            other = (time.perf_counter() - begin) * 1e3
            found = walk(acceptor, index, tokens, options.walks, random.Random(expression))
            equal = found.masks - len(found.differences)
            print(
                f"{name:<10} {expression:<13} {own:>9.2f} {other:>10.1f} {own / other:>7.4f} "
                f"{statistics.median(found.ours):>9.2f} {statistics.median(found.theirs):>10.2f} "
                f"{max(found.ours):>7.2f} {max(found.theirs):>10.2f} {found.masks:>6} {equal:>6}"
            )
            for difference in found.differences[:5]:
                print(f"    differs {difference}")
            wrong += len(found.differences)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
