"""Formats, judged by the official suite, by their RFCs, and by a second validator."""

from __future__ import annotations

import calendar
import json
import re
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from shared_files import shared

from mlx_structured.languages.cover import cover
from mlx_structured.languages.ecma_pattern import search_language
from mlx_structured.languages.formats import FORMATS
from mlx_structured.languages.language import (
    example,
    intersection,
    is_empty,
    matches,
    sample,
)
from mlx_structured.languages.leap_seconds import leap_seconds
from mlx_structured.limits import Budget, Limits


def conforms(name: str, text: str) -> bool:
    return matches(FORMATS[name](), text)


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_the_official_suite(name: str) -> None:
    judged = 0
    for path in shared("suites/json-schema-test-suite/tests").glob(
        f"*/optional/format/{name}.json"
    ):
        for group in json.loads(path.read_text()):
            for test in group["tests"]:
                text = test["data"]
                if not isinstance(text, str) or group["schema"]["format"] != name:
                    continue
                judged += 1
                assert conforms(name, text) is test["valid"], (path, test["description"])
    assert judged > (0 if name == "regex" else 8)


# jsonschema_rs is stricter than RFC 5321 about addresses and reserved labels. What isn't regular is
# judged in files of its own.
JUDGED_TWICE = sorted(set(FORMATS) - {"email", "idn-email", "hostname", "idn-hostname", "regex"})


@pytest.mark.parametrize("name", JUDGED_TWICE)
def test_a_second_validator_accepts_what_a_format_lets_through(name: str) -> None:
    jsonschema_rs = pytest.importorskip("jsonschema_rs")
    validator = jsonschema_rs.Draft202012Validator({"format": name}, validate_formats=True)
    rng = Random(name)
    language = FORMATS[name]()
    disputed = []
    for _ in range(150):
        text = sample(language, rng, rng.randint(1, 30))
        changed = list(text)
        place = rng.randint(0, len(changed))
        changed[place : place + rng.randint(0, 1)] = rng.choice('0a:/.-@%[]#?+TZ "\\{}é~!_=9')
        for each in (text, "".join(changed)):
            if validator.is_valid(each) is not matches(language, each):
                disputed.append(each)
    assert disputed == []


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_every_prefix_of_a_word_can_be_completed(name: str) -> None:
    rng = Random(5)
    language = FORMATS[name]()
    assert conforms(name, example(language))
    for _ in range(15):
        state = language
        for character in sample(language, rng, 25):
            assert not is_empty(state)
            state = state.derivative(ord(character))
        assert state.nullable


@given(st.integers(0, 9999), st.integers(0, 13), st.integers(0, 32))
def test_a_date_is_one_of_the_calendar(year: int, month: int, day: int) -> None:
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    days = 29 if month == 2 and leap else [0, *calendar.mdays[1:], 0][month]
    assert conforms("date", f"{year:04}-{month:02}-{day:02}") is (1 <= day <= days)


@given(
    st.tuples(st.integers(0, 24), st.integers(0, 60), st.integers(0, 61)),
    st.sampled_from("+-"),
    st.tuples(st.integers(0, 24), st.integers(0, 60)),
)
def test_a_time_is_one_of_the_clock_and_second_60_ends_a_day_in_utc(
    clock: tuple[int, int, int], sign: str, zone: tuple[int, int]
) -> None:
    hour, minute, second = clock
    text = f"{hour:02}:{minute:02}:{second:02}{sign}{zone[0]:02}:{zone[1]:02}"
    offset = (zone[0] * 60 + zone[1]) * (1 if sign == "+" else -1)
    in_range = hour < 24 and minute < 60 and zone[0] < 24 and zone[1] < 60
    last_minute = (hour * 60 + minute - offset) % 1440 == 1439
    assert conforms("time", text) is (in_range and (second < 60 or (second == 60 and last_minute)))
    assert conforms("date-time", f"2024-02-29t{text}") is conforms("time", text)


def test_each_zone_has_its_own_leap_second() -> None:
    for offset in range(1440):
        zone = f"{offset // 60:02}:{offset % 60:02}"
        east, west = (1439 + offset) % 1440, 1439 - offset
        assert conforms("time", f"{east // 60:02}:{east % 60:02}:60.5+{zone}")
        assert conforms("time", f"{west // 60:02}:{west % 60:02}:60-{zone}")
        assert conforms("time", f"23:59:60+{zone}") is (offset == 0)


