"""The sets of characters that ECMA-262 names with ``\\p{...}``.

Python's ``unicodedata`` has the general categories and few binary properties; scripts and the other
properties are those of the package ``regex``, which brings its own Unicode database.
ECMA-262 table 67 to 69; Unicode's PropertyValueAliases.txt for the names of the categories.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from functools import cache, lru_cache

import regex

from mlx_structured.languages.characters import (
    ALL,
    MAX,
    WHITESPACE,
    Ranges,
    complement,
    difference,
    normalise,
    union,
)

_CATEGORY_NAMES = {
    "Lu": "Uppercase_Letter",
    "Ll": "Lowercase_Letter",
    "Lt": "Titlecase_Letter",
    "LC": "Cased_Letter",
    "Lm": "Modifier_Letter",
    "Lo": "Other_Letter",
    "L": "Letter",
    "Mn": "Nonspacing_Mark",
    "Mc": "Spacing_Mark",
    "Me": "Enclosing_Mark",
    "M": "Mark Combining_Mark",
    "Nd": "Decimal_Number digit",
    "Nl": "Letter_Number",
    "No": "Other_Number",
    "N": "Number",
    "Pc": "Connector_Punctuation",
    "Pd": "Dash_Punctuation",
    "Ps": "Open_Punctuation",
    "Pe": "Close_Punctuation",
    "Pi": "Initial_Punctuation",
    "Pf": "Final_Punctuation",
    "Po": "Other_Punctuation",
    "P": "Punctuation punct",
    "Sm": "Math_Symbol",
    "Sc": "Currency_Symbol",
    "Sk": "Modifier_Symbol",
    "So": "Other_Symbol",
    "S": "Symbol",
    "Zs": "Space_Separator",
    "Zl": "Line_Separator",
    "Zp": "Paragraph_Separator",
    "Z": "Separator",
    "Cc": "Control cntrl",
    "Cf": "Format",
    "Cs": "Surrogate",
    "Co": "Private_Use",
    "Cn": "Unassigned",
    "C": "Other",
}

CATEGORIES: dict[str, str] = {
    name: short for short, long in _CATEGORY_NAMES.items() for name in (short, *long.split())
}
"""All names of the general categories, to the short one."""


@lru_cache(maxsize=1)
def _table() -> dict[str, Ranges]:
    """Two-letter category -> characters. The only scan of all code points by category."""
    ranges: dict[str, list[tuple[int, int]]] = {}
    start, current = 0, unicodedata.category("\0")
    for point, category in enumerate(map(unicodedata.category, map(chr, range(MAX + 1)))):
        if category != current:
            ranges.setdefault(current, []).append((start, point - 1))
            start, current = point, category
    ranges.setdefault(current, []).append((start, MAX))
    return {category: normalise(pairs) for category, pairs in ranges.items()}


def category_set(short: str) -> Ranges:
    """The characters of a general category, by its short name (``L``, ``LC``, ``Lu``)."""
    table = _table()
    if short == "LC":
        return union(table["Lu"], table["Ll"], table["Lt"])
    return union(*(ranges for name, ranges in table.items() if name.startswith(short)))


def _where(test: Callable[[str], bool]) -> Ranges:
    assigned = difference(ALL, category_set("Cn"))
    return normalise(
        (point, point)
        for low, high in assigned
        for point in range(low, high + 1)
        if test(chr(point))
    )


_BINARY: dict[str, Callable[[], Ranges]] = {
    "Any": lambda: ALL,
    "Changes_When_NFKC_Casefolded": lambda: union(*map(_known, _CHANGES_WHEN_NFKC_CASEFOLDED)),
    "ASCII": lambda: normalise([(0, 0x7F)]),
    "ASCII_Hex_Digit": lambda: normalise([(0x30, 0x39), (0x41, 0x46), (0x61, 0x66)]),
    "Assigned": lambda: complement(category_set("Cn")),
    "Hex_Digit": lambda: normalise(
        (low + shift, high + shift)
        for shift in (0, 0xFEE0)
        for low, high in ((0x30, 0x39), (0x41, 0x46), (0x61, 0x66))
    ),
    "Lowercase": lambda: _where(str.islower),
    "Noncharacter_Code_Point": lambda: normalise(
        [(0xFDD0, 0xFDEF), *((plane + 0xFFFE, plane + 0xFFFF) for plane in range(0, MAX, 0x10000))]
    ),
    "Uppercase": lambda: _where(str.isupper),
    "White_Space": lambda: union(difference(WHITESPACE, normalise([(0xFEFF, 0xFEFF)])), _NEL),
    "XID_Start": lambda: difference(_where(str.isidentifier), normalise([(0x5F, 0x5F)])),
    "XID_Continue": lambda: _where(lambda character: f"a{character}".isidentifier()),
}
_BINARY_ALIASES = {
    "AHex": "ASCII_Hex_Digit",
    "CWKCF": "Changes_When_NFKC_Casefolded",
    "Hex": "Hex_Digit",
    "Lower": "Lowercase",
    "NChar": "Noncharacter_Code_Point",
    "Upper": "Uppercase",
    "space": "White_Space",
    "XIDS": "XID_Start",
    "XIDC": "XID_Continue",
}
_NEL: Ranges = ((0x85, 0x85),)
_CHANGES_WHEN_NFKC_CASEFOLDED: tuple[str, ...] = (
    "Default_Ignorable_Code_Point",
    "NFKC_Quick_Check=No",
    "Changes_When_Casefolded",
)
"""What NFKC_Casefold leaves out, decomposes or folds: Unicode 3.13, D147 and R5."""

_OTHER = """
Alphabetic Alpha Bidi_Control Bidi_C Bidi_Mirrored Bidi_M Case_Ignorable CI Cased
Changes_When_Casefolded CWCF Changes_When_Casemapped CWCM Changes_When_Lowercased CWL
Changes_When_Titlecased CWT Changes_When_Uppercased CWU Dash
Default_Ignorable_Code_Point DI Deprecated Dep Diacritic Dia Emoji Emoji_Component EComp
Emoji_Modifier EMod Emoji_Modifier_Base EBase Emoji_Presentation EPres Extended_Pictographic ExtPict
Extender Ext Grapheme_Base Gr_Base Grapheme_Extend Gr_Ext ID_Continue IDC ID_Start IDS
IDS_Binary_Operator IDSB IDS_Trinary_Operator IDST Ideographic Ideo Join_Control Join_C
Logical_Order_Exception LOE Math Pattern_Syntax Pat_Syn Pattern_White_Space Pat_WS Quotation_Mark
QMark Radical Regional_Indicator RI Sentence_Terminal STerm Soft_Dotted SD Terminal_Punctuation Term
Unified_Ideograph UIdeo Variation_Selector VS
"""

OTHER_PROPERTIES = frozenset(_OTHER.split())
"""Binary properties that ECMA-262 has and ``unicodedata`` hasn't."""


