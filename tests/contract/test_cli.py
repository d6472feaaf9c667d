"""The command line: exit codes, one line for an error, strict JSON for a result."""

from importlib.metadata import version

import pytest

from engine.accounts.ledger import ACCUMULATORS
from engine.devices import why_absent
from optimizer.__main__ import PACKAGE, main
from optimizer.cli.help import EVERYDAY, SECTIONS, SELDOM
from optimizer.config.run_config import RunConfig, format_flag, make_config, resolve_config
from optimizer.goals.objectives import OBJECTIVES
from optimizer.run import runner
from optimizer.store.files import DATABASE
from optimizer.store.result import FIGURES
from strategy import STRATEGIES
from tests.support.commands import SMALL, write_market


@pytest.fixture(scope="module")
def flat_market(tmp_path_factory):
    """A market in which nothing ever moves or trades."""
    path = tmp_path_factory.mktemp("market") / "flat.csv"
    return write_market(path, flat=1.0, silent=1.0)


def test_every_knob_is_a_flag_of_evolve(command):
    """Help shows the flag, its meaning and its default."""
    text = " ".join(command("evolve", "--help-all").out.split())
    for name, field in RunConfig.model_fields.items():
        assert f"{format_flag(name)} " in text
        assert field.description in text, name


@pytest.mark.parametrize("name", ["evolve", "backtest", "parity", "bench", "config", "data show"])
def test_every_command_that_takes_data_takes_all_that_reads_it(command, name):
    """With data on the command line stand the options that read it."""
    text = command(*name.split(), "--help-all").out
    for flag in ("--data", "--timeframe", "--tz", "--dedupe", "--drop-bad-bars"):
        assert f"{flag} " in text


def test_help_begins_with_what_is_needed_every_day(command):
    """By sections, on a page, with the number of flags beside these."""
    text = command("evolve", "--help").out
    headings = [line for line in text.splitlines() if line.endswith(":") and line[0] != " "]
    assert headings == [f"{name}:" for name in ("Options", *SECTIONS)]
    assert "--population" in text
    assert all(flag in text for flag in ("--every", "--max-positions", "--rank", "--finer"))
    assert not any(flag in text for flag in ("--mutation-eta", "--cluster-plaintext"))
    hidden = len(set(RunConfig.model_fields) - EVERYDAY) + len(SELDOM)
    assert f"{hidden} more flags: --help-all shows them too." in " ".join(text.split())
    assert "more flags" not in command("evolve", "--help-all").out


def test_all_knobs_have_a_section():
    """A new group would be shown among a command's own flags."""
    fields = [
        name for groups in SECTIONS.values() for group in groups for name in group.model_fields
    ]
    assert sorted(fields) == sorted(RunConfig.model_fields)
    assert set(fields) >= EVERYDAY


def test_version_is_told(command):
    """On one line."""
    outcome = command("--version")
    assert (outcome.code, outcome.out) == (0, f"{PACKAGE} {version(PACKAGE)}\n")


def test_no_command_at_all_shows_help(command):
    """It is no error to ask what there is."""
    outcome = command()
    assert outcome.code == 0
    assert "evolve" in outcome.out


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("evolve extra", "unexpected extra argument"),
        ("backtest --engine cudo", "'cuda'"),
        ("parity --engine reference", "not one of"),
        ("evolve --device gpu", "--device must be auto, cpu, cuda, or GPUs by number"),
        ("evolve --population 1e3", "--population must be a whole number from 1 to 10,000,000"),
        ("evolve --population 0", "--population must be a whole number from 1 to 10,000,000"),
        ("evolve --generations -1", "--generations must be a whole number from 0"),
        ("evolve --fee-bp nan", "--fee-bp must be a number from 0 to 10,000, got nan"),
        ("evolve --bound ema_fast=1:inf", "--bound ema_fast must be [low, high]"),
        ("evolve --bound max_hold=0:5", "max_hold"),
        ("evolve --bound reward_r=0:5", "reward_r"),
        ("evolve --config .", "is a folder"),
        ("evolve --config nothing.toml", "No such file"),
        ("evolve --data csv:nothing.csv", "there is no such file"),
        ("backtest --set max_hold=0", "at least 1 bar"),
        ("backtest --set ema_fast=700", "'ema_fast' must be below 'ema_slow'"),
        ("backtest --start 2024-06-01 --end 2024-05-01", "no bar opens"),
        ("backtest --trades .", "is a folder, name a file"),
        ("backtest --trades nowhere/x.csv", "cannot be written"),
        ("parity --individuals 0", "--individuals"),
        ("runs export", "Missing argument"),
    ],
)
def test_wrong_use_is_one_line_and_exit_code_2(command, tmp_path, arguments, expected):
    """What was wrong, and what would be right; nothing on stdout, nothing recorded."""
    outcome = command(*arguments.split())
    assert outcome.code == 2
    assert outcome.out == ""
    assert expected in outcome.error
    assert list(tmp_path.iterdir()) == []


