"""The formats of JSON Schema 2020-12 (validation, section 7.3) as languages.

Each is what its RFC says, character by character. What a regular language can't say, or shouldn't:

* ``hostname``, ``idn-hostname`` and ``regex`` aren't regular at all. Each leaves out a little (see
  :mod:`~.languages.domain_names`, :mod:`~.languages.regex_format`) and lets through nothing wrong.
  :data:`OPPOSITES` has what surely isn't, for where the opposite is asked for: all of that for
  ``regex``.
* ``idn-email`` takes any non-ASCII characters in a label of the domain.
* ``relative-json-pointer`` has no index adjustment (``0+1``), which came with a later draft.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from itertools import pairwise
from types import MappingProxyType

from mlx_structured.languages.algebra import (
    characters,
    complement,
    concatenation,
    intersection,
    length_between,
    literals,
    repetition,
    union,
)
from mlx_structured.languages.characters import MAX
from mlx_structured.languages.domain_names import hostname, idn_hostname
from mlx_structured.languages.ecma_pattern import match_language
from mlx_structured.languages.expression import EPSILON, Language
from mlx_structured.languages.leap_seconds import leap_seconds
from mlx_structured.languages.regex_format import regex

_MONTH_DAY = (
    r"(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\d|3[01])"
    r"|(?:0[469]|11)-(?:0[1-9]|[12]\d|30)"
    r"|02-(?:0[1-9]|1\d|2[0-8]))"
)
_LEAP_YEAR = r"(?:\d\d(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)"
_DATE = rf"(?:\d{{4}}-{_MONTH_DAY}|{_LEAP_YEAR}-02-29)"
_HOUR_MINUTE = r"(?:[01]\d|2[0-3]):[0-5]\d"
_TIME = rf"{_HOUR_MINUTE}:[0-5]\d(?:\.\d+)?(?:[Zz]|[+-]{_HOUR_MINUTE})"


@lru_cache(maxsize=1)
def date() -> Language:
    """RFC 3339, ``full-date``, with the days that the month of that year has."""
    return match_language(_DATE)


@lru_cache(maxsize=1)
def time() -> Language:
    """RFC 3339, ``full-time``. Second 60 only where it is 23:59 in UTC."""
    return union(match_language(_TIME), leap_seconds())


@lru_cache(maxsize=1)
def date_time() -> Language:
    """RFC 3339, ``date-time``."""
    return concatenation(date(), literals(["T", "t"]), time())


@lru_cache(maxsize=1)
def duration() -> Language:
    """RFC 3339, appendix A, ``duration``."""
    time_part = r"T(?:\d+H(?:\d+M(?:\d+S)?)?|\d+M(?:\d+S)?|\d+S)"
    date_part = r"(?:\d+Y(?:\d+M(?:\d+D)?)?|\d+M(?:\d+D)?|\d+D)"
    return match_language(rf"P(?:{date_part}(?:{time_part})?|{time_part}|\d+W)")


_OCTET = r"(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
_IPV4 = rf"{_OCTET}(?:\.{_OCTET}){{3}}"
_GROUP = r"[0-9A-Fa-f]{1,4}"


def _ipv6(ipv4: str, least_omitted: int) -> str:
    """The pattern of an address in which ``::`` stands for at least so many groups of zeros."""
    last_two = rf"(?:{_GROUP}:{_GROUP}|{ipv4})"
    most = 8 - least_omitted

    def up_to(count: int) -> str:
        return rf"(?:(?:{_GROUP}:){{0,{count - 1}}}{_GROUP})?" if count else ""

    choices = [rf"(?:{_GROUP}:){{6}}{last_two}"]
    for before in range(most - 1):
        after = most - 2 - before
        choices.append(rf"{up_to(before)}::(?:{_GROUP}:){{{after}}}{last_two}")
    choices += (rf"{up_to(most - 1)}::{_GROUP}", rf"{up_to(most)}::")
    return f"(?:{'|'.join(choices)})"


_IPV6 = _ipv6(_IPV4, 1)


@lru_cache(maxsize=1)
def ipv4() -> Language:
    """RFC 2673, section 3.2, ``dotted-quad``, without leading zeros."""
    return match_language(_IPV4)


@lru_cache(maxsize=1)
def ipv6() -> Language:
    """RFC 4291, section 2.2. No zone."""
    return match_language(_IPV6)


@lru_cache(maxsize=1)
def uuid() -> Language:
    """RFC 4122, section 3, of any version and variant."""
    return match_language(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")


_LABEL = r"[0-9A-Za-z](?:[0-9A-Za-z-]{0,61}[0-9A-Za-z])?"


def _dotted(part: Language) -> Language:
    return concatenation(part, repetition(concatenation(literals(["."]), part), 0, None))


@lru_cache(maxsize=1)
def ascii_hostname() -> Language:
    """RFC 1123, section 2.1, where ``xn--`` and the like have no meaning of their own."""
    return intersection(_dotted(match_language(_LABEL)), length_between(1, 253))


@lru_cache(maxsize=1)
def no_hostname() -> Language:
    """Texts that aren't even made of labels; not those with a wrong label like ``xn--a``."""
    return complement(ascii_hostname())


