"""Generation with forced text, on tiny models: whole documents, at every budget, with every cache.

A value is judged by jsonschema, a text by ``json.dumps``, tokens by a loop without any cache.
"""

from __future__ import annotations

import json
import random
import re

import jsonschema
import mlx.core as mx
import mlx_lm
import numpy as np
import pytest
from mlx_lm.generate import GenerationResponse
from mlx_lm.models import mamba
from mlx_lm.models.cache import RotatingKVCache, make_prompt_cache
from mlx_lm.sample_utils import make_logits_processors, make_sampler
from mlx_lm.tokenizer_utils import (
    BPEStreamingDetokenizer,
    NaiveStreamingDetokenizer,
    TokenizerWrapper,
)
from tiny_models import json_tokenizer, tiny_model

import mlx_structured
from mlx_structured import (
    InvalidTokenError,
    JsonSchemaAcceptorDriver,
    LimitExceededError,
    TokenBudgetError,
    Vocabulary,
    compile_json_schema,
    compile_regex,
    generate,
    make_logit_bias_processor,
    stream_generate,
)
from mlx_structured.decoding import tokenizer_encode
from mlx_structured.driver import TokenForcer

COUNTRY = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 12},
        "continent": {"enum": ["Africa", "Asia", "South America", "Oceania"]},
    },
    "required": ["name", "continent"],
    "additionalProperties": False,
}
COUNTRIES = {"type": "array", "items": COUNTRY, "minItems": 2, "maxItems": 3}
PROMPT = [7, 9, 8, 10, 5]


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


def run(model, tokenizer, schema, prompt=PROMPT, **kwargs):
    return list(stream_generate(model, tokenizer, prompt, schema, **kwargs))


def tokens_of(responses):
    return [response.token for response in responses]


def check_countries(responses):
    text = "".join(response.text for response in responses)
    value = json.loads(text)
    jsonschema.validate(value, COUNTRIES)
    assert text == json.dumps(value, ensure_ascii=False)
    assert responses[-1].value == value
    assert responses[-1].is_complete
    assert [response.finish_reason is None for response in responses[:-1]] == [True] * (
        len(responses) - 1
    )
    assert all(response.value is None for response in responses[:-1])
    return value


def forced_run(tokenizer, vocabulary, schema, text, **kwargs):
    """The text of the tokens that are forced after a text, and what stands for them."""
    driver = JsonSchemaAcceptorDriver(compile_json_schema(schema), vocabulary, **kwargs)
    forcer = TokenForcer(driver, tokenizer_encode(tokenizer, vocabulary))
    for token in tokenizer.encode(text, add_special_tokens=False):
        driver.advance_token(token)
    return [vocabulary.tokens[token].decode() for token in forcer.advance()]


# What is forced


def test_forced_text_has_the_tokens_of_the_tokenizer(tokenizer, vocabulary):
    const = {"const": [{"name": "Nigeria", "continent": "South America", "x": 1}]}
    text = json.dumps(const["const"])
    expected = [
        vocabulary.tokens[token].decode()
        for token in tokenizer.encode(text, add_special_tokens=False)
    ]
    assert forced_run(tokenizer, vocabulary, const, "") == expected
    assert len(expected) < len(text) / 2


@pytest.mark.parametrize(
    ("first", "second", "held"),
    [
        # ``"A`` and ``: "A`` are tokens, so what they begin with may be written in other ways.
        ("Africa", "Europe", b': "'),
        # Nothing begins with a quote and a digit.
        ("5a", "6b", b""),
        # No choice between these begins with ``"A``.
        ("africa", "Best", b""),
    ],
)
def test_tokens_that_may_become_a_longer_one_are_left_to_the_model(first, second, held):
    merged = [b': "A', b'"A', b": ", b': "Ax', b'"continent']
    tokens = [*(bytes([byte]) for byte in range(256)), *merged, None]
    small = Vocabulary(tokens, eos_token_ids=[len(tokens) - 1])
    schema = {
        "type": "object",
        "properties": {"continent": {"enum": [first, second]}},
        "required": ["continent"],
        "additionalProperties": False,
    }
    driver = JsonSchemaAcceptorDriver(compile_json_schema(schema), small)
    forcer = TokenForcer(driver, list)
    whole = b'{"continent": "'
    assert bytes(forcer.advance()) == whole[: len(whole) - len(held)]
    assert forcer.advance() == []


def test_nothing_is_forced_where_the_document_may_end(tokenizer, vocabulary):
    assert forced_run(tokenizer, vocabulary, {"enum": [1, 12]}, "") == []
    assert forced_run(tokenizer, vocabulary, {"enum": [1, 12]}, "1") == []


