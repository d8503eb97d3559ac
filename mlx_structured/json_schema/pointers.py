"""Places in a schema, for messages: JSON pointers (RFC 6901)."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import unquote, urldefrag, urljoin


def escape_pointer(token: str) -> str:
    """One reference token of a JSON pointer (RFC 6901 section 3)."""
    return token.replace("~", "~0").replace("/", "~1")


def join_pointer(tokens: Iterable[object]) -> str:
    """The pointer of a path of keys and indices."""
    return "".join("/" + escape_pointer(str(token)) for token in tokens)


def split_reference(reference: str, base_uri: str) -> tuple[str, str]:
    """The URI of the document that a reference names, and the fragment.

    Raises:
        ValueError: if it isn't a URI reference.
    """
    if reference.startswith("#"):
        return base_uri, reference[1:]
    uri, fragment = urldefrag(urljoin(base_uri, reference))
    return uri, fragment


def target_pointer(uri: str, fragment: str, root_uri: str, pointer: str) -> str:
    """The place that a reference leads to, with its URI if that isn't the root's.

    Arguments:
        uri: the URI of the target's document.
        fragment: what follows it after ``#``.
        root_uri: the URI of the whole schema.
        pointer: the place of the reference itself, which stands for anchors.
    """
    if fragment and not fragment.startswith("/"):
        return pointer if uri == root_uri else f"{uri}#{fragment}"
    place = unquote(fragment)
    return place if uri == root_uri else f"{uri}#{place}"
