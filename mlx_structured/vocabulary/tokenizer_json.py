"""Token bytes from the content of a ``tokenizer.json`` (what a fast tokenizer serialises to).

What a token decodes to is what the file's ``decoder`` makes of it, so that is what tells the kinds
apart: ``ByteLevel`` (GPT-2, Llama 3, Qwen, DeepSeek, tekken) or ``Replace``/``Metaspace`` with
``ByteFallback`` (SentencePiece: Llama 2, Mistral, Gemma). Decoders apply to added tokens as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from mlx_structured.errors import VocabularyError
from mlx_structured.vocabulary.piece_bytes import (
    SPACE_MARK,
    byte_level_bytes,
    sentencepiece_bytes,
    without_control,
    without_uncertain,
)

PLAIN_DATA = (
    "give the bytes of each token yourself: Vocabulary(tokens, eos_token_ids=[...]), with None for "
    "ids that are never text"
)


def tokens_from_json(document: dict[str, Any], special_ids: Iterable[int]) -> list[bytes | None]:
    """The bytes of each token id, ``None`` for control tokens and ids without a token.

    Arguments:
        document: a parsed ``tokenizer.json``.
        special_ids: special tokens that the file doesn't flag (from ``tokenizer_config.json``).

    Raises:
        VocabularyError: for a decoder or model whose tokens have no bytes of their own.
    """
    model = document["model"]
    for affix in ("continuing_subword_prefix", "end_of_word_suffix"):
        if model.get(affix):
            raise VocabularyError(
                f"tokens of this tokenizer carry the {affix} {model[affix]!r}, so that what they "
                f"stand for depends on their neighbours; {PLAIN_DATA}"
            )
    ids = dict(_model_vocabulary(model))
    added = [(a["id"], a["content"], a["special"]) for a in document["added_tokens"]]
    size = 1 + max([*ids.values(), *(index for index, _, _ in added)], default=-1)
    pieces: list[str | None] = [None] * size
    for piece, index in ids.items():
        pieces[index] = piece
    for index, content, _ in added:
        pieces[index] = content
    unknown = model.get("unk_id") if model["type"] == "Unigram" else ids.get(model["unk_token"])
    control = [*special_ids, *([] if unknown is None else [unknown])]
    tokens = _decode(document.get("decoder"), pieces)
    beyond = [(index, content) for index, content, _ in added if ids.get(content) != index]
    return without_control(without_uncertain(tokens, beyond), added, control)


def _model_vocabulary(model: dict[str, Any]) -> Iterable[tuple[str, int]]:
    if model["type"] == "Unigram":
        return ((piece, index) for index, (piece, _score) in enumerate(model["vocab"]))
    if model["type"] in ("BPE", "WordLevel"):
        return model["vocab"].items()  # type: ignore[no-any-return]
    raise VocabularyError(f"tokenizers of the type {model['type']} are not supported; {PLAIN_DATA}")


def _decode(decoder: dict[str, Any] | None, pieces: list[str | None]) -> list[bytes | None]:
    steps = list(_flat_steps(decoder))
    if [step["type"] for step in steps if step["type"] != "Fuse"] == ["ByteLevel"]:
        return byte_level_bytes(pieces)
    space = None
    byte_fallback = fused = known = False
    for step in steps:
        match step:
            case {"type": "Replace", "pattern": {"String": str(mark)}, "content": " "}:
                known = mark == SPACE_MARK and space is None and not fused
                space = mark
            case {"type": "Metaspace", "replacement": str(mark)}:
                known = space is None and not fused
                space = mark
            case {"type": "ByteFallback"}:
                known = not fused
                byte_fallback = True
            case {"type": "Fuse"}:
                fused = known = True
            case {"type": "Strip", "content": " ", "stop": 0}:
                # Behind Fuse it concerns only the beginning of the whole text.
                known = fused
            case _:
                known = False
        if not known:
            break
    if space is None or not known:
        raise VocabularyError(
            f"the tokenizer's decoder is of no known kind (its steps: "
            f"{', '.join(step['type'] for step in steps) or 'none'}); {PLAIN_DATA}"
        )
    return sentencepiece_bytes(pieces, space=space, byte_fallback=byte_fallback)


def _flat_steps(decoder: dict[str, Any] | None) -> Iterator[dict[str, Any]]:
    if decoder is None:
        return
    if decoder["type"] == "Sequence":
        for step in decoder["decoders"]:
            yield from _flat_steps(step)
    else:
        yield decoder
