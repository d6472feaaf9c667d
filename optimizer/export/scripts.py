"""A member of a front, or a schedule, as a Python script of a platform, complete in itself."""

import textwrap
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from importlib.resources import files
from string import Template
from typing import NamedTuple

from data.checks import format_time
from optimizer.errors import ConfigError
from optimizer.export.member import SIMPLE, ExportedMember
from optimizer.export.orders import (
    format_constants,
    format_orders,
    list_differences,
    refuse_unsupported,
)
from optimizer.export.python_rows import INDENT, ExpressionLines, assign_genes, collect_source_code
from strategy.conditions import Condition
from strategy.expressions import Call, Clock, Higher
from strategy.forms import SessionExit, Trail
from strategy.nodes import walk
from strategy.parts import PARTS

HEADS = {
    "backtesting.py": (
        "backtesting.py (0.6.6 was tried)",
        "from backtesting import Backtest, Strategy",
    ),
    "freqtrade": (
        "freqtrade (2026.9 was tried)",
        "from freqtrade.persistence import Trade\n"
        "from freqtrade.strategy import IStrategy, stoploss_from_absolute",
    ),
    "nautilus_trader": (
        "nautilus_trader (1.221.0 was tried)",
        "from decimal import Decimal\n\n"
        "from nautilus_trader.backtest.engine import BacktestEngine, BacktestEngineConfig\n"
        "from nautilus_trader.config import LoggingConfig\n"
        "from nautilus_trader.model.currencies import USD\n"
        "from nautilus_trader.model.data import Bar, BarType, QuoteTick\n"
        "from nautilus_trader.model.enums import AccountType, OmsType, OrderSide\n"
        "from nautilus_trader.model.identifiers import InstrumentId, Symbol, Venue\n"
        "from nautilus_trader.model.instruments import Equity\n"
        "from nautilus_trader.model.objects import Money, Price, Quantity\n"
        "from nautilus_trader.trading.strategy import Strategy",
    ),
    "vectorbt": (
        "vectorbt (1.2.0 was tried)",
        "import vectorbt as vbt\nfrom vectorbt.portfolio.nb import order_nb, order_nothing_nb",
    ),
}
"""Platforms with the version that was tried, and what their scripts import."""

PARTS_OF = {
    "backtesting.py": ("trades", "report"),
    "freqtrade": ("rows",),
    "nautilus_trader": ("rows", "report"),
    "vectorbt": ("trades", "report"),
}
"""Parts of a script between its plan and the platform's own, by the names of their files."""

SIZE = """\
Size: the risk fraction of the account, and never more than the account; the run would borrow. The
platform's own return and drawdown differ for that; R and the equity printed last do not."""


def _always(_: ExportedMember) -> bool:
    return True


def _has_target(member: ExportedMember) -> bool:
    return member.strategy.target is not None or member.strategy.targets is not None


def _moves_stop(member: ExportedMember) -> bool:
    return isinstance(member.strategy.trail, Trail) or member.strategy.break_even is not None


def _counts_from_start(member: ExportedMember) -> bool:
    nodes = walk(member.strategy)
    return any(isinstance(node, Call) and node.indicator in ("total", "obv") for node in nodes)


