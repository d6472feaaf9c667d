"""Bars as pandas, polars, pyarrow and duckdb write them, in every bit, or refused by their kind."""

from data.errors import DataError
from tests.corpus.row import reads, refuses, saved
from tests.support.written_forms import FORMS, TIME_NS, VALUES_BY_NAME

FILES = {form: saved(f"series{form.ending}", form.write) for form in FORMS}

ROWS = tuple(
    refuses(form.name, file, {}, DataError, f"series{form.ending}: {form.refusal}")
    if form.refusal
    else reads(form.name, file, times=TIME_NS, symbol="series", timeframe="1h",
               values=VALUES_BY_NAME)
    for form, file in FILES.items()
)  # fmt: skip
