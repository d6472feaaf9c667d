"""Flags and commands that are not ours are answered from the table that the page has."""

import inspect
import re

import pytest
import typer

from data.errors import near_match
from optimizer.cli.app import app
from optimizer.cli.unknown import list_commands, list_flags
from optimizer.other_programs import OURS, describe_other
from optimizer.store.result import FIGURES
from strategy import words
from tests.support.paths import ROOT

PAGE = (ROOT / "docs" / "howto" / "coming_from.md").read_text(encoding="utf-8")
SECTIONS = {
    text.splitlines()[0].split(" (")[0].lower(): [
        row for row in text.splitlines() if row[:3] == "| `"
    ]
    for text in PAGE.split("\n## ")[1:]
}
PROGRAM = typer.main.get_command(app)
COMMANDS = {path: list_flags(command) for path, command in list_commands(PROGRAM)}
FLAGS = {flag for flags in COMMANDS.values() for flag in flags}

OTHER_WORDS = {"crowding", "soft", "runs", "lattice", "genetic", "margin", "leverage", "_trades"}
"""Choices, folders and frames in our column, each named with its flag or its program."""


def read_ours(row):
    """Pieces of our column that stand in ticks."""
    return re.findall(r"`([^`]+)`", row.split("|")[-2])


@pytest.mark.parametrize("program", OURS)
def test_the_page_has_the_table(program):
    """A program's rows, in their order, and no flag of another in any row beside them."""
    rows = [
        f"| `{theirs.replace(', ', '`, `')}` | {ours} |" for theirs, ours in OURS[program].items()
    ]
    section = SECTIONS[program.lower()]
    assert section[-len(rows) :] == rows
    others = [row.split("|")[1] for row in section[: -len(rows)]]
    assert not re.findall(r"(?<![\w-])--?\w[\w-]+", "".join(others))


@pytest.mark.parametrize("row", [row for rows in SECTIONS.values() for row in rows])
def test_what_other_tools_have_is_called_so_here(row):
    """Each flag, command, word, part and metric in our column is in the program."""
    for piece in read_ours(row):
        path = next((path for path in COMMANDS if f"{piece} ".startswith(f"{path} ")), None)
        flags = set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", piece))
        assert flags <= (FLAGS | {"--help", "--debug"} if path is None else {*COMMANDS[path]}), (
            piece
        )
        assert all(hasattr(words, name) for name in re.findall(r"^@?([a-z_]+)\(", piece)), piece
        parts = set(re.findall(r"^([a-z_]+)=", piece))
        assert parts <= {*inspect.signature(words.strategy).parameters}, piece
        if path is None and re.fullmatch(r"[a-z_ ]+", piece):
            assert piece in FIGURES or hasattr(words, piece) or piece in OTHER_WORDS, piece


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        ("evolve --timerange 2020-", "--timerange is freqtrade's: here --from and --to"),
        ("evolve -timerange=2020-", "-timerange is freqtrade's: here --from and --to"),
        ("backtest --epochs=100", "--epochs is freqtrade's: here --population times"),
        ("evolve --pairs BTC/USDT", "--pairs is freqtrade's: here --data, repeated"),
        ("evolve --hyperopt-loss Sharpe", "is freqtrade's: here --objectives"),
        ("evolve --random_state 3", "--random_state is freqtrade's and backtesting.py's: here --s"),
        ("evolve --maxOpenTrades 3", "--maxOpenTrades is freqtrade's: here --max-positions"),
        ("evolve -j 3", "-j is freqtrade's: here --threads"),
        ("evolve -c config.json", "-c is freqtrade's: here --config, a TOML file"),
        ("evolve -i 1h", "-i is freqtrade's: here --timeframe"),
        ("evolve --n-trials 3", "--n-trials is Optuna's: here --population times"),
        ("evolve --commission 0.1", "--commission is backtesting.py's: here --fee-bp"),
        ("hyperopt -c config.json", "hyperopt is freqtrade's: here evolve"),
        ("Download_Data", "Download_Data is freqtrade's: here data fetch"),
        ("optimize", "optimize is backtesting.py's and jesse's: here evolve"),
        ("study", "study is Optuna's: here evolve"),
        ("walk-forward", "walk-forward is other programs': here --folds"),
        ("-h", "-h is other programs': here --help"),
        ("evolve --objectives SharpeHyperOptLoss", "objective SharpeHyperOptLoss is freqtrade's: "),
        ("evolve --objectives omega", "objective omega is jesse's: here sharpe or sortino"),
        ("evolve --constraint SQN>2", "metric SQN is backtesting.py's: here strength"),
        ("evolve --fee_bp=5", "--fee_bp is written --fee-bp here"),
        ("evolve --Seed 3", "--Seed is written --seed here"),
        ("EVOLVE", "EVOLVE is written evolve here"),
        ("judge --timeframe 1h", "judge has no --timeframe: it belongs to evolve, backtest, pa"),
        ("scan --population 8", "scan has no --population: it belongs to evolve, bench, config"),
        ("evolve --cash 9", "evolve has no --cash: it belongs to portfolio; --cash is backte"),
        ("runs judge", "there is no command 'runs judge'; there is judge"),
        ("show latest", "there is no command 'show'; there is runs show, data show, forecast show"),
        ("evolve --popultion 3", "evolve has no --popultion; did you mean '--population'?"),
        ("runs shw", "there is no command 'runs shw'; did you mean 'show'?"),
        ("jugde", "there is no command 'jugde'; did you mean 'judge'?"),
        ("backtest --trade x", "backtest has no --trade; did you mean '--trades'?"),
        ("evolve --constraint trade>2", "did you mean 'trades'?"),
        ("evolve --spam 3", "evolve has no --spam: --help-all lists its flags"),
        ("runs spam", "there is no command 'runs spam': here are list, tag, note, show, export"),
        ("spam", "there is no command 'spam': here are evolve, backtest, parity"),
    ],
)
def test_an_unknown_word_is_answered_in_a_line(command, arguments, answer):
    """By ours for it, by who has it, by what is near; exit code 2, and nothing is run."""
    outcome = command(*arguments.split())
    assert (outcome.code, outcome.out) == (2, "")
    assert answer in outcome.error


def test_names_of_the_table_with_blanks_are_read():
    """As the other program prints them."""
    assert describe_other("Return [%]") == "Return [%] is backtesting.py's: here total_return"


@pytest.mark.parametrize(
    ("name", "known", "near"),
    [
        ("sacn", "scan", True),
        ("gtu", "gru", True),
        ("seler_exhausion", "seller_exhaustion", True),
        ("reward", "reward_r", True),
        ("--pairs", "--parts", False),
        ("-j", "--as", False),
        ("max_open_trades", "min_trades", False),
        ("--fee", "--seed", False),
        ("--jobs", "--join", False),
        ("report", "export", False),
        ("r", "run", False),
    ],
)
def test_only_a_slip_is_near(name, known, near):
    """A letter or two, or a missing end; no other word of some of the same letters."""
    assert bool(near_match(name, [known])) is near
