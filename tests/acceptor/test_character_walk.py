"""Walks by classes of characters find what a walk of every single node finds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import mistral_common
import numpy as np
import pytest
from mistral_common.tokens.tokenizers.tekken import Tekkenizer

from mlx_structured import Vocabulary
from mlx_structured.automaton import prepared_walks
from mlx_structured.automaton.lexeme import LexemeState
from mlx_structured.automaton.raw_text import raw_text
from mlx_structured.automaton.string_lexeme import string_body
from mlx_structured.automaton.token_walk import TokenWalk
from mlx_structured.automaton.utf8 import CharacterState
from mlx_structured.languages.ecma_pattern import search_language
from mlx_structured.languages.language import Language
from mlx_structured.style import Spelling

PATTERNS = [
    "^[a-z]+$",
    "^.*$",
    "^.{1,20}$",
    "^.{3,200}$",
    "foo",
    "^[A-Za-z0-9_.-]*@[a-z.]+$",
    "^[^/]+(/[^/]+)*$",
    r"^\S{3,9}$",
    r"^[^\x00-\x1f]{2,100}$",
    r"^[\x00-\x40]+$",
    "^[A-Z][a-z]+( [A-Z][a-z]+)*$",
    "^[a-zA-Z][a-z0-9 -]{0,40}$",
    "^([a-z]{2,8})(-[a-z0-9]{1,8})*$",
    r"^\p{Lu}\p{Ll}*$",
    "^[\\u0400-\\u04ff ]+$",
    r'^[^"\\]*$',
    "^(?!foo).*$",
    "^[éa-z]{1,30}$",
    "^[^é]*$",
    r"^[^\u{1F600}]*$",
    r"^.+\.(png|jpg)$",
    "^([^-]-?){0,70}$",
    "ab|[0-9]{3}",
    '"$|x.*\\\\',
    "^(?=.*a)(?=.*b)",
    "^(?=.*[A-Z])(?!.*  )",
]
BEGINNINGS = ("", "foo", "Ab-", "я ")


class Read(NamedTuple):
    """Tokens that a state reads, and those that go on after the closing quote."""

    whole: set[int]
    crossing: set[int]


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    """An eighth of a real vocabulary, and all of its long tokens."""
    file = Path(mistral_common.__file__).parent / "data" / "tekken_240718.json"
    tokens = Vocabulary.from_tokenizer(Tekkenizer.from_file(file)).tokens
    escapes = [b"\\", b"a\\", b"\\u", b"\\u00", b"\\u001", b"\\u001f", b"\\n", b'\\"', b"b\\u00e9"]
    kept = [text for i, text in enumerate(tokens) if text and (i % 8 == 0 or len(text) > 16)]
    return Vocabulary([*kept, *escapes, b"aa", b"aa"], eos_token_ids=[0])


def _read_one_by_one(vocabulary: Vocabulary, start: LexemeState) -> Read:
    read = Read(set(), set())
    path: list[LexemeState | None] = [start]
    before = b""
    for text, token in sorted((text or b"", i) for i, text in enumerate(vocabulary.tokens)):
        common = next(
            (i for i, pair in enumerate(zip(text, before, strict=False)) if len(set(pair)) > 1),
            min(len(text), len(before)),
        )
        del path[common + 1 :]
        for byte in text[common:]:
            last = path[-1]
            path.append(None if last is None else last.transitions.get(byte))
        before = text
        if text and path[-1] is not None:
            read.whole.add(token)
        if any(state is not None and state.label is not None for state in path[1:-1]):
            read.crossing.add(token)
    return read


def _read_by_walk(walk: TokenWalk, start: LexemeState) -> Read:
    reach = walk.reach(start, 0)
    whole = set(reach.ids)
    if reach.bitmap is not None:
        bits = np.unpackbits(reach.bitmap.view(np.uint8), bitorder="little")
        whole |= set(np.flatnonzero(bits).tolist())
    return Read(whole, {token for _, node in reach.exits for token in walk.nodes.below(node)})


def _states(
    pattern: str, state_of: Callable[[Language], CharacterState]
) -> Iterator[CharacterState]:
    for beginning in BEGINNINGS:
        language = search_language(pattern)
        for character in beginning:
            language = language.derivative(ord(character))
        state = state_of(language)
        if state.transitions:
            yield state


@pytest.fixture(params=[0, 1_000_000], ids=["by characters", "level by level"])
def walk(
    request: pytest.FixtureRequest, vocabulary: Vocabulary, monkeypatch: pytest.MonkeyPatch
) -> TokenWalk:
    """What walks the vocabulary, wide classes in one of the two ways from the first on."""
    monkeypatch.setattr(prepared_walks, "PASSES", request.param)
    monkeypatch.setattr(prepared_walks, "MOST_READ", request.param)
    return TokenWalk(vocabulary)


@pytest.mark.parametrize(
    ("pattern", "spelling"),
    [(each, "json.dumps") for each in PATTERNS] + [(each, "any") for each in PATTERNS[::4]],
)
def test_a_walk_finds_the_tokens_that_reading_each_of_them_finds(
    vocabulary: Vocabulary, walk: TokenWalk, pattern: str, spelling: Spelling
) -> None:
    for state in _states(pattern, partial(string_body, spelling=spelling)):
        assert _read_by_walk(walk, state) == _read_one_by_one(vocabulary, state)


@pytest.mark.parametrize("pattern", PATTERNS[::3])
def test_a_walk_of_raw_text_finds_the_tokens_that_reading_each_of_them_finds(
    vocabulary: Vocabulary, walk: TokenWalk, pattern: str
) -> None:
    for state in _states(pattern, raw_text):
        assert _read_by_walk(walk, state).whole == _read_one_by_one(vocabulary, state).whole
