"""Where bars come from: one file per source, listed in `PROVIDERS`.

A provider is a function ``read(address, options) -> RawTable`` in a module of this package. It is
imported when it is first used, so that naming a source costs nothing.
"""

from dataclasses import dataclass
from importlib import import_module
from typing import Protocol, cast

from data.errors import SourceError, near_match
from data.providers.markets import part_market
from data.table import LoadOptions, RawTable


class Reader(Protocol):
    """What a provider's module offers as ``read``."""

    def __call__(self, address: str, options: LoadOptions) -> RawTable:
        """Read the rows at `address`."""


@dataclass(frozen=True)
class Provider:
    """One kind of source.

    Args:
        name: The part of a spec before the colon.
        form: How a spec is written, for messages.
        summary: One sentence for people.
        module: Module with the function ``read``.
        endings: Endings of a path that mean this source where a spec is a bare path.
    """

    name: str
    form: str
    summary: str
    module: str
    endings: tuple[str, ...] = ()

    def read(self, address: str, options: LoadOptions) -> RawTable:
        """Read the rows at an address.

        Args:
            address: The part of the spec after the colon; empty where there is none.
            options: How to read.

        Returns:
            Raw rows, times in UTC.

        Raises:
            DataError: When they cannot be read without guessing.
        """
        reader = cast(Reader, import_module(self.module).read)
        return reader(address, options)


PROVIDERS: dict[str, Provider] = {
    provider.name: provider
    for provider in (
        Provider(
            "ccxt",
            "ccxt:EXCHANGE:SYMBOL:TIMEFRAME:FROM[:TO]",
            "A public exchange, fetched anew each time (needs the package ccxt).",
            "data.providers.ccxt_exchange",
        ),
        Provider(
            "csv",
            "csv:PATH",
            "A text file of any exchange or broker, plain, gzip or zip.",
            "data.providers.csv_file",
            (".csv", ".csv.gz", ".zip"),
        ),
        Provider(
            "feather",
            "feather:PATH",
            "A Feather or Arrow file, such as freqtrade's.",
            "data.providers.feather_file",
            (".feather", ".arrow"),
        ),
        Provider(
            "parquet",
            "parquet:PATH",
            "A Parquet file.",
            "data.providers.parquet_file",
            (".parquet",),
        ),
        Provider(
            "polygon",
            "polygon:SYMBOL",
            "The vendor Polygon, now Massive; needs a key and keeps what it fetched.",
            "data.providers.polygon_api",
        ),
        Provider(
            "sample",
            "sample",
            "The embedded simulated market: a year of 15-minute bars.",
            "data.providers.sample",
        ),
    )
}
"""Every source by name."""


def find_provider(spec: str) -> tuple[Provider, str]:
    """Split a spec into its source and the address there.

    Args:
        spec: ``NAME``, ``NAME:ADDRESS``, or a bare path with a known ending.

    Returns:
        The provider and the address, which is empty where there is no colon.

    Raises:
        SourceError: When the source is unknown; the message lists the known ones.

    >>> provider, address = find_provider("csv:bars.csv")
    >>> provider.name, address
    ('csv', 'bars.csv')
    """
    name, colon, address = spec.partition(":")
    if name in PROVIDERS:
        return PROVIDERS[name], address
    if not colon:
        path, _ = part_market(spec)
        for provider in PROVIDERS.values():
            if provider.endings and path.lower().endswith(provider.endings):
                return provider, spec
    known = ", ".join(provider.form for provider in PROVIDERS.values())
    shown = name if len(name) <= 40 else name[:40] + "..."
    hint = near_match(name, list(PROVIDERS))
    raise SourceError(f"data source {shown!r} is unknown; known: {known}{hint}")
