"""Random walks: token sequences drawn from the masks alone, steered to an end."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator
from functools import cache

import numpy as np
import numpy.typing as npt

from mlx_structured import Acceptor, JsonSchemaAcceptorDriver, LimitExceededError, Vocabulary
from mlx_structured.automaton.acceptor import accepts_end, advance
from mlx_structured.automaton.example_document import example_ending
from mlx_structured.automaton.link import Configuration
from mlx_structured.automaton.names import NameState
from mlx_structured.automaton.string_lexeme import StringState
from mlx_structured.languages.language import example

CLOSINGS = [b"}", b"]"] + [
    b"\n" + b"  " * depth + bracket for depth in range(12) for bracket in (b"}", b"]")
]
_TRY_AGAIN = 40  # tokens, where no way to an end was found
ENDINGS = [b"}", b"]", b'"}', b'"]', b"}]", b"]}", b"}}", b"]]"]


class StuckError(AssertionError):
    """A state that can be reached allows no token."""


@cache
def _costs(vocabulary: Vocabulary) -> npt.NDArray[np.float64]:
    """How far each token leads away from an end: what closes is cheap, what opens is dear."""
    costs = np.full(vocabulary.size, 3.0)
    for token_id, token in enumerate(vocabulary.tokens):
        if token == b'"':
            costs[token_id] = -1
        elif token in ENDINGS:
            costs[token_id] = 0
        elif token in (b",", b", ", b":", b": "):
            costs[token_id] = 1
        elif token is not None and len(token) == 1 and token.isalnum():
            costs[token_id] = 2
        elif token is not None and not token.strip():
            costs[token_id] = 9
        elif token is not None and (b"{" in token or b"[" in token):
            costs[token_id] = 5
    return costs


@cache
def _single_bytes(vocabulary: Vocabulary) -> dict[int, int]:
    """Byte -> the token that is only that byte."""
    return {
        token[0]: token_id
        for token_id, token in enumerate(vocabulary.tokens)
        if token is not None and len(token) == 1
    }


def required_names(schema: object) -> frozenset[str]:
    """All that a schema requires, anywhere in it."""
    names: set[str] = set()
    stack = [schema]
    while stack:
        each = stack.pop()
        if isinstance(each, dict):
            if isinstance(each.get("required"), list):
                names.update(name for name in each["required"] if isinstance(name, str))
            stack += each.values()
        elif isinstance(each, list):
            stack += each
    return frozenset(names)


def _rests(state: NameState) -> Iterator[str]:
    """What is left of each name that may be written."""
    if state.label is not None:
        yield ""
    for character, _, after in state.arcs():
        for rest in _rests(after):
            yield chr(character) + rest


def next_of_shortest_string(
    configurations: Iterable[Configuration], prefix: str, required: frozenset[str]
) -> int | None:
    """Inside a string: the first byte of a short way to its closing quote.

    Keys that are required somewhere come first, because without them no object ends.
    """
    rests: list[tuple[bool, str]] = []
    for each in configurations:
        if not isinstance(each.lexeme, StringState):
            continue
        machine = each.lexeme.machine
        if isinstance(machine, NameState):
            rests += [(prefix + rest not in required, rest) for rest in _rests(machine)]
        else:
            rests.append((True, example(machine)))
    if not rests:
        return None
    _, rest = min(rests, key=lambda rest: (rest[0], len(rest[1])))
    return json.dumps(rest, ensure_ascii=False)[1:].encode()[0]


def next_of_closing(configurations: tuple[Configuration, ...]) -> int | None:
    """Where an array or object may be closed: the first byte of that, also in style "pretty"."""
    for text in CLOSINGS:
        if advance(configurations, text):
            return text[0]
    return None


def way_out(reached: tuple[Configuration, ...], required: frozenset[str]) -> bytes:
    """Bytes that lead from here to an end; none where no way is found."""
    try:
        ending = example_ending(reached, required)
    except LimitExceededError:
        return b""
    return ending if ending is not None and accepts_end(advance(reached, ending)) else b""


@cache
def _ids_of(vocabulary: Vocabulary) -> dict[bytes, list[int]]:
    """Bytes -> the tokens that are written so."""
    ids: dict[bytes, list[int]] = {}
    for token_id, token in enumerate(vocabulary.tokens):
        if token:
            ids.setdefault(token, []).append(token_id)
    return ids


def _starts(vocabulary: Vocabulary, text: bytes) -> list[int]:
    """The tokens that the text may start with, the shortest first."""
    ids = _ids_of(vocabulary)
    return [i for size in range(1, min(len(text), 32) + 1) for i in ids.get(text[:size], ())]


def _open_string(text: bytes) -> str:
    """The content of the string that the text ends in, as far as it is written plainly."""
    return text.decode(errors="replace").rpartition('"')[2]


def allowed_ids(bitmap: npt.NDArray[np.uint32]) -> npt.NDArray[np.int64]:
    """The token ids whose bit is set."""
    return np.flatnonzero(np.unpackbits(bitmap.view(np.uint8), bitorder="little"))


def walk(
    acceptor: Acceptor,
    vocabulary: Vocabulary,
    rng: random.Random,
    *,
    required: frozenset[str] = frozenset(),
    free: int = 24,
    most: int = 2_000,
) -> bytes | None:
    """The text of one walk: ``free`` tokens of any kind, then towards an end.

    The way to the end is looked for among bytes, and each token that writes it must be allowed.

    ``required`` are names to prefer, see :func:`required_names`.

    Returns ``None`` for a walk that needs more than ``most`` tokens.
    """
    driver = JsonSchemaAcceptorDriver(acceptor, vocabulary)
    eos = vocabulary.eos_token_ids[0]
    costs = _costs(vocabulary)
    text = b""
    reached = acceptor.begin()
    rest = b""
    for step in range(most):
        ids = allowed_ids(driver.select_valid_tokens())
        if not len(ids):
            raise StuckError(f"no token after {text!r}")
        may_end = driver.in_accepted_state()
        if may_end != (eos in ids):
            raise StuckError(f"EOS {'missing' if may_end else 'allowed'} after {text!r}")
        steered = step >= free or rng.random() < 0.4
        if may_end and (steered or len(ids) == 1):
            driver.advance_token(eos)
            assert driver.is_finished
            return text
        ids = ids[ids != eos]
        byte = None
        if step >= free and not rest and (step - free) % _TRY_AGAIN == 0:
            rest = way_out(reached, required)
        if rest:
            starts = _starts(vocabulary, rest)
            missing = [each for each in starts if each not in ids]
            if missing or not starts:
                raise StuckError(f"{text!r} can go on with {rest!r}, but not by tokens {missing}")
            ids = np.array(starts)
        elif steered:
            byte = next_of_shortest_string(reached, _open_string(text), required)
            byte = next_of_closing(reached) if byte is None else byte
        if byte is not None and _single_bytes(vocabulary).get(byte) in ids:
            ids = np.array([_single_bytes(vocabulary)[byte]])
        elif steered and not rest:
            near = costs[ids]
            ids = ids[near == near.min()]
        token_id = int(ids[rng.randrange(len(ids))])
        driver.advance_token(token_id)
        token = vocabulary.tokens[token_id]
        assert token is not None
        text += token
        rest = rest[len(token) :]
        reached = advance(reached, token)
    return None
