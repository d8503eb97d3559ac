"""The first mask of the country schema over Mistral-Nemo's vocabulary (tekken)."""

from __future__ import annotations

from pathlib import Path

import mistral_common
import pytest
from mistral_common.tokens.tokenizers.tekken import Tekkenizer
from walks import allowed_ids

from mlx_structured import JsonSchemaAcceptorDriver, Vocabulary, compile_json_schema

COUNTRIES = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {"name": {"type": "string"}, "continent": {"type": "string"}},
        "required": ["name", "continent"],
    },
}


@pytest.fixture(scope="module")
def tekken() -> Vocabulary:
    file = Path(mistral_common.__file__).parent / "data" / "tekken_240718.json"
    return Vocabulary.from_tokenizer(Tekkenizer.from_file(file))


def test_a_document_begins_with_the_tokens_that_open_an_array(tekken: Vocabulary) -> None:
    driver = JsonSchemaAcceptorDriver(compile_json_schema(COUNTRIES, style="flexible"), tekken)
    ids = allowed_ids(driver.select_valid_tokens()).tolist()
    # Token id = rank + 1000 in the file tekken_240718.json.
    assert {i: tekken.tokens[i] for i in ids} == {
        1091: b"[",
        4344: b"[]",
        33966: b"[\n",
        57096: b"[{",
    }


@pytest.mark.parametrize(
    ("token_id", "rest"),
    [
        (1091, '{"name": "Nigeria", "continent": "Africa"}]'),
        (4344, ""),
        (33966, '    {"name":"Nigeria","continent":"Africa"}\n]'),
        (57096, '"name": "Nigeria", "continent": "Africa"}]'),
    ],
)
def test_each_of_them_is_the_start_of_a_document(
    tekken: Vocabulary, token_id: int, rest: str
) -> None:
    token = tekken.tokens[token_id]
    assert token is not None
    acceptor = compile_json_schema(COUNTRIES, style="flexible")
    assert acceptor.accepts(token + rest.encode())
