"""The command line: help, lists, shells, settings, exit codes, and flags that are not ours."""

import inspect
import re
from importlib.metadata import version

import pytest
import typer

from engine.accounts.ledger import ACCUMULATORS
from engine.batch import Engine
from engine.devices import why_absent
from optimizer.__main__ import PACKAGE, main
from optimizer.cli.app import app, list_commands, list_flags
from optimizer.cli.flags import EVERYDAY, SECTIONS, SELDOM
from optimizer.config.run_config import RunConfig, format_flag, make_config, resolve_config
from optimizer.goals.objectives import OBJECTIVES
from optimizer.other_programs import OURS
from optimizer.run import runner
from optimizer.store.files import DATABASE
from optimizer.store.result import FIGURES
from strategy import STRATEGIES
from strategy import words as w
from tests.support.commands import SMALL
from tests.support.paths import ROOT

READS = ("evolve", "backtest", "parity", "config", "data show")
"""Commands that take data."""


def test_help_shows_every_flag_by_sections(command):
    """Short help has the flags of every day and counts the others, which --help-all shows."""
    whole, short = command("evolve", "--help-all").out, command("evolve", "--help").out
    text = " ".join(whole.split())
    fields = [
        name for groups in SECTIONS.values() for group in groups for name in group.model_fields
    ]
    assert sorted(fields) == sorted(RunConfig.model_fields)
    for name, field in RunConfig.model_fields.items():
        assert f"{format_flag(name)} " in text
        assert field.description in text, name
        assert name not in EVERYDAY or f"{format_flag(name)} " in short, name
    headings = [line for line in short.splitlines() if line.endswith(":") and line[0] != " "]
    assert headings == [f"{name}:" for name in ("Options", *SECTIONS)]
    assert not any(flag in short for flag in ("--mutation-eta", "--cluster-plaintext"))
    hidden = len(set(RunConfig.model_fields) - EVERYDAY) + len(SELDOM)
    assert f"{hidden} more flags" in " ".join(short.split())
    for name in READS:
        text = command(*name.split(), "--help-all").out
        for flag in ("--data", "--timeframe", "--tz", "--dedupe", "--drop-bad-bars"):
            assert f"{flag} " in text, name
    assert "First day to fetch" in " ".join(command("data", "fetch", "--help").out.split())


def test_what_there_is_can_be_asked(command):
    """Version, commands, strategies with their genes, objectives, sources, and this machine."""
    assert command("--version").out == f"{PACKAGE} {version(PACKAGE)}\n"
    assert "evolve" in command().out
    strategies, objectives = command("strategies", "list").out, command("objectives", "list").out
    for name, spec in STRATEGIES.items():
        assert all(word in strategies for word in (name, *spec.layout.names))
    assert all(name in objectives for name in OBJECTIVES)
    assert all(form in command("data", "list").out for form in ("sample", "csv:PATH", "parquet:"))
    doctor = command("doctor").out
    assert all(word in doctor for word in ("numpy", "numba", "torch", "GPU", "device"))
    assert command("doctor", "--json").json["sample"].startswith("35,040 bars")
    assert not any(outcome.code for outcome in command.outcomes)


@pytest.mark.parametrize(("name", "flag"), [("evolve", "--device"), ("backtest", "--engine")])
@pytest.mark.skipif(not why_absent("cuda"), reason="this machine has a CUDA device")
def test_a_device_that_is_missing_is_exit_code_5(command, name, flag):
    """A device asked for by name is never replaced."""
    assert "'cuda'" in command.refuse(5, name, flag, "cuda")


def test_defects_are_exit_code_1_and_shown_with_debug(command, monkeypatch):
    """Only what is our fault is 1, and only then is there more to see."""

    def break_down(*_):
        raise ZeroDivisionError("far inside")

    monkeypatch.setattr(runner, "start_run", break_down)
    assert "far inside (a defect" in command.refuse(1, "evolve")
    assert "Traceback" in command("evolve", "--debug").err


def test_flags_win_over_a_file_and_settings_are_printed_as_one(command, recordings, tmp_path):
    """A file, flags and the printed configuration are the same settings, and the same search."""
    folder, recorded = recordings.record("held out")
    words = dict(zip(SMALL[:-2:2], SMALL[1:-2:2], strict=True))
    lines = [f"{flag[2:].replace('-', '_')} = {value}" for flag, value in words.items()]
    lines += [f'data = "csv:{folder}/bars.csv"', 'holdout = "20%"', "judge = false"]
    (tmp_path / "run.toml").write_text("\n".join([*lines, "seed = 3", ""]))
    flags = ("--config", "run.toml", "--seed", "1", "--memory", "2GB")
    (tmp_path / "printed.toml").write_text(command("config", *flags).out)
    config = resolve_config(tmp_path / "printed.toml", {})
    assert (config.population, config.seed, config.memory) == (8, 1, 2 * 10**9)
    expected = {"population": 8, "seed": 1, "memory": 2 * 10**9, "generations": 2, "judge": False,
                "min_trades": 3, "holdout": "20%", "data": [f"csv:{folder}/bars.csv"]}  # fmt: skip
    assert config == make_config(expected, where="here")
    (tmp_path / "printed.toml").write_text(command("config", *flags, "--no-report").out)
    found = command("evolve", "--config", "printed.toml", "--json").json
    assert found["front_hash"] == recorded["front_hash"]
    assert not (tmp_path / found["path"] / "report.html").exists()


