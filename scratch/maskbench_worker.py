"""A process for each engine, so that one that hangs or dies doesn't end the benchmark.

The process prepares the vocabulary and then forks for the work: where a schema takes too long, only
the fork is ended, and the next one begins with the vocabulary at hand.
"""

from __future__ import annotations

import ctypes
import gc
import multiprocessing
import os
import resource
import signal
import time
from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

from maskbench_engines import ENGINES, LIMIT, Engine, RefusedError, StepLimitError, Text
from transformers import AutoTokenizer

from mlx_structured import Vocabulary

RIGHT = "right"
OTHER_ORDER = "other order"
VALID_REFUSED = "valid refused"
INVALID_ACCEPTED = "invalid accepted"
TIMEOUT = "timeout"
DIED = "died"
MOST_MEMORY = 12 << 30
"""Address space of a process beyond what it has after preparation, in bytes."""


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
    """What an engine made of a schema, and how long it took, in seconds.

    Arguments:
        refusal: why it was refused or not finished; ``None`` if all instances were judged.
        message: the engine's words for it.
        counts: how many tokens it read of each instance, in the declared order.
        judged: its judgement by instance.
        compile: until the first mask can be asked for.
        first_mask: that mask.
        cold: by instance, for each token a mask and the advance. The first of all is the first
            mask.
        warm: the same, the second time.
    """

    refusal: str | None
    message: str
    counts: list[int]
    judged: list[Judged]
    compile: float | None = None
    first_mask: float | None = None
    cold: Sequence[array[float]] = ()
    warm: Sequence[array[float]] = ()


class Memory(NamedTuple):
    """Growth of a process in bytes: for compiled schemas, and for reading their instances."""

    schemas: int
    compiled: int
    tokens: int
    read: int


class Ended(NamedTuple):
    """What is told of a fork that doesn't answer any more: ``TIMEOUT`` or ``DIED``."""

    why: str


class TimeIsUpError(Exception):
    """A schema took longer than it may."""


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise ``TimeIsUpError`` when the time is up, and again where that was swallowed.

    An engine that doesn't come back to Python is ended with the process, by ``SIGPROF``.
    """

    def stop(_number: int, _frame: object) -> None:
        raise TimeIsUpError(f"not done after {seconds:g} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
    signal.setitimer(signal.ITIMER_PROF, seconds + 2)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGALRM, before)


def read(
    text: Text, ids: Sequence[int], eos: int, first_mask: float | None = None
) -> tuple[int, array[float]]:
    """How many tokens the masks let through, one more with EOS, and the seconds of each.

    ``first_mask`` is how long the mask took that the text has already been asked for.
    """
    mask, allows, advance = text
    clock = time.perf_counter
    times = array("d")
    if first_mask is None:
        begin = clock()
        mask()
        first_mask = clock() - begin
    spent = first_mask
    for count, token in enumerate(ids):
        if not allows(token):
            return count, times
        begin = clock()
        advance(token)
        times.append(spent + clock() - begin)
        begin = clock()
        mask()
        spent = clock() - begin
    if not allows(eos):
        return len(ids), times
    times.append(spent)
    return len(ids) + 1, times


def judge(engine: Engine, instance: Instance, count: int, eos: int, seconds: float) -> Judged:
    """The judgement of an instance of which ``count`` tokens were read in the declared order."""
    whole = len(instance.ids) + 1
    if count == whole:
        return Judged(RIGHT if instance.is_valid else INVALID_ACCEPTED, count)
    try:
        with at_most(seconds):
            text = engine.text_in_any_order()
            other = 0 if text is None else read(text, instance.ids, eos)[0]
    except (StepLimitError, TimeIsUpError, *engine.errors) as error:
        if instance.is_valid:
            raise
        return Judged(RIGHT, count, f"in any order, {error}")
    if other == whole:
        return Judged(OTHER_ORDER if instance.is_valid else INVALID_ACCEPTED, other)
    return Judged(VALID_REFUSED if instance.is_valid else RIGHT, max(count, other))


def judged(engine: Engine, case: Case, outcome: Outcome, eos: int, seconds: float) -> Outcome:
    """The outcome with a judgement of each instance."""
    found: list[Judged] = []
    stage = "compile"
    engine.forget()
    try:
        with at_most(seconds):
            engine.compile(case.schema)
        for number, instance in enumerate(case.instances):
            stage = f"instance {number}, in any order"
            found.append(judge(engine, instance, outcome.counts[number], eos, seconds))
    except RefusedError as error:
        outcome = outcome._replace(refusal=error.kind, message=str(error))
    except (StepLimitError, *engine.errors) as error:
        message = f"{stage}, {type(error).__name__}: {error}"
        outcome = outcome._replace(refusal=LIMIT, message=message)
    except TimeIsUpError as error:
        outcome = outcome._replace(refusal=TIMEOUT, message=f"{stage}, {error}")
    return outcome._replace(judged=found)


def run(engine: Engine, case: Case, eos: int, seconds: float) -> Outcome:
    """Let an engine take a schema, and read its instances twice."""
    stage = "compile"
    counts: list[int] = []
    outcome = Outcome(None, "", counts, [])
    cold, warm = [], []
    engine.forget()
    try:
        with at_most(seconds):
            begin = time.perf_counter()
            engine.compile(case.schema)
            compiled = time.perf_counter()
            stage = "first mask"
            text = engine.text()
            text.mask()
            first_mask = time.perf_counter() - compiled
        outcome = outcome._replace(
            compile=compiled - begin, first_mask=first_mask, cold=cold, warm=warm
        )
        for number, instance in enumerate(case.instances):
            stage = f"instance {number}"
            with at_most(seconds):
                begun = first_mask if number == 0 else None
                count, times = read(
                    text if number == 0 else engine.text(), instance.ids, eos, begun
                )
            counts.append(count)
            cold.append(times)
        for number, instance in enumerate(case.instances):
            stage = f"instance {number} again"
            with at_most(seconds):
                warm.append(read(engine.text(), instance.ids, eos)[1])
    except RefusedError as error:
        return outcome._replace(refusal=error.kind, message=str(error))
    except (StepLimitError, *engine.errors) as error:
        return outcome._replace(refusal=LIMIT, message=f"{stage}, {type(error).__name__}: {error}")
    except TimeIsUpError as error:
        return outcome._replace(refusal=TIMEOUT, message=f"{stage}, {error}")
    return outcome


def resident() -> int:
    """Bytes of this process in memory, without what the allocator only keeps for later."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def measure_memory(engine: Engine, cases: Sequence[Case], seconds: float) -> Memory:
    """How much the process grows by compiled schemas, all kept, and by reading their instances.

    Of each schema the first instance is read, and the text is kept too.
    """
    engine.forget()
    begin = resident()
    kept: list[Any] = []
    taken: list[Case] = []
    for case in cases:
        try:
            with at_most(seconds):
                engine.compile(case.schema)
                text = engine.text()
                text.mask()
        except (RefusedError, StepLimitError, TimeIsUpError, *engine.errors):
            continue
        kept.append((engine.grammar, text))
        taken.append(case)
    compiled = resident()
    tokens = 0
    texts = []
    for (grammar, _), case in zip(kept, taken, strict=True):
        engine.grammar = grammar
        for instance in case.instances[:1]:
            try:
                with at_most(seconds):
                    text = engine.text()
                    tokens += read(text, instance.ids, -1)[0]
                    texts.append(text)
            except (StepLimitError, TimeIsUpError, *engine.errors):
                continue
    return Memory(len(taken), compiled - begin, tokens, resident() - compiled)


