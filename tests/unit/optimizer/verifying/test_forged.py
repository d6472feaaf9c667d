"""Digests made anew hide nothing that follows from other rows or from the bars."""

import shutil
from functools import reduce

import pytest

from optimizer.errors import StoreError
from optimizer.store import RunStore
from optimizer.store.result import load_result
from optimizer.verifying.check import check_run
from tests.support.commands import Commands
from tests.support.evidence import make_planted_market
from tests.support.forging import drop_evidence, forge
from tests.support.judging import judge_briefly, recorded_run

pytestmark = pytest.mark.slow

EVIDENCE = {"folds": 3, "train": 2, "blocks": 4, "cpcv": "6,2", "purge": 40, "embargo": 40}


@pytest.fixture(scope="module")
def searched_run(tmp_path_factory):
    """A run that was not judged."""
    folder = tmp_path_factory.mktemp("honest")
    bars = make_planted_market(7, 2500, 0)
    given = {"population": 64, "generations": 8, "min_trades": 10, "holdout": "25%", "parts": 2}
    return recorded_run(folder, bars, **given)


@pytest.fixture(scope="module")
def honest(searched_run, tmp_path_factory):
    """The same with all kinds of evidence; its held-out bars were opened."""
    path = shutil.copytree(searched_run, tmp_path_factory.mktemp("judged") / "run")
    judge_briefly(path, **EVIDENCE, null=12, stop_after=3, causal=True, is_open=True)
    return path


@pytest.fixture
def run(searched_run, tmp_path):
    """A copy of a run without evidence."""
    return shutil.copytree(searched_run, tmp_path / "run")


@pytest.fixture
def judged_run(honest, tmp_path):
    """A copy of a run with evidence."""
    return shutil.copytree(honest, tmp_path / "run")


def find_problems(run):
    """What is wrong with a run, in one text; empty for one that is whole."""
    try:
        with RunStore.open(run) as store:
            problems = check_run(store, {}, 5)
    except StoreError as error:
        return str(error)
    assert problems.is_whole == (not problems.problems), problems
    return "; ".join(problems.problems)


def replacing(place, value):
    """Put a value at a place such as ``front.0.genes``; a callable is given the one before."""
    *way, last = [int(part) if part.isdecimal() else part for part in place.split(".")]

    def change(payload):
        inner = reduce(lambda found, part: found[part], way, payload)
        before = inner[last]
        inner[last] = value(before) if callable(value) else value
        assert inner[last] != before, "nothing was changed"

    return change


def less(value):
    """A smaller number."""
    return value - 1 if isinstance(value, int) else value * 0.9 - 0.01


def more(value):
    """A greater number."""
    return value + 1 if isinstance(value, int) else value * 1.1 + 0.01


HEADER = {
    "costs.fee_bp": less,
    "costs": {},
    "data": "BTC 1h",
    "strategy": "mean_reversion",
    "is_simulated": True,
    "windows.0.0": more,
    "held_out": [],
    "genes.0.low": less,
    "objectives.0": "calmar",
    "seed": more,
    "generations": more,
    "failure_names.1": "nothing",
    "identity.digest": "0" * 64,
    "identity.data_hash": "0" * 64,
    "identity.costs.fee_bp": less,
    "identity.settings.seed": more,
    "identity.settings.population": more,
    "command.fee_bp": less,
    "command.seed": more,
    "versions.engine": more,
    "versions.search": less,
    "versions.strategy": more,
}

