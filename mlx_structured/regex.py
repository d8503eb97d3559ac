"""From a regular expression to an acceptor."""

from __future__ import annotations

from collections.abc import Callable

from mlx_structured.automaton.acceptor import LEARNING, Acceptor
from mlx_structured.automaton.forgetting import Origin
from mlx_structured.automaton.link import Configuration
from mlx_structured.automaton.raw_text import RawTextNetwork
from mlx_structured.errors import LimitExceededError, PatternError
from mlx_structured.languages.ecma_pattern import match_language
from mlx_structured.languages.language import is_empty
from mlx_structured.limits import DEFAULT_LIMITS, Budget, Limits, check_limits


def compile_regex(pattern: str, *, limits: Limits = DEFAULT_LIMITS) -> Acceptor:
    """The acceptor of the texts that a regular expression matches from beginning to end.

    The text is written as it is, in UTF-8, without quotes or escapes. EOS is allowed exactly where
    the text so far matches. Unlike JSON Schema's ``pattern``, which is searched for, the
    expression stands for the whole text, as if it were ``^(?:pattern)$``.

    Arguments:
        pattern: a regular expression of ECMA-262 with the ``u`` flag: ``.`` is any character but
            the four line terminators, ``\\d`` and ``\\w`` are ASCII.
        limits: what compiling may take, and later each step of a driver or text to judge.

    Raises:
        PatternError: if the pattern is malformed, can't be enforced (a back-reference), or matches
            no text at all.
        LimitExceededError: for a pattern that takes more than the limits allow.
        TypeError: if the pattern isn't a ``str``, or the limits no ``Limits``.
    """
    if not isinstance(pattern, str):
        raise TypeError(f"a pattern is a str, not a {type(pattern).__name__}")
    check_limits(limits)
    try:
        with LEARNING, Budget(limits) as budget:
            before = budget.memory
            language = match_language(pattern)
            nothing = is_empty(language)
    except LimitExceededError as error:
        error.locate("pattern", "")
        raise
    if nothing:
        raise PatternError(pattern, "no text matches it: its parts contradict each other")

    def make() -> Callable[[], tuple[Configuration, ...]]:
        return RawTextNetwork(match_language(pattern)).begin

    return Acceptor(Origin(make, limits, budget.memory - before), parse=bytes.decode)
