"""Ways to search, points and limits, choices and switches, members by number, no genes at all."""

import json
from pathlib import Path

import numpy as np
import pytest

from engine.accounts.metrics import METRICS
from optimizer import backtest, load_run
from optimizer.errors import ConfigError
from optimizer.report.charts import progress
from optimizer.run.tables import recorded_individuals
from optimizer.store import RunStore, find_run
from optimizer.viewing.live import LiveRun
from tests.support import examples
from tests.support.commands import SMALL, market_columns, read_csv, write_market
from tests.support.series import NAMES, csv_text, write_csv

pytestmark = pytest.mark.slow

LARGER = (*SMALL, "--population", "48", "--generations", "3")


def test_stop_rules_end_a_run_that_can_resume(command, market):
    """It is finished, with the reason; with more evaluations it goes on as if never stopped."""
    wanted = ("evolve", "--data", market, *SMALL, "--generations", "6", "--json")
    whole = command(*wanted).json
    short = command(*wanted, "--max-evaluations", "30").json
    assert (short["stopped_by"], short["generation"]) == ("max_evaluations", 2)
    # Polishing the front counts as well.
    assert short["timing"]["evaluated"] <= 30
    more = ("--max-evaluations", "900", "--no-report", "--no-judge", "--json")
    longer = command("evolve", "--resume", "latest", *more).json
    assert longer["front_hash"] == whole["front_hash"]
    timed = command(*wanted, "--max-seconds", "0.000001").json
    assert (timed["stopped_by"], timed["generation"]) == ("max_seconds", 0)


def test_constraints_hold_in_the_whole_front(command, market):
    """Who breaks a hard one is counted under its name; a soft one is an objective more."""
    goals = ("--objectives", "sharpe", "--constraint", "win_rate >= 60% soft",
             "--constraint", "max_drawdown <= 2%", "--constraint", "exposure < 0.25")  # fmt: skip
    result = command("evolve", "--data", market, *LARGER, *goals, "--json").json
    assert result["objectives"] == ["sharpe", "missed"]
    assert result["front"]
    assert result["infeasible"]["broken:max_drawdown<=0.02"] > 0
    for member in result["front"]:
        metrics = member["metrics"]
        assert metrics["max_drawdown"] <= 0.02
        assert metrics["exposure"] < 0.25
        assert (metrics["win_rate"] >= 0.6) == (member["objectives"]["missed"] == 0)
    shown = command("runs", "show", "latest", "--json").json["result"]
    assert shown["front"] == result["front"]


def test_a_formula_is_a_goal_like_any_other(command, market):
    """Its values are those of its metrics, also after a pause; it is shown by its name."""
    texts = ["calm = cagr / max(max_drawdown, 0.05)", "log(trades) * win_rate - 9 ^ 0.5@worst"]
    more = ("--objectives", "max(gene.max_hold, 9):min", "--constraint", "trades*exposure<=trades")
    goals = ("--objective", texts[0], "--objective", texts[1], *more)
    wanted = ("evolve", "--data", market, *LARGER, "--min-trades", "3", *goals)
    whole = command(*wanted, "--json").json
    names = ["calm", "log(trades) * win_rate - 9 ^ 0.5@worst", "max(gene.max_hold, 9):min"]
    assert whole["objectives"] == names
    assert whole["formulas"] == {"calm": "cagr / max(max_drawdown, 0.05)"}
    for member in whole["front"]:
        metrics, reached = member["metrics"], member["objectives"]
        assert reached["calm"] == metrics["cagr"] / max(metrics["max_drawdown"], 0.05)
        assert reached[names[2]] == max(member["genes"]["max_hold"], 9)
    assert whole["front"]
    followed = json.loads(LiveRun(Path("runs", whole["run"])).look().message)
    assert followed["columns"][:3] == names
    assert ["formula", texts[0]] in followed["facts"]
    command(*wanted, "--generations", "1", "--no-report", "--no-judge")
    again = command("evolve", "--resume", "latest", "--generations", "3", "--json").json
    assert again["front_hash"] == whole["front_hash"]
    assert f"\n{texts[0]}\n" in command("runs", "show", "latest").out
    other = command(*wanted, "--resume", "latest", "--objectives", "sharpe")
    assert "it cannot be resumed" in other.err
    other = ("--objective", "calm = cagr", *goals[2:], "--no-report", "--no-judge", "--json")
    last = command(*wanted[: -len(goals)], *other).json["run"]
    assert "nothing to compare" in command("runs", "compare", whole["run"], last).err


