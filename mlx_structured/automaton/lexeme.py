"""Lexemes: the terminals of the acceptor, regular (or lazily infinite) languages of bytes.

A lexeme state is an interned object. Its transitions are found when they are first asked for, and
lead only to states from which the lexeme can still be finished. ``label`` tells whether and as
what the lexeme may end in this state: ``None`` if it may not, otherwise what the network is told
(``DONE`` where there is only one way to end, a key's index where the lexeme stands for many keys,
``LAST`` where the document ends with the lexeme, so that no walk looks for what comes after it).
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from weakref import WeakValueDictionary

from mlx_structured.limits import charge

DONE: Hashable = "done"
LAST: Hashable = "last"
NO_TRANSITIONS: dict[int, LexemeState] = {}


class LexemeState:
    """One state of a lexeme. Subclasses say what follows in :meth:`expand`."""

    __slots__ = ("__weakref__", "_transitions", "label")

    base: LexemeState | None = None
    """A state whose transitions are the same but for ``patch``, once they are known."""

    @property
    def patch(self) -> Mapping[int, LexemeState | None]:
        """Byte -> next state, ``None`` for none, where that isn't what ``base`` has."""
        return NO_TRANSITIONS

    by_texts = False
    """Whether a walk of the tokens goes along whole texts, as of words, from here on."""

    is_common = False
    """Whether many lexemes lead here, so that walks from here are worth remembering."""

    def __init__(self, label: Hashable | None = None) -> None:
        self.label = label
        self._transitions: Mapping[int, LexemeState] | None = None

    def expand(self) -> Mapping[int, LexemeState]:
        """Byte -> next state, without dead ends. Called once."""
        raise NotImplementedError

    def stand_in(self, digits: int) -> LexemeState:
        """A state that reads the same texts of at most so many ``digits``, the same for many.

        This one where nothing better is known. Whether the lexeme may end here at once may differ.
        """
        return self

    @property
    def stepwise(self) -> bool:
        """Whether tokens that go on from here are left out, in favour of shorter ones.

        Where nearly each text leads to another state, a mask would take too long otherwise.
        """
        return False

    def read(self, data: bytes, begin: int) -> tuple[LexemeState | None, int]:
        """Read on up to the first place where the lexeme may end, or where the data does.

        States that know their texts as a whole override this, to make no states in between.

        Arguments:
            data: what comes next, from ``begin`` on; at least one byte.
            begin: where.

        Returns:
            The state reached, ``None`` if the lexeme can't go on so, and the position behind it.
        """
        state: LexemeState = self
        for position in range(begin, len(data)):
            after = state.transitions.get(data[position])
            if after is None or after.label is not None:
                return after, position + 1
            state = after
        return state, len(data)

    def after(self, character: int) -> LexemeState | None:
        """The state itself, or the one that it stands for after this character.

        ``None`` for no state, where that depends on the character.
        """
        return self

    def follows_any(self, low: int, high: int) -> bool:
        """Whether there is a state after any of the characters from ``low`` to ``high``."""
        return True

    @property
    def following(self) -> Collection[int]:
        """The bytes that may come next."""
        return self.transitions.keys()

    @property
    def transitions(self) -> Mapping[int, LexemeState]:
        """Byte -> next state, without dead ends."""
        transitions = self._transitions
        if transitions is None:
            transitions = self._transitions = self.expand()
            charge(1, 400 + 40 * len(transitions))
        return transitions


class End(LexemeState):
    """The state after a lexeme that can't go on."""

    __slots__ = ()

    def expand(self) -> Mapping[int, LexemeState]:
        return NO_TRANSITIONS


END = End(DONE)

_ends: WeakValueDictionary[Hashable, End] = WeakValueDictionary({DONE: END})


def end_of(label: Hashable) -> End:
    """The state after a lexeme that ended as ``label`` and can't go on."""
    state = _ends.get(label)
    if state is None:
        state = _ends[label] = End(label)
    return state
