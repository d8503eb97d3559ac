"""Functions that remember their results, within the bytes that are set for them all."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from mlx_structured.limits import CACHES

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class _Held:
    """What all of the functions hold."""

    def __init__(self) -> None:
        self.memory = 0
        self.memos: list[dict[object, object]] = []

    def add(self, memory: int) -> None:
        """Count a result that is about to be remembered; forget all others if it's too much."""
        self.memory += memory
        if self.memory > CACHES.languages:
            for memo in self.memos:
                memo.clear()
            self.memory = memory


HELD = _Held()

_kept: dict[object, object] = {}
HELD.memos.append(_kept)


def keep_for_now(value: object, size: int) -> None:
    """Keep something of so many bytes alive, as long as the results of functions."""
    if value not in _kept:
        HELD.add(size)
        _kept[value] = None


def remembered(
    size: Callable[[Result], int],
) -> Callable[[Callable[Arguments, Result]], Callable[Arguments, Result]]:
    """Remember a function's results until all such functions together hold too much.

    Arguments:
        size: about how many bytes a result takes, with the arguments, which are positional.
    """

    def decorate(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
        memo: dict[object, Result] = {}
        HELD.memos.append(memo)  # type: ignore[arg-type]

        @wraps(function)
        def remembering(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
            found = memo.get(args)
            if found is None:
                found = function(*args, **kwargs)
                HELD.add(size(found))
                memo[args] = found
            return found

        return remembering

    return decorate
