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
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

_IDS_AT_ONCE = 512
"""An even number, and few enough that the second reading finds them in the processor's cache."""


class ModelPieces(NamedTuple):
    """All that the tokens of a tokenizer with a BPE model depend on, but for its special ids.

    Arguments:
        size: the number of pieces.
        joined: the text of so many ids, from 0 on. If the pieces can be told, a space stands
            between two and nowhere else.
        every_other: the text of the even ids.
        added: id, content, and whether it is special, of each added token, in order.
        rest: ``decoder`` and ``model`` (without ``vocab``) of a tokenizer.json.
    """

    size: int
    joined: str
    every_other: str
    added: Sequence[tuple[int, str, bool]]
    rest: dict[str, Any]

    @property
    def content(self) -> tuple[bytes, ...]:
        """The same as bytes. If the pieces can be told, others have another content."""
        # UTF-16 is near to how such a text lies in memory, and takes half the time of UTF-8.
        texts = (text.encode("utf-16") for text in (self.joined, self.every_other))
        rest = json.dumps(self.rest, sort_keys=True)
        return *texts, repr((self.size, self.added)).encode(), rest.encode()

    def document(self) -> dict[str, Any] | None:
        """The parts of a tokenizer.json that tell what its tokens stand for.

        ``None`` for ids with a gap and for pieces that are empty or have a space in them.
        """
        pieces = self.joined.split(" ")
        vocab = {piece: index for index, piece in enumerate(pieces)}
        is_told = len(vocab) == len(pieces) == self.size and "" not in vocab
        if not is_told or self.every_other != " ".join(pieces[::2]):
            return None
        added = [
            {"id": index, "content": content, "special": special}
            for index, content, special in self.added
        ]
        model = {**self.rest["model"], "vocab": vocab}
        return {**self.rest, "added_tokens": added, "model": model}


def model_pieces(backend: Any, added: Iterable[tuple[int, str, bool]]) -> ModelPieces | None:
    """Read a ``tokenizers.Tokenizer`` as it is now, whatever file it came from.

    Arguments:
        backend: the tokenizer.
        added: id, content, and whether it is special, of each of its added tokens.

    ``None`` for another kind of model, which has to be serialised.
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
    shell = Tokenizer(models.BPE())
    if backend.decoder is not None:
        shell.decoder = backend.decoder
    rest = {
        "decoder": json.loads(shell.to_str())["decoder"],
        "model": {
            "type": "BPE",
            "unk_token": model.unk_token,
            "continuing_subword_prefix": model.continuing_subword_prefix,
            "end_of_word_suffix": model.end_of_word_suffix,
        },
    }
    return ModelPieces(size, " ".join(parts), " ".join(others), sorted(added), rest)
