"""The official JSON-Schema-Test-Suite: whatever schema compiles is judged as the suite says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import pytest
from shared_files import shared

from mlx_structured import (
    UnsatisfiableSchemaError,
    UnsupportedSchemaError,
    compile_json_schema,
)

SUITE = "suites/json-schema-test-suite"
DIALECTS = {
    "draft4": "http://json-schema.org/draft-04/schema#",
    "draft6": "http://json-schema.org/draft-06/schema#",
    "draft7": "http://json-schema.org/draft-07/schema#",
    "draft2019-09": "https://json-schema.org/draft/2019-09/schema",
    "draft2020-12": "https://json-schema.org/draft/2020-12/schema",
}
JUDGED_SO_FAR = {
    "draft4": 618,
    "draft6": 839,
    "draft7": 927,
    "draft2019-09": 1259,
    "draft2020-12": 1299,
}
"""How many of the tests have a schema that compiles. May only grow."""

DIFFERENT_ON_PURPOSE = {
    "only an annotation by default": "a known format is asserted: that is what it is asked for",
}
"""Descriptions of tests that are judged in another way than the suite does, with the reason."""


class Judgement(NamedTuple):
    """One test of the suite; ``accepted`` is ``None`` where the schema isn't supported yet."""

    file: str
    group: str
    test: str
    valid: bool
    accepted: bool | None


@cache
def remotes(draft: str) -> dict[str, Any]:
    """What the suite serves at localhost:1234 to schemas of one draft."""
    folder = shared(f"{SUITE}/remotes")
    documents = {}
    for file in sorted(folder.rglob("*.json")):
        name = file.relative_to(folder).as_posix()
        first = name.partition("/")[0]
        if first == draft or not (first.startswith("draft") or first == "v1"):
            documents[f"http://localhost:1234/{name}"] = json.loads(file.read_text("utf-8"))
    return documents


def judge_group(draft: str, file: str, group: dict[str, Any]) -> Iterator[Judgement]:
    """All tests of one schema."""
    supported = True
    acceptor = None
    try:
        acceptor = compile_json_schema(
            group["schema"],
            style="any",
            registry=remotes(draft),
            default_dialect=DIALECTS[draft],
            formats=file != "format.json",
        )
    except UnsatisfiableSchemaError:
        pass
    except UnsupportedSchemaError:
        supported = False
    for test in group["tests"]:
        accepted = acceptor is not None and acceptor.accepts(json.dumps(test["data"]))
        yield Judgement(
            file,
            group["description"],
            test["description"],
            test["valid"],
            accepted if supported else None,
        )


@cache
def judge(draft: str) -> list[Judgement]:
    """All required tests of one draft."""
    return [
        judgement
        for file in sorted(shared(f"{SUITE}/tests/{draft}").glob("*.json"))
        for group in json.loads(file.read_text("utf-8"))
        for judgement in judge_group(draft, file.name, group)
    ]


def is_different_on_purpose(judgement: Judgement) -> bool:
    """Whether the difference is listed with a reason."""
    return any(judgement.test.endswith(description) for description in DIFFERENT_ON_PURPOSE)


@pytest.mark.parametrize("draft", DIALECTS)
def test_no_test_is_judged_wrong(draft: str) -> None:
    wrong = [
        judgement
        for judgement in judge(draft)
        if judgement.accepted not in (None, judgement.valid)
        and not is_different_on_purpose(judgement)
    ]
    assert not wrong


@pytest.mark.parametrize("draft", DIALECTS)
def test_no_fewer_tests_are_judged_than_before(draft: str) -> None:
    judged = sum(judgement.accepted is not None for judgement in judge(draft))
    assert judged >= JUDGED_SO_FAR[draft]


@pytest.mark.parametrize("description", DIFFERENT_ON_PURPOSE)
def test_what_is_listed_as_different_still_is(description: str) -> None:
    listed = [j for j in judge("draft2020-12") if j.test.endswith(description)]
    assert any(judgement.accepted is False for judgement in listed)
