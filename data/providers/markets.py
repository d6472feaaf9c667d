"""Markets of a file that holds several: in its rows, or in columns that have two names."""

import re
from collections.abc import Sequence
from pathlib import Path

from data.bars import LONGEST_SYMBOL
from data.errors import TableError, list_some
from data.shell import quote_word

PAIR = re.compile(r"\('([^']*)', '([^']*)'\)")
"""Name of a column that has two, as pandas writes it in a Parquet file."""

TICKER, PRICE, ELSEWHERE = "ticker", "price", "(of another market)"
SIGN = "#"
"""Stands before each name of a market behind a path."""


def part_market(address: str) -> tuple[str, str | None]:
    """Part ``PATH#MARKET`` into path and market; a file with the sign in its own name wins.

    >>> part_market("prices.csv#AAPL"), part_market("prices.csv#BTCUSDT#binance")
    (('prices.csv', 'AAPL'), ('prices.csv', 'BTCUSDT#binance'))
    """
    signs = [place for place, letter in enumerate(address) if letter == SIGN and place]
    if "\0" in address or not signs:
        return address, None
    paths = [address, *(address[:place] for place in signs[::-1])]
    path = next((path for path in paths if Path(path).expanduser().exists()), paths[-1])
    return path, address[len(path) + 1 :] or None


def name_market(where: str, *markets: object) -> str:
    """A market of a file as `part_market` reads it, for a shell; one name for each of its columns.

    >>> name_market("prices.csv", "AAPL"), name_market("my prices.csv", "BRK B", "XNYS")
    ('prices.csv#AAPL', "'my prices.csv#BRK B#XNYS'")
    """
    # Within a word the sign begins no comment.
    parts = (where, *map(str, markets))
    is_plain = all(quote_word(part) == part for part in parts)
    return SIGN.join(parts) if is_plain else quote_word(SIGN.join(parts))


def choose_market(
    markets: Sequence[str], chosen: str | None, where: str, otherwise: str = ""
) -> str | None:
    """The market of a file to read; None where the file names none and none is wanted.

    `otherwise` ends the error about several, one of which a person must name.
    """
    shown = list_some((repr(market)[:24] for market in markets[:5]), len(markets))
    if chosen is not None and chosen not in markets:
        have = f"it holds {shown}" if markets else "it names none"
        raise TableError(f"{where}: there is no market {chosen[:40]!r} in this file; {have}")
    if chosen is None and len(markets) > 1:
        raise TableError(
            f"{where}: names {len(markets)} markets ({shown}); name one of them behind the "
            f"path, such as {name_market(where, markets[0][:LONGEST_SYMBOL])}{otherwise}"
        )
    return chosen if chosen is not None else next(iter(markets), None)


def find_name_pairs(names: Sequence[str]) -> list[tuple[str, str]] | None:
    """Price and market of each column, where columns have two names.

    The market is empty where a column belongs to all; None for ordinary names.
    """
    matches = [PAIR.fullmatch(name) for name in names]
    if not any(matches):
        return None
    pairs = [
        (match[1], match[2]) if match else (name, "")
        for name, match in zip(names, matches, strict=True)
    ]
    if {"close", "open"} & {market.lower() for _, market in pairs}:
        pairs = [(market, price) if market else (price, "") for price, market in pairs]
    return pairs


def name_market_columns(
    pairs: Sequence[tuple[str, str]], chosen: str | None, where: str
) -> tuple[list[str], str | None]:
    """One name a column, `ELSEWHERE` for columns of other markets, and the chosen market."""
    markets = list(dict.fromkeys(market for _, market in pairs if market))
    market = choose_market(markets, chosen, where)
    return [price if owner in ("", market) else ELSEWHERE for price, owner in pairs], market
