"""A small vocabulary with a token for every byte, and steps through it."""

from __future__ import annotations

from walks import allowed_ids

from mlx_structured import Acceptor, JsonSchemaAcceptorDriver, Vocabulary
from mlx_structured.automaton.acceptor import advance

PIECES = [
    '{"',
    '"}',
    '":',
    '": ',
    ", ",
    '", "',
    "null",
    "true",
    "[]",
    "[1",
    "12",
    "ab",
    '"a"',
    "]}",
]
TOKENS: list[bytes | None] = [
    *(bytes([byte]) for byte in range(256)),
    *(piece.encode() for piece in PIECES),
    "é".encode(),
    "😀".encode()[:2],
    "😀".encode()[2:],
    None,
    None,
    b"<pad>",
]
EOS, OTHER_EOS, NEVER_TEXT = len(TOKENS) - 3, len(TOKENS) - 2, len(TOKENS) - 1
TOKENS[NEVER_TEXT] = None
OBJECT = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "string"}},
    "required": ["a"],
}


def make_vocabulary() -> Vocabulary:
    """All bytes, some pieces, two EOS ids, and an id that is never text."""
    return Vocabulary(TOKENS, eos_token_ids=[EOS, OTHER_EOS])


def write(driver: JsonSchemaAcceptorDriver, text: str | bytes) -> None:
    """Advance by the bytes of a text, one token each."""
    for byte in text.encode() if isinstance(text, str) else text:
        driver.advance_token(byte)


def allowed(driver: JsonSchemaAcceptorDriver) -> list[int]:
    """The allowed ids."""
    return [int(token_id) for token_id in allowed_ids(driver.select_valid_tokens())]


def readable(acceptor: Acceptor, text: bytes) -> list[int]:
    """The ids that may come after the text, by reading each of them."""
    reached = advance(acceptor.begin(), text)
    ids = [i for i, token in enumerate(TOKENS) if token is not None and advance(reached, token)]
    return [*ids, EOS, OTHER_EOS] if acceptor.accepts(text) else ids
