"""The keys that a schema doesn't name, as its patterns tell them apart."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from mlx_structured.languages.language import (
    EVERYTHING,
    Language,
    complement,
    intersection,
    is_empty,
    literals,
)
from mlx_structured.limits import charge


def key_classes(names: Collection[str], languages: Iterable[Language]) -> list[Language]:
    """All keys but the names, split so that each part lies wholly inside or outside each language.

    Raises:
        LimitExceededError: for overlapping languages, as the number of parts can double with each.
    """
    classes = [complement(literals(names)) if names else EVERYTHING]
    for language in languages:
        classes = [
            part
            for each in classes
            for part in (
                intersection([each, language]),
                intersection([each, complement(language)]),
            )
            if not is_empty(part)
        ]
        charge(len(classes))
    return classes
