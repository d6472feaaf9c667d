"""Calls of the optimizer: each returns a result, prints nothing, and tells how far it is.

Commands and ``optimizer.evolve`` and so on are these. Imports of a call happen when it is made.
"""

import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from data.plain import takes_plain
from data.progress import Watch
from engine.runtime.collector import pause_collector
from optimizer import IS_PROGRAM
from optimizer.cluster import choose_executor, join_cluster
from optimizer.cluster.address import Address
from optimizer.config.run_config import (
    JUDGE,
    OF_MACHINE,
    RUN,
    SCANNED,
    SIGNAL,
    RunConfig,
    list_types,
    make_config,
    make_settings,
)
from optimizer.config.settings import EvidenceSettings
from optimizer.errors import ConfigError, ParityError, StoppedError
from optimizer.forecasts.settings import ForecastSettings
from optimizer.run.settings import Specs, build_data_flags, hold_overlaid, refuse_others
from optimizer.run.trust import find_trusted
from optimizer.showing import choose_show
from optimizer.trend_scan import HIGH, LOW

if TYPE_CHECKING:
    from optimizer.evidence.drift import DriftRecord
    from optimizer.evidence.power import PowerRecord
    from optimizer.forecasts.column import Forecast
    from optimizer.portfolios.portfolio import PortfolioResult
    from optimizer.report import Run
    from optimizer.report.run import Single
    from optimizer.signals.source import Signal, SignalSource
    from optimizer.trend_scan.result import Scan
    from optimizer.viewing.serving import RunServer

SCAN: Mapping[str, object] = {**list_types(SCANNED), "bars": object}

FORECAST: Mapping[str, object] = {
    **SIGNAL,
    **list_types(ForecastSettings.model_fields, ForecastSettings),
    "bars": object,
}


@takes_plain(ConfigError, RUN)
def evolve(
    *,
    config: RunConfig | str | Path | None = None,
    resume: str | Path | None = None,
    trust: bool = False,
    cluster: Address | str | None = None,
    progress: Watch | None = None,
    **settings: object,
) -> "Run":
    """Search, certify, record and judge.

    Args:
        config: TOML file of settings, or a configuration; those that are named win over it.
        resume: A run to go on with, as `load_run` takes it; of the settings only those that change
            no result may be named then.
        trust: Whether to trust that run from now on, as of `load_run`.
        cluster: Workers, such as ``local:4``, as ``--cluster`` takes them.
        progress: Callback of each step; a notebook or an interactive session shows a line if None.
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
        StoppedError: When a person stopped it; it can be resumed.
    """
    if resume is not None and config is not None:
        raise ConfigError("--resume takes its configuration from the run; leave --config out")
    with hold_overlaid(settings, config, "evolve") if resume is None else nullcontext() as begun:
        with pause_collector(is_program=IS_PROGRAM):
            # First, because a machine's first search waits for them.
            from optimizer.search.compiling import compile_in_background

            compile_in_background()
            from optimizer.evidence.concurrent_folds import SpareCores
            from optimizer.evidence.judge import build_plan, judge_searched
            from optimizer.evidence.judgement import add_held_out
            from optimizer.report.run import Run
            from optimizer.run.runner import Observer, resume_run, start_run
            from optimizer.store.result import refuse_red
        runs = Path(begun.runs if begun else str(settings.get("runs", "runs")))
        path = find_trusted(resume, runs, trust=trust)
        is_judged = settings.get("judge", begun is None or begun.judge) is not False
        with (
            join_cluster(cluster, runs) as workers,
            SpareCores(build_plan(begun))
            if begun and is_judged and workers is None
            else nullcontext() as beside,
            _show(progress) as show,
        ):
            observer = Observer(show, beside)
            if workers is not None:
                from optimizer.cluster.sharded import Shards

                observer.place = Shards(workers, is_judged=is_judged)
            if path is not None:
                result = resume_run(path, settings, observer)
            else:
                assert begun is not None, "a new run has a configuration"
                result = start_run(begun, observer)
            judgement, began = None, time.perf_counter()
            if is_judged or path is not None:
                executor = beside or choose_executor(workers)
                judgement = judge_searched(result, begun, settings, observer, executor)
            seconds = time.perf_counter() - began
        run = Run(Path(result.path))
        run.judgement_s, run.judgement = seconds, judgement
        run.result = add_held_out(result, judgement)
        try:
            refuse_red(result.certificate)
        except ParityError as error:
            error.run = run
            raise
        return run


