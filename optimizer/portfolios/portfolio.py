"""Members of several runs as one account: its result, and the likeness of its components."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, reduce
from itertools import combinations
from pathlib import Path

import numpy as np

from data.checks import Floats, Ints
from engine.accounts.costs import Costs
from engine.accounts.ledger import Ledger
from engine.portfolio import Component, Ledgers, Portfolio
from engine.replay.parity import compare_ledgers
from optimizer.errors import ConfigError, ParityError
from optimizer.evidence.expectation import (
    ExpectedRecord,
    YearRecord,
    add_year,
    build_part,
    expect_year,
)
from optimizer.evidence.judgement import (
    choose_member,
    derive_member_verdict,
    describe_expected,
    expect_member,
    require_opened_result,
)
from optimizer.evidence.returns import daily_returns, list_days
from optimizer.evidence.verdict import NEXT, Verdict
from optimizer.formatting import GRADE_RANKS, format_count
from optimizer.run.individuals import find_caveats
from optimizer.run.purposes import COMBINE, restore_task
from optimizer.run.tables import newest_front
from optimizer.run.task import Task
from optimizer.store import RunStore, find_run
from optimizer.store.caveats import BestTradeRecord, name_limits
from optimizer.store.listing import split_member
from strategy.pretty_print import format_tree

DRAWN = ("lines", "bar_times", "month_times")
"""Fields of a result that are drawn alone."""

FEWEST_DAYS = 20
"""Below so many days there is no correlation."""


@dataclass(frozen=True)
class ComponentFigures:
    """A component, and the result of an account of it alone at its weight."""

    run: str
    member: int
    weight: float
    strategy: str
    symbols: tuple[str, ...]
    trades: int  # that the portfolio made of it
    skipped: int  # signals for which the portfolio had no room
    alone: dict[str, float]  # metrics by name
    grade: str  # one of `formatting.GRADES`: of its run, at most ``not_judged`` of another
    verdict: str  # sentence of its run, and whom that is about where it is another
    # Mean R that it is expected to earn, and what that makes of an account of it alone; None where
    # not known.
    expected: ExpectedRecord | None
    outlook: str  # sentence on that, or how to find it out; empty of no result

    @property
    def name(self) -> str:
        """Run and member."""
        return f"{self.run}:{self.member}"


@dataclass(frozen=True, eq=False)
class EquityLine:
    """Equity of an account from 1 on, after each trade."""

    time_ns: Ints  # [K + 1], nanoseconds UTC: when the first bar opens, then exit bars
    value: Floats  # [K + 1]


@dataclass(frozen=True)
class Correlation:
    """Correlation of daily R (UTC) of two components, by number."""

    first: int
    second: int
    days: int  # with a bar of either, from the later beginning to the earlier end
    value: float | None  # None below `FEWEST_DAYS` and where one does not vary


@dataclass(frozen=True)
class PortfolioResult:
    """One account of several components; its trades are those of the reference."""

    components: tuple[ComponentFigures, ...]
    metrics: dict[str, float]  # of the account
    undefined: dict[str, str]  # why others are not there
    # See `Caveats`.
    gone: str
    best_trade: BestTradeRecord | None
    correlations: tuple[Correlation, ...]
    risk_fraction: float  # that one R is of the account where a component does not size its trades
    cash: float | None  # that it began with; None where no component sizes its trades from it
    max_positions: int | None
    max_leverage: float | None
    rank: str | None
    notes: tuple[str, ...]
    expected: YearRecord | None  # growth of the account a year; None where not known
    # The account's, then those of each component alone; not in JSON.
    lines: tuple[EquityLine, ...] = field(default=(), compare=False, repr=False)
    bar_times: Ints | None = field(default=None, compare=False, repr=False)  # opens of all bars
    # In months in which every component has bars.
    month_times: Ints | None = field(default=None, compare=False, repr=False)

    @property
    def by_grade(self) -> tuple[ComponentFigures, ...]:
        """Components, those of the worst grade first."""
        return tuple(sorted(self.components, key=lambda part: GRADE_RANKS[part.grade]))

    @property
    def verdict(self) -> str:
        """Sentence of the component of the worst grade, which comes first wherever it is shown."""
        worst = self.by_grade[0]
        which = "The worst of its components, " if len(self.components) > 1 else ""
        return f"{which}{worst.name}: {worst.verdict}"

    @property
    def outlooks(self) -> tuple[str, ...]:
        """Sentences on what components, and all together, are expected to earn."""
        named = [
            f"Expected of {part.name}: {part.outlook}" for part in self.by_grade if part.outlook
        ]
        if self.expected is not None:
            return (*named, f"Expected of the account: {self.expected.describe()}.")
        unknown = [part.name for part in self.components if part.expected is None]
        why = f": nothing is known of {', '.join(unknown)}" if unknown else ""
        return (*named, f"Expected of the account: not known yet{why}.")

    def payload(self) -> dict[str, object]:
        """All of it but equity after each trade, ready for JSON; first the worst verdict."""
        first = {"grade": self.by_grade[0].grade, "verdict": self.verdict}
        return first | {name: part for name, part in asdict(self).items() if name not in DRAWN}


@dataclass(frozen=True)
class Picked:
    """A member of a run."""

    run: str
    member: int
    component: Component
    symbols: tuple[str, ...]
    task: Task  # of its run, on the bars that it was searched on
    verdict: Verdict  # as of `ComponentFigures`
    expected: ExpectedRecord | None  # on the account of its run
    outlook: str

    @cached_property
    def opens(self) -> Ints:
        """When its bars open, nanoseconds UTC, each time once."""
        part = self.component
        times = (part.series[w.series].timestamp[w.start : w.end] for w in part.windows)
        return np.unique(np.concatenate(list(times)))

    @property
    def span(self) -> tuple[str, str]:
        """Dates of its first and its last bar."""
        first, last = self.opens[[0, -1]].astype("datetime64[ns]").astype("datetime64[D]")
        return str(first), str(last)

    def describe_limits(self, trades: int) -> str:
        """Difference that limits of its run make beside so many trades; empty without any."""
        costs = self.task.costs
        if not costs.has_limits:
            return ""
        ledgers = self.task.engine(device="cpu").trades(self.component.genome)
        there = sum(map(len, ledgers))
        if there == trades:
            return ""
        return (
            f"run {self.run} was searched with {name_limits(*_list_limits(costs))}: "
            f"{format_count(there, 'trade')} there, {trades:,} here"
        )


def build_portfolio(
    members: Sequence[tuple[str, int | None]],
    weights: Sequence[float],
    runs: Path,
    costs: Costs,
    cash: float | None = None,
) -> PortfolioResult:
    """Trade members of runs as one account, on the bars that they were searched on.

    Arguments and errors are those of `optimizer.api.portfolio`. Costs say what share of the account
    one R is, and its limits; without any, those that all runs were searched with, where these are
    the same. ParityError when the reference has other trades.
    """
    picked = pick_members(members, weights, runs, costs)
    if cash is not None and not (np.isfinite(cash) and cash > 0):
        raise ConfigError(f"--cash {cash:g}: an amount of money above 0")
    costs = choose_limits(costs, picked)
    portfolio = Portfolio([each.component for each in picked], costs, cash)
    ledgers = _require_parity(portfolio)
    metrics, undefined = portfolio.measure(ledgers)
    flat = [ledger for some in ledgers for ledger in some]
    singles = [portfolio.alone(number) for number in range(len(picked))]
    alone = [single.trade() for single in singles]
    opens = [each.opens for each in picked]
    bar_times, years = np.unique(np.concatenate(opens)), portfolio.account.years
    months = reduce(np.intersect1d, (find_months(times) for times in opens))
    # Shares of the account that one R is; None where trades are sized otherwise.
    stakes = [
        None if part.spec.account is not None else part.weight * costs.risk_fraction
        for part in portfolio.components
    ]
    components = tuple(
        _describe_component(each, some, single.measure(own)[0], stake)
        for each, some, single, own, stake in zip(
            picked, ledgers, singles, alone, stakes, strict=True
        )
    )
    correlations = tuple(
        correlate_days(portfolio.components, ledgers, *pair)
        for pair in combinations(range(len(picked)), 2)
    )
    return PortfolioResult(
        components=components,
        metrics=metrics,
        undefined=undefined,
        **vars(find_caveats(portfolio.account, flat, metrics)),
        correlations=correlations,
        risk_fraction=costs.risk_fraction,
        cash=portfolio.cash if portfolio.account.stakes else None,
        max_positions=costs.max_positions,
        max_leverage=costs.max_leverage,
        rank=costs.rank,
        notes=tuple(_list_notes(picked, ledgers, costs)),
        expected=_expect_account(components, stakes, correlations, metrics.get("cagr"), years),
        lines=tuple(map(_trace_equity, (portfolio, *singles), (ledgers, *alone))),
        bar_times=bar_times,
        month_times=bar_times[np.isin(find_months(bar_times), months)],
    )


def build_component_programs(
    members: Sequence[tuple[str, int | None]],
    weights: Sequence[float],
    costs: Costs,
    runs: Path,
    platform: str,
) -> dict[str, str]:
    """Text of a program for each component, by the place of its file.

    Each risks the account's share times its weight; without limits no component's trades hang on
    those of another. Arguments are those of `build_portfolio`, and a name of `ENDINGS`.
    """
    # Only here: few portfolios are exported.
    from optimizer.export.programs import ENDINGS, build_program

    if costs.has_limits:
        raise ConfigError(
            "max_positions and max_leverage: the program of a component does not know what others "
            "hold; a portfolio with limits is not exported"
        )
    programs = {}
    for number, picked in enumerate(pick_members(members, weights, runs, costs)):
        if picked.task.spec.account is not None:
            raise ConfigError(
                f"{picked.component.name} sizes its trades by account(...): a program of it alone "
                "does not know the cash that the others leave; such a portfolio is not exported"
            )
        weight = picked.component.weight
        own = replace(
            picked.task.costs,
            risk_fraction=costs.risk_fraction * weight,
            max_positions=None,
            max_leverage=None,
            rank=None,
        )
        title = f"Member {picked.member} of run {picked.run}, at weight {weight:g} of a portfolio."
        task = replace(picked.task, costs=own)
        if picked.task.costs.has_limits:
            trades = task.engine(device="cpu").trades(picked.component.genome)
            told = picked.describe_limits(sum(map(len, trades)))
            title += f" {told[0].upper()}{told[1:]}." if told else ""
        text = build_program(task, picked.component.genome, title, platform)
        # A folder each: a platform may know a strategy by the name of its class alone.
        programs[f"{number}/exported{ENDINGS[platform]}"] = text
    return programs


def pick_members(
    members: Sequence[tuple[str, int | None]],
    weights: Sequence[float],
    runs: Path,
    costs: Costs,
) -> list[Picked]:
    """Components of a portfolio; arguments and errors are those of `build_portfolio`."""
    return [
        _pick_member(find_run(runs, name), member, share, costs.risk_fraction)
        for (name, member), share in zip(members, weights, strict=True)
    ]


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


def find_months(times_ns: Ints) -> Ints:
    """Months since 1970 UTC of some times [T], nanoseconds UTC."""
    return times_ns.astype("datetime64[ns]").astype("datetime64[M]").astype(np.int64)


def choose_limits(costs: Costs, picked: Sequence[Picked]) -> Costs:
    """Costs with the limits of all runs, where they are the same and no others are named."""
    own = {_list_limits(each.task.costs) for each in picked}
    if any(limit is not None for limit in _list_limits(costs)) or len(own) > 1:
        return costs
    max_positions, max_leverage, rank = own.pop()
    return replace(costs, max_positions=max_positions, max_leverage=max_leverage, rank=rank)


def _list_limits(costs: Costs) -> tuple[int | None, float | None, str | None]:
    """Limits that hold for an account as a whole."""
    return costs.max_positions, costs.max_leverage, costs.rank


def parse_portfolio(
    members: Sequence[str | Path],
    weights: Sequence[float] | None,
    *,
    risk: float,
    max_positions: int | None,
    max_leverage: float | None,
    rank: str | None,
    trust_leverage: bool,
) -> tuple[list[tuple[str, int | None]], list[float], Costs]:
    """Members, weights and limits of an account, as `build_portfolio` takes them."""
    if not 0 < risk <= 1:
        raise ConfigError(f"--risk {risk:g}: a share of the account above 0 and at most 1")
    costs = Costs(
        risk_fraction=risk, max_positions=max_positions, max_leverage=max_leverage, rank=rank
    )
    pairs = [split_member(str(name)) for name in members]
    return pairs, check_weights(weights, len(pairs), trusts_leverage=trust_leverage), costs


def check_weights(
    weights: Sequence[float] | None, count: int, *, trusts_leverage: bool
) -> list[float]:
    """Weights of so many components, even shares if None."""
    if not count:
        raise ConfigError("a portfolio has at least one component: name runs")
    if weights is None:
        return [1.0 / count] * count
    if len(weights) != count:
        raise ConfigError(f"--weights: {len(weights)} for {count} components: name one for each")
    if not all(np.isfinite(weight) and weight > 0 for weight in weights):
        raise ConfigError("--weights: each is a number above 0")
    if sum(weights) > 1.0 + 1e-9 and not trusts_leverage:
        raise ConfigError(
            f"--weights add up to {sum(weights):g}, more than the account: write shares that add "
            "up to 1, or add --trust-leverage"
        )
    return list(weights)


def _pick_member(path: Path, member: int | None, weight: float, risk_fraction: float) -> Picked:
    """A member of a run, on the bars that it was searched on."""
    with RunStore.open(path) as store:
        result, judgement = require_opened_result(store)
        front = newest_front(store).genomes
        chosen = choose_member(store, len(front), member)
        task = restore_task(store, COMBINE, {})
        verdict = derive_member_verdict(result, judgement, chosen)
        expected = expect_member(result, judgement, chosen)
        outlook = describe_expected(result, judgement, chosen)
    if task.spec.account is None and weight * risk_fraction > 1:
        raise ConfigError(
            f"--weights: a trade would risk {weight:g} times --risk {risk_fraction:g}, more than "
            f"the whole account; name at most {1 / risk_fraction:g}"
        )
    markets = task.markets
    name = f"{path.name}:{chosen}"
    bars = markets.series, markets.windows
    component = Component(name, task.spec, *bars, task.costs, front[chosen], weight)
    symbols = tuple(dict.fromkeys(markets.names))
    return Picked(path.name, chosen, component, symbols, task, verdict, expected, outlook)


def _require_parity(portfolio: Portfolio) -> Ledgers:
    """Trades of the engine, once the reference has the same in every bit."""
    ledgers, replayed = portfolio.trade(), portfolio.replay()
    for component, some, expected in zip(portfolio.components, ledgers, replayed, strict=True):
        for ledger, other in zip(some, expected, strict=True):
            if problem := compare_ledgers(other, ledger):
                raise ParityError(f"reference and engine disagree on {component.name}\n{problem}")
    return ledgers


def _describe_component(
    picked: Picked, ledgers: Sequence[Ledger], alone: dict[str, float], stake: float | None
) -> ComponentFigures:
    """Result of a component within the portfolio, and alone."""
    expected = picked.expected
    if expected is not None:
        expected = add_year(expected, alone.get("trades_per_year"), alone.get("cagr"), stake)
    return ComponentFigures(
        run=picked.run,
        member=picked.member,
        weight=picked.component.weight,
        strategy=picked.component.spec.name,
        symbols=picked.symbols,
        trades=sum(map(len, ledgers)),
        skipped=sum(ledger.skipped for ledger in ledgers),
        alone=alone,
        grade=picked.verdict.grade,
        verdict=picked.verdict.sentence.partition(NEXT)[0],
        expected=expected,
        outlook=picked.outlook if expected is None else expected.describe(),
    )


def _expect_account(
    components: Sequence[ComponentFigures],
    stakes: Sequence[float | None],
    correlations: Sequence[Correlation],
    growth: float | None,
    years: float,
) -> YearRecord | None:
    """Growth of the account a year; None where that of a component is not known."""
    parts = []
    for figures, stake in zip(components, stakes, strict=True):
        expected, alone = figures.expected, figures.alone
        columns = alone.get("trades_per_year"), alone.get("cagr"), stake
        part = None if expected is None else build_part(expected, *columns)
        if part is None or growth is None:
            return None
        parts.append(part._replace(trades=figures.trades / years))
    assert growth is not None, "a portfolio has a component"
    alike = np.eye(len(parts))
    for pair in correlations:
        # Where days say nothing, both may err alike.
        value = 1.0 if pair.value is None else pair.value
        alike[pair.first, pair.second] = alike[pair.second, pair.first] = value
    return expect_year(growth, parts, alike.tolist())


def _trace_equity(portfolio: Portfolio, ledgers: Ledgers) -> EquityLine:
    """Equity of a portfolio after each of its trades."""
    account = portfolio.account
    folded = account.fold([ledger for some in ledgers for ledger in some])
    first = min(int(account.series[w.series].timestamp[w.start]) for w in account.windows)
    return EquityLine(np.append(first, folded.changed_ns), np.append(1.0, folded.equity))


def _list_notes(picked: Sequence[Picked], ledgers: Ledgers, costs: Costs) -> list[str]:
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
    if len({each.span for each in picked}) > 1:
        spans = (f"{each.component.name} from {' to '.join(each.span)}" for each in picked)
        notes.append(
            f"bars of {', '.join(spans)}: where one has none the account is of the others alone, "
            "and such months are not in its table"
        )
    limits = name_limits(*_list_limits(costs))
    if limits and all(_list_limits(each.task.costs) == _list_limits(costs) for each in picked):
        notes.append(f"limits are those of the runs, for all together: {limits}")
    told = (
        each.describe_limits(sum(map(len, some)))
        for each, some in zip(picked, ledgers, strict=True)
    )
    return [*notes, *filter(None, told)]
