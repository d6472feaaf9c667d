"""Settings of bars, how they are read and cut, of the strategy, and of a trade's costs."""

from typing import Literal

from optimizer.config.values import (
    AlignedColumns,
    Bounds,
    Bytes,
    ColumnFiles,
    Columns,
    FinerSpecs,
    Settings,
    Specs,
    knob,
)


class DataSettings(Settings):
    """Where bars come from, and how they are read."""

    data: Specs = knob(
        ("sample",),
        "Bars: sample, csv:PATH or parquet:PATH; a folder or a pattern is all its files; the flag "
        "repeats.",
        decides="data",
    )
    timeframe: str | None = knob(
        None, "Duration of a bar, such as 15m; longer than the file's resamples.", decides="data"
    )
    source_timeframe: str | None = knob(
        None,
        "Duration of the source's own bars, such as 1m, where its steps do not show it: a market "
        "that trades seldom.",
        decides="data",
    )
    stamped: Literal["open", "close"] = knob(
        "open", "At which end of a bar its time lies.", decides="data"
    )
    tz: str | None = knob(
        None,
        "IANA zone of timestamps that name none, and of the days and weeks that bars are merged "
        "into; a shift may follow, as in America/New_York+7h.",
        decides="data",
    )
    ambiguous: Literal["earlier", "later"] | None = knob(
        None,
        "Which moment a local time means that clocks show twice in autumn, where the order of rows "
        "does not show it.",
        decides="data",
    )
    dedupe: bool = knob(False, "Drop rows that repeat the row before them.", decides="data")
    drop_bad_bars: bool = knob(False, "Drop rows that are no legal bar.", decides="data")
    sort: bool = knob(False, "Put rows in the order of time.", decides="data")
    columns: Columns = knob(
        {},
        "What a column holds, for names that are not recognised: timestamp, date, time, open, "
        "high, low, close, volume or symbol, and its name; the flag repeats.",
        decides="data",
    )
    aligned_columns: AlignedColumns = knob(
        [],
        'A further column of the bars\' own file, as column("NAME") of a strategy: you state that '
        "each number was known when its bar closed; NAME=COLUMN where the file calls it otherwise; "
        "the flag repeats.",
        decides="data",
    )
    column_file: ColumnFiles = knob(
        [],
        'A file of numbers with the time from which each was known, as column("NAME") of a '
        "strategy; NAME=FILE@600 forgets them after 600 minutes; the flag repeats.",
        decides="data",
    )
    finer: FinerSpecs = knob(
        [],
        "Finer bars of the same market, as --data names them: what touches an order, a stop or a "
        "target is read by these, in their order; one for each --data.",
        decides="data",
    )
    time_format: str | None = knob(
        None, "How times are written, such as %d/%m/%Y %H:%M, if several ways fit.", decides="data"
    )
    decimal: Literal[".", ","] | None = knob(
        None, "The mark that begins decimals, if commas could be either.", decides="data"
    )
    tick: float = knob(
        0.0,
        "Widen bars whose high or low misses open or close by this or less.",
        decides="data",
        ge=0,
    )
    price_offset: float = knob(
        0.0,
        "Add this to every price, for markets that fell below zero; costs are then shares of the "
        "raised price.",
        decides="data",
    )
    calendar: str | None = knob(
        None,
        "Exchange whose closed hours are no gaps, such as XNYS, XLON or CMES; the rhythm of the "
        "weeks shows them if unset.",
        decides="nothing",
    )
    max_bytes: Bytes = knob(
        200_000_000,
        "Refuse data that takes more memory than this, decoded.",
        decides="nothing",
        ge=1,
    )
    adjusted: bool = knob(True, "Fetch prices that are adjusted for splits.", decides="data")
    accept_missing: bool = knob(
        False, "Take fetched bars although whole sessions are missing.", decides="data"
    )
    cache: str | None = knob(
        None, "Folder of fetched bars; the user's own cache if unset.", decides="data"
    )


class WindowSettings(Settings):
    """Settings of the bars to search on, and of those held out."""

    start: str | None = knob(
        None,
        "First bar to trade, ISO time; those before it only warm indicators up.",
        decides="data",
        also="--from",
    )
    end: str | None = knob(
        None, "Trade bars that open before this ISO time.", decides="data", also="--to"
    )
    max_gap: str | None = knob(
        None,
        "Cut series where bars are further apart than this, such as 4d; nothing reaches from one "
        "part into the next; parts too short for the longest window are skipped.",
        decides="data",
    )
    holdout: str | None = knob(
        None,
        "Keep the last bars of each series from the search and judge the result on them: a share "
        "such as 20%, or an ISO time.",
        decides="data",
    )
    parts: int = knob(
        1,
        "Cut the searched bars of each series into this many windows of their own, of which "
        "objectives such as strength@worst speak; part of the search, it confirms nothing.",
        decides="data",
        ge=1,
        le=1000,
    )


class StrategySettings(Settings):
    """The strategy and the bounds of its genes."""

    strategy: str = knob(
        "seller_exhaustion",
        "Name of the strategy, or the file that says it, FILE.py or FILE.py:NAME.",
        decides="strategy",
    )
    scale_lengths: bool = knob(
        True,
        "Scale lengths in bars from the strategy's timeframe to the data's.",
        decides="strategy",
    )
    bounds: Bounds = knob(
        {}, "Bounds of a gene, each a pair [low, high]; the flag repeats.", decides="strategy"
    )
    trust_rates: bool = knob(
        False, "Take funding and borrowing above 0.1 of the price a payment.", decides="nothing"
    )
    trust_leverage: bool = knob(
        False,
        "Take equity_share(...) above 10, risk(...) above 0.2, weights above 1 in sum.",
        decides="nothing",
    )


class CostSettings(Settings):
    """Costs and risk; the fields of `engine.accounts.costs.Costs`."""

    fee_bp: float = knob(
        5.0, "Fee per side, basis points of notional.", decides="costs", ge=0, le=10_000
    )
    slippage_bp: float = knob(
        5.0, "Slippage per side, basis points.", decides="costs", ge=0, le=10_000
    )
    fee_unit: float = knob(
        0.0, "Fee per side for one unit, money, beside the other.", decides="costs", ge=0
    )
    fee_min: float = knob(
        0.0, "Least fee of a fill, money; for strategies with an account.", decides="costs", ge=0
    )
    min_risk: float = knob(
        0.0001,
        "Trades that risk no more than this share of price are rejected.",
        decides="costs",
        ge=0,
        le=1,
    )
    risk_fraction: float = knob(
        0.01, "Share of equity that one R is worth.", decides="costs", gt=0, le=1
    )
    max_positions: int | None = knob(
        None,
        "Most positions that one account has open together.",
        decides="costs",
        ge=1,
        le=1_000_000,
    )
    max_leverage: float | None = knob(
        None, "Most that they are worth together, times the account.", decides="costs", gt=0
    )
    rank: str | None = knob(
        None,
        "Row by which signals are taken where several ask, greatest first.",
        decides="costs",
    )
