"""Objects at one position: which keys they may and must have, and what may stand under them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, cast

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
    leaves,
    parts_of,
    replaced,
)
from mlx_structured.json_schema.key_classes import KeyClass, KeyClasses
from mlx_structured.json_schema.key_order import is_writable
from mlx_structured.json_schema.nodes import Node, ValueSet
from mlx_structured.json_schema.object_progress import KeyWay, Progress
from mlx_structured.json_schema.object_reading import ObjectReading
from mlx_structured.json_schema.residual import Branch, branches, conditions_of
from mlx_structured.json_schema.string_outcomes import StringOutcomes, within
from mlx_structured.languages.language import (
    EMPTY,
    EVERYTHING,
    Language,
    matches,
    words,
)
from mlx_structured.limits import charge

if TYPE_CHECKING:
    from mlx_structured.json_schema.normal_form import NormalForm

MANY_CONDITIONS = 4
"""So many conditions on one string are followed together; fewer split the strings into parts,
which are languages that all schemas share."""


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
        self._reading = ObjectReading(self.names, self._table)
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
        languages = {a.keys for a in atoms if isinstance(a, (Properties, Exists))}
        self.classes = KeyClasses(self.names, languages)
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
        self._known_branches: dict[tuple[Formula, ValueSet], list[Branch]] = {}
        self._feasible: dict[Progress, bool] = {}
        self._known_ways: dict[tuple[Formula, ValueSet, Progress], list[KeyWay]] = {}
        self._class_values: dict[KeyClass, ValueSet] = {}
        self._class_sizes: dict[KeyClass, int | None] = {}
        self._key_outcomes: dict[Progress, StringOutcomes] = {}

    @property
    def start(self) -> Progress:
        """Nothing written."""
        return Progress(0, self.rest, 0, ())

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

    def _values_of(self, each: KeyClass) -> ValueSet:
        """What must hold of the value under a key of the class, whatever else is there."""
        found = self._class_values.get(each)
        if found is None:
            nodes = {atom.value for atom in self._general if atom.keys in each.matched}
            found = self._class_values[each] = self._position(nodes)
        return found

    def _size_of(self, each: KeyClass) -> int | None:
        """How many keys the class has, ``None`` for more than any schema asks for."""
        if each not in self._class_sizes:
            members = words(self.classes.keys(each), max(self._bounds, default=0) + 8)
            self._class_sizes[each] = None if members is None else len(members)
        return self._class_sizes[each]

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
            rest = self._reading.without(rest, before & ~progress.passed)
        read, base = self._reading.apart(rest, index)
        after = Progress(passed, base, self._counted(progress), progress.used)
        return self._ways(read, self.values(self.names[index]), after)

    def after_other(self, progress: Progress, each: KeyClass, *, in_order: bool) -> list[KeyWay]:
        """The ways to go on after a key of the class."""
        rest = progress.rest
        passed = progress.passed
        if in_order:
            rest = self._reading.without(rest, self.ordered & ~passed)
            passed |= self.ordered
        if self._is_used_up(progress, each):
            return []
        read = self._reading.read_class(rest, each)
        after = Progress(passed, TRUE, self._counted(progress), self._used(progress, each))
        return self._ways(read, self._values_of(each), after)

    def after_string(self, progress: Progress, left: Formula) -> Progress:
        """How far the object is after one of the strings that are told apart."""
        return progress._replace(rest=conjunction([progress.rest, left]))

    def other_keys(
        self, progress: Progress, *, in_order: bool
    ) -> list[tuple[KeyClass | None, Language | StringOutcomes]]:
        """The keys without a name that may come next: by class, or many classes together."""
        if self.is_settled(progress):
            progress = progress._replace(passed=0)
        if not self.classes.are_many:
            return [
                (each, self.classes.keys(each))
                for each in self.classes
                if self.after_other(progress, each, in_order=in_order)
            ]
        found = self._key_outcomes.get(progress)
        if found is None:

            def may_follow(matched: Formula) -> bool:
                each = self.classes.leaving(matched)
                return bool(self.after_other(progress, each, in_order=in_order))

            found = StringOutcomes(self.classes.formula, may_follow)
            if not self._form.is_searching:
                self._key_outcomes[progress] = found
        return [] if found.start() is None else [(None, found)]

    def _is_used_up(self, progress: Progress, each: KeyClass) -> bool:
        if not self._counts:
            return False
        size = self._size_of(each)
        return size is not None and self._used_of(progress, each) >= size

    @staticmethod
    def _used_of(progress: Progress, each: KeyClass) -> int:
        return next((count for index, count in progress.used if index == each.number), 0)

    def _ways(self, read: Formula, values: ValueSet, progress: Progress) -> list[KeyWay]:
        key = (read, values, progress)
        found = self._known_ways.get(key)
        if found is None:
            charge(1, 1_000)
            found = list(self._find_ways(read, values, progress))
            if not self._form.is_searching:
                self._known_ways[key] = found
        return found

    def _find_ways(self, read: Formula, values: ValueSet, progress: Progress) -> Iterator[KeyWay]:
        on_string = self._on_string(read, values)
        if on_string is not None:

            def may_follow(left: Formula) -> bool:
                return self.can_finish(self.after_string(progress, left))

            strings = StringOutcomes(on_string, may_follow)
            if strings.start() is not None:
                yield KeyWay(values, progress, strings)
            values |= {self._table.not_string}
        for way in self._branches(read, values):
            after = progress._replace(rest=conjunction([progress.rest, way.rest]))
            if self._form.is_nonempty(way.values) and self.can_finish(after):
                yield KeyWay(way.values, after)

    def _branches(self, read: Formula, values: ValueSet) -> list[Branch]:
        if not conditions_of(read):
            return [] if read is FALSE else [Branch(values, read)]
        found = self._known_branches.get((read, values))
        if found is None:
            found = self._known_branches[read, values] = branches(self._form, read, values)
        return found

    def _on_string(self, read: Formula, values: ValueSet) -> Formula | None:
        """What must hold if a string comes, where the conditions are too many to split it by."""
        languages: dict[Node, Language] = {
            node: cast("Language", self._form.scalars(frozenset((node,)), "string"))
            for node in conditions_of(read)
        }
        telling = [each for each in languages.values() if each not in (EMPTY, EVERYTHING)]
        if len(telling) < MANY_CONDITIONS or not self._form.has_scalar(values, "string"):
            return None

        def change(atom: Formula) -> Formula:
            return within(languages[atom.value]) if isinstance(atom, Here) else atom

        anyway = cast("Language", self._form.scalars(values, "string"))
        return conjunction([within(anyway), replaced(read, change)])

    def _used(self, progress: Progress, each: KeyClass) -> tuple[tuple[int, int], ...]:
        if not self._counts or self._size_of(each) is None:
            return progress.used
        others = [pair for pair in progress.used if pair[0] != each.number]
        return tuple(sorted([*others, (each.number, self._used_of(progress, each) + 1)]))

    def _counted(self, progress: Progress) -> int:
        return min(progress.written + 1, max(self._bounds, default=0) + 1) if self._counts else 0

    def _open_names(self, progress: Progress) -> int:
        """The names whose coming decides something, as bits."""
        rest = progress.rest
        return (
            self._reading.mentioned(rest) | self._reading.spoken(rest) & self.required
        ) & ~progress.passed

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
        if self._counts:
            return self._is_feasible(progress)
        return all(
            self._is_feasible(Progress(progress.passed & self._reading.spoken(part), part, 0, ()))
            for part in self._reading.components(progress.rest)
        )

    def _is_feasible(self, progress: Progress) -> bool:
        found = self._feasible.get(progress)
        if found is None:
            found = self._search(progress)
            if found or not self._form.is_searching:
                self._feasible[progress] = found
        return found

    def _search(self, start: Progress) -> bool:
        """Decide the names that the rest speaks of one by one, then look at the other keys."""
        came_from: dict[Progress, Progress | None] = {start: None}
        stack = [(start, iter(self._steps(start)))]
        if self._is_done(start):
            return True
        while stack:
            progress, steps = stack[-1]
            # One step at a time: there may be thousands, and the first ones mostly do.
            after = next(steps, None)
            if after is None:
                stack.pop()
            elif after not in came_from:
                charge(2, 500)
                came_from[after] = progress
                known = self._feasible.get(after)
                if known or (known is None and self._is_done(after)):
                    self._remember(after, came_from)
                    return True
                if known is None:
                    stack.append((after, iter(self._steps(after))))
        if not self._form.is_searching:
            self._feasible |= dict.fromkeys(came_from, False)
        return False

    def _is_done(self, progress: Progress) -> bool:
        """Whether it is plain to see that what is written can be finished."""
        open_names = self._open_names(progress)
        if not open_names & self.required and self._holds(progress.rest, progress.written):
            return True
        parts = parts_of(progress.rest)
        return (
            not open_names
            and self._counts
            and not self._has_too_many(progress)
            and all(isinstance(part, (Size, Properties)) for part in parts)
            and self._has_room(progress, parts)
        )

    def _steps(self, progress: Progress) -> Iterable[Progress]:
        """One more decision about the keys to come, where one can help."""
        open_names = self._open_names(progress)
        if open_names:
            return self._with_name_decided(progress, open_names)
        parts = parts_of(progress.rest)
        if (
            not self._counts
            or self._has_too_many(progress)
            or all(isinstance(part, (Size, Properties)) for part in parts)
        ):
            return ()
        return self._with_another_key(progress)

    def _remember(self, last: Progress, came_from: Mapping[Progress, Progress | None]) -> None:
        """All that led to what can be finished can be finished itself."""
        step: Progress | None = last
        while step is not None:
            self._feasible[step] = True
            step = came_from[step]

    def _with_name_decided(self, progress: Progress, open_names: int) -> Iterator[Progress]:
        """One of the names comes not, or comes with one of the values that it may have."""
        forced = (self._reading.forced(progress.rest) | self.required) & open_names
        index = self._reading.most_spoken(progress.rest, forced or open_names)
        bit = 1 << index
        if not forced:
            absent = self._reading.without(progress.rest, bit)
            if absent is not FALSE:
                yield progress._replace(passed=progress.passed | bit, rest=absent)
        yield from self._with_name(progress, index)

    def _with_name(self, progress: Progress, index: int) -> Iterator[Progress]:
        read, base = self._reading.apart(progress.rest, index)
        after = Progress(progress.passed | 1 << index, base, self._counted(progress), progress.used)
        return self._nonempty_ways(read, self.values(self.names[index]), after)

    def _nonempty_ways(
        self, read: Formula, values: ValueSet, after: Progress
    ) -> Iterator[Progress]:
        if read is FALSE or not self._form.is_nonempty(values):
            return
        on_string = self._on_string(read, values)
        if on_string is not None:
            for left in StringOutcomes(on_string, lambda _: True).outcomes():
                yield self.after_string(after, left)
            values |= {self._table.not_string}
        for way in self._branches(read, values):
            if self._form.is_nonempty(way.values):
                yield after._replace(rest=conjunction([after.rest, way.rest]))

    def _with_another_key(self, progress: Progress) -> Iterator[Progress]:
        """No name is spoken of any more: more keys, whichever they are, for counts and exists."""
        for each in self.classes:
            if self._is_used_up(progress, each):
                continue
            read = self._reading.read_class(progress.rest, each)
            used = self._used(progress, each)
            after = Progress(progress.passed, TRUE, self._counted(progress), used)
            yield from self._nonempty_ways(read, self._values_of(each), after)
        left = ((1 << len(self.names)) - 1) & ~progress.passed
        counted: set[Formula] = set()
        for index in range(left.bit_length()):
            if not left >> index & 1:
                continue
            read, base = self._reading.apart(progress.rest, index)
            if read is TRUE and base in counted:
                # Names that only count are as good as each other.
                continue
            passed = progress.passed | 1 << index
            after = Progress(passed, base, self._counted(progress), progress.used)
            for step in self._nonempty_ways(read, self.values(self.names[index]), after):
                if read is TRUE:
                    counted.add(base)
                yield step

    def _has_room(self, progress: Progress, parts: Iterable[Formula]) -> bool:
        """Whether there are keys enough for the least number, when nothing else is asked."""
        sizes = [part for part in parts if isinstance(part, Size)]
        low = max((part.low for part in sizes), default=0)
        if any(part.high is not None and part.high < low for part in sizes):
            return False
        missing = low - progress.written
        left = ((1 << len(self.names)) - 1) & ~progress.passed
        general = [part for part in parts if isinstance(part, Properties)]
        for each in self.classes:
            if missing <= 0:
                return True
            nodes = {part.value for part in general if part.keys in each.matched}
            if self._form.is_nonempty(self._position(self._values_of(each) | nodes)):
                size = self._size_of(each)
                if size is None:
                    return True
                missing -= size - self._used_of(progress, each)
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
