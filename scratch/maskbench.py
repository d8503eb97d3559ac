"""How many real-world schemas are taken, and whether their instances are judged rightly.

    python scratch/maskbench.py [--every N] [--seconds S] [--list-failures] [--ours-only]

The schemas are MaskBench's (4,197, each with valid and invalid instances), read from the folder
``suites/maskbench`` below ``$MLX_STRUCTURED_SHARED`` (by default ``../shared``); the tokens are
those of the tokenizer in ``tokenizers/deepseek`` there. An instance is judged as a model would
write it: each token has to be allowed by the mask, and EOS at the end.

The text is what ``json.dumps(value, ensure_ascii=False)`` prints. What the default style refuses is
judged again with keys in any order. An instance that only that accepts counts as *other order*;
where it gives up on an invalid instance, the default style's refusal is right, and the giving up is
listed. llguidance (bench extra) stands beside it, with flexible whitespace; it has no such mode, so
the valid instances in another order that it refuses are counted apart as well.

Times are in milliseconds, of one process that goes through the schemas one after the other:
*compile* up to where the first mask can be asked for, *first mask* that mask, *step* a mask and the
advance by one token.
"""

from __future__ import annotations

import argparse
import gc
import gzip
import importlib.util
import json
import os
import re
import signal
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import jsonschema
import numpy as np
import referencing.exceptions
from maskbench_engines import (
    HAS_LLGUIDANCE,
    LIMIT,
    Engine,
    LLGuidance,
    Ours,
    RefusedError,
    StepLimitError,
    TimeIsUpError,
    Times,
)
from tqdm import tqdm  # type: ignore[import-untyped]
from transformers import AutoTokenizer

from mlx_structured import Vocabulary

SHARED = Path(
    os.environ.get("MLX_STRUCTURED_SHARED") or Path(__file__).resolve().parents[2] / "shared"
)

HAS_JSONSCHEMA_RS = importlib.util.find_spec("jsonschema_rs") is not None

RIGHT = "right"
OTHER_ORDER = "other order"
VALID_REFUSED = "valid refused"
INVALID_ACCEPTED = "invalid accepted"
TIMEOUT = "timeout"


class Instance(NamedTuple):
    """A value, whether it is valid, and how a model would write it."""

    is_valid: bool
    data: Any
    text: str
    ids: list[int]


class Case(NamedTuple):
    """A schema with its instances."""

    group: str
    name: str
    schema: Any
    instances: list[Instance]


class Judged(NamedTuple):
    """What an engine made of an instance, how many tokens it had read, what it gave up on."""

    verdict: str
    read: int
    gave_up: str = ""


class Outcome(NamedTuple):
    """What an engine made of a schema: refused with a message, or its judgement by instance."""

    refusal: str | None
    message: str
    judged: list[Judged]
    is_compiled: bool = True


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise ``TimeIsUpError`` when the time is up, and again where that was swallowed."""

    def stop(_number: int, _frame: object) -> None:
        raise TimeIsUpError(f"not done after {seconds:g} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def judge(engine: Engine, instance: Instance, seconds: float) -> Judged:
    """Let an engine read an instance; in any order too, where the declared one is refused."""
    whole = len(instance.ids) + 1
    with at_most(seconds):
        read = engine.tokens_read(instance.ids)
    if read == whole:
        return Judged(RIGHT if instance.is_valid else INVALID_ACCEPTED, read)
    try:
        with at_most(seconds):
            other = engine.tokens_read_in_any_order(instance.ids)
    except (StepLimitError, TimeIsUpError) as error:
        message = f"in any order, {error}"
        if instance.is_valid:
            raise type(error)(message) from error
        return Judged(RIGHT, read, message)
    if other == whole:
        return Judged(OTHER_ORDER if instance.is_valid else INVALID_ACCEPTED, other)
    return Judged(VALID_REFUSED if instance.is_valid else RIGHT, max(read, other))


def run(engine: Engine, case: Case, seconds: float) -> Outcome:
    """Let an engine take a schema and judge its instances."""
    judged: list[Judged] = []
    stage = "compile"
    try:
        with at_most(seconds):
            begin = time.perf_counter()
            engine.compile(case.schema)
            compiled = time.perf_counter()
            stage = "first mask"
            engine.first_mask()
            engine.times.first_mask.append(time.perf_counter() - compiled)
            engine.times.compile.append(compiled - begin)
        for number, instance in enumerate(case.instances):
            stage = f"instance {number}"
            judged.append(judge(engine, instance, seconds))
    except RefusedError as error:
        return Outcome(error.kind, str(error), judged, is_compiled=False)
    except StepLimitError as error:
        return Outcome(LIMIT, f"{stage}, {error}", judged)
    except TimeIsUpError as error:
        return Outcome(TIMEOUT, f"{stage}, {error}", judged, is_compiled=stage != "compile")
    return Outcome(None, "", judged)


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
        assert b"".join(vocabulary.tokens[i] or b"" for i in ids) == text.encode(), case["name"]
        instances.append(Instance(test["valid"], test["data"], text, ids))
    return Case(group, case["name"], case["schema"], instances)


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
    stopped = outcome.refusal in (TIMEOUT, LIMIT)
    counts = Counter(judged.verdict for judged in outcome.judged)
    wrong = counts[VALID_REFUSED] + counts[INVALID_ACCEPTED]
    counts.update(
        {
            "schemas": 1,
            "compiled": outcome.is_compiled,
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


def print_times(engines: Sequence[Engine]) -> None:
    """Median, p99 and maximum of the times of each engine, and the ratios to the last one's."""
    print(
        f"\n{'milliseconds':<14} {'engine':<14} "
        f"{'median':>10} {'p99':>10} {'max':>10} {'number':>10}"
    )
    for field in Times._fields:
        marks = {}
        for engine in engines:
            seconds = np.frombuffer(getattr(engine.times, field)) * 1e3
            if not len(seconds):
                continue
            marks[engine.name] = np.array([*np.percentile(seconds, (50, 99)), seconds.max()])
            cells = " ".join(f"{mark:>10.4f}" for mark in marks[engine.name])
            print(f"{field:<14} {engine.name:<14} {cells} {len(seconds):>10}")
        if len(marks) == 2:
            own, other = marks.values()
            cells = " ".join(f"{ratio:>10.2f}" for ratio in own / other)
            print(f"{field:<14} {'ratio':<14} {cells}")