def test_a_text_that_begins_inside_a_character_is_forced_with_the_fewest_tokens(vocabulary):
    tokens = [bytes([byte]) for byte in range(256)] + [b"\xa9x", b"\xa9x!", None]
    cut = Vocabulary(tokens, eos_token_ids=[258])
    driver = JsonSchemaAcceptorDriver(compile_json_schema({"const": "\xe9x!y"}), cut)
    for byte in b'"\xc3':
        driver.advance_token(byte)
    forcer = TokenForcer(driver, lambda text: None)
    assert forcer.advance() == [257, ord("y"), ord('"')]


def test_a_tokenizer_with_a_space_before_every_text_is_asked_within_one(vocabulary):
    class Spacing:
        def encode(self, text, add_special_tokens):
            assert not add_special_tokens
            return [32, *text.encode()]

    tokens = [bytes([byte]) for byte in range(256)]
    plain = Vocabulary([*tokens, None], eos_token_ids=[256])
    encode = tokenizer_encode(Spacing(), plain)
    assert encode(b'{"a": 1') == list(b'{"a": 1')
    assert encode("é".encode()[1:]) is None
    assert encode(b'"\xc3') == list(b'"')


# The loop


@pytest.mark.parametrize("seed", range(5))
def test_every_model_writes_a_valid_document(tokenizer, vocabulary, acceptor, seed):
    model = tiny_model(seed, vocabulary.size)
    responses = run(model, tokenizer, acceptor)
    check_countries(responses)
    assert responses[-1].finish_reason == "stop"
    assert any(response.is_forced for response in responses)


def test_greedy_tokens_are_those_of_the_model_without_any_cache(
    model, tokenizer, vocabulary, acceptor
):
    responses = run(model, tokenizer, acceptor)
    driver = JsonSchemaAcceptorDriver(acceptor, vocabulary)
    tokens = []
    for response in responses:
        if not response.is_forced:
            logits = np.array(model(mx.array([[*PROMPT, *tokens]]))[0, -1])
            bits = driver.select_valid_tokens().view(np.uint8)
            allowed = np.flatnonzero(np.unpackbits(bits, bitorder="little"))
            assert response.token == allowed[np.argmax(logits[allowed])]
        driver.advance_token(response.token)
        tokens.append(response.token)
    assert driver.in_accepted_state()


def test_without_forced_text_the_tokens_are_those_of_the_processor(model, tokenizer):
    # A number leaves a choice at every step, so that nothing can be forced.
    schema = {"type": "integer", "minimum": 0, "maximum": 99999}
    responses = run(model, tokenizer, schema, max_tokens=30)
    assert not any(response.is_forced for response in responses)
    processor = make_logit_bias_processor(tokenizer, schema)
    plain = list(
        mlx_lm.stream_generate(
            model, tokenizer, PROMPT, max_tokens=30, logits_processors=[processor]
        )
    )
    assert tokens_of(responses) == tokens_of(plain)[: len(responses)]
    assert responses[-1].value == int("".join(response.text for response in plain))


@pytest.mark.parametrize("seed", range(3))
def test_where_text_can_be_split_in_one_way_the_tokens_are_those_of_the_processor(acceptor, seed):
    tokenizer = json_tokenizer(257)
    assert max(len(token or b"") for token in Vocabulary.from_tokenizer(tokenizer).tokens) == 1
    model = tiny_model(seed, 257)
    responses = run(model, tokenizer, acceptor, max_tokens=130)
    processor = make_logit_bias_processor(tokenizer, acceptor, max_tokens=130)
    plain = mlx_lm.stream_generate(
        model, tokenizer, PROMPT, max_tokens=130, logits_processors=[processor]
    )
    assert sum(response.is_forced for response in responses) > len(responses) / 2
    assert tokens_of(responses) == tokens_of(plain)[: len(responses)]


def test_forced_tokens_cost_no_pass_of_their_own(model, tokenizer, acceptor):
    passes = []

    class Counting:
        layers = model.layers

        def __call__(self, tokens, cache=None):
            passes.append(tokens.shape[1])
            return model(tokens, cache=cache)

    responses = run(Counting(), tokenizer, acceptor)
    sampled = sum(not response.is_forced for response in responses)
    # One for the prompt without its last token, one before each sampled token, and perhaps a last
    # one, never evaluated, for the probabilities of forced tokens at the end.
    assert sampled + 1 <= len(passes) <= sampled + 2
    assert sum(passes) >= len(PROMPT) + len(responses) - 2


