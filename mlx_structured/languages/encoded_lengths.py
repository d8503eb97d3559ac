"""How long a label is in Punycode (RFC 3492) with one more character, for many characters at once.

The code points of a text are encoded in order, each as the distance from the last one. A character
at the end of the text changes nothing of what comes before it in that order; after it only the next
two distances may take another number of digits than they would for other characters nearby.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]

_BASE, _LEAST, _MOST = 36, 1, 26
_SKEW, _DAMP, _FIRST_BIAS, _FIRST = 38, 700, 72, 0x80
_FIRST_DIGITS = 12
"""No distance within Unicode takes more."""


def digits(distance: Numbers, bias: Numbers) -> Numbers:
    """How many digits each distance takes (section 3.3)."""
    number = np.ones_like(distance)
    rest = distance
    for position in range(_BASE, _BASE * _FIRST_DIGITS, _BASE):
        threshold = np.clip(position - bias, _LEAST, _MOST)
        more = rest >= threshold
        if not more.any():
            break
        number += more
        # Below 0 no digit is left.
        rest = np.where(more, (rest - threshold) // (_BASE - threshold), -1)
    return number


def adapted(distance: Numbers, length: int, *, first: bool) -> Numbers:
    """The bias after a distance (section 6.1), at which so many characters were encoded."""
    delta = distance // (_DAMP if first else 2)
    delta = delta + delta // length
    bias = np.zeros_like(delta)
    while True:
        large = delta > (_BASE - _LEAST) * _MOST // 2
        if not large.any():
            return bias + (_BASE - _LEAST + 1) * delta // (delta + _SKEW)
        bias += _BASE * large
        delta = np.where(large, delta // (_BASE - _LEAST), delta)


class _Encoder:
    """Encodes code points in order, each of them many times over with different distances."""

    def __init__(self, basic: int) -> None:
        self.basic = basic
        self.length = basic
        self.bias: Numbers = np.array([_FIRST_BIAS])
        self.octets: Numbers = np.array([0])
        self.next: Numbers = np.array([_FIRST])
        self.distance: Numbers = np.array([0])

    def copied(self) -> _Encoder:
        """One that goes on from here."""
        other = _Encoder(self.basic)
        other.__dict__.update(self.__dict__)
        return other

    def encode(self, point: Numbers, positions: list[int]) -> None:
        """The occurrences of the next code point.

        Arguments:
            point: of each alternative.
            positions: for each occurrence the smaller characters since the last, and after the last
                occurrence those up to the end.
        """
        self.distance = self.distance + (point - self.next) * (self.length + 1)
        for smaller in positions[:-1]:
            distance = self.distance + smaller
            self.octets = self.octets + digits(*np.broadcast_arrays(distance, self.bias))
            first = self.length == self.basic
            self.length += 1
            self.bias = adapted(distance, self.length, first=first)
            self.distance = np.zeros_like(distance)
        self.distance = self.distance + positions[-1] + 1
        self.next = point + 1


def octets_with(text: str, points: Numbers) -> Numbers:
    """The octets of a label, ``xn--`` among them, that goes on with each of the characters.

    Arguments:
        text: the label so far.
        points: code points beyond ASCII, in ascending order.
    """
    letters = list(map(ord, text))
    beyond = sorted({letter for letter in letters if letter >= _FIRST})
    basic = sum(letter < _FIRST for letter in letters)
    encoder = _Encoder(basic)
    found = np.zeros_like(points)
    bounds = [_FIRST - 1, *beyond, 0x110000]
    for low, high in pairwise(bounds):
        if low >= _FIRST:
            # The same character once more is the only one that comes within its own pass.
            here = np.searchsorted(points, [low, low + 1])
            if here[0] < here[1]:
                found[here[0]] = len((text + chr(low)).encode("punycode")) - basic - (basic > 0)
            encoder.encode(np.array([low]), _positions(letters, low))
        begin, end = np.searchsorted(points, [low + 1, high])
        if begin < end:
            some = encoder.copied()
            some.encode(points[begin:end], [some.length, 0])
            for point in beyond:
                if point >= high:
                    positions = _positions(letters, point)
                    some.encode(np.array([point]), [*positions[:-1], positions[-1] + 1])
            found[begin:end] = some.octets
    return found + (len("xn--") + basic + (basic > 0))


def _positions(letters: list[int], point: int) -> list[int]:
    positions, smaller = [], 0
    for letter in letters:
        if letter == point:
            positions.append(smaller)
            smaller = 0
        elif letter < point:
            smaller += 1
    return [*positions, smaller]