def print_reasons(name: str, reasons: dict[str, Counter[str]]) -> None:
    """Why schemas weren't taken, most frequent first, and in which groups."""
    print(f"\nschemas refused or not finished by {name}, by reason")
    for reason, groups in sorted(reasons.items(), key=lambda item: -item[1].total()):
        where = ", ".join(f"{group} {number}" for group, number in groups.most_common())
        print(f"{groups.total():>6} {reason} ({where})")


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description="MaskBench's schemas and instances")
    parser.add_argument("--every", type=int, default=1, help="take every so many of the schemas")
    parser.add_argument(
        "--seconds", type=float, default=20.0, help="the most for one compilation, one instance"
    )
    parser.add_argument(
        "--list-failures", action="store_true", help="with whole texts, and those of llguidance"
    )
    parser.add_argument("--ours-only", action="store_true", help="leave llguidance out")
    options = parser.parse_args()
    if not (SHARED / "suites/maskbench").is_dir():
        sys.exit(f"{SHARED}/suites/maskbench isn't there: set MLX_STRUCTURED_SHARED to its folder")

    tokenizer = AutoTokenizer.from_pretrained(SHARED / "tokenizers/deepseek")
    vocabulary = Vocabulary.from_tokenizer(tokenizer)
    engines: list[Engine] = [Ours(vocabulary)]
    if HAS_LLGUIDANCE and not options.ours_only:
        engines.append(LLGuidance(tokenizer))
    gc.collect()
    gc.freeze()

    counts: dict[str, dict[str, Counter[str]]] = {}
    reasons: dict[str, dict[str, Counter[str]]] = {
        engine.name: defaultdict(Counter) for engine in engines
    }
    slowest: dict[tuple[str, str], list[tuple[float, str]]] = defaultdict(list)
    failures: dict[str, list[str]] = {engine.name: [] for engine in engines}
    cases = read_cases(tokenizer, vocabulary, options.every)
    for case in tqdm(cases, total=-(-4197 // options.every), unit="schema", mininterval=1.0):
        outcomes = []
        for engine in engines:
            done = tuple(map(len, engine.times))
            outcomes.append(run(engine, case, options.seconds))
            for field, times, before in zip(Times._fields, engine.times, done, strict=True):
                worst = max(times[before:], default=0.0)
                slowest[engine.name, field].append((worst, case.name))
        if len(outcomes) == 2:
            outcomes[1] = excused(*outcomes)
        row = counts.setdefault(case.group, {engine.name: Counter() for engine in engines})
        for engine, outcome in zip(engines, outcomes, strict=True):
            row[engine.name].update(count(case, outcome))
            if outcome.refusal is not None:
                reasons[engine.name][outcome.refusal][case.group] += 1
            failures[engine.name] += failure_lines(
                case, outcome, vocabulary, whole=options.list_failures
            )

    print_counts(counts)
    print_times(engines)
    print("\nslowest schemas, milliseconds")
    for (name, field), marks in slowest.items():
        found = ", ".join(f"{case} {time_ * 1e3:.1f}" for time_, case in sorted(marks)[:-6:-1])
        print(f"{name:<14} {field:<10} {found}")
    for engine in engines:
        print_reasons(engine.name, reasons[engine.name])
    for engine in engines if options.list_failures else engines[:1]:
        print(f"\nfailures of {engine.name}")
        print("\n".join(failures[engine.name]) or "none")


if __name__ == "__main__":
    main()
