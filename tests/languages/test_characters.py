"""Sets of characters are sets, and the named ones are those of the standards."""

from __future__ import annotations

import time
import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlx_structured.languages import characters as sets
from mlx_structured.languages import unicode_properties
from mlx_structured.languages.case_folding import ignoring_case
from mlx_structured.languages.partition import from_classes, refine
from mlx_structured.languages.unicode_properties import property_set

SMALL = 40
pairs = st.lists(
    st.tuples(st.integers(0, SMALL), st.integers(0, SMALL)).map(lambda pair: tuple(sorted(pair))),
    max_size=6,
)


def members(ranges: sets.Ranges) -> set[int]:
    return {point for low, high in ranges for point in range(low, high + 1)}


@given(pairs, pairs)
def test_the_operations_are_those_of_sets(
    left: list[tuple[int, int]], right: list[tuple[int, int]]
) -> None:
    first, second = sets.normalise(left), sets.normalise(right)
    x, y = members(first), members(second)
    assert x == {point for low, high in left for point in range(low, high + 1)}
    assert members(sets.union(first, second)) == x | y
    assert members(sets.intersection(first, second)) == x & y
    assert members(sets.difference(first, second)) == x - y
    assert sets.complement(sets.complement(first)) == first
    assert sets.size(first) == len(x)
    for low, high in second:
        assert sets.overlaps(first, low, high) == bool(x & set(range(low, high + 1)))
    assert all(sets.contains(first, point) is (point in x) for point in range(SMALL + 2))
    for ranges in (first, sets.complement(first), sets.union(first, second)):
        assert all(low <= high for low, high in ranges)
        assert all(high + 1 < low for (_, high), (low, _) in pairwise(ranges))


def test_surrogates_are_in_no_set() -> None:
    assert sets.complement(()) == ((0, 0xD7FF), (0xE000, 0x10FFFF))
    assert sets.normalise([(0xD000, 0xE001)]) == ((0xD000, 0xD7FF), (0xE000, 0xE001))
    assert sets.normalise([(0xD800, 0xDFFF)]) == ()
    assert sets.normalise([(0xDABC, 0xFFFF)]) == ((0xE000, 0xFFFF),)
    assert property_set("Cs") == ()
    assert property_set("Any") == sets.ALL


@given(pairs, pairs)
def test_a_partition_tells_apart_what_its_parts_tell_apart(
    left: list[tuple[int, int]], right: list[tuple[int, int]]
) -> None:
    first, second = sets.normalise(left), sets.normalise(right)
    joint = refine(from_classes((first,)), from_classes((second,)))
    x, y = members(first), members(second)
    small = range(SMALL + 2)
    for ranges, representative in zip(joint.sets, joint.representatives, strict=True):
        kinds = {(point in x, point in y) for point in small if sets.contains(ranges, point)}
        assert len(kinds) == 1
        for low, high in ranges:
            assert joint.representative(low) == joint.representative(high) == representative
    assert sets.union(*joint.sets) == sets.ALL
    assert joint.representative(0xD800) is None
    assert len(joint.representatives) == len({(point in x, point in y) for point in small})


@pytest.mark.parametrize("name", ["Lu", "L", "LC", "Nd", "P", "Zs", "Cc", "Cn", "C"])
def test_categories_are_those_of_the_unicode_database(name: str) -> None:
    wanted = ("Lu", "Ll", "Lt") if name == "LC" else (name,)
    ranges = property_set(name)
    assert ranges is not None
    points = [*range(0, 0x3100), *range(0xD700, 0x10400, 7), *range(0x1D400, 0x1D800), 0x10FFFF]
    for point in points:
        category = unicodedata.category(chr(point))
        expected = category.startswith(wanted) and category != "Cs"
        assert sets.contains(ranges, point) is expected, hex(point)