@takes_plain(ConfigError, JUDGE)
def judge(
    name: str | Path = "latest",
    runs: str | Path = "runs",
    data: Specs | None = None,
    *,
    pick: int | None = None,
    is_open: bool = False,
    trust: bool = False,
    cluster: Address | str | None = None,
    progress: Watch | None = None,
    **settings: object,
) -> "Run":
    """Find out whether a recorded front is more than luck, and record it.

    Args:
        name: Of the run, as `load_run` takes it.
        runs: Folder in which runs are recorded.
        data: Where the bars are now, if they have moved.
        pick: Member to judge; None for that of greatest strength.
        is_open: Whether to look at the bars that were held out; each look is counted.
        trust: Whether to trust the run from now on, as of `load_run`.
        cluster: Workers, as of `evolve`.
        progress: Callback of each step, as of `evolve`.
        settings: Fields of `optimizer.config.settings.EvidenceSettings`, such as ``null=299``, and
            where it is computed, such as ``threads=4``.

    Returns:
        The run; its ``judgement`` has the verdict and all evidence. Its report is written anew
        where it has one.

    Raises:
        ConfigError: When a setting is unknown or wrong, or does not fit the bars.
        StoreError: When the run is not finished, is owned, or cannot be judged by this version.
    """
    from optimizer.evidence.judge import build_plan, judge_run, naming_resume
    from optimizer.evidence.judgement import read_judgement
    from optimizer.report.page import renew_report
    from optimizer.report.run import Run
    from optimizer.store import RunStore

    path, config = find_trusted(name, Path(runs), trust=trust), make_config(settings, where="judge")
    with RunStore.open(path) as store:
        earlier = read_judgement(store)
    plan = build_plan(config, settings, earlier, pick=pick, is_open=is_open)
    beside = {key: v for key, v in settings.items() if key not in EvidenceSettings.model_fields}
    with (
        naming_resume(path, config, pick, is_open=is_open),
        join_cluster(cluster, path.parent) as workers,
        _show(progress) as show,
    ):
        flags = {**build_data_flags(data), **beside}
        judgement = judge_run(path, plan, flags, show, executor=choose_executor(workers))
    run = Run(path, data)
    run.judgement = judgement
    renew_report(run)
    return run


@takes_plain(ConfigError, RUN)
def backtest(
    genes: Mapping[str, float | str] | None = None,
    *,
    file: str | Path | None = None,
    run: str | Path | None = None,
    member: int | None = None,
    engine: Literal["reference", "cpu", "cuda"] = "cpu",
    trust: bool = False,
    config: RunConfig | str | Path | None = None,
    **settings: object,
) -> "Single":
    """Backtest one candidate.

    Args:
        genes: Values by name; those that are not named have their default.
        file: JSON or CSV that holds the others, as a command or a person wrote it.
        run: A run that holds the others, as `load_run` takes it; of the settings only those that
            say which bars and at what costs may be named then.
        member: Which one of the file, or of the run's front, whose pick it is if None.
        engine: Computes it.
        trust: Whether to trust the run from now on, as of `load_run`.
        config: TOML file of settings, or a configuration; those that are named win over it.
        settings: As of `evolve`, also ``strategy`` and ``bars``.

    Returns:
        What a run of this one member would be: its ``front`` has one row, ``trades(0)`` its trades.

    Raises:
        ConfigError: When a setting or a gene is unknown or wrong.

    >>> len(backtest({"reward_r": 3.0}).trades(0))
    118
    """
    from optimizer.candidate import GeneSource, hold_candidate
    from optimizer.report.run import Single
    from optimizer.run.individuals import prove_shown

    source = GeneSource(genes or {}, file, run, member, trust=trust)
    with hold_candidate(source, settings, config, "backtest") as (task, genome, whose):
        single = Single(task, genome, whose, engine)
        prove_shown(task.spec, task.markets, genome[None], [single.ledgers])
        return single


