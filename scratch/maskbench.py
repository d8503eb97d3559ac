"""Engines side by side on real-world schemas: which are right, and how fast.

    python scratch/maskbench.py [--every N] [--tokenizer NAME] [--engines NAME ...]
        [--ours-only] [--seconds S] [--minutes M] [--list-failures] [--plot FILE]
        [--markdown FILE]

The schemas are MaskBench's (4,197, each with valid and invalid instances), read from the folder
``suites/maskbench`` below ``$MLX_STRUCTURED_SHARED`` (by default ``../shared``); the tokens are
those of a tokenizer in ``tokenizers`` there (``deepseek`` has 128k, ``qwen36`` 248k). An instance
is judged as a model would write it: each token has to be allowed by the mask, and EOS at the end.

The text is what ``json.dumps(value, ensure_ascii=False)`` prints. What our default style refuses is
judged again with keys in any order. An instance that only that accepts counts as *other order*;
where it gives up on an invalid instance, the default style's refusal is right, and the giving up is
listed. No peer has such a mode; the valid instances in another order that it refuses are counted
apart as well.

Each schema goes through one engine after the other, each in a process of its own. A token's time is
that of its mask and of the advance by it:

- *cold*: the first time that the instances of a schema are read, with the first mask as the first
  token's mask, so that all that an engine finds out only when it is needed is in it;
- *first instance*: the part of it that is the first of the schema's instances;
- *warm*: the second time.

*compile and first mask* is from the schema to the first mask. Ratios are over the schemas that
both engines judge rightly, and over the tokens that both have read. The clock is read four times a
token, which adds about 0.15 us for every engine.
"""

from __future__ import annotations

import argparse
import gzip
import importlib.util
import json
import os
import re
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import referencing.exceptions
from maskbench_engines import ENGINES, LIMIT, installed, version_of
from maskbench_profile import print_profile, profile
from maskbench_report import OURS, Kept, machine, markdown, plot, print_memory, print_times
from maskbench_worker import (
    DIED,
    INVALID_ACCEPTED,
    OTHER_ORDER,
    RIGHT,
    TIMEOUT,
    VALID_REFUSED,
    Case,
    Instance,
    Judged,
    Outcome,
    Worker,
)
from tqdm import tqdm  # type: ignore[import-untyped]
from transformers import AutoTokenizer

from mlx_structured import Vocabulary

SHARED = Path(
    os.environ.get("MLX_STRUCTURED_SHARED") or Path(__file__).resolve().parents[2] / "shared"
)

HAS_JSONSCHEMA_RS = importlib.util.find_spec("jsonschema_rs") is not None

REMEMBERED = 150
"""The memory of so many schemas is measured."""


def read_cases(tokenizer: Any, vocabulary: Vocabulary, every: int) -> Iterator[Case]:
    """Every so many of the schemas."""
    number = 0
    for file in sorted((SHARED / "suites/maskbench").glob("*.jsonl.gz")):
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            for line in lines:
                number += 1
                if (number - 1) % every == 0:
                    yield read_case(file.name.partition(".")[0], line, tokenizer, vocabulary)


def read_case(group: str, line: str, tokenizer: Any, vocabulary: Vocabulary) -> Case:
    """One line of a file, with its instances in tokens."""
    case = json.loads(line)
    instances = []
    for test in case["tests"]:
        text = json.dumps(test["data"], ensure_ascii=False)
        ids = tokenizer.encode(text, add_special_tokens=False)
        if b"".join(vocabulary.tokens[i] or b"" for i in ids) != text.encode():
            # A normalizer changed the text.
            ids = longest_tokens(vocabulary, text.encode())
        instances.append(Instance(test["valid"], test["data"], text, ids))
    return Case(group, case["name"], case["schema"], instances)


@cache
def ids_by_text(vocabulary: Vocabulary) -> dict[bytes, int]:
    """Token -> its id."""
    return {token: i for i, token in enumerate(vocabulary.tokens) if token is not None}


def longest_tokens(vocabulary: Vocabulary, text: bytes) -> list[int]:
    """The text as the longest tokens from left to right."""
    ids = []
    position = 0
    by_text = ids_by_text(vocabulary)
    while position < len(text):
        end = min(len(text), position + vocabulary.longest)
        while text[position:end] not in by_text:
            end -= 1
        ids.append(by_text[text[position:end]])
        position = end
    return ids


def other_judges(schema: Any, data: Any) -> str:
    """What two validators say, formats checked."""
    of = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
    said: dict[str, str] = {}
    try:
        is_valid = of(schema, format_checker=of.FORMAT_CHECKER).is_valid(data)
        said["jsonschema"] = "valid" if is_valid else "invalid"
    except (referencing.exceptions.Unresolvable, re.error, RecursionError) as error:
        said["jsonschema"] = type(error).__name__
    if HAS_JSONSCHEMA_RS:
        import jsonschema_rs  # noqa: PLC0415  # optional

        try:
            is_valid = jsonschema_rs.validator_for(schema, validate_formats=True).is_valid(data)
            said["jsonschema_rs"] = "valid" if is_valid else "invalid"
        except ValueError as error:
            said["jsonschema_rs"] = type(error).__name__
    return ", ".join(f"{name}: {verdict}" for name, verdict in said.items())