def test_all_wrong_flags_are_told_at_once(command):
    """A person corrects a command line once."""
    error = command("evolve", "--population", "x", "--seed", "-1", "--keep", "some").error
    assert all(flag in error for flag in ("--population", "--seed", "--keep"))


@pytest.mark.parametrize("name", ["evolve", "backtest"])
@pytest.mark.skipif(not why_absent("cuda"), reason="this machine has a CUDA device")
def test_a_device_that_is_missing_is_exit_code_5(command, name):
    """A device asked for by name is never replaced."""
    flag = "--device" if name == "evolve" else "--engine"
    outcome = command(name, flag, "cuda")
    assert outcome.code == 5
    assert "'cuda' is not available" in outcome.error


def test_defects_are_exit_code_1_and_shown_with_debug(command, monkeypatch):
    """Only what is our fault is 1, and only then is there more to see."""

    def broken(**changes):
        raise ZeroDivisionError("far inside")

    monkeypatch.setattr(runner, "start_run", lambda *args: broken())
    outcome = command("evolve")
    assert outcome.code == 1
    assert "far inside (a defect of the optimizer; --debug shows where)" in outcome.error
    assert "Traceback" in command("evolve", "--debug").err


@pytest.mark.parametrize("n_bars", [1, 97, 200])
def test_too_few_bars_are_refused_before_there_is_a_run(command, tmp_path, n_bars):
    """The message holds the number of bars and of those that the longest window needs."""
    spec = write_market(tmp_path / "short.csv", n_bars)
    outcome = command("evolve", "--data", spec, "--timeframe", "15m")
    assert outcome.code == 2
    counted = "1 bar," if n_bars == 1 else f"{n_bars} bars"
    assert outcome.error.startswith(counted)
    assert not (tmp_path / "runs").exists()


def test_evolve_prints_the_front_and_its_certificate(command, market):
    """Progress on stderr; on stdout objectives, genes, the proof, and where it is recorded."""
    outcome = command("evolve", "--data", market, *SMALL)
    assert outcome.code == 0
    for word in ("strength", "drawdown", "trades", "reward", "0 mismatches", "recorded in runs/"):
        assert word in outcome.out
    assert "SIMULATED" not in outcome.out
    assert "generation 2/2" in outcome.err


def test_evolve_json_is_one_strict_object(command, market):
    """What a program needs: run, front, hashes, certificate, timing."""
    result = command("evolve", "--data", market, *SMALL, "--json").json
    assert {"run", "front", "front_hash", "data_hash", "certificate", "timing"} <= set(result)
    assert result["certificate"]["mismatches"] == 0
    assert result["timing"]["individual_bars_per_s"] > 0
    assert set(result["front"][0]) >= {"genes", "objectives", "metrics"}
    assert list(result["front"][0]["metrics"]) == list(FIGURES)


def test_the_sample_is_named_as_simulated_wherever_it_shows(command):
    """An invented market is not taken for a real one."""
    small = command("evolve", *SMALL)
    assert "SIMULATED market" in small.out
    assert "simulated market: a program invented it" in small.err
    assert command("evolve", *SMALL, "--json").json["data"]["is_simulated"] is True
    assert "SIMULATED market" in command("backtest").out
    assert command("backtest", "--json").json["data"]["is_simulated"] is True
    assert "a program invented it" in command("data", "show").out


def test_quiet_evolve_shows_no_progress(command, market):
    """Nothing on stderr but what a person must know."""
    assert command("evolve", "--data", market, *SMALL, "--quiet").err == ""