def test_a_goal_is_tried_before_a_search(command, market):
    """Its values and their reasons, of candidates that are drawn."""
    shown = command("objectives", "check", "calm = cagr / (trades - trades)", "--data", market).out
    assert "calm: cagr / (trades - trades), more is better" in shown
    assert "undefined in 100.00% of 256 candidates: division by zero" in shown
    bound = command("objectives", "check", "trades >= 0", "--data", market).out
    assert "trades>=0.0: kept by 100.00% of 256 candidates" in bound


def test_a_constraint_that_nobody_keeps_leaves_no_front(command, market):
    """The search ends with the reasons why all are infeasible, and with a way on."""
    bound = ("--constraint", "win_rate > 0.99")
    result = command("evolve", "--data", market, *LARGER, *bound, "--json").json
    assert result["front"] == []
    assert result["infeasible"]["broken:win_rate>0.99"] > 0
    assert sum(result["infeasible"].values()) == result["evaluated"]
    with RunStore.open(find_run(Path("runs"), "latest")) as store:
        population = store.last_generation().population
    nearest = population.genomes[population.violations.argmin()]
    assert list(result["nearest"]["genes"].values()) == nearest.tolist()
    shown = command("runs", "show", "latest").out
    assert f"{result['nearest']['metrics']['trades']:.0f} trades" in shown
    assert "--constraint 'win_rate>0.99 soft'" in shown


FINE_LATTICE = ("--search", "lattice", "--step", "reward_r=0.5", "--step", "max_hold=100")


@pytest.fixture
def lattice(command, recordings):
    """A run that judged all points of a small lattice."""
    recordings.copy(*FINE_LATTICE, "--min-trades", "3", "--no-judge", "--no-report")
    return load_run()


@pytest.fixture
def searched(command, recordings):
    """A genetic search that kept every candidate."""
    recordings.copy(*SMALL, "--keep", "all")
    return load_run()


def test_all_points_are_exported_with_all_metrics(command, market, lattice, tmp_path):
    """10 rewards times 4 times to hold are 40 rows, each equal to a backtest of it."""
    result = command("runs", "show", lattice.path, "--json").json["result"]
    assert (result["timing"]["evaluated"], result["polished"]) == (40, 0)
    assert result["stopped_by"] == "generations"
    assert "diversity" not in command("runs", "show", lattice.path).out
    command.succeed("runs", "export", lattice.path, "points.csv", "--what", "points")
    rows = read_csv("points.csv")
    assert len(rows) == 40 > len(lattice.front)
    assert {f"metrics.{name}" for name in METRICS} < set(rows[0])
    for row in (rows[0], rows[17], rows[-1]):
        genes = {name: float(row[f"genes.{name}"]) for name in ("reward_r", "max_hold")}
        alone = backtest(genes, data=[market]).front
        for name in METRICS:
            text = row[f"metrics.{name}"]
            assert (float(text) if text else np.nan) == pytest.approx(alone[name][0], nan_ok=True)
    assert any(row["infeasible"] for row in rows) or all(
        float(row["metrics.trades"]) >= 3 for row in rows
    )


