"""A limit that a person sets is one, and what cannot be meant is noted on stderr and recorded."""

import pytest

from tests.support.commands import SMALL, market_columns
from tests.support.series import NAMES, csv_text, write_csv

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("limit", [8, 13])
def test_no_more_are_evaluated_than_the_limit(command, market, limit):
    """Polishing the front counts as well."""
    flags = (*SMALL, "--json", "--max-evaluations", limit)
    assert command("evolve", "--data", market, *flags).json["timing"]["evaluated"] <= limit


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ("--fee-bp 0 --slippage-bp 0", "cost nothing"),
        ("--sort --dedupe", "one series"),
        ("--price-offset 5", "raised price"),
    ],
)
def test_risky_pairs_of_flags_are_named(command, market, flags, words):
    """On stderr, and in the JSON; one of the pair alone has no note."""
    outcome = command("backtest", "--data", market, *flags.split(), "--json")
    (line,) = [line for line in outcome.err.splitlines() if words in line]
    assert line.removeprefix("note: ") in outcome.json["data"]["notes"]
    assert words not in command("backtest", "--data", market, "--max-gap", "9d", "--fee-bp", 0).err


def test_every_command_that_trades_notes_a_jump(command, tmp_path):
    """A split: the line of data show in evolve, backtest and judge."""
    columns = {name: column.copy() for name, column in market_columns(3, 3000).items()}
    for name in NAMES[:4]:
        columns[name][1500:] *= 2 / 3
    spec = write_csv(tmp_path, csv_text(columns))
    shown = command("data", "show", spec, "--json").json["quirks"]
    (jump,) = [line for line in shown if line.startswith("the open of ")]
    risky = ("--fee-bp", "0", "--slippage-bp", "0")
    searched = command("evolve", "--data", spec, *SMALL, *risky, "--quiet").err
    assert searched.count(jump) == 1
    assert "cost nothing" in searched
    assert command("backtest", "--data", spec).err.count(jump) == 1
    assert command("judge", "latest", "--folds", "0", "--null", "0").err.count(jump) == 1
