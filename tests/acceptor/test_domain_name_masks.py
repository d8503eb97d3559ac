"""Masks of the formats of host names, told by classes of characters, against ``idna``."""

from __future__ import annotations

import random
import unicodedata

import pytest
from idna_names import is_name
from walks import allowed_ids

from mlx_structured import JsonSchemaAcceptorDriver, Vocabulary, compile_json_schema

LETTERS = (
    "aln0-.\u00e4\u00b7\u0431\u0439\u03b1\u05d0\u05f3\u0628\u0661\u0915\u0e01\u4e08\u3042\uac00"
)
PIECES = ["xn--", "www.", "-a", "\u0431\u0439", "a\u0431", "\u4e08\u4e08.", ".\u0431", '"', '."']
FILLERS = [chr(point) for point in range(0x4E10, 0x4E90)]


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    texts = dict.fromkeys([*LETTERS, *PIECES, *FILLERS])
    single = [bytes([byte]) for byte in range(256)]
    tokens = dict.fromkeys([*single, *(text.encode() for text in texts)])
    return Vocabulary([*tokens, None], [len(tokens)])


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "format": "idn-hostname"},
        {"type": "string", "format": "idn-hostname", "maxLength": 70},
        {"type": "string", "format": "idn-hostname", "pattern": "^[ab\u0431\u4e08.]{3,}$"},
        {"type": "string", "format": "hostname"},
    ],
    ids=["idn-hostname", "with a length", "with a pattern", "hostname"],
)
def test_what_a_mask_allows_of_a_host_name_can_be_read(
    vocabulary: Vocabulary, schema: dict[str, object]
) -> None:
    acceptor = compile_json_schema(schema)
    for seed in range(3):
        rng = random.Random(seed)
        driver = JsonSchemaAcceptorDriver(acceptor, vocabulary)
        text = b""
        for _ in range(24):
            allowed = allowed_ids(driver.select_valid_tokens()).tolist()
            assert allowed
            for token_id in rng.sample(allowed, min(30, len(allowed))):
                token = vocabulary.tokens[token_id]
                assert token is None or acceptor.accepts_prefix(text + token), (text, token)
            chosen = rng.choice(allowed)
            token = vocabulary.tokens[chosen]
            if token is None or (token.endswith(b'"') and text):
                break
            driver.advance_token(chosen)
            text += token


@pytest.mark.parametrize(
    "label",
    ["", "\u0431", "a\u00e4", "\u4e08\u3042", "\u05d0", "\u0628", "\u0439-", "\u0915"],
)
def test_each_letter_that_ends_a_valid_label_is_allowed(vocabulary: Vocabulary, label: str) -> None:
    acceptor = compile_json_schema({"type": "string", "format": "idn-hostname"})
    driver = JsonSchemaAcceptorDriver(acceptor, vocabulary)
    for byte in f'"{label}'.encode():
        driver.advance_token(vocabulary.tokens.index(bytes([byte])))
    allowed = {vocabulary.tokens[each] for each in allowed_ids(driver.select_valid_tokens())}
    letters = [each for each in (*LETTERS, *FILLERS) if is_name(label + each, international=True)]
    assert len(letters) > 1
    for letter in letters:
        composes = unicodedata.normalize("NFC", label + letter) != label + letter
        assert composes or letter.encode() in allowed, letter
