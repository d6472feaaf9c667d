"""Answer of a run, so that lists only read it, and caveats of a return.

Terminal, page, notebook and portfolio take their sentences from here.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, Protocol

from optimizer.formatting import format_count, fraction, number
from optimizer.store.payload import OPTIONAL, Payload

JUDGEMENT, DRIFT, OPENED = "judgement", "drift", "opened"
"""Names of rows of evidence: judgements, drift of new trades, looks at held-out bars."""


@dataclass(frozen=True)
class RunAnswer(Payload):
    """Numbers of the pick on searched bars, or of a schedule's account; None where undefined."""

    what: ClassVar[str] = "the answer"

    strength: float | None = None
    total_return: float | None = None
    trades: int | None = None
    cagr: float | None = None
    max_drawdown: float | None = None
    wealth: float | None = None  # e-value against luck; None before null searches
    # Expected mean R on other bars; None if unknown, and for a schedule.
    expected: float | None = None
    expected_cagr: float | None = None  # growth a year that goes with it
    # Mean R a trade of folds together, and of the pick on held-out bars; None where not known.
    folds: float | None = None
    held_out: float | None = None


def mapping_or_empty(value: object) -> Mapping[str, object]:
    """A part of a record that should be a mapping, an empty one in place of anything else."""
    return value if isinstance(value, Mapping) else {}


@dataclass(frozen=True, kw_only=True)
class BestTradeRecord(Payload):
    """The trade that makes more than half of a return. Times are minutes, UTC."""

    total_return: float  # without it
    symbol: str
    entered: str
    left: str
    r: float
    # Of a bar of its fills whose high or low stands alone in its week: when it opens, which of
    # the two it is, its price, and the nearer one of the bars beside it.
    bar: Annotated[str, OPTIONAL] = ""
    side: Annotated[str, OPTIONAL] = ""
    price: Annotated[float | None, OPTIONAL] = None
    beside: Annotated[float | None, OPTIONAL] = None


@dataclass(frozen=True, kw_only=True)
class Caveats(Payload):
    """Facts that the return of an account hides."""

    # Close at which it stood at nothing before a trade had ended, UTC; empty without one.
    gone: Annotated[str, OPTIONAL] = ""
    # The trade that makes more than half of it; None without one.
    best_trade: Annotated[BestTradeRecord | None, OPTIONAL] = None


class ToldAccount(Protocol):
    """Metrics of an account by name, and fields of `Caveats`."""

    @property
    def metrics(self) -> Mapping[str, float | None]: ...  # noqa: D102

    @property
    def gone(self) -> str: ...  # noqa: D102

    @property
    def best_trade(self) -> BestTradeRecord | None: ...  # noqa: D102


def describe_gone(gone: str) -> str:
    """An account that stood at nothing, in half a sentence."""
    return f"the account stood at nothing on {gone} UTC, before that trade ended"


def describe_return(account: ToldAccount) -> str:
    """Words to stand right beside a return; none if it hides nothing."""
    if account.gone:
        return describe_gone(account.gone)
    if account.best_trade is not None:
        return f"{fraction(account.best_trade.total_return)} without its best trade"
    return ""


def list_caveats(account: ToldAccount) -> Iterator[str]:
    """Sentences on a return that must not be read without them, the gravest first."""
    total, best = fraction(account.metrics.get("total_return")), account.best_trade
    if account.gone:
        yield f"total_return {total} was never made: {describe_gone(account.gone)}."
    elif best is not None:
        yield (
            f"total_return {total} hangs on one trade, {fraction(best.total_return)} without it: "
            f"{best.symbol}, {best.entered} to {best.left} UTC, {number(best.r)} R."
        )
        if best.bar:
            yield (
                f"It was filled in the bar of {best.bar} UTC, whose {best.side} "
                f"{number(best.price)} stands alone in its week, {number(best.beside)} beside it: "
                "a wrong price? Look at the bar before you believe it."
            )
    if unsized := account.metrics.get("unsized"):
        verb = "was" if unsized == 1 else "were"
        trades = format_count(account.metrics.get("trades"), "trade")
        yield f"{number(unsized)} of {trades} {verb} too small for the account: nothing was bought."


def describe_account(
    account: ToldAccount, count: int, noun: str = "symbol", limits: str = ""
) -> Iterator[str]:
    """An account in sentences, as far as its numbers do not say it.

    `count` is that of its symbols or components, by a noun; `limits` are flags, where they are
    known.
    """
    metrics = account.metrics
    skipped, most = metrics.get("skipped"), metrics.get("max_leverage")
    yield from list_caveats(account)
    if count > 1:
        marked = metrics.get("max_drawdown_marked")
        by_closes = "" if marked is None else f" (by bar closes {fraction(marked)})"
        yield (
            f"One account for {count} {noun}s: {format_count(metrics.get('trades'), 'trade')}; "
            f"it fell by {fraction(metrics.get('max_drawdown'))}{by_closes}."
        )
        if most is not None and most > 1:
            yield f"Positions were up to {most:,.2g} times the account."
    if skipped:
        yield describe_skipped(skipped, limits)


def describe_skipped(count: float, limits: str = "") -> str:
    """Signals for which an account had no room, and the flags of its limits where known.

    >>> describe_skipped(47, name_limits(1, None))
    '47 signals skipped: the account was full (--max-positions 1).'
    """
    why = f" ({limits})" if limits else ""
    return f"{format_count(count, 'signal')} skipped: the account was full{why}."


def name_limits(
    max_positions: int | None, max_leverage: float | None, rank: str | None = None
) -> str:
    """Flags of an account's limits; empty without any.

    >>> name_limits(1, None), name_limits(2, 1.5)
    ('--max-positions 1', '--max-positions 2, --max-leverage 1.5')
    """
    flags = [("--max-positions", max_positions), ("--max-leverage", max_leverage)]
    named = [f"{flag} {number(limit)}" for flag, limit in flags if limit is not None]
    return ", ".join([*named, f"--rank {rank}"] if rank else named)
