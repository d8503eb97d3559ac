"""Names of ASCII, of Unicode and encoded ones, judged by the package ``idna`` and by hand."""

from __future__ import annotations

import json
import re
import unicodedata
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from idna_names import is_name

from mlx_structured import Acceptor, compile_json_schema
from mlx_structured.automaton.acceptor import accepts_end, advance
from mlx_structured.automaton.utf8 import language_arcs
from mlx_structured.errors import LimitExceededError
from mlx_structured.languages.domain_names import hostname, idn_hostname
from mlx_structured.languages.ecma_pattern import search_language
from mlx_structured.languages.encoded_lengths import octets_with
from mlx_structured.languages.formats import OPPOSITES
from mlx_structured.languages.label_characters import UNIFORM, alphabet, encoded_bound
from mlx_structured.languages.language import (
    EMPTY,
    Language,
    example,
    intersection,
    is_empty,
    length_between,
    literals,
    matches,
)
from mlx_structured.limits import Budget, Limits

LETTERS = "alxn-.0\u00b7\u00df\u0375\u03b1\u05d0\u05f3\u0628\u0660\u06f0\u200c\u200d\u094d\u0915"
LETTERS += "\u30fb\u3042\u4e08e\u0301\u0323\u1ea1\u09c7\u09be\u0430\u3002\u0640\u0300\u3099\u304b"


def drawn(language: Language, rng: Random, length: int) -> str:
    """A word, from the letters that make the rules of IDNA2008 interesting."""
    text, state = "", language
    for _ in range(20 * length):
        if len(text) >= length:
            break
        letter = rng.choice(LETTERS)
        after = state.derivative(ord(letter))
        if after is not EMPTY:
            state, text = after, text + letter
    return text + ("" if state.nullable else example(state))


@pytest.mark.parametrize("seed", range(40))
def test_what_is_let_through_is_a_name(seed: int) -> None:
    rng = Random(seed)
    for _ in range(5):
        name = drawn(idn_hostname(), rng, rng.randint(1, 30))
        assert is_name(name, international=True), ascii(name)
        ascii_name = drawn(hostname(), rng, rng.randint(1, 30))
        assert is_name(ascii_name, international=False), ascii_name


@settings(max_examples=300, deadline=None)
@given(st.text(st.sampled_from(LETTERS), min_size=1, max_size=6))
def test_a_short_name_is_judged_as_idna_does(text: str) -> None:
    assert matches(idn_hostname(), text) is is_name(text, international=True)


ALPHABETS = [
    "abcdefghijklmnopqrstuvwxyz\u00e4\u00f6\u00fc\u00df",
    "\u0430\u0431\u0432\u0433\u0434\u0435\u0436\u0437\u0438\u043a-0",
    "\u4e08\u4f8b\u56fd\u6e2c\u8a66\u9ed1\u3042\u30c6",
    "\uac00\ub098\ub2e4\uc2e4\ud14c\ud2b8",
    "\u05d0\u05d1\u05d2\u05d3\u05d4\u05f3-1",
    "\u0628\u064a\u062f\u0632\u200c\u0661\u064b",
    "\u0915\u094d\u200d\u0937\u093e",
    "a\u1eb9g\u0301\u0303\u0323\u0451\u0435",
    "l\u00b7l\u00e0",
    "\u30fb\u30a2\u30a4a",
    "\U00010428\U0001044f\U00020000a",
]


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(ALPHABETS).flatmap(lambda some: st.text(some, min_size=1, max_size=59)))
def test_a_label_of_any_length_is_judged_as_idna_does(text: str) -> None:
    label = unicodedata.normalize("NFC", text)
    most = len(label)
    while most and len(label[:most].encode("punycode")) > 59:
        most -= 1
    # The longest that fits, the one after it, and the whole.
    for end in {most, most + 1, len(label)}:
        some = label[:end]
        assert matches(idn_hostname(), some) is is_name(some, international=True), ascii(some)
        name = f"{some}.{some}.{some}.{some}"
        assert matches(idn_hostname(), name) is is_name(name, international=True), ascii(name)


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(ALPHABETS).flatmap(lambda some: st.text(some, max_size=40)),
    st.lists(st.characters(min_codepoint=0x80, exclude_categories=["Cs"]), max_size=20),
)
def test_the_octets_with_one_character_more_are_those_of_the_codec(
    text: str, letters: list[str]
) -> None:
    points = sorted({*map(ord, letters), *(ord(each) for each in text if each > "\x7f")})
    octets = octets_with(text, np.array(points, np.int64))
    assert octets.tolist() == [
        len("xn--" + (text + chr(point)).encode("punycode").decode()) for point in points
    ]


