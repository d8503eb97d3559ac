"""Names of groups within regular expressions, where they are given and where they are referred to.

ECMA-262 22.2.1, ``GroupName``, and its early errors about names.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mlx_structured.languages import characters as sets
from mlx_structured.languages.expression import EMPTY, Language
from mlx_structured.languages.machine import MachineState, machine
from mlx_structured.languages.partition import Partition, from_classes
from mlx_structured.languages.regex_classes import LETTERS, each

if TYPE_CHECKING:
    from mlx_structured.languages.regex_format import Pattern

_NAME_START = sets.union(LETTERS, sets.of("$_"))
_NAME_PART = sets.union(_NAME_START, sets.DIGITS)


@dataclass(frozen=True)
class Name(MachineState):
    """In the angle brackets of a name.

    Arguments:
        group: the pattern after the name, but for what the name changes.
        name: its characters so far.
        refers: whether it refers to a group, and doesn't give one its name.
    """

    group: Pattern
    name: str = ""
    refers: bool = False

    longest = None
    stepwise = True

    @property
    def shortest(self) -> int:
        return min(
            len(name) - len(self.name) + 1 + self._ended(name).shortest for name in self._choices()
        )

    @property
    def hint(self) -> str:
        best = min(
            self._choices(), key=lambda name: len(name) + self._ended(name).shortest, default=""
        )
        return best[len(self.name) :] + ">"

    def _choices(self) -> list[str]:
        """Names that begin as this one, of which one leads to the shortest pattern."""
        group = self.group
        known = group.wanted | group.defined if self.refers else group.wanted
        choices = sorted(name for name in known if name.startswith(self.name))
        name = self.name
        while not self._may_be(name):
            name += "a"
        return [name, *choices]

    def _may_be(self, name: str) -> bool:
        return bool(name) and (self.refers or name not in self.group.taken)

    def _ended(self, name: str) -> Pattern:
        return self.group.referring(name) if self.refers else self.group.naming(name)

    def partition(self) -> Partition:
        return from_classes((*((pair,) for pair in each(_NAME_PART)), sets.of(">")))

    def after(self, character: int) -> Language:
        if chr(character) == ">":
            return machine(self._ended(self.name)) if self._may_be(self.name) else EMPTY
        if sets.contains(_NAME_PART if self.name else _NAME_START, character):
            return machine(replace(self, name=self.name + chr(character)))
        return EMPTY