@pytest.mark.parametrize(
    ("name", "inside", "outside"),
    [
        ("ASCII", "a\x7f", "\x80"),
        ("AHex", "09afAF", "gG\uff11"),
        ("Hex_Digit", "09afAF\uff11\uff21", "gG"),
        ("White_Space", "\t \x85\xa0\u3000", "\ufeff\u200b"),
        ("Lowercase", "a\xaa\xdf\u2170", "A1"),
        ("Uppercase", "A\u2160\xd6", "a1"),
        ("XID_Start", "a\xe9\u4e00", "_1-"),
        ("XIDC", "a1_\u0301", "- "),
        ("Assigned", "a", "\ufffe"),
        ("NChar", "\ufffe\ufdd0\U0010ffff", "\ufffd\ufdf0"),
        ("punct", "!_\u2014", "+a"),
        ("Combining_Mark", "\u0301", "a"),
        ("digit", "1\u09ea", "\xb2"),
        # Scripts.txt, ScriptExtensions.txt, emoji-data.txt and DerivedCoreProperties.txt.
        ("Script=Greek", "\u03b1\u1f00", "a\u0430\u0345"),
        ("scx=Grek", "\u03b1\u0345", "a\u0430"),
        ("sc=Zyyy", " 1", "a"),
        ("Emoji", "#1\U0001f600", "a"),
        ("Alpha", "a\u0345\u4e00", "1-"),
        ("Regional_Indicator", "\U0001f1e6", "A"),
    ],
)
def test_properties_have_their_characters(name: str, inside: str, outside: str) -> None:
    ranges = property_set(name)
    assert ranges is not None
    assert [character for character in inside if not sets.contains(ranges, ord(character))] == []
    assert [character for character in outside if sets.contains(ranges, ord(character))] == []


def test_what_nfkc_casefold_changes_is_what_python_changes_or_is_ignorable() -> None:
    # Unicode 3.13, R5: casefolding and NFKC in turn, without the characters that may be ignored.
    ranges, ignorable = property_set("Changes_When_NFKC_Casefolded"), property_set("DI")
    assert ranges is not None
    assert ignorable is not None
    assert ranges == property_set("CWKCF")
    for point in [*range(0x3400), *range(0xA000, 0xD800, 3), *range(0xF900, 0x12000)]:
        character = chr(point)
        if unicodedata.category(character) == "Cn":
            continue
        once = unicodedata.normalize("NFKC", unicodedata.normalize("NFD", character).casefold())
        folded = unicodedata.normalize("NFKC", once.casefold())
        changes = folded != character or sets.contains(ignorable, point)
        assert sets.contains(ranges, point) is changes, hex(point)


def test_case_is_ignored_as_simple_case_folding_has_it() -> None:
    # CaseFolding.txt, status C and S; those of status F and T alone are not.
    for text in (
        "kK\u212a",
        "sS\u017f",
        "\u03c3\u03c2\u03a3",
        "\xdf\u1e9e",
        "\u1f80\u1f88",
        "\u01c5\u01c4",
    ):
        for character in text:
            ignored = ignoring_case(sets.single(character))
            assert all(sets.contains(ignored, ord(other)) for other in text), text
    for alone in ("1", "\u0130", "\u0131", "\u0149", "\u01f0", "\ufb00"):
        assert ignoring_case(sets.single(alone)) == sets.single(alone)
    assert ignoring_case(sets.WORD) == sets.union(sets.WORD, sets.of("\u017f\u212a"))
    assert ignoring_case(sets.NONE) == sets.NONE


def test_unknown_properties_are_told_from_ones_that_are_lacking() -> None:
    assert property_set("Script=Klingon") is None
    for name in ("greek", "Foo", "Lu=Lu", "gc=Greek", "LU", "script=Greek", "", "Script="):
        with pytest.raises(KeyError):
            property_set(name)


def test_the_unicode_database_is_read_once_and_soon() -> None:
    unicode_properties._table.cache_clear()
    start = time.perf_counter()
    unicode_properties.category_set("L")
    unicode_properties.category_set("Nd")
    assert time.perf_counter() - start < 2
    assert unicode_properties._table.cache_info().misses == 1
