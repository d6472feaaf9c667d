"""Search for parameter sets, record what was found, show it.

``evolve`` searches, ``backtest`` tries one individual, ``judge`` finds out whether a front is more
than luck, ``load_run`` opens what was recorded; its front, generations and trades are pandas
frames. ``portfolio`` trades members of several runs as one account, ``scan`` classes many symbols,
``forecast`` fits a model that a strategy then reads as a column, ``ui`` shows runs in a browser.
"""

import os
import sys

IS_PROGRAM = sys.argv[0].rpartition("/")[2] == __name__ or (
    sys.argv[0] == "-m"
    and any(word == __name__ or word.endswith(f"m{__name__}") for word in sys.orig_argv)
)
"""Whether this process is our program, as far as that is known while it begins."""

if IS_PROGRAM:
    # Before any import: no file of the folder that it is started from is a module that it means.
    # An empty entry of PYTHONPATH means that folder too; only its whole name is meant.
    try:
        _here = os.getcwd()
    except FileNotFoundError:
        _here = ""
    if _here not in os.environ.get("PYTHONPATH", "").split(os.pathsep):
        sys.path[:] = [folder for folder in sys.path if folder not in ("", _here)]
    import signal

    # Looking for plugins among all installed packages takes a tenth of what `--help` takes.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "true")
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        # Until a command listens, Ctrl-C ends it without a traceback.
        signal.signal(signal.SIGINT, signal.SIG_DFL)

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from importlib.machinery import ModuleSpec, PathFinder
from inspect import Parameter, signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypeVar

from optimizer.keywords import (
    ForecastKeywords,
    JudgeKeywords,
    NullKeywords,
    RunKeywords,
    ScanKeywords,
    Specs,
)

if TYPE_CHECKING:
    from typing import Unpack

    from optimizer.forecasts.column import Forecast
    from optimizer.nulls.folder import NullFolder
    from optimizer.nulls.judge import NullVerdict
    from optimizer.portfolios.portfolio import PortfolioResult
    from optimizer.report import Run
    from optimizer.trend_scan.result import Scan
    from optimizer.viewing.serving import RunServer

__all__ = [
    "backtest", "evolve", "forecast", "judge", "load_run", "null_judge", "null_markets",
    "portfolio", "scan", "ui",
]  # fmt: skip

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
"""Where our packages lie."""

PACKAGES = ("data", "strategy", "engine", "optimizer")