RESULT = {
    "front_hash": "0" * 64,
    "data_hash": "0" * 64,
    "certificate.individuals": more,
    "certificate.windows": more,
    "certificate.trades": more,
    "certificate.mismatches": 3,
    "certificate.plain_bars": more,
    "certificate.plain_individuals": more,
    "certificate.ledger_hash": "0" * 64,
    "certificate.data_hash": "0" * 64,
    "certificate.strategy": "another 1",
    "certificate.engine_version": more,
    "front": lambda front: front[1:],
    "front.0": lambda member: {**member, "genes": {**member["genes"], "ema_fast": 33}},
    "front.0.metrics.trades": more,
    "front.1.metrics.sharpe": more,
    "front.0.objectives.total_return": more,
    "front.0.undefined": {"sharpe": "no trade won"},
    "front.0.by_window.trades.0": more,
    "generation": more,
    "individuals": more,
    "population": more,
    "evaluated": less,
    "polished": less,
    "hypervolume": more,
    "stopped_by": "plateau",
    "over_windows": "mean",
    "search": "lattice",
    "strategy": "mean_reversion",
    "objectives.0": "calmar",
    "data.bars": more,
    "data.held_out_bars": more,
    "data.symbol": "BTC",
    "data.timeframe": "1m",
    "data.is_simulated": True,
    "data.windows.0.last": "2030-01-01T00:00:00Z",
    "data.windows.0.missing": more,
}

JUDGEMENT = {
    "verdict.grade": "robust",
    "verdict.sentence": "Holds out of sample, and around it.",
    "verdict.reasons": ["It gained."],
    "pick.member": lambda member: 1 - member,
    "pick.strength": more,
    "pick.trades": more,
    "pick.genes.ema_fast": more,
    "pick.mean_r": more,
    "null.planned": less,
    "null.shuffled.run": less,
    "null.shuffled.stopped": lambda stopped: not stopped,
    "null.shuffled.strength.p": less,
    "null.shuffled.strength.at_least": less,
    "null.shuffled.strength.value": more,
    "null.shuffled.strengths.0": more,
    "null.shuffled.objectives.total_return.p": less,
    "null.shuffled.hypervolume.p": less,
    "folds.mean_r": more,
    "folds.psr": 0.999,
    "folds.trades": more,
    "folds.closing_days": more,
    "folds.strength": more,
    "folds.rows": lambda rows: rows[1:],
    "folds.rows.1.mean_r": more,
    "folds.rows.0.trades": more,
    "folds.rows.0.genes.ema_fast": more,
    "cpcv.least": more,
    "cpcv.paths.0": more,
    "robust.plateau": 0.99,
    "robust.delay": more,
    "robust.break_even_bp": more,
    "robust.checks.delay": lambda passed: not passed,
    "robust.drawdowns.0": 0.001,
    "causal.trades": more,
    "causal.mismatches": 4,
    "held_out.trades": more,
    "held_out.mean_r": more,
    "held_out.psr": 0.999,
    "held_out.looks": 0,
    "held_out.members.0.metrics.trades": more,
}


def test_an_honest_run_is_whole(honest):
    """Nothing is wrong with it, and everything was found anew."""
    with RunStore.open(honest) as store:
        problems = check_run(store, {}, 5)
        assert len(load_result(store).front) > 1
    assert (problems.problems, problems.unchecked, problems.is_whole) == ((), (), True)
    assert "null searches" in problems.not_recomputed


def test_a_run_without_evidence_is_whole(searched_run):
    """Only its own statements are found anew."""
    assert find_problems(searched_run) == ""


@pytest.mark.parametrize("place", HEADER)
def test_a_forged_header_is_found(run, place):
    """A header follows from the settings, and from the bars."""
    forge(run, "header", lambda payload: replacing(place, HEADER[place])(payload["run"]))
    assert not is_whole(run)


def is_whole(run):
    """Whether a run is found to be so; what cannot be replayed is not."""
    try:
        with RunStore.open(run) as store:
            return check_run(store, {}, 5).is_whole
    except StoreError:
        return False


@pytest.mark.parametrize("place", RESULT)
def test_a_forged_result_is_found(run, place):
    """A result follows from the last generation and the bars."""
    forge(run, "result", replacing(place, RESULT[place]))
    assert find_problems(run)


