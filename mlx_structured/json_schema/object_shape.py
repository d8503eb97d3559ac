"""Objects at one position: which keys they may and must have, and what may stand under them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from mlx_structured.json_schema.formula import (
    FALSE,
    TRUE,
    All,
    Any,
    Exists,
    Formula,
    Here,
    Properties,
    Property,
    Required,
    Size,
    conjunction,
    disjunction,
    leaves,
    parts_of,
    replaced,
)
from mlx_structured.json_schema.key_classes import key_classes
from mlx_structured.json_schema.key_order import is_writable
from mlx_structured.json_schema.nodes import Node, ValueSet
from mlx_structured.json_schema.residual import Branch, branches
from mlx_structured.languages.language import (
    Language,
    is_subset,
    matches,
    words,
)
from mlx_structured.limits import charge

if TYPE_CHECKING:
    from mlx_structured.json_schema.normal_form import NormalForm


class KeyClass(NamedTuple):
    """Keys that the schema doesn't name and that share what may stand under them.

    ``size`` is how many there are, ``None`` for more than any schema asks for.
    """

    keys: Language
    values: ValueSet
    size: int | None


class Progress(NamedTuple):
    """How far an object is written.

    Arguments:
        passed: bits of the names that can't come any more.
        rest: what has to hold of the keys to come, beyond what always holds.
        written: keys written, as far as it matters.
        used: keys written of each class, as far as it matters.
    """

    passed: int
    rest: Formula
    written: int
    used: tuple[int, ...]


class KeyWay(NamedTuple):
    """One way to go on after a key: what may stand under it, and how far the object is then."""

    values: ValueSet
    progress: Progress


class ObjectShape:
    """The objects that satisfy a formula.

    What holds of every object (the plain atoms) is kept by name; only the rest is taken apart as
    keys are written.

    Arguments:
        form: the normal form.
        order: the keys that the position's schemas name, in their order.
        formula: what must hold, without nodes in it.
    """

    def __init__(self, form: NormalForm, order: tuple[str, ...], formula: Formula) -> None:
        self._form = form
        self._table = form.table
        parts = parts_of(formula)
        atoms = list(dict.fromkeys(leaves(formula)))
        named = dict.fromkeys(order)
        named |= dict.fromkeys(a.name for a in atoms if isinstance(a, (Required, Property)))
        self.names = tuple(name for name in named if is_writable(name))
        self._index = {name: i for i, name in enumerate(self.names)}
        self.ordered = sum(1 << self._index[name] for name in order if name in self._index)
        """The names that have a place in the declared order, as bits: the first ones."""
        self._counts = any(isinstance(atom, (Size, Exists)) for atom in atoms)
        self._bounds = [
            bound
            for atom in atoms
            if isinstance(atom, Size)
            for bound in (atom.low, atom.high)
            if bound is not None
        ]
        self.most_needed = max(self._bounds, default=0) + len(named) + len(atoms)
        """If some object fits, one with at most so many keys does."""
        self._by_name: dict[str, set[Node]] = {}
        self._general: list[Properties] = []
        self._values: dict[str, ValueSet] = {}
        self._languages = {a.keys for a in atoms if isinstance(a, (Properties, Exists))}
        required = 0
        rest: list[Formula] = []
        self.is_possible = True
        for part in parts:
            if isinstance(part, Required):
                if part.name in self._index:
                    required |= 1 << self._index[part.name]
                else:
                    self.is_possible = False
                if self._counts:
                    rest.append(part)
            elif isinstance(part, Property):
                self._by_name.setdefault(part.name, set()).add(part.value)
            elif isinstance(part, Properties):
                self._general.append(part)
            else:
                rest.append(part)
        self.required = required
        self.rest = replaced(conjunction(rest), self._without_unwritable)
        self._mentioned_memo: dict[Formula, int] = {}
        self._after: dict[tuple[Formula, int, bool], Formula] = {}
        self._feasible: dict[Progress, bool] = {}
        self._known_ways: dict[tuple[Formula, ValueSet, Progress], list[KeyWay]] = {}
        self._classes: tuple[KeyClass, ...] | None = None

    @property
    def start(self) -> Progress:
        """Nothing written."""
        return Progress(0, self.rest, 0, (0,) * len(self.classes()) if self._counts else ())

    def _without_unwritable(self, atom: Formula) -> Formula:
        if isinstance(atom, (Required, Property)) and atom.name not in self._index:
            return FALSE if isinstance(atom, Required) else TRUE
        return atom

    def values(self, name: str) -> ValueSet:
        """What must hold of the value under a named key, whatever else is there."""
        found = self._values.get(name)
        if found is None:
            nodes = set(self._by_name.get(name, ()))
            nodes.update(atom.value for atom in self._general if matches(atom.keys, name))
            found = self._values[name] = self._position(nodes)
        return found

    def classes(self) -> tuple[KeyClass, ...]:
        """The keys without a name, by what may stand under them."""
        if self._classes is None:
            languages = sorted(self._languages, key=lambda each: each.serial)
            self._classes = tuple(map(self._class, key_classes(self.names, languages)))
        return self._classes

    def _class(self, keys: Language) -> KeyClass:
        nodes = {atom.value for atom in self._general if is_subset(keys, atom.keys)}
        limit = max(self._bounds, default=0) + 8
        members = words(keys, limit) if self._counts else None
        return KeyClass(keys, self._position(nodes), None if members is None else len(members))

    def _position(self, nodes: Iterable[Node]) -> ValueSet:
        return frozenset(nodes) - {self._table.any_value} or frozenset({self._table.any_value})

    def is_feasible(self) -> bool:
        """Whether some object fits."""
        if not self.is_possible:
            return False
        required = self.required
        for i, name in enumerate(self.names):
            if required >> i & 1 and not self._form.is_nonempty(self.values(name)):
                return False
        return self.can_finish(self.start)

    def is_settled(self, progress: Progress) -> bool:
        """Whether nothing has to hold beyond what always holds."""
        return progress.rest is TRUE and not self._counts

    def after_name(self, progress: Progress, index: int, *, in_order: bool) -> list[KeyWay]:
        """The ways to go on after a named key.

        Arguments:
            progress: before the key.
            index: of the name.
            in_order: whether the names before it can't come any more.
        """
        bit = 1 << index
        rest = progress.rest
        passed = progress.passed | bit
        if in_order:
            before = (bit - 1) & self.ordered
            passed |= before
            rest = self.without(rest, before & ~progress.passed)
        name = self.names[index]
        read = self._read(rest, index, partial(self._at_name, name=name))
        after = Progress(passed, TRUE, self._counted(progress), progress.used)
        return self._ways(read, self.values(name), after)

    def after_other(self, progress: Progress, index: int, *, in_order: bool) -> list[KeyWay]:
        """The ways to go on after a key of the class with that index."""
        rest = progress.rest
        passed = progress.passed
        if in_order:
            rest = self.without(rest, self.ordered & ~passed)
            passed |= self.ordered
        each = self.classes()[index]
        if each.size is not None and progress.used and progress.used[index] >= each.size:
            return []
        read = self._read(rest, -1 - index, partial(self._at_class, each=each))
        after = Progress(passed, TRUE, self._counted(progress), self._used(progress, index))
        return self._ways(read, each.values, after)

    def _ways(self, read: Formula, values: ValueSet, progress: Progress) -> list[KeyWay]:
        key = (read, values, progress)
        found = self._known_ways.get(key)
        if found is None:
            charge(1, 1_000)
            found = [
                KeyWay(way.values, after)
                for way in self._branches(read, values)
                if self._form.is_nonempty(way.values)
                and self.can_finish(after := progress._replace(rest=way.rest))
            ]
            if not self._form.is_searching:
                self._known_ways[key] = found
        return found

    def _branches(self, read: Formula, values: ValueSet) -> list[Branch]:
        return [Branch(values, TRUE)] if read is TRUE else branches(self._form, read, values)

    def _used(self, progress: Progress, index: int) -> tuple[int, ...]:
        used = progress.used
        if not used or self.classes()[index].size is None:
            return used
        return (*used[:index], used[index] + 1, *used[index + 1 :])

    def _counted(self, progress: Progress) -> int:
        return min(progress.written + 1, max(self._bounds, default=0) + 1) if self._counts else 0

    def _read(
        self,
        rest: Formula,
        key: int,
        change: Callable[[Formula], Formula],
        *,
        absent: bool = False,
    ) -> Formula:
        memo = (rest, key, absent)
        found = self._after.get(memo)
        if found is None:
            found = self._after[memo] = replaced(rest, change)
        return found

    def _at_name(self, atom: Formula, name: str) -> Formula:
        if isinstance(atom, Required) and atom.name == name:
            return TRUE
        if isinstance(atom, Property) and atom.name == name:
            return self._here(atom.value)
        if isinstance(atom, Properties) and matches(atom.keys, name):
            return conjunction([self._here(atom.value), atom])
        if isinstance(atom, Exists) and matches(atom.keys, name):
            return disjunction([self._here(atom.value), atom])
        return atom

    def _at_class(self, atom: Formula, each: KeyClass) -> Formula:
        if isinstance(atom, Properties) and is_subset(each.keys, atom.keys):
            return conjunction([self._here(atom.value), atom])
        if isinstance(atom, Exists) and is_subset(each.keys, atom.keys):
            return disjunction([self._here(atom.value), atom])
        return atom

    def _here(self, node: Node) -> Formula:
        if node is self._table.any_value:
            return TRUE
        return FALSE if node is self._table.no_value else Here(node)

    def mentioned(self, rest: Formula) -> int:
        """The names that the rest speaks of by name, as bits."""
        found = self._mentioned_memo.get(rest)
        if found is None:
            found = 0
            for atom in leaves(rest):
                if isinstance(atom, (Required, Property)):
                    found |= 1 << self._index[atom.name]
            self._mentioned_memo[rest] = found
        return found

    def without(self, rest: Formula, names: int) -> Formula:
        """What is left to hold when the names (bits) don't come."""
        names &= self.mentioned(rest)
        if not names:
            return rest

        def change(atom: Formula) -> Formula:
            if isinstance(atom, (Required, Property)) and names >> self._index[atom.name] & 1:
                return FALSE if isinstance(atom, Required) else TRUE
            return atom

        return self._read(rest, names, change, absent=True)

    def may_close(self, progress: Progress) -> bool:
        """Whether the object may end here."""
        if self.required & ~progress.passed:
            return False
        return self._holds(progress.rest, progress.written)

    def _holds(self, formula: Formula, count: int) -> bool:
        """Whether the formula holds when no other key comes."""
        if isinstance(formula, All):
            return all(self._holds(part, count) for part in formula.parts)
        if isinstance(formula, Any):
            return any(self._holds(part, count) for part in formula.parts)
        if isinstance(formula, Size):
            return formula.low <= count and (formula.high is None or count <= formula.high)
        return isinstance(formula, (Property, Properties))

    def can_finish(self, progress: Progress) -> bool:
        """Whether some keys to come make what is written a valid object."""
        if self.is_settled(progress):
            return True
        found = self._feasible.get(progress)
        if found is None:
            found = self._search(progress)
            if found or not self._form.is_searching:
                self._feasible[progress] = found
        return found

    def _search(self, start: Progress) -> bool:
        """Decide the names that the rest speaks of one by one, then look at the other keys."""
        came_from: dict[Progress, Progress | None] = {start: None}
        stack = [start]
        while stack:
            progress = stack.pop()
            charge(2, 500)
            open_names = self.mentioned(progress.rest) & ~progress.passed
            if self._feasible.get(progress) or (
                not open_names & self.required and self._holds(progress.rest, progress.written)
            ):
                self._remember(progress, came_from)
                return True
            if open_names:
                found = self._with_name_decided(progress, open_names)
            elif not self._counts or self._has_too_many(progress):
                continue
            else:
                parts = parts_of(progress.rest)
                if all(isinstance(part, (Size, Properties)) for part in parts):
                    if self._has_room(progress, parts):
                        self._remember(progress, came_from)
                        return True
                    continue
                found = self._with_another_key(progress)
            new = [each for each in dict.fromkeys(found) if each not in came_from]
            came_from |= dict.fromkeys(new, progress)
            stack.extend(reversed(new))
        return False

    def _remember(self, last: Progress, came_from: Mapping[Progress, Progress | None]) -> None:
        """All that led to what can be finished can be finished itself."""
        step: Progress | None = last
        while step is not None:
            self._feasible[step] = True
            step = came_from[step]

    def _with_name_decided(self, progress: Progress, open_names: int) -> Iterator[Progress]:
        """One of the names comes not, or comes with one of the values that it may have."""
        forced = (self._forced_names(progress.rest) | self.required) & open_names
        bit = (forced or open_names) & -(forced or open_names)
        if not forced:
            absent = self.without(progress.rest, bit)
            if absent is not FALSE:
                yield progress._replace(passed=progress.passed | bit, rest=absent)
        yield from self._with_name(progress, bit.bit_length() - 1)

    def _with_name(self, progress: Progress, index: int) -> Iterator[Progress]:
        read = self._read(progress.rest, index, partial(self._at_name, name=self.names[index]))
        after = Progress(progress.passed | 1 << index, TRUE, self._counted(progress), progress.used)
        return self._nonempty_ways(read, self.values(self.names[index]), after)

    def _nonempty_ways(
        self, read: Formula, values: ValueSet, after: Progress
    ) -> Iterator[Progress]:
        if read is FALSE or not self._form.is_nonempty(values):
            return
        for way in self._branches(read, values):
            if self._form.is_nonempty(way.values):
                yield after._replace(rest=way.rest)

    def _with_another_key(self, progress: Progress) -> Iterator[Progress]:
        """No name is spoken of any more: more keys, whichever they are, for counts and exists."""
        for index, each in enumerate(self.classes()):
            if each.size is not None and progress.used[index] >= each.size:
                continue
            read = self._read(progress.rest, -1 - index, partial(self._at_class, each=each))
            used = self._used(progress, index)
            after = Progress(progress.passed, TRUE, self._counted(progress), used)
            yield from self._nonempty_ways(read, each.values, after)
        left = ((1 << len(self.names)) - 1) & ~progress.passed
        for index in range(left.bit_length()):
            if left >> index & 1:
                yield from self._with_name(progress, index)

    def _forced_names(self, rest: Formula) -> int:
        return sum(
            1 << self._index[part.name] for part in parts_of(rest) if isinstance(part, Required)
        )

    def _has_room(self, progress: Progress, parts: Iterable[Formula]) -> bool:
        """Whether there are keys enough for the least number, when nothing else is asked."""
        sizes = [part for part in parts if isinstance(part, Size)]
        low = max((part.low for part in sizes), default=0)
        if any(part.high is not None and part.high < low for part in sizes):
            return False
        missing = low - progress.written
        left = ((1 << len(self.names)) - 1) & ~progress.passed
        general = [part for part in parts if isinstance(part, Properties)]
        for index, each in enumerate(self.classes()):
            nodes = {part.value for part in general if is_subset(each.keys, part.keys)}
            if self._form.is_nonempty(self._position(each.values | nodes)):
                if each.size is None:
                    return True
                missing -= each.size - progress.used[index]
        while left and missing > 0:
            bit = left & -left
            left ^= bit
            name = self.names[bit.bit_length() - 1]
            nodes = {part.value for part in general if matches(part.keys, name)}
            missing -= self._form.is_nonempty(self._position(self.values(name) | nodes))
        return missing <= 0

    def _has_too_many(self, progress: Progress) -> bool:
        return any(
            isinstance(part, Size) and part.high is not None and progress.written >= part.high
            for part in parts_of(progress.rest)
        )
