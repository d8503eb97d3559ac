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
REQUIRED_TESTS = {
    "draft4": 618,
    "draft6": 839,
    "draft7": 927,
    "draft2019-09": 1259,
    "draft2020-12": 1299,
}


DIFFERENT_ON_PURPOSE = {
    ("content.json", ""): "contentMediaType and contentEncoding are annotations",
}
"""Optional tests that are judged in another way, by file and beginning of name, with the reason."""

REFUSED_ON_PURPOSE = {
    "cross-draft.json": "a keyword of another draft is refused by name, not passed over",
}
"""Files of which the optional tests may be refused, with the reason."""

OPTIONAL_TESTS = {
    "draft4": 319,
    "draft6": 431,
    "draft7": 790,
    "draft2019-09": 914,
    "draft2020-12": 925,
}
"""So many optional tests at least are judged right."""


class Judgement(NamedTuple):
    """One test of the suite; ``accepted`` is ``None`` where the schema isn't supported yet."""

    file: str
    group: str
    test: str
    valid: bool
    accepted: bool | None


@cache
def remotes(draft: str, *, other_drafts: bool) -> dict[str, Any]:
    """What the suite serves at localhost:1234, to schemas of one draft or to all of them."""
    folder = shared(f"{SUITE}/remotes")
    documents = {}
    for file in sorted(folder.rglob("*.json")):
        name = file.relative_to(folder).as_posix()
        first = name.partition("/")[0]
        if first != "v1" and (other_drafts or first == draft or not first.startswith("draft")):
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
            registry=remotes(draft, other_drafts=file == "cross-draft.json"),
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


@cache
def judge_optional(draft: str) -> list[Judgement]:
    """All optional tests of one draft, formats asserted."""
    folder = shared(f"{SUITE}/tests/{draft}") / "optional"
    return [
        judgement
        for file in sorted(folder.rglob("*.json"))
        for group in json.loads(file.read_text("utf-8"))
        for judgement in judge_group(draft, file.relative_to(folder).as_posix(), group)
    ]


@pytest.mark.parametrize("draft", DIALECTS)
def test_every_required_test_is_judged_right(draft: str) -> None:
    judged = judge(draft)
    assert [each for each in judged if each.accepted is not each.valid] == []
    assert len(judged) >= REQUIRED_TESTS[draft]


@pytest.mark.parametrize("draft", DIALECTS)
def test_optional_tests_are_judged_right_or_refused_by_name(draft: str) -> None:
    judged = judge_optional(draft)
    wrong = [each for each in judged if each.accepted is not each.valid]
    for each in wrong:
        assert (each.accepted is None and each.file in REFUSED_ON_PURPOSE) or any(
            each.file == file and each.test.startswith(name) for file, name in DIFFERENT_ON_PURPOSE
        ), each
    assert len(judged) - len(wrong) >= OPTIONAL_TESTS[draft]
