"""Recorded forecasts as pages: those of a folder, and how one was made and how good it was."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from data.errors import list_some
from optimizer.errors import StoreError
from optimizer.forecasts.column import (
    SUFFIX,
    ForecastRecord,
    describe_record,
    find_main_gain,
    format_p,
    format_slope,
    list_digests,
    list_records,
    list_skill_cells,
    read_forecast,
)
from optimizer.formatting import fraction, number
from optimizer.store.listing import FOREIGN
from optimizer.viewing.pages import render_page
from optimizer.viewing.run_index import MOST_SYMBOLS, Signature, sign_file

COLUMNS = {
    "forecast": "",
    "symbols": "",
    "model": "",
    "bars ahead": "",
    "skill": "better than nothing and than the mean",
    "gain": "share of squared error taken away from the mean, from nothing where it is the mean",
    "p": "of a gain at least as great if both were equally good",
    "calibration": "slope of what came on what was forecast; 1 is best",
    "known from": "first refit, UTC",
    "to": "last bar, UTC",
}
"""Columns of the list, and what they are where a word is not enough."""


def read_folder_signature(folder: Path) -> Signature:
    """Stamp that changes whenever a forecast of a folder does."""
    return tuple((path.name, sign_file(path)) for path in sorted(folder.glob(f"*{SUFFIX}")))


def make_list_page(folder: Path) -> bytes:
    """The forecasts of a folder, and a sentence for each that cannot be read.

    Each counts the fits beside it, so that numbers of others may promise too much without it.
    """
    (records, unread), rows = list_records(folder), []
    problems = list(unread.values())
    for path, record in records.items():
        try:
            with _explaining(path):
                rows.append((path.name, _list_cells(record)))
        except StoreError as error:
            problems.append(str(error))
    page = render_page(
        "forecasts.html", columns=COLUMNS, rows=rows, problems=problems, folder=folder
    )
    return page.encode()


def make_forecast_page(folder: Path, name: str) -> bytes:
    """A forecast of a folder, checked whole; a client's text is never made a path."""
    records = list_records(folder).records
    path = next((path for path in records if path.name == name), None)
    if path is None:
        raise StoreError("There is no such forecast: it was removed, moved or never there.")
    with _explaining(path):
        return _render_forecast(path, records[path])


@contextmanager
def _explaining(path: Path) -> Iterator[None]:
    """In a sentence where a record holds what none holds."""
    try:
        yield
    except FOREIGN as error:
        what = f"{path.name} holds what no forecast holds ({error!r})"
        raise StoreError(f"{what}: fit it again, or remove it") from None


def _list_cells(record: ForecastRecord) -> list[str]:
    gain, symbols = find_main_gain(record), [span.symbol for span in record.data]
    return [
        list_some(symbols[:MOST_SYMBOLS], len(symbols)),
        str(record.settings["model"]),
        number(record.settings["horizon"]),
        "skill" if record.skill.has_skill else "no skill",
        fraction(gain.gain),
        format_p(gain.p),
        format_slope(record.skill.whole),
        min((name for name, _ in record.skill.folds), default="-")[:10],
        max(span.last for span in record.data)[:10],
    ]


def _render_forecast(path: Path, record: ForecastRecord) -> bytes:
    read_forecast(path)
    lines = [f"each number is known from {record.known_from}", *describe_record(record)]
    page = render_page(
        "forecast.html",
        path=path,
        record=record,
        rivals=list(record.skill.whole.against),
        rows=list_skill_cells(record),
        lines=[*lines, list_digests(record)],
    )
    return page.encode()
