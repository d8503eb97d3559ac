"""What a generation refuses at once, and what has come out where it can not go on."""

from __future__ import annotations

import mlx.core as mx
import pytest
from generation_calls import COUNTRIES, PROMPT, run, tokens_of
from mlx_lm.models.cache import make_prompt_cache
from mlx_lm.sample_utils import make_sampler
from mlx_lm.tokenizer_utils import (
    BPEStreamingDetokenizer,
    NaiveStreamingDetokenizer,
    TokenizerWrapper,
)
from tiny_models import json_tokenizer, tiny_model

from mlx_structured import (
    InvalidTokenError,
    JsonSchemaAcceptorDriver,
    LimitExceededError,
    Vocabulary,
    compile_json_schema,
    generate,
    stream_generate,
)
from mlx_structured.driver import TokenForcer


@pytest.fixture(scope="module")
def tokenizer():
    return json_tokenizer()


@pytest.fixture(scope="module")
def vocabulary(tokenizer):
    return Vocabulary.from_tokenizer(tokenizer)


@pytest.fixture(scope="module")
def model(vocabulary):
    return tiny_model(1, vocabulary.size + 12)


@pytest.fixture(scope="module")
def acceptor():
    return compile_json_schema(COUNTRIES)


# Errors on the way


class Failing:
    """A method that gives up at one of its calls, and goes on as it was before that."""

    def __init__(self, monkeypatch, owner, name, at):
        self.calls = 0
        method = getattr(owner, name)

        def call(driver, *arguments):
            self.calls += 1
            if self.calls == at:
                raise LimitExceededError("takes too much")
            return method(driver, *arguments)

        monkeypatch.setattr(owner, name, call)


def until_error(stream):
    """What came before the error."""
    responses = []
    with pytest.raises(LimitExceededError, match="takes too much"):
        for response in stream:
            responses.append(response)
    return responses


@pytest.mark.parametrize("detokenizer", [NaiveStreamingDetokenizer, BPEStreamingDetokenizer])
@pytest.mark.parametrize("with_cache", [False, True])
@pytest.mark.parametrize("at", [1, 2, 3, 5, 8])
@pytest.mark.parametrize(
    ("owner", "method"),
    [(JsonSchemaAcceptorDriver, "select_valid_tokens"), (TokenForcer, "advance")],
)
def test_all_of_the_text_comes_before_the_error_of_a_step(
    *, model, tokenizer, acceptor, monkeypatch, owner, method, at, with_cache, detokenizer
):
    full = run(model, tokenizer, acceptor)
    sampled = [i for i, response in enumerate(full) if not response.is_forced]
    # A mask is made before a token is sampled, forced text is looked for after that.
    ends = sampled if method == "select_valid_tokens" else [0, *(i + 1 for i in sampled)]
    wrapper = TokenizerWrapper(tokenizer._tokenizer, detokenizer)
    cache = make_prompt_cache(model) if with_cache else None
    Failing(monkeypatch, owner, method, at)
    stream = stream_generate(model, wrapper, PROMPT, acceptor, prompt_cache=cache)
    responses = until_error(stream)
    assert tokens_of(responses) == tokens_of(full)[: ends[at - 1]]
    text = "".join(response.text for response in responses)
    assert text == tokenizer.decode(tokens_of(responses))
    assert all(each.value is None and each.finish_reason is None for each in responses)
    if with_cache:
        assert [each.offset for each in cache] == [len(PROMPT) + len(responses)] * len(cache)


@pytest.mark.parametrize("detokenizer", [NaiveStreamingDetokenizer, BPEStreamingDetokenizer])
def test_what_the_detokenizer_holds_back_comes_before_an_error(
    model, tokenizer, monkeypatch, detokenizer
):
    wrapper = TokenizerWrapper(tokenizer._tokenizer, detokenizer)
    Failing(monkeypatch, JsonSchemaAcceptorDriver, "select_valid_tokens", 2)
    # Its first token is the quote, and its second one half of a character.
    schema = {"type": "string", "pattern": "^[é-ý]$"}
    responses = until_error(stream_generate(model, wrapper, PROMPT, schema))
    assert "".join(map(str, responses)) == '"\ufffd'