@pytest.mark.parametrize(
    ("pattern", "has_words"),
    [
        # After t no T comes, and whatever the leap second's minute, no second 61.
        (r"t.*T", False),
        (r":6[1-9]", False),
        (r"t\d\d:\d\d:60.*[+-]00:30", True),
        (r"17:42:60.*-", True),
    ],
)
def test_leap_seconds_of_each_minute_are_not_looked_at_one_by_one(
    *, pattern: str, has_words: bool
) -> None:
    # One state for each minute would be thousands.
    with Budget(Limits(states=2_000)):
        language = intersection(FORMATS["date-time"](), search_language(pattern))
        assert is_empty(language) is not has_words
    if has_words:
        text = example(language)
        assert conforms("date-time", text)
        assert re.search(pattern, text)


@pytest.mark.parametrize("read", ["", "2", "23:5", "17:42:6"])
def test_what_a_machine_is_compared_with_has_all_of_its_words(read: str) -> None:
    rest = leap_seconds()
    for character in read:
        rest = rest.derivative(ord(character))
    wider = cover(rest)
    assert wider is not None
    assert not wider.irregular
    for text in (sample(rest, Random(seed)) for seed in range(50)):
        assert matches(wider, text)
        assert conforms("time", read + text)


LENGTHS = [
    ("hostname", ".".join(["a" * 63] * 3 + ["a" * 61]), True),
    ("hostname", ".".join(["a" * 63] * 3 + ["a" * 62]), False),
    ("hostname", "a" * 63, True),
    ("hostname", "a" * 64, False),
    ("email", "a" * 64 + "@b", True),
    ("email", "a" * 65 + "@b", False),
    ("email", '"' + "a" * 62 + '"@b', True),
    ("email", '"' + "a" * 63 + '"@b', False),
    ("email", "a@" + ".".join(["b" * 63] * 4), True),
    ("email", "a@" + ".".join(["b" * 63] * 4) + ".b", False),
    ("email", "a@" + "b" * 64, False),
    ("idn-email", "\u00e9" * 32 + "@b", True),
    ("idn-email", "\u00e9" * 32 + "a@b", False),
    ("idn-email", "\U0001f600" * 16 + "@b", True),
    ("idn-email", "\U0001f600" * 17 + "@b", False),
]


@pytest.mark.parametrize(("name", "text", "valid"), LENGTHS)
def test_lengths_are_bounded(name: str, text: str, valid: bool) -> None:
    assert conforms(name, text) is valid


BY_HAND = [
    ("email", 'a"b@c', False),
    ("email", '"a\\"b"@c', True),
    ("email", '"a"b"@c', False),
    ("email", "a@b.", False),
    ("email", "a@-b", False),
    ("email", "a@[IPv6:1:2:3:4:5:6:7:8]", True),
    ("email", "a@[IPv6:1::3:4:5:6:7:8]", False),
    ("email", "a@[1:2]", False),
    ("hostname", "ab--c.example", True),
    ("hostname", "xn--c.example", False),
    ("idn-hostname", "ab--c.example", False),
    ("hostname", "a--b.example", True),
    ("ipv6", "1::3:4:5:6:7:8", True),
    ("ipv6", "::2:3:4:5:6:7:8", True),
    ("ipv6", "1:2:3:4:5:6:7::", True),
    ("ipv6", "1:2:3:4:5:6:7::8", False),
    ("ipv6", "1:2:3:4:5::1.2.3.4", True),
    ("ipv6", "1:2:3:4:5:6::1.2.3.4", False),
    ("ipv6", "::1.2.3.4:5", False),
    ("uri", "a:", True),
    ("uri", "a:?", True),
    ("uri", "a:/b//c", True),
    ("uri", "a:////b", True),
    ("uri", "a:b?c?d#e?f", True),
    ("uri", "a:b#c#d", False),
    ("uri", "a://b@c@d", False),
    ("uri", "a://[::1%25eth0]", False),
    ("uri", "a://[v1.:]:80/", True),
    ("uri", "a:\u00e9", False),
    ("iri", "a:\u00e9", True),
    ("iri", "a:\ue000", False),
    ("iri", "a:?\ue000", True),
    ("iri", "a:\ufffe", False),
    ("uri-reference", "a/b:c", True),
    ("uri-template", "{=a}", True),
    ("uri-template", "{a:1000*}", False),
    ("duration", "P1YT1S", True),
    ("relative-json-pointer", "0+1/a", False),
    ("date-time", "2024-01-01 00:00:00Z", False),
]


@pytest.mark.parametrize(("name", "text", "valid"), BY_HAND)
def test_the_rfc_decides(name: str, text: str, valid: bool) -> None:
    assert conforms(name, text) is valid


def test_a_format_is_built_once() -> None:
    for build in FORMATS.values():
        assert build() is build()