DIFFERENCES: dict[str, tuple[tuple[str, Callable[[ExportedMember], bool]], ...]] = {
    "backtesting.py": (
        (
            "Target gap: an open beyond the target fills at that open; the run takes the target.",
            _has_target,
        ),
        (
            "Time and session: out at the open after the bar whose close the run leaves at. The "
            "trades that follow are the same.",
            lambda member: bool(member.strategy.max_hold or member.strategy.session),
        ),
        (
            "Bracket: an order is refused unless stop, last close and target stand in this order. "
            "Where the market opens beyond one of them, that one is given at the close of the "
            "entry bar and works from the next on; the run has it from the entry on.",
            _always,
        ),
        ("End: an open position closes at the last bar's open, not at its close.", _always),
        ("Start: the first bar of the file cannot signal.", _always),
        (f"{SIZE} Units are whole.", _always),
    ),
    "freqtrade": (
        (
            "Time: out at the open after the bar whose close the run leaves at. A signal of that "
            "bar is lost where entries are not delayed, because freqtrade enters before it leaves.",
            lambda member: bool(member.strategy.max_hold),
        ),
        (
            "Moved stop and target in one bar: freqtrade asks for the target first; for the stop "
            "as it was at the entry first, as the run.",
            lambda member: _moves_stop(member) and _has_target(member),
        ),
        (
            "Moved stop: a bar that also reaches the stop before the move is left at that one.",
            _moves_stop,
        ),
        (
            "Target: has to be passed, not met; an open beyond it fills at that open. The run "
            "takes the target.",
            _has_target,
        ),
        ("End: an open position closes at the last bar's open, not at its close.", _always),
        (
            "Live: the open that fills an order is not known at the close before it, so that "
            "close says whether a trade risks enough. Stops follow candles since the entry, which "
            "have to be among those that the exchange gives.",
            _always,
        ),
        (
            "Window: live, freqtrade gives the newest candles alone, so that total(...), obv and "
            "bar_number() begin anew with them. A rule that reads their level, and not how they "
            "change, signals otherwise than in the run and in a backtest.",
            _counts_from_start,
        ),
        (
            "Size: the risk fraction of the account, and never more than the stake that freqtrade "
            "allows; the run would borrow. Fees are those of freqtrade's configuration.",
            _always,
        ),
    ),
    "nautilus_trader": (
        (
            "Stop and target in one bar: the platform follows the path that it is given, whose "
            "worse extreme comes first for a trade of the last signal's side. So the stop is "
            "first, as in the run, unless a signal of the other side came while the trade was "
            "open; then the target is.",
            lambda member: (
                _has_target(member)
                and member.strategy.long is not None
                and member.strategy.short is not None
            ),
        ),
        (
            "Open beyond the target: the trade ends there, at the target; the run asks first "
            "whether that bar reaches the stop.",
            _has_target,
        ),
        (
            "Gap: a stop that waits over an open would be filled at its own price. So it is taken "
            "back at each close and placed again at the open; beyond it the trade is left at the "
            "open, as in the run.",
            _always,
        ),
        ("Prices have nine digits behind the point.", _always),
        (
            "Size: the risk fraction of the account, and never more than the account; the run "
            "would borrow. The platform's own account differs for that; R and the equity printed "
            "last do not. Units are whole.",
            _always,
        ),
    ),
    "vectorbt": ((SIZE, _always),),
}
"""Which rules differ, and of which members."""


LAST = """\
Schedule: each trade keeps the genes that entered it; before the first date nothing is entered, and
behind the last its genes go on: a search that is due is made by the run."""


class ExportedStep(NamedTuple):
    """One search of a schedule."""

    date_ns: int  # nanoseconds UTC; its genes enter trades from the first bar then on
    member: ExportedMember | None  # None where the search found none, and nothing is entered


def find_newest(steps: Sequence[ExportedStep], platform: str) -> ExportedMember:
    """The member of today, once a program can say what differs between it and all before."""
    if platform == "pine":
        raise ConfigError(
            "a program for pine has one set of genes, and a schedule has others from date to date; "
            "it is not exported"
        )
    members = [step.member for step in steps if step.member is not None]
    if not members:
        raise ConfigError("no search of the schedule found anybody: there is nothing to export")
    newest = members[-1]
    parts = [
        name for name in PARTS if name not in SIMPLE and getattr(newest.strategy, name) is not None
    ]
    differing = [
        name
        for name, value in newest.shown.items()
        if isinstance(value, str) and any(member.shown[name] != value for member in members)
    ]
    for name in ("delay", "session"):
        setting = getattr(newest.strategy, name)
        setting = setting.minute if name == "session" and setting is not None else setting
        if len({member.value(setting, 0.0) for member in members}) > 1:
            differing.append(name)
    if parts:
        raise ConfigError(
            f"{', '.join(parts)}: a program knows it with one set of genes alone, and a schedule "
            "has others from date to date; it is not exported"
        )
    if differing:
        raise ConfigError(
            f"{', '.join(differing)} is not the same in all steps of the schedule, and a program "
            "has it once; it is not exported"
        )
    return newest


def list_steps(steps: Sequence[ExportedStep]) -> str:
    """Lines of the table of searches, oldest first."""
    lines = []
    for date_ns, member in steps:
        if member is None:
            text = f"Step({date_ns}, None, 0, 0, math.inf),  # {format_time(date_ns)}, nobody"
        else:
            genes = ", ".join(assign_genes(member.genes))
            constants = member.constants("math.inf")
            rest = ", ".join(str(constants[name]) for name in ("warm_up", "max_hold", "break_even"))
            # Genes of a step stand in one line, however long it is: a table is read by its dates.
            text = f"Step({date_ns}, SimpleNamespace({genes}), {rest}),  # {format_time(date_ns)}"
        lines.append(text)
    return textwrap.indent("\n".join(lines), "    ")


def find_warm_up(steps: Sequence[ExportedStep]) -> int:
    """Bars before the first that may signal, of the step that needs most."""
    members = [step.member for step in steps if step.member is not None]
    return max(int(str(member.constants("math.inf")["warm_up"])) for member in members)


FREQTRADE_USAGE = "freqtrade backtesting --strategy Exported --strategy-path ITS_FOLDER"

SAME = """\
The same as in the run: the rows (these are its readable definitions), which bars signal, entry at
the next open, stop before target within a bar, a gap through the stop filled at the open, stops
that move at closes, cost of both sides, R."""

