"""Processors in mlx-lm's own loops, with tiny models of random weights.

The language of the fake driver is small enough to judge by eye: lists of up to four digits, such as
``[1,2]``.
"""

from __future__ import annotations

import json
import threading

import mlx.core as mx
import mlx_lm
import numpy as np
import pytest
from mlx_lm.generate import BatchGenerator, generate_step, speculative_generate_step
from mlx_lm.models.cache import make_prompt_cache
from mlx_lm.sample_utils import make_logits_processors, make_sampler
from mlx_lm.tokenizer_utils import TokenizerWrapper
from processor_calls import PADDED, PROMPT, call, steps
from tiny_models import tiny_model
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit
from transformers import PreTrainedTokenizerFast

from mlx_structured.errors import EmptyMaskError, InvalidTokenError, SequenceError
from mlx_structured.masks import MASK_CACHE
from mlx_structured.processor import LONGEST_DRAFT, LogitBiasProcessor

SIZE = 70
EOS = (2, 68)
OPEN, CLOSE, COMMA = 3, 66, 41
DIGITS = range(50, 60)
TEXTS = {OPEN: "[", CLOSE: "]", COMMA: ",", **{token: str(token - 50) for token in DIGITS}}
LONGEST_LIST = 4


def next_tokens(taken):
    """What may follow these tokens."""
    if not taken:
        return {OPEN}
    if taken[-1] in (CLOSE, *EOS):
        return set(EOS)
    if taken[-1] == OPEN:
        return {CLOSE, *DIGITS}
    if taken[-1] == COMMA:
        return set(DIGITS)
    return {CLOSE} if taken.count(COMMA) == LONGEST_LIST - 1 else {CLOSE, COMMA}


def text_of(tokens):
    return "".join(TEXTS[token] for token in tokens if token not in EOS)


def is_document(tokens):
    """Judged by another reader than the driver."""
    value = json.loads(text_of(tokens))
    return isinstance(value, list) and len(value) <= LONGEST_LIST and all(v < 10 for v in value)


