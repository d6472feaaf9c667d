"""Commands and words as bash reads them, so that printed commands can be copied."""

import os
import re
import shlex
from pathlib import Path

ESCAPED = re.compile(rb"""[^ -~]|[\\'"]""")
"""Bytes that no text of a person or of Python, such as a file to begin from, shows as they are."""


def quote_word(word: str | Path) -> str:
    r"""A word for bash, in printable signs; a path is never taken for a flag.

    >>> print(quote_word("my runs"), quote_word(Path("-x")), quote_word("a\nb\udce9"))
    'my runs' ./-x $'a\x0ab\xe9'
    """
    text = f"./{word}" if isinstance(word, Path) and str(word).startswith("-") else str(word)
    if text.isprintable() and not {"\\", '"'}.intersection(text):
        return shlex.quote(text)
    escaped = ESCAPED.sub(lambda sign: b"\\x%02x" % ord(sign[0]), os.fsencode(text))
    return f"$'{escaped.decode()}'"


def write_command(*words: str | Path) -> str:
    """A command of this program, to be copied.

    >>> write_command("judge", Path("my runs/a"), "--open")
    "python -m optimizer judge 'my runs/a' --open"
    """
    return " ".join(("python -m optimizer", *map(quote_word, words)))