@pytest.mark.parametrize("step", [1, 2, 2048])
def test_the_steps_of_prefill_make_no_difference(model, tokenizer, acceptor, step):
    expected = tokens_of(run(model, tokenizer, acceptor))
    progress = []
    tokens = run(
        model,
        tokenizer,
        acceptor,
        prefill_step_size=step,
        prompt_progress_callback=lambda done, total: progress.append((done, total)),
    )
    assert tokens_of(tokens) == expected
    assert progress[0] == (0, len(PROMPT))
    assert progress[-1] == (len(PROMPT), len(PROMPT))


@pytest.mark.parametrize("schema", [{"const": 7}, {"const": ["a" * 200]}, {"type": "null"}])
def test_a_document_without_any_choice_is_written_whole(model, tokenizer, schema):
    cache = make_prompt_cache(model)
    responses = run(model, tokenizer, schema, prompt_cache=cache)
    assert all(response.is_forced for response in responses)
    assert responses[-1].value == schema.get("const")
    assert responses[-1].finish_reason == "stop"
    assert cache[0].offset == len(PROMPT) + len(responses) + 1
    for response in responses:
        assert mx.sum(mx.exp(response.logprobs)).item() == pytest.approx(1.0, abs=1e-3)


def test_responses_have_the_fields_of_mlx_lm(model, tokenizer, acceptor):
    responses = run(model, tokenizer, acceptor)
    for number, response in enumerate(responses, 1):
        assert isinstance(response, GenerationResponse)
        assert response.generation_tokens == number
        assert response.prompt_tokens == len(PROMPT)
        assert response.prompt_tps > 0
        assert response.generation_tps > 0
        assert not response.from_draft
        assert response.logprobs.shape == (model.args.vocab_size,)
        assert mx.sum(mx.exp(response.logprobs)).item() == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("kind", ["text", "ids", "array"])
def test_every_kind_of_prompt_is_taken(model, tokenizer, acceptor, kind):
    ids = tokenizer.encode("a list", add_special_tokens=True)
    prompt = {"text": "a list", "ids": ids, "array": mx.array(ids)}[kind]
    responses = run(model, tokenizer, acceptor, prompt=prompt)
    assert tokens_of(responses) == tokens_of(run(model, tokenizer, acceptor, prompt=ids))


def test_sampling_and_processors_of_the_caller_stay_in_the_language(model, tokenizer, acceptor):
    seen = []

    def watch(tokens, logits):
        seen.append(tokens.tolist())
        return logits

    values = set()
    for seed in range(6):
        mx.random.seed(seed)
        responses = run(
            model,
            tokenizer,
            acceptor,
            sampler=make_sampler(temp=1.5, top_p=0.9),
            logits_processors=[*make_logits_processors(repetition_penalty=1.3), watch],
            max_tokens=120,
        )
        values.add(json.dumps(check_countries(responses)))
        assert seen[-1] == [*PROMPT, *tokens_of(responses)][: len(seen[-1])]
    assert len(values) > 3


# Caches


def test_a_rotating_cache_is_shorter_than_the_document(model, tokenizer, acceptor):
    check_countries(run(model, tokenizer, acceptor, max_kv_size=16))
    cache = [RotatingKVCache(max_size=64, keep=4) for _ in model.layers]
    expected = tokens_of(run(model, tokenizer, acceptor, max_tokens=45))
    assert tokens_of(run(model, tokenizer, acceptor, prompt_cache=cache, max_tokens=45)) == expected


def test_a_quantized_cache_is_used(vocabulary, tokenizer, acceptor):
    model = tiny_model(3, vocabulary.size, hidden_size=128)  # groups of 64 are quantized
    cache = make_prompt_cache(model)
    responses = run(model, tokenizer, acceptor, prompt_cache=cache, kv_bits=8, quantized_kv_start=8)
    check_countries(responses)
    assert "Quantized" in type(cache[0]).__name__


def test_a_cache_that_can_not_be_trimmed_will_do(vocabulary, tokenizer, acceptor):
    mx.random.seed(2)
    model = mamba.Model(
        mamba.ModelArgs(
            model_type="mamba",
            vocab_size=vocabulary.size,
            hidden_size=32,
            intermediate_size=32,
            state_size=4,
            num_hidden_layers=2,
            conv_kernel=3,
            use_bias=False,
            use_conv_bias=True,
            time_step_rank=2,
        )
    )
    assert not any(each.is_trimmable() for each in make_prompt_cache(model))
    responses = run(model, tokenizer, acceptor)
    check_countries(responses)
    driver = JsonSchemaAcceptorDriver(acceptor, vocabulary)
    for response in responses:
        driver.advance_token(response.token)