@pytest.mark.parametrize("seed", range(3))
def test_whatever_of_a_long_label_is_taken_can_be_completed(seed: int) -> None:
    rng = Random(seed)
    letters = rng.choice(ALPHABETS)
    state, text = idn_hostname(), ""
    for _ in range(70):
        options = [letter for letter in letters if state.derivative(ord(letter)) is not EMPTY]
        if not options:
            break
        letter = rng.choice(options)
        state, text = state.derivative(ord(letter)), text + letter
        if len(text) > 10:
            assert is_name(text + example(state), international=True), ascii(text)
            for low, high, _ in [*language_arcs(state)][:: rng.randint(20, 60)]:
                for point in {low, high}:
                    word = text + chr(point) + example(state.derivative(point))
                    assert is_name(word, international=True), ascii(word)


LONG_LABEL = "\u043f\u0440\u0430\u0432\u0438\u0442\u0435\u043b\u044c\u0441\u0442\u0432\u043e" * 3
LONG_NAME = f"{LONG_LABEL}.g\u0303.\U00010428a"


@pytest.mark.parametrize(
    ("acceptor", "text"),
    [
        (
            compile_json_schema({"type": "string", "format": "idn-hostname"}),
            json.dumps(LONG_NAME, ensure_ascii=False),
        ),
        (
            compile_json_schema({"type": "string", "format": "idn-hostname"}, style="any"),
            json.dumps(LONG_NAME),
        ),
        (
            compile_json_schema(
                {
                    "type": "object",
                    "propertyNames": {"anyOf": [{"format": "idn-hostname"}, {"maxLength": 3}]},
                    "additionalProperties": {"type": "integer"},
                }
            ),
            json.dumps({LONG_NAME: 1, "-": 2, LONG_NAME + "a": 3}, ensure_ascii=False),
        ),
    ],
)
def test_a_name_is_read_in_pieces_of_bytes_as_at_once(acceptor: Acceptor, text: str) -> None:
    assert is_name(LONG_NAME, international=True)
    data = text.encode()
    for size in (1, 2, 3, 7, 1000):
        reached = acceptor.begin()
        for begin in range(0, len(data), size):
            reached = advance(reached, data[begin : begin + size])
        assert accepts_end(reached), size
    assert not acceptor.accepts(text.replace('a"', 'a-"', 1))


@settings(max_examples=200, deadline=None)
@given(st.text(st.sampled_from(LETTERS.replace(".", "")), min_size=1, max_size=8))
def test_an_encoded_label_is_judged_by_what_it_decodes_to(label: str) -> None:
    text = "xn--" + label.encode("punycode").decode()
    assert matches(hostname(), text) is is_name(text, international=False)
    assert matches(idn_hostname(), text) is is_name(text, international=True)


@pytest.mark.parametrize("seed", range(6))
def test_every_prefix_of_an_encoded_label_can_be_completed(seed: int) -> None:
    rng = Random(seed)
    state, text = hostname(), ""
    for letter in "a.xn--":
        state, text = state.derivative(ord(letter)), text + letter
    while len(text) < 70:
        letters = [c for c in "abcxyz0189-." if state.derivative(ord(c)) is not EMPTY]
        if not letters:
            break
        letter = rng.choice(letters)
        state, text = state.derivative(ord(letter)), text + letter
        assert is_name(text + example(state), international=False), text


