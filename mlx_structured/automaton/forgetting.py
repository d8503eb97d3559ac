"""What acceptors have learned, bounded in bytes over all of them.

An acceptor learns as it is used: places, states, bitmaps, what is empty. Each piece of work adds
what it took, and when all acceptors together hold too much, those that weren't used for longest
forget everything and begin again. Sequences that are being written keep what they stand on.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from threading import Lock
from typing import Protocol
from weakref import WeakSet

from mlx_structured.automaton.link import Configuration
from mlx_structured.limits import CACHES, Budget, Limits


class Learner(Protocol):
    """What learns together with an acceptor."""

    def forget(self) -> None:
        """Drop all that can be found out again."""
        ...


class Origin:
    """Where the texts of an acceptor begin, and what may be spent to find out how they go on.

    Arguments:
        make: makes the acceptor's networks anew, which know nothing yet, and gives the function
            that makes the configurations before the first byte, with places of their own.
        limits: of one step or one text.
        memory: bytes that were taken up to here.
    """

    def __init__(
        self,
        make: Callable[[], Callable[[], tuple[Configuration, ...]]],
        limits: Limits,
        memory: int,
    ) -> None:
        self._make = make
        self._begin: Callable[[], tuple[Configuration, ...]] | None = make()
        self.work = Work(limits, memory)
        self._learners: WeakSet[Learner] = WeakSet()
        with _REGISTERING:
            _origins.add(self)
        _ROOM.since += memory

    def begin(self) -> tuple[Configuration, ...]:
        """The configurations before the first byte."""
        if self._begin is None:
            self._begin = self._make()
        return self._begin()

    def add(self, learner: Learner) -> None:
        """Let something forget whenever the acceptor does."""
        self._learners.add(learner)

    def forget(self) -> None:
        """Begin again, knowing nothing."""
        self._begin = None
        self.work.learned = 0
        for learner in list(self._learners):
            learner.forget()


class Work(Budget):
    """The budget of a step or a text, which counts what was learned when it ends.

    One for all steps of an acceptor. ``LEARNING`` must be held.

    Arguments:
        limits: of one step or one text.
        learned: bytes that the acceptor has learned, by estimate.
    """

    __slots__ = ("last_used", "learned")

    def __init__(self, limits: Limits, learned: int) -> None:
        super().__init__(limits)
        self.learned = learned
        self.last_used = 0

    def end(self) -> None:
        """Count what was learned."""
        if self.memory:
            self.learned += self.memory
            self.last_used = next(_clock)
            _ROOM.take(self.memory)


_origins: WeakSet[Origin] = WeakSet()
_REGISTERING = Lock()
"""A set can't grow while it is read, and compiling doesn't wait for what others learn."""
_clock = count(1)


class _Room:
    """Looks after the sum, each time a part of the room was used up."""

    def __init__(self) -> None:
        self.since = 0
        """Bytes learned since the sum was looked at."""

    def take(self, memory: int) -> None:
        """Count bytes, and make room if it's time. ``LEARNING`` must be held."""
        self.since += memory
        if self.since > CACHES.acceptors // 8:
            self.since = 0
            self._make_room()

    @staticmethod
    def _make_room() -> None:
        with _REGISTERING:
            origins = list(_origins)
        total = sum(origin.work.learned for origin in origins)
        if total <= CACHES.acceptors:
            return
        for origin in sorted(origins, key=lambda each: each.work.last_used):
            total -= origin.work.learned
            origin.forget()
            if total <= CACHES.acceptors // 2:
                return


_ROOM = _Room()