@lru_cache(maxsize=1)
def no_idn_hostname() -> Language:
    """Texts of which ASCII and the lengths show that they aren't names."""
    letter = r"[^\0-,./:-@\[-`{-\x7F\u3002\uff0e\uff61]"
    separator = r"[.\u3002\uff0e\uff61]"
    label = rf"(?!-){letter}{{1,63}}(?<!-)"
    name = match_language(rf"{label}(?:{separator}{label})*")
    return complement(intersection(name, length_between(1, 253)))


@lru_cache(maxsize=1)
def no_regex() -> Language:
    """All texts that aren't regular expressions of ECMA-262."""
    return complement(regex(all_references=True))


_ATOM = r"[0-9A-Za-z!#$%&'*+/=?^_`{|}~-]"
_QUOTED = r"[ !#-\[\]-~]|\\[ -~]"
_ANY_OCTET = r"(?:25[0-5]|2[0-4]\d|[01]?\d?\d)"
_ADDRESS_LITERAL = (
    rf"\[(?:{_ANY_OCTET}(?:\.{_ANY_OCTET}){{3}}"
    rf"|[Ii][Pp][Vv]6:{_ipv6(rf'{_ANY_OCTET}(?:[.]{_ANY_OCTET}){{3}}', 2)})\]"
)


@lru_cache(maxsize=1)
def email() -> Language:
    """RFC 5321, section 4.1.2, ``Mailbox``; at most 64 characters before the @ and 255 after it."""
    local = match_language(rf'{_ATOM}+(?:\.{_ATOM}+)*|"(?:{_QUOTED})*"')
    return concatenation(
        intersection(local, length_between(1, 64)),
        literals(["@"]),
        union(
            intersection(_dotted(match_language(_LABEL)), length_between(1, 255)),
            match_language(_ADDRESS_LITERAL),
        ),
    )


@lru_cache(maxsize=1)
def idn_email() -> Language:
    """RFC 6531, section 3.3: :func:`email` with non-ASCII characters, lengths in UTF-8 octets."""
    beyond = r"\u{80}-\u{10ffff}"
    atom = f"[{beyond}{_ATOM[1:]}"
    local = match_language(rf'{atom}+(?:\.{atom}+)*|"(?:{_QUOTED}|[{beyond}])*"')
    label = match_language(rf"[0-9A-Za-z{beyond}](?:[0-9A-Za-z{beyond}-]*[0-9A-Za-z{beyond}])?")
    return concatenation(
        intersection(local, _octets_up_to(64)),
        literals(["@"]),
        union(
            intersection(_dotted(intersection(label, _octets_up_to(63))), _octets_up_to(255)),
            match_language(_ADDRESS_LITERAL),
        ),
    )


@lru_cache(maxsize=8)
def _octets_up_to(limit: int) -> Language:
    """All strings of at most so many octets in UTF-8."""
    bounds = (0, 0x80, 0x800, 0x10000, MAX + 1)
    by_length = [characters([(low, high - 1)]) for low, high in pairwise(bounds)]
    shorter: list[Language] = [EPSILON]
    for octets in range(1, limit + 1):
        shorter.append(
            union(
                EPSILON,
                *(
                    concatenation(choice, shorter[octets - length])
                    for length, choice in enumerate(by_length, 1)
                    if length <= octets
                ),
            )
        )
    return shorter[limit]


_UNRESERVED = r"0-9A-Za-z._~\-"
_DELIMITERS = r"!$&'()*+,;="
_ESCAPED = r"%[0-9A-Fa-f]{2}"
_BEYOND_ASCII = (
    r"\u{a0}-\u{d7ff}\u{f900}-\u{fdcf}\u{fdf0}-\u{ffef}"
    + "".join(rf"\u{{{plane:x}0000}}-\u{{{plane:x}fffd}}" for plane in range(1, 14))
    + r"\u{e1000}-\u{efffd}"
)
_PRIVATE = r"\u{e000}-\u{f8ff}\u{f0000}-\u{ffffd}\u{100000}-\u{10fffd}"


