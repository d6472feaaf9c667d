"""Files of caches: written whole, read back to the last bit or not at all, never too many."""

import os
import threading
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.bars import Bars
from data.cache import (
    CachePart,
    DamagedPartError,
    PartBars,
    SeriesCache,
    SeriesKey,
    TimeRange,
    missing_ranges,
)
from data.checks import COLUMNS, VALUES
from data.errors import SourceError
from data.files import (
    DamagedError,
    claiming,
    drafting,
    list_entries,
    name_draft,
    note_use,
    read_sealed,
    remove_drafts,
    remove_oldest,
    replace_whole,
    write_sealed,
)
from data.mmap_store import find_mapped_file, map_bars, pack_bars, put_down, unpack_bars
from tests.support.worlds import draw_payments, make_bars


@pytest.mark.parametrize(
    "place", [0, 31, 32, -1, None], ids=["hash", "its end", "body", "end", "cut"]
)
def test_a_damaged_file_is_noticed(place, tmp_path):
    """One bit anywhere, or a part missing."""
    path = tmp_path / "one"
    write_sealed(path, b"content")
    sealed = bytearray(path.read_bytes())
    if place is None:
        sealed = sealed[:-1]
    else:
        sealed[place] ^= 1
    path.write_bytes(sealed)
    with pytest.raises(DamagedError, match="one is damaged"):
        read_sealed(path)


def test_what_was_used_longest_ago_goes_first(tmp_path):
    """Files, and folders with all that is in them; those to be kept stay, and other names."""
    for number in range(5):
        (tmp_path / f"{number}.kept").mkdir()
        write_sealed(tmp_path / f"{number}.kept" / "file", b"12345678")
        os.utime(tmp_path / f"{number}.kept", (number, number))
    write_sealed(tmp_path / "5.kept", b"12345678")
    os.utime(tmp_path / "5.kept", (5, 5))
    (tmp_path / "other").write_text("mine")
    os.utime(tmp_path / "other", (0, 0))
    note_use(tmp_path / "0.kept")
    assert [entry.path.name for entry in list_entries(tmp_path, "*.kept")][::5] == [
        "1.kept",
        "0.kept",
    ]
    assert remove_oldest(tmp_path, "*.kept", 3 * 40, {tmp_path / "2.kept"}) == 3 * 40
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "0.kept",
        "2.kept",
        "5.kept",
        "other",
    ]
    assert remove_oldest(tmp_path, "*.kept", 39, {tmp_path / "2.kept"}) == 40


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


SECOND_NS = 10**9
KEY = SeriesKey("polygon", "X:ADAUSD", "1m", adjusted=True)


def bars(n=50, start_s=0, seed=1):
    """Some bars of a minute each."""
    rng = np.random.default_rng(seed)
    timestamp = (start_s + 60 * np.arange(n, dtype=np.int64)) * SECOND_NS
    values = {name: rng.random(n) for name in VALUES}
    return PartBars(timestamp, values, "2026-11-21T08:00:00+00:00", ("2024-01-02",))


@pytest.fixture
def cache(tmp_path):
    """An empty cache of one series."""
    return SeriesCache(tmp_path, KEY)


def test_no_byte_can_change_unseen(cache):
    """One bit anywhere in the file makes it damaged."""
    part = cache.write(0, 3000 * SECOND_NS, bars(3))
    whole = part.path.read_bytes()
    for place in range(0, len(whole), 7):
        changed = bytearray(whole)
        changed[place] ^= 1 << (place % 8)
        part.path.write_bytes(changed)
        with pytest.raises(DamagedPartError):
            cache.read(part)
    part.path.write_bytes(whole)
    cache.read(part)


def test_a_part_of_another_series_is_damaged(cache, tmp_path):
    """A file that was moved here from another symbol is not taken."""
    other = SeriesCache(tmp_path, SeriesKey("polygon", "X:BTCUSD", "1m", adjusted=True))
    foreign = other.write(0, 3000 * SECOND_NS, bars())
    target = cache.folder / foreign.path.name
    cache.folder.mkdir(parents=True)
    os.replace(foreign.path, target)
    with pytest.raises(DamagedPartError, match="belongs elsewhere"):
        cache.read(cache.parts()[0])