def failure_lines(
    case: Case, outcome: Outcome, vocabulary: Vocabulary, *, whole: bool
) -> list[str]:
    """Everything that went wrong with a schema, a line each."""
    lines = []
    gave_up = {judged.gave_up for judged in outcome.judged if judged.gave_up}
    lines += [f"undecided {message}: {case.name}" for message in sorted(gave_up)]
    for instance, judged in zip(case.instances, outcome.judged, strict=False):
        if judged.verdict not in (VALID_REFUSED, INVALID_ACCEPTED):
            continue
        pieces = [vocabulary.tokens[i] or b"" for i in instance.ids]
        read = b"".join(pieces[: judged.read]).decode(errors="replace")
        rest = b"".join(pieces[judged.read :]).decode(errors="replace")
        if not whole:
            read = f"{'...' if len(read) > 60 else ''}{read[-60:]}"
            rest = f"{rest[:40]}{'...' if len(rest) > 40 else ''}"
        said = other_judges(case.schema, instance.data)
        lines.append(f"{judged.verdict}: {case.name}: {read} >>> {rest or '(end)'} [{said}]")
    if outcome.refusal is not None:
        lines.append(
            f"{outcome.refusal}: {case.name}: {outcome.message if whole else outcome.message[:160]}"
        )
    return lines


def excused(ours: Outcome, theirs: Outcome) -> Outcome:
    """Refusals of valid instances count apart where the order of the keys explains them."""
    judged = [
        Judged(OTHER_ORDER, its.read)
        if its.verdict == VALID_REFUSED and own.verdict == OTHER_ORDER
        else its
        for own, its in zip(ours.judged, theirs.judged, strict=False)
    ]
    return theirs._replace(judged=judged + theirs.judged[len(judged) :])


COLUMNS: Sequence[str] = (
    "schemas",
    "compiled",
    "refused",
    TIMEOUT,
    "all right",
    "instances",
    RIGHT,
    OTHER_ORDER,
    VALID_REFUSED,
    INVALID_ACCEPTED,
)
"""The first five count schemas, the others instances."""


def count(case: Case, outcome: Outcome) -> Counter[str]:
    """A schema's part in the columns of the table."""
    stopped = outcome.refusal in (TIMEOUT, LIMIT, DIED)
    counts = Counter(judged.verdict for judged in outcome.judged)
    wrong = counts[VALID_REFUSED] + counts[INVALID_ACCEPTED]
    counts.update(
        {
            "schemas": 1,
            "compiled": outcome.compile is not None,
            "refused": outcome.refusal is not None and not stopped,
            TIMEOUT: stopped,
            "all right": outcome.refusal is None and not wrong,
            "instances": len(case.instances),
        }
    )
    return counts


def print_counts(counts: dict[str, dict[str, Counter[str]]]) -> None:
    """One row for each group and engine, and one in all."""
    titles = [column.replace(TIMEOUT, "timeout/limit") for column in COLUMNS]
    widths = [max(9, len(title)) for title in titles]
    print(
        f"{'group':<16} {'engine':<14} ",
        *(f"{t:>{w}}" for t, w in zip(titles, widths, strict=True)),
    )
    totals: dict[str, Counter[str]] = defaultdict(Counter)
    for engines in counts.values():
        for engine, row in engines.items():
            totals[engine].update(row)
    for group, engines in {**counts, "in all": totals}.items():
        for engine, row in engines.items():
            cells = (f"{row[c]:>{w}}" for c, w in zip(COLUMNS, widths, strict=True))
            print(f"{group:<16} {engine:<14} ", *cells)


def print_reasons(name: str, reasons: dict[str, Counter[str]]) -> None:
    """Why schemas weren't taken, most frequent first, and in which groups."""
    print(f"\nschemas refused or not finished by {name}, by reason")
    for reason, groups in sorted(reasons.items(), key=lambda item: -item[1].total()):
        where = ", ".join(f"{group} {number}" for group, number in groups.most_common())
        print(f"{groups.total():>6} {reason} ({where})")


def is_right(outcome: Outcome) -> bool:
    """Whether all instances were judged rightly."""
    wrong = (VALID_REFUSED, INVALID_ACCEPTED)
    return outcome.refusal is None and not any(each.verdict in wrong for each in outcome.judged)