def test_a_grid_of_two_genes_is_the_points_in_their_places(lattice):
    """Rows are one gene, columns the other; a cell has its point's metric, if that is feasible."""
    grid, points = lattice.grid("reward_r", "max_hold", "total_return"), lattice.points
    assert grid.shape == (4, 10)
    assert (grid.index.name, grid.columns.name) == ("max_hold", "reward_r")
    for _, point in points.iterrows():
        cell = grid.loc[point["max_hold"], point["reward_r"]]
        assert np.isnan(cell) if point["infeasible"] else cell == point["total_return"]
    with pytest.raises(ConfigError, match="did you mean"):
        lattice.grid("reword_r", "max_hold")
    with pytest.raises(ConfigError, match="unknown"):
        lattice.grid("reward_r", "max_hold", "nothing")


def test_a_heat_map_of_a_genetic_search_evaluates_nothing(searched, monkeypatch):
    """Objectives are on record; it has the numbers of the grid, and the pick in its place."""
    run = searched
    monkeypatch.setattr(progress, "measure_points", None)
    chart = progress.main_heat_map(run)
    cells, ring = chart.data
    names = [chart.layout[side]["title"]["text"].replace(" ", "_") for side in ("xaxis", "yaxis")]
    assert set(names) < set(run.genes)
    expected = run.grid(*names)
    assert np.array_equal(cells["z"], expected.to_numpy(), equal_nan=True)
    assert [*ring["x"], *ring["y"]] == [run.front[name][run.pick.member] for name in names]
    with RunStore.open(run.path) as store:
        assert cells["customdata"].sum() == len(recorded_individuals(store).population)
    figure = run.plot.heatmap(*names)
    assert np.array_equal(figure.data[0].z, cells["z"], equal_nan=True)
    assert run.plot.heatmap().layout.title.text == chart.title