@pytest.mark.parametrize(
    "name",
    [
        "\u043f\u0440\u0430\u0432\u0438\u0442\u0435\u043b\u044c\u0441\u0442\u0432\u043e.\u0440\u0444",
        "www.m\u00fcnchen.de",
        "\u010desk\u00e9-drah\u00fd.cz",
        "\u4f8b\u3048.\u30c6\u30b9\u30c8",
        "\u0909\u0926\u093e\u0939\u0930\u0923.\u092a\u0930\u0940\u0915\u094d\u0937\u093e",
        "\u0645\u062b\u0627\u0644.\u0625\u062e\u062a\u0628\u0627\u0631",
        "\u0986\u09ae\u09be\u09b0.\u09ac\u09be\u0982\u09b2\u09be",
        "xn--bcher-kva.example",
    ],
)
def test_names_as_they_occur_are_let_through(name: str) -> None:
    assert is_name(name, international=True)
    assert matches(idn_hostname(), name)


@settings(max_examples=300, deadline=None)
@given(
    st.text(st.characters(min_codepoint=0x80, exclude_categories=["Cs"]), min_size=1, max_size=20),
    st.text("abc", max_size=20),
)
def test_no_encoded_label_is_longer_than_its_bound(beyond: str, basic: str) -> None:
    kinds = [alphabet(True).kind(ord(letter)) for letter in beyond]
    blocks = [kind.block for kind in kinds if kind is not None and kind.block]
    if len(blocks) < len(beyond):
        return
    octets = len("xn--" + (beyond + basic).encode("punycode").decode())
    bound = encoded_bound(len(beyond + basic), len(beyond), min(blocks), max(blocks))
    assert octets <= bound


def test_long_ranges_hold_one_kind_of_character() -> None:
    letters = alphabet(True)
    for low, high, kind in letters.entries():
        if high - low < UNIFORM:
            continue
        for point in range(low, high + 1):
            letter = chr(point)
            assert unicodedata.bidirectional(letter) == kind.bidi
            assert unicodedata.combining(letter) == kind.combining
            assert unicodedata.category(letter).startswith("M") == kind.mark


@pytest.mark.parametrize("name", ["hostname", "idn-hostname"])
def test_the_opposite_holds_no_name(name: str) -> None:
    language = {"hostname": hostname, "idn-hostname": idn_hostname}[name]()
    rng = Random(name)
    for _ in range(100):
        assert not matches(OPPOSITES[name](), drawn(language, rng, rng.randint(1, 20)))
    for text in ("", ".", "a..b", "-a", "a_b", "a" * 64):
        assert matches(OPPOSITES[name](), text)


@pytest.mark.parametrize("language", [hostname(), idn_hostname()])
@pytest.mark.parametrize("low", [1, 9, 70, 253])
def test_lengths_combine_with_names(language: Language, low: int) -> None:
    word = example(intersection(language, length_between(low, low)))
    assert len(word) == low
    assert is_name(word, international=True)
    assert is_empty(intersection(language, length_between(254, None)))


@pytest.mark.parametrize("pattern", ["com$", "^[0-9.]+$", "x.*y"])
def test_patterns_and_lengths_combine_with_names_of_any_letters(pattern: str) -> None:
    with Budget(Limits(states=50_000)):
        parts = (idn_hostname(), search_language(pattern), length_between(8, 30))
        for ranges, state in intersection(parts).transitions():
            if not is_empty(state):
                name = chr(ranges[0][0]) + example(state)
                assert is_name(name, international=True)
                assert 8 <= len(name) <= 30
                assert re.search(pattern, name)


@pytest.mark.parametrize("name", ["XN--BCHER-KVA", "Xn--bChEr-kvA.a", "xN--bcher-KV", "XN--A"])
def test_capital_letters_make_no_difference_to_encoded_labels(name: str) -> None:
    valid = is_name(name, international=True)
    assert valid is is_name(name.lower(), international=True)
    for language in (hostname(), idn_hostname()):
        assert matches(language, name) is valid


def test_words_combine_with_names() -> None:
    names = ["xn--bcher-kva", "xn--a", "a.b", "a_b"]
    allowed = intersection(idn_hostname(), literals(names))
    assert [name for name in names if matches(allowed, name)] == ["xn--bcher-kva", "a.b"]


def test_a_search_that_takes_too_long_is_an_error_and_no_answer() -> None:
    state = hostname()
    for letter in "xn--":
        state = state.derivative(ord(letter))
    try:
        with Budget(Limits(states=20_000)):
            word = example(intersection(state, length_between(20, 30)))
    except LimitExceededError:
        return
    assert is_name("xn--" + word, international=False)
