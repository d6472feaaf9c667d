"""A folder of null markets and the real one under neutral names, for the search of any program.

``markets.json`` lists the folder's content, ``sealed.txt`` names the real market, and
``looks.json`` lists the judged results. The seal keeps an honest reader from seeing the order by
chance, and its digest in ``markets.json`` shows a change. It is no lock: the owner of the machine
can open it, and can compare the files with the bars.
"""

import base64
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from data.bars import Bars, Window
from data.checks import VALUES
from data.files import taking_turns
from data.load import load_bars
from data.plain import takes_plain
from data.save_bars import FORMS, write_foreign
from data.table import LoadOptions
from optimizer.atomic_write import write_whole
from optimizer.config.run_config import EXPORTED, RunConfig, list_types
from optimizer.errors import ConfigError, StoreError
from optimizer.evidence.null import Kind
from optimizer.evidence.null_markets import Keep, NullMarkets
from optimizer.run.markets import load_series
from optimizer.run.settings import hold_settings
from optimizer.store.payload import Payload, decode, encode, sha256

if TYPE_CHECKING:
    import pandas as pd

NULL: Mapping[str, object] = {**list_types(("data", *EXPORTED)), "bars": object}

MANIFEST, SEAL, LOOKS = "markets.json", "sealed.txt", "looks.json"

REAL = "real"
"""Label of the real market; that of a copy is its kind and number."""

MOST_COPIES = 10_000

WARNING = "# Names the real market. Who reads it before `null judge` has no test any more."


@dataclass(frozen=True)
class SeriesFact(Payload):
    """A series that a folder was made of."""

    symbol: str
    timeframe: str
    file: str  # name in the folder of each market
    first: int  # number of the first bar that may move
    digest: str  # of its bars


@dataclass(frozen=True)
class Batch(Payload):
    """Markets of one export."""

    markets: tuple[str, ...]  # names in the drawn order
    copies: int  # of each kind
    seal: str  # digest of its line in the sealed file


@dataclass(frozen=True)
class Manifest(Payload):
    """Everything about a folder but the order."""

    what = MANIFEST

    form: str  # of `data.save_bars.FORMS`
    series: tuple[SeriesFact, ...]
    seed: int
    keep: Keep
    is_mirrored: bool
    batches: tuple[Batch, ...] = ()

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """Kinds of copies."""
        return ("shuffled", "mirrored") if self.is_mirrored else ("shuffled",)


@dataclass(frozen=True)
class NullFolder:
    """Null markets that were exported, and the real one among them."""

    path: Path
    manifest: Manifest

    @classmethod
    def open(cls, path: Path) -> "NullFolder":
        """Open a folder that `null_markets` finished."""
        if not (path / MANIFEST).is_file():
            raise ConfigError(
                f"{path}: has no {MANIFEST}; null export DATA {path} makes a folder of markets"
            )
        return cls(path, Manifest.read(read_json(path / MANIFEST)))

    @property
    def markets(self) -> tuple[str, ...]:
        """Names of all markets."""
        return tuple(chain.from_iterable(batch.markets for batch in self.manifest.batches))

    @property
    def copies(self) -> int:
        """Copies of each kind."""
        return sum(batch.copies for batch in self.manifest.batches)

    def frames(self, market: str) -> "dict[str, pd.DataFrame]":
        """Bars of a market as frames by symbol, with the time in UTC as index.

        Raises:
            ConfigError: When there is no such market.
        """
        import pandas as pd

        if market not in self.markets:
            raise ConfigError(f"{self.path}: has no market '{market}'")
        frames = {}
        for fact in self.manifest.series:
            options = LoadOptions(source_timeframe=fact.timeframe, tz="UTC")
            bars = load_bars(self.path / market / fact.file, options)
            index = pd.DatetimeIndex(pd.to_datetime(bars.timestamp, utc=True), name="timestamp")
            frames[fact.symbol] = pd.DataFrame({n: getattr(bars, n) for n in VALUES}, index=index)
        return frames

    def open_seal(self) -> dict[str, str]:
        """Label of each market; an error where the sealed file is another one than was exported."""
        lines = [line.encode() for line in self._read_seal()]
        batches, labels = self.manifest.batches, dict[str, str]()
        if [sha256(line).hex() for line in lines] != [batch.seal for batch in batches]:
            raise StoreError(
                f"{self.path / SEAL}: was changed after the export, so that nothing can be judged; "
                "export and search anew"
            )
        for line in lines:
            labels |= decode(base64.b64decode(line))["order"]  # type: ignore[index]
        return labels

    def _read_seal(self) -> list[str]:
        """Sealed lines of the batches."""
        try:
            lines = (self.path / SEAL).read_text(encoding="utf-8").splitlines()
        except (OSError, ValueError) as error:
            raise StoreError(f"{self.path / SEAL}: cannot be read ({error})") from None
        # An export that was stopped may have left one more.
        return lines[1 : 1 + len(self.manifest.batches)]


@takes_plain(ConfigError, NULL)
def null_markets(
    folder: str | Path,
    *,
    count: int = 19,
    more: int | None = None,
    is_mirrored: bool = False,
    form: Literal["csv", "parquet", "freqtrade", "tradingview"] = "csv",
    symbol: str | None = None,
    **settings: object,
) -> NullFolder:
    """Write copies of bars without an edge, and the real ones among them, under neutral names.

    Args:
        folder: New folder; with `more` that of an earlier call on the same bars.
        count: Copies of each kind.
        more: Copies of each kind to add.
        is_mirrored: Whether there are mirrored copies beside shuffled ones.
        form: Program whose files are written.
        symbol: Name of the market in the files, such as ``BTC/USDT``; None for its own.
        settings: Which bars, such as ``data=["bars"]``, or ``bars`` as of `evolve`, ``start``,
            ``end``, ``seed`` and ``null_keep``.

    Returns:
        The folder: ``markets`` are the names, ``frames(name)`` the bars of one by symbol.

    Raises:
        ConfigError: When a setting is wrong, the folder is in use, or the bars are others.
        DataError: When bars cannot be read or written.
    """
    path = Path(folder)
    with hold_settings(settings, "null_markets") as config:
        if more is not None:
            return _add_markets(path, config, more, symbol)
        return _export_markets(path, config, count, symbol, form, is_mirrored=is_mirrored)