def test_a_prompt_cache_ends_with_the_document_and_eos(model, tokenizer, vocabulary, acceptor):
    cache = make_prompt_cache(model)
    responses = run(model, tokenizer, acceptor, prompt_cache=cache)
    fed = [*PROMPT, *tokens_of(responses), vocabulary.eos_token_ids[0]]
    assert cache[0].offset == len(fed)
    again = run(model, tokenizer, acceptor, prompt=[11, 12], prompt_cache=cache)
    alone = run(model, tokenizer, acceptor, prompt=[*fed, 11, 12])
    assert tokens_of(again) == tokens_of(alone)


@pytest.mark.parametrize("taken", [1, 2, 5, 9])
def test_a_generation_that_is_left_has_fed_what_it_gave_out(model, tokenizer, acceptor, taken):
    cache = make_prompt_cache(model)
    stream = stream_generate(model, tokenizer, PROMPT, acceptor, prompt_cache=cache)
    responses = [next(stream) for _ in range(taken)]
    stream.close()
    full = tokens_of(run(model, tokenizer, acceptor))
    fed = cache[0].offset - len(PROMPT)
    assert all(each.offset == cache[0].offset for each in cache)
    assert len(responses) <= fed <= len(full)
    logits = model(mx.array([[11]]), cache=cache)[0, -1]
    expected = model(mx.array([[*PROMPT, *full[:fed], 11]]))[0, -1]
    assert mx.allclose(logits, expected, atol=1e-4)


def test_an_interruption_inside_the_model_leaves_the_layers_alike(model, tokenizer, acceptor):
    cache = make_prompt_cache(model)
    countdown = [6]

    class Interrupted:
        layers = model.layers

        def __call__(self, tokens, cache):
            countdown[0] -= 1
            if not countdown[0]:
                first = cache[0]
                keys = mx.zeros((1, 2, tokens.shape[1], 16))
                first.update_and_fetch(keys, keys)
                raise KeyboardInterrupt
            return model(tokens, cache=cache)

    with pytest.raises(KeyboardInterrupt):
        run(Interrupted(), tokenizer, acceptor, prompt_cache=cache)
    assert cache[0].offset == cache[1].offset > len(PROMPT)


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


# Budgets


@pytest.mark.parametrize("count", [60, pytest.param(1000, marks=pytest.mark.slow)])
def test_generations_of_any_budget_parse_and_validate(tokenizer, vocabulary, count):
    rng = random.Random(6)
    schemas = [
        COUNTRIES,
        COUNTRY,
        {"type": "array", "items": {"type": "integer"}, "minItems": 1},
        {"type": "object", "additionalProperties": {"type": "string"}},
        {"enum": ["a", "b" * 30, {"c": [1, 2, 3]}]},
    ]
    models = [tiny_model(seed, vocabulary.size) for seed in range(3)]
    acceptors = [compile_json_schema(schema) for schema in schemas]
    limits = set()
    for number in range(count):
        index = number % len(schemas)
        needed = JsonSchemaAcceptorDriver(acceptors[index], vocabulary).tokens_to_complete()
        limit = rng.randint(needed, 60)
        mx.random.seed(number)
        answer = generate(
            rng.choice(models),
            tokenizer,
            [number % 50, 3],
            acceptors[index],
            max_tokens=limit,
            sampler=make_sampler(temp=1.0),
        )
        assert answer.generation_tokens <= limit + 1
        assert json.loads(answer.text) == answer.value
        jsonschema.validate(answer.value, schemas[index])
        limits.add((index, limit))
    assert len(limits) > 40


def test_too_few_tokens_raise_before_anything_is_generated(model, tokenizer, acceptor):
    with pytest.raises(TokenBudgetError, match="max_tokens=4 is too few"):
        stream_generate(None, tokenizer, PROMPT, acceptor, max_tokens=4)
    with pytest.raises(ValueError, match="max_tokens"):
        stream_generate(model, tokenizer, PROMPT, acceptor, max_tokens=0)


def test_without_complete_the_text_is_cut_off(model, tokenizer, acceptor):
    full = run(model, tokenizer, acceptor, max_tokens=-1)
    cut = run(model, tokenizer, acceptor, max_tokens=4, complete=False)
    assert tokens_of(cut) == tokens_of(full)[:4]
    assert cut[-1].finish_reason == "length"
    assert cut[-1].value is None
    assert not cut[-1].is_complete


