"""A source looked at as a whole."""

from data import inspect_source
from tests.support.series import csv_text, make_columns, write_csv


def test_every_kind_of_fault_is_told_at_once(tmp_path):
    """Each with its rows and the option that helps."""
    columns = make_columns(30)
    columns["volume"][4] = -1.0
    columns["close"][[7, 8, 9, 10]] = float("nan")
    columns["low"][20] = 1e6
    order = [0, 2, 1, *range(3, 30), 29]
    text = csv_text({name: column[order] for name, column in columns.items()})
    inspection = inspect_source(write_csv(tmp_path, text))
    assert inspection.bars is None
    assert inspection.problems == (
        "4 rows with a value that is missing or not finite: 7 (2024-01-01T01:45), "
        "8 (2024-01-01T02:00), 9 (2024-01-01T02:15) and 1 more; --drop-bad-bars",
        "1 row with a negative volume: 4 (2024-01-01T01:00); --drop-bad-bars",
        "1 row with a low above open or close: 20 (2024-01-01T05:00); --drop-bad-bars",
        "1 row earlier than the row before: 2 (2024-01-01T00:15); --sort",
        "1 row equal to the row before: 30 (2024-01-01T07:15); --dedupe",
    )


def test_what_cannot_be_read_at_all_is_told(tmp_path):
    """A missing file, an unknown source, and a file that is none."""
    for spec in (f"csv:{tmp_path}/none.csv", "nowhere:x", write_csv(tmp_path, "a,b\n1,2\n")):
        inspection = inspect_source(spec)
        assert inspection.bars is None
        assert len(inspection.problems) == 1
