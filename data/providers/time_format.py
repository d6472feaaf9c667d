"""Formats of times such as ``%d/%m/%Y %H:%M``, read as Python's `strptime` reads them or refused.

A format becomes one regular expression for a whole column. Alternatives stand in the order in
which `strptime` tries them, and what follows its match must be empty, so that both split every
text alike.
"""

import re

from data.errors import TableError
from data.providers.time_forms import TimeForm

MONTH_NAMES = (
    "january|february|march|april|may|june|july|august|september|october|november|december"
)
SHORT_MONTHS = "|".join(name[:3] for name in MONTH_NAMES.split("|"))
DAY_NAMES = "monday|tuesday|wednesday|thursday|friday|saturday|sunday"
SHORT_DAYS = "|".join(name[:3] for name in DAY_NAMES.split("|"))

DIRECTIVES = {
    "Y": r"(?P<Y>[0-9]{4})",
    "y": r"(?P<y>[0-9]{2})",
    "m": r"(?P<m>1[0-2]|0[1-9]|[1-9])",
    "d": r"(?P<d>3[0-1]|[1-2][0-9]|0[1-9]|[1-9]| [1-9])",
    "b": rf"(?P<b>{SHORT_MONTHS})",
    "B": rf"(?P<b>{MONTH_NAMES})",
    "j": r"(?P<j>36[0-6]|3[0-5][0-9]|[1-2][0-9]{2}|0[1-9][0-9]|00[1-9]|[1-9][0-9]|0[1-9]|[1-9])",
    "H": r"(?P<H>2[0-3]|[0-1][0-9]|[0-9])",
    "I": r"(?P<I>1[0-2]|0[1-9]|[1-9])",
    "M": r"(?P<M>[0-5][0-9]|[0-9])",
    "S": r"(?P<S>6[0-1]|[0-5][0-9]|[0-9])",
    "f": r"(?P<f>[0-9]{1,6})",
    "p": r"(?P<p>[ap])(?:m|\. ?m\.)",
    "z": r"(?P<z>[+-][0-9]{2}:?[0-5][0-9](?::?[0-5][0-9](?:\.[0-9]{1,6})?)?|Z)",
    "Z": r"(?P<z>utc|gmt)",
    "a": f"(?:{SHORT_DAYS})",
    "A": f"(?:{DAY_NAMES})",
}
"""Letters that ``--time-format`` may hold after a percent sign, and their patterns."""

LONGER = {
    "f": r"(?P<f>[0-9]{1,9})",
    "z": r"(?P<z>[+-][0-9]{2}:?[0-5][0-9](?::?[0-5][0-9](?:\.[0-9]{1,6})?)?|Z|[+-][0-9]{2})",
}
"""Forms that `strptime` does not know, nanoseconds and bare hours of offsets, before no digit."""

SAME = {
    "D": "%m/%d/%y", "e": "%d", "F": "%Y-%m-%d", "h": "%b", "k": "%H", "l": "%I", "L": "%f",
    "n": "a blank", "N": "%f", "R": "%H:%M", "T": "%H:%M:%S", "-": "the letter without the dash",
}  # fmt: skip
"""Replacements for letters that other programs know after a percent sign."""


def parse_time_format(time_format: str) -> TimeForm:
    """The form that a text such as ``%d/%m/%Y %H:%M`` describes.

    Raises:
        TableError: When it holds something unknown or twice, or makes no one time.
    """
    pieces = re.findall(r"%(.?)|(\s+)|([^%\s]+)", time_format.strip(), re.DOTALL)
    pattern, seen = "", ""
    for k, (directive, blank, literal) in enumerate(pieces):
        if blank or literal or (directive == "%"):
            pattern += r"\s+" if blank else re.escape(literal or "%")
            continue
        if directive not in DIRECTIVES or not directive or directive in seen:
            raise _unknown(time_format, directive)
        seen += directive
        may_be_longer = directive in LONGER and not _begins_with_digit(pieces[k + 1 :])
        pattern += (LONGER if may_be_longer else DIRECTIVES)[directive]
    _refuse_contradiction(time_format, re.findall(r"\?P<(\w)>", pattern))
    return TimeForm(time_format, f"(?is)^{pattern}(?P<rest>.*)$")


def suggest_format(example: str, date: str) -> str:
    """The format of a time such as ``3/4/2024 9:30 AM``, whose date has the format `date`.

    >>> suggest_format("3/4/2024 9:30 AM", "%d/%m/%Y")
    '%d/%m/%Y %I:%M %p'
    """
    separator = next(letter for letter in example if not letter.isdigit())
    clock = re.sub(r"^[0-9]+\D[0-9]+\D[0-9]+", "", example)
    is_half = re.search(r"[ap](m|\. ?m\.)", clock, re.IGNORECASE)
    for written, directive in (
        (r"(utc|gmt)$", "%Z"),
        (r"(?<=[0-9mtc.])( ?)([+-][0-9:]+|Z)$", r"\1%z"),
        (r"[ap](m|\. ?m\.)", "%p"),
        (r"[0-9]{1,2}:[0-9]{2}:[0-9]{2}", "%H:%M:%S"),
        (r"[0-9]{1,2}:[0-9]{2}", "%H:%M"),
        (r"([.,])[0-9]+", r"\1%f"),
    ):
        clock = re.sub(written, directive, clock, flags=re.IGNORECASE)
    return date.replace("/", separator) + (clock.replace("%H", "%I") if is_half else clock)


def _begins_with_digit(pieces: list[tuple[str, str, str]]) -> bool:
    """Whether the next piece of a format may begin with a digit, or go on with an offset."""
    if not pieces:
        return False
    directive, blank, literal = pieces[0]
    is_text = bool(directive) and directive in "bBpaAzZ%"
    return not (blank or is_text or (literal and not (literal[0].isdigit() or literal[0] in ":.")))


def _refuse_contradiction(time_format: str, groups: list[str]) -> None:
    """Refuse a format that leaves the time open, or reads one thing twice."""
    shown = f"--time-format {time_format[:40]!r}"
    years, months, days = (sum(groups.count(name) for name in names) for names in ("Yy", "mb", "d"))
    is_date = years == 1 and (months, days, groups.count("j")) in ((1, 1, 0), (0, 0, 1))
    if not is_date or groups.count("z") > 1:
        raise TableError(
            f"{shown} must name year, month and day once, such as %d/%m/%Y %H:%M, or year and day "
            "of the year, such as %Y %j"
        )
    if ("I" in groups) != ("p" in groups) or {"H", "I"} <= set(groups):
        raise TableError(
            f"{shown}: hours are %H from 0 to 23, or %I from 1 to 12 together with %p, such as "
            "%d/%m/%Y %I:%M %p"
        )


def _unknown(time_format: str, directive: str) -> TableError:
    known = " ".join(f"%{name}" for name in DIRECTIVES)
    hint = f"; write {SAME[directive]} for it" if directive in SAME else ""
    return TableError(
        f"--time-format {time_format[:40]!r}: '%{directive}' is unknown or repeated; known: "
        f"{known}{hint}"
    )
