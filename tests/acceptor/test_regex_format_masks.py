"""Masks of the format regex, where what was read is remembered: each token by each acceptor."""

from __future__ import annotations

import random

import pytest
from walks import allowed_ids

from mlx_structured import JsonSchemaAcceptorDriver, Vocabulary, compile_json_schema

PIECES = [
    *(
        '"',
        "(?<",
        ">",
        ")",
        "(",
        "[",
        "]",
        "-",
        "\\\\",
        "\\\\k<",
        "u",
        "0",
        "4",
        "3",
        "1",
        "9",
        "a",
    ),
    *(
        "б",
        "й",
        "中",
        "😀",
        "б-й",
        "й-б",
        "-б",
        "б-",
        "й-",
        "中文",
        "文中-",
        "аб",
        "n>",
        "б>",
        "аб>)",
    ),
    *(
        "(?<б>",
        "(?<б>)",
        "\\\\k<б>",
        "\\\\u0431",
        "\\\\ud83d",
        "\\\\ude00",
        "[й-б]",
        "[б-й]",
        "|",
        "*",
        "b-a",
    ),
    *("[]", "0439", "\\u0431", "\\u0439-", "\\u002d", "\\u003e", "ba>"),
]
FILLERS = [chr(code) + letter for code in range(0x4E00, 0x4E40) for letter in ("", ">", "-", "中")]

WRITTEN = frozenset(piece.encode() for piece in PIECES)


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    texts = dict.fromkeys([*PIECES, *FILLERS])
    single = [bytes([byte]) for byte in range(256)]
    tokens = dict.fromkeys([*single, *(text.encode() for text in texts)])
    return Vocabulary([*tokens, None], [len(tokens)])


@pytest.mark.parametrize("style", ["compact", "any"])
@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "format": "regex"},
        {"type": "string", "format": "regex", "maxLength": 9},
        {"type": "string", "not": {"format": "regex"}},
    ],
    ids=["alone", "with a length", "the opposite"],
)
def test_the_mask_allows_the_tokens_that_can_be_read(
    vocabulary: Vocabulary, schema: dict[str, object], style: str
) -> None:
    acceptor = compile_json_schema(schema, style=style)
    rng = random.Random(3)
    for _ in range(6):
        driver = JsonSchemaAcceptorDriver(acceptor, vocabulary)
        text = b""
        for _ in range(8):
            allowed = set(allowed_ids(driver.select_valid_tokens()).tolist())
            for token_id, token in enumerate(vocabulary.tokens):
                if token is not None and (token_id in allowed or rng.random() < 0.4):
                    assert acceptor.accepts_prefix(text + token) == (token_id in allowed), token
            pieces = [each for each in sorted(allowed) if vocabulary.tokens[each] in WRITTEN]
            chosen = rng.choice(pieces or sorted(allowed))
            token = vocabulary.tokens[chosen]
            if token is None or (token == b'"' and text):
                break
            driver.advance_token(chosen)
            text += token