def test_a_document_that_could_go_on_is_complete_at_the_limit(model, tokenizer):
    schema = {"type": "integer", "minimum": 0, "maximum": 10**12}
    (*_, last) = run(model, tokenizer, schema, max_tokens=1)
    assert last.is_complete
    assert last.value == int(last.text)


def test_a_processor_with_max_tokens_completes_in_mlx_lms_own_loop(vocabulary, tokenizer, acceptor):
    for seed in range(4):
        model = tiny_model(seed, vocabulary.size)
        for limit in (28, 31, 40, 60):
            processor = make_logit_bias_processor(tokenizer, acceptor, max_tokens=limit)
            text = mlx_lm.generate(
                model, tokenizer, PROMPT, max_tokens=limit, logits_processors=[processor]
            )
            jsonschema.validate(json.loads(text), COUNTRIES)


# Drafts, and the rest


@pytest.mark.parametrize("drafted", [1, 3])
@pytest.mark.parametrize("limit", [30, 100])
def test_speculative_decoding_has_the_same_constraint(model, tokenizer, acceptor, drafted, limit):
    draft = tiny_model(2, model.args.vocab_size)
    responses = run(
        model,
        tokenizer,
        acceptor,
        max_tokens=limit,
        draft_model=draft,
        num_draft_tokens=drafted,
    )
    check_countries(responses)
    processor = make_logit_bias_processor(tokenizer, acceptor, max_tokens=limit)
    plain = mlx_lm.generate(
        model, tokenizer, PROMPT, max_tokens=limit, logits_processors=[processor]
    )
    assert "".join(response.text for response in responses) == plain


def test_generate_gives_the_whole_text_and_the_value(model, tokenizer, acceptor, capsys):
    answer = generate(model, tokenizer, PROMPT, acceptor, verbose=True)
    assert json.loads(str(answer)) == answer.value
    jsonschema.validate(answer.value, COUNTRIES)
    printed = capsys.readouterr().out
    assert printed.startswith(answer.text)
    assert "tokens-per-sec" in printed


def test_options_of_the_schema_are_passed_on(model, tokenizer):
    schema = {"const": {"a": [1, 2]}}
    assert generate(model, tokenizer, PROMPT, schema, style="compact").text == '{"a":[1,2]}'
    with pytest.raises(ValueError, match="compile_json_schema"):
        stream_generate(model, tokenizer, PROMPT, compile_json_schema(schema), style="compact")


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


@pytest.mark.parametrize("limit", [11, 14, 40])
def test_the_value_of_a_regular_expression_is_its_text(model, tokenizer, limit):
    pattern = r"\d{3}-\d{2}-\d{4}|[a-zé]{12,}!"
    answer = generate(model, tokenizer, PROMPT, compile_regex(pattern), max_tokens=limit)
    assert re.fullmatch(pattern, answer.value, re.ASCII)
    assert answer.text == answer.value


def test_an_empty_prompt_is_refused(model, tokenizer, acceptor):
    with pytest.raises(ValueError, match="empty prompt"):
        run(model, tokenizer, acceptor, prompt=[])


def test_the_package_exports_generation():
    assert {"generate", "stream_generate", "batch_generate"} <= set(mlx_structured.__all__)


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


def test_drafts_go_on_without_a_limit(model, tokenizer, acceptor):
    answer = generate(model, tokenizer, [5], acceptor, max_tokens=-1, draft_model=model)
    assert answer.is_complete


@pytest.mark.parametrize("drafted", [0, 33])
def test_drafts_that_the_processor_can_not_follow_are_refused(model, tokenizer, acceptor, drafted):
    with pytest.raises(ValueError, match="num_draft_tokens must be 1 to 32"):
        stream_generate(
            model, tokenizer, [5], acceptor, draft_model=model, num_draft_tokens=drafted
        )


@pytest.mark.parametrize("with_draft", [False, True])
def test_a_text_that_can_only_be_empty_is_answered_with_eos(model, tokenizer, with_draft):
    draft = model if with_draft else None
    answer = generate(model, tokenizer, [5], compile_regex(""), draft_model=draft)
    assert (answer.text, answer.value, answer.finish_reason) == ("", "", "stop")
    assert answer.token in tokenizer.eos_token_ids


def test_a_choice_against_the_mask_says_who_made_it(model, tokenizer, acceptor):
    never = tokenizer.encode("x", add_special_tokens=False)[0]
    with pytest.raises(InvalidTokenError, match="the sampler chose it against the mask"):
        generate(model, tokenizer, [5], acceptor, sampler=lambda _: mx.array([never]))
