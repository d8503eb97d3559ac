"""Text that a grammar leaves no choice about, and the tokens for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from mlx_structured.automaton.acceptor import LEARNING, accepts_end, advance
from mlx_structured.automaton.completable_masks import CompletableMasks
from mlx_structured.automaton.guide import Guide, GuideState
from mlx_structured.automaton.link import Configuration
from mlx_structured.automaton.token_walk import TokenWalk

MAX_FORCED_BYTES = 4096
"""Longer forced text is taken in pieces."""

Encode: TypeAlias = "Callable[[bytes], Sequence[int] | None]"


def forced_text(configurations: Sequence[Configuration]) -> bytes:
    """The text that must come next: while there's one byte to go on with, and no end."""
    text = bytearray()
    while len(text) < MAX_FORCED_BYTES:
        ways: set[int] = set()
        _next_bytes(configurations, ways)
        if len(ways) != 1 or accepts_end(configurations):
            break
        text.append(ways.pop())
        configurations = advance(configurations, bytes(text[-1:]))
    return bytes(text)


def is_at_end(configurations: Sequence[Configuration]) -> bool:
    """Whether nothing can come next but the end of the document."""
    ways: set[int] = set()
    _next_bytes(configurations, ways)
    return not ways


def _next_bytes(configurations: Sequence[Configuration], found: set[int]) -> None:
    """Add the bytes that may come next; when there are two, any others may be missing."""
    for each in configurations:
        found.update(each.lexeme.following)
        if len(found) > 1:
            return
        if each.lexeme.label is not None and not each.link.is_final:
            _next_bytes(each.link.after(each.lexeme.label, each.captured()), found)


class ForcedTokens:
    """The tokens of forced text after each state of a guide, memoised.

    Arguments:
        guide: the states.
        walk: the walks of its vocabulary.
        completable: completions of the guide's states, which spell what ``encode`` can't.
        encode: the tokens with which the tokenizer writes a text; ``None`` where it can't.
    """

    def __init__(
        self, guide: Guide, walk: TokenWalk, completable: CompletableMasks, encode: Encode
    ) -> None:
        self._guide = guide
        self._walk = walk
        self._completable = completable
        self._encode = encode
        self._tokens: dict[bytes, tuple[int, ...]] = {}
        self._after: dict[GuideState, tuple[int, ...]] = {}

    def after(self, state: GuideState) -> tuple[int, ...]:
        """Tokens of the text that must come next, without those that could become other ones.

        Held back are the last tokens from the first on that, with those after it, could also be
        the beginning of a longer token, together with something that may come after the forced
        text. Which of them is written is the model's choice.
        """
        found = self._after.get(state)
        if found is None:
            with LEARNING, self._guide.origin.work:
                found = self._after[state] = self._find(state)
        return found

    def _find(self, state: GuideState) -> tuple[int, ...]:
        text = forced_text(state.configurations)
        if not text:
            return ()
        tokens = self._tokens.get(text)
        if tokens is None:
            encoded = self._encode(text)
            if encoded is None:
                encoded = self._completable.spell(text) or ()
            tokens = self._tokens[text] = tuple(encoded)
        # The tokenizer may stop before a character that isn't whole.
        text = text[: sum(len(self._guide.text(token)) for token in tokens)]
        return self._settled(state, text, tokens)

    def _settled(self, state: GuideState, text: bytes, tokens: tuple[int, ...]) -> tuple[int, ...]:
        """Those of the tokens of a text that can't be the beginning of others."""
        reached = advance(state.configurations, text)
        start = 0
        for count, token in enumerate(tokens):
            node = self._walk.nodes.find(text[start:])
            if node is not None and self._guide.goes_on(reached, node):
                return tokens[:count]
            start += len(self._guide.text(token))
        return tokens