def _references(beyond: str, private: str) -> tuple[str, str]:
    """Patterns of RFC 3986, appendix A: ``URI`` and ``relative-ref``.

    ``beyond`` are the characters that RFC 3987 adds to the unreserved ones, ``private`` those that
    it adds to the query.
    """
    letters = f"{_UNRESERVED}{beyond}{_DELIMITERS}"
    character = f"(?:[{letters}:@]|{_ESCAPED})"
    address = rf"\[(?:{_IPV6}|[Vv][0-9A-Fa-f]+\.[{_UNRESERVED}{_DELIMITERS}:]+)\]"
    authority = (
        f"(?:(?:[{letters}:]|{_ESCAPED})*@)?(?:{address}|(?:[{letters}]|{_ESCAPED})*)(?::[0-9]*)?"
    )
    segments = f"(?:/{character}*)*"
    absolute = f"/(?:{character}+{segments})?"
    rest = rf"(?:\?(?:[{letters}:@/?{private}]|{_ESCAPED})*)?(?:#(?:[{letters}:@/?]|{_ESCAPED})*)?"
    first = f"(?:[{letters}@]|{_ESCAPED})+"
    hierarchy = f"(?://{authority}{segments}|{absolute}|{character}+{segments}|)"
    relative = f"(?://{authority}{segments}|{absolute}|{first}{segments}|)"
    return f"[A-Za-z][0-9A-Za-z+.-]*:{hierarchy}{rest}", f"{relative}{rest}"


@lru_cache(maxsize=1)
def uri() -> Language:
    """RFC 3986, ``URI``."""
    return match_language(_references("", "")[0])


@lru_cache(maxsize=1)
def uri_reference() -> Language:
    """RFC 3986, ``URI-reference``."""
    return match_language("|".join(_references("", "")))


@lru_cache(maxsize=1)
def iri() -> Language:
    """RFC 3987, ``IRI``."""
    return match_language(_references(_BEYOND_ASCII, _PRIVATE)[0])


@lru_cache(maxsize=1)
def iri_reference() -> Language:
    """RFC 3987, ``IRI-reference``."""
    return match_language("|".join(_references(_BEYOND_ASCII, _PRIVATE)))


@lru_cache(maxsize=1)
def uri_template() -> Language:
    """RFC 6570, ``URI-Template``, with the apostrophe that erratum 6937 adds to the literals."""
    literal = rf"(?:[!#-$&-;=?-\[\]_a-z~{_BEYOND_ASCII}{_PRIVATE}]|{_ESCAPED})"
    letter = f"(?:[0-9A-Za-z_]|{_ESCAPED})"
    variable = rf"{letter}(?:\.?{letter})*(?::[1-9][0-9]{{0,3}}|\*)?"
    return match_language(rf"(?:{literal}|\{{[+#./;?&=,!@|]?{variable}(?:,{variable})*\}})*")


_POINTER = r"(?:/(?:[^/~]|~[01])*)*"


@lru_cache(maxsize=1)
def json_pointer() -> Language:
    """RFC 6901, ``json-pointer``."""
    return match_language(_POINTER)


@lru_cache(maxsize=1)
def relative_json_pointer() -> Language:
    """Relative JSON Pointers (draft-handrews-relative-json-pointer-01), section 3."""
    return match_language(rf"(?:0|[1-9][0-9]*)(?:#|{_POINTER})")


FORMATS: Mapping[str, Callable[[], Language]] = MappingProxyType(
    {
        "date": date,
        "date-time": date_time,
        "duration": duration,
        "email": email,
        "hostname": hostname,
        "idn-email": idn_email,
        "idn-hostname": idn_hostname,
        "ipv4": ipv4,
        "ipv6": ipv6,
        "iri": iri,
        "iri-reference": iri_reference,
        "json-pointer": json_pointer,
        "regex": regex,
        "relative-json-pointer": relative_json_pointer,
        "time": time,
        "uri": uri,
        "uri-reference": uri_reference,
        "uri-template": uri_template,
        "uuid": uuid,
    }
)
"""Name of a format -> its language, built at the first call and kept."""

OPPOSITES: Mapping[str, Callable[[], Language]] = MappingProxyType(
    {"hostname": no_hostname, "idn-hostname": no_idn_hostname, "regex": no_regex}
)
"""Name of a format that leaves something out -> what surely doesn't conform to it."""
