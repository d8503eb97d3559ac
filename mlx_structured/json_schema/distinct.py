"""Items that must differ: which values were written, and whether enough others are left."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple, TypeAlias

from mlx_structured.errors import LimitExceededError

Canonical: TypeAlias = str
"""A JSON text that is the same for all equal values, and no other value's."""

MOST_DIGITS = 4_000
"""Of a number that is compared with others."""

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[][{},:]|[^][{},:\s"]+')
_NUMBER = re.compile(r"(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?")


def canonical(text: bytes) -> Canonical:
    """The canonical text of a JSON text: ``1.0`` is ``1``, the order of keys doesn't matter.

    Raises:
        LimitExceededError: for an exponent with thousands of digits.
    """
    stack: list[tuple[str, list[Canonical]]] = [("", [])]
    for match in _TOKEN.finditer(text.decode()):
        token = match.group()
        if token in "[{":
            stack.append((token, []))
        elif token in "]}":
            opening, parts = stack.pop()
            stack[-1][1].append(canonical_array(parts) if opening == "[" else _pairs(parts))
        elif token not in ",:":
            stack[-1][1].append(_scalar(token))
    return stack[0][1][0]


def _scalar(token: str) -> Canonical:
    if token[0] == '"':
        return json.dumps(json.loads(token))
    number = _NUMBER.fullmatch(token)
    return token if number is None else _number(*number.groups(default=""))


def _number(sign: str, whole: str, fraction: str, exponent: str) -> Canonical:
    """All digits but the outer zeros, with the power of ten that they are multiplied by."""
    digits = (whole + fraction).lstrip("0")
    if not digits:
        return "0"
    _check_digits(len(exponent))
    short = digits.rstrip("0")
    power = int(exponent or 0) - len(fraction) + len(digits) - len(short)
    return f"{sign}{short}e{power}" if power else sign + short


def _pairs(parts: list[Canonical]) -> Canonical:
    return canonical_object(dict(zip(parts[::2], parts[1::2], strict=True)))


def canonical_array(items: Iterable[Canonical]) -> Canonical:
    """The canonical text of an array of such texts."""
    return f"[{','.join(items)}]"


def canonical_object(members: Mapping[Canonical, Canonical]) -> Canonical:
    """The canonical text of an object, by the canonical texts of its keys."""
    return "{" + ",".join(f"{key}:{members[key]}" for key in sorted(members)) + "}"


def canonical_value(value: object) -> Canonical:
    """The canonical text of a value as ``json.loads`` makes it, maybe with ``Fraction`` numbers."""
    if isinstance(value, dict):
        return canonical_object(
            {json.dumps(key): canonical_value(member) for key, member in value.items()}
        )
    if isinstance(value, (list, tuple)):
        return canonical_array(map(canonical_value, value))
    if not isinstance(value, Fraction):
        return _scalar(json.dumps(value))
    # The decimals end, so a power of ten makes the number whole.
    places = value.denominator.bit_length()
    whole = Decimal(value.numerator * 10**places // value.denominator)
    return _scalar(f"{whole}e-{places}")


def value_of(text: Canonical) -> object:
    """The value of a canonical text, with a ``Fraction`` for each number.

    Raises:
        LimitExceededError: for a number with thousands of digits.
    """
    return json.loads(text, parse_float=_fraction, parse_int=_fraction)


def _fraction(text: str) -> Fraction:
    digits, _, power = text.partition("e")
    _check_digits(len(digits) + abs(int(power or 0)))
    return Fraction(text)


def _check_digits(number: int) -> None:
    if number > MOST_DIGITS:
        raise LimitExceededError(
            f"has a number of more than {MOST_DIGITS} digits to compare", "digits", "uniqueItems"
        )


class Matching(NamedTuple):
    """Values of their own for some domains.

    Arguments:
        domains: the values that each may take.
        owners: the value that each took, with the domain's index.
    """

    domains: tuple[frozenset[Canonical], ...] = ()
    owners: Mapping[Canonical, int] = {}

    def has_spare(self, used: frozenset[Canonical]) -> bool:
        """Whether every domain has more unused values than there are domains."""
        return all(len(domain - used) > len(self.domains) for domain in set(self.domains))

    def with_domain(
        self, domain: frozenset[Canonical], used: frozenset[Canonical]
    ) -> Matching | None:
        """The same with one domain more, or ``None`` if no unused value is left for it.

        One augmenting path of a bipartite matching, found breadth first.
        """
        domains = (*self.domains, domain)
        taker: dict[Canonical, int] = {}
        waiting = [len(self.domains)]
        for index in waiting:
            for value in domains[index]:
                if value in used or value in taker:
                    continue
                taker[value] = index
                owner = self.owners.get(value)
                if owner is not None:
                    waiting.append(owner)
                    continue
                owners = dict(self.owners)
                held = {index: value for value, index in owners.items()}
                free: Canonical | None = value
                while free is not None:
                    owners[free] = taker[free]
                    free = held.get(taker[free])
                return Matching(domains, owners)
        return None