def read_json(path: Path) -> object:
    """JSON of a file in the folder."""
    try:
        return decode(path.read_bytes())
    except (OSError, ValueError) as error:
        raise StoreError(f"{path}: cannot be read ({error})") from None


def _export_markets(
    path: Path, config: RunConfig, count: int, symbol: str | None, form: str, *, is_mirrored: bool
) -> NullFolder:
    """Write copies of each kind and the real market, in a drawn order."""
    _check_count(count)
    if form not in FORMS:
        raise ConfigError(f"form '{form}' is unknown; there are {', '.join(FORMS)}")
    if path.exists() and not (path.is_dir() and not any(path.iterdir())):
        raise ConfigError(
            f"{path}: is no empty folder; name another one, or add copies to it with --more"
        )
    series, windows = _load_markets(config, symbol)
    markets = NullMarkets(series, windows, config.seed, config.null_keep, threads=config.threads)
    real = _end_series(series, windows)
    facts = _describe_series(real, windows, form)
    manifest = Manifest(form, facts, config.seed, markets.keep, is_mirrored)
    return _add_batch(NullFolder(path, manifest), markets, real, count)


def _add_markets(path: Path, config: RunConfig, count: int, symbol: str | None) -> NullFolder:
    """Write further copies of each kind; seed and rhythm are the folder's."""
    NullFolder.open(path)
    series, windows = _load_markets(config, symbol)
    with taking_turns(path):
        folder = NullFolder.open(path)
        _check_count(folder.copies + count)
        manifest = folder.manifest
        facts = _describe_series(_end_series(series, windows), windows, manifest.form)
        if facts != manifest.series:
            raise ConfigError(
                f"{path}: was made of other bars; name the same DATA, range and flags"
            )
        markets = NullMarkets(series, windows, manifest.seed, manifest.keep, threads=config.threads)
        return _add_batch(folder, markets, (), count)


def _check_count(count: int) -> None:
    if not 1 <= count <= MOST_COPIES:
        raise ConfigError(f"--count and --more: from 1 to {MOST_COPIES:,} copies, got {count}")


def _load_markets(
    config: RunConfig, symbol: str | None
) -> tuple[tuple[Bars, ...], tuple[Window, ...]]:
    """Series and the window of each that may move."""
    series = load_series(config)
    if symbol is not None:
        if len(series) > 1:
            raise ConfigError(
                f"--symbol {symbol}: there are {len(series)} markets, each keeps its name"
            )
        series = (replace(series[0], symbol=symbol),)
    names = [bars.symbol for bars in series]
    if len(set(names)) < len(names):
        raise ConfigError(f"two markets are named {max(names, key=names.count)}; leave one out")
    windows = (Window.between(bars, config.start, config.end) for bars in series)
    return series, tuple(replace(window, series=n) for n, window in enumerate(windows))


def _end_series(series: Sequence[Bars], windows: Sequence[Window]) -> tuple[Bars, ...]:
    """Series as the copies have them: no bar behind the window."""
    return tuple(bars.until(window.end) for bars, window in zip(series, windows, strict=True))


def _describe_series(
    series: Sequence[Bars], windows: Sequence[Window], form: str
) -> tuple[SeriesFact, ...]:
    name_file = FORMS[form].name_file
    return tuple(
        SeriesFact(bars.symbol, bars.timeframe, name_file(bars), window.start, bars.content_hash)
        for bars, window in zip(series, windows, strict=True)
    )


def _add_batch(
    folder: NullFolder, markets: NullMarkets, real: Sequence[Bars], count: int
) -> NullFolder:
    """Write markets in a drawn order: the real one if given, and the next copies."""
    first, manifest = folder.copies + 1, folder.manifest
    numbers = range(first, first + count)
    labels = [REAL] * bool(real) + [f"{kind} {n}" for kind in manifest.kinds for n in numbers]
    salt = secrets.token_bytes(16)
    labels.sort(key=lambda label: sha256(salt, label.encode()))
    begun = len(folder.markets)
    order = {f"m{begun + place:03d}": label for place, label in enumerate(labels, 1)}
    for name, label in order.items():
        for bars in real if label == REAL else _make_copy(markets, label):
            write_foreign(bars, folder.path / name, manifest.form)
    line = base64.b64encode(encode({"order": order, "salt": salt.hex()}, what=SEAL))
    lines = folder._read_seal() if begun else []
    seal = "\n".join((WARNING, *lines, line.decode(), ""))
    batch = Batch(tuple(order), count, sha256(line).hex())
    made = replace(folder, manifest=replace(manifest, batches=(*manifest.batches, batch)))
    write_whole(folder.path / SEAL, seal)
    # Last: a folder without it was not finished.
    write_whole(folder.path / MANIFEST, encode(made.manifest.payload(), what=MANIFEST))
    return made


def _make_copy(markets: NullMarkets, label: str) -> tuple[Bars, ...]:
    kind, _, number = label.partition(" ")
    make = markets.shuffle_market if kind == "shuffled" else markets.mirror_market
    return make(int(number))
