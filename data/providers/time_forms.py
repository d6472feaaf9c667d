"""Forms of written times: one table of patterns, and the times that texts of a form mean."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from data.checks import NO_TIME, Flags, Ints
from data.errors import TableError
from data.timeframe import DAY_NS, SECOND_NS

Letters = npt.NDArray[np.uint8]

MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]

YEAR = r"(?P<Y>(?:19|20)[0-9]{2})"
MONTH = r"(?P<m>0?[1-9]|1[0-2])"
DAY = r"(?P<d>0?[1-9]|[12][0-9]|3[01])"
NAME = (
    r"(?P<b>(?i:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|"
    r"sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?))"
)
WEEKDAY = "(?i:mon|tue|wed|thu|fri|sat|sun)[a-z]*"
OF_WEEK = rf"(?:{WEEKDAY},? )?"
HALF = r"(?P<p>[AaPp](?:[Mm]|\. ?[Mm]\.))"
OFFSET = r"[+-][0-9]{2}:?[0-9]{2}"
ZONE = (
    rf"(?: ?(?P<z>[Zz]|{OFFSET}|[+-][0-9]{{2}}|"
    rf"(?:GMT|UTC)(?:{OFFSET}|[+-][0-9]{{1,2}})?)(?: \([A-Za-z ]+\))?)?"
)
ZONE_ALONE = rf" ?(?P<Z>[Zz]|UTC|GMT|{OFFSET})"
"""Behind a date: an offset of hours alone would look like one more part of it."""

CLOCK = (
    r"(?:[T ,]+(?P<H>[01]?[0-9]|2[0-3]):(?P<M>[0-5][0-9])"
    rf"(?::(?P<S>[0-5][0-9])(?:[.,](?P<f>[0-9]{{1,9}}))?)?(?: ?{HALF})?{ZONE}|{ZONE_ALONE})?"
)
DATE_DIGITS = r"(?P<Y>(?:19|20)[0-9]{2})(?P<m>0[1-9]|1[0-2])(?P<d>0[1-9]|[12][0-9]|3[01])"
MINUTE_DIGITS = r"(?P<H>[01][0-9]|2[0-3]):?(?P<M>[0-5][0-9])"
SECOND_DIGITS = r":?(?P<S>[0-5][0-9])(?:[.,]?(?P<f>[0-9]{3}(?:[0-9]{3}){0,2}))?"

DIRECTIVES = {
    "Y": r"(?P<Y>[0-9]{4})",
    "y": r"(?P<y>[0-9]{2})",
    "m": r"(?P<m>1[0-2]|0[1-9]|[1-9])",
    "d": r"(?P<d>3[0-1]|[1-2][0-9]|0[1-9]|[1-9]| [1-9])",
    "b": NAME,
    "B": NAME,
    "j": r"(?P<j>36[0-6]|3[0-5][0-9]|[1-2][0-9]{2}|0[1-9][0-9]|00[1-9]|[1-9][0-9]|0[1-9]|[1-9])",
    "H": r"(?P<H>2[0-3]|[0-1][0-9]|[0-9])",
    "I": r"(?P<I>1[0-2]|0[1-9]|[1-9])",
    "M": r"(?P<M>[0-5][0-9]|[0-9])",
    "S": r"(?P<S>6[0-1]|[0-5][0-9]|[0-9])",
    "f": r"(?P<f>[0-9]{1,9}(?![0-9])|[0-9]{1,6})",
    "p": HALF,
    "z": r"(?P<z>[+-][0-9]{2}:?[0-5][0-9](?::?[0-5][0-9](?:\.[0-9]{1,6})?)?|Z|"
    r"[+-][0-9]{2}(?![0-9:.]))",
    "Z": r"(?P<z>utc|gmt)",
    "a": WEEKDAY,
    "A": WEEKDAY,
}
"""Letters of a ``--time-format``, with alternatives in the order in which `strptime` tries them;
nanoseconds and bare hours of offsets, which it does not know, stand before no digit."""

ONE_TIME = "(?:H|(I))?M?S?Y(?:df?m|f?j)(?(1)p)z?"
"""Letters that make one time, in their order; those of short years and names count as the long."""

WIDEST = {"Y": 4, "y": 2, "m": 2, "d": 2, "j": 3, "H": 2, "I": 2, "M": 2, "S": 2, "f": 9}
"""Groups of a pattern that are numbers, with their most digits."""


@dataclass(frozen=True)
class TimeForm:
    """One way to write a time."""

    words: str  # its name
    # Regular expression with groups that are called as the directives of `strptime`; `Z` is a
    # zone that follows a date without a time of day, `rest` must stay empty.
    pattern: str

    @cached_property
    def regex(self) -> re.Pattern[str]:
        """The pattern for one text."""
        return re.compile(self.pattern, re.ASCII)

    def write_format(self, text: str) -> str:
        """The ``--time-format`` of a text that the form fits.

        >>> FORMS[4].write_format("3/4/2024 9:30 AM")
        '%d/%m/%Y %I:%M %p'
        """
        match = self.regex.fullmatch(text)
        parts = {} if match is None else match.groupdict()
        spans = {name: match.span(name) for name in parts if match and parts[name]}
        for name, (begin, end) in sorted(spans.items(), key=lambda span: span[1], reverse=True):
            written = f"%{'I' if name == 'H' and 'p' in spans else name}"
            if name in "zZ":
                written = re.sub("[+-].+|[zZ]$", "%z", text[begin:end])
                written = "%Z" if "%" not in written else written
            text = text[:begin] + written + text[end:]
        return text


ISO = TimeForm(
    "ISO 8601",
    r"^(?P<Y>(?:19|20)[0-9]{2})[-/.](?P<m>[0-9]{2})[-/.](?P<d>[0-9]{2})"
    r"(?:[Tt ](?P<H>[0-9]{2})(?::(?P<M>[0-9]{2})(?::(?P<S>[0-9]{2})(?:[.,](?P<f>[0-9]{1,9}))?)?)?"
    rf"{ZONE}|{ZONE_ALONE})?$",
)
FORMS = (
    ISO,
    TimeForm("YYYYMMDD", rf"^{DATE_DIGITS}(?:[T ]*{MINUTE_DIGITS}(?:{SECOND_DIGITS})?{ZONE})?$"),
    TimeForm("YYYYMMDD-HHMMSS", f"^{DATE_DIGITS}-{MINUTE_DIGITS}{SECOND_DIGITS}{ZONE}$"),
    TimeForm("day.month.year", rf"^{DAY}\.{MONTH}\.{YEAR}{CLOCK}$"),
    TimeForm("day/month/year", f"^{DAY}[/-]{MONTH}[/-]{YEAR}{CLOCK}$"),
    TimeForm("month/day/year", f"^{MONTH}[/-]{DAY}[/-]{YEAR}{CLOCK}$"),
    TimeForm("year-month-day", f"^{YEAR}[/.-]{MONTH}[/.-]{DAY}{CLOCK}$"),
    TimeForm("year-month-day hour-AM/PM", f"^{YEAR}-{MONTH}-{DAY} (?P<I>0?[1-9]|1[0-2])-{HALF}$"),
    TimeForm("month name, day, year", rf"^{OF_WEEK}{NAME}\.? {DAY},? {YEAR}{CLOCK}$"),
    TimeForm("day, month name, year", rf"^{OF_WEEK}{DAY}[ -]{NAME}\.?[ -]{YEAR}{CLOCK}$"),
    TimeForm("year, month name, day", rf"^{YEAR}[ -]{NAME}\.?[ -]{DAY}{CLOCK}$"),
)

SHORT_FORMS = (
    TimeForm("day/month/year", f"^{DAY}[/.-]{MONTH}[/.-]{DIRECTIVES['y']}{CLOCK}$"),
    TimeForm("month/day/year", f"^{MONTH}[/.-]{DAY}[/.-]{DIRECTIVES['y']}{CLOCK}$"),
)
"""Forms of short years, which are read where a person names one."""

BLANKS = "[\u00a0\u202f\u2009]"
"""Blanks that programs put before AM and PM, or between date and time."""

BLOCK, MOST_SHAPES = 1 << 16, 100
"""Rows that are read together, and shapes of texts among them that are read without a pattern."""

FIRST_YEAR, LAST_YEAR, PIVOT = 1900, 2099, 69
"""Two-digit years from the pivot on belong to the last century, as POSIX has it."""

FIRST_DAYS = np.arange("1900-01", "2101-02", dtype="M8[M]").astype("M8[D]").astype(np.int64)
"""First day of each month since 1900, counted from 1970."""

LARGEST_OFFSET_NS = 14 * 3600 * SECOND_NS
OFFSET_PARTS = r"(?:utc|gmt|z)?(?:([+-])([0-9]{1,2}):?([0-5][0-9])?:?([0-5][0-9])?(?:\.([0-9]+))?)?"


@dataclass
class Moments:
    """Times of a column as a form reads them."""

    # Nanoseconds since 1970, [N], in UTC where a value names a zone, else on the clock that was
    # written; `NO_TIME` where a value is missing or no time.
    time_ns: Ints
    misfits: list[int] = field(default_factory=list)  # rows of texts that the form does not fit
    wrong: list[int] = field(default_factory=list)  # rows that it fits, such as 30 February
    zones: Counter[str] = field(default_factory=Counter)  # rows by the zone named, empty if none

    def add(self, rows: npt.NDArray[np.intp], time_ns: Ints, zones: Sequence[str]) -> None:
        """Set the times of rows [n], which all name one zone, or each its own."""
        self.time_ns[rows] = time_ns
        for zone in zones:
            self.zones[zone] += len(rows) // len(zones)


def parse_time_format(time_format: str) -> TimeForm:
    """The form that a text such as ``%d/%m/%Y %H:%M`` describes."""
    shown = f"--time-format {time_format[:40]!r}"
    pattern, seen = "", ""
    pieces = re.findall(r"%(.?)|(\s+)|([^%\s]+)", time_format.strip(), re.DOTALL)
    for directive, blank, literal in pieces:
        if blank or literal or directive == "%":
            pattern += r"\s+" if blank else re.escape(literal or "%")
        elif directive in seen or directive not in DIRECTIVES:
            known = " ".join(f"%{name}" for name in DIRECTIVES)
            raise TableError(f"{shown}: '%{directive}' is unknown or repeated; known: {known}")
        else:
            seen += directive
            pattern += DIRECTIVES[directive]
    groups = re.findall(r"\?P<(\w)>", pattern.replace("<y>", "<Y>").replace("<b>", "<m>"))
    if re.fullmatch(ONE_TIME, "".join(sorted(groups))) is None:
        raise TableError(
            f"{shown} must name year, month and day once, such as %d/%m/%Y %H:%M, or year and day "
            "of the year, such as %Y %j; hours are %H, or %I with %p"
        )
    return TimeForm(time_format, f"(?is)^{pattern}(?P<rest>.*)$")


def parse_times(column: pa.Array, form: TimeForm, *, must_fit: bool = False) -> Moments:
    """Read texts [N] as a form has them; missing and blank ones have no time.

    With `must_fit` nothing is read behind the first texts that the form does not fit.
    """
    moments = Moments(np.full(len(column), NO_TIME))
    for begin in range(0, len(column), BLOCK):
        if not (must_fit and moments.misfits):
            _parse_block(column.slice(begin, BLOCK), form, moments, begin)
    return moments


def read_offset(zone: str) -> int | None:
    """Nanoseconds by which a written zone is ahead of UTC; None where there is no such zone.

    >>> read_offset("UTC+1") == read_offset("+01:00") == 3600 * 10**9
    True
    """
    match = re.fullmatch(OFFSET_PARTS, zone.lower())
    if match is None:
        return None
    sign, hours, minutes, seconds, fraction = match.groups("0")
    offset_ns = ((int(hours) * 60 + int(minutes)) * 60 + int(seconds)) * SECOND_NS
    if offset_ns > LARGEST_OFFSET_NS:
        return None
    offset_ns += int(fraction.ljust(9, "0"))
    return -offset_ns if sign == "-" else offset_ns


def plain_blanks(texts: pa.Array) -> pa.Array:
    """Texts without blanks at their ends and with plain ones inside; missing if none is left."""
    bare = pc.replace_substring_regex(pc.utf8_trim_whitespace(texts), BLANKS, " ")
    return pc.if_else(pc.equal(bare, ""), pa.scalar(None, bare.type), bare)


def all_match(column: pa.Array, pattern: str) -> bool:
    """True if a pattern occurs in every present text, and at least one is present."""
    return pc.all(pc.match_substring_regex(column, pattern)).as_py() is True


def _parse_block(texts: pa.Array, form: TimeForm, moments: Moments, start: int) -> None:
    """Read texts [n] into the rows of `moments` from `start` on, those of one shape together."""
    _, ends, letters = texts.buffers()
    edges = np.frombuffer(ends, np.int32)[texts.offset : texts.offset + len(texts) + 1]
    data = np.frombuffer(letters or b"", np.uint8)
    begins, widths = edges[:-1], np.diff(edges)
    left = np.flatnonzero(widths if not texts.null_count else widths * np.asarray(texts.is_valid()))
    for _ in range(MOST_SHAPES):
        if not len(left):
            return
        first = data[begins[left[0]] :][: widths[left[0]]]
        shape = _find_shape(first.tobytes(), form)
        if shape is None:
            break
        is_alike = widths[left] == len(first)
        rows = left if is_alike.all() else left[is_alike]
        if len(rows) == len(texts):
            cells = np.ascontiguousarray(data[edges[0] : edges[-1]].reshape(len(rows), -1).T)
        else:
            cells = data[begins[rows] + np.arange(len(first))[:, None]]
        fits, time_ns = _parse_alike(cells, first, shape)
        moments.add(start + rows[fits], time_ns[fits], [shape[2]])
        is_alike[is_alike] = fits
        left = left[~is_alike]
    _parse_singly(texts.take(pa.array(left)), start + left, form, moments)


Shape = tuple[dict[str, int], dict[str, list[int]], str]
"""Numbers of a text by group, places of the digits of those that have any, and its zone."""


def _find_shape(letters: bytes, form: TimeForm) -> Shape | None:
    """The shape of a text; None for another form, or one with parts that may move."""
    text = letters.decode("ascii", "replace")
    # Blanks at its begin have places too.
    begin = len(text) - len(text.lstrip())
    match = form.regex.fullmatch(text.strip())
    if match is None:
        return None
    numbers, zone = _read_parts(match)
    digits = {}
    for name in filter(match.groupdict().get, WIDEST):
        first, end = (begin + place for place in match.span(name))
        if end - first < WIDEST[name] and text[end : end + 1].isdigit():
            return None
        digits[name] = [at for at in range(first, end) if text[at] != " "]
    return None if read_offset(zone) is None or numbers.get("rest") else (numbers, digits, zone)


def _read_parts(match: re.Match[str]) -> tuple[dict[str, int], str]:
    """Numbers of a text by group, a month for its name among them, and its zone."""
    part = match.groupdict()
    numbers = {name: int(part[name] or name in "dj") for name in WIDEST if name in part}
    if part.get("f"):
        numbers["f"] *= 10 ** (9 - len(part["f"]))
    if "b" in part:
        numbers["m"] = MONTHS.index(part["b"][:3].lower()) + 1
    if "p" in part:
        numbers["p"] = "ap".find((part["p"] or "-")[0].lower())
    if "rest" in part:
        numbers["rest"] = len(part["rest"])
    return numbers, part.get("z") or part.get("Z") or ""


def _parse_alike(cells: Letters, first: Letters, shape: Shape) -> tuple[Flags, Ints]:
    """Flags of texts, letters [L, n], that have the shape of the first and are times; times [n]."""
    numbers, digits, zone = shape
    part: dict[str, Any] = dict(numbers)
    places = [at for each in digits.values() for at in each]
    fits = np.ones(cells.shape[1], dtype=np.bool_)
    for at in set(range(len(first))) - set(places):
        fits &= cells[at] == first[at]
    values = cells[places] - ord("0")
    fits &= values.max(axis=0) <= 9
    begin = 0
    for name, each in digits.items():
        number = values[begin].astype(np.int32)
        for digit in values[begin + 1 : begin + len(each)]:
            number = number * 10 + digit
        begin += len(each)
        part[name] = number * 10 ** (9 - len(each)) if name == "f" else number
    time_ns, is_time = _count_time(part)
    return fits & is_time, time_ns - (read_offset(zone) or 0)


def _parse_singly(texts: pa.Array, rows: Ints, form: TimeForm, moments: Moments) -> None:
    """Read texts that have shapes of their own into `rows` [n] of `moments`."""
    found = []
    for row, text in zip(rows.tolist(), plain_blanks(texts).to_pylist(), strict=True):
        if (match := form.regex.fullmatch(text or "")) is not None:
            found.append((row, *_read_parts(match)))
        elif text:
            moments.misfits.append(row)
    if not found:
        return
    places, numbers, zones = zip(*found, strict=True)
    time_ns, is_time = _count_time({k: np.array([each[k] for each in numbers]) for k in numbers[0]})
    is_time &= np.array([each.get("rest", 0) for each in numbers]) == 0
    time_ns -= np.array([read_offset(zone) or 0 for zone in zones], dtype=np.int64)
    at = np.array(places)
    moments.wrong += at[~is_time].tolist()
    moments.add(at[is_time], time_ns[is_time], np.array(zones)[is_time].tolist())


def _count_time(part: Mapping[str, Any]) -> tuple[Ints, Flags]:
    """Nanoseconds since 1970 [n] of the numbers that make up times, and flags of the valid ones."""
    years = part["Y"] if "Y" in part else part["y"] + 1900 + 100 * (part["y"] < PIVOT)
    month, day = part.get("m", 1), part["j"] if "j" in part else part["d"]
    is_time = (years >= FIRST_YEAR) & (years <= LAST_YEAR) & (month >= 1) & (month <= 12)
    at = np.where(is_time, (years - FIRST_YEAR) * 12 + month - 1, 0)
    begins = FIRST_DAYS[at]
    is_time &= (day >= 1) & (begins + day <= FIRST_DAYS[at + (12 if "j" in part else 1)])
    hours, is_half = part.get("I", part.get("H", 0)), "I" in part
    is_time &= np.greater_equal(hours, is_half) & np.less(hours, 13 if is_half else 24)
    if "p" in part:
        hours = np.where(np.less(part["p"], 0), hours, hours % 12 + 12 * np.equal(part["p"], 1))
    minutes, seconds = part.get("M", 0), part.get("S", 0)
    is_time &= np.less(minutes, 60) & np.less(seconds, 60)
    time_ns: Ints = (begins + (day - 1)) * DAY_NS
    time_ns += ((hours * 60 + minutes) * 60 + seconds) * np.int64(SECOND_NS) + part.get("f", 0)
    return time_ns, is_time
