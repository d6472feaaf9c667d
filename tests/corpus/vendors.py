"""Files of vendors, each of the same five bars, and the habits of vendors that are noted."""

from data.errors import TableError
from tests.corpus.row import bars, reads, refuses, text
from tests.support.series import NAMES
from tests.support.vendor_files import DATABENTO, FILES, lines
from tests.support.vendor_files import ROWS as BARS

HEADER = "time,open,high,low,close,volume"
BILLIONTHS = (
    "{s}000000000,33,1,5482,{o:.2f}0000000,{h:.2f}0000000,{l:.2f}0000000,{c:.2f}0000000,7,x"
)
DEAR = "{s},150000000,151000000,149000000,150500000,7"
CLOSES = "days are stamped 16:00"


def of_vendor(file):
    """Rows of a file: with its options, and without them where it is then refused."""
    name, content = f"{file.source}, {file.words}", text(file.text, "x.csv")
    times = [int(time.timestamp()) * 10**9 for time in file.times]
    values = dict(zip(NAMES, zip(*BARS, strict=True), strict=True))
    seen = {"times": times, "values": values, "symbol": "x", "notes": file.note or None}
    if file.note and not file.refusal:
        yield reads(f"{name}, as it is", content, notes=file.note)
        seen["notes"] = None
    yield reads(name, content, file.options, **seen)
    if file.refusal:
        yield refuses(f"{name}, refused", content, None, TableError, file.refusal)


def days(*times, clock="", head="time"):
    """Five days from the first of January, their times of a form."""
    return bars([f"2024-01-0{i} {clock}" for i in times or range(1, 6)], head=head)


ZONES = (("Time (EET)", "EET", "2024-01-01T10:00"),
         ("datetime_est", "America/New_York", "2024-01-01T17:00"),
         ("Date GMT-05:00", "Etc/GMT+5", "2024-01-01T17:00"),
         ("datetime_utc+0530", "Asia/Kolkata", "2024-01-01T06:30"))  # fmt: skip
"""A name of a column, the zone that is advised, and when 12:00 on its clock is."""

ROWS = (
    *(row for file in FILES for row in of_vendor(file)),
    reads("prices in billionths", text(lines(BILLIONTHS, DATABENTO).replace(".", "")),
          values={"open": {0: 187_150_000_000}}, notes="counted in billionths, as Databento"),
    reads("prices of a weak currency", text(lines(DEAR, HEADER)), unsaid="billionths"),
    reads("closes of New York", days(clock="16:00"), {"tz": "America/New_York"}, notes=CLOSES),
    *(refuses(f"zone of {name}", days(clock="12:00", head=name), None, TableError,
              f"such as --tz {zone}", then={"first": first}) for name, zone, first in ZONES),
    *(reads(f"{name}, times that name a zone", days(clock="12:00Z", head=name),
            first="2024-01-01T12:00") for name, _, _ in ZONES),
    *(refuses(f"times that end in {' and '.join(names)}",
              bars([f"2024-01-0{i} 12:00 {names[i % len(names)]}" for i in range(1, 5)]), None,
              TableError, "short names of zones", f"--tz {zone} says which")
      for *names, zone in (("EST", "America/New_York"), ("EDT", "EST", "America/New_York"),
                           ("CET", "CET"))),
)  # fmt: skip
