"""What is traded: bars, how they are read and cut, the strategy, and what a trade costs."""

from typing import Literal

from optimizer.config.values import Bounds, Bytes, Columns, Settings, Specs, knob


class DataSettings(Settings):
    """Where bars come from, and how they are read."""

    data: Specs = knob(
        ("sample",),
        decides="data",
        description="Bars: sample, csv:PATH or parquet:PATH; a folder or a pattern is all its "
        "files; the flag repeats.",
    )
    timeframe: str | None = knob(
        None,
        decides="data",
        description="Duration of a bar, such as 15m; longer than the file's resamples.",
    )
    tz: str | None = knob(
        None, decides="data", description="IANA zone of timestamps that name none."
    )
    dedupe: bool = knob(
        False, decides="data", description="Drop rows that repeat the row before them."
    )
    drop_bad_bars: bool = knob(
        False, decides="data", description="Drop rows that are no legal bar."
    )
    sort: bool = knob(False, decides="data", description="Put rows in the order of time.")
    columns: Columns = knob(
        {},
        decides="data",
        description="What a column holds, for names that are not recognised: timestamp, date, "
        "time, open, high, low, close, volume or symbol, and its name; the flag repeats.",
    )
    time_format: str | None = knob(
        None,
        decides="data",
        description="How times are written, such as %d/%m/%Y %H:%M, if several ways fit.",
    )
    decimal: Literal[".", ","] | None = knob(
        None,
        decides="data",
        description="The mark that begins decimals, if commas could be either.",
    )
    tick: float = knob(
        0.0,
        decides="data",
        ge=0,
        description="Widen bars whose high or low misses open or close by this or less.",
    )
    price_offset: float = knob(
        0.0,
        decides="data",
        description="Add this to every price, for markets that fell below zero; costs are "
        "then shares of the raised price.",
    )
    max_bytes: Bytes = knob(
        200_000_000,
        decides="nothing",
        ge=1,
        description="Refuse data that takes more memory than this, decoded.",
    )
    adjusted: bool = knob(
        True, decides="data", description="Fetch prices that are adjusted for splits."
    )
    accept_missing: bool = knob(
        False, decides="data", description="Take fetched bars although whole sessions are missing."
    )
    cache: str | None = knob(
        None,
        decides="data",
        description="Folder of fetched bars; the user's own cache if unset.",
    )


class WindowSettings(Settings):
    """Which bars are searched on, and which are held out."""

    start: str | None = knob(
        None,
        decides="data",
        also="--from",
        description="First bar to trade, ISO time; those before it only warm indicators up.",
    )
    end: str | None = knob(
        None,
        decides="data",
        also="--to",
        description="Trade bars that open before this ISO time.",
    )
    max_gap: str | None = knob(
        None,
        decides="data",
        description="Cut series where bars are further apart than this, such as 4d; nothing "
        "reaches from one part into the next.",
    )
    holdout: str | None = knob(
        None,
        decides="data",
        description="Keep the last bars of each series from the search and judge the result on "
        "them: a share such as 20%, or an ISO time.",
    )


class StrategySettings(Settings):
    """The strategy and the bounds of its genes."""

    strategy: str = knob(
        "seller_exhaustion", decides="strategy", description="Name of the strategy."
    )
    scale_lengths: bool = knob(
        True,
        decides="strategy",
        description="Scale lengths in bars from the strategy's timeframe to the data's.",
    )
    bounds: Bounds = knob(
        {},
        decides="strategy",
        description="Bounds of a gene, each a pair [low, high]; the flag repeats.",
    )


class CostSettings(Settings):
    """Costs and risk; the fields of `engine.costs.Costs`."""

    fee_bp: float = knob(
        5.0,
        decides="costs",
        ge=0,
        le=10_000,
        description="Fee per side, basis points of notional.",
    )
    slippage_bp: float = knob(
        5.0, decides="costs", ge=0, le=10_000, description="Slippage per side, basis points."
    )
    min_risk: float = knob(
        0.0001,
        decides="costs",
        ge=0,
        description="Trades that risk no more than this share of price are rejected.",
    )
    risk_fraction: float = knob(
        0.01, decides="costs", gt=0, le=1, description="Share of equity that one R is worth."
    )