def test_a_market_without_trades_is_no_error(command, flat_market):
    """The table is replaced by a sentence with the reason."""
    outcome = command("evolve", "--data", flat_market, *SMALL)
    assert outcome.code == 0
    assert "No candidate is feasible" in outcome.out
    assert "Of 24 evaluated: too few trades 24." in outcome.out
    assert "search on bars that have one" in outcome.out
    assert "volume rules can never fire" in outcome.err
    result = command("evolve", "--data", flat_market, *SMALL, "--json").json
    assert (result["front"], result["infeasible"]) == ([], {"too_few_trades": 24})


def test_a_red_certificate_is_exit_code_1_with_the_mismatch_in_full(command, market, monkeypatch):
    """Engines that disagree are never passed over, and the run is shown all the same."""
    from optimizer.run import evaluator

    honest = evaluator.certify

    def red(engine, genomes, **how):
        from dataclasses import replace

        message = "individual 0, window 0: trade 3: exit differs\n  reference: a\n  engine:    b"
        result = honest(engine, genomes, **how)
        return replace(result, mismatches=2, first_mismatch=message)

    monkeypatch.setattr(evaluator, "certify", red)
    outcome = command("evolve", "--data", market, *SMALL)
    assert outcome.code == 1
    assert "2 MISMATCHES" in outcome.out
    assert "trade 3: exit differs\n  reference: a\n  engine:    b" in outcome.err


@pytest.mark.slow
def test_a_config_file_sets_what_flags_would(command, market, tmp_path):
    """The same search from a file, from flags, and from the printed configuration."""
    (tmp_path / "run.toml").write_text(
        f'data = "{market}"\npopulation = 8\ngenerations = 2\nmin_trades = 3\n'
        "[bounds]\nreward_r = [1.0, 3.0]\n"
    )
    by_flags = command("evolve", "--data", market, *SMALL, "--bound", "reward_r=1:3", "--json").json
    by_file = command("evolve", "--config", "run.toml", "--json").json
    printed = command("config", "--config", "run.toml").out
    (tmp_path / "printed.toml").write_text(printed)
    by_print = command("evolve", "--config", "printed.toml", "--json").json
    assert by_flags["front_hash"] == by_file["front_hash"] == by_print["front_hash"]


def test_flags_win_over_the_file(command, tmp_path):
    """What is typed now counts more than what was written before."""
    (tmp_path / "run.toml").write_text("population = 8\nseed = 3\n")
    printed = command("config", "--config", "run.toml", "--seed", "4", "--memory", "2GB").out
    (tmp_path / "printed.toml").write_text(printed)
    config = resolve_config(tmp_path / "printed.toml", {})
    expected = {"population": 8, "seed": 4, "memory": 2 * 10**9}
    assert config == make_config(expected, where="here")


def test_no_environment_variable_changes_a_configuration(command, monkeypatch):
    """Neither our own names nor those that libraries would make of them are read."""
    before = command("config").out
    for name in RunConfig.model_fields:
        for prefix in ("", "OPTIMIZER_", "RUNCONFIG_", "EVOLVE_", "OPTIMIZER_EVOLVE_"):
            monkeypatch.setenv(f"{prefix}{name}".upper(), "7")
    assert command("config").out == before


def test_lists_name_every_choice(command):
    """Every strategy, objective and source can be found without reading code."""
    strategies, objectives = command("strategies", "list").out, command("objectives", "list").out
    for name, spec in STRATEGIES.items():
        assert name in strategies
        assert all(gene in strategies for gene in spec.layout.names)
    assert all(name in objectives for name in OBJECTIVES)
    assert all(form in command("data", "list").out for form in ("sample", "csv:PATH", "parquet:"))


def test_data_show_says_what_bars_hold(command, market, flat_market):
    """Range, gaps, quirks and hash; the source as argument or as flag."""
    result = command("data", "show", market, "--json").json
    assert (result["bars"], result["timeframe"], result["gaps"]) == (3000, "15m", 0)
    assert command("data", "show", "--data", market, "--json").json == result
    assert "volume rules can never fire" in command("data", "show", flat_market).out
    assert command("data", "show", "csv:nothing.csv").code == 2


