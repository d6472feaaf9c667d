"""A member of a front as a script for backtesting.py or vectorbt, complete in itself."""

import math
import textwrap
from collections.abc import Callable, Iterator
from functools import cache
from importlib.resources import files
from string import Template

from optimizer.errors import ConfigError
from optimizer.exporting.member import ExportedMember
from optimizer.exporting.python_rows import INDENT, Lines, texts_of
from strategy.conditions import Condition
from strategy.exits import (
    BeyondBar,
    FromEntry,
    Level,
    RMultiple,
    SessionExit,
    Share,
    Trail,
    sides_of,
)
from strategy.expressions import Clock, Higher, Number, Setting
from strategy.nodes import Node, walk

HEADS = {
    "backtesting.py": (
        "backtesting.py (0.6.6 was tried)",
        "from backtesting import Backtest, Strategy",
    ),
    "vectorbt": (
        "vectorbt (1.2.0 was tried)",
        "import vectorbt as vbt\nfrom numba import njit\n"
        "from vectorbt.portfolio.nb import order_nb, order_nothing_nb",
    ),
}

SAME = """\
The same as in the run: the rows (these are its readable definitions), which bars signal, entry at
the next open, stop before target within a bar, a gap through the stop filled at the open, stops
that move at closes, cost of both sides, R."""

SIZE = """\
Size: the risk fraction of the account, and never more than the account; the run would borrow. The
platform's own return and drawdown differ for that; R and the equity printed last do not."""

DIFFERENCES: dict[str, tuple[tuple[str, Callable[[ExportedMember], bool]], ...]] = {
    "backtesting.py": (
        (
            "Target gap: an open beyond the target fills at that open; the run takes the target.",
            lambda member: member.strategy.target is not None,
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
            lambda _: True,
        ),
        (
            "End: what is open at the last bar is closed at its open, not at its close.",
            lambda _: True,
        ),
        ("Start: the first bar of the file cannot signal.", lambda _: True),
        (f"{SIZE} Units are whole.", lambda _: True),
    ),
    "vectorbt": ((SIZE, lambda _: True),),
}

PLACES = {
    BeyondBar: "np.where(side > 0, bars.low, bars.high) - side * {0}",
    FromEntry: "entry {sign} side * {0}",
    Share: "entry {sign} side * (entry * {0})",
    Level: "{0}",
    RMultiple: "entry + side * ({0} * risk)",
}
"""Where stops and targets stand."""


def script_of(member: ExportedMember, target: str) -> str:
    """A script that computes rows, signals and prices from bars, and has a library trade them.

    Args:
        member: Of a front.
        target: A name of `HEADS`.

    Raises:
        ConfigError: When a gene has no name that Python knows.
    """
    for name in member.genes:
        if not name.isidentifier():
            raise ConfigError(f"gene '{name}' is no name in Python and cannot be exported")
    plan, functions, clock = _plan(member)
    parts = (
        _head(member, target),
        asset("common.py").substitute(_constants(member), functions=functions, clock=clock),
        plan,
        asset("report.py").template,
        asset(f"{target.removesuffix('.py')}.py").template,
    )
    return "".join(parts)


def _head(member: ExportedMember, target: str) -> str:
    name, imports = HEADS[target]
    told = [line for line, applies in DIFFERENCES[target] if applies(member)]
    lines = [*member.summary, "", f"Traded by {name}: python THIS_FILE BARS.csv [TRADES.csv]", ""]
    lines += [" ".join(SAME.split()), "", "What differs, and what that does:"]
    lines += [f"- {' '.join(line.split())}" for line in told]
    wrapped = (part for line in lines for part in textwrap.wrap(line, 96) or [""])
    comments = "\n".join(f"# {line}".rstrip() for line in wrapped)
    return (
        f"{comments}\n\nfrom __future__ import annotations\n\nimport math\nimport sys\n"
        "from collections import namedtuple\nfrom types import SimpleNamespace\n\n"
        f"import numpy as np\nimport pandas as pd\n{imports}\n\n"
    )


