"""Processors made from a schema, with its options, over tiny models of random weights."""

from __future__ import annotations

import json

import mlx.core as mx
import pytest
from mlx_lm.tokenizer_utils import TokenizerWrapper
from processor_calls import PROMPT, call, steps
from tiny_models import tiny_model
from tokenizers import Tokenizer
from tokenizers.decoders import ByteLevel as ByteLevelDecoder
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel
from transformers import PreTrainedTokenizerFast

from mlx_structured.compiler import compile_json_schema
from mlx_structured.errors import SchemaError
from mlx_structured.processor import make_logit_bias_processor
from mlx_structured.vocabulary import Vocabulary

SCHEMA = {
    "type": "array",
    "items": {"enum": [1, 2, "é"]},
    "minItems": 1,
    "maxItems": 3,
}


@pytest.fixture(scope="module")
def vocabulary():
    tokens = [bytes([byte]) for byte in range(128)] + [b"\xc3", b"\xa9", b", ", b'["', None, None]
    return Vocabulary(tokens, eos_token_ids=[132, 133])


def write(processor, vocab_size=140, seed=4):
    """What a random model writes under the processor, as bytes."""
    tokens = steps(tiny_model(seed, vocab_size), processor, 60)
    end = next(position for position, token in enumerate(tokens) if token in (132, 133))
    pieces = {**{byte: bytes([byte]) for byte in range(128)}, 128: b"\xc3", 129: b"\xa9"}
    pieces |= {130: b", ", 131: b'["'}
    return b"".join(pieces[token] for token in tokens[:end])


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("schema", [SCHEMA, json.dumps(SCHEMA)], ids=["dict", "JSON text"])
def test_a_model_under_a_schema_writes_a_value_as_json_dumps_does(vocabulary, schema, seed):
    processor = make_logit_bias_processor(None, schema, vocabulary=vocabulary)
    text = write(processor, seed=seed).decode()
    value = json.loads(text)
    assert 1 <= len(value) <= 3
    assert all(item in (1, 2, "é") for item in value)
    assert text == json.dumps(value, ensure_ascii=False)


def test_the_style_is_passed_on(vocabulary):
    schema = {"const": [1, {"a": 2}]}
    written = {
        style: write(make_logit_bias_processor(None, schema, style=style, vocabulary=vocabulary))
        for style in ("spaced", "compact")
    }
    assert written == {"spaced": b'[1, {"a": 2}]', "compact": b'[1,{"a":2}]'}


def test_the_registry_is_passed_on(vocabulary):
    processor = make_logit_bias_processor(
        None,
        {"$ref": "urn:example:answer"},
        registry={"urn:example:answer": {"const": 42}},
        vocabulary=vocabulary,
    )
    assert write(processor) == b"42"


def test_the_default_dialect_is_passed_on(vocabulary):
    # Up to draft 7 the keywords beside a $ref don't count.
    schema = {"$ref": "#/definitions/two", "const": 1, "definitions": {"two": {"const": 2}}}
    processor = make_logit_bias_processor(
        None,
        schema,
        default_dialect="http://json-schema.org/draft-07/schema",
        vocabulary=vocabulary,
    )
    assert write(processor) == b"2"


def test_processors_share_a_compiled_schema(vocabulary):
    acceptor = compile_json_schema({"const": "x"})
    for _ in range(2):
        processor = make_logit_bias_processor(None, acceptor, vocabulary=vocabulary)
        assert write(processor) == b'"x"'


@pytest.mark.parametrize(
    "option",
    [{"style": "compact"}, {"registry": {}}, {"default_dialect": "http://json-schema.org/schema"}],
)
def test_an_option_of_the_schema_is_refused_beside_a_compiled_one(vocabulary, option):
    acceptor = compile_json_schema({"const": "x"})
    with pytest.raises(ValueError, match="compile_json_schema"):
        make_logit_bias_processor(None, acceptor, vocabulary=vocabulary, **option)


def test_an_invalid_schema_raises_before_any_generation(vocabulary):
    with pytest.raises(SchemaError):
        make_logit_bias_processor(None, {"type": "text"}, vocabulary=vocabulary)


def test_the_vocabulary_comes_from_the_tokenizer():
    alphabet = {character: token for token, character in enumerate(sorted(ByteLevel.alphabet()))}
    backend = Tokenizer(BPE(alphabet, []))
    backend.pre_tokenizer = ByteLevel(add_prefix_space=False)
    backend.decoder = ByteLevelDecoder()
    fast = PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="<eos>")
    eos = fast.eos_token_id
    processor = make_logit_bias_processor(TokenizerWrapper(fast), {"const": [7]})
    tokens = [*PROMPT]
    for expected in (alphabet["["], alphabet["7"], alphabet["]"], eos, eos):
        assert call(processor, tokens, mx.zeros((1, 300))) == {expected}
        tokens.append(expected)
