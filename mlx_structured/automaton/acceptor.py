"""The acceptor: what may come next after a text, byte by byte, without any tokenizer."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from threading import RLock
from typing import Any

from mlx_structured.automaton.lexeme import LexemeState
from mlx_structured.automaton.link import Configuration, Link, Recording, join

LEARNING = RLock()
"""Held while something new is found out. All that is known (states, links, walks of the
vocabulary, what is empty) is shared between acceptors and threads, and half-made it misleads."""


class Acceptor:
    """The texts of a language of documents.

    Immutable to its users: sequences, drivers and threads share it. What is learned while it is
    used (places, states, masks) goes with it.

    Arguments:
        begin: makes the configurations before the first byte, with places of their own, so that
            all that was learned from them can be dropped at once.
        parse: the value of a whole document; that of JSON if it isn't given.
    """

    def __init__(
        self,
        begin: Callable[[], tuple[Configuration, ...]],
        *,
        parse: Callable[[bytes], Any] = json.loads,
    ) -> None:
        self.begin = begin
        self.parse = parse

    def accepts(self, text: str | bytes) -> bool:
        """Whether the whole text is a document of the language."""
        with LEARNING:
            return accepts_end(advance(self.begin(), _as_bytes(text)))

    def accepts_prefix(self, text: str | bytes) -> bool:
        """Whether some document of the language starts with the text."""
        with LEARNING:
            return bool(advance(self.begin(), _as_bytes(text)))


def _as_bytes(text: str | bytes) -> bytes:
    # A lone surrogate becomes bytes that no document has.
    return text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text


def advance(configurations: Sequence[Configuration], data: bytes) -> tuple[Configuration, ...]:
    """The configurations after reading ``data``; none if it can't come next."""
    reached: list[Configuration] = []
    size = len(data)
    stack: list[tuple[LexemeState, Link, Recording | None, int]] = [
        (each.lexeme, each.link, each.recording, 0) for each in configurations
    ]
    while stack:
        lexeme: LexemeState | None
        lexeme, link, before, begin = stack.pop()
        position = begin
        while position < size:
            if lexeme.label is not None and not link.is_final:
                recording = _recorded(before, data[begin:position])
                stack += [
                    (each.lexeme, each.link, each.link.continued(recording), position)
                    for each in link.after(lexeme.label, link.captured(recording))
                ]
            lexeme = lexeme.transitions.get(data[position])
            if lexeme is None:
                break
            position += 1
        if lexeme is None:
            continue
        recording = _recorded(before, data[begin:])
        if lexeme.label is not None and not lexeme.transitions and not link.is_final:
            reached += [
                each.link.configuration(each.lexeme, each.link.continued(recording))
                for each in link.after(lexeme.label, link.captured(recording))
            ]
        else:
            reached.append(link.configuration(lexeme, recording))
    return join(reached)


def _recorded(before: Recording | None, text: bytes) -> Recording | None:
    return None if before is None else Recording(before.text + text, before.starts)


def accepts_end(configurations: Iterable[Configuration]) -> bool:
    """Whether a document may end here."""
    return any(
        each.lexeme.label is not None
        and (each.link.is_final or accepts_end(each.link.after(each.lexeme.label, each.captured())))
        for each in configurations
    )