def prepare(name: str, folder: Path) -> tuple[Engine, float, int]:
    """An engine over the tokenizer in a folder, the seconds that took, and the EOS id."""
    vocabulary = Vocabulary.from_tokenizer(AutoTokenizer.from_pretrained(folder))
    tokenizer = AutoTokenizer.from_pretrained(folder)
    begin = time.perf_counter()
    engine = ENGINES[name](tokenizer, vocabulary)
    spent = time.perf_counter() - begin
    return engine, spent, vocabulary.eos_token_ids[0]


def serve(name: str, folder: Path, connection: Connection) -> None:
    """Prepare, and fork for the work as often as a fork is ended."""
    engine, spent, eos = prepare(name, folder)
    gc.collect()
    gc.freeze()
    connection.send(spent)
    while True:
        child = os.fork()
        if not child:
            _work(engine, eos, connection)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if status == 0:
            return
        is_slow = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGPROF
        connection.send(Ended(TIMEOUT if is_slow else DIED))


def _work(engine: Engine, eos: int, connection: Connection) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (_address_space() + MOST_MEMORY, -1))
    connection.send(os.getpid())
    while True:
        job, given, seconds = connection.recv()
        if job == "end":
            return
        if job == "memory":
            connection.send(measure_memory(engine, given, seconds))
        elif job == "judge":
            connection.send(judged(engine, *given, eos, seconds))
        else:
            connection.send(run(engine, given, eos, seconds))


def _address_space() -> int:
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


class Worker:
    """An engine in its own process.

    Arguments:
        name: which engine.
        folder: the folder of its tokenizer.
        seconds: the most for one compilation, or one instance.
    """

    def __init__(self, name: str, folder: Path, seconds: float) -> None:
        self.name = name
        self._seconds = seconds
        context = multiprocessing.get_context("spawn")
        self._connection, other = context.Pipe()
        self._process = context.Process(target=serve, args=(name, folder, other), daemon=False)
        self._process.start()
        other.close()
        self.preparation: float = self._connection.recv()
        self._child: int = self._connection.recv()

    def run(self, case: Case) -> Outcome:
        """What :func:`run` makes of a schema, or that it never came back."""
        found = self._ask("run", case, (self._seconds + 2) * (2 * len(case.instances) + 2))
        if isinstance(found, Outcome):
            return found
        return Outcome(found, f"process ended, with {self._seconds:g} s for each step", [], [])

    def judged(self, case: Case, outcome: Outcome) -> Outcome:
        """What :func:`judged` makes of the outcome of another process of the same engine.

        That leaves no garbage of its own to the process whose times count.
        """
        if outcome.refusal is not None:
            return outcome
        found = self._ask("judge", (case, outcome), (self._seconds + 2) * (len(case.instances) + 2))
        if isinstance(found, Outcome):
            return found
        message = f"process ended, with {self._seconds:g} s for each step, in any order"
        return outcome._replace(refusal=found, message=message)

    def memory(self, cases: Sequence[Case]) -> Memory | None:
        """What :func:`measure_memory` finds, in a process that has seen no schema yet."""
        self._restart()
        found = self._ask("memory", cases, 600)
        return found if isinstance(found, Memory) else None

    def _restart(self) -> None:
        os.kill(self._child, signal.SIGKILL)
        self._connection.recv()
        self._child = self._connection.recv()

    def _ask(self, job: str, given: Any, seconds: float) -> Any:
        """The answer; ``TIMEOUT`` or ``DIED`` if there was none."""
        self._connection.send((job, given, self._seconds))
        if not self._connection.poll(seconds):
            self._restart()
            return TIMEOUT
        answer = self._connection.recv()
        if not isinstance(answer, Ended):
            return answer
        self._child = self._connection.recv()
        return answer.why

    def end(self) -> None:
        """Let the process end."""
        self._connection.send(("end", None, 0))
        self._process.join()
