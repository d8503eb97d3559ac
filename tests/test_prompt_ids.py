"""Token ids that a model has no embedding of are refused before mlx would read beyond it."""

from __future__ import annotations

import mlx.core as mx
import pytest
from mlx import nn
from tiny_models import json_tokenizer, tiny_model

from mlx_structured import batch_generate, generate, stream_generate

ROWS = 432
SCHEMA = {"const": 1}


@pytest.fixture(scope="module")
def tokenizer():
    return json_tokenizer()


@pytest.fixture(scope="module")
def model():
    return tiny_model(1, ROWS)


@pytest.fixture(scope="module")
def quantized():
    model = tiny_model(1, ROWS, hidden_size=64)
    nn.quantize(model, group_size=32, class_predicate=lambda path, _: path.endswith("embed_tokens"))
    assert isinstance(model.model.embed_tokens, nn.QuantizedEmbedding)
    return model


@pytest.mark.parametrize("prompt", [[5, ROWS], [10**6, 5], mx.array([ROWS]), mx.array([5, 9999])])
def test_an_id_beyond_the_embedding_is_named(model, quantized, tokenizer, prompt):
    largest = mx.array(prompt).max().item()
    for each in (model, quantized):
        for function in (generate, stream_generate):
            with pytest.raises(ValueError, match=f"token {largest}, .* has ids 0 to {ROWS - 1}"):
                function(each, tokenizer, prompt, SCHEMA)
        with pytest.raises(ValueError, match=f"token {largest}, "):
            batch_generate(each, tokenizer, [[5], prompt], [SCHEMA, SCHEMA])


@pytest.mark.parametrize("prompt", [[ROWS - 1], [0], mx.array([ROWS - 1, 0])])
def test_all_ids_of_the_embedding_are_taken(model, quantized, tokenizer, prompt):
    for each in (model, quantized):
        assert generate(each, tokenizer, prompt, SCHEMA).value == 1
        assert batch_generate(each, tokenizer, [prompt], [SCHEMA]).values == [1]


def test_a_text_is_refused_where_the_tokenizer_is_of_a_larger_model(tokenizer):
    text = '{"name": "Nigeria"}'
    rows = max(tokenizer.encode(text))
    with pytest.raises(ValueError, match="the tokenizer that belongs to the model"):
        stream_generate(tiny_model(1, rows), tokenizer, text, SCHEMA)


def test_the_draft_model_must_have_the_ids_too(model, tokenizer):
    with pytest.raises(ValueError, match="has ids 0 to 99"):
        stream_generate(model, tokenizer, [5, 100], SCHEMA, draft_model=tiny_model(2, 100))


def test_ids_beside_embeddings_are_not_looked_up(model, tokenizer):
    embeddings = model.model.embed_tokens(mx.array([5, 6]))
    answer = generate(model, tokenizer, [5, 9999], SCHEMA, input_embeddings=embeddings)
    assert answer.value == 1


@pytest.mark.parametrize("prompt", [[2**31], [5, 2**40], mx.array([2**40])])
def test_ids_that_no_array_of_ids_holds_are_refused(model, tokenizer, prompt):
    with pytest.raises(ValueError, match="no vocabulary has a token"):
        stream_generate(model, tokenizer, prompt, SCHEMA)


def test_negative_ids_of_an_array_are_refused(model, tokenizer):
    with pytest.raises(ValueError, match="negative token ids: -3"):
        stream_generate(model, tokenizer, mx.array([5, -3]), SCHEMA)
