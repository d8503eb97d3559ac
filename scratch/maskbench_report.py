"""What MaskBench's times come to: tables for the terminal, one in Markdown, and a plot."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from maskbench_engines import version_of
from maskbench_worker import Memory, Outcome

Times: TypeAlias = "npt.NDArray[np.float64]"

OURS = "mlx-structured"
STEP_MARKS = ("average", "p50", "p90", "p99", "p99.9", "max")
FIRST_MARKS = ("p50", "p90", "p99", "max")
PASSES = ("cold", "warm", "first instance")


class Kept(NamedTuple):
    """The outcome of a schema, and whether all its instances were judged rightly."""

    outcome: Outcome
    is_right: bool


Results: TypeAlias = "dict[str, list[Kept]]"
"""By engine, one for each schema, in the same order."""


def by_instance(outcome: Outcome, which: str) -> Sequence[Times]:
    """The times of a pass, an array for each instance."""
    passes = outcome.warm if which == "warm" else outcome.cold
    arrays = [np.frombuffer(times) for times in passes]
    return arrays[:1] if which == "first instance" else arrays


def joined(arrays: Iterable[Times], scale: float) -> Times:
    """All of them in one array, scaled from seconds."""
    return np.concatenate([np.zeros(0), *arrays]) * scale


def marks_of(times: Times, names: Sequence[str]) -> dict[str, float]:
    """Average, percentiles and maximum."""
    found: dict[str, float] = {}
    for name in names:
        if not len(times):
            found[name] = float("nan")
        elif name == "average":
            found[name] = float(times.mean())
        elif name == "max":
            found[name] = float(times.max())
        else:
            found[name] = float(np.percentile(times, float(name[1:])))
    return found


def steps(kept: Iterable[Kept], which: str) -> Times:
    """Microseconds of all tokens of a pass."""
    return joined((times for each in kept for times in by_instance(each.outcome, which)), 1e6)


def starts(kept: Iterable[Kept]) -> Times:
    """Milliseconds of compile and first mask."""
    outcomes = (each.outcome for each in kept)
    return np.array(
        [
            (outcome.compile + outcome.first_mask) * 1e3
            for outcome in outcomes
            if outcome.compile is not None and outcome.first_mask is not None
        ]
    )


def common(results: Results, peer: str) -> tuple[list[Kept], list[Kept]]:
    """The schemas that both we and a peer judge rightly, with the tokens that both have read."""
    ours: list[Kept] = []
    theirs: list[Kept] = []
    for own, other in zip(results[OURS], results[peer], strict=True):
        if own.is_right and other.is_right:
            cut = _cut(own.outcome, other.outcome)
            ours.append(Kept(cut[0], True))
            theirs.append(Kept(cut[1], True))
    return ours, theirs


def _cut(own: Outcome, other: Outcome) -> tuple[Outcome, Outcome]:
    for which in ("cold", "warm"):
        pairs = [
            (left[: min(len(left), len(right))], right[: min(len(left), len(right))])
            for left, right in zip(getattr(own, which), getattr(other, which), strict=True)
        ]
        own = own._replace(**{which: [left for left, _ in pairs]})
        other = other._replace(**{which: [right for _, right in pairs]})
    return own, other


class Row(NamedTuple):
    """A line of the tables: what was measured, and where."""

    title: str
    unit: str
    marks: Sequence[str]
    of: Callable[[Iterable[Kept]], Times]


ROWS = (
    *(
        Row(f"{which}, a token", "us", STEP_MARKS, lambda kept, which=which: steps(kept, which))
        for which in PASSES
    ),
    Row("compile and first mask", "ms", FIRST_MARKS, starts),
)


def print_times(results: Results) -> None:
    """The times of each engine over all schemas that it took, and the ratios to the peers'."""
    for row in ROWS:
        print(f"\n{row.title} ({row.unit}), over all schemas that the engine takes")
        print(f"{'':<24}", *(f"{mark:>10}" for mark in row.marks), f"{'number':>10}")
        for name, kept in results.items():
            times = row.of(kept)
            found = marks_of(times, row.marks)
            print(f"{name:<24}", *(f"{found[m]:>10.3f}" for m in row.marks), f"{len(times):>10}")
        ratios = ratios_of(results, row)
        if not ratios:
            continue
        print("  ours / peer, over the schemas that both judge rightly")
        for peer, (number, ratio) in ratios.items():
            cells = (f"{ratio[mark]:>10.3f}" for mark in row.marks)
            print(f"  {peer:<22}", *cells, f"{number:>10} schemas")
        best = (max(ratio[mark] for _, ratio in ratios.values()) for mark in row.marks)
        print(f"  {'the best peer':<22}", *(f"{ratio:>10.3f}" for ratio in best))


