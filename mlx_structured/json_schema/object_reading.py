"""What is left to hold of an object, read key by key.

Each part of it is read once for each key, wherever it stands, and only by the keys that it speaks
of.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

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
    conjunction,
    disjunction,
    leaves,
    parts_of,
)
from mlx_structured.json_schema.key_classes import KeyClass
from mlx_structured.json_schema.nodes import Node, NodeTable
from mlx_structured.languages.language import matches


class ObjectReading:
    """Formulas about the objects of one shape, as keys come or can't come any more.

    Names are bits by their index.

    Arguments:
        names: the keys that the schema names.
        table: the nodes of the schema.
    """

    def __init__(self, names: Sequence[str], table: NodeTable) -> None:
        self._names = names
        self._table = table
        self._index = {name: i for i, name in enumerate(names)}
        self._mentioned_memo: dict[Formula, int] = {}
        self._spoken_memo: dict[Formula, int] = {}
        self._components_memo: dict[Formula, tuple[Formula, ...]] = {}
        self._known_changes: dict[tuple[Formula, tuple[str, int]], Formula] = {}

    def apart(self, rest: Formula, index: int) -> tuple[Formula, Formula]:
        """What the rest becomes after a named key, and the part of it that says nothing of it."""
        parts = parts_of(rest)
        read = [part for part in parts if self.spoken(part) >> index & 1]
        base = conjunction(part for part in parts if not self.spoken(part) >> index & 1)
        return conjunction(self.read_name(part, index) for part in read), base

    def read_name(self, formula: Formula, index: int) -> Formula:
        """What is left to hold after a named key, with conditions on its value."""
        if not self.spoken(formula) >> index & 1:
            return formula
        return self._changed(
            formula,
            ("name", index),
            lambda part: self.read_name(part, index),
            self._at_name,
        )

    def read_class(self, formula: Formula, each: KeyClass) -> Formula:
        """What is left to hold after a key of the class, with conditions on its value."""
        return self._changed(
            formula,
            ("class", each.number),
            lambda part: self.read_class(part, each),
            lambda atom: self._at_class(atom, each),
        )

    def _changed(
        self,
        formula: Formula,
        by: tuple[str, int],
        change: Callable[[Formula], Formula],
        change_atom: Callable[[Formula], Formula],
    ) -> Formula:
        """The formula with its parts changed; each part is changed once, wherever it stands."""
        found = self._known_changes.get((formula, by))
        if found is None:
            if isinstance(formula, All):
                found = conjunction(map(change, formula.parts))
            elif isinstance(formula, Any):
                found = disjunction(map(change, formula.parts))
            else:
                found = change_atom(formula)
            self._known_changes[formula, by] = found
        return found

    def _at_name(self, atom: Formula) -> Formula:
        """What an atom that speaks of the name becomes."""
        if isinstance(atom, Required):
            return TRUE
        if isinstance(atom, Property):
            return self._here(atom.value)
        if isinstance(atom, Properties):
            return conjunction([self._here(atom.value), atom])
        if isinstance(atom, Exists):
            return disjunction([self._here(atom.value), atom])
        return atom

    def _at_class(self, atom: Formula, each: KeyClass) -> Formula:
        if isinstance(atom, Properties) and atom.keys in each.matched:
            return conjunction([self._here(atom.value), atom])
        if isinstance(atom, Exists) and atom.keys in each.matched:
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
            if isinstance(rest, (All, Any)):
                for part in rest.parts:
                    found |= self.mentioned(part)
            elif isinstance(rest, (Required, Property)):
                found = 1 << self._index[rest.name]
            self._mentioned_memo[rest] = found
        return found

    def spoken(self, rest: Formula) -> int:
        """The names that the rest speaks of, by name or by a language of keys, as bits."""
        found = self._spoken_memo.get(rest)
        if found is None:
            found = self.mentioned(rest)
            if isinstance(rest, (All, Any)):
                for part in rest.parts:
                    found |= self.spoken(part)
            elif isinstance(rest, (Properties, Exists)):
                keys = rest.keys
                found = sum(1 << i for i, name in enumerate(self._names) if matches(keys, name))
            self._spoken_memo[rest] = found
        return found

    def without(self, rest: Formula, names: int) -> Formula:
        """What is left to hold when the names (bits) don't come."""
        names &= self.mentioned(rest)
        if not names:
            return rest
        return self._changed(
            rest,
            ("without", names),
            lambda part: self.without(part, names),
            lambda atom: FALSE if isinstance(atom, Required) else TRUE,
        )

    def components(self, rest: Formula) -> tuple[Formula, ...]:
        """Conjuncts that share no name: what comes for one makes no difference to another."""
        found = self._components_memo.get(rest)
        if found is None:
            groups: list[tuple[int, list[Formula]]] = []
            for part in parts_of(rest):
                names, together = self.spoken(part), [part]
                apart: list[tuple[int, list[Formula]]] = []
                for group in groups:
                    if group[0] & names:
                        names |= group[0]
                        together = group[1] + together
                    else:
                        apart.append(group)
                groups = [*apart, (names, together)]
            found = self._components_memo[rest] = tuple(conjunction(parts) for _, parts in groups)
        return found

    def most_spoken(self, rest: Formula, names: int) -> int:
        """Of the names, the one that decides most."""
        if names & (names - 1) == 0:
            return names.bit_length() - 1
        counts = Counter(
            self._index[atom.name]
            for atom in leaves(rest)
            if isinstance(atom, (Required, Property)) and names >> self._index[atom.name] & 1
        )
        first = (names & -names).bit_length() - 1
        return counts.most_common(1)[0][0] if counts else first

    def forced(self, rest: Formula) -> int:
        """The names that must come."""
        return sum(
            1 << self._index[part.name] for part in parts_of(rest) if isinstance(part, Required)
        )
