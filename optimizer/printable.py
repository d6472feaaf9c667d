"""Texts as they may be printed: no sign commands a terminal, no secret shows.

Names in a record, a file or an answer come from anywhere.
"""

import os
import re
import sys
from collections.abc import Iterator, Mapping
from functools import cache

HIDDEN = "(hidden)"

SPACES = "\u00a0\u202f\u3000"
"""Blanks of other widths, which names of columns and files have."""

NAMED = re.compile(
    r"""(?ix) \b ([\w-]* (?: api [_-]? key | access [_-]? key | secret | token | passw(?:or)?d ) \w*
    ["']? (?: \s*[=:]\s* | %3d ) ["']? ) ([^\s&;,"'<>)]{6,})"""
)
"""A value behind the name of a secret, as in an address or a message."""

BEARER = re.compile(r"(?i)\b(bearer\s+)([\w.~+/=-]{8,})")

USER_INFO = re.compile(r"(?i)\b([a-z][a-z0-9+.-]*://)[^\s/@'\"]+@")
"""Name and password of an address."""

NAME_OF_SECRET = re.compile(r"(?i)(key|token|secret|passw(or)?d)$")
"""How a variable of the environment is named that holds one."""

LEAST = 8
"""Characters of a variable's value: a shorter one is no secret, and may stand in any word."""


def printable(text: str) -> str:
    """Lines of text without secrets, in which no sign commands a terminal."""
    return clean_text(hide_secrets(text))


def clean_text(text: str, kept: str = "\n\t") -> str:
    r"""Text in which each sign that commands a terminal or turns its direction is a ``?``.

    >>> clean_text("a\x1b[2Jb\u202ec\n")
    'a?[2Jb?c\n'
    """
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() or sign in kept + SPACES else "?" for sign in text)


def clean_values(value: object) -> object:
    """Value for JSON with each text, also the names of a mapping, cleaned and in one line."""
    if isinstance(value, str):
        return value if value.isprintable() else clean_text(value.replace("\n", " "), "\t")
    if isinstance(value, Mapping):
        return {clean_values(key): clean_values(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [clean_values(item) for item in value]
    return value


def hide_secrets(text: str) -> str:
    """Text without secrets: those of the environment, of the vendor's account, and named ones."""
    for value in _known_secrets():
        text = text.replace(value, HIDDEN)
    if "=" in text or ":" in text or "%" in text or "earer" in text:
        text = USER_INFO.sub(rf"\1{HIDDEN}@", text)
        text = BEARER.sub(rf"\1{HIDDEN}", NAMED.sub(rf"\1{HIDDEN}", text))
    return text


def _known_secrets() -> Iterator[str]:
    for name in os.environ:
        if _holds_secret(name) and len(value := os.environ[name]) >= LEAST:
            yield value
    # Where the account was never asked for, no key of it can be in a message.
    if account := sys.modules.get("data.vendor.client"):
        for key in account.READ_KEYS:
            yield from account.forms_of_key(key)


@cache
def _holds_secret(name: str) -> bool:
    return NAME_OF_SECRET.search(name) is not None
