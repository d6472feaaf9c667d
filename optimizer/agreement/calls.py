"""Call that compares trades of another program with those here."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from data.plain import takes_plain
from optimizer.config.run_config import RUN, RunConfig
from optimizer.errors import ConfigError

if TYPE_CHECKING:
    from optimizer.agreement.agreement import Agreement


@takes_plain(ConfigError, RUN)
def agree(  # noqa: PLR0913 - each is given by its name
    trades: str | Path,
    genes: Mapping[str, float | str] | None = None,
    *,
    file: str | Path | None = None,
    run: str | Path | None = None,
    member: int | None = None,
    list_tz: str | None = None,
    market: str | None = None,
    trust: bool = False,
    config: RunConfig | str | Path | None = None,
    **settings: object,
) -> "Agreement":
    """Compare trades that another program lists with those of the same strategy here.

    Args:
        trades: TradingView's list of trades in any language, CSV or XLSX; freqtrade's backtest
            result; ``stats._trades`` of backtesting.py as CSV; ``backtest --trades`` of this one.
        genes: Value of each gene by name.
        file: JSON or CSV that holds the others, as of `backtest`.
        run: A run whose member is compared, as of `backtest`.
        member: Which one of the file, or of the run's front, whose pick it is if None.
        list_tz: Zone of the list's times where they name none, such as ``UTC+8h``; UTC if None.
        market: Market of a list that has several.
        trust: Whether to trust the run from now on, as of `load_run`.
        config: TOML file of settings, or a configuration; those that are named win over it.
        settings: As of `evolve`, also ``strategy`` and ``bars``.

    Returns:
        Trades there, here and equal ones, the first difference, and likely causes, each tried.

    Raises:
        ConfigError: When the file is no list of trades, or of another market or time than the
            bars; when a gene has no value; when a setting is wrong.
        DataError: When a file cannot be read.
    """
    # Only now: reading files and running the reference import much.
    from optimizer.agreement.agreement import compare_list
    from optimizer.candidate import GeneSource, hold_candidate, require_genes

    source = GeneSource(genes or {}, file, run, member, trust=trust)
    with hold_candidate(source, settings, config, "agree") as (task, genome, _):
        require_genes(task, source)
        return compare_list(Path(trades), task, genome, list_tz, market)
