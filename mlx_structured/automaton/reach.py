"""What a lexeme can read of the tokens."""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

Bitmap: TypeAlias = npt.NDArray[np.uint32]


class Reach(NamedTuple):
    """What a walk found.

    Arguments:
        ids: token ids, few.
        bitmap: token ids, many, as a packed bitmap; ``None`` for none.
        exits: pairs of the label with which the lexeme may end and the (merged) node where.
    """

    ids: tuple[int, ...]
    bitmap: Bitmap | None
    exits: tuple[tuple[Hashable, int], ...]

    @property
    def memory(self) -> int:
        """Bytes, by estimate."""
        return 500 + 8 * len(self.ids) + (0 if self.bitmap is None else self.bitmap.nbytes)