class OwnPackages:
    """Finds our packages where this one lies: a person's own ``data.py`` is another file."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """As `importlib.abc.MetaPathFinder`; of other names nothing is known here."""
        return PathFinder.find_spec(name, [ROOT]) if name in PACKAGES else None


sys.meta_path.insert(0, OwnPackages)


Given = ParamSpec("Given")
Made = TypeVar("Made")


def _taking(
    keywords: type | None = None,
) -> Callable[[Callable[Given, Made]], Callable[Given, Made]]:
    """Let a function take values of other libraries, and refuse others by their names.

    Its settings have the names and types of `keywords`, also for shells that complete.
    """
    types = None if keywords is None else keywords.__annotations__

    def decorate(function: Callable[Given, Made]) -> Callable[Given, Made]:
        @wraps(function)
        def call(*values: Given.args, **named: Given.kwargs) -> Made:
            from data.plain import fit_arguments
            from optimizer.errors import ConfigError

            bound = fit_arguments(function, values, named, ConfigError, types)
            made: Made = function(*bound.args, **bound.kwargs)
            return made

        if not IS_PROGRAM:
            declared = [*signature(function).parameters.values()]
            kept = [part for part in declared if part.kind is not Parameter.VAR_KEYWORD]
            taken = {part.name for part in kept}
            kept += [
                Parameter(name, Parameter.KEYWORD_ONLY, default=Ellipsis)
                for name in types or ()
                if name not in taken
            ]
            vars(call)["__signature__"] = signature(function).replace(parameters=kept)
        return call

    return decorate


@_taking(RunKeywords)
def evolve(**settings: "Unpack[RunKeywords]") -> "Run":
    """Search, certify and record; a notebook or an interactive session shows how far it is.

    Args:
        settings: Fields of `optimizer.config.run_config.RunConfig`, such as ``population=64``;
            what is not named has its default. ``strategy`` may also be a strategy itself, and
            ``bars``, in place of ``data``, a frame of bars, of pandas or polars, with the columns
            timestamp (or as its index), open, high, low, close, volume, also of several tickers,
            or symbols with such a frame each, or groups of rows; what is read of them is kept
            under ``runs``.

    Returns:
        The recorded run.

    Raises:
        ConfigError: When a setting is unknown or wrong.
        ParityError: When reference and engine disagree; the run is recorded all the same.
    """
    # Loaded only now: every command imports this package, and few need all of it.
    from optimizer.report.run import evolve as search

    return search(settings)


@_taking(RunKeywords)
def backtest(genes: Mapping[str, float] | None = None, **settings: "Unpack[RunKeywords]") -> "Run":
    """Backtest one individual.

    Args:
        genes: Values by name; those that are not named have their default.
        settings: As of `evolve`, also ``strategy`` and ``bars``.

    Returns:
        What a run of this one member would be: its ``front`` has one row, ``trades(0)`` its trades.

    Raises:
        ConfigError: When a setting or a gene is unknown or wrong.

    >>> len(backtest({"reward_r": 3.0}).trades(0))
    118
    """
    from optimizer.report.run import backtest as trade

    return trade(settings, genes or {})


@_taking(ForecastKeywords)
def forecast(out: str | Path, **settings: "Unpack[ForecastKeywords]") -> "Forecast":
    """Fit a model walk-forward, keep what it forecasts as a file, and say how good it was.

    Args:
        out: File to write, .parquet; other forecasts of its folder on the same bars are trials.
        settings: Fields of `optimizer.forecasts.settings.ForecastSettings`, such as
            ``model="gru"``, and which bars, such as ``data=["bars"]``, or ``bars`` as
            of `evolve`.

    Returns:
        The forecasts, and their record; its ``skill`` shows what to believe.

    Raises:
        ConfigError: When a setting is unknown or wrong, or does not fit the bars.
    """
    from optimizer.forecasts.settings import ForecastSettings
    from optimizer.run.forecasting import forecast_to_file
    from optimizer.run.frames import holding_frames
    from optimizer.showing import choose_show

    names = ForecastSettings.__dataclass_fields__
    chosen: dict[str, Any] = {name: value for name, value in settings.items() if name in names}
    knobs = ForecastSettings(**chosen)
    bars = {name: value for name, value in settings.items() if name not in names}
    with holding_frames(bars, "forecast") as config, choose_show() as show:
        return forecast_to_file(Path(out), config, knobs, show)


@_taking(JudgeKeywords)
def judge(
    name: str | Path = "latest",
    runs: str | Path = "runs",
    data: Specs | None = None,
    *,
    pick: int | None = None,
    is_open: bool = False,
    trust: bool = False,
    **settings: "Unpack[JudgeKeywords]",
) -> "Run":
    """Find out whether a recorded front is more than luck, and record it.

    Args:
        name: Of the run, as `load_run` takes it.
        runs: Folder in which runs are recorded.
        data: Where the bars are now, if they have moved.
        pick: Member to judge; None for that of greatest strength.
        is_open: Whether to look at the bars that were held out; each look is counted.
        trust: Whether to trust the run from now on, as of `load_run`.
        settings: Fields of `optimizer.config.evidence.EvidenceSettings`, such as ``null=299``.

    Returns:
        The run; its ``judgement`` has the verdict and all evidence.

    Raises:
        ConfigError: When a setting is unknown or wrong, or does not fit the bars.
        StoreError: When the run is not finished, is owned, or cannot be judged by this version.
    """
    from optimizer.report.run import judge as find_out

    where = str(name), Path(runs)
    return find_out(*where, data, pick=pick, is_open=is_open, trust=trust, settings=settings)


@_taking()
def load_run(
    name: str | Path = "latest",
    runs: str | Path = "runs",
    data: Specs | None = None,
    *,
    trust: bool = False,
) -> "Run":
    """Open a recorded run.

    Args:
        name: Its id, the beginning of it, its path, or ``latest``.
        runs: Folder in which runs are recorded.
        data: Where the bars are now, if they have moved; None for where they were.
        trust: Whether to trust the run from now on, where it was not begun here: the Python that
            it holds runs with all your rights, and files that it names are read.

    Returns:
        The run: its front and generations as frames, its trades, its charts.

    Raises:
        StoreError: When there is no such run, it is damaged, or it has no generation yet.
    """
    from optimizer.report.run import Run
    from optimizer.run.trust import trust_run
    from optimizer.store import find_run

    path = find_run(Path(runs), str(name))
    if trust:
        trust_run(path)
    return Run(path, data)


@_taking(NullKeywords)
def null_markets(
    folder: str | Path,
    *,
    count: int = 19,
    more: int | None = None,
    is_mirrored: bool = False,
    form: Literal["csv", "parquet", "freqtrade", "tradingview"] = "csv",
    symbol: str | None = None,
    **settings: "Unpack[NullKeywords]",
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
    from optimizer.run.frames import holding_frames

    path = Path(folder)
    with holding_frames(settings, "null_markets") as config:
        if more is not None:
            return add_markets(path, config, more, symbol=symbol)
        return export_markets(
            path, config, count, form=form, is_mirrored=is_mirrored, symbol=symbol
        )


@_taking()
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

    is_table = isinstance(results, Mapping)
    read = dict(results) if is_table else read_results(Path(results))  # type: ignore[arg-type]
    return judge_results(NullFolder.open(Path(folder)), read)


@_taking()
def portfolio(  # noqa: PLR0913 - each is given by its name
    members: Sequence[str | Path],
    weights: Sequence[float] | None = None,
    runs: str | Path = "runs",
    *,
    risk: float = 0.01,
    cash: float | None = None,
    max_positions: int | None = None,
    max_leverage: float | None = None,
    rank: str | None = None,
    trust_leverage: bool = False,
) -> "PortfolioResult":
    """Trade members of several runs as one account, on the bars that they were searched on.

    Args:
        members: Names of runs, as `load_run` takes them, each with the number of a member behind a
            colon; its pick where none is named.
        weights: What the account takes of each one's trades; even shares if None.
        runs: Folder in which runs are recorded.
        risk: Share of the account that one R is worth, where a strategy does not size its trades.
        cash: Of the account at the beginning; if None, that of the strategies'
            ``account(cash, size)``.
        max_positions: Most positions that are open together.
        max_leverage: Most that they are worth together, times the account.
        rank: Row that decides whose signal is taken first where several ask, greatest first.
        trust_leverage: Whether weights that add up to more than 1 are meant.

    Returns:
        Metrics of the account, of each component alone, and correlations of their days.

    Raises:
        ConfigError: When there is no such member, or weights do not fit.
        StoreError: When members would trade otherwise than in their run.
        EngineError: When a limit makes no sense, or a component has a part that they do not cover.
    """
    from engine.accounts.costs import Costs
    from optimizer.cli.flags import split_member
    from optimizer.portfolios.portfolio import build_portfolio, check_weights

    costs = Costs(
        risk_fraction=risk, max_positions=max_positions, max_leverage=max_leverage, rank=rank
    )
    pairs = [split_member(str(name)) for name in members]
    shares = check_weights(weights, len(pairs), trusts_leverage=trust_leverage)
    return build_portfolio(pairs, shares, Path(runs), costs, cash)


@_taking(ScanKeywords)
def scan(
    parameters: Mapping[str, int] | None = None,
    *,
    high: float = 0.1,
    low: float = -0.1,
    is_script: bool = False,
    history: int = 0,
    verify: Literal["sample", "all"] = "sample",
    is_kept: bool = True,
    **settings: "Unpack[ScanKeywords]",
) -> "Scan":
    """Class many symbols by their adaptive trend: long, neutral or short, and since when.

    Args:
        parameters: Of the indicator, such as ``{"ema_len": 21}``; the others have their defaults.
        high: A trend above it is long.
        low: A trend below it is short.
        is_script: Whether it is the trend as the script of its author has it.
        history: Runs of each symbol to list.
        verify: How many symbols the readable definition replays: one in fifty, or all.
        is_kept: Whether classes are kept for the next scan, and compared with the last one.
        settings: Which bars, such as ``data=["bars"]`` and ``dedupe=True``, or ``bars``:
            symbols with a frame each, or one frame, as of `evolve`.

    Returns:
        A line a symbol, what has changed since the last scan, and the rows themselves; its
        ``frame()`` is a frame of pandas.

    Raises:
        ConfigError: When a parameter or a setting is unknown or wrong.
        ParityError: When a row differs from the readable definition.
    """
    from optimizer.run.frames import holding_frames
    from optimizer.trend_scan.params import ScanParams
    from optimizer.trend_scan.scan import Ways, scan_sources

    question = ScanParams(parameters or {}, high, low, is_script)
    ways = Ways(history=history, is_all_replayed=verify == "all")
    source = "memory" if settings.get("bars") is not None else None
    with holding_frames(settings, "scan") as config:
        return scan_sources(config, question, ways, is_kept=is_kept, source=source)


@_taking()
def ui(
    runs: str | Path = "runs", port: int = 0, forecasts: str | Path = "forecasts"
) -> "RunServer":
    """Show the runs and forecasts of folders in a browser, for as long as this process lives.

    Args:
        runs: Folder in which runs are recorded.
        port: To listen at on 127.0.0.1; any that is free if 0.
        forecasts: Folder of forecasts.

    Returns:
        The server: a notebook shows its link, ``address`` is what to open, ``stop()`` ends it.

    Raises:
        ConfigError: When it cannot listen there, or the extra ``ui`` is not installed.
    """
    from optimizer.errors import ConfigError

    try:
        from optimizer.viewing.serving import RunServer
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"{error.name} is not installed: pip install 'exhaustion-optimizer[ui]'"
        ) from None
    return RunServer(Path(runs), port, forecasts=Path(forecasts)).start()


def __dir__() -> list[str]:
    """The public names."""
    return sorted(__all__)
