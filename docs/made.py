"""Pages made from code: blocks ``{made} NAME`` of a page, as Markdown.

Nothing is listed here. Flags come from the command line itself, fields from the configuration,
words from the language of strategies, objectives and their meanings from the search's own table.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import typer

from engine.accounts.metrics import FORMULAS
from optimizer.cli.app import app
from optimizer.cli.flags import EVERYDAY, SECTIONS
from optimizer.cli.strategy_texts import list_signatures
from optimizer.config.run_config import RunConfig, describe_allowed_values, format_flag
from optimizer.config.values import read_schema_extra
from optimizer.formatting import MEANINGS
from optimizer.goals.objectives import OBJECTIVES
from optimizer.other_programs import OURS
from strategy import STRATEGIES
from strategy.conditions import Condition
from strategy.forms import Ladder
from strategy.nodes import Parameter
from strategy.parts import PARTS, Part

PROGRAM = "python -m optimizer"


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table of Markdown; cells are as they stand there, but for what would end one."""
    names = list(head)
    lines = [names, ["---"] * len(names), *(list(row) for row in rows)]
    return "\n".join(
        f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines
    )


def plain(text: str) -> str:
    """Text of a program, in which only backticks mean something to Markdown."""
    parts = " ".join(text.split()).split("`")
    parts[::2] = [re.sub(r"([*_<>\[\]#~])", r"\\\1", part) for part in parts[::2]]
    return "`".join(parts)


def code(text: object) -> str:
    """A piece of code, or nothing where there is none."""
    return f"`{text}`" if text not in ("", None) else ""


def commands() -> str:
    """Every command with its flags, as help has them."""
    return "\n\n".join(
        _described(name, command) for name, command in _walk(typer.main.get_command(app))
    )


def _walk(group: Any, before: str = "") -> Iterator[tuple[str, Any]]:  # noqa: ANN401 - the library's own
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _walk(command, f"{before}{name} ")
        else:
            yield before + name, command


def _described(name: str, command: Any) -> str:  # noqa: ANN401 - the library's own
    context = typer.Context(command, info_name=name)
    usage = " ".join(command.collect_usage_pieces(context))
    parameters = [one for one in command.get_params(context) if one.get_help_record(context)]
    knobs = {
        field: word
        for word, groups in SECTIONS.items()
        for one in groups
        for field in one.model_fields
    }
    parts = [f"## {name}", plain(command.help or ""), f"```text\n{PROGRAM} {name} {usage}\n```"]
    for heading in ("", *SECTIONS):
        records = [
            one.get_help_record(context) for one in parameters if knobs.get(one.name, "") == heading
        ]
        if records:
            rows = ([code(flag), plain(text)] for flag, text in records)
            parts.append(table(["flag" if not heading else heading.lower(), ""], rows))
    return "\n\n".join(parts)


def configuration() -> str:
    """Every field of the configuration, group by group."""
    parts = []
    for heading, groups in SECTIONS.items():
        parts.append(f"## {heading}")
        for name in (name for group in groups for name in group.model_fields):
            field = RunConfig.model_fields[name]
            default = field.get_default(call_default_factory=True)
            facts = {
                "default": "unset" if default is None else code(json.dumps(default)),
                "may be": plain(describe_allowed_values(name)),
                "decides": read_schema_extra(field, "decides"),
                "flag": code(format_flag(name))
                + ("" if name in EVERYDAY else ", shown by `--help-all`"),
            }
            told = "; ".join(f"{key}: {value}" for key, value in facts.items())
            parts.append(f"### {name}\n\n{plain(field.description or '')}\n\n{told}")
    return "\n\n".join(parts)


def strategy_words() -> str:
    """Every word of a strategy's file, by the kind of its value."""
    return "\n\n".join(
        f"## {heading}\n\n{_words(told)}" for heading, told in list_signatures().items()
    )


def _words(told: dict[str, str]) -> str:
    if not any(told.values()):
        return ", ".join(map(code, told))
    return "\n".join(f"- {code(called)}: {plain(text)}" for called, text in told.items())


def strategy_parts() -> str:
    """The arguments of the word `strategy` that are its parts."""
    rows = (
        [code(name), _takes(part), plain(part.about)]
        for name, part in PARTS.items()
        if not part.given_by
    )
    return table(["part", "takes", ""], rows)


def _takes(part: Part) -> str:
    if part.takes is bool:
        return code(True)
    if isinstance(part.takes, Parameter):
        return f"a number, {part.takes.wanted}"
    if part.takes == (Condition,):
        return "a condition" + (", `by_side`" if part.sides == "any" else "")
    words = [kind.written for kind in part.takes if kind is not Ladder] or ["[(form, share), ...]"]
    words += ["by_side"] if part.sides in ("both", "any") else []
    return ", ".join(code(word) for word in words)


def objectives() -> str:
    """Every metric: its direction in a search, if any, and its meaning."""
    names = [*OBJECTIVES, *(name for name in FORMULAS if name not in OBJECTIVES)]
    wanted = {name: "more" if one.maximise else "less" for name, one in OBJECTIVES.items()}
    rows = ([code(name), wanted.get(name, "either"), plain(MEANINGS[name])] for name in names)
    return table(["name", "wanted", "what it is"], rows)


def strategies() -> str:
    """The strategies that ship, with their genes."""
    parts = []
    for spec in STRATEGIES.values():
        rows = (
            [code(g.name), f"{g.default:g}", f"{g.low:g} to {g.high:g}", g.unit]
            for g in spec.layout.genes
        )
        parts.append(
            f"## {spec.name}\n\n{plain(spec.summary)}\n\n"
            + table(["gene", "default", "from, to", "unit"], rows)
        )
    return "\n\n".join(parts)


def other_programs() -> str:
    """Words of other programs, each with ours."""
    parts = []
    for program, words in OURS.items():
        rows = ((f"`{theirs.replace(', ', '`, `')}`", ours) for theirs, ours in words.items())
        parts.append(f"## {program}\n\n" + table(["theirs", "ours"], rows))
    return "\n\n".join(parts)


MADE: dict[str, Callable[[], str]] = {
    one.__name__: one
    for one in (
        commands, configuration, strategy_words, strategy_parts, objectives, strategies,
        other_programs,
    )
}  # fmt: skip
