"""From a regular expression to an acceptor."""

from __future__ import annotations

from mlx_structured.automaton.acceptor import LEARNING, Acceptor
from mlx_structured.automaton.raw_text import RawTextNetwork
from mlx_structured.errors import PatternError
from mlx_structured.languages.ecma_pattern import match_language
from mlx_structured.languages.language import is_empty


def compile_regex(pattern: str) -> Acceptor:
    """The acceptor of the texts that a regular expression matches from beginning to end.

    The text is written as it is, in UTF-8, without quotes or escapes. EOS is allowed exactly where
    the text so far matches. Unlike JSON Schema's ``pattern``, which is searched for, the
    expression stands for the whole text, as if it were ``^(?:pattern)$``.

    Arguments:
        pattern: a regular expression of ECMA-262 with the ``u`` flag: ``.`` is any character but
            the four line terminators, ``\\d`` and ``\\w`` are ASCII.

    Raises:
        PatternError: if the pattern is malformed, can't be enforced (a back-reference), or matches
            no text at all.
        LimitExceededError: for a pattern that is too large to analyse.
        TypeError: if the pattern isn't a ``str``.
    """
    if not isinstance(pattern, str):
        raise TypeError(f"a pattern is a str, not a {type(pattern).__name__}")
    with LEARNING:
        language = match_language(pattern)
        nothing = is_empty(language)
    if nothing:
        raise PatternError(pattern, "no text matches it: its parts contradict each other")
    return Acceptor(RawTextNetwork(language).begin)