_SCRIPTS = """
Adlam Adlm Ahom Ahom Anatolian_Hieroglyphs Hluw Arabic Arab Armenian Armn Avestan Avst Balinese Bali
Bamum Bamu Bassa_Vah Bass Batak Batk Bengali Beng Bhaiksuki Bhks Bopomofo Bopo Brahmi Brah
Braille Brai Buginese Bugi Buhid Buhd Canadian_Aboriginal Cans Carian Cari Caucasian_Albanian Aghb
Chakma Cakm Cham Cham Cherokee Cher Chorasmian Chrs Common Zyyy Coptic Copt Cuneiform Xsux
Cypriot Cprt Cyrillic Cyrl Deseret Dsrt Devanagari Deva Dives_Akuru Diak Dogra Dogr Duployan Dupl
Egyptian_Hieroglyphs Egyp Elbasan Elba Elymaic Elym Ethiopic Ethi Georgian Geor Glagolitic Glag
Gothic Goth Grantha Gran Greek Grek Gujarati Gujr Gunjala_Gondi Gong Gurmukhi Guru Han Hani
Hangul Hang Hanifi_Rohingya Rohg Hanunoo Hano Hatran Hatr Hebrew Hebr Hiragana Hira
Imperial_Aramaic Armi Inherited Zinh Inscriptional_Pahlavi Phli Inscriptional_Parthian Prti
Javanese Java Kaithi Kthi Kannada Knda Katakana Kana Kayah_Li Kali Kharoshthi Khar Khmer Khmr
Khojki Khoj Khudawadi Sind Lao Laoo Latin Latn Lepcha Lepc Limbu Limb Linear_A Lina Linear_B Linb
Lisu Lisu Lycian Lyci Lydian Lydi Mahajani Mahj Makasar Maka Malayalam Mlym Mandaic Mand
Manichaean Mani Marchen Marc Masaram_Gondi Gonm Medefaidrin Medf Meetei_Mayek Mtei
Mende_Kikakui Mend Meroitic_Cursive Merc Meroitic_Hieroglyphs Mero Miao Plrd Modi Modi
Mongolian Mong Mro Mroo Multani Mult Myanmar Mymr Nabataean Nbat Nandinagari Nand New_Tai_Lue Talu
Newa Newa Nko Nkoo Nushu Nshu Nyiakeng_Puachue_Hmong Hmnp Ogham Ogam Ol_Chiki Olck
Old_Hungarian Hung Old_Italic Ital Old_North_Arabian Narb Old_Permic Perm Old_Persian Xpeo
Old_Sogdian Sogo Old_South_Arabian Sarb Old_Turkic Orkh Oriya Orya Osage Osge Osmanya Osma
Pahawh_Hmong Hmng Palmyrene Palm Pau_Cin_Hau Pauc Phags_Pa Phag Phoenician Phnx
Psalter_Pahlavi Phlp Rejang Rjng Runic Runr Samaritan Samr Saurashtra Saur Sharada Shrd
Shavian Shaw Siddham Sidd SignWriting Sgnw Sinhala Sinh Sogdian Sogd Sora_Sompeng Sora
Soyombo Soyo Sundanese Sund Syloti_Nagri Sylo Syriac Syrc Tagalog Tglg Tagbanwa Tagb Tai_Le Tale
Tai_Tham Lana Tai_Viet Tavt Takri Takr Tamil Taml Tangut Tang Telugu Telu Thaana Thaa Thai Thai
Tibetan Tibt Tifinagh Tfng Tirhuta Tirh Ugaritic Ugar Vai Vaii Wancho Wcho Warang_Citi Wara
Yezidi Yezi Yi Yiii Zanabazar_Square Zanb
"""


