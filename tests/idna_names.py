"""Domain names as the package ``idna`` judges them."""

from __future__ import annotations

import re
import unicodedata

import idna

RTL = ("R", "AL", "AN")


def is_name(text: str, *, international: bool) -> bool:
    """RFC 5890 by ``idna``: each label, then the Bidi rule for all of them, then the length.

    Other labels with two hyphens there are reserved (section 2.3.1).
    """
    encoded, decoded = [], []
    for label in re.split("[.\u3002\uff0e\uff61]" if international else "[.]", text):
        if label.isascii() and not label.lower().startswith("xn--"):
            if not re.fullmatch(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?", label):
                return False
            if international and label[2:4] == "--":
                return False
            encoded.append(label)
            decoded.append(label.lower())
            continue
        if not label.isascii() and not international:
            return False
        try:
            encoded.append(idna.alabel(label).decode())
            decoded.append(idna.ulabel(encoded[-1]))
        except ValueError:
            return False
    if any(unicodedata.bidirectional(each) in RTL for label in decoded for each in label):
        for label in decoded:
            try:
                idna.check_bidi(label, check_ltr=True)
            except ValueError:
                return False
    return len(".".join(encoded)) <= 253
