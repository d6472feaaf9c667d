"""What the cache holds, listed without reading it."""

from data.cache import PartBars, SeriesCache, SeriesKey, list_cached
from tests.support.series import MINUTE_NS, NAMES, START_NS, make_columns

KEY = SeriesKey("polygon", "X:ADAUSD", "15m", adjusted=True)


def keep_series(root, key=KEY, days=2):
    """A series of one part a day; gives its cache."""
    cache = SeriesCache(root, key)
    for day in range(days):
        start_ns = START_NS + day * 1440 * MINUTE_NS
        columns = make_columns(96, start_ns=start_ns)
        values = {name: columns[name] for name in NAMES}
        bars = PartBars(columns["timestamp"], values, f"2024-06-0{day + 1}T00:00:00Z")
        cache.write(start_ns, start_ns + 1440 * MINUTE_NS, bars)
    return cache


def test_each_series_is_one_entry(tmp_path):
    """Its name, its parts together, and when the newest was fetched."""
    keep_series(tmp_path)
    keep_series(tmp_path, SeriesKey("polygon", "AAPL", "15m", adjusted=False), days=1)
    first, second = list_cached(tmp_path)
    assert (second.name, first.name) == ("polygon:X:ADAUSD 15m adjusted", "polygon:AAPL 15m raw")
    assert (second.parts, second.bars, second.unreadable) == (2, 192, 0)
    assert (second.end_ns - second.start_ns, second.start_ns) == (2880 * MINUTE_NS, START_NS)
    assert second.fetched_at == "2024-06-02T00:00:00Z"
    assert second.size_bytes == sum(p.stat().st_size for p in second.folder.glob("*.parquet"))


def test_damage_is_counted(tmp_path):
    """A file that cannot be read, and one that was set aside."""
    cache = keep_series(tmp_path)
    first, second = cache.parts()
    first.path.write_bytes(b"PAR1 no more")
    cache.set_aside(second)
    (cached,) = list_cached(tmp_path)
    assert (cached.parts, cached.bars, cached.unreadable) == (1, 0, 2)


def test_other_files_are_left_alone(tmp_path):
    """A folder with none of ours in it is no series."""
    folder = tmp_path / "a" / "b" / "c"
    folder.mkdir(parents=True)
    (folder / "notes.txt").write_text("mine")
    (tmp_path / "a" / "b" / "file").write_text("mine")
    assert list_cached(tmp_path) == []