@lru_cache(maxsize=1)
def property_names() -> frozenset[str]:
    """What ECMA-262 allows between the braces of ``\\p{...}``; scripts are those of Unicode 13."""
    named = {f"{name}={of}" for name in ("General_Category", "gc") for of in CATEGORIES}
    scripts = {
        f"{name}={of}"
        for name in ("Script", "sc", "Script_Extensions", "scx")
        for of in _SCRIPTS.split()
    }
    return frozenset().union(CATEGORIES, named, scripts, _BINARY, _BINARY_ALIASES, OTHER_PROPERTIES)


@cache
def property_set(expression: str) -> Ranges | None:
    """The characters of ``\\p{expression}``, ``None`` for a property that isn't known.

    Raises:
        KeyError: for what isn't a property of ECMA-262 at all.
    """
    name, equals, value = expression.partition("=")
    if equals:
        if name in ("General_Category", "gc"):
            return category_set(CATEGORIES[value])
        if name in ("Script", "sc", "Script_Extensions", "scx") and value.isidentifier():
            # The package isn't particular about case; ECMA-262 is.
            return _matched(expression) if value[0].isupper() else None
        raise KeyError(expression)
    if name in CATEGORIES:
        return category_set(CATEGORIES[name])
    if name in OTHER_PROPERTIES:
        return _matched(expression)
    return _BINARY[_BINARY_ALIASES.get(name, name)]()


def _known(expression: str) -> Ranges:
    """The characters of a property that each version of the package has."""
    found = _matched(expression)
    assert found is not None
    return found


def _matched(expression: str) -> Ranges | None:
    try:
        pattern = regex.compile(rf"\p{{{expression}}}+")
    except regex.error:
        return None
    found: list[tuple[int, int]] = []
    for low, high in ALL:
        text = "".join(map(chr, range(low, high + 1)))
        found += ((low + match.start(), low + match.end() - 1) for match in pattern.finditer(text))
    return normalise(found)
