"""signal: where a run stands on the newest closed bars; it places no order."""

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from optimizer.cli.console import Lines, print_json, stdout
from optimizer.cli.flags import Sectioned, argument, config_flags, option
from optimizer.cli.notes import note
from optimizer.cli.shared import DATA, AsJson, Now, Runs, Trust, single_command
from optimizer.errors import ConfigError

if TYPE_CHECKING:
    from optimizer.signals.source import Signal

app = single_command()

IN_A_TRADE, IS_DUE, IS_VOID = 10, 11, 6
"""Exit codes beside 0, which means flat: a position is open; something is due at the next open;
nothing is known of now, or of what was never searched."""


@app.command("signal", cls=Sectioned)
@config_flags(*DATA, "finer")
def tell_signal(  # noqa: PLR0913 - one argument a flag
    run: Annotated[
        str,
        argument(
            "A run, and behind a colon the number of a member; its pick if none is named.",
            "RUN[:MEMBER]",
        ),
    ],
    *,
    flags: dict[str, object],
    runs: Runs = Path("runs"),
    now: Now = None,
    watch: Annotated[
        float | None,
        typer.Option(
            "--watch",
            help="Read the source again every so often, once a day at least.",
            metavar="SECONDS",
            min=0.1,
            max=86_400,
        ),
    ] = None,
    on_change: Annotated[
        str | None,
        option(
            "--on-change",
            "Send a changed state as JSON: to https://... by POST, or into a command; $NAME in it "
            "is read from the environment.",
            "COMMAND|URL",
        ),
    ] = None,
    no_search: Annotated[
        bool, option("--no-search", "Of a schedule, say that a search is due instead of making it.")
    ] = False,
    trust: Trust = False,
    as_json: AsJson = False,
) -> None:
    """Say where a run stands on the newest closed bars: flat, enter, order, full, in a trade.

    It places no order, and says all that one needs: side, type, price, stop, targets,
    size, until when. Exit code: 0 nothing to do, 10 a position is open, 11 something is due at
    the next open; 6 nothing, and the bars of a symbol are stale or it was never searched.
    """
    from optimizer import api
    from optimizer.signals.source import list_new_notes, read_clock
    from optimizer.signals.watching import ChangeWatcher, check_target, watch_source

    if watch is not None and now is not None:
        raise ConfigError("--watch follows the clock: leave --now out")
    if on_change is not None:
        check_target(on_change)
    source = api.open_signal(run, runs, flags, may_search=not no_search, trust=trust)
    changes = ChangeWatcher(on_change, None if watch is None else note)
    if watch is None:
        readings = iter((source.read(read_clock(now)),))
    else:
        readings = watch_source(source, watch, note)
    is_first, noted = True, tuple[str, ...]()
    for signal in readings:
        changed = changes.take_changed(signal)
        note(*list_new_notes(signal.notes, noted))
        noted = signal.notes
        if as_json and changed:
            print_json(signal.payload(), is_line=watch is not None)
        elif changed:
            _print_signal(stdout(), signal, None if is_first else changed)
        changes.send(signal)
        is_first = False
    code = IN_A_TRADE if signal.is_in_trade else 0
    raise typer.Exit(IS_DUE if signal.is_due else IS_VOID if signal.is_void else code)


def _print_signal(console: "Lines", signal: "Signal", changed: Collection[str] | None) -> None:
    """Print a signal; behind the first of a watch only the symbols that `changed`."""
    from optimizer.cli.result import print_verdict
    from optimizer.report.summary import describe_verdict
    from optimizer.signals import words

    states = [state for state in signal.symbols if changed is None or state.symbol in changed]
    console.say_all(words.list_warnings(states, signal.now))
    if changed is None:
        print_verdict(console, list(describe_verdict(signal.verdict)))
        console.say_all(words.describe_genes(signal))
    states = [state for state in states if not state.is_stale]
    quiet = [state for state in states if state.state == "flat"] if changed is None else []
    if len(quiet) <= words.MOST_NAMED:
        quiet = []
    for state in states:
        if state not in quiet:
            console.say_all(words.describe_state(state))
    if quiet:
        console.say(f"{len(quiet)} symbols: flat")
    if changed is None:
        console.say_all(words.list_remarks(signal))
        console.say(signal.about)
