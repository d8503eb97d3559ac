"""Makes every token that mlx-lm generates fit a JSON Schema, or a regular expression."""

from mlx_structured.automaton.acceptor import Acceptor
from mlx_structured.batch_generation import StructuredBatchResponse, batch_generate
from mlx_structured.compiler import compile_json_schema
from mlx_structured.driver import JsonSchemaAcceptorDriver
from mlx_structured.errors import (
    EmptyMaskError,
    InvalidTokenError,
    LimitExceededError,
    ModelLoadError,
    PatternError,
    SchemaError,
    SequenceError,
    StructuredError,
    TokenBudgetError,
    UnsatisfiableSchemaError,
    UnsupportedSchemaError,
    VocabularyError,
)
from mlx_structured.generation import StructuredResponse, generate, stream_generate
from mlx_structured.limits import Limits
from mlx_structured.masks import apply_token_mask, create_mask
from mlx_structured.processor import LogitBiasProcessor, make_logit_bias_processor
from mlx_structured.regex import compile_regex
from mlx_structured.style import STYLES, Style
from mlx_structured.vocabulary import Vocabulary

__all__ = [
    "STYLES",
    "Acceptor",
    "EmptyMaskError",
    "InvalidTokenError",
    "JsonSchemaAcceptorDriver",
    "LimitExceededError",
    "Limits",
    "LogitBiasProcessor",
    "ModelLoadError",
    "PatternError",
    "SchemaError",
    "SequenceError",
    "StructuredBatchResponse",
    "StructuredError",
    "StructuredResponse",
    "Style",
    "TokenBudgetError",
    "UnsatisfiableSchemaError",
    "UnsupportedSchemaError",
    "Vocabulary",
    "VocabularyError",
    "apply_token_mask",
    "batch_generate",
    "compile_json_schema",
    "compile_regex",
    "create_mask",
    "generate",
    "make_logit_bias_processor",
    "stream_generate",
]
