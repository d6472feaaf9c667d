"""portfolio: members of several runs as one account."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

import typer

from optimizer.atomic_write import write_output
from optimizer.cli.console import plain_table, print_json, stdout
from optimizer.cli.flags import Sectioned, argument, config_flags, option
from optimizer.cli.notes import note
from optimizer.cli.shared import AsJson, Platform, Runs, single_command
from optimizer.config.run_config import resolve_config
from optimizer.errors import ConfigError
from optimizer.formatting import metric, number

if TYPE_CHECKING:
    from optimizer.portfolios.portfolio import PortfolioResult

app = single_command()

SHOWN = ("total_return", "cagr", "max_drawdown", "max_drawdown_marked", "sharpe_daily", "trades")
"""Metrics of the account and of each component alone."""

WIDE = 120
"""Columns of a terminal from which on all of them are shown."""

NARROW = ("total_return", "max_drawdown", "trades")


@app.command("portfolio", cls=Sectioned)
@config_flags("max_positions", "max_leverage", "rank", "trust_leverage")
def join_members(  # noqa: PLR0913 - one argument a flag
    members: Annotated[
        list[str],
        argument(
            "Runs, each with a member behind a colon; its pick if none is named.",
            "RUN[:MEMBER]...",
        ),
    ],
    *,
    flags: dict[str, object],
    runs: Runs = Path("runs"),
    weights: Annotated[
        str | None,
        option("--weights", "What the account takes of each; even shares if unset.", "W,W..."),
    ] = None,
    risk: Annotated[
        float,
        typer.Option(
            "--risk",
            help="Share of the account that one R is worth, where account(...) says no size.",
            metavar="SHARE",
        ),
    ] = 0.01,
    cash: Annotated[
        float | None,
        option("--cash", "What the account begins with; else what account(...) says.", "MONEY"),
    ] = None,
    page: Annotated[
        Path | None, option("--page", "Write a page that a browser opens.", "FILE")
    ] = None,
    export: Annotated[
        Path | None,
        option("--export", "Write each component as a program, with --as.", "FOLDER"),
    ] = None,
    platform: Annotated[
        Platform | None, option("--as", "Whose programs.", "|".join(get_args(Platform)))
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Trade members of several runs as one account, and say how alike they are."""
    from optimizer import api

    limits = resolve_config(None, flags)
    if (export is None) != (platform is None):
        raise ConfigError("--export FOLDER and --as PLATFORM go together")
    names = ("max_positions", "max_leverage", "rank", "trust_leverage")
    asked = {name: getattr(limits, name) for name in names} | {"risk": risk}
    programs = {}
    if platform is not None:
        from optimizer.portfolios.portfolio import build_component_programs, parse_portfolio

        # Words that a platform lacks are refused before any work.
        programs = build_component_programs(
            *parse_portfolio(members, _parse_weights(weights), **asked), runs, platform
        )
    result = api.portfolio(members, _parse_weights(weights), runs, cash=cash, **asked)
    note(*result.notes)
    if as_json:
        print_json(result.payload())
    else:
        print_portfolio(result)
    if page is not None:
        from optimizer.report.portfolio import build_portfolio_page

        write_output(page, build_portfolio_page(result))
        note(f"report {page}")
    for name, text in programs.items():
        assert export is not None
        (export / name).parent.mkdir(parents=True, exist_ok=True)
        write_output(export / name, text)
        note(f"program {export / name}")


def _parse_weights(text: str | None) -> list[float] | None:
    """Numbers of a list such as ``1,0.5``."""
    if text is None:
        return None
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise ConfigError(f"--weights {text}: numbers with commas, such as 1,0.5") from None


def print_portfolio(result: "PortfolioResult") -> None:
    """Print the worst verdict, each component alone, the account, and correlations."""
    from optimizer.cli.result import COLOURS
    from optimizer.formatting import GRADE_WORDS
    from optimizer.store.caveats import describe_account, name_limits

    console = stdout()
    console.say(result.verdict, style=f"bold {COLOURS[result.by_grade[0].grade]}")
    console.print()
    shown = SHOWN if console.width >= WIDE else NARROW
    headings = ("weight", *(name.replace("_", " ") for name in shown))
    table = plain_table("alone", "verdict", *headings, right=headings, is_folded=True)
    for part in result.by_grade:
        cells = (metric(name, part.alone.get(name)) for name in shown)
        table.add_row(part.name, GRADE_WORDS[part.grade], number(part.weight), *cells)
    cells = (metric(name, result.metrics.get(name)) for name in shown)
    table.add_row("the account", "", "", *cells)
    console.print(table)
    console.print()
    console.say_all(result.outlooks)
    limits = name_limits(result.max_positions, result.max_leverage)
    console.say_all(describe_account(result, len(result.components), "component", limits))
    console.say_all(_describe_correlations(result))


def _describe_correlations(result: "PortfolioResult") -> Iterator[str]:
    """A line for each pair of components."""
    names = [component.name for component in result.components]
    for pair in result.correlations:
        value = "undefined" if pair.value is None else number(pair.value)
        yield (
            f"Correlation of {names[pair.first]} and {names[pair.second]}: {value} over "
            f"{number(pair.days)} days."
        )