class ListDriver:
    """The language above, as a driver. ``log`` takes the order of events."""

    def __init__(self, log=None):
        self.taken = []
        self.log = [] if log is None else log
        self.bitmaps = {}

    def select_valid_tokens(self):
        self.log.append("select")
        allowed = frozenset(next_tokens(self.taken))
        if allowed not in self.bitmaps:
            words = np.zeros((SIZE + 31) // 32, dtype=np.uint32)
            for token in allowed:
                words[token >> 5] |= np.uint32(1 << (token & 31))
            words.flags.writeable = False
            self.bitmaps[allowed] = words
        return self.bitmaps[allowed]

    def advance_token(self, token_id):
        assert type(token_id) is int
        self.log.append(("advance", token_id))
        if token_id not in next_tokens(self.taken):
            raise InvalidTokenError(token_id, f"after {self.taken}")
        self.taken.append(token_id)

    @property
    def is_finished(self):
        return bool(self.taken) and self.taken[-1] in EOS

    def rollback(self, count):
        assert 0 <= count <= len(self.taken)
        del self.taken[len(self.taken) - count :]


@pytest.fixture(scope="module")
def model():
    return tiny_model(1, PADDED)


@pytest.fixture(scope="module")
def tokenizer():
    words = {TEXTS.get(token, f"<{token}>"): token for token in range(SIZE)}
    backend = Tokenizer(WordLevel(words, unk_token="<0>"))
    backend.pre_tokenizer = WhitespaceSplit()
    fast = PreTrainedTokenizerFast(tokenizer_object=backend, eos_token=f"<{EOS[0]}>")
    return TokenizerWrapper(fast, eos_token_ids=EOS)


def until_eos(tokens):
    end = next(position for position, token in enumerate(tokens) if token in EOS)
    return tokens[:end]


# One call


@pytest.mark.parametrize("prompt", [PROMPT, PROMPT[-1:], []], ids=["whole", "last token", "none"])
def test_only_what_follows_the_first_call_counts(prompt):
    processor = LogitBiasProcessor(ListDriver())
    assert call(processor, prompt) == {OPEN}
    assert call(processor, [*prompt, OPEN]) == {CLOSE, *DIGITS}
    assert call(processor, [*prompt, OPEN, 51]) == {CLOSE, COMMA}
    assert processor.driver.taken == [OPEN, 51]


def test_a_prompt_that_reads_like_a_document_is_not_taken_for_one():
    processor = LogitBiasProcessor(ListDriver())
    assert call(processor, [OPEN, 51, CLOSE]) == {OPEN}
    assert processor.driver.taken == []


@pytest.mark.parametrize("dtype", [mx.float32, mx.float16, mx.bfloat16])
@pytest.mark.parametrize("shape", [(PADDED,), (1, PADDED), (1, SIZE)])
def test_logits_keep_their_type_shape_and_values(shape, dtype):
    logits = mx.random.normal(shape).astype(dtype)
    masked = LogitBiasProcessor(ListDriver())(mx.array(PROMPT), logits)
    assert (masked.dtype, masked.shape) == (dtype, shape)
    assert masked.reshape(-1)[OPEN].item() == logits.reshape(-1)[OPEN].item()
    assert int(mx.sum(masked > -mx.inf)) == 1


def test_padding_that_the_model_likes_best_is_never_chosen():
    logits = mx.where(mx.arange(PADDED) >= SIZE, 100.0, -50.0)[None]
    masked = LogitBiasProcessor(ListDriver())(mx.array(PROMPT), logits)
    assert mx.argmax(masked, axis=-1).tolist() == [OPEN]


def test_logits_narrower_than_the_vocabulary_keep_their_allowed_tokens():
    processor = LogitBiasProcessor(ListDriver())
    call(processor, PROMPT, mx.zeros((1, 52)))
    assert call(processor, [*PROMPT, OPEN], mx.zeros((1, 52))) == {50, 51}


def test_logits_without_any_allowed_token_raise_instead_of_turning_to_minus_infinity():
    processor = LogitBiasProcessor(ListDriver())
    with pytest.raises(EmptyMaskError, match="none of the 3 tokens"):
        call(processor, PROMPT, mx.zeros((1, OPEN)))


def test_both_eos_are_allowed_at_the_end_and_alone_after_it():
    processor = LogitBiasProcessor(ListDriver())
    tokens = [*PROMPT]
    for token in (OPEN, CLOSE, EOS[1], EOS[0], EOS[0]):
        call(processor, tokens)
        tokens.append(token)
    assert call(processor, tokens) == set(EOS)


@pytest.mark.parametrize(
    ("tokens_shape", "logits_shape"),
    [((5,), (2, PADDED)), ((2, 5), (2, PADDED)), ((1, 5), (1, PADDED)), ((5,), (1, 1, PADDED))],
)
def test_a_whole_batch_is_refused_with_the_advice_to_use_a_processor_for_each_row(
    tokens_shape, logits_shape
):
    processor = LogitBiasProcessor(ListDriver())
    with pytest.raises(ValueError, match="each row of a batch its own") as error:
        processor(mx.zeros(tokens_shape, dtype=mx.int32), mx.zeros(logits_shape))
    assert str(tokens_shape) in str(error.value)
    assert str(logits_shape) in str(error.value)


def test_integer_logits_are_refused():
    with pytest.raises(TypeError, match="floating"):
        LogitBiasProcessor(ListDriver())(mx.array(PROMPT), mx.zeros((1, SIZE), dtype=mx.int32))


def test_the_forward_pass_is_dispatched_before_the_mask_is_asked_for(monkeypatch):
    log = []
    dispatch = mx.async_eval
    names = {}
    monkeypatch.setattr(
        mx, "async_eval", lambda *arrays: (log.append(names[id(arrays[0])]), dispatch(*arrays))
    )
    processor = LogitBiasProcessor(ListDriver(log))
    tokens = mx.array(PROMPT)
    for token in (OPEN, 51):
        logits = mx.zeros((1, PADDED)) + 1
        names.update({id(tokens): "tokens", id(logits): "logits"})
        processor(tokens, logits)
        tokens = mx.concatenate([tokens, mx.array([token])])
    assert log == [
        *("tokens", "logits", "select"),
        *("tokens", "logits", ("advance", OPEN), "select"),
    ]


def test_a_state_seen_before_costs_no_new_mask():
    processor = LogitBiasProcessor(ListDriver())
    tokens = [*PROMPT, OPEN, 51, COMMA, 52]
    for end in range(len(PROMPT), len(tokens) + 1):
        call(processor, tokens[:end])
    before = len(MASK_CACHE)
    for token in (COMMA, 53, COMMA):
        tokens.append(token)
        call(processor, tokens)
    assert len(MASK_CACHE) == before


# Going back


def test_a_changed_end_is_rolled_back_and_read_again():
    processor = LogitBiasProcessor(ListDriver())
    for end in range(6):
        call(processor, [5, OPEN, 51, COMMA, 52, CLOSE][: end + 1])
    assert call(processor, [5, OPEN, 51, COMMA, 53]) == {CLOSE, COMMA}
    assert processor.driver.taken == [OPEN, 51, COMMA, 53]
    assert call(processor, [5, OPEN, 51]) == {CLOSE, COMMA}
    assert call(processor, [5, OPEN, CLOSE, EOS[0]]) == set(EOS)
    assert processor.driver.taken == [OPEN, CLOSE, EOS[0]]


def test_a_finished_draft_can_be_taken_back():
    processor = LogitBiasProcessor(ListDriver())
    for end in range(4):
        call(processor, [5, OPEN, CLOSE, EOS[0]][: end + 1])
    assert call(processor, [5]) == {OPEN}
    assert call(processor, [5, OPEN]) == {CLOSE, *DIGITS}


@pytest.mark.parametrize("drafted", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("draft_seed", [1, 2, 3])
def test_speculative_decoding_chooses_what_plain_decoding_does(model, draft_seed, drafted):
    plain = steps(model, LogitBiasProcessor(ListDriver()), 14)
    driver = ListDriver()
    generated = list(
        speculative_generate_step(
            mx.array(PROMPT),
            model,
            tiny_model(draft_seed, PADDED),
            num_draft_tokens=drafted,
            max_tokens=14,
            logits_processors=[LogitBiasProcessor(driver)],
        )
    )
    assert [token for token, _, _ in generated] == plain
    assert is_document(until_eos(plain))
    if draft_seed == 1:
        assert any(from_draft for _, _, from_draft in generated)


def test_speculative_decoding_of_sampled_tokens_stays_in_the_language(model):
    draft = tiny_model(2, PADDED)
    accepted = []
    for seed in range(6):
        mx.random.seed(seed)
        generated = list(
            speculative_generate_step(
                mx.array(PROMPT),
                model,
                draft,
                num_draft_tokens=3,
                max_tokens=14,
                sampler=make_sampler(temp=1.0),
                logits_processors=[LogitBiasProcessor(ListDriver())],
            )
        )
        assert is_document(until_eos([token for token, _, _ in generated]))
        accepted += [from_draft for _, _, from_draft in generated]
    assert True in accepted
    assert False in accepted


# Used again


@pytest.mark.skipif(
    tuple(map(int, mlx_lm.__version__.split(".")[:2])) < (0, 32),
    reason="before 0.32 mlx-lm shows one token of the prompt, as it does in speculative decoding",
)
def test_a_second_generation_raises_until_reset(model, tokenizer):
    processor = LogitBiasProcessor(ListDriver())

    def generate():
        return mlx_lm.generate(
            model, tokenizer, PROMPT, max_tokens=20, logits_processors=[processor]
        )

    first = generate()
    assert isinstance(json.loads(first), list)
    for _ in range(2):
        with pytest.raises(SequenceError, match=r"reset\(\)"):
            generate()
    processor.reset()
    assert generate() == first


@pytest.mark.parametrize(
    "prompt",
    [
        [6, *PROMPT[1:]],
        [*PROMPT[:-1], 6],
        PROMPT[:-1],
        [6, 7, 8, 9],
        [6] * 30,
        [*PROMPT, OPEN, 51, CLOSE, EOS[0], 6, 11, 12],
        [],
    ],
)
def test_another_prompt_is_not_taken_for_a_continuation(prompt):
    processor = LogitBiasProcessor(ListDriver())
    tokens = [*PROMPT, OPEN, 51, CLOSE, EOS[0]]
    for end in range(len(PROMPT), len(tokens) + 1):
        call(processor, tokens[:end])
    with pytest.raises(SequenceError, match=r"reset\(\) or make a new one"):
        call(processor, prompt)
    processor.reset()
    assert call(processor, prompt) == {OPEN}


@pytest.mark.parametrize("prompt", [[5], PROMPT], ids=["last token", "whole"])
def test_an_unfinished_draft_goes_back_to_the_prompt_once_only(prompt):
    processor = LogitBiasProcessor(ListDriver())
    for _ in range(2):
        for _ in range(2):
            assert call(processor, prompt) == {OPEN}
            assert call(processor, [*prompt, OPEN]) == {CLOSE, *DIGITS}
        with pytest.raises(SequenceError, match=r"reset\(\)"):
            call(processor, prompt)
        assert call(processor, [*prompt, OPEN, 51]) == {CLOSE, COMMA}
        processor.reset()


def test_a_finished_document_does_not_go_back_to_a_whole_prompt():
    processor = LogitBiasProcessor(ListDriver())
    tokens = [*PROMPT, OPEN, CLOSE, EOS[0]]
    for end in range(len(PROMPT), len(tokens) + 1):
        call(processor, tokens[:end])
    with pytest.raises(SequenceError, match="begin again"):
        call(processor, PROMPT)
    assert call(processor, tokens) == set(EOS)


def test_going_back_further_than_any_draft_is_another_generation():
    processor = LogitBiasProcessor(ListDriver())
    tokens = [5, OPEN, CLOSE, *([EOS[0]] * LONGEST_DRAFT)]
    for end in range(1, len(tokens) + 1):
        call(processor, tokens[:end])
    with pytest.raises(SequenceError, match="draft"):
        call(processor, tokens[:2])
    assert call(processor, tokens[:3]) == set(EOS)


def test_a_token_that_was_masked_is_named_and_the_processor_stays_usable():
    processor = LogitBiasProcessor(ListDriver())
    call(processor, PROMPT)
    with pytest.raises(SequenceError, match="token 41 is not allowed") as error:
        call(processor, [*PROMPT, OPEN, COMMA])
    assert isinstance(error.value.__cause__, InvalidTokenError)
    assert call(processor, [*PROMPT, OPEN, 51]) == {CLOSE, COMMA}


def test_reset_leaves_what_the_driver_had_taken_before():
    driver = ListDriver()
    driver.advance_token(OPEN)
    processor = LogitBiasProcessor(driver)
    processor.reset()
    assert call(processor, PROMPT) == {CLOSE, *DIGITS}
    call(processor, [*PROMPT, 51])
    processor.reset()
    assert driver.taken == [OPEN]


# mlx-lm's loops


@pytest.mark.parametrize("seed", range(6))
def test_every_model_writes_a_document_and_nothing_after_eos(seed):
    tokens = steps(tiny_model(seed, PADDED), LogitBiasProcessor(ListDriver()), 20)
    document = until_eos(tokens)
    assert is_document(document)
    assert set(tokens[len(document) :]) <= set(EOS)


def test_the_probabilities_after_eos_are_still_probabilities(model):
    generated = list(
        generate_step(
            mx.array(PROMPT),
            model,
            max_tokens=20,
            logits_processors=[LogitBiasProcessor(ListDriver())],
        )
    )
    assert generated[-1][0] in EOS
    for _, logprobs in generated:
        assert mx.sum(mx.exp(logprobs)).item() == pytest.approx(1.0, abs=1e-4)


@pytest.mark.parametrize("max_tokens", [1, 2, 3])
def test_a_generation_cut_short_is_the_start_of_the_uncut_one(model, max_tokens):
    full = steps(model, LogitBiasProcessor(ListDriver()), 14)
    assert steps(model, LogitBiasProcessor(ListDriver()), max_tokens) == full[:max_tokens]


def test_the_model_chooses_among_allowed_tokens_as_it_would(model):
    # Greedy by hand, without any processor or cache.
    tokens = []
    while not tokens or tokens[-1] not in EOS:
        logits = model(mx.array([[*PROMPT, *tokens]]))[0, -1].tolist()
        tokens.append(max(next_tokens(tokens), key=lambda token: logits[token]))
    processor = LogitBiasProcessor(ListDriver())
    assert steps(model, processor, len(tokens)) == tokens


def test_sampling_with_penalties_stays_in_the_language(model):
    documents = set()
    for seed in range(8):
        mx.random.seed(seed)
        tokens = steps(
            model,
            LogitBiasProcessor(ListDriver()),
            14,
            sampler=make_sampler(temp=1.5, top_p=0.95, min_p=0.01),
        )
        documents.add(text_of(until_eos(tokens)))
        processors = [
            *make_logits_processors(logit_bias={COMMA: 3.0}, repetition_penalty=1.5),
            LogitBiasProcessor(ListDriver()),
        ]
        generated = generate_step(
            mx.array(PROMPT), model, max_tokens=14, logits_processors=processors
        )
        assert is_document(until_eos([token for token, _ in generated]))
    assert all(isinstance(json.loads(document), list) for document in documents)
    assert len(documents) > 3


@pytest.mark.parametrize("prefill_step_size", [1, 2, 2048])
def test_the_steps_of_prefill_make_no_difference(model, prefill_step_size):
    processor = LogitBiasProcessor(ListDriver())
    tokens = steps(model, processor, 14, prefill_step_size=prefill_step_size)
    assert tokens == steps(model, LogitBiasProcessor(ListDriver()), 14)


def test_a_rotating_cache_makes_no_difference_to_the_language(model):
    tokens = steps(model, LogitBiasProcessor(ListDriver()), 14, max_kv_size=8)
    assert is_document(until_eos(tokens))


def test_a_prompt_cache_goes_on_with_a_processor_of_its_own(model, tokenizer):
    cache = make_prompt_cache(model)
    texts = [
        mlx_lm.generate(
            model,
            tokenizer,
            prompt,
            max_tokens=20,
            prompt_cache=cache,
            logits_processors=[LogitBiasProcessor(ListDriver())],
        )
        for prompt in (PROMPT, [11, 12, 13], [14])
    ]
    assert all(isinstance(json.loads(text), list) for text in texts)


@pytest.mark.parametrize("prompt", ["<7> <9> <8>", [7, 9, 8], mx.array([7, 9, 8])])
def test_stream_generate_takes_every_kind_of_prompt(model, tokenizer, prompt):
    processor = LogitBiasProcessor(ListDriver())
    responses = list(
        mlx_lm.stream_generate(
            model, tokenizer, prompt, max_tokens=20, logits_processors=[processor]
        )
    )
    assert responses[-1].finish_reason == "stop"
    assert is_document([response.token for response in responses])


def test_one_thread_makes_a_processor_and_another_generates_with_it(model, tokenizer):
    processor = LogitBiasProcessor(ListDriver())
    texts = []

    def generate():
        kwargs = {"max_tokens": 20, "logits_processors": [processor]}
        texts.append(mlx_lm.generate(model, tokenizer, PROMPT, **kwargs))
        processor.reset()

    for _ in range(2):
        thread = threading.Thread(target=generate)
        thread.start()
        thread.join()
    generate()
    assert len(texts) == 3
    assert len(set(texts)) == 1
    assert isinstance(json.loads(texts[0]), list)


def batch(model, processors, prompts):
    generator = BatchGenerator(model, stop_tokens=[[token] for token in EOS], max_tokens=20)
    uids = generator.insert(prompts, logits_processors=processors)
    tokens = {uid: [] for uid in uids}
    finished = set()
    while len(finished) < len(uids):
        for response in generator.next()[1]:
            tokens[response.uid].append(response.token)
            if response.finish_reason is not None:
                finished.add(response.uid)
    generator.close()
    return [tokens[uid] for uid in uids]


def test_rows_of_a_batch_with_their_own_processors_choose_what_they_do_alone(model):
    prompts = [PROMPT, [11, 12], [13]]
    rows = batch(model, [[LogitBiasProcessor(ListDriver())] for _ in prompts], prompts)
    for row, prompt in zip(rows, prompts, strict=True):
        alone = steps(model, LogitBiasProcessor(ListDriver()), len(row), prompt=prompt)
        assert is_document(until_eos(row))
        assert row == alone


def test_rows_of_a_batch_that_share_a_processor_raise(model):
    processor = LogitBiasProcessor(ListDriver())
    with pytest.raises(SequenceError, match="each row of a batch its own"):
        batch(model, [[processor], [processor]], [PROMPT, [11, 12]])
