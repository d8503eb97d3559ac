"""The times that end in second 60, which RFC 3339 (5.7) has where it is 23:59 in UTC."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from mlx_structured.languages import characters as sets
from mlx_structured.languages.algebra import concatenation, literals
from mlx_structured.languages.ecma_pattern import match_language
from mlx_structured.languages.expression import EMPTY, Language
from mlx_structured.languages.machine import MachineState, machine
from mlx_structured.languages.partition import Partition, from_classes

_SHAPE = ("012", "0123456789", ":", "012345", "0123456789", ":", "6", "0")
"""The characters at each place before the fraction."""

_MINUTES_OF_DAY = 24 * 60


def leap_seconds() -> Language:
    """RFC 3339, ``full-time`` with second 60."""
    return machine(_Beginning(""))


@lru_cache(maxsize=1)
def _fraction() -> Language:
    return match_language(r"(?:\.\d+)?")


@lru_cache(maxsize=len(_SHAPE))
def _with_any_zone(begin: int) -> Language:
    places = "".join(f"[{each}]" for each in _SHAPE[begin:])
    return match_language(rf"{places}(?:\.\d+)?(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)")


@dataclass(frozen=True)
class _Beginning(MachineState):
    """Within ``HH:MM:60``: the time zone has to fit hour and minute, so that all of it counts.

    Arguments:
        read: so far.
    """

    read: str

    lasting = True

    @property
    def shortest(self) -> int:
        """With the zone Z, whether it fits or not."""
        return len(_SHAPE) - len(self.read) + 1

    @property
    def longest(self) -> None:
        """The fraction may have any length."""

    @property
    def cover(self) -> Language:
        """The same with any zone."""
        return _with_any_zone(len(self.read))

    @property
    def stepwise(self) -> bool:
        """The few states are worth a walk."""
        return False

    @property
    def hint(self) -> str:
        """The rest of 23:59:60Z, or of the first time that begins so."""
        rest = "23:59:60"[len(self.read) :]
        if not "23:59:60".startswith(self.read):
            rest = "00:00:60"[len(self.read) :]
        return rest

    def partition(self) -> Partition:
        """Each character that fits."""
        return from_classes(tuple(sets.of(each) for each in self._next()))

    def after(self, character: int) -> Language:
        """The next place; after the last of them fraction and zone."""
        if chr(character) not in self._next():
            return EMPTY
        read = self.read + chr(character)
        if len(read) < len(_SHAPE):
            return machine(_Beginning(read))
        return concatenation(_fraction(), literals(_zones(int(read[:2]), int(read[3:5]))))

    def _next(self) -> Sequence[str]:
        return "0123" if self.read == "2" else _SHAPE[len(self.read)]


def _zones(hour: int, minute: int) -> list[str]:
    """The zones in which it is that time when it is 23:59 in UTC."""
    ahead = (hour * 60 + minute + 1) % _MINUTES_OF_DAY
    behind = -ahead % _MINUTES_OF_DAY
    zones = [f"+{ahead // 60:02}:{ahead % 60:02}", f"-{behind // 60:02}:{behind % 60:02}"]
    return zones if ahead else [*zones, "Z", "z"]
