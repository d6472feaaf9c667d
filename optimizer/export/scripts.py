"""A member of a front as a script for backtesting.py or vectorbt, complete in itself."""

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from string import Template

from optimizer.errors import ConfigError
from optimizer.export.bracket import Phrases, format_bracket
from optimizer.export.member import ExportedMember
from optimizer.export.orders import (
    format_constants,
    format_orders,
    list_differences,
    refuse_unsupported,
)
from optimizer.export.platforms import DIFFERENCES, HEADS
from optimizer.export.python_rows import (
    INDENT,
    ExpressionLines,
    assign_genes,
    collect_source_code,
)
from optimizer.export.steps import LAST, ExportedStep, find_warm_up, list_steps
from strategy.conditions import Condition
from strategy.expressions import Clock, Higher
from strategy.forms import SessionExit
from strategy.nodes import walk

FREQTRADE_USAGE = "freqtrade backtesting --strategy Exported --strategy-path ITS_FOLDER"

SAME = """\
The same as in the run: the rows (these are its readable definitions), which bars signal, entry at
the next open, stop before target within a bar, a gap through the stop filled at the open, stops
that move at closes, cost of both sides, R."""

RESTING = """\
the next open or where an order rests, in the bar and at the price of the run"""

PHRASES = Phrases(
    side="side",
    bar="np.where(side > 0, bars.low, bars.high)",
    either="np.where(side > 0, {}, {})",
    no_target="side * np.inf",
    no_trail="np.inf",
    is_beyond="(side * target > side * entry)",
    is_apart="(reach > 0)",
    true="True",
    also=" & {}",
)


def build_python_script(
    member: ExportedMember, target: str, steps: Sequence[ExportedStep] = ()
) -> str:
    """A script that computes rows, signals and prices from bars, and has a library trade them.

    Args:
        member: Of a front, or today's of a schedule.
        target: A name of `HEADS`.
        steps: Of that schedule.

    Raises:
        ConfigError: When a gene has no name that Python knows, or naming what a platform cannot
            say.
    """
    for name in member.genes:
        if not name.isidentifier():
            raise ConfigError(f"gene '{name}' is no name in Python and cannot be exported")
    has_orders = member.strategy.has_orders
    if has_orders:
        refuse_unsupported(member)
    plan, functions, clock = _plan(
        member, "plan_by(bars, genes, WARM_UP, MAX_HOLD, BREAK_EVEN)" if steps else "plan_of(bars)"
    )
    constants, report = _constants(member), asset("report.py").template
    differences = [*list_differences(member)]
    if steps:
        constants["warm_up"] = find_warm_up(steps)
        plan += asset("steps.py").substitute(steps=list_steps(steps))
        differences.append(LAST)
    head = _head(member, target, differences)
    common = asset("common.py").substitute(constants, functions=functions, clock=clock)
    name = target.removesuffix(".py")
    ending = asset("vectorbt_end.py").template if target == "vectorbt" else ""
    if has_orders:
        names = {"names_stops": bool(member.strategy.named_stops)}
        walk = asset(f"orders_{name}.py").substitute(names)
        return "".join((head, common, report, plan, walk, ending))
    engine = asset(f"{name}.py").template + ending
    if target == "freqtrade":
        if member.strategy.short is not None:
            raise ConfigError(
                "short: a program for freqtrade trades spot markets, which are only bought; it is "
                "not exported"
            )
        return "".join((head, common, plan, engine))
    return "".join((head, common, plan, asset("trades.py").template, report, engine))


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
        **_format_entries(member, lines),
        "leave_long": holds(strategy.exit_long),
        "leave_short": holds(strategy.exit_short),
        **_session(lines, strategy.session),
    }
    rows = "\n".join(f"{INDENT}{line}" for line in lines.lines)
    name = "orders.py" if strategy.has_orders else "rows.py"
    text = asset(name).substitute(phrases, rows=rows)
    is_clocked = any(isinstance(node, Clock | Higher | SessionExit) for node in walk(strategy))
    return (
        text,
        collect_source_code(lines.functions),
        asset("clock.py").template if is_clocked else "",
    )


def _format_entries(member: ExportedMember, lines: ExpressionLines) -> Mapping[str, object]:
    """Stops, targets and trails, and orders where a strategy has them."""
    if member.strategy.has_orders:
        return {**format_constants(member), **format_orders(member, lines)}
    return format_bracket(member.strategy, lines.text, PHRASES)


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
