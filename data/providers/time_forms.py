"""Forms of written times beside ISO 8601: recognised where one reading fits every row."""

import re
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from data.errors import TableError

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")

YEAR = r"(?P<y>(?:19|20)[0-9]{2})"
MONTH = r"(?P<m>0?[1-9]|1[0-2])"
DAY = r"(?P<d>0?[1-9]|[12][0-9]|3[01])"
NAME = (
    r"(?P<b>(?i:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|"
    r"sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?))\.?"
)
CLOCK = (
    r"(?:[T ,]+(?P<H>[01]?[0-9]|2[0-3]):(?P<M>[0-5][0-9])(?::(?P<S>[0-5][0-9]))?"
    r"(?:\.(?P<f>[0-9]{1,9}))?(?: ?(?P<p>[AaPp])\.?[Mm]\.?)?)?"
    r" ?(?:GMT|UTC)?(?P<z>[+-][0-9]{2}:?[0-9]{2}|Z)?"
)
DIGITS = (
    r"(?P<y>(?:19|20)[0-9]{2})(?P<m>0[1-9]|1[0-2])(?P<d>0[1-9]|[12][0-9]|3[01])"
    r"(?:[T ]*(?P<H>[01][0-9]|2[0-3]):?(?P<M>[0-5][0-9])(?::?(?P<S>[0-5][0-9]))?)?"
)


@dataclass(frozen=True)
class Form:
    """One way to write a time: words, and a pattern with groups y, m or b, d, H, M, S, f, p, z."""

    words: str
    pattern: str


FORMS = (
    Form("YYYYMMDD", f"^{DIGITS}$"),
    Form("day.month.year", rf"^{DAY}\.{MONTH}\.{YEAR}{CLOCK}$"),
    Form("day/month/year", f"^{DAY}[/-]{MONTH}[/-]{YEAR}{CLOCK}$"),
    Form("month/day/year", f"^{MONTH}[/-]{DAY}[/-]{YEAR}{CLOCK}$"),
    Form("year-month-day", f"^{YEAR}[/.-]{MONTH}[/.-]{DAY}{CLOCK}$"),
    Form("month name, day, year", f"^{NAME} {DAY},? {YEAR}{CLOCK}$"),
    Form("day, month name, year", f"^{DAY}[ -]{NAME}[ -]{YEAR}{CLOCK}$"),
)

DIRECTIVES = {
    "Y": YEAR,
    "y": r"(?P<y>[0-9]{2})",
    "m": MONTH,
    "d": DAY,
    "b": NAME,
    "B": NAME,
    "H": r"(?P<H>[01]?[0-9]|2[0-3])",
    "I": r"(?P<H>0?[1-9]|1[0-2])",
    "M": r"(?P<M>[0-5]?[0-9])",
    "S": r"(?P<S>[0-5]?[0-9])",
    "f": r"(?P<f>[0-9]{1,9})",
    "p": r"(?P<p>[AaPp])\.?[Mm]\.?",
    "z": r"(?P<z>[+-][0-9]{2}:?[0-9]{2}|Z)",
}
"""What ``--time-format`` may hold after a percent sign."""

LOOKED_AT_FIRST = 1000
"""Values that rule most forms out before all are looked at."""

TWO_DIGIT_PIVOT = 69
"""Two-digit years from here on belong to the last century, as POSIX has it."""


def form_of(time_format: str) -> Form:
    """The form that a text such as ``%d/%m/%Y %H:%M`` describes.

    Raises:
        TableError: When it holds something unknown or twice, or no day.
    """
    pattern, seen = "", ""
    for literal, directive in re.findall(r"([^%]+)|%(.?)", time_format):
        if literal or directive == "%":
            pattern += re.escape(literal or "%").replace("\\ ", " +")
            continue
        if directive not in DIRECTIVES or directive in seen:
            known = " ".join(f"%{name}" for name in DIRECTIVES)
            raise TableError(
                f"--time-format {time_format[:40]!r}: '%{directive}' is unknown or repeated; "
                f"known: {known}"
            )
        seen += directive
        pattern += DIRECTIVES[directive]
    groups = re.findall(r"\?P<(\w)>", pattern)
    has_date = {"y", "d"} <= set(groups) and {"m", "b"} & set(groups)
    if not has_date or len(groups) != len(set(groups)):
        raise TableError(
            f"--time-format {time_format[:40]!r} must name year, month and day once, such as "
            "%d/%m/%Y %H:%M"
        )
    return Form(time_format, f"^{pattern}$")


def as_iso(column: pa.Array, form: Form) -> pa.Array:
    """Write times [N] of a form anew as ISO 8601; missing ones stay missing."""
    parts = pc.extract_regex(column, form.pattern)
    names = [field.name for field in parts.type]
    part = {name: pc.struct_field(parts, name) for name in names}
    date = pc.binary_join_element_wise(_year(part["y"]), _month(part, names), _two(part["d"]), "-")
    blank = pc.if_else(pc.is_valid(date), "", None)
    hour = _hour(part["H"], part.get("p")) if "H" in names else _or(blank, "00")
    clock = pc.binary_join_element_wise(
        hour, _or(part.get("M", blank), "00"), _or(part.get("S", blank), "00"), ":"
    )
    fraction = part.get("f", blank)
    fraction = pc.if_else(
        pc.equal(fraction, ""), "", pc.binary_join_element_wise(".", fraction, "")
    )
    return pc.binary_join_element_wise(
        pc.binary_join_element_wise(date, clock, "T"), fraction, part.get("z", blank), ""
    )


def fitting(column: pa.Array) -> list[Form]:
    """The forms that fit every value of a column [N]; missing values fit all."""
    present = column.drop_null()
    few = present.slice(0, LOOKED_AT_FIRST)
    return [form for form in FORMS if _fits(few, form) and _fits(present, form)]


def _fits(column: pa.Array, form: Form) -> bool:
    return pc.all(pc.match_substring_regex(column, form.pattern)).as_py() is True


def _year(years: pa.Array) -> pa.Array:
    if len(years) and pc.max(pc.binary_length(years)).as_py() == 2:
        numbers = pc.cast(years, pa.int64())
        full = pc.if_else(
            pc.greater_equal(numbers, TWO_DIGIT_PIVOT), pc.add(numbers, 1900), pc.add(numbers, 2000)
        )
        return full.cast(pa.string())
    return years


def _month(part: dict[str, pa.Array], names: list[str]) -> pa.Array:
    if "m" in names:
        return _two(part["m"])
    short = pc.utf8_lower(pc.utf8_slice_codeunits(part["b"], 0, 3))
    places = pc.index_in(short, pa.array(MONTHS))
    return _two(pc.add(places, 1).cast(pa.string()))


def _hour(hours: pa.Array, half: pa.Array | None) -> pa.Array:
    if half is None:
        return _two(_or(hours, "00"))
    number = pc.cast(_or(hours, "0"), pa.int64())
    twelve = pc.subtract(number, pc.multiply(pc.divide(number, 12), 12))
    half = pc.utf8_lower(half)
    later = pc.if_else(pc.equal(half, "p"), pc.add(twelve, 12), twelve)
    return _two(pc.if_else(pc.equal(half, ""), number, later).cast(pa.string()))


def _two(texts: pa.Array) -> pa.Array:
    return pc.utf8_lpad(texts, 2, "0")


def _or(texts: pa.Array, otherwise: str) -> pa.Array:
    return _two(pc.if_else(pc.equal(texts, ""), otherwise, texts))