def test_backtest_json_holds_accumulators_and_metrics(command, market):
    """Undefined metrics are null and carry a reason."""
    result = command("backtest", "--data", market, "--json").json
    assert list(result["windows"][0]["accumulators"]) == list(ACCUMULATORS)
    assert list(result["metrics"]) == list(FIGURES)
    assert {n for n, value in result["metrics"].items() if value is None} == set(
        result["undefined"]
    )
    assert len(result["data_hash"]) == 64


def test_backtest_without_trades_defines_what_it_can(command, flat_market):
    """Every metric is a number that trades earned."""
    result = command("backtest", "--data", flat_market, "--json").json
    assert result["metrics"]["trades"] == 0
    assert result["metrics"]["sharpe"] is None
    assert result["undefined"]["sharpe"] == "no_trades"
    assert "undefined: no trades" in command("backtest", "--data", flat_market).out


def test_doctor_says_what_it_found(command):
    """Versions, cores, the chosen device, and why a GPU is not used."""
    outcome = command("doctor")
    assert outcome.code == 0
    for word in ("numpy", "numba", "torch", "device chosen by auto", "GPU", "as shipped"):
        assert word in outcome.out
    assert command("doctor", "--json").json["sample"].startswith("35,040 bars")


def test_bench_verifies_before_it_times(command, market, monkeypatch):
    """Green: a table of times. Red: an error, and not one figure."""
    small = ("--data", market, "--bars", "3000", "--population", "8", "--repeats", "3")
    outcome = command("bench", *small)
    assert outcome.code == 0
    assert outcome.out.index("0 mismatches") < outcome.out.index("individual-bars/s")
    result = command("bench", *small, "--json").json
    assert {timing["what"] for timing in result["timings"]} == {"rows cached", "rows new"}
    from dataclasses import replace

    from optimizer.cli import bench_calls

    honest = bench_calls.certify

    def red(engine, genomes):
        return replace(honest(engine, genomes), mismatches=1, first_mismatch="trade 0: r differs")

    monkeypatch.setattr(bench_calls, "certify", red)
    outcome = command("bench", *small)
    assert (outcome.code, outcome.out) == (1, "")
    assert "trade 0: r differs" in outcome.err


def test_parity_prints_the_certificate(command, market):
    """Reference against engine, on as many individuals as were asked for, the same by seed."""
    arguments = ("parity", "--data", market, "--individuals", "7")
    result = command(*arguments, "--json").json
    assert (result["individuals"], result["mismatches"]) == (7, 0)
    assert command(*arguments, "--json").json == result
    other = command(*arguments, "--seed", "2", "--json").json
    assert other["ledger_hash"] != result["ledger_hash"]
    assert "7 candidates replayed by the reference" in command(*arguments).out


def test_parity_fails_with_the_first_mismatch_in_full(command, market, monkeypatch):
    """A single changed bit in a result is found and shown."""
    from engine.batch import Engine

    honest = Engine.evaluate

    def evaluate_skewed(self, genomes):
        result = honest(self, genomes)
        result[:, :, ACCUMULATORS.index("bars_in_market")] += 1.0
        return result

    monkeypatch.setattr(Engine, "evaluate", evaluate_skewed)
    outcome = command("parity", "--data", market, "--individuals", "2")
    assert outcome.code == 1
    assert "accumulator bars_in_market differs: reference" in outcome.err
    assert "genes: {" in outcome.err
    assert "2 MISMATCHES" in outcome.out


def test_a_shell_completes_commands_flags_strategies_and_runs(monkeypatch, tmp_path, capsys):
    """The installed command answers what bash asks it."""
    (tmp_path / "runs" / "20260101-000000-abcdef").mkdir(parents=True)
    (tmp_path / "runs" / "20260101-000000-abcdef" / DATABASE).touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("_OPTIMIZER_COMPLETE", "complete_bash")
    asked = {
        "optimizer ev": "evolve",
        "optimizer runs ver": "verify",
        "optimizer evolve --objec": "--objectives",
        "optimizer evolve --strategy sell": "seller_exhaustion",
        "optimizer evolve --device cu": "cuda",
        "optimizer runs show 2026": "20260101-000000-abcdef",
        "optimizer backtest 2026": "20260101-000000-abcdef",
        "optimizer evolve --resume la": "latest",
    }
    for words, expected in asked.items():
        monkeypatch.setenv("COMP_WORDS", words)
        monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - 1))
        assert main([]) == 0
        assert expected in capsys.readouterr().out.split(), words
