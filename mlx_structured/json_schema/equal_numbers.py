"""Equal values that may be written at one position, but not at another one: draft 4's ``1.0``.

Otherwise equal values can be written in the same ways, so that the values of two positions that are
equal to each other are those that satisfy both sets of nodes. Where draft 4's integers make that
wrong it is an error to ask for equal items.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from typing import TYPE_CHECKING, cast

from mlx_structured.errors import LimitExceededError
from mlx_structured.json_schema.keywords import KEYWORDS
from mlx_structured.json_schema.nodes import Either, Negation, Node, SchemaNode, ValueSet
from mlx_structured.languages.spelled_numbers import Numbers, SpelledNumbers
from mlx_structured.limits import charge

if TYPE_CHECKING:
    from mlx_structured.json_schema.normal_form import NormalForm


def check_equal_numbers(form: NormalForm, positions: Iterable[ValueSet], pointer: str) -> None:
    """Make sure that equal values of any two positions can be written in the same ways.

    Arguments:
        form: the normal form.
        positions: those that may have to have equal values.
        pointer: of the keyword that asks for them.

    Raises:
        LimitExceededError: if there may be others.
    """
    distinct = list(dict.fromkeys(positions))
    if len(distinct) < 2 or not _has_integer_texts(distinct):
        return
    for one, two in combinations(distinct, 2):
        charge(4, 500)
        if _are_numbers_apart(form, one, two) or (
            _have_containers(form, one, two) and _has_integer_texts([one, two])
        ):
            raise LimitExceededError(
                "asks for equal items that may have to be written in different ways, as 1 and 1.0 "
                "are in draft 4",
                "combinations",
                "uniqueItems",
                pointer,
            )


def _are_numbers_apart(form: NormalForm, one: ValueSet, two: ValueSet) -> bool:
    """Whether some number of both positions can be written in a way that fits only one."""
    first = cast("Numbers", form.scalars(one, "number"))
    second = cast("Numbers", form.scalars(two, "number"))
    only_one = (first & _values(second) & ~second) | (second & _values(first) & ~first)
    return not only_one.is_empty()


def _values(numbers: Numbers) -> Numbers:
    return numbers.whole | numbers.others if isinstance(numbers, SpelledNumbers) else numbers


def _have_containers(form: NormalForm, one: ValueSet, two: ValueSet) -> bool:
    """Whether both positions have an array, or both an object."""
    return any(
        shape(one) is not None and shape(two) is not None for shape in (form.array, form.object)
    )


def _has_integer_texts(positions: Iterable[ValueSet]) -> bool:
    """Whether draft 4's integers take part, in the values or anywhere within them."""
    seen: set[Node] = set()
    stack = [node for values in positions for node in values]
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        charge()
        if isinstance(node, Negation):
            stack.append(node.inner)
        elif isinstance(node, Either):
            stack += node.nodes
        elif isinstance(node, SchemaNode):
            keywords = node.keywords
            types = keywords.get("type", ())
            is_integer = types == "integer" or (isinstance(types, list) and "integer" in types)
            if is_integer and node.dialect.integers_are_spelled:
                return True
            for name, value in keywords.items():
                stack += KEYWORDS[name].children(node, value)
    return False