@pytest.mark.parametrize("with_cache", [False, True])
def test_a_token_after_which_it_can_not_go_on_comes_before_the_error(
    model, tokenizer, acceptor, monkeypatch, with_cache
):
    full = run(model, tokenizer, acceptor)
    third = [i for i, response in enumerate(full) if not response.is_forced][2]
    cache = make_prompt_cache(model) if with_cache else None
    advance = JsonSchemaAcceptorDriver.advance_token

    def give_up(driver, token):
        if driver.token_count == third:
            raise LimitExceededError("takes too much")
        advance(driver, token)

    monkeypatch.setattr(JsonSchemaAcceptorDriver, "advance_token", give_up)
    responses = until_error(stream_generate(model, tokenizer, PROMPT, acceptor, prompt_cache=cache))
    assert tokens_of(responses) == tokens_of(full)[: third + 1]
    assert "".join(map(str, responses)) == tokenizer.decode(tokens_of(responses))
    if with_cache:
        assert [each.offset for each in cache] == [len(PROMPT) + third + 1] * len(cache)


# Arguments


@pytest.mark.parametrize("with_draft", [False, True])
def test_an_option_that_is_not_known_is_refused_at_once(model, tokenizer, with_draft):
    draft = model if with_draft else None
    with pytest.raises(TypeError, match=r"'no_such_option' is no option .*sampler"):
        stream_generate(model, tokenizer, PROMPT, True, draft_model=draft, no_such_option=1)
    with pytest.raises(TypeError, match="'no_such_option' is no option"):
        generate(model, tokenizer, PROMPT, True, draft_model=draft, no_such_option=1)


@pytest.mark.parametrize("with_draft", [False, True])
def test_options_of_mlx_lm_are_taken(model, tokenizer, with_draft):
    options = {
        "sampler": make_sampler(temp=1.0),
        "logits_processors": [],
        "max_kv_size": None if with_draft else 64,
        "prefill_step_size": 4,
        "kv_bits": None,
        "kv_group_size": 32,
        "quantized_kv_start": 0,
        "prompt_progress_callback": print,
        "input_embeddings": None,
        "num_draft_tokens": 3,
        "prompt_cache": None,
    }
    draft = model if with_draft else None
    answer = generate(model, tokenizer, PROMPT, {"const": 1}, draft_model=draft, **options)
    assert answer.value == 1


def test_an_empty_prompt_is_refused(model, tokenizer, acceptor):
    with pytest.raises(ValueError, match="empty prompt"):
        run(model, tokenizer, acceptor, prompt=[])


@pytest.mark.parametrize(
    "prompt",
    [None, 5, [[5, 6]], [1.5], ["a"], [{"role": "user"}], mx.array([[5]]), mx.array([1.0])],
)
def test_what_is_no_prompt_is_refused_by_name(model, tokenizer, acceptor, prompt):
    with pytest.raises(TypeError, match="a prompt is text or a"):
        stream_generate(model, tokenizer, prompt, acceptor)


def test_negative_ids_of_a_prompt_are_refused(model, tokenizer, acceptor):
    with pytest.raises(ValueError, match="negative token ids: -1"):
        stream_generate(model, tokenizer, [5, -1], acceptor)


@pytest.mark.parametrize(
    ("limit", "error"),
    [(None, ValueError), (-2, ValueError), ("9", TypeError), (9.0, TypeError), (True, TypeError)],
)
def test_what_is_no_number_of_tokens_is_refused(model, tokenizer, limit, error):
    for complete in (True, False):
        with pytest.raises(error, match="max_tokens"):
            stream_generate(model, tokenizer, [5], True, max_tokens=limit, complete=complete)


@pytest.mark.parametrize("drafted", [0, 33])
def test_drafts_that_the_processor_can_not_follow_are_refused(model, tokenizer, acceptor, drafted):
    with pytest.raises(ValueError, match="num_draft_tokens must be 1 to 32"):
        stream_generate(
            model, tokenizer, [5], acceptor, draft_model=model, num_draft_tokens=drafted
        )


def test_a_choice_against_the_mask_says_who_made_it(model, tokenizer, acceptor):
    never = tokenizer.encode("x", add_special_tokens=False)[0]
    with pytest.raises(InvalidTokenError, match="the sampler chose it against the mask"):
        generate(model, tokenizer, [5], acceptor, sampler=lambda _: mx.array([never]))