def test_every_symbol_has_a_folder_of_its_own_within_the_cache(tmp_path):
    """Names that every system takes; what a file system would take for one is two."""
    symbols = ("../../x", "/abs", "X:BTC/USD", "a" * 300, "..", "", "\0", "\u00e9", "CON", "a b",
               "X:BTCUSD", "X_BTCUSD", "x:btcusd", "X:BTC_USD")  # fmt: skip
    keys = [SeriesKey("polygon", s, "1m", adjusted=a) for s in symbols for a in (True, False)]
    for key in keys:
        folder = SeriesCache(tmp_path, key).folder
        assert folder.resolve().is_relative_to(tmp_path.resolve())
        names = folder.relative_to(tmp_path).parts
        assert (len(names), max(map(len, names)) <= 60) == (3, True)
    assert len({str(key.folder).lower() for key in keys}) == len(keys)


@given(st.lists(st.integers(0, 60), unique=True, max_size=12), st.integers(0, 60),
       st.integers(0, 60))  # fmt: skip
def test_what_is_missing_and_what_is_there_make_the_range(edges, one, two):
    """Every second of a range is covered by a part or missing, and none is both."""
    edges.sort()
    pairs = list(zip(edges[::2], edges[1::2], strict=False))
    parts = [CachePart(a, b, "", "", None) for a, b in pairs]
    start, end = min(one, two), max(one, two)
    gaps = missing_ranges(parts, TimeRange(start, end))
    for second in range(start, end):
        covered = any(a <= second < b for a, b in pairs)
        assert sum(a <= second < b for a, b in gaps) == (0 if covered else 1)
    assert all(start <= a < b <= end for a, b in gaps)


def list_names(folder):
    """Names of all files below a folder."""
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def leave_draft(path):
    """A draft of a writer that was killed."""
    draft = path.with_name(name_draft(path.name))
    draft.write_bytes(b"half")
    return draft


OTHERS = (".a.csv.mine.part", ".a.csv.0a1b.part", ".a.csv.0a1b2c3d4e5f.part", ".part", ".hidden")
"""Hidden files of a person and of other programs."""


def test_drafts_of_killed_writers_go_with_the_next_one(tmp_path):
    """All of ours in its folder, whatever file they were of; nothing else."""
    for name in ("a.csv", "b.csv", "*", "two\nlines", os.fsdecode(b"\xff"), ".part"):
        leave_draft(tmp_path / name)
    for name in OTHERS:
        (tmp_path / name).write_text("mine")
    (tmp_path / name_draft("run")).mkdir()
    replace_whole(tmp_path / "a.csv", b"whole")
    assert list_names(tmp_path) == sorted([*OTHERS, "a.csv"])
    assert (tmp_path / "a.csv").read_bytes() == b"whole"
    assert len(list(tmp_path.iterdir())) == len(OTHERS) + 2


def test_a_draft_that_is_being_written_stays(tmp_path):
    """Two writers of one file take no notice of each other; the last one is read."""
    path = tmp_path / "a.csv"
    with drafting(path) as first:
        first.write_bytes(b"first")
        replace_whole(path, b"second")
        remove_drafts(tmp_path)
        assert path.read_bytes() == b"second"
    assert path.read_bytes() == b"first"
    assert list_names(tmp_path) == ["a.csv"]


def test_a_claim_blocks_a_second_one(tmp_path):
    """As long as was asked for, and no longer."""
    path, entered = tmp_path / "a.csv", threading.Event()

    def claim():
        with claiming(path, 60.0):
            entered.set()

    thread = threading.Thread(target=claim)
    with claiming(path, 60.0):
        thread.start()
        assert not entered.wait(0.1)
        with claiming(path, 0.05):
            assert not entered.is_set()
    thread.join()
    assert entered.is_set()
    assert list_names(tmp_path) == []


def test_a_link_named_like_a_draft_is_not_followed(tmp_path):
    """Neither it nor what it names is removed."""
    precious = tmp_path / "precious"
    precious.write_text("mine")
    link = name_draft("a.csv")
    os.symlink(precious, tmp_path / link)
    replace_whole(tmp_path / "a.csv", b"whole")
    assert list_names(tmp_path) == [link, "a.csv", "precious"]
    assert precious.read_text() == "mine"
