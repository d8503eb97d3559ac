"""What a fast tokenizer's tokens depend on, read from the object without serialising all of it.

Most of what such a tokenizer serialises to are merges, which decide how a text is split, and not
what a token stands for. To read the pieces of the model one by one, or as a dictionary, takes as
long as to serialise it, so they are read as the text of all token ids, with spaces between.

A missing id and a space inside a piece together look like neither of them there. So the text of
every other id is read as well. Where the two texts say that all pieces are different and without a
space, and agree, they tell the pieces: an even id stands for no more than one of them, as two
neighbours would bring an odd one into the second text; there are as many even ids as pieces in that
text, so each stands for its own; and what is left between two of these is the odd id's.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

_IDS_AT_ONCE = 512
"""An even number, and few enough that the second reading finds them in the processor's cache."""


class ModelPieces(NamedTuple):
    """All that the tokens of a tokenizer with a BPE model depend on, but for its special ids.

    Arguments:
        joined: the text of all ids, from 0 on as many as the model has pieces. If the pieces can be
            told, a space stands between two and nowhere else.
        every_other: the text of the even ids.
        rest: ``added_tokens``, ``decoder`` and ``model`` (without ``vocab``) of a tokenizer.json.
    """

    joined: str
    every_other: str
    rest: dict[str, Any]

    @property
    def content(self) -> tuple[bytes, ...]:
        """The same as bytes. If the pieces can be told, others have another content."""
        # UTF-16 is near to how such a text lies in memory, and takes half the time of UTF-8.
        texts = (text.encode("utf-16") for text in (self.joined, self.every_other))
        return *texts, json.dumps(self.rest, sort_keys=True).encode()

    def document(self) -> dict[str, Any] | None:
        """The parts of a tokenizer.json that tell what its tokens stand for.

        ``None`` for ids with a gap and for pieces that are empty or have a space in them.
        """
        pieces = self.joined.split(" ")
        vocab = {piece: index for index, piece in enumerate(pieces)}
        is_told = len(vocab) == len(pieces) and "" not in vocab
        if not is_told or self.every_other != " ".join(pieces[::2]):
            return None
        return {**self.rest, "model": {**self.rest["model"], "vocab": vocab}}


def model_pieces(backend: Any, added: Iterable[tuple[int, str, bool]]) -> ModelPieces | None:
    """Read a ``tokenizers.Tokenizer`` as it is now, whatever file it came from.

    Arguments:
        backend: the tokenizer.
        added: id, content, and whether it is special, of each of its added tokens.

    ``None`` for another kind of model, and mostly where the pieces can't be told: such tokenizers
    have to be serialised.
    """
    # Whoever holds such an object has imported the library.
    from tokenizers import Tokenizer, models  # noqa: PLC0415

    model = backend.model
    if not isinstance(backend, Tokenizer) or not isinstance(model, models.BPE):
        return None
    spaced = Tokenizer(model)
    size = spaced.get_vocab_size()
    parts: list[str] = []
    others: list[str] = []
    for start in range(0, size, _IDS_AT_ONCE):
        ids = list(range(start, min(start + _IDS_AT_ONCE, size)))
        # Without a decoder, pieces are joined by spaces and missing ids passed over.
        parts.append(spaced.decode(ids, skip_special_tokens=False))
        others.append(spaced.decode(ids[::2], skip_special_tokens=False))
    joined = " ".join(parts)
    if joined.count(" ") != size - 1:
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
    return ModelPieces(joined, " ".join(others), rest)
