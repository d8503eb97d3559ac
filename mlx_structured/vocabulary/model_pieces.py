"""What a fast tokenizer's tokens depend on, read from the object without serialising all of it.

Most of what such a tokenizer serialises to are merges, which decide how a text is split, and not
what a token stands for. To read the pieces of the model one by one, or as a dictionary, takes as
long as to serialise it, so they are read as the text of all token ids.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

_IDS_AT_ONCE = 256
"""So few that the second reading of the same ids finds them in the processor's cache."""


class ModelPieces(NamedTuple):
    """All that the tokens of a tokenizer with a BPE model depend on, but for its special ids.

    Arguments:
        joined: the model's pieces in order of their ids, from 0 on without a gap; a space, which
            none of them contains, stands between two.
        rest: ``added_tokens``, ``decoder`` and ``model`` (without ``vocab``) of a tokenizer.json.
    """

    joined: str
    rest: dict[str, Any]

    @property
    def content(self) -> tuple[bytes, ...]:
        """The same as bytes; equal only for equal pieces and equal rest."""
        # UTF-16 is near to how such a text lies in memory, and takes half the time of UTF-8.
        return self.joined.encode("utf-16-le"), json.dumps(self.rest, sort_keys=True).encode()

    def document(self) -> dict[str, Any]:
        """The parts of a tokenizer.json that tell what its tokens stand for."""
        vocab = {piece: index for index, piece in enumerate(self.joined.split(" "))}
        return {**self.rest, "model": {**self.rest["model"], "vocab": vocab}}


def model_pieces(backend: Any, added: Iterable[tuple[int, str, bool]]) -> ModelPieces | None:
    """Read a ``tokenizers.Tokenizer`` as it is now, whatever file it came from.

    Arguments:
        backend: the tokenizer.
        added: id, content, and whether it is special, of each of its added tokens.

    ``None`` for another kind of model, for ids with a gap and for pieces with a space in them:
    such tokenizers have to be serialised.
    """
    # Whoever holds such an object has imported the library.
    from tokenizers import Tokenizer, models  # noqa: PLC0415

    model = backend.model
    if not isinstance(backend, Tokenizer) or not isinstance(model, models.BPE):
        return None
    joined = _joined_pieces(model)
    if joined is None:
        return None
    shell = Tokenizer(models.BPE())
    if backend.decoder is not None:
        shell.decoder = backend.decoder
    rest = {
        "added_tokens": [
            {"id": index, "content": content, "special": special}
            for index, content, special in sorted(added)
        ],
        "decoder": json.loads(shell.to_str())["decoder"],
        "model": {
            "type": "BPE",
            "unk_token": model.unk_token,
            "continuing_subword_prefix": model.continuing_subword_prefix,
            "end_of_word_suffix": model.end_of_word_suffix,
        },
    }
    return ModelPieces(joined, rest)


def _joined_pieces(model: Any) -> str | None:
    """The pieces with a space between them, if that is certain.

    A tokenizer without a decoder joins pieces by spaces and passes over missing ids; one that fuses
    them joins them by nothing. So the two lengths tell how many pieces there are, and the spaces
    whether there is one inside a piece. If as many ids, from 0 on, have a piece as the model has
    pieces, there are no others.
    """
    from tokenizers import Tokenizer, decoders  # noqa: PLC0415

    spaced, fused = Tokenizer(model), Tokenizer(model)
    fused.decoder = decoders.Fuse()
    size = spaced.get_vocab_size()
    parts: list[str] = []
    for start in range(0, size, _IDS_AT_ONCE):
        ids = list(range(start, min(start + _IDS_AT_ONCE, size)))
        part = spaced.decode(ids, skip_special_tokens=False)
        alone = fused.decode(ids, skip_special_tokens=False)
        if not len(ids) - 1 == len(part) - len(alone) == part.count(" "):
            return None
        parts.append(part)
    # A lone id without a piece and one with an empty piece look the same.
    return " ".join(parts) if parts and all(parts) else None
