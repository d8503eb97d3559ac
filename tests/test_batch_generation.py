"""Batches with a schema for each row, on tiny models."""

from __future__ import annotations

import json

import jsonschema
import mlx.core as mx
import mlx_lm
import numpy as np
import pytest
from mlx_lm.generate import BatchResponse
from mlx_lm.sample_utils import make_sampler
from tiny_models import json_tokenizer, tiny_model

from mlx_structured import (
    TokenBudgetError,
    Vocabulary,
    batch_generate,
    compile_json_schema,
    make_logit_bias_processor,
)
from mlx_structured.automaton.guide import Guide

CITY = {
    "type": "object",
    "properties": {"city": {"type": "string", "maxLength": 9}, "size": {"type": "integer"}},
    "required": ["city", "size"],
    "additionalProperties": False,
}
NUMBERS = {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 5}
SCHEMAS = [CITY, NUMBERS, {"enum": ["yes", "no"]}, CITY]
PROMPTS = [[7, 9, 8, 10, 5], [11, 12], [13], [21, 22, 23]]


@pytest.fixture(scope="module")
def tokenizer():
    return json_tokenizer()


@pytest.fixture(scope="module")
def model(tokenizer):
    return tiny_model(1, Vocabulary.from_tokenizer(tokenizer).size + 5)


def alone(model, tokenizer, prompt, schema, limit):
    processor = make_logit_bias_processor(tokenizer, schema, max_tokens=limit)
    return mlx_lm.generate(
        model, tokenizer, prompt, max_tokens=limit, logits_processors=[processor]
    )


@pytest.mark.parametrize("limit", [20, 100])
def test_each_row_writes_what_it_would_write_alone(model, tokenizer, limit):
    answer = batch_generate(model, tokenizer, PROMPTS, SCHEMAS, max_tokens=limit)
    assert isinstance(answer, BatchResponse)
    for text, value, prompt, schema in zip(
        answer.texts, answer.values, PROMPTS, SCHEMAS, strict=True
    ):
        jsonschema.validate(value, schema)
        assert json.loads(text) == value
        assert text == alone(model, tokenizer, prompt, schema, limit)


def test_every_row_has_its_own_limit_and_is_whole_at_it(model, tokenizer):
    limits = [19, 9, 7, 60]
    answer = batch_generate(model, tokenizer, PROMPTS, SCHEMAS, max_tokens=limits)
    for value, schema in zip(answer.values, SCHEMAS, strict=True):
        jsonschema.validate(value, schema)
    assert set(answer.finish_reasons) <= {"stop", "length"}
    with pytest.raises(TokenBudgetError):
        batch_generate(None, tokenizer, PROMPTS, SCHEMAS, max_tokens=[60, 2, 60, 60])


def test_more_rows_than_fit_at_once_come_back_in_order(model, tokenizer):
    schemas = [{"const": [number, "x" * (number % 4)]} for number in range(9)]
    answer = batch_generate(
        model,
        tokenizer,
        [[number + 1, 5] for number in range(9)],
        schemas,
        completion_batch_size=3,
        prefill_batch_size=2,
    )
    assert answer.values == [schema["const"] for schema in schemas]
    assert answer.finish_reasons == ["stop"] * 9


def test_rows_of_one_acceptor_share_its_states(model, tokenizer, monkeypatch):
    acceptor = compile_json_schema(CITY)
    made = []
    make = Guide._make_bitmap

    def noted(guide, state):
        made.append(state)
        return make(guide, state)

    monkeypatch.setattr(Guide, "_make_bitmap", noted)
    batch_generate(model, tokenizer, [[7, 8]] * 4, [acceptor] * 4, max_tokens=100)
    assert made
    assert len(made) == len(set(made))


def test_the_tokens_that_mlx_lm_puts_together_are_never_read(model, tokenizer, monkeypatch):
    # They are queued behind the forward pass: reading them would wait for it row by row.
    read = []
    monkeypatch.setattr(
        "mlx_structured.processor.LogitBiasProcessor.__call__",
        lambda *arguments: read.append(arguments),
    )
    answer = batch_generate(model, tokenizer, PROMPTS, SCHEMAS, max_tokens=60)
    assert not read
    assert all(value is not None for value in answer.values)


def test_sampling_and_processors_of_the_caller_are_used(model, tokenizer):
    calls = []

    def watch(tokens, logits):
        calls.append(tokens.shape)
        return logits

    values = set()
    for seed in range(4):
        mx.random.seed(seed)
        answer = batch_generate(
            model,
            tokenizer,
            PROMPTS,
            SCHEMAS,
            max_tokens=60,
            sampler=make_sampler(temp=1.5),
            logits_processors=[watch],
        )
        for value, schema in zip(answer.values, SCHEMAS, strict=True):
            jsonschema.validate(value, schema)
        values.add(json.dumps(answer.values))
    assert len(values) > 1
    assert calls


def test_prompts_may_be_texts_and_caches_come_back(model, tokenizer, capsys):
    answer = batch_generate(
        model,
        tokenizer,
        ["a city", "numbers"],
        [CITY, NUMBERS],
        max_tokens=50,
        return_prompt_caches=True,
        verbose=True,
    )
    assert len(answer.caches) == 2
    assert "Finished 2/2" in capsys.readouterr().out
    ids = tokenizer.encode("numbers")
    assert answer.texts[1] == alone(model, tokenizer, ids, NUMBERS, 50)


def test_a_text_that_is_cut_off_has_no_value(model, tokenizer):
    answer = batch_generate(
        model, tokenizer, PROMPTS[:2], SCHEMAS[:2], max_tokens=2, complete=False
    )
    assert answer.values == [None, None]
    assert answer.finish_reasons == ["length", "length"]


def test_rows_without_a_schema_are_refused(model, tokenizer):
    with pytest.raises(ValueError, match="4 prompts, 1 schemas"):
        batch_generate(model, tokenizer, PROMPTS, [CITY])


@pytest.mark.parametrize("schema", [{"const": 1}, '{"const": 1}', True, compile_json_schema(True)])
def test_one_schema_for_all_rows_is_refused_with_what_to_write(model, tokenizer, schema):
    with pytest.raises(TypeError, match=r"\[schema\] \* len\(prompts\)"):
        batch_generate(model, tokenizer, [[5]], schema)


def test_a_text_is_not_taken_for_a_prompt_of_each_character(model, tokenizer):
    with pytest.raises(TypeError, match="not a text"):
        batch_generate(model, tokenizer, "ab", [True, True])


@pytest.mark.parametrize(
    ("limit", "error"),
    [
        (-1, ValueError),
        ([0], ValueError),
        ([None], ValueError),
        (9.0, TypeError),
        ("9", TypeError),
        (True, TypeError),
    ],
)
def test_limits_that_are_no_positive_numbers_are_refused(model, tokenizer, limit, error):
    with pytest.raises(error, match="max_tokens"):
        batch_generate(model, tokenizer, [[5]], [True], max_tokens=limit, complete=False)


def test_any_whole_number_is_a_limit(model, tokenizer):
    response = batch_generate(model, tokenizer, [[5]], [{"const": 1}], max_tokens=np.int64(9))
    assert response.values == [1]
