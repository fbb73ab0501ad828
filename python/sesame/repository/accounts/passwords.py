"""Passwords: hashed by argon2, checked in the same time whether or not there is such an account."""

from __future__ import annotations

import threading
from functools import cache

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from sesame.errors import InputError

SHORTEST, LONGEST = 10, 1024  # characters
# Each check needs 64 MiB of memory and several processors; further ones wait.
_AT_ONCE = threading.Semaphore(2)


@cache
def _hasher() -> PasswordHasher:
    """The library's defaults: argon2id with the second recommended option of RFC 9106."""
    return PasswordHasher()


@cache
def _of_no_account() -> str:
    """A hash to check against where there is no account, so that the time does not tell."""
    return _hasher().hash("no account has this password")


def require_strength(password: str, name: str) -> None:
    """Raises InputError. By length only, as NIST SP 800-63B advises."""
    if not SHORTEST <= len(password) <= LONGEST:
        raise InputError(f"expected a password of {SHORTEST} to {LONGEST} characters")
    if password.casefold() == name.casefold() or len(set(password)) < 4:
        raise InputError("this password is easy to guess", hint="a few random words are good")


def hash_password(password: str) -> str:
    with _AT_ONCE:
        return _hasher().hash(password)


def is_password(hashed: str | None, password: str) -> bool:
    """Whether the password is the one that was hashed. Without a hash it takes as long."""
    if len(password) > LONGEST:
        return False
    with _AT_ONCE:
        try:
            right = _hasher().verify(hashed or _of_no_account(), password)
        except (VerificationError, InvalidHashError):
            return False
    return right and hashed is not None


def is_outdated(hashed: str) -> bool:
    """Whether it was made with weaker parameters than those of today."""
    return _hasher().check_needs_rehash(hashed)
