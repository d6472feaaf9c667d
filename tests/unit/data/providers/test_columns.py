"""Which column of a file is which."""

import pytest

from data.errors import TableError
from data.providers.columns import recognise

PRICES = ["open", "high", "low", "close", "volume"]


@pytest.mark.parametrize(
    "names",
    [
        ["timestamp", *PRICES],
        ["Open Time", "Open", "High", "Low", "Close", "Volume"],
        ["t", "o", "h", "l", "c", "v"],
        ["TIME", "OPEN", "HIGH", "LOW", "CLOSE", "VOL"],
        ["<DATE>", "<OPEN>", "<HIGH>", "<LOW>", "<CLOSE>", "<TICKVOL>"],
        ["open_time", *PRICES, "close_time", "quote_volume", "trades", "adj close"][:7],
    ],
    ids=["plain", "spaces", "letters", "capitals", "brackets", "exchange"],
)
def test_common_names_are_recognised_in_any_case(names):
    """Time first, then the five values, whatever the spelling."""
    layout = recognise(names, "f.csv")
    assert layout.times == (names[0],)
    assert layout.values == tuple(names[1:6])


def test_order_of_columns_does_not_matter():
    """Values come out as open, high, low, close, volume."""
    layout = recognise(["close", "volume", "low", "date", "high", "open"], "f.csv")
    assert layout.values == ("open", "high", "low", "close", "volume")


def test_date_and_time_of_day_are_both_times():
    """Two columns that together say when are both read."""
    assert recognise(["date", "time", *PRICES], "f").times == ("date", "time")


def test_column_of_symbols_is_found():
    """A column that names the market is read."""
    assert recognise(["ticker", "date", *PRICES], "f").symbol == "ticker"


def test_unnamed_index_is_the_time_when_nothing_else_is():
    """A frame saved with a nameless time index has its times there."""
    assert recognise([*PRICES, "__index_level_0__"], "f").times == ("__index_level_0__",)
    assert recognise([*PRICES, "date", "__index_level_0__"], "f").times == ("date",)


@pytest.mark.parametrize(
    ("names", "first", "second"),
    [
        (["date", *PRICES, "Close"], "close", "Close"),
        (["date", *PRICES, "vol"], "volume", "vol"),
        (["date", *PRICES, "o"], "open", "o"),
    ],
)
def test_two_columns_for_one_thing_are_refused(names, first, second):
    """Both are named, none is chosen."""
    with pytest.raises(TableError, match=f"f.csv: columns '{first}' and '{second}' could both be"):
        recognise(names, "f.csv")


def test_close_time_alone_is_refused():
    """Without an open time the edge of a bar would be a guess."""
    with pytest.raises(TableError, match=r"'close_time' says when a bar closes.*--stamped close"):
        recognise(["close_time", *PRICES], "f.csv")


def test_close_time_beside_an_open_time_is_left_alone():
    """Exchange exports hold both; the open time counts."""
    assert recognise(["open_time", *PRICES, "close_time"], "f").times == ("open_time",)


def test_missing_columns_are_named_with_those_there_are():
    """The message lists what is missing and what was found."""
    with pytest.raises(TableError, match=r"named high or volume; columns are 'date', 'open'"):
        recognise(["date", "open", "low", "close"], "f.csv")


def test_file_without_header_line_is_recognised_as_such():
    """Numbers as names mean that the header line is missing."""
    with pytest.raises(TableError, match="is there a header line"):
        recognise(["1704067200", "1.0", "2.0", "0.5", "1.5", "10"], "f.csv")


def test_many_and_long_names_do_not_flood_the_message():
    """A message stays short whatever the file holds."""
    with pytest.raises(TableError) as caught:
        recognise(["x" * 1000 + str(i) for i in range(500)], "f.csv")
    assert len(str(caught.value)) < 600


def test_columns_of_a_program_that_stamps_closes_are_noted():
    """nautilus_trader has two times of nanoseconds beside each other."""
    (note,) = recognise(["ts_event", "ts_init", *PRICES], "f.csv").notes
    assert "nautilus_trader" in note
    assert note.endswith("--stamped close reads them so")
    assert recognise(["ts_event", *PRICES], "f.csv").notes == ()
