"""Text in the encodings of other languages, and lines that no reader of tables expects."""

import codecs
import io
import zipfile

import pytest

from data import load_bars
from data.errors import DataError
from data.table import LoadOptions

HEADERS = {
    "gb18030": ("日期,开盘,收盘,最高,最低,成交量", "GB 18030"),
    "cp1251": ("Дата,Открытие,Закрытие,Максимум,Минимум,Объем", "Windows-1251"),
    "cp1250": ("Data,Otwarcie,Zamknięcie,Najwyższy,Najniższy,Wolumen", "Windows-1250"),
    "cp1254": ("Tarih,Açılış,Kapanış,Yüksek,Düşük,Hacim", "Windows-1254"),  # noqa: RUF001
    "cp1252": ("Datum,Eröffnung,Schluss,Hoch,Tief,Stück", "Windows-1252"),
    "cp932": ("日付,始値,終値,高値,安値,出来高", "Shift JIS"),
    "cp949": ("날짜,시가,종가,고가,저가,거래량", "EUC-KR"),
}
ROWS = [f"2024-01-0{i},10.5,11,12,9,{i}" for i in range(1, 6)]
PLAIN = "\n".join(["time,open,close,high,low,volume", *ROWS, ""])


def read(folder, content, name="bars.csv", **options):
    """Bars of a file of these bytes."""
    (folder / name).write_bytes(content)
    return load_bars(str(folder / name), LoadOptions(**options))


@pytest.mark.parametrize("encoding", HEADERS)
def test_names_of_columns_show_the_encoding(tmp_path, encoding):
    """Programs of a language write such files still; the note names the reading."""
    header, name = HEADERS[encoding]
    bars = read(tmp_path, "\n".join([header, *ROWS, ""]).encode(encoding))
    assert (bars.high[0], bars.low[0], bars.volume.tolist()) == (12.0, 9.0, [1, 2, 3, 4, 5])
    assert any(note.startswith(f"text is read as {name}") for note in bars.notes)


def test_a_market_in_another_encoding_than_the_names_is_read(tmp_path):
    """The column that is read says so too, though the names are of any encoding."""
    text = PLAIN.replace("\n", ",Société\n").replace("volume,Société", "volume,symbol")
    bars = read(tmp_path, text.encode("cp1252"))
    assert bars.symbol == "Société"
    assert "text is read as Windows-1252; save it as UTF-8 if names look wrong" in bars.notes


@pytest.mark.parametrize("encoding", ["utf-32", "utf-16", "utf-8-sig"])
def test_marked_text_is_read_without_a_note(tmp_path, encoding):
    """A mark at its begin leaves nothing open."""
    notes = read(tmp_path, PLAIN.encode()).notes
    assert read(tmp_path, PLAIN.encode(encoding)).notes == notes
    assert read(tmp_path, codecs.BOM_UTF8 * 2 + PLAIN.encode()).notes == notes


@pytest.mark.parametrize("mark", [":", " ", "^", "     "])
def test_cells_that_nothing_known_parts_are_named(tmp_path, mark):
    """No column is called by the whole line."""
    with pytest.raises(DataError, match="cells must be separated by a comma, semicolon, tab or"):
        read(tmp_path, PLAIN.replace(",", mark).encode())


def test_a_separator_behind_each_row_names_no_column(tmp_path):
    """One at the begin of each line neither."""
    lines = PLAIN.splitlines()
    ends = "\n".join([lines[0], *(f"{line}," for line in lines[1:]), ""])
    plain = read(tmp_path, PLAIN.encode())
    assert read(tmp_path, ends.encode()).content_hash == plain.content_hash
    cut = ends.removesuffix("\n")
    assert not read(tmp_path, cut.encode(), columns={"volume": "none"}).volume.any()
    begins = "".join(f",{line}\n" for line in lines)
    assert read(tmp_path, begins.encode()).content_hash == plain.content_hash


@pytest.mark.parametrize(
    ("row", "help_"),
    [("2024-01-06,10,5,11,12,9,7", "commas stand in cells"), ("2024-01-06,10", "complete")],
)
def test_a_row_of_another_count_of_cells_says_what_to_do(tmp_path, row, help_):
    """Commas among decimals, or a row that was cut."""
    with pytest.raises(DataError, match=rf"Row #7: Expected 6 columns, .*; .*{help_}"):
        read(tmp_path, f"{PLAIN}{row}\n".encode())


def test_facts_of_macos_beside_a_file_are_no_file(tmp_path):
    """An archive that it wrote holds one file."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("bars.csv", PLAIN)
        archive.writestr("__MACOSX/._bars.csv", "x")
    assert len(read(tmp_path, content.getvalue(), "bars.zip")) == 5


def test_a_currency_behind_a_price_is_none_of_its_digits(tmp_path):
    """As pages of several countries write it."""
    rows = [f"2024-01-0{i};10,5 €;12,25 €;9 €;11 €;{i}" for i in range(1, 6)]
    text = "\n".join(["time;open;high;low;close;volume", *rows, ""])
    assert read(tmp_path, text.encode()).high.tolist() == [12.25] * 5


@pytest.mark.parametrize("mark", "./-")
def test_years_of_two_digits_name_their_formats(tmp_path, mark):
    """Either order, and one of them reads the times."""
    rows = [f"0{i}{mark}02{mark}24 14:30,10,12,9,11,5" for i in range(1, 6)]
    text = "\n".join(["time,open,high,low,close,volume", *rows, ""]).encode()
    with pytest.raises(DataError, match="no single reading") as caught:
        read(tmp_path, text)
    first, second = (f"%d{mark}%m{mark}%y %H:%M", f"%m{mark}%d{mark}%y %H:%M")
    assert f"such as --time-format '{first}' or --time-format '{second}'" in str(caught.value)
    assert read(tmp_path, text, time_format=first).timeframe == "1d"
