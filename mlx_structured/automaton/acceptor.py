"""The acceptor: what may come next after a text, byte by byte, without any tokenizer."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from threading import RLock
from typing import Any

from mlx_structured.automaton.forgetting import Origin
from mlx_structured.automaton.lexeme import LexemeState
from mlx_structured.automaton.link import Configuration, Link, Recording, join
from mlx_structured.errors import LimitExceededError
from mlx_structured.limits import Limits, check_limits

LEARNING = RLock()
"""Held while something new is found out. All that is known (states, links, walks of the
vocabulary, what is empty) is shared between acceptors and threads, and half-made it misleads."""

PIECE = 16
"""Bytes of a text that are read at once: within them, each reading goes on by itself."""


class Acceptor:
    """The texts of a language of documents.

    Sequences, drivers and threads share it. What is learned while it is used (places, states,
    masks) goes with it.

    Arguments:
        origin: where its texts begin.
        parse: the value of a whole document; that of JSON if it isn't given.
    """

    def __init__(self, origin: Origin, *, parse: Callable[[bytes], Any] = json.loads) -> None:
        self.origin = origin
        self.parse = parse

    def begin(self) -> tuple[Configuration, ...]:
        """The configurations before the first byte."""
        return self.origin.begin()

    @property
    def limits(self) -> Limits:
        """What a step of a driver, or a text to judge, may take. May be replaced at any time."""
        return self.origin.work.limits

    @limits.setter
    def limits(self, limits: Limits) -> None:
        check_limits(limits)
        self.origin.work.limits = limits

    def accepts(self, text: str | bytes) -> bool:
        """Whether the whole text is a document of the language.

        Raises:
            LimitExceededError: if finding out takes more than the limits allow.
        """
        with LEARNING, self.origin.work:
            return accepts_end(self._read(text))

    def accepts_prefix(self, text: str | bytes) -> bool:
        """Whether some document of the language starts with the text.

        Raises:
            LimitExceededError: as :meth:`accepts`.
        """
        with LEARNING, self.origin.work:
            return bool(self._read(text))

    def _read(self, text: str | bytes) -> tuple[Configuration, ...]:
        """The configurations after a text, joined every now and then: readings may multiply."""
        data = _as_bytes(text)
        reached = self.origin.begin()
        position = 0
        while position < len(data):
            end = position + PIECE
            # Whole characters are read faster.
            while end < len(data) and data[end] & 0xC0 == 0x80:
                end += 1
            reached = advance(reached, data[position:end])
            position = end
        return reached


def _as_bytes(text: str | bytes) -> bytes:
    # A lone surrogate becomes bytes that no document has.
    return text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text


def advance(configurations: Sequence[Configuration], data: bytes) -> tuple[Configuration, ...]:
    """The configurations after reading ``data``; none if it can't come next."""
    size = len(data)
    if size and len(configurations) == 1:
        # Nearly always one lexeme reads the whole text, and ends nowhere within.
        (only,) = configurations
        lexeme, link = only.lexeme, only.link
        if only.recording is None and (lexeme.label is None or link.is_final):
            reached, position = _read(lexeme, link, data, 0)
            if reached is None:
                return ()
            if position == size and (reached.label is None or link.is_final):
                return (link.configuration(reached),)
    return _advance(configurations, data)


def _read(
    lexeme: LexemeState, link: Link, data: bytes, begin: int
) -> tuple[LexemeState | None, int]:
    try:
        return lexeme.read(data, begin)
    except LimitExceededError as error:
        error.locate(*link.network.responsible(link.state, lexeme))
        raise


def _advance(configurations: Sequence[Configuration], data: bytes) -> tuple[Configuration, ...]:
    reached: list[Configuration] = []
    size = len(data)
    stack: list[tuple[LexemeState, Link, Recording | None, int]] = [
        (each.lexeme, each.link, each.recording, 0) for each in configurations
    ]
    while stack:
        state, link, before, begin = stack.pop()
        lexeme: LexemeState | None = state
        position = begin
        while position < size:
            if state.label is not None and not link.is_final:
                recording = _recorded(before, data[begin:position])
                stack += [
                    (each.lexeme, each.link, each.link.continued(recording), position)
                    for each in link.after(state.label, link.captured(recording))
                ]
            lexeme, position = _read(state, link, data, position)
            if lexeme is None:
                break
            state = lexeme
        if lexeme is None:
            continue
        recording = _recorded(before, data[begin:])
        if lexeme.label is not None and not lexeme.following and not link.is_final:
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
    for each in configurations:
        label, link = each.lexeme.label, each.link
        if label is not None and (link.is_final or accepts_end(link.after(label, each.captured()))):
            return True
    return False
