"""Calls of null markets that are written for the search of any program."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from data.plain import takes_plain
from optimizer.config.run_config import list_types
from optimizer.config.settings import DataSettings
from optimizer.errors import ConfigError

if TYPE_CHECKING:
    from optimizer.nulls.folder import NullFolder
    from optimizer.nulls.judge import NullVerdict

EXPORTED = (
    *(name for name in DataSettings.model_fields if name not in ("data", "finer", "column_file")),
    *("start", "end", "seed", "null_keep"),
)
"""Knobs of null markets that are written, beside where the bars are."""

NULL: Mapping[str, object] = {**list_types(("data", *EXPORTED)), "bars": object}


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
) -> "NullFolder":
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
    from optimizer.nulls.folder import add_markets, export_markets
    from optimizer.run.settings import hold_settings

    path = Path(folder)
    with hold_settings(settings, "null_markets") as config:
        if more is not None:
            return add_markets(path, config, more, symbol=symbol)
        return export_markets(
            path, config, count, form=form, is_mirrored=is_mirrored, symbol=symbol
        )


@takes_plain(ConfigError)
def null_judge(folder: str | Path, results: Mapping[str, float] | str | Path) -> "NullVerdict":
    """Say whether a search finds more on the real market than on copies without an edge.

    Args:
        folder: Folder that `null_markets` made.
        results: Number of each market, greater is better; or a CSV file of both columns.

    Returns:
        The verdict: its ``sentence``, ``p``, the ``real`` market and all results.

    Raises:
        ConfigError: When a market has no finite result, or there is no such market.
        StoreError: When the folder is damaged.
    """
    from optimizer.nulls.folder import NullFolder
    from optimizer.nulls.judge import judge_results, read_results

    opened, is_table = NullFolder.open(Path(folder)), isinstance(results, Mapping)
    read = dict(results) if is_table else read_results(Path(results))  # type: ignore[arg-type]
    return judge_results(opened, read)
