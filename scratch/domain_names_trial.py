"""Random host names against the formats ``hostname`` and ``idn-hostname``, with ``idna`` as judge.

    python scratch/domain_names_trial.py --labels 2000 --seed 1

Prints for each kind of label the share of the valid ones that are accepted, those that are not, and
each invalid one, made by a small change of a valid one, that is.
"""

from __future__ import annotations

import argparse
import json
import sys
import unicodedata
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

import idna
from idna import idnadata

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from idna_names import is_name

from mlx_structured import compile_json_schema

MOST_IN_LABEL = 63


def characters(low: int, high: int) -> str:
    """The characters of a range that labels may hold."""
    points = (
        point
        for packed in idnadata.codepoint_classes["PVALID"]
        for point in range(max(packed >> 32, low), min((packed & 0xFFFFFFFF) - 1, high) + 1)
    )
    return "".join(chr(point) for point in points if unicodedata.bidirectional(chr(point)))


SCRIPTS = {
    "latin": characters(0x61, 0x7A) + characters(0xDF, 0x17F),
    "german": "abcdefghijklmnopqrstuvwxyz" * 3 + "\u00e4\u00f6\u00fc\u00df",
    "vietnamese": "abcdeghiklmnopqrstuvxy" + characters(0x1EA0, 0x1EF9),
    "marks": "abegnou\u1eb9\u1ecd\u0435\u0438\u03b1" + "\u0300\u0301\u0303\u0308\u0323\u0327",
    "greek": characters(0x3AC, 0x3CE),
    "cyrillic": characters(0x430, 0x45F),
    "armenian": characters(0x561, 0x586),
    "hebrew": characters(0x5D0, 0x5EA),
    "arabic": characters(0x620, 0x64A) + "0123456789",
    "arabic digits": characters(0x628, 0x64A) + characters(0x660, 0x669),
    "persian": characters(0x621, 0x64A) + "\u067e\u0686\u0698\u06af\u06cc\u200c",
    "devanagari": characters(0x904, 0x939) + "\u093e\u093f\u0940\u0941\u094d\u094d\u200d\u200c",
    "bengali": characters(0x985, 0x9B9) + "\u09be\u09c7\u09cd\u09bf",
    "tamil": characters(0xB85, 0xBB9) + "\u0bbe\u0bc6\u0bcd\u0bbf",
    "thai": characters(0xE01, 0xE4E),
    "georgian": characters(0x10D0, 0x10F0),
    "ethiopic": characters(0x1200, 0x1350),
    "hiragana": characters(0x3041, 0x3096),
    "katakana": characters(0x30A1, 0x30FA) + "\u30fb\u30fc",
    "han": characters(0x4E00, 0x9FA5),
    "japanese": characters(0x3041, 0x3096) + characters(0x4E00, 0x4FFF) + "\u30fb\u3005",
    "hangul": characters(0xAC00, 0xD7A3),
    "catalan": "alaltl\u00b7l" + "\u00e0\u00e8\u00e7",
    "supplementary": characters(0x10400, 0x1044F) + characters(0x20000, 0x20100),
    "mixed": characters(0x61, 0x7A) * 20 + characters(0xE0, 0xFFFF),
    "anything": characters(0x61, 0x1FFFF),
}


def draw_label(rng: Random, script: str) -> str:
    """A valid label of the script, mostly of some length, often as long as labels may be."""
    letters = SCRIPTS[script]
    while True:
        target = rng.choice((1, 2, 3, 5, 8, 12, 20, 30, 63))
        target = rng.randint(1, target)
        some = letters if rng.random() < 0.7 else [rng.choice(letters) for _ in range(4)]
        if script not in ("arabic", "persian", "arabic digits", "hebrew") and rng.random() < 0.3:
            some = [*some, *"az09-" * 2]
        label = ""
        for _ in range(6 * target):
            if len(label) == target:
                break
            longer = unicodedata.normalize("NFC", label + rng.choice(some))
            if len(longer) > len(label) and fits(longer):
                label = longer
        if label and not label.isascii() and is_name(label, international=True):
            return label


def fits(label: str) -> bool:
    """Whether it isn't too long."""
    return len(label.encode("punycode")) + 4 <= MOST_IN_LABEL


def draw_name(rng: Random) -> str:
    """A valid name of several labels, some of ASCII and some encoded."""
    while True:
        labels = []
        scripts = rng.sample(sorted(SCRIPTS), 2)
        for _ in range(rng.choice((2, 2, 2, 3, 4, 6, 9))):
            label = rng.choice(["www", "a", "example", "x1", draw_label(rng, rng.choice(scripts))])
            if not label.isascii() and rng.random() < 0.3:
                label = idna.alabel(label).decode()
            labels.append(label)
        name = rng.choice([".", ".", ".", "\u3002"]).join(labels)
        if not name.isascii() and is_name(name, international=True):
            return name


def changed(rng: Random, text: str) -> str:
    """A text that differs in a character or two."""
    position = rng.randrange(len(text) + 1)
    odd = (
        "-\u00b7\u0375\u05f3\u30fb\u200c\u200d\u0660\u06f0\u0301\u0323.\u00c4Xa\u05d0\u0628l\u3042"
    )
    new = rng.choice([*odd, *text, rng.choice(SCRIPTS["anything"])])
    kind = rng.randrange(5)
    if kind == 0:
        return text[:position] + new + text[position:]
    if kind == 1:
        return text[:position] + text[position + 1 :]
    if kind == 2:
        return text[:position] + new + text[position + 1 :]
    if kind == 3:
        return text[:position] + text[position + 1 : position + 2] + text[position:]
    return text + new * rng.randint(1, 3)


def trial(
    name: str, count: int, rng: Random, draw: Callable[[Random], str], *, changes: bool = True
) -> str:
    """Judge so many names; returns a line about them."""
    international = name == "idn-hostname"
    acceptor = compile_json_schema({"type": "string", "format": name})
    tally: Counter[str] = Counter()
    for _ in range(count):
        text = draw(rng)
        texts = [text, changed(rng, text), changed(rng, text)] if changes else [text]
        for each in texts:
            accepted = acceptor.accepts(json.dumps(each, ensure_ascii=False))
            valid = is_name(each, international=international)
            tally[f"{'valid' if valid else 'invalid'} {accepted}"] += 1
            if accepted and not valid:
                print("INVALID ACCEPTED", name, ascii(each), flush=True)
            elif valid and not accepted:
                print("left out", name, ascii(each), flush=True)
    valid, invalid = tally["valid True"], tally["invalid True"]
    all_valid, all_invalid = valid + tally["valid False"], invalid + tally["invalid False"]
    share = valid / max(all_valid, 1)
    return f"{share:8.4f} of {all_valid:6} valid, {invalid} of {all_invalid} invalid"


def main() -> None:
    """The table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--labels", type=int, default=300, help="labels of each kind")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    for script in SCRIPTS:
        rng = Random(f"{options.seed} {script}")
        line = trial("idn-hostname", options.labels, rng, lambda r: draw_label(r, script))  # noqa: B023
        print(f"{script:16} as it is  {line}", flush=True)
        line = trial(
            "hostname",
            options.labels,
            rng,
            lambda r: idna.alabel(draw_label(r, script)).decode(),  # noqa: B023
        )
        print(f"{script:16} encoded   {line}", flush=True)
    rng = Random(options.seed)
    print(f"{'several labels':26}", trial("idn-hostname", options.labels, rng, draw_name))


if __name__ == "__main__":
    main()
