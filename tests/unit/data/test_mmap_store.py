"""Bars of files are those that were written, to the last bit, and take no memory of their own."""

from dataclasses import replace

import numpy as np
import pytest

from data.bars import Bars
from data.checks import COLUMNS
from data.errors import SourceError
from data.mmap_store import find_mapped_file, map_bars, pack_bars, put_down, unpack_bars
from tests.support.worlds import draw_payments, make_bars

ODD = np.array([np.nan, -0.0, 5e-324, np.frombuffer(b"\1" * 6 + b"\xf8\x7f")[0]] * 75)
PLAIN = replace(make_bars(1, 300), notes=("one", "two\nlines"), extra={"odd": ODD, "open": ODD + 1})
BARS = replace(PLAIN, payments={"fund": draw_payments(PLAIN, 1)})


def bits(bars):
    """All that bars are made of."""
    columns = [getattr(bars, name).tobytes() for name in COLUMNS]
    extra = {name: column.tobytes() for name, column in bars.extra.items()}
    return columns, extra, bars.symbol, bars.timeframe_ns, bars.source, bars.notes


@pytest.mark.parametrize("how", ["file", "bytes"])
def test_bars_come_back_to_the_last_bit(tmp_path, how):
    """Extra columns, their signs and NaN, notes and all; nothing is copied, all is read-only."""
    mapped = put_down(BARS, tmp_path / "bars") if how == "file" else unpack_bars(pack_bars(BARS))
    assert bits(mapped) == bits(BARS)
    assert mapped.content_hash == BARS.content_hash != PLAIN.content_hash
    assert pack_bars(mapped) == pack_bars(BARS)
    dated = replace(BARS, dated=("odd",))
    assert [unpack_bars(pack_bars(bars)).dated for bars in (BARS, dated)] == [(), ("odd",)]
    for column in (mapped.close, mapped.extra["odd"], mapped.cut(7, 200).close):
        assert column.base is not None
        with pytest.raises(ValueError, match="WRITEABLE"):
            column.flags.writeable = True


def test_a_file_is_written_once_and_knows_its_bars(tmp_path):
    """Its name is a digest of its content; bars that were cut out of it are others."""
    first, second = put_down(BARS, tmp_path), put_down(BARS, tmp_path)
    (file,) = tmp_path.iterdir()
    assert find_mapped_file(first) == find_mapped_file(second) == file
    assert find_mapped_file(first.cut(3, 9)) is None
    assert find_mapped_file(BARS) is None


def test_other_bytes_are_refused(tmp_path):
    """A disk may fail, and a person may edit."""
    put_down(BARS, tmp_path)
    (file,) = tmp_path.iterdir()
    content = file.read_bytes()
    file.write_bytes(content[:2000] + bytes([content[2000] ^ 1]) + content[2001:])
    with pytest.raises(SourceError, match="has other bytes than were written"):
        map_bars(file)


def test_columns_that_somebody_can_write_are_copied():
    """Also where they are shown read-only: a hash once taken stays true."""
    mine = {name: getattr(BARS, name).copy() for name in COLUMNS}
    shown = {name: column.view() for name, column in mine.items()}
    shown["close"].flags.writeable = False
    shown["open"] = np.frombuffer(memoryview(bytearray(mine["open"].tobytes())).toreadonly())
    bars = Bars(**shown, symbol="S", timeframe_ns=BARS.timeframe_ns)
    for name in COLUMNS:
        assert getattr(bars, name).base is None