@takes_plain(ConfigError, SIGNAL)
def signal(
    run: str | Path,
    *,
    runs: str | Path = "runs",
    now: str | None = None,
    may_search: bool = True,
    trust: bool = False,
    **settings: object,
) -> "Signal":
    """Say where a member of a run stands on the newest closed bars; it places no order.

    Args:
        run: Name of a run, and behind a colon the number of a member; its pick if none is named.
        runs: Folder in which runs are recorded.
        now: The clock, ISO time UTC; that of this machine if None.
        may_search: Whether a search of a schedule that is due is made.
        trust: Whether to trust the run from now on, as of `load_run`.
        settings: Which bars, such as ``data=["bars"]``; those of the run's sources if unset.

    Returns:
        The state of each symbol, and what is needed to place an order.

    Raises:
        ConfigError: When there is no such member, or no bar has closed.
        StoreError: When the run has no result, or its members would trade otherwise now.
    """
    from optimizer.signals.source import read_clock

    return open_signal(run, runs, settings, may_search=may_search, trust=trust).read(
        read_clock(now)
    )


def open_signal(
    run: str | Path,
    runs: str | Path,
    settings: Mapping[str, object],
    *,
    may_search: bool = True,
    trust: bool = False,
) -> "SignalSource":
    """Source of `signal`, to be read again and again."""
    from optimizer.signals.source import SignalSource
    from optimizer.store.listing import split_member

    name, member = split_member(str(run))
    return SignalSource(
        find_trusted(name, Path(runs), trust=trust), member, settings, may_search=may_search
    )


@takes_plain(ConfigError, SIGNAL)
def watch(
    run: str | Path,
    *,
    runs: str | Path = "runs",
    now: str | None = None,
    trust: bool = False,
    **settings: object,
) -> "DriftRecord":
    """Hold a run's trades since its bars against those that it is judged by, and record it.

    Args:
        run: Name of the run.
        runs: Folder in which runs are recorded.
        now: The clock, ISO time UTC; that of this machine if None.
        trust: Whether to trust the run from now on, as of `load_run`.
        settings: Which bars, as of `signal`.

    Returns:
        The drift, ``alarm_at`` None where there is no alarm. A report of the run is written anew.

    Raises:
        ConfigError: When too few trades on unseen bars are there to hold new ones against.
        StoreError: When the run has no result, or its members would trade otherwise now.
    """
    from optimizer.report.page import renew_report
    from optimizer.report.run import Run
    from optimizer.signals.drift import watch_run
    from optimizer.signals.source import read_clock
    from optimizer.signals.unrecorded import may_record
    from optimizer.store.files import REPORT

    path = find_trusted(run, Path(runs), trust=trust)
    record = watch_run(path, settings, read_clock(now))
    has_report = may_record(path) and (path / REPORT).is_file()
    # Bars that have grown would take its charts away.
    if has_report and not (watched := Run(path)).bars_problem:
        renew_report(watched)
    return record


@takes_plain(ConfigError)
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
    from optimizer.portfolios.portfolio import build_portfolio, parse_portfolio

    pairs, shares, costs = parse_portfolio(
        members,
        weights,
        risk=risk,
        max_positions=max_positions,
        max_leverage=max_leverage,
        rank=rank,
        trust_leverage=trust_leverage,
    )
    return build_portfolio(pairs, shares, Path(runs), costs, cash)


