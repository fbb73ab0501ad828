"""Identifiers of things: 8 characters of Crockford's base32 in lower case, chosen at random."""

from __future__ import annotations

import re
import secrets

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
LENGTH = 8
PATTERN = re.compile(f"[{ALPHABET}]{{{LENGTH}}}")


def new_identifier() -> str:
    return "".join(secrets.choice(ALPHABET) for _ in range(LENGTH))


def is_identifier(text: str) -> bool:
    return PATTERN.fullmatch(text) is not None
