"""Schemas and values drawn from a seed: all keywords of a draft, over few keys and few scalars.

The keywords of a schema mostly speak of one type, so that they meet; and the values that are drawn
are few, so that many are valid by chance and many aren't.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

URIS = {
    "4": "http://json-schema.org/draft-04/schema#",
    "6": "http://json-schema.org/draft-06/schema#",
    "7": "http://json-schema.org/draft-07/schema#",
    "2019-09": "https://json-schema.org/draft/2019-09/schema",
    "2020-12": "https://json-schema.org/draft/2020-12/schema",
}
DRAFTS = tuple(URIS)
KEYS = ["a", "b", "ab", "c", "a1"]
SCALARS = [None, True, False, 0, 1, 2, 3, -1, 1.5, 0.5, 6, "", "a", "ab", "b", "a1", "abc", "é"]
CONTAINERS = [[], [1], ["a", 1], [1, 1], {}, {"a": 1}, {"b": "a"}, {"a": 1, "b": 2}]
PATTERNS = ["a", "^a", "b$", "^(a|b)*$", "^$", "[0-9]", "^(?!a)", "^.{2}$"]
KEY_PATTERNS = ["a", "^a", "b$", "^[a-c]$", "[0-9]$", "^.{2}$"]
TYPES = ["object", "array", "string", "integer", "number", "null", "boolean"]

_SCALAR_WORDS = {
    "string": ["minLength", "maxLength", "pattern", "format"],
    "number": ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"],
}
_WORDS: dict[str, list[tuple[str, str]]] = {
    "object": [
        *(("4", word) for word in ("properties", "required", "additionalProperties")),
        *(("4", word) for word in ("patternProperties", "minProperties", "maxProperties")),
        ("6", "propertyNames"),
        ("4", "dependencies"),
        ("2019-09", "dependentRequired"),
        ("2019-09", "dependentSchemas"),
        ("2019-09", "unevaluatedProperties"),
    ],
    "array": [
        *(("4", word) for word in ("items", "minItems", "maxItems", "uniqueItems")),
        *(("4", word) for word in ("additionalItems", "prefixItems")),
        *(("6", word) for word in ("contains", "contains")),
        *(("2019-09", word) for word in ("minContains", "maxContains", "unevaluatedItems")),
    ],
    **{of: [("4", word) for word in words] for of, words in _SCALAR_WORDS.items()},
    "any": [
        *(("4", word) for word in ("type", "enum", "$ref")),
        ("6", "const"),
    ],
    "in place": [
        *(("4", word) for word in ("allOf", "anyOf", "oneOf", "not")),
        ("7", "if"),
    ],
}

KEYWORDS_OF = {
    of: {word for _, word in _WORDS[of]} for of in ("object", "array", "string", "number")
}
"""The keywords that say something about one type only."""


@dataclass(frozen=True)
class SchemaDrawer:
    """Draws schemas of one draft.

    Arguments:
        rng: what decides.
        draft: one of :data:`DRAFTS`.
        unique: whether ``uniqueItems`` may occur.
        references: the names of definitions that ``$ref`` may lead to from below a container.
        in_place: those of them that it may lead to from the same value, so that there is no loop.
    """

    rng: random.Random
    draft: str
    unique: bool = False
    references: tuple[str, ...] = ()
    in_place: tuple[str, ...] = ()

    @property
    def definitions(self) -> str:
        """The keyword that holds definitions."""
        return "$defs" if self._knows("2019-09") else "definitions"

    def _knows(self, since: str) -> bool:
        return DRAFTS.index(self.draft) >= DRAFTS.index(since)

    def document(self, schema: Any, definitions: dict[str, Any]) -> dict[str, Any]:
        """A whole document of the draft that says what ``schema`` says."""
        return {"$schema": URIS[self.draft], self.definitions: definitions, "allOf": [schema]}

    def reference(self, name: str) -> dict[str, Any]:
        """A reference to a definition."""
        return {"$ref": f"#/{self.definitions}/{name}"}

    def anything(self) -> Any:
        """The schema of every value."""
        return True if self._knows("6") else {}

    def nothing(self) -> Any:
        """The schema of no value."""
        return False if self._knows("6") else {"not": {}}

    def schema(self, depth: int) -> Any:
        """A schema with subschemas up to that depth."""
        rng = self.rng
        if depth <= 0 or rng.random() < 0.1:
            return self._leaf()
        of = rng.choice(["object", "object", "array", "array", "string", "number"])
        words = [word for since, word in self._words(of) if self._knows(since)]
        chosen = rng.sample(words, min(rng.randrange(4), len(words)))
        others = [*self._words("any"), *self._words("in place"), *self._words("in place")]
        known = [word for since, word in others if self._knows(since)]
        chosen += rng.sample(known, rng.randrange(0 if chosen else 1, 3))
        drawn: dict[str, Any] = {}
        for word in chosen:
            drawn.update(self._keyword(word, depth))
        if "$ref" in drawn and not self._knows("2019-09"):
            return {"$ref": drawn["$ref"]}
        return drawn

    def _words(self, of: str) -> list[tuple[str, str]]:
        left_out = set() if self.unique else {"uniqueItems"}
        if not self.in_place:
            left_out.add("$ref")
        left_out.add("dependencies" if self._knows("2019-09") else "")
        left_out.add("additionalItems" if self.draft == "2020-12" else "prefixItems")
        return [each for each in _WORDS[of] if each[1] not in left_out]

    def _leaf(self) -> Any:
        rng = self.rng
        if self.in_place and rng.random() < 0.2:
            return self.reference(rng.choice(self.in_place))
        draws: list[Callable[[], Any]] = [
            self.anything,
            self.nothing,
            lambda: {"type": rng.choice(TYPES)},
            lambda: {"enum": rng.sample(SCALARS, 2)},
            lambda: {"minimum": rng.choice([0, 1, 2])},
            lambda: {"pattern": rng.choice(PATTERNS)},
        ]
        return rng.choice(draws)()

    def _below(self, depth: int) -> Any:
        """A schema of what is inside a container, where any definition may be referred to."""
        return replace(self, in_place=self.references).schema(depth - 1)

    def _boolean_or_below(self, depth: int) -> Any:
        rng = self.rng
        return rng.random() < 0.3 if rng.random() < 0.3 else self._below(depth)

    def _several(self, draw: Callable[[int], Any], depth: int) -> list[Any]:
        return [draw(depth) for _ in range(self.rng.randrange(1, 4))]

    def _inside(self, depth: int) -> Any:
        """A schema of the same value."""
        return self.schema(depth - 1)

    def _names(self, least: int = 0) -> list[str]:
        return self.rng.sample(KEYS, self.rng.randrange(least, 4))

    def _keyword(self, word: str, depth: int) -> dict[str, Any]:
        """The keyword with what may stand under it, and those that it needs beside it."""
        rng = self.rng
        if word == "type":
            several = rng.sample(TYPES, 2) if rng.random() < 0.4 else rng.choice(TYPES)
            return {word: several}
        if word == "enum":
            return {word: unequal(random_value(rng, 2) for _ in range(rng.randrange(1, 5)))}
        if word == "const":
            return {word: random_value(rng, 2)}
        if word in ("allOf", "anyOf", "oneOf"):
            return {word: self._several(self._inside, depth)}
        if word == "prefixItems" or (
            word == "items" and self.draft != "2020-12" and rng.random() < 0.5
        ):
            return {word: self._several(self._below, depth)}
        if word == "additionalItems":
            items = self._several(self._below, depth)
            return {"items": items, word: self._boolean_or_below(depth)}
        if word == "not":
            return {word: self._inside(depth)}
        if word == "if":
            drawn = {word: self._inside(depth)}
            if rng.random() < 0.8:
                drawn["then"] = self._inside(depth)
            if rng.random() < 0.6:
                drawn["else"] = self._inside(depth)
            return drawn
        if word in ("minContains", "maxContains"):
            return {"contains": self._below(depth), word: rng.randrange(4)}
        if word == "properties":
            return {word: {name: self._below(depth) for name in self._names(1)}}
        if word == "patternProperties":
            patterns = rng.sample(KEY_PATTERNS, rng.randrange(1, 3))
            return {word: {pattern: self._below(depth) for pattern in patterns}}
        if word == "required":
            return {word: self._names(1)}
        if word == "dependentRequired":
            return {word: {name: self._names() for name in self._names(1)}}
        if word == "dependentSchemas":
            return {word: {name: self._inside(depth) for name in self._names(1)}}
        if word == "dependencies":
            return {
                word: {
                    name: self._names(1) if rng.random() < 0.5 else self._inside(depth)
                    for name in self._names(1)
                }
            }
        if word == "additionalProperties":
            return {word: self._boolean_or_below(depth)}
        if word in ("minItems", "maxItems", "minLength", "maxLength"):
            return {word: rng.randrange(4)}
        if word in ("minProperties", "maxProperties"):
            return {word: rng.randrange(5)}
        if word == "pattern":
            return {word: rng.choice(PATTERNS)}
        if word == "format":
            return {word: rng.choice(["date", "ipv4"])}
        if word == "multipleOf":
            return {word: rng.choice([1, 2, 3, 0.5, 1.5])}
        if word == "uniqueItems":
            return {word: True}
        if word == "$ref":
            return self.reference(rng.choice(self.in_place))
        if word in ("exclusiveMinimum", "exclusiveMaximum") and self.draft == "4":
            bound = "minimum" if word == "exclusiveMinimum" else "maximum"
            return {bound: rng.choice([0, 1, 1.5, 2]), word: True}
        if word in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"):
            return {word: rng.choice([-1, 0, 1, 1.5, 2, 6])}
        return {word: self._below(depth)}


def unequal(values: Any) -> list[Any]:
    """The values without those that equal an earlier one, as JSON has it: an enum's are unequal."""
    found: dict[str, Any] = {}
    for value in values:
        found.setdefault(json.dumps(value, sort_keys=True), value)
    return list(found.values())


def random_value(rng: random.Random, depth: int) -> Any:
    """A value of few keys and few scalars, so that much of it is valid by chance."""
    kind = rng.random()
    if depth == 0 or kind < 0.45:
        return rng.choice(SCALARS + CONTAINERS)
    if kind < 0.7:
        return [random_value(rng, depth - 1) for _ in range(rng.randrange(5))]
    names = rng.sample([*KEYS, "z"], rng.randrange(5))
    return {name: random_value(rng, depth - 1) for name in names}