RESTING = """\
the next open or where an order rests, in the bar and at the price of the run"""


def build_python_script(
    member: ExportedMember, target: str, steps: Sequence[ExportedStep] = ()
) -> str:
    """A script that computes rows, signals and prices from bars, and has a library trade them.

    Of a member of a front, or today's of a schedule with its steps. A gene without a name in Python
    and a part that the platform, a name of `HEADS`, cannot say are refused by their names.
    """
    for name in member.genes:
        if not name.isidentifier():
            raise ConfigError(f"gene '{name}' is no name in Python and cannot be exported")
    refuse_unsupported(member)
    if target == "freqtrade" and member.strategy.short is not None:
        raise ConfigError(
            "short: a program for freqtrade trades spot markets, which are only bought; it is not "
            "exported"
        )
    plan, functions, clock = _plan(
        member, "plan_by(bars, genes, WARM_UP, MAX_HOLD, BREAK_EVEN)" if steps else "plan_of(bars)"
    )
    constants = _constants(member)
    differences = [*list_differences(member)]
    if steps:
        constants["warm_up"] = find_warm_up(steps)
        plan += asset("steps.py").substitute(steps=list_steps(steps))
        differences.append(LAST)
    head = _head(member, target, differences)
    common = asset("common.py").substitute(constants, functions=functions, clock=clock)
    names = {"names_stops": bool(member.strategy.named_stops)}
    engine = asset(f"{target.removesuffix('.py')}.py").substitute(names)
    parts = [asset(f"{name}.py").template for name in PARTS_OF[target]]
    return "".join((head, common, plan, *parts, engine))


def _head(member: ExportedMember, target: str, more: Iterable[str]) -> str:
    name, imports = HEADS[target]
    differences = [line for line, applies in DIFFERENCES[target] if applies(member)]
    differences += more
    usage = FREQTRADE_USAGE if target == "freqtrade" else "python THIS_FILE BARS.csv [TRADES.csv]"
    lines = [*member.summary, "", f"Traded by {name}: {usage}", ""]
    same = " ".join(SAME.split())
    if member.strategy.entry is not None:
        same = same.replace("the next open", " ".join(RESTING.split()))
    lines += [same, "", "What differs, and what that does:"]
    lines += [f"- {' '.join(line.split())}" for line in differences]
    wrapped = (part for line in lines for part in textwrap.wrap(line, 96) or [""])
    comments = "\n".join(f"# {line}".rstrip() for line in wrapped)
    return (
        f"{comments}\n\nfrom __future__ import annotations\n\nimport math\nimport sys\n"
        "from collections import namedtuple\nfrom types import SimpleNamespace\n\n"
        f"import numpy as np\nimport pandas as pd\n{imports}\n\n"
    )


def _constants(member: ExportedMember) -> dict[str, object]:
    genes = "\n".join(f"{INDENT}{each}," for each in assign_genes(member.genes))
    return {"genes": genes, **member.constants("math.inf"), "bar_ns": member.bar_ns}


def _plan(member: ExportedMember, signature: str) -> tuple[str, str, str]:
    """The function of the signals, the functions that it calls, and the clock if it is read."""
    strategy, lines = member.strategy, ExpressionLines()

    def holds(condition: Condition | None) -> str:
        return "nothing" if condition is None else lines.text(condition)

    phrases = {
        "signature": signature,
        "long": holds(strategy.long),
        "short": holds(strategy.short),
        **format_constants(member),
        **format_orders(member, lines),
        "leave_long": holds(strategy.exit_long),
        "leave_short": holds(strategy.exit_short),
        **_session(lines, strategy.session),
    }
    rows = "\n".join(f"{INDENT}{line}" for line in lines.lines)
    text = asset("plan.py").substitute(phrases, rows=rows)
    is_clocked = any(isinstance(node, Clock | Higher | SessionExit) for node in walk(strategy))
    return (
        text,
        collect_source_code(lines.functions),
        asset("clock.py").template if is_clocked else "",
    )


def _session(lines: ExpressionLines, session: SessionExit | None) -> dict[str, str]:
    """The local day of each bar, and whether a position is left at its close."""
    if session is None:
        return {"session": "0", "is_over": "False"}
    local, minute = f"local_time(bars.timestamp, {session.offset!r})", lines.text(session.minute)
    if session.begins:
        local = f"({local} - {session.begins} * 60_000_000_000)"
        minute = f"(({minute} - {session.begins} - 1) % 1440 + 1)"
    over = f"{local} % DAY_NS + BAR_NS >= {minute} * 60_000_000_000"
    return {"session": f"{local} // DAY_NS", "is_over": over}


@cache
def asset(name: str) -> Template:
    """The text of a part that is the same for every member."""
    path = files("optimizer.export") / "assets" / f"{name}.txt"
    return Template(path.read_text(encoding="utf-8"))
