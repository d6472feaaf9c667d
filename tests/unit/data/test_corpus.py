"""Every row of every table of `tests/corpus`: its file is loaded, and bars or a refusal come."""

import importlib
import pkgutil
import re
from dataclasses import fields

import numpy as np
import pytest

from data import DataError, LoadOptions, load_bars, quirks_of
from data.checks import COLUMNS, VALUES
from tests import corpus
from tests.corpus.row import time_ns
from tests.support.flags import parse_options
from tests.support.series import make_columns

pytestmark = pytest.mark.filterwarnings("ignore:Series.values returning:DeprecationWarning")
"""A library of calendars asks pandas so; Python hides a library's own deprecations."""

LONGEST = 1500
"""Characters of a message: five rows with all their values."""

LEFT_OUT = re.compile(r"leave --([a-z-]+) out")

TABLES = {
    name: importlib.import_module(f"tests.corpus.{name}").ROWS
    for _, name, _ in pkgutil.iter_modules(corpus.__path__)
    if name != "row"
}
ROWS = {f"{name}: {row.name}": row for name, rows in TABLES.items() for row in rows}


def test_rows_of_a_table_have_names_of_their_own():
    """A name that stands twice would hide a row."""
    assert len(ROWS) == sum(map(len, TABLES.values()))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder for one file after the other."""
    return tmp_path_factory.mktemp("corpus")


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_a_file_gives_its_bars_or_its_refusal(row, folder):
    """One line says why not; the file stays as it was, and nothing lies beside it."""
    path = folder / row.file.name
    try:
        row.file.write(path)
        before = path.read_bytes()
        if row.seen:
            check_bars(load(row, path, row.options), row.seen)
        else:
            message = check_refusal(row, path)
            for given, seen in row.then:
                check_bars(load(row, path, *advised(row, message, given)), seen)
        assert path.read_bytes() == before
        assert list(folder.iterdir()) == [path]
    finally:
        path.unlink()


def load(row, path, options, market=None):
    """The bars of a row's file."""
    market = row.market if market is None else market
    spec = f"{row.source}{path}{'#' if market else ''}{market}"
    return load_bars(spec, LoadOptions(**options), now_ns=time_ns(row.now))


def check_refusal(row, path):
    """The message of a refusal, which is one short line with the words that a row has."""
    with pytest.raises(DataError) as caught:
        load(row, path, row.options)
    message = str(caught.value)
    assert isinstance(caught.value, row.error), (type(caught.value), message)
    assert [word for word in row.words if word not in message] == [], message
    assert [word for word in row.never if word in message] == [], message
    assert message.isprintable(), message
    assert len(message) <= LONGEST
    return message


def advised(row, message, given):
    """The options and the market that a message advises, beside those of its row."""
    left_out = dict.fromkeys(name.replace("-", "_") for name in LEFT_OUT.findall(message))
    options, plain = parse_options(LEFT_OUT.sub("", message), **given), LoadOptions()
    named = {own.name: getattr(options, own.name) for own in fields(LoadOptions)}
    named = {name: value for name, value in named.items() if value != getattr(plain, name)}
    columns = {**row.options.get("columns", {}), **named.get("columns", {})}
    whole = {**row.options, **left_out, **named, "columns": columns, **given}
    market = message.partition(f"{row.file.name}#")[2].split(" ")[0].rstrip(",;)'")
    return {name: value for name, value in whole.items() if value is not None}, market or row.market


def check_bars(bars, seen):
    """Refuse bars that are not those of a row."""
    for name in ("timeframe", "symbol", "zone"):
        assert getattr(seen, name) in (None, getattr(bars, name))
    check_times(bars.timestamp, seen)
    columns = {name: getattr(bars, name) for name in COLUMNS} | dict(bars.extra)
    if seen.made is not None:
        check_made(columns, seen.made)
    for name, values in seen.values.items():
        cells = values if isinstance(values, dict) else dict(enumerate(values))
        assert isinstance(values, dict) or len(values) == len(bars)
        actual = columns[name][list(cells)]
        np.testing.assert_array_equal(actual, np.array(list(cells.values()), float), name)
    if seen.missing is not None:
        least, most = seen.missing
        assert least <= bars.gaps_in_open_hours().missing_bars <= most
    if seen.quirks is not None:
        lines = [f"{line}\n" for line in quirks_of(bars)]
        assert len(seen.quirks) == len(lines), lines
        assert all(part in line for part, line in zip(seen.quirks, lines, strict=True)), lines
    check_notes(bars.notes, seen)


def check_times(times, seen):
    """Refuse other times at which bars open [T]."""
    assert seen.count in (None, len(times))
    for place, time in ((0, seen.first), (-1, seen.last)):
        if time is not None:
            assert shown([time_ns(time)]) == shown(times[[place]])
    if seen.times is not None:
        expected = seen.times() if callable(seen.times) else seen.times
        assert shown(map(time_ns, expected)) == shown(times)


def check_notes(notes, seen):
    """Refuse notes that lack a fragment of a row, or hold one that it forbids."""
    wanted, unsaid = (
        [words] if isinstance(words, str) else words for words in (seen.notes, seen.unsaid)
    )
    assert [words for words in wanted or () if not any(words in note for note in notes)] == [], (
        notes
    )
    assert [words for words in unsaid if any(words in note for note in notes)] == [], notes
    if wanted is not None and not wanted:
        assert notes == ()


def check_made(columns, made):
    """Refuse bars that are not those of the builder, in every bit."""
    places = np.arange(made) if isinstance(made, int) else np.array(made)
    whole = make_columns(int(places.max()) + 1)
    assert shown(whole["timestamp"][places]) == shown(columns["timestamp"])
    for name in VALUES:
        assert whole[name][places].tolist() == columns[name].tolist(), name


def shown(times):
    """Times as text, which a person reads where they differ."""
    return [str(np.datetime64(int(time), "ns")) for time in times]
