"""Members of several runs as one account: what it made, and how alike its components are."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import combinations
from pathlib import Path

import numpy as np

from data.checks import Floats, Ints
from engine.accounts.costs import Costs
from engine.accounts.ledger import Ledger
from engine.portfolio import Component, Ledgers, Portfolio
from engine.replay.parity import compare_ledgers
from optimizer.errors import ConfigError, ParityError
from optimizer.evidence.returns import daily_returns, list_days
from optimizer.judging.judgement import read_opened_result
from optimizer.judging.verdict import find_pick
from optimizer.run.header import recorded_task
from optimizer.run.tables import newest_front
from optimizer.run.task import Task
from optimizer.store import RunStore, find_run
from strategy.pretty_print import format_tree

FEWEST_DAYS = 20
"""Below so many days there is no correlation."""

DRAWN = ("lines", "bar_times")
"""Fields of a result that are drawn alone."""


@dataclass(frozen=True)
class ComponentFigures:
    """A component, and what an account of it alone would have made at its weight."""

    run: str
    member: int
    weight: float
    strategy: str
    symbols: tuple[str, ...]
    trades: int  # that the portfolio made of it
    skipped: int  # signals for which the portfolio had no room
    alone: dict[str, float]  # metrics by name

    @property
    def name(self) -> str:
        """Run and member."""
        return f"{self.run}:{self.member}"


@dataclass(frozen=True)
class Correlation:
    """Of R a UTC day of two components, by number."""

    first: int
    second: int
    days: int  # with a bar of either, from the later beginning to the earlier end
    value: float | None  # None below `FEWEST_DAYS` and where one does not vary


@dataclass(frozen=True, eq=False)
class EquityLine:
    """Equity of an account from 1 on, after each trade."""

    time_ns: Ints  # [K + 1], nanoseconds UTC: when the first bar opens, then exit bars
    value: Floats  # [K + 1]


@dataclass(frozen=True)
class PortfolioResult:
    """One account of several components; its trades are those of the reference."""

    components: tuple[ComponentFigures, ...]
    metrics: dict[str, float]  # of the account
    undefined: dict[str, str]  # why others are not there
    correlations: tuple[Correlation, ...]
    risk_fraction: float  # that one R is of the account where a component does not size its trades
    cash: float | None  # that it began with; None where no component sizes its trades from it
    max_positions: int | None
    max_leverage: float | None
    rank: str | None
    notes: tuple[str, ...]
    # Of the account, then of each component alone; not in JSON.
    lines: tuple[EquityLine, ...] = field(default=(), compare=False, repr=False)
    bar_times: Ints | None = field(default=None, compare=False, repr=False)  # opens of all bars

    def payload(self) -> dict[str, object]:
        """All of it but equity after each trade, ready for JSON."""
        shown = asdict(replace(self, lines=(), bar_times=None))
        return {name: value for name, value in shown.items() if name not in DRAWN}


@dataclass(frozen=True)
class Picked:
    """A member of a run."""

    run: str
    member: int
    component: Component
    symbols: tuple[str, ...]
    task: Task  # of its run, on the bars that it was searched on


def build_portfolio(
    members: Sequence[tuple[str, int | None]],
    weights: Sequence[float] | None,
    runs: Path,
    costs: Costs,
    cash: float | None = None,
) -> PortfolioResult:
    """Trade members of runs as one account, on the bars that they were searched on.

    Args:
        members: Names of runs, each with the number of a member; None for its pick.
        weights: What the account takes of each one's trades; an even share if None.
        runs: Folder in which runs are recorded.
        costs: Share of the account that one R is, and its limits.
        cash: That the account begins with, as of `engine.portfolio.Portfolio`.

    Raises:
        ConfigError: When there is no such member, or weights do not fit.
        StoreError: When members would trade otherwise than in their run.
        EngineError: When a component's trades hang on more than the account takes into account.
        ParityError: When the reference has other trades.
    """
    picked = pick_members(members, weights, runs, costs)
    if cash is not None and not (np.isfinite(cash) and cash > 0):
        raise ConfigError(f"--cash {cash:g}: an amount of money above 0")
    portfolio = Portfolio([each.component for each in picked], costs, cash)
    ledgers = _require_parity(portfolio)
    metrics, undefined = portfolio.measure(ledgers)
    singles = [portfolio.alone(number) for number in range(len(picked))]
    alone = [single.trade() for single in singles]
    return PortfolioResult(
        components=tuple(
            _describe_component(each, some, single.measure(own)[0])
            for each, some, single, own in zip(picked, ledgers, singles, alone, strict=True)
        ),
        metrics=metrics,
        undefined=undefined,
        correlations=tuple(
            correlate_days(portfolio.components, ledgers, *pair)
            for pair in combinations(range(len(picked)), 2)
        ),
        risk_fraction=costs.risk_fraction,
        cash=portfolio.cash if portfolio.account.stakes else None,
        max_positions=costs.max_positions,
        max_leverage=costs.max_leverage,
        rank=costs.rank,
        notes=tuple(_list_notes(picked)),
        lines=tuple(map(_trace_equity, (portfolio, *singles), (ledgers, *alone))),
        bar_times=np.unique(np.concatenate([bars.timestamp for bars in portfolio.account.series])),
    )


def correlate_days(
    components: Sequence[Component], ledgers: Ledgers, first: int, second: int
) -> Correlation:
    """Pearson's correlation of R a UTC day, 0 where nothing closed.

    Days are those with a bar of either, from the later beginning to the earlier end.
    """
    columns = []
    for number in (first, second):
        component = components[number]
        days = list_days(component.series, component.windows)
        r = daily_returns([ledgers[number]], component.series, component.windows, days)[:, 0]
        columns.append((days, r))
    return Correlation(first, second, *correlate_common_days(*columns))


def correlate_common_days(
    first: tuple[Ints, Floats], second: tuple[Ints, Floats]
) -> tuple[int, float | None]:
    """Days that two columns have in common, and their correlation as in `Correlation`.

    Each is its dates [D] with a bar, ascending, and the R of the trades closed on each [D].
    """
    days = np.union1d(first[0], second[0])
    start, end = (pick(first[0][at], second[0][at]) for pick, at in ((max, 0), (min, -1)))
    is_common = (days >= start) & (days <= end)
    columns = []
    for own_days, r in (first, second):
        column = np.zeros(len(days))
        column[np.searchsorted(days, own_days)] = r
        columns.append(column[is_common])
    count = int(is_common.sum())
    return count, correlate(*columns) if count >= FEWEST_DAYS else None


def correlate(x: Floats, y: Floats) -> float | None:
    """Pearson's correlation of two columns [D]; None where one does not vary.

    >>> correlate(np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0, 6.0]))
    1.0
    """
    if not ((x != x[0]).any() and (y != y[0]).any()):
        return None
    around_x, around_y = x - x.mean(), y - y.mean()
    spread = float(np.sqrt((around_x**2).sum() * (around_y**2).sum()))
    return float((around_x * around_y).sum()) / spread if spread > 0.0 else None


def pick_members(
    members: Sequence[tuple[str, int | None]],
    weights: Sequence[float] | None,
    runs: Path,
    costs: Costs,
) -> list[Picked]:
    """Components of a portfolio; arguments and errors are those of `build_portfolio`."""
    shares = _check_weights(weights, len(members))
    return [
        _pick_member(find_run(runs, name), member, share, costs.risk_fraction)
        for (name, member), share in zip(members, shares, strict=True)
    ]


def _check_weights(weights: Sequence[float] | None, count: int) -> list[float]:
    """Weights of so many components."""
    if not count:
        raise ConfigError("a portfolio has at least one component: name runs")
    if weights is None:
        return [1.0 / count] * count
    if len(weights) != count:
        raise ConfigError(f"--weights: {len(weights)} for {count} components: name one for each")
    if not all(np.isfinite(weight) and weight > 0 for weight in weights):
        raise ConfigError("--weights: each is a number above 0")
    return list(weights)


def _pick_member(path: Path, member: int | None, weight: float, risk_fraction: float) -> Picked:
    """A member of a run, on the bars that it was searched on."""
    with RunStore.open(path) as store:
        result, judgement = read_opened_result(store)
        pick = None if result is None else find_pick(result, judgement)
        if pick is None:
            raise ConfigError(f"run '{store.run_id}' has no front: there is no member")
        chosen, front = pick.member if member is None else member, newest_front(store).genomes
        if chosen >= len(front):
            raise ConfigError(
                f"run '{store.run_id}' has members 0 to {len(front) - 1}, not {chosen}"
            )
        task = recorded_task(store, {}).closed
    if task.spec.account is None and weight * risk_fraction > 1:
        raise ConfigError(
            f"--weights: a trade would risk {weight:g} times --risk {risk_fraction:g}, more than "
            f"the whole account; name at most {1 / risk_fraction:g}"
        )
    markets = task.markets
    name = f"{path.name}:{chosen}"
    bars = markets.series, markets.windows
    component = Component(name, task.spec, *bars, task.costs, front[chosen], weight)
    return Picked(path.name, chosen, component, tuple(dict.fromkeys(markets.names)), task)


def _require_parity(portfolio: Portfolio) -> Ledgers:
    """Trades of the engine, once the reference has the same in every bit."""
    ledgers, replayed = portfolio.trade(), portfolio.replay()
    for component, some, expected in zip(portfolio.components, ledgers, replayed, strict=True):
        for ledger, other in zip(some, expected, strict=True):
            if problem := compare_ledgers(other, ledger):
                raise ParityError(f"reference and engine disagree on {component.name}\n{problem}")
    return ledgers


def _describe_component(
    picked: Picked, ledgers: Sequence[Ledger], alone: dict[str, float]
) -> ComponentFigures:
    """Result of a component within the portfolio, and alone."""
    return ComponentFigures(
        run=picked.run,
        member=picked.member,
        weight=picked.component.weight,
        strategy=picked.component.spec.name,
        symbols=picked.symbols,
        trades=sum(map(len, ledgers)),
        skipped=sum(ledger.skipped for ledger in ledgers),
        alone=alone,
    )


def _trace_equity(portfolio: Portfolio, ledgers: Ledgers) -> EquityLine:
    """Equity of a portfolio after each of its trades."""
    account = portfolio.account
    folded = account.fold([ledger for some in ledgers for ledger in some])
    first = min(int(account.series[w.series].timestamp[w.start]) for w in account.windows)
    return EquityLine(np.append(first, folded.exit_ns), np.append(1.0, folded.equity))


def _list_notes(picked: Sequence[Picked]) -> list[str]:
    """Warnings on a portfolio before it is believed."""
    notes = [
        "chosen after their members were seen, on bars that these were searched on: a portfolio "
        "has no grade of its own"
    ]
    if len(picked) > 1:
        notes.append(
            "correlations are of days on which trades close: where trades last for days they are "
            "too small"
        )
    for each in picked:
        if each.component.spec.account is not None:
            sizes = format_tree(each.component.spec.account)
            notes.append(
                f"{each.component.name} sizes its trades by {sizes}: from the cash of the "
                "portfolio, and its weight is taken of each"
            )
    if any(each.component.costs.has_limits for each in picked):
        notes.append("limits of the runs themselves are left out: a portfolio has its own")
    return notes
