"""Files that hold several markets: which one is meant, and what its columns are called."""

import re
from collections.abc import Sequence
from pathlib import Path

from data.errors import TableError

PAIR = re.compile(r"\('([^']*)', '([^']*)'\)")
"""How pandas writes the name of a column that has two, in a Parquet file."""

TICKERS, PRICES = "ticker", "price"

ELSEWHERE = "(of another market)"
"""Stands for the name of a column that is not read."""


def part_market(address: str) -> tuple[str, str | None]:
    """Part an address into the file and the market in it.

    Args:
        address: ``PATH`` or ``PATH#MARKET``; a file whose own name holds the sign wins.

    Returns:
        The path, and the market or None.

    >>> part_market("prices.csv#AAPL")
    ('prices.csv', 'AAPL')
    """
    path, sign, market = address.rpartition("#")
    if not sign or not path or not market or "\0" in address or Path(address).expanduser().exists():
        return address, None
    return path, market


def choose_market(markets: Sequence[str], chosen: str | None, where: str) -> str | None:
    """Say which of the markets of a file is meant.

    Args:
        markets: Those in the file, each once; may be none.
        chosen: What a person says.
        where: What errors start with.

    Returns:
        The market; None where the file names none and none was asked for.

    Raises:
        TableError: When there are several and none was chosen, or it is not there.
    """
    shown = ", ".join(repr(market)[:24] for market in markets[:5])
    more = f" and {len(markets) - 5} more" if len(markets) > 5 else ""
    if chosen is not None and chosen not in markets:
        have = f"it holds {shown}{more}" if markets else "it names none"
        raise TableError(f"{where}: there is no market {chosen[:40]!r} in this file; {have}")
    if chosen is None and len(markets) > 1:
        raise TableError(
            f"{where}: names {len(markets)} markets ({shown}{more}); name one of them behind the "
            f"path, such as {where}#{markets[0][:24]}"
        )
    return chosen if chosen is not None else next(iter(markets), None)


def paired_names(names: Sequence[str]) -> list[tuple[str, str]] | None:
    """Price and market of each column, where columns have two names.

    Args:
        names: Column names as a Parquet or Arrow file has them.

    Returns:
        One pair a column, the market empty where a column belongs to all; None for ordinary names.
    """
    found = [PAIR.fullmatch(name) for name in names]
    if not any(found):
        return None
    pairs = [
        (one[1], one[2]) if one else (name, "") for name, one in zip(names, found, strict=True)
    ]
    if {"close", "open"} & {market.lower() for _, market in pairs}:
        pairs = [(market, price) if market else (price, "") for price, market in pairs]
    return pairs


def names_of(
    pairs: Sequence[tuple[str, str]], chosen: str | None, where: str
) -> tuple[list[str], str | None]:
    """Names of all columns, with those of other markets out of the way.

    Args:
        pairs: Price and market of each column.
        chosen: The market that a person names.
        where: What errors start with.

    Returns:
        One name a column, `ELSEWHERE` for those of other markets, and the market.
    """
    markets = list(dict.fromkeys(market for _, market in pairs if market))
    market = choose_market(markets, chosen, where)
    return [price if own in ("", market) else ELSEWHERE for price, own in pairs], market