def arguments() -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(description="MaskBench's schemas and instances")
    parser.add_argument("--every", type=int, default=1, help="take every so many of the schemas")
    parser.add_argument("--tokenizer", default="deepseek", help="a folder of shared tokenizers")
    parser.add_argument("--engines", nargs="+", choices=list(ENGINES), default=installed())
    parser.add_argument("--ours-only", action="store_true", help="leave all peers out")
    parser.add_argument(
        "--seconds", type=float, default=10.0, help="the most for one compilation, one instance"
    )
    parser.add_argument(
        "--minutes", type=float, default=float("inf"), help="stop after so many, with what there is"
    )
    parser.add_argument(
        "--list-failures", action="store_true", help="with whole texts, and those of the peers"
    )
    parser.add_argument("--plot", type=Path, help="write a plot, .svg or .png")
    parser.add_argument("--markdown", type=Path, help="write a table in Markdown")
    options = parser.parse_args()
    options.engines = [OURS] if options.ours_only else list(dict.fromkeys([OURS, *options.engines]))
    options.folder = SHARED / "tokenizers" / options.tokenizer
    for folder in (options.folder, SHARED / "suites/maskbench"):
        if not folder.is_dir():
            sys.exit(f"{folder} isn't there: set MLX_STRUCTURED_SHARED to the shared folder")
    return options


def main() -> None:
    """Print the tables."""
    options = arguments()
    workers = [Worker(name, options.folder, options.seconds) for name in options.engines]
    judges = [Worker(name, options.folder, options.seconds) for name in options.engines]
    tokenizer = AutoTokenizer.from_pretrained(options.folder)
    vocabulary = Vocabulary.from_tokenizer(tokenizer)
    print(f"{machine()}; tokenizer {options.tokenizer}, {vocabulary.size} tokens")
    for worker in workers:
        title = f"{worker.name} {version_of(worker.name)}"
        print(f"{title:<34} vocabulary prepared in {worker.preparation:.2f} s")

    counts: dict[str, dict[str, Counter[str]]] = {}
    reasons: dict[str, dict[str, Counter[str]]] = {
        name: defaultdict(Counter) for name in options.engines
    }
    failures: dict[str, list[str]] = {name: [] for name in options.engines}
    results: dict[str, list[Kept]] = {name: [] for name in options.engines}
    slowest: list[tuple[float, str]] = []
    remembered: list[Case] = []
    cases = read_cases(tokenizer, vocabulary, options.every)
    end = time.monotonic() + options.minutes * 60
    for case in tqdm(cases, total=-(-4197 // options.every), unit="schema", mininterval=1.0):
        if time.monotonic() > end:
            print(f"stopped after {options.minutes:g} minutes, before {case.name}")
            break
        outcomes = [worker.run(case) for worker in workers]
        outcomes = [
            judge.judged(case, outcome) for judge, outcome in zip(judges, outcomes, strict=True)
        ]
        row = counts.setdefault(case.group, {name: Counter() for name in options.engines})
        for name, found in zip(options.engines, outcomes, strict=True):
            outcome = found if name == OURS else excused(outcomes[0], found)
            results[name].append(Kept(outcome, is_right(outcome)))
            row[name].update(count(case, outcome))
            if outcome.refusal is not None:
                reasons[name][outcome.refusal][case.group] += 1
            failures[name] += failure_lines(case, outcome, vocabulary, whole=options.list_failures)
        if outcomes[0].compile is not None:
            slowest.append((outcomes[0].compile + (outcomes[0].first_mask or 0), case.name))
        if len(remembered) < REMEMBERED and len(case.instances) > 0:
            remembered.append(case)

    print_counts(counts)
    for name, kept in results.items():
        right = sum(each.is_right for each in kept)
        print(f"share of schemas all right, {name:<24} {right / len(kept):.4f}")
    print_times(results)
    print_memory({worker.name: worker.memory(remembered) for worker in workers})
    for worker in (*workers, *judges):
        worker.end()
    print_profile(*profile(vocabulary, remembered))
    found_slowest = ", ".join(f"{name} {s * 1e3:.1f}" for s, name in sorted(slowest)[:-9:-1])
    print(f"\nour slowest schemas, compile and first mask, milliseconds: {found_slowest}")
    for name in options.engines:
        print_reasons(name, reasons[name])
    for name in options.engines if options.list_failures else options.engines[:1]:
        print(f"\nfailures of {name}")
        print("\n".join(failures[name]) or "none")
    preparation = {worker.name: worker.preparation for worker in workers}
    table = markdown(results, preparation, options.tokenizer, vocabulary.size)
    if options.markdown is not None:
        options.markdown.write_text(table + "\n", encoding="utf-8")
    print(f"\n{table}")
    if options.plot is not None:
        number = len(results[OURS])
        plot(results, options.plot, f"{number:,} schemas of MaskBench, {vocabulary.size:,} tokens")


if __name__ == "__main__":
    main()
