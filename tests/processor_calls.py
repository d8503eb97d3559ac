"""Processors called as mlx-lm calls them."""

from __future__ import annotations

import mlx.core as mx
import numpy as np
from mlx_lm.generate import generate_step

PADDED = 96
"""Logits of the tiny models: more than there are tokens."""

PROMPT = [7, 9, 8, 10, 5]


def steps(model, processor, count, prompt=PROMPT, **kwargs):
    """The tokens of ``generate_step``, which doesn't stop at EOS."""
    generated = generate_step(
        mx.array(prompt), model, max_tokens=count, logits_processors=[processor], **kwargs
    )
    return [token for token, _ in generated]


def call(processor, tokens, logits=None):
    """One call as mlx-lm makes it; the tokens that got a finite logit."""
    if logits is None:
        logits = mx.zeros((1, PADDED))
    masked = processor(mx.array(tokens, dtype=mx.uint32), logits)
    assert masked.shape == logits.shape
    return {token for token, logit in enumerate(masked.reshape(-1).tolist()) if logit > -np.inf}