@pytest.mark.parametrize(
    ("flags", "words"), [("--sort --dedupe", "one series"), ("--price-offset 5", "raised price")]
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
    dear = command("backtest", "--data", spec).err
    assert (dear.count(jump), "cost nothing" in dear) == (1, False)
    assert command("judge", "latest", "--folds", "0", "--null", "0").err.count(jump) == 1


CHOSEN = ("--strategy", f"{examples.__file__}:CHOSEN_AVERAGE")
GIVEN = ("--data", "csv:bars.csv", *CHOSEN)


@pytest.fixture
def result(command, recordings):
    """What evolve printed of a run within bounds of two averages and one source, here."""
    few = ("--population", "16", "--generations", "2", "--min-trades", "3", "--no-judge")
    bounds = ("--bound", "average=ema:wma", "--bound", "source=hl2")
    return recordings.copy(*CHOSEN, *few, *bounds)


def test_a_run_shows_and_reads_options_by_name(command, result, tmp_path):
    """In JSON, tables, exports and pages; within the bounds, and on its steps."""
    assert result["front"]
    for member in result["front"]:
        genes = member["genes"]
        assert genes["average"] in ("ema", "wma")
        assert genes["source"] == "hl2"
        assert {genes["busy"], genes["shorts"], genes["leaves"]} <= {"off", "on"}
        assert genes["far"] % 0.25 == 0
    shown = command("runs", "show", "latest").out
    assert "hl2" in shown
    assert "source is at its" not in shown
    for name, what in (("front.csv", "front"), ("all.csv", "individuals")):
        command("runs", "export", "latest", tmp_path / name, "--what", what)
        assert ",hl2," in (tmp_path / name).read_text()
    assert "hl2" in next(tmp_path.glob("runs/*/report.html")).read_text()
    given = ("--genes", "front.csv", "--member", 0, "--json")
    member = command("backtest", *GIVEN, *given).json
    assert member["genes"] == result["front"][0]["genes"]
    assert member["metrics"] == result["front"][0]["metrics"]
    few = ("--population", 8, "--generations", 0, "--no-judge", "--no-report")
    assert command("evolve", *GIVEN, "--warm-start", "front.csv", *few).code == 0
    flags = ("--run", result["run"], "--member", 0, "--set", "average=sma")
    assert command("backtest", *flags, "--json").json["genes"]["average"] == "sma"


def test_a_study_has_categories_and_steps(command, result):
    """As Optuna knows them, with every trial among them."""
    optuna = pytest.importorskip("optuna")
    assert command("runs", "export", "latest", "study.journal").code == 0
    backend = optuna.storages.journal.JournalFileBackend("study.journal")
    study = optuna.load_study(study_name=None, storage=optuna.storages.JournalStorage(backend))
    trial = study.trials[0]
    assert trial.distributions["average"].choices == ("ema", "wma")
    assert trial.distributions["far"].step == 0.25
    assert {trial.params["average"] for trial in study.trials} == {"ema", "wma"}


def test_a_file_bounds_options_by_name_and_a_lattice_has_each(command, tmp_path):
    """One name, or the first and the last of several; one gene of two, and one of 8 steps."""
    write_market(tmp_path / "bars.csv", 1000)
    (tmp_path / "run.toml").write_text('[bounds]\naverage = ["sma", "ema"]\nsource = "hl2"\n')
    steps = ("--search", "lattice", "--step", "average=1", "--step", "far=0.5")
    flags = ("--config", "run.toml", "--min-trades", 0, "--no-judge", "--no-report", "--json")
    outcome = command.succeed("evolve", *GIVEN, *flags, *steps)
    assert outcome.json["evaluated"] == 2 * 8
    assert {member["genes"]["source"] for member in outcome.json["front"]} == {"hl2"}


MARKET = "csv:bars.csv"


def test_a_member_is_backtested_from_whatever_holds_it(command, noise, tmp_path):
    """By the number that it has everywhere, with the figures that its front has."""
    member, run = noise["front"][2], ("backtest", "--run", "latest", "--member", 2, "--json")
    for name in ("exported.json", "exported.csv"):
        assert command("runs", "export", "latest", tmp_path / name).code == 0
    resumed = command("evolve", "--resume", "latest", "--json", "--no-report")
    (tmp_path / "printed.json").write_text(resumed.out)
    (tmp_path / "alone.json").write_text(command(*run).out)
    files = {"exported.json": 2, "exported.csv": 2, "printed.json": 2, "alone.json": 0}
    for name, number in files.items():
        flags = ("--data", MARKET, "--genes", name, "--member", number, "--json")
        payload = command("backtest", *flags).json
        assert (payload["genes"], payload["metrics"]) == (member["genes"], member["metrics"]), name


def test_a_search_begins_with_a_member_as_a_backtest_takes_it(command, noise, tmp_path):
    """The same two flags, or a file and a number, name the same individual."""
    last = len(noise["front"]) - 1
    path = tmp_path / "front.json"
    command("runs", "export", noise["run"], path)
    flags = ("evolve", "--data", MARKET, *SMALL, "--generations", 0, "--json", "--member", last)
    for source in (("--run", "latest"), ("--warm-start", path)):
        begun = command(*flags, *source).json["run"]
        command("runs", "export", begun, "all.csv", "--what", "individuals")
        rows = read_csv("all.csv")
        (first,) = [row for row in rows if row["operator"] == "warm_start"]
        genes = {name: float(first[f"genes.{name}"]) for name in noise["front"][last]["genes"]}
        assert genes == noise["front"][last]["genes"]
        command("runs", "delete", begun, "--yes")


NAMED = """from strategy.words import *
A = strategy(
    "Rises through its average.",
    long=(close > ema(close, length({length!r}, 20, 5, 40)))
    & (rsi(close, 14) < gene({level!r}, 60, 40, 90)),
    stop=beyond_bar(gene({stop!r}, 2, 1, 4) * atr(14)),
    target=r_multiple(gene({reward!r}, 2, 1, 4)),
    max_hold=length({hold!r}, 30, 10, 50),
)
"""
PLAIN = {"length": "length", "level": "level", "stop": "stop", "reward": "reward", "hold": "hold"}
FREE = {"length": "Fast Length", "level": "rsi", "stop": "low", "reward": "close", "hold": "high"}


def test_genes_are_named_as_a_person_names_them(command, noise, tmp_path):
    """Blanks, names of rows, beginnings: the trades are the same, one name is recorded."""
    for name, names in (("plain", PLAIN), ("free", FREE)):
        (tmp_path / f"{name}.py").write_text(NAMED.format(**names))
    given = {"length": "Fast Length=12", "level": "RS=55", "stop": "lo=2.5"}
    flags = [f"--set={text}" for text in given.values()]
    same = [f"--set={name}={text.partition('=')[2]}" for name, text in given.items()]
    free, plain = (
        command("backtest", "--strategy", f"{name}.py", "--data", MARKET, *words, "--json").json
        for name, words in (("free", flags), ("plain", same))
    )
    assert free["metrics"] == plain["metrics"]
    assert free["metrics"]["trades"] > 10
    assert list(free["genes"]) == ["fast_length", "rsi", "low", "close", "high"]
    (tmp_path / "bounds.toml").write_text('[bounds]\n"fast length" = [10, 12]\n')
    flags = ("--strategy", "free.py", "--data", MARKET, "--config", "bounds.toml", "--bound")
    front = command("evolve", *flags, "hi=20:20", *SMALL, "--no-judge", "--json").json["front"]
    assert front
    for member in front:
        assert 10 <= member["genes"]["fast_length"] <= 12
        assert member["genes"]["high"] == 20


SOURCE = """from strategy.words import *
FIXED = strategy(
    "Buys strength, with every number fixed.",
    long=crosses_above(close, sma(close, 20)),
    exit_long=close < sma(close, 20),
    stop=beyond_bar(1.5 * rma(true_range, 14)),
)
"""


@pytest.fixture
def given(tmp_path, market):
    """Flags of a file that holds such a strategy, and of a market."""
    (tmp_path / "fixed.py").write_text(SOURCE, encoding="utf-8")
    return "--data", market, "--strategy", "fixed.py"


def test_it_is_backtested_and_no_lattice_of_it_is_searched(command, given, market, tmp_path):
    """Its page has no empty table of genes; Python has its trades."""
    outcome = command.succeed("backtest", *given, "--plot", "page.html")
    assert "Genes" not in outcome.out
    assert (tmp_path / "page.html").stat().st_size > 10_000
    run = backtest(data=market, strategy="fixed.py")
    assert run.genomes.shape == (1, 0)
    assert len(run.trades(0)) == run.front["trades"][0] > 5
    refused = command("evolve", *given, "--search", "lattice")
    assert refused.code == 2
    assert "--step" not in refused.err


def test_a_search_of_it_is_judged_shown_and_exported(command, given, tmp_path):
    """Evolve judges it as a front of one; every other command takes that run."""
    few = ("--population", "8", "--generations", "1", "--min-trades", "5")
    goals = ("--objectives", "strength,total_return@near")
    judged = ("--null", "2", "--folds", "2", "--blocks", "0", "--resamples", "19")
    searched = command.succeed("evolve", *given, *few, *goals, *judged)
    assert "genes" not in searched.out
    for asked in (
        ("evolve", "--resume", "latest"),
        ("runs", "show", "latest", "--member", "0"),
        ("runs", "verify", "latest"),
        ("runs", "export", "latest", "front.csv"),
        ("runs", "export", "latest", "study.journal"),
        ("runs", "export", "latest", "member.py", "--as", "backtesting.py", "--member", "0"),
        ("backtest", "latest"),
        ("parity", "--run", "latest"),
    ):
        command.succeed(*asked)
    assert len(read_csv("front.csv")) == 1
    run = load_run(runs=tmp_path / "runs")
    assert len(run.trades(0)) == run.front["trades"][0]
    assert len(run.population(1)) == 1
