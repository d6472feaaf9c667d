"""Files as exchanges, brokers and vendors write them: read as meant, or refused with a way on."""

import re

import pytest

from data import DataError, LoadOptions, load_bars
from tests.support.paths import ROOT
from tests.support.vendor_files import DATABENTO, FILES, ROWS, lines

PAGE = ROOT / "data" / "providers" / "README.md"
TABLE = re.compile(r"^\| source \|.*?(?=\n\n)", re.MULTILINE | re.DOTALL)


def write(folder, text):
    """A file, and its source."""
    (folder / "x.csv").write_text(text, encoding="utf-8")
    return str(folder / "x.csv")


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.source} {file.words}")
def test_a_file_of_a_vendor_is_read(tmp_path, file):
    """The five bars in every bit, with the options of its entry; a note where it matters."""
    bars = load_bars(write(tmp_path, file.text), LoadOptions(**file.options))
    assert bars.timestamp.tolist() == [int(time.timestamp()) * 10**9 for time in file.times]
    names = ("open", "high", "low", "close", "volume")
    for name, column in zip(names, zip(*ROWS, strict=True), strict=True):
        assert getattr(bars, name).tolist() == list(column), name
    assert bars.symbol == "x"


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.source} {file.words}")
def test_a_file_of_a_vendor_says_what_must_be_known(tmp_path, file):
    """Refused without options where something is open; else read, with the note that helps."""
    spec = write(tmp_path, file.text)
    if file.refusal:
        with pytest.raises(DataError, match=re.escape(file.refusal)):
            load_bars(spec)
    options = file.options if file.refusal else {}
    notes = load_bars(spec, LoadOptions(**options)).notes
    assert any(file.note in note for note in notes) or not file.note, notes


def test_prices_in_billionths_are_noted(tmp_path):
    """As Databento counts them, unless it is asked for plain ones."""
    form = "{s}000000000,33,1,5482,{o:.2f}0000000,{h:.2f}0000000,{l:.2f}0000000,{c:.2f}0000000,7,x"
    text = lines(form, DATABENTO).replace(".", "")
    bars = load_bars(write(tmp_path, text))
    assert bars.open[0] == 187_150_000_000
    assert any("look counted in billionths, as Databento does" in note for note in bars.notes)


def test_whole_prices_of_a_dear_market_are_not_noted(tmp_path):
    """A hundred million of a weak currency is a price."""
    text = lines("{s},150000000,151000000,149000000,150500000,7", "time,open,high,low,close,volume")
    assert not any("billionths" in note for note in load_bars(write(tmp_path, text)).notes)


def test_days_at_the_close_of_new_york_are_noted_on_its_clock(tmp_path):
    """Whatever the hour in UTC."""
    rows = [f"2024-01-0{i} 16:00,10,12,9,11,5" for i in range(1, 6)]
    spec = write(tmp_path, "\n".join(["time,open,high,low,close,volume", *rows, ""]))
    notes = load_bars(spec, LoadOptions(tz="America/New_York")).notes
    assert any("days are stamped 16:00" in note for note in notes)


@pytest.mark.parametrize("clock", ["15:00", "16:00"])
@pytest.mark.parametrize("first", [1, 6])
def test_days_at_other_hours_or_of_weekends_are_not_taken_for_closes(tmp_path, clock, first):
    """Only days of the week that are all stamped 16:00 are noted."""
    rows = [f"2024-01-0{first + i} {clock},10,12,9,11,5" for i in range(3)]
    spec = write(tmp_path, "\n".join(["time,open,high,low,close,volume", *rows, ""]))
    is_noted = any("days are stamped 16:00" in note for note in load_bars(spec).notes)
    assert is_noted == (clock == "16:00" and first == 1)


@pytest.mark.parametrize(
    ("name", "zone"),
    [
        ("Time (EET)", "EET"),
        ("datetime_est", "America/New_York"),
        ("Date (IST)", "Asia/Kolkata"),
        ("Time (UTC+1)", "Etc/GMT-1"),
        ("Date GMT-05:00", "Etc/GMT\\+5"),
        ("datetime_utc+0530", "Asia/Kolkata"),
    ],
)
def test_a_zone_in_a_name_must_be_said(tmp_path, name, zone):
    """Its times are never read in UTC; times that name their zone need nothing."""
    rows = [f"2024-01-0{i} 12:00{{}},10,12,9,11,5" for i in range(1, 5)]
    text = "\n".join([f"{name},open,high,low,close,volume", *rows, ""])
    with pytest.raises(DataError, match=f"such as --tz {zone}$"):
        load_bars(write(tmp_path, text.replace("{}", "")))
    options = LoadOptions(tz=zone.replace("\\", ""))
    assert len(load_bars(write(tmp_path, text.replace("{}", "")), options)) == 4
    assert len(load_bars(write(tmp_path, text.replace("{}", "Z")))) == 4


@pytest.mark.parametrize("name", ["Time (UTC)", "Date GMT+0", "time_utc+00:00"])
def test_a_name_that_says_utc_leaves_nothing_open(tmp_path, name):
    """There is no note then; one of another offset without a zone has it."""
    rows = [f"2024-01-0{i} 12:00,10,12,9,11,5" for i in range(1, 5)]
    text = "\n".join([f"{name},open,high,low,close,volume", *rows, ""])
    assert load_bars(write(tmp_path, text)).notes == ()
    notes = load_bars(write(tmp_path, text.replace(name, "Time (UTC+12:45)"))).notes
    assert any("name no zone, read as UTC" in note for note in notes)


@pytest.mark.parametrize("names", [("EST", "EST"), ("EDT", "EST"), ("CET", "CET")])
def test_short_names_of_zones_behind_times_are_named(tmp_path, names):
    """With a zone that they may stand for."""
    rows = [f"2024-01-0{i} 12:00 {names[i % 2]},10,12,9,11,5" for i in range(1, 5)]
    text = "\n".join(["time,open,high,low,close,volume", *rows, ""])
    zone = "CET" if names[0] == "CET" else "America/New_York"
    with pytest.raises(DataError, match=f"short names of zones.*--tz {zone} says which"):
        load_bars(write(tmp_path, text))


def test_the_page_lists_these_files(request):
    """The table of the page is made from the files; ``--bless`` writes it anew."""
    page = PAGE.read_text(encoding="utf-8")
    if request.config.getoption("--bless"):
        page = TABLE.sub(lambda _: make_table(), page)
        PAGE.write_text(page, encoding="utf-8")
    assert TABLE.findall(page) == [make_table()]


def make_table():
    """Source, kind and outcome of each file, as a table of the page."""
    rows = ["| source | file | outcome | read with |", "| --- | --- | --- | --- |"]
    for file in FILES:
        words = [f"refused: {file.refusal}"] if file.refusal else ["read"]
        words += [f"note: {file.note}"] if file.note else []
        options = list_options(file.options)
        rows.append(f"| {file.source} | {file.words} | {'; '.join(words)} | {options} |")
    return "\n".join(rows)


def list_options(options):
    """Options as they are typed."""
    messages = [
        f"--column {meaning}={name}" for meaning, name in options.get("columns", {}).items()
    ]
    messages += [
        f"--{name.replace('_', '-')} {value!r}".replace("'", '"' if " " in value else "")
        for name, value in options.items()
        if name != "columns"
    ]
    return f"`{' '.join(messages)}`" if messages else ""
