"""What can go wrong, as one small family. Each message says what to do about it."""

from __future__ import annotations


class StructuredError(Exception):
    """Base of all errors raised by this package.

    The message can be printed wherever it has come from: a lone surrogate, which a name in a schema
    may have and UTF-8 hasn't, is written as ``\\udXXX``.
    """

    def __str__(self) -> str:
        return _printable(super().__str__())


def _printable(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


class PatternError(StructuredError, ValueError):
    """A regular expression that can't be read, has no regular meaning, or matches nothing.

    ``supported`` is False where the expression is valid ECMA-262 but can't be enforced.
    """

    def __init__(self, pattern: str, reason: str, *, supported: bool = True) -> None:
        super().__init__(f"pattern {pattern!r}: {reason}")
        self.pattern = pattern
        self.reason = reason
        self.supported = supported


class SchemaError(StructuredError, ValueError):
    """The schema isn't valid JSON Schema (or not JSON at all); ``pointer`` says where."""

    def __init__(self, reason: str, pointer: str = "") -> None:
        super().__init__(f"invalid schema at {pointer or '#'}: {reason}")
        self.reason = reason
        self.pointer = pointer


class UnsupportedSchemaError(StructuredError, NotImplementedError):
    """A keyword that can't be enforced exactly, with the JSON pointer of the keyword."""

    def __init__(self, keyword: str, pointer: str, reason: str = "is not supported") -> None:
        super().__init__(
            f"keyword {keyword!r} at {pointer or '#'} {reason}; "
            "remove it from the schema, and check it on the finished value if it matters"
        )
        self.keyword = keyword
        self.pointer = pointer
        self.reason = reason


class UnsatisfiableSchemaError(StructuredError, ValueError):
    """No value satisfies the schema, or none that the style can write."""

    def __init__(self, reason: str, pointer: str = "") -> None:
        super().__init__(f"no value satisfies the schema at {pointer or '#'}: {reason}")
        self.reason = reason
        self.pointer = pointer


class LimitExceededError(StructuredError, RuntimeError):
    """An analysis needed more work than is allowed.

    What was in use stays usable: the same may be tried again with larger limits.

    ``limit`` is the field of :class:`~mlx_structured.Limits` that was hit, or what else is bounded
    (``"nesting"``, ``"digits"``, ``"combinations"`` of items, ``"completion"``). ``keyword`` and
    ``pointer`` name the keyword that asks for the work, empty where that isn't known.
    """

    def __init__(
        self, reason: str, limit: str = "states", keyword: str = "", pointer: str = ""
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.limit = limit
        self.keyword = keyword
        self.pointer = pointer

    def __str__(self) -> str:
        what = f"keyword {self.keyword!r}" if self.keyword else "the schema"
        advice = _LIMIT_ADVICE.get(self.limit)
        if advice is None:
            advice = f"simplify it, or allow more with Limits({self.limit}=...)"
        place = f" at {self.pointer}" if self.pointer else ""
        return _printable(f"{what}{place} {self.reason}; {advice}")

    def locate(self, keyword: str, pointer: str) -> None:
        """Say which keyword asks for the work, unless a more exact place is known already."""
        if not self.keyword:
            self.keyword = keyword
            self.pointer = pointer


_LIMIT_ADVICE = {
    "nesting": "shorten the chain of subschemas or references",
    "completion": (
        "use complete=False, or no max_tokens for a processor or driver (and look whether the "
        "vocabulary has a token for each single byte)"
    ),
    "combinations": "ask for fewer items, or for less of them",
    "digits": "use numbers with fewer digits",
}


class VocabularyError(StructuredError, ValueError):
    """A tokenizer whose tokens can't be turned into bytes, or a vocabulary unfit for a task."""


class InvalidTokenError(StructuredError, ValueError):
    """A token that the acceptor's current state doesn't allow."""

    def __init__(self, token_id: int, detail: str) -> None:
        super().__init__(f"token {token_id} is not allowed here: {detail}")
        self.token_id = token_id


class TokenBudgetError(StructuredError, ValueError):
    """Too few tokens to write any whole document; ``needed`` is how many would do."""

    def __init__(self, max_tokens: int, needed: int) -> None:
        super().__init__(
            f"max_tokens={max_tokens} is too few: the shortest document that was found takes "
            f"{needed} tokens; give at least as many"
        )
        self.max_tokens = max_tokens
        self.needed = needed


class EmptyMaskError(StructuredError, ValueError):
    """A mask that allows no token: applying it would turn all logits to -inf."""


class SequenceError(StructuredError, RuntimeError):
    """Tokens that don't continue the sequence that a logits processor follows."""

    def __init__(self, detail: str) -> None:
        super().__init__(
            f"{detail}. A processor follows one sequence: call reset() or make a new one for a new "
            "generation, and give each row of a batch its own"
        )


class ModelLoadError(StructuredError, OSError):
    """A model that can't be found or read."""