def test_no_environment_variable_changes_a_configuration(command, monkeypatch):
    """Neither our own names nor those that libraries would make of them are read."""
    before = command("config").out
    for name in RunConfig.model_fields:
        for prefix in ("", "OPTIMIZER_", "RUNCONFIG_", "EVOLVE_", "OPTIMIZER_EVOLVE_"):
            monkeypatch.setenv(f"{prefix}{name}".upper(), "7")
    assert command("config").out == before


def test_parity_prints_the_certificate(command, market, noise, monkeypatch):
    """Of as many candidates as are named, the same by seed, or of a run's front or member.

    A skewed number is shown in full.
    """
    asked = ("parity", "--data", market, "--individuals", "7")
    result = command(*asked, "--json").json
    assert (result["individuals"], result["mismatches"]) == (7, 0)
    assert command(*asked, "--json").json == result
    assert command(*asked, "--seed", "2", "--json").json["ledger_hash"] != result["ledger_hash"]
    of_run = ("parity", "--run", "latest", "--json")
    assert command(*of_run).json["individuals"] == len(noise["front"])
    member = command(*of_run, "--member", "1").json
    assert (member["individuals"], member["trades"]) == (1, noise["front"][1]["metrics"]["trades"])
    honest = Engine.evaluate

    def evaluate_skewed(self, genomes):
        values = honest(self, genomes)
        values[:, :, ACCUMULATORS.index("bars_in_market")] += 1.0
        return values

    monkeypatch.setattr(Engine, "evaluate", evaluate_skewed)
    outcome = command(*asked)
    assert outcome.code == 1
    assert "7 MISMATCHES" in outcome.out
    assert "accumulator bars_in_market differs: reference" in outcome.err
    assert "genes: {" in outcome.err


COMPLETED = {
    "optimizer ev": "evolve",
    "optimizer runs ver": "verify",
    "optimizer evolve --objec": "--objectives",
    "optimizer evolve --strategy sell": "seller_exhaustion",
    "optimizer evolve --device cu": "cuda",
    "optimizer runs show 2026": "20260101-000000-abcdef",
    "optimizer backtest 2026": "20260101-000000-abcdef",
    "optimizer evolve --resume la": "latest",
}


def test_a_shell_completes_commands_flags_strategies_and_runs(monkeypatch, tmp_path, capsys):
    """The installed command answers what bash asks it."""
    run = tmp_path / "runs" / "20260101-000000-abcdef"
    run.mkdir(parents=True)
    (run / DATABASE).touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("_OPTIMIZER_COMPLETE", "complete_bash")
    for words, expected in COMPLETED.items():
        monkeypatch.setenv("COMP_WORDS", words)
        monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - 1))
        assert main([]) == 0
        assert expected in capsys.readouterr().out.split(), words


PAGE = (ROOT / "docs" / "howto" / "coming_from.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| `.*\| (.*) \|$", PAGE, re.MULTILINE)
ANSWERS = [ours for words in OURS.values() for ours in words.values()]
PROGRAM = typer.main.get_command(app)
COMMANDS = {path: list_flags(command) for path, command in list_commands(PROGRAM)}
FLAGS = {flag for flags in COMMANDS.values() for flag in flags}

OTHER_WORDS = {"crowding", "soft", "runs", "lattice", "genetic", "margin", "leverage", "_trades"}
"""Choices, folders and frames in our column, each named with its flag or its program."""


def test_words_of_our_column_are_in_the_program():
    """Each flag, command, word, part and metric in our column, and in an answer."""
    for piece in re.findall(r"`([^`]+)`", "\n".join([*ROWS, *ANSWERS])):
        path = next((path for path in COMMANDS if f"{piece} ".startswith(f"{path} ")), None)
        flags = set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", piece))
        assert flags <= (FLAGS | {"--help", "--debug"} if path is None else {*COMMANDS[path]}), (
            piece
        )
        assert all(hasattr(w, name) for name in re.findall(r"^@?([a-z_]+)\(", piece)), piece
        parts = set(re.findall(r"^([a-z_]+)=", piece))
        assert parts <= {*inspect.signature(w.strategy).parameters}, piece
        if path is None and re.fullmatch(r"[a-z_ ]+", piece):
            assert piece in FIGURES or hasattr(w, piece) or piece in OTHER_WORDS, piece