def ratios_of(results: Results, row: Row) -> dict[str, tuple[int, dict[str, float]]]:
    """By peer: the number of schemas in common, and ours divided by its, by mark."""
    found = {}
    for peer in results:
        if peer == OURS:
            continue
        ours, theirs = common(results, peer)
        if ours:
            own, other = (marks_of(row.of(kept), row.marks) for kept in (ours, theirs))
            found[peer] = (len(ours), {mark: own[mark] / other[mark] for mark in row.marks})
    return found


def print_memory(memory: dict[str, Memory | None]) -> None:
    """Bytes for each schema and each state."""
    print("\nmemory: growth of the process, all schemas and texts kept")
    print(f"{'':<24} {'schemas':>8} {'KB a schema':>12} {'states':>8} {'bytes a state':>14}")
    for name, found in memory.items():
        if found is None:
            print(f"{name:<24} not finished")
            continue
        schema = found.compiled / max(found.schemas, 1) / 1024
        state = found.read / max(found.tokens, 1)
        print(f"{name:<24} {found.schemas:>8} {schema:>12.1f} {found.tokens:>8} {state:>14.0f}")


def machine() -> str:
    """Processor, system and Python."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [line for line in info.read_text().splitlines() if line.startswith("model name")]
        model = names[0].partition(": ")[2] if names else model
    return f"{model}, {platform.system()}, Python {platform.python_version()}"


def markdown(results: Results, preparation: dict[str, float], tokenizer: str, size: int) -> str:
    """The table of the README."""
    total = len(next(iter(results.values())))
    lines = [
        "| | schemas right | cold, us a token: average / p50 / p99 | first instance: average "
        "| warm: p50 | compile and first mask, ms: p50 / p99 | vocabulary, s |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, kept in results.items():
        cold = marks_of(steps(kept, "cold"), STEP_MARKS)
        first = marks_of(steps(kept, "first instance"), STEP_MARKS)
        warm = marks_of(steps(kept, "warm"), STEP_MARKS)
        start = marks_of(starts(kept), FIRST_MARKS)
        right = sum(each.is_right for each in kept) / total
        lines.append(
            f"| {name} {version_of(name)} | {right:.1%} "
            f"| {cold['average']:.1f} / {cold['p50']:.1f} / {cold['p99']:.0f} "
            f"| {first['average']:.1f} | {warm['p50']:.2f} "
            f"| {start['p50']:.2f} / {start['p99']:.1f} | {preparation[name]:.2f} |"
        )
    lines.append("")
    lines.append(
        f"{total:,} schemas of MaskBench, tokenizer {tokenizer} ({size:,} tokens), {machine()}."
    )
    return "\n".join(lines)


def plot(results: Results, file: Path, title: str) -> None:
    """The share of tokens that take longer than a time, both in powers of ten."""
    import matplotlib as mpl  # noqa: PLC0415  # optional

    mpl.use("agg")
    from matplotlib import pyplot  # noqa: PLC0415

    figure, panels = pyplot.subplots(1, 2, figsize=(10, 4), sharey=True, layout="constrained")
    for panel, which in zip(panels, ("cold", "warm"), strict=True):
        for name, kept in results.items():
            _curve(panel, steps(kept, which), name)
        panel.set(xscale="log", yscale="log", xlabel=f"microseconds a token, {which}")
        panel.set_ylim(1e-5, 1.1)
        panel.grid(which="major", alpha=0.3)
    panels[0].set_ylabel("share of tokens that take longer")
    panels[1].legend(frameon=False)
    figure.suptitle(title)
    figure.savefig(file)


def _curve(panel: Any, times: Times, name: str) -> None:
    if not len(times):
        return
    ordered = np.sort(times)
    share = 1 - np.arange(len(ordered)) / len(ordered)
    # A few hundred points show the same line, and keep the file small.
    chosen = np.unique(len(ordered) - np.geomspace(1, len(ordered), 400).astype(int))
    width = 2.2 if name == OURS else 1.2
    panel.plot(ordered[chosen], share[chosen], label=f"{name} {version_of(name)}", linewidth=width)
