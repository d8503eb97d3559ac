"""The token ids of prompts, checked before a model is run on them.

What is looked up beyond an embedding's rows ends the process inside mlx, or reads other memory.
"""

from __future__ import annotations

import operator
from typing import Any

import mlx.core as mx
import numpy as np
from mlx import nn
from mlx_lm.tokenizer_utils import TokenizerWrapper

_MOST_IDS = 2**31
"""Beyond any vocabulary, and within what arrays of ids hold."""


def as_ids(tokenizer: TokenizerWrapper, prompt: str | mx.array | list[int]) -> mx.array:
    """The token ids of a prompt, as mlx-lm takes them.

    Raises:
        TypeError: for what is neither text nor a flat list or array of token ids.
        ValueError: for negative ids, and such as no vocabulary has.
    """
    if isinstance(prompt, mx.array):
        if prompt.ndim != 1 or not mx.issubdtype(prompt.dtype, mx.integer):
            raise TypeError(
                f"a prompt is text or a 1-D array of token ids, not {prompt.dtype} of shape "
                f"{prompt.shape}"
            )
        ids = np.array(prompt).tolist()
    elif isinstance(prompt, str):
        bos = tokenizer.bos_token
        with_special = bos is None or not prompt.startswith(bos)
        return mx.array(tokenizer.encode(prompt, add_special_tokens=with_special), mx.uint32)
    else:
        try:
            ids = [operator.index(each) for each in prompt]
        except TypeError:
            raise TypeError(
                "a prompt is text or a flat list of token ids, as tokenizer.encode and "
                f"tokenizer.apply_chat_template return them, not {_shortened(prompt)}"
            ) from None
    if min(ids, default=0) < 0:
        raise ValueError(f"a prompt has no negative token ids: {min(ids)}")
    if max(ids, default=0) >= _MOST_IDS:
        raise ValueError(f"no vocabulary has a token {max(ids)}, which is in the prompt")
    return prompt if isinstance(prompt, mx.array) else mx.array(ids, mx.uint32)


def _shortened(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def check_ids(ids: mx.array, model: Any) -> None:
    """Raise ``ValueError`` for token ids that the model has no embedding of.

    Arguments:
        ids: ``(n,)``, not negative.
        model: one of mlx-lm's. Where nothing tells how many tokens it has, nothing is checked.
    """
    rows = _embedding_rows(model)
    if rows is None or not ids.size:
        return
    largest = int(np.array(ids).max())
    if largest >= rows:
        raise ValueError(
            f"the prompt has the token {largest}, but the model's embedding has ids 0 to "
            f"{rows - 1}: use the tokenizer that belongs to the model"
        )


def _embedding_rows(model: Any) -> int | None:
    """The rows of the largest embedding: those of positions and the like have fewer."""
    if not isinstance(model, nn.Module):
        return None
    return max(
        (
            each.weight.shape[0]
            for each in model.modules()
            if isinstance(each, (nn.Embedding, nn.QuantizedEmbedding))
        ),
        default=None,
    )