@pytest.mark.parametrize("place", JUDGEMENT)
def test_a_forged_judgement_is_found(judged_run, place):
    """A judgement follows from its rows, the bars and the front."""
    forge(judged_run, "evidence", replacing(place, JUDGEMENT[place]), name="judgement")
    assert find_problems(judged_run)


def test_fits_are_those_of_the_header(judged_run):
    """As many forecasts were fitted as the run began with."""
    forge(judged_run, "evidence", lambda payload: payload.update(fits=7), name="judgement")
    assert "judgement.fits: recorded 7" in find_problems(judged_run)


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [
        ("null/%/shuffled/1", "strength", more),
        ("null/%/shuffled/2", "hypervolume", 1e9),
        ("fold/%/0", "genome.0", more),
        ("cpcv/%", "genome", None),
        ("null/%/shuffled/3", "kind", "mirrored"),
        ("opened", "looks", more),
        ("opened", "front", "0" * 64),
        ("opened", "member", more),
    ],
)
def test_a_forged_row_of_evidence_is_found(judged_run, name, place, value):
    """A judgement is that of its rows."""
    forge(judged_run, "evidence", replacing(place, value), name=name)
    assert find_problems(judged_run)


@pytest.mark.parametrize("name", ["null/%/1", "null/%", "fold/%/2", "fold/%", "cpcv/%", "opened"])
def test_dropped_rows_of_evidence_are_found(judged_run, name):
    """What a judgement was made of is there, by whatever note of the owner."""
    (judged_run / "owner.lock").unlink()
    drop_evidence(judged_run, name)
    assert "judgement." in find_problems(judged_run)


def test_what_is_left_out_of_a_result_is_no_default(run):
    """Where former versions had but one value, it is that one."""
    forge(run, "result", lambda payload: payload.pop("over_windows"))
    assert "result.over_windows: recorded 'mean', it follows 'pooled'" in find_problems(run)


@pytest.mark.parametrize("number", [0, 8])
def test_a_forged_hypervolume_is_found(run, number):
    """It is that of the archive."""
    forge(run, "generation", replacing("hypervolume", more), number=number)
    assert f"generation {number}.hypervolume: recorded " in find_problems(run)


def test_individuals_that_were_not_evaluated_are_found(run):
    """All generations together evaluated as many as the search remembers."""
    forge(run, "generation", replacing("evaluated", more), number=0)
    assert "evaluated by all generations" in find_problems(run)


def test_the_command_says_what_is_wrong_and_what_it_cannot_tell(run, capsys):
    """In words and as JSON, with the exit code of a run that cannot be used."""
    command = Commands(capsys)
    whole = command("runs", "verify", run)
    assert (whole.code, "the record is whole" in whole.out) == (0, True)
    assert "not computed anew: " in whole.out
    result = command("runs", "verify", run, "--json").json
    assert (result["is_whole"], result["problems"], result["certificate"]["mismatches"]) == (
        True,
        [],
        0,
    )
    record = command("runs", "verify", run, "--individuals", "0")
    assert (record.code, "whole" in record.out) == (0, False)
    forge(run, "result", replacing("certificate.trades", more))
    outcome = command("runs", "verify", run, "--json")
    assert (outcome.code, outcome.json["is_whole"]) == (4, False)
    assert "result.certificate.trades: recorded " in outcome.json["problems"][0]
    assert "is damaged: result.certificate.trades: recorded " in outcome.error


def test_what_cannot_be_replayed_is_not_whole(run, capsys):
    """Without its bars, a run is reported as free of contradictions, and no more."""
    command = Commands(capsys)
    forge(run, "header", lambda payload: payload["run"]["command"].update(data=["csv:gone.csv"]))
    outcome = command("runs", "verify", run)
    assert outcome.code == 4
    assert "the record is whole" not in outcome.out
    assert "is not whole here: members were not replayed: " in outcome.error
    assert command("runs", "verify", run, "--json").json["is_whole"] is False
    assert command("runs", "verify", run, "--individuals", "0").code == 0