def _constants(member: ExportedMember) -> dict[str, object]:
    strategy = member.strategy
    genes = "\n".join(f"{INDENT}{name}={value!r}," for name, value in member.genes.items())
    return {
        "genes": genes,
        "cost": repr(float(member.costs.per_side)),
        "min_risk": repr(float(member.costs.min_risk)),
        "risk_fraction": repr(float(member.costs.risk_fraction)),
        "delay": member.delay,
        "max_hold": int(value_of(member, strategy.max_hold, 0.0)),
        "break_even": _number(value_of(member, strategy.break_even, math.inf)),
        "warm_up": strategy.warm_up(member.genes),
        "bar_ns": member.bar_ns,
    }


def _plan(member: ExportedMember) -> tuple[str, str, str]:
    """The function that says what is asked, those that it calls, and the clock where it is read."""
    strategy, lines = member.strategy, Lines()

    def holds(condition: Condition | None) -> str:
        return "nothing" if condition is None else lines.text(condition)

    def by_side(form: object, text: Callable[[object], str]) -> str:
        long, short = sides_of(form)
        if long == short:
            return text(long)
        return f"np.where(side > 0, {text(long)}, {text(short)})"

    def placed(sign: str) -> Callable[[object], str]:
        def text(form: object) -> str:
            if form is None:
                return "side * np.inf"
            assert isinstance(form, Node)
            return PLACES[type(form)].format(lines.text(form.parts[0]), sign=sign)  # type: ignore[index]

        return text

    found = {
        "long": holds(strategy.long),
        "short": holds(strategy.short),
        "stop": by_side(strategy.stop, placed("-")),
        "target": by_side(strategy.target, placed("+")),
        "reach": by_side(strategy.trail, lambda one: followed(lines.text, one, FromEntry)),
        "share": by_side(strategy.trail, lambda one: followed(lines.text, one, Share)),
        "after": by_side(strategy.trail, lambda one: _after(lines, one)),
        "worth": _worth(strategy.target, strategy.trail, by_side),
        "leave_long": holds(strategy.exit_long),
        "leave_short": holds(strategy.exit_short),
        **dict(zip(("session", "is_over"), _session(lines, strategy.session), strict=True)),
    }
    rows = "\n".join(f"{INDENT}{line}" for line in lines.lines)
    text = asset("rows.py").substitute(found, rows=rows)
    is_clocked = any(isinstance(node, Clock | Higher | SessionExit) for node in walk(strategy))
    return text, texts_of(lines.functions), asset("clock.py").template if is_clocked else ""


def followed(text: Callable[[Node], str], trail: object, kind: type[FromEntry | Share]) -> str:
    """How far a stop follows, as a distance or as a share of the best price."""
    is_it = isinstance(trail, Trail) and isinstance(trail.form, kind)
    return text(trail.form.parts[0]) if is_it else "0.0"  # type: ignore[attr-defined]


def _after(lines: Lines, trail: object) -> str:
    return lines.text(trail.after) if isinstance(trail, Trail) else "np.inf"


def _worth(
    target: object, trail: object, by_side: Callable[[object, Callable[[object], str]], str]
) -> str:
    """What else a trade needs: a target that was read lies on its side, a trail at a distance."""

    def lies(form: object) -> str:
        is_read = isinstance(form, FromEntry | Level)
        return "(side * target > side * entry)" if is_read else "True"

    def follows(form: object) -> str:
        is_read = isinstance(form, Trail) and isinstance(form.form, FromEntry)
        return "(reach > 0)" if is_read else "True"

    asked = by_side(target, lies), by_side(trail, follows)
    return "".join(f" & {one}" for one in asked if one != "True")


def _session(lines: Lines, session: SessionExit | None) -> Iterator[str]:
    """The local day of each bar, and whether a position is left at its close."""
    if session is None:
        yield from ("0", "False")
        return
    local = f"local_time(bars.timestamp, {session.offset!r})"
    yield f"{local} // DAY_NS"
    yield f"{local} % DAY_NS + BAR_NS >= {lines.text(session.minute)} * 60_000_000_000"


def value_of(member: ExportedMember, setting: Setting | None, otherwise: float) -> float:
    """The value of a setting, or another one where there is none."""
    if setting is None:
        return otherwise
    found = member.bound(setting)
    assert isinstance(found, Number)
    return found.value


def _number(value: float) -> str:
    return "math.inf" if value == math.inf else repr(value)


@cache
def asset(name: str) -> Template:
    """The text of a part that is the same for every member."""
    place = files("optimizer.exporting") / "assets" / f"{name}.txt"
    return Template(place.read_text(encoding="utf-8"))