@takes_plain(ConfigError, SCAN)
def scan(  # noqa: PLR0913 - each is given by its name
    parameters: Mapping[str, float] | None = None,
    *,
    high: float = HIGH,
    low: float = LOW,
    is_script: bool = False,
    history: int = 0,
    verify: Literal["sample", "all"] = "sample",
    is_kept: bool = True,
    config: RunConfig | str | Path | None = None,
    progress: Watch | None = None,
    **settings: object,
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
        config: TOML file of settings, or a configuration; those that are named win over it.
        progress: Callback of each step, as of `evolve`.
        settings: Which bars, such as ``data=["bars"]`` and ``dedupe=True``, or ``bars``:
            symbols with a frame each, or one frame, as of `evolve`.

    Returns:
        A line a symbol, what has changed since the last scan, and the rows themselves; its
        ``frame()`` is a frame of pandas.

    Raises:
        ConfigError: When a parameter or a setting is unknown or wrong.
        ParityError: When a row differs from the readable definition.
    """
    from optimizer.trend_scan.result import ScanParams
    from optimizer.trend_scan.scan import Ways, scan_sources

    question = ScanParams(parameters or {}, high, low, is_script)
    ways = Ways(history=history, is_all_replayed=verify == "all")
    source = "memory" if settings.get("bars") is not None else None
    with hold_overlaid(settings, config, "scan") as configured, _show(progress) as show:
        return scan_sources(configured, question, ways, is_kept=is_kept, watch=show, source=source)


@takes_plain(ConfigError, RUN)
def power(
    run: str | Path | None = None,
    *,
    trust: bool = False,
    config: RunConfig | str | Path | None = None,
    cluster: Address | str | None = None,
    progress: Watch | None = None,
    **settings: object,
) -> "PowerRecord":
    """Find out how large an edge a search would find on its bars, and below which it is blind.

    Edges are planted into shuffled copies of the bars, each of which is searched. Every search is
    recorded: the same call goes on after any interruption.

    Args:
        run: A recorded search, as `load_run` takes it; without one, settings say it.
        trust: Whether to trust the run from now on, as of `load_run`.
        config: TOML file of settings, or a configuration; those that are named win over it.
        cluster: Workers, as of `evolve`.
        progress: Callback of each step, as of `evolve`.
        settings: As of `evolve`; of a recorded search only where its bars are, and where it is
            computed.

    Returns:
        Markets whose planted edge was found, by its size.

    Raises:
        ConfigError: When a setting is wrong, or no edge can be planted into the bars.
        StoreError: When the run is not finished, or cannot be judged by this version.
    """
    from optimizer.evidence.judge import measure_power
    from optimizer.evidence.power_searches import measure_planned_power
    from optimizer.report.page import renew_report
    from optimizer.report.run import Run

    runs = Path(str(settings.get("runs", "runs")))
    path = find_trusted(run, runs, trust=trust)
    try:
        if path is None:
            with (
                hold_overlaid(settings, config, "power") as planned,
                join_cluster(cluster, runs) as workers,
                _show(progress) as show,
            ):
                return measure_planned_power(planned, show, choose_executor(workers))
        named = settings if config is None else {"config": config}
        refuse_others(path, named, ("data", "runs", *OF_MACHINE))
        with join_cluster(cluster, path.parent) as workers, _show(progress) as show:
            record = measure_power(path, settings, show, choose_executor(workers))
    except KeyboardInterrupt:
        raise StoppedError("stopped; searches are recorded, the same command goes on") from None
    where: Any = settings.get("data")
    renew_report(Run(path, where))
    return record


@takes_plain(ConfigError, FORECAST)
def forecast(out: str | Path, *, progress: Watch | None = None, **settings: object) -> "Forecast":
    """Fit a model walk-forward, keep what it forecasts as a file, and say how good it was.

    Args:
        out: File to write, .parquet; other forecasts of its folder on the same bars are trials.
        progress: Callback of each step, as of `evolve`.
        settings: Fields of `optimizer.forecasts.settings.ForecastSettings`, such as
            ``model="gru"``, and which bars, such as ``data=["bars"]``, or ``bars`` as
            of `evolve`.

    Returns:
        The forecasts, and their record; its ``skill`` shows what to believe. Interrupted, nothing
        is written.

    Raises:
        ConfigError: When a setting is unknown or wrong, or does not fit the bars.
        DataError, DeviceError: When bars or the device cannot be had.
        OptimizerError: When it cannot be written.
    """
    from optimizer.forecasts.column import SUFFIX, make_forecast, write_forecast
    from optimizer.run.markets import load_series

    names, target = ForecastSettings.model_fields, Path(out)
    chosen = {name: value for name, value in settings.items() if name in names}
    knobs = make_settings(ForecastSettings, chosen, where="forecast")
    bars = {name: value for name, value in settings.items() if name not in names}
    with hold_overlaid(bars, None, "forecast") as config, _show(progress) as show:
        if target.suffix != SUFFIX or target.is_dir():
            raise ConfigError(f"--out {out}: a forecast is a {SUFFIX} file")
        return write_forecast(make_forecast(load_series(config), knobs, show), target)


@takes_plain(ConfigError)
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

    return Run(find_trusted(name, Path(runs), trust=trust), data)


@takes_plain(ConfigError)
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
    try:
        from optimizer.viewing.serving import RunServer
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"{error.name} is not installed: pip install 'exhaustion-optimizer[ui]'"
        ) from None
    return RunServer(Path(runs), port, forecasts=Path(forecasts)).start()


def _show(progress: Watch | None) -> AbstractContextManager[Watch]:
    """Callback of progress; if None, a line of a notebook or an interactive session."""
    return choose_show() if progress is None else nullcontext(progress)
