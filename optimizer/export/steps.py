"""A schedule in a program: the table of its searches, each with the genes that it found."""

import textwrap
from collections.abc import Sequence
from typing import NamedTuple

from data.checks import format_time
from optimizer.errors import ConfigError
from optimizer.export.member import SIMPLE, ExportedMember
from optimizer.export.python_rows import assign_genes
from strategy.parts import PARTS

LAST = """\
Schedule: each trade keeps the genes that entered it; before the first date nothing is entered, and
behind the last its genes go on: a search that is due is made by the run."""


class ExportedStep(NamedTuple):
    """One search of a schedule."""

    date_ns: int  # nanoseconds UTC; its genes enter trades from the first bar then on
    member: ExportedMember | None  # None where the search found none, and nothing is entered


def find_newest(steps: Sequence[ExportedStep], platform: str) -> ExportedMember:
    """The member of today, once a program can say what differs between it and all before.

    Raises:
        ConfigError: When no step has a member, or naming parts that a program does not know.
    """
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
