"""What an analysis may take: time, states and memory for one piece of work, and bytes of caches.

A schema from outside can ask for any amount of work: patterns whose intersection has more states
than there is memory, conditions that split a value into thousands of cases. So whoever starts a
piece of work (a compilation, a step of a driver, a text to judge) does it within a :class:`Budget`,
and the loops of the analysis :func:`charge` it. What was found out before a limit is hit is kept,
and nothing half-made is: with a larger limit the work goes on.

What is known is kept for later in caches of bounded size (:data:`CACHES`); what doesn't fit is
forgotten, and found out again when it is needed.

Reading a schema, checking it by its metaschema, and looking up what is known already are linear and
count as nothing.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from math import isnan
from time import monotonic
from types import TracebackType

from mlx_structured.errors import LimitExceededError

MEBIBYTE = 2**20


@dataclass(frozen=True)
class Limits:
    """The most that one piece of work may take: a compilation, a step of a driver, a text.

    Arguments:
        seconds: how long it may take. Looked at every few hundred states, so that it may take a
            fraction of a second longer. ``float("inf")`` is no limit.
        states: how many states it may explore, of patterns, objects, arrays and conditions: the
            same on every machine.
        memory: bytes that it may take, by a rough estimate of what it makes.

    Raises:
        TypeError: for anything but a number of seconds, and whole numbers of states and bytes.
        ValueError: for one that isn't positive.
    """

    seconds: float = 10.0
    states: int = 2_000_000
    memory: int = 256 * MEBIBYTE

    def __post_init__(self) -> None:
        for name, kinds, wanted in (
            ("seconds", (int, float), "a number"),
            ("states", (int,), "an int"),
            ("memory", (int,), "an int (bytes)"),
        ):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, kinds):
                raise TypeError(f"Limits({name}=...) takes {wanted}, not {value!r}")
            if isnan(value) or value <= 0:
                raise ValueError(f"Limits({name}=...) must be positive, not {value!r}")


DEFAULT_LIMITS = Limits()


def check_limits(limits: object) -> None:
    """Raise ``TypeError`` for what isn't a :class:`Limits`."""
    if not isinstance(limits, Limits):
        raise TypeError(f"limits are a Limits(...), not a {type(limits).__name__}")


LOOK_EVERY = 256
"""States between two looks at the clock: a state costs microseconds, the clock 50 ns."""


class Budget:
    """What is left of the limits of one piece of work, while it is active in its thread.

    A context manager. Within the work of another budget it is that one that counts.
    """

    __slots__ = (
        "_deadline",
        "_inner",
        "_next_look",
        "is_spent",
        "limits",
        "memory",
        "states",
        "within",
    )

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        """May be replaced; what counts are those it has when it becomes active."""
        self._inner = 0
        self.within: Budget | None = None
        """A budget that pays for the same."""
        self.begin()

    def begin(self) -> None:
        """Forget what was done; the time runs from now on. Called when it becomes active."""
        limits = self.limits
        self.states = 0
        """States explored so far."""
        self.memory = 0
        """Bytes taken so far, by estimate."""
        self.is_spent = False
        """Whether more than that was asked for."""
        self._deadline = monotonic() + limits.seconds
        self._next_look = LOOK_EVERY if limits.states >= LOOK_EVERY else limits.states + 1

    def end(self) -> None:
        """Called when it no longer is."""

    def __enter__(self) -> Budget:
        active = ACTIVE.budget
        if active is not None:
            self._inner += 1
            return active
        self.begin()
        ACTIVE.budget = self
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._inner:
            self._inner -= 1
            return
        ACTIVE.budget = None
        self.end()

    def take(self, states: int, memory: int) -> None:
        """Count work that is about to be done.

        Raises:
            LimitExceededError: if it is more than is left.
        """
        if self.within is not None:
            self.within.take(states, memory)
        self.states += states
        self.memory += memory
        if self.states >= self._next_look or self.memory > self.limits.memory:
            self._look()

    def _look(self) -> None:
        limits = self.limits
        self._next_look = min(self.states + LOOK_EVERY, limits.states + 1)
        self.is_spent = True
        if self.states > limits.states:
            raise LimitExceededError(f"explores more than {limits.states:,} states", "states")
        if self.memory > limits.memory:
            raise LimitExceededError(f"takes more than {limits.memory:,} bytes", "memory")
        if monotonic() > self._deadline:
            raise LimitExceededError(f"takes more than {limits.seconds:g} seconds", "seconds")
        self.is_spent = False


class Portion:
    """A share of the active budget for work that may come to nothing.

    A context manager that passes over a ``LimitExceededError``, unless the whole budget is spent:
    whether the share is enough is then the same on every machine, and may be remembered.

    Arguments:
        states: the share.
    """

    __slots__ = ("_outer", "_states", "is_spent")

    def __init__(self, states: int) -> None:
        self._states = states
        self.is_spent = False
        """Whether the work was given up."""

    def __enter__(self) -> Portion:
        outer = self._outer = ACTIVE.budget
        share = Budget(Limits(float("inf"), self._states, 2**62))
        share.within = outer
        ACTIVE.budget = share
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        outer = ACTIVE.budget = self._outer
        self.is_spent = isinstance(error, LimitExceededError)
        while outer is not None and self.is_spent:
            self.is_spent = not outer.is_spent
            outer = outer.within
        return self.is_spent


class CacheSizes:
    """How many bytes the caches of the process may hold, by estimate: :data:`CACHES`.

    Sequences that are being written keep what they stand on, whatever the caches forget.

    Arguments:
        total: bytes of all caches.

    Raises:
        TypeError: for anything but an int.
        ValueError: for a negative size.
    """

    def __init__(self, total: int) -> None:
        self.total = total

    @property
    def total(self) -> int:
        """Bytes of all caches together. May be changed; it counts from the next step on."""
        return self._total

    @total.setter
    def total(self, total: int) -> None:
        if isinstance(total, bool) or not isinstance(total, int):
            raise TypeError(f"a size is an int (bytes), not {total!r}")
        if total < 0:
            raise ValueError(f"a size must not be negative: {total}")
        self._total = total

    @property
    def acceptors(self) -> int:
        """What acceptors have learned: places, states, bitmaps, sets of values. Three eighths."""
        return self._total * 3 // 8

    @property
    def walks(self) -> int:
        """Walks of vocabularies, shared by all acceptors. A quarter."""
        return self._total // 4

    @property
    def masks(self) -> int:
        """Masks as ``mx.array``, see :class:`~mlx_structured.masks.MaskCache`. A quarter."""
        return self._total // 4

    @property
    def packed_masks(self) -> int:
        """Bitmaps on a Metal device, likewise. A sixteenth."""
        return self._total // 16

    @property
    def languages(self) -> int:
        """Classes of characters and sets of multiples, of patterns and numbers. A sixteenth."""
        return self._total // 16


CACHES = CacheSizes(256 * MEBIBYTE)
"""The sizes of all caches of the process."""


class ActiveBudget(threading.local):
    """The budget that is active in a thread."""

    budget: Budget | None = None


ACTIVE = ActiveBudget()


def charge(states: int = 1, memory: int = 0) -> None:
    """Count work of the analysis against the budget that is active in this thread, if one is.

    Arguments:
        states: about one for ten microseconds of work.
        memory: bytes that will be kept, roughly.

    Raises:
        LimitExceededError: if it is more than is left.
    """
    budget = ACTIVE.budget
    if budget is not None:
        budget.take(states, memory)
