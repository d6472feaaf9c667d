"""Sources of bars: one file per source, listed in `PROVIDERS`.

A provider is a function ``read(address, options) -> RawTable`` in a module of this package. It is
imported when it is first used, so that naming a source costs nothing.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from glob import glob, has_magic
from importlib import import_module
from os.path import isdir
from pathlib import Path

from data.errors import SourceError, near_match, shorten
from data.files import open_ordinary
from data.providers.kinds import HEAD_BYTES, find_source
from data.providers.markets import part_market
from data.table import LoadOptions, RawTable


@dataclass(frozen=True)
class Provider:
    """One kind of source."""

    name: str  # the part of a spec before the colon
    form: str  # how a spec is written, for messages
    summary: str
    module: str  # module with the function ``read``
    endings: tuple[str, ...] = ()  # of a bare path that means this source
    rows: RawTable | None = None  # in memory, read as its options say

    def read(self, address: str, options: LoadOptions) -> RawTable:
        """Read the rows at an address, which is the part of the spec after the colon."""
        if self.rows is not None:
            return self.rows
        read: Callable[[str, LoadOptions], RawTable] = import_module(self.module).read
        return read(address, options)


PROVIDERS: dict[str, Provider] = {
    provider.name: provider
    for provider in (
        Provider("ccxt", "ccxt:EXCHANGE:SYMBOL:TIMEFRAME:FROM[:TO]",
                 "A public exchange; whole months of bars are kept (needs the package ccxt).",
                 "data.providers.ccxt_exchange"),
        Provider("csv", "csv:PATH", "A text file of any exchange or broker, plain, gzip or zip.",
                 "data.providers.csv_file", (".csv", ".csv.gz", ".zip", ".tsv")),
        Provider("feather", "feather:PATH", "A Feather or Arrow file, such as freqtrade's.",
                 "data.providers.feather_file", (".feather", ".arrow", ".arrows", ".ipc")),
        Provider("parquet", "parquet:PATH", "A Parquet file.",
                 "data.providers.parquet_file", (".parquet", ".pq")),
        Provider("polygon", "polygon:SYMBOL",
                 "The vendor Polygon, now Massive; needs a key and keeps what it fetched.",
                 "data.providers.polygon_api"),
        Provider("sample", "sample", "The embedded simulated market: a year of 15-minute bars.",
                 "data.providers.sample"),
    )
}  # fmt: skip
"""Every source by name."""

HELD: dict[str, list[RawTable]] = {}
"""Rows in memory by the spec that is their source while they are held."""


def find_provider(spec: str) -> tuple[Provider, str]:
    """Split ``NAME``, ``NAME:ADDRESS`` or a path into source and address.

    The ending of a path tells its source, or else the content of the file.

    Raises:
        SourceError: When the source is unknown; the message lists the known ones.

    >>> provider, address = find_provider("csv:bars.csv")
    >>> provider.name, address
    ('csv', 'bars.csv')
    """
    if rows := HELD.get(spec, [])[-1:]:
        return Provider("memory", "", "", "", (".parquet",), rows[0]), spec
    name, colon, address = spec.partition(":")
    if name in PROVIDERS:
        return PROVIDERS[name], address
    path, _ = part_market(spec)
    is_there = False
    with suppress(OSError, ValueError, RuntimeError):
        is_there = bool(path) and Path(path).expanduser().is_file()
    if is_there or not colon:
        for provider in PROVIDERS.values():
            if provider.endings and path.lower().endswith(provider.endings):
                return provider, spec
    if is_there:
        head = b""
        with suppress(OSError), open_ordinary(Path(path).expanduser()) as file:
            head = file.read(HEAD_BYTES)
        return PROVIDERS[find_source(head)], spec
    known = ", ".join(provider.form for provider in PROVIDERS.values())
    shown = name if len(name) <= 40 else name[:40] + "..."
    hint = near_match(name, PROVIDERS)
    raise SourceError(f"data source {shown!r} is unknown and no file; known: {known}{hint}")


def expand_spec(spec: str) -> tuple[str, ...]:
    """The sources that a spec stands for.

    A folder or a pattern such as ``csv:bars/*.csv`` may stand in place of a path: it gives one
    spec a file, in the order of their names. Of a folder the files count that end as the source's
    do; those of folders within it do not.

    Raises:
        SourceError: When a folder or pattern holds no such file.
    """
    name, colon, address = spec.partition(":")
    is_named = bool(colon) and name in PROVIDERS
    path_text = address if is_named else spec
    if HELD.get(spec) or not path_text or (is_named and not PROVIDERS[name].endings):
        return (spec,)
    path = Path(path_text).expanduser()
    if colon and not is_named and not isdir(path):
        return (spec,)
    if isdir(path):
        kinds = [PROVIDERS[name]] if is_named else PROVIDERS.values()
        endings = tuple(ending for kind in kinds for ending in kind.endings)
        # A hidden file is none of a person's: other systems leave such beside each of theirs.
        inside = sorted(str(f) for f in path.iterdir() if f.is_file() and f.name[0] != ".")
        files = [file for file in inside if file.lower().endswith(endings)]
        lack = f"no file in this folder ends in {', '.join(endings)}{_name_others(spec, inside)}"
    elif has_magic(str(path)) and not path.exists():
        files = sorted(file for file in glob(str(path), recursive=True) if Path(file).is_file())
        lack = "no file has such a name"
    else:
        return (spec,)
    if not files:
        raise SourceError(f"{shorten(spec, 80)}: {lack}")
    return tuple(f"{name}:{file}" if is_named else file for file in files)


def _name_others(spec: str, files: list[str]) -> str:
    """The end of an error about a folder of other files: the pattern that names them."""
    if not files:
        return ""
    first = Path(files[0])
    pattern = f"{shorten(spec, 80).rstrip('/')}/*{first.suffix}"
    return f"; it holds {shorten(first.name, 80)}: name such files by a pattern, as in '{pattern}'"
