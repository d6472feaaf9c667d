"""Recorded runs: listed, shown, exported, verified, and gone on with from the command line."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from optimizer import load_run
from optimizer.cli import console
from optimizer.evidence.pick import PickRecord
from optimizer.formatting import fraction
from optimizer.grades import GRADE_WORDS
from optimizer.judging.judgement import read_opened_result
from optimizer.judging.verdict import find_pick
from optimizer.store import RunStore
from tests.support.commands import SMALL, write_market
from tests.support.forging import change, flip, interrupt
from tests.support.judged import judgement, record_judgement


@pytest.fixture
def result(command, recordings):
    """A finished run."""
    return recordings.copy(*SMALL)


@pytest.fixture
def market(result):
    """The market of the run, in a file beside it that a test may change."""
    return "csv:bars.csv"


def test_no_runs_are_no_error(command):
    """The way to the first one is shown."""
    outcome = command("runs", "list")
    assert outcome.code == 0
    assert "python -m optimizer evolve" in outcome.out
    assert command("runs", "list", "--json").json == []


def test_runs_are_listed(command, result):
    """A line holds a run's setting, its progress and its result."""
    line = command("runs", "list").out.splitlines()[1]
    for word in (result["run"], "not judged", "seller_exhaustion", "bars 15m", "2/2"):
        assert word in line
    (payload,) = command("runs", "list", "--json").json
    assert payload["verdict"] is None
    assert (payload["id"], payload["front_size"]) == (result["run"], len(result["front"]))


def test_the_list_of_runs_says_what_to_believe(command, result, monkeypatch):
    """The newest verdict of each, in lines that fit 80 columns."""
    for grade in ("robust", "luck"):
        recorded = record_judgement(Path(result["path"]), judgement(grade))
    monkeypatch.setattr(console, "WIDTH_OF_A_FILE", 80)
    lines = command("runs", "list").out.splitlines()
    words = GRADE_WORDS[recorded.verdict.grade].split()
    assert lines[0].split() == ["run", "verdict", "bars", "strength", "return", "trades"]
    assert lines[1].split()[1 : 3 + len(words)] == [*words, "bars", "15m"]
    assert len(lines) == 2
    assert max(map(len, lines)) <= 80
    assert command("runs", "list", "--json").json[0]["verdict"] == recorded.verdict.grade


def test_the_list_of_runs_has_the_numbers_of_the_pick(command, result):
    """Strength, return and trades, judged or not, are those of the member that is shown."""
    (before,) = command("runs", "list", "--json").json
    with RunStore.open(Path(result["path"])) as store:
        whole, none = read_opened_result(store)
    pick = find_pick(whole, none)
    metrics = whole.front[pick.member].metrics
    assert (before["strength"], before["trades"]) == (pick.strength, pick.trades)
    assert before["total_return"] == metrics["total_return"]
    assert before["symbols"] == list(dict.fromkeys(window.symbol for window in whole.data.windows))
    last = whole.front[-1]
    named = PickRecord(len(whole.front) - 1, last.genes, 1.25, 77, is_named=True)
    record_judgement(Path(result["path"]), replace(judgement("robust"), pick=named))
    (after,) = command("runs", "list", "--json").json
    assert (after["strength"], after["trades"]) == (1.25, 77)
    assert after["total_return"] == last.metrics["total_return"]
    line = command("runs", "list").out.splitlines()[1]
    for word in ("1.25", "77", fraction(last.metrics["total_return"]), after["created_at"][:10]):
        assert word in line.split()


def test_runs_are_sorted_and_chosen(command, result):
    """By grade and symbol; the greatest first, and runs without the number last."""
    path = Path(result["path"])
    for name in ("better", "unfinished"):
        shutil.copytree(path, path.parent / name)
    interrupt(path.parent / "unfinished")
    record_judgement(path.parent / "better", judgement("robust"))
    record_judgement(path, judgement("luck"))

    def ids(*arguments):
        return [run["id"] for run in command("runs", "list", *arguments, "--json").json]

    assert ids("--sort", "verdict") == ["better", path.name, "unfinished"]
    for name in ("strength", "return", "trades"):
        assert ids("--sort", name)[-1] == "unfinished"
    assert ids("--verdict", "luck") == [path.name]
    assert ids("--symbol", "BARS") == ids()
    assert ids("--symbol", "other") == []
    assert "there is no such run" in command("runs", "list", "--symbol", "other").out
    assert command("runs", "list", "--sort", "size").code == 2


@pytest.mark.parametrize("width", [80, 120, 140])
def test_each_width_has_status_bars_and_tags(command, result, monkeypatch, width):
    """Of an unfinished run how far it has come; a long note is not cut."""
    path, note = Path(result["path"]), "again with costs of 20 bp, and " + "x" * 300
    interrupt(path)
    assert (
        command("runs", "tag", "latest", "wide", "fee:20").out
        == f"{path.name}: tags wide, fee:20\n"
    )
    command("runs", "note", "latest", note)
    monkeypatch.setattr(console, "WIDTH_OF_A_FILE", width)
    lines = command("runs", "list").out.splitlines()
    assert "interrupted 2/2" in lines[1]
    assert "bars 15m" in lines[1]
    assert ("wide, fee:20" in lines[1]) == (width >= 100)
    assert max(map(len, lines[:2])) <= width
    tags = "" if width >= 100 else "[wide, fee:20] "
    assert lines[2] == f"{path.name}: {tags}{note}"


@pytest.mark.parametrize("grade", ["luck", "lost", "invalid", "weak", "holds"])
def test_held_out_bars_are_offered_where_they_can_say_something(command, recordings, grade):
    """A look at them counts for each later search; of a front to drop it would be spent."""
    run = recordings.copy(*SMALL, "--holdout", "20%")
    record_judgement(Path(run["path"]), judgement(grade))
    is_dropped = grade in ("luck", "lost", "invalid")
    shown = command("runs", "show", "latest").out
    assert ("looked at; keep them closed for another search" in shown) == is_dropped
    assert ("--open" in shown) != is_dropped


def test_several_symbols_are_listed_by_the_first(command, tmp_path):
    """With how many more there are; each finds the run."""
    data = [
        text
        for number in range(3)
        for text in ("--data", write_market(tmp_path / f"coin{number}.csv", seed=number))
    ]
    assert command("evolve", *data, *SMALL).code == 0
    assert "coin0 +2 15m" in command("runs", "list").out
    for name in ("coin0", "COIN2"):
        assert len(command("runs", "list", "--symbol", name, "--json").json) == 1


def test_a_run_has_tags_and_a_note(command, result, tmp_path):
    """They are given, shown, found by, taken away, and change nothing of the record."""
    path = Path(result["path"])
    other = shutil.copytree(path, path.parent / "other")
    assert "tags none; add some with" in command("runs", "tag", path.name).out
    assert command("runs", "tag", path.name, "btc", "wide").code == 0
    assert command("runs", "tag", other.name, "WIDE").code == 0
    assert command("runs", "note", path.name, "stops too\nnear").out.endswith("stops too near\n")

    def ids(*arguments):
        return {entry["id"] for entry in command("runs", "list", *arguments, "--json").json}

    assert ids("--tag", "wide") == {path.name, other.name}
    assert ids("--tag", "wide", "--tag", "BTC") == {path.name}
    assert ids("--tag", "none") == set()
    shown = command("runs", "show", path.name)
    assert "tags btc, wide\nnote: stops too near\n" in shown.out
    payload = command("runs", "show", path.name, "--json").json
    assert (payload["tags"], payload["note"]) == (["btc", "wide"], "stops too near")
    run = load_run(path.name, path.parent)
    assert (run.tags, run.note) == (("btc", "wide"), "stops too near")
    run.label("more", remove=["btc"], note="")
    assert command("runs", "tag", path.name).out == f"{path.name}: tags wide, more\n"
    assert command("runs", "note", path.name).out == f"{path.name}: no note\n"
    verified = command("runs", "verify", path.name, "--data", "csv:bars.csv")
    assert verified.code == 0
    assert "; tags and note" in verified.out
    assert command("runs", "tag", path.name, "--remove", "wide", "--remove", "more").code == 0
    assert "tags and note" not in command("runs", "verify", path.name, "--individuals", "0").out
    assert command("runs", "delete", other.name, "--yes").code == 0
    assert not other.exists()


@pytest.mark.parametrize("word", ["two words", "\x1b[2J", "a\nb", "x" * 100_000])
def test_what_is_no_tag_is_refused(command, result, word):
    """By each command that takes one, in a line."""
    for arguments in (
        ("runs", "tag", "latest", word),
        ("runs", "tag", "latest", "--remove", word),
        ("evolve", *SMALL, "--tag", word),
    ):
        outcome = command(*arguments)
        assert outcome.code == 2
        assert "a word of up to 32 letters, digits" in outcome.error
        assert len(outcome.error) < 300
    assert len(list(Path(result["path"]).parent.glob("[!.]*/run.sqlite"))) == 1


def test_a_search_begins_with_its_tags(command, market, tmp_path):
    """Also one that is gone on with gets those that are named then."""
    assert command("evolve", "--data", market, *SMALL, "--tag", "a", "--tag", "b").code == 0
    (payload,) = command("runs", "list", "--tag", "b", "--json").json
    assert payload["tags"] == ["a", "b"]
    assert command("evolve", "--resume", "latest", "--tag", "c", *SMALL[-2:]).code == 0
    assert command("runs", "list", "--json").json[-1]["tags"] == ["a", "b", "c"]


def test_a_finished_run_shows_its_result(command, result):
    """The columns stand in the order in which they were found."""
    payload = command("runs", "show", "latest", "--json").json
    # Seconds of the judgement stand where it is judged.
    assert payload["result"] == {name: result[name] for name in result if name != "judgement_s"}
    assert list(payload["result"]["front"][0]["genes"]) == list(result["front"][0]["genes"])
    assert payload["status"] == "finished"
    assert "0 mismatches" in command("runs", "show", "latest").out


def test_an_interrupted_run_shows_the_way_to_resume(command, result):
    """What it has, and the command that continues it."""
    interrupt(Path(result["path"]))
    outcome = command("runs", "show", "latest")
    assert outcome.code == 0
    assert "interrupted" in outcome.out
    assert f"evolve --resume {result['path']}" in outcome.out
    error = command("runs", "export", "latest", "x.csv")
    assert error.code == 4
    assert "has no front yet" in error.error


def test_how_to_go_on_can_be_typed_as_it_is_said(command, result):
    """Also where the folder of runs has a blank in its name."""
    Path("my runs").mkdir()
    path = shutil.move(result["path"], Path("my runs") / result["run"])
    interrupt(Path(path))
    arguments = ("--runs", "my runs")
    printed = command("runs", "show", "latest", *arguments).out
    error = command("runs", "export", "latest", "x.csv", *arguments).error
    for text in (printed, error):
        assert f"evolve --resume 'my runs/{result['run']}'" in " ".join(text.split())


def test_a_config_file_does_not_go_with_a_recorded_run(command, result):
    """A run has its configuration; a second one would be ambiguous."""
    outcome = command("evolve", "--resume", "latest", "--config", "x.toml")
    assert outcome.code == 2
    assert "leave --config out" in outcome.error


@pytest.mark.parametrize(
    "arguments", ["runs show nope", "runs verify nope", "evolve --resume nope"]
)
def test_a_run_that_is_not_there_is_exit_code_4(command, result, arguments):
    """Those that are there are named."""
    outcome = command(*arguments.split())
    assert outcome.code == 4
    assert f"there is no run 'nope' in runs: there are {result['run']}" in outcome.error


@pytest.mark.parametrize("damage", ["empty", "text", "future"])
def test_a_run_that_cannot_be_read_is_exit_code_4(command, result, damage):
    """One line, and the list of runs still works."""
    database = Path(result["path"]) / "run.sqlite"
    if damage == "future":
        change(result["path"], "PRAGMA user_version=99")
    else:
        database.write_text("" if damage == "empty" else "not a database " * 100)
    for arguments in ("runs show latest", "runs verify latest", "evolve --resume latest"):
        outcome = command(*arguments.split())
        assert outcome.code == 4
        assert "run.sqlite" in outcome.error
    assert command("runs", "list").code == 0


def test_a_place_that_cannot_hold_runs_is_exit_code_4(command, market, tmp_path):
    """A file stands where the folder should be."""
    (tmp_path / "taken").write_text("")
    outcome = command("evolve", "--data", market, *SMALL, "--runs", "taken", "--quiet")
    assert outcome.code == 4
    assert "taken/" in outcome.error


def test_verify_replays_members(command, result):
    """The record is read whole, and some members are replayed."""
    outcome = command("runs", "verify", "latest", "--individuals", "2")
    assert outcome.code == 0
    assert "the record is whole, every digest is right" in outcome.out
    count = min(2, len(result["front"]))
    assert f"{count} candidate" in outcome.out
    assert "0 mismatches" in outcome.out


def test_verify_says_what_could_not_be_checked(command, result, market):
    """Without the bars, or with others, the record is still checked."""
    path = Path(market.removeprefix("csv:"))
    write_market(path, seed=4)
    outcome = command("runs", "verify", "latest")
    assert (outcome.code, "record is whole" in outcome.out) == (4, False)
    assert "members were not replayed: " in outcome.out
    assert "is not whole here: members were not replayed: " in outcome.error
    assert "data_hash: recorded '" in outcome.out
    path.unlink()
    outcome = command("runs", "verify", "latest")
    assert outcome.code == 4
    assert "members were not replayed: " in outcome.out
    assert "no such file" in outcome.out
    assert command("runs", "verify", "latest", "--individuals", "0").code == 0
    (path.parent / "moved").mkdir()
    moved = write_market(path.parent / "moved" / path.name)
    assert command("runs", "verify", "latest", "--data", moved).code == 0


def test_verify_finds_a_changed_bit(command, result):
    """A record that does not match its digests is exit code 4."""
    flip(result["path"], 1)
    outcome = command("runs", "verify", "latest")
    assert outcome.code == 4
    assert "generation 1" in outcome.error


def test_verify_of_a_run_without_a_generation_is_sound(command, result, tmp_path):
    """There is nothing to replay, and nothing wrong."""
    with RunStore.open(Path(result["path"])) as store:
        header = store.header
    RunStore.create(tmp_path / "runs", "begun", header).close()
    outcome = command("runs", "verify", "begun")
    assert outcome.code == 0
    assert "no generation" in outcome.out


def test_parity_replays_the_front_of_a_run(command, result):
    """All of its members, with the ledger that the run's own certificate names."""
    payload = command("parity", "--run", "latest", "--json").json
    assert payload["individuals"] == len(result["front"])
    assert payload["ledger_hash"] == result["certificate"]["ledger_hash"]


@pytest.fixture
def older(result):
    """That run as a version recorded it that did not say all that decides results."""
    with RunStore.open(Path(result["path"])) as whole:
        header = {name: value for name, value in whole.header.items() if name != "identity"}
        header["versions"] = {"engine": 3, "search": 3}
        with RunStore.create(Path("runs"), "older", header) as store:
            for summary in whole.generations():
                store.record(whole.generation(summary.number))
            store.finish(whole.result)
    return "older"


UNKNOWN = "recorded by a version (engine 3, search 3) that did not record all that decides results"


def test_a_run_of_an_older_version_is_read(command, result, older):
    """What it found is shown, exported and reported; only its trades are left out."""
    assert "0 mismatches" in command("runs", "show", older).out
    assert command("runs", "export", older, "front.csv").code == 0
    assert len(Path("front.csv").read_text().splitlines()) == len(result["front"]) + 1
    assert (
        command("evolve", "--resume", older, "--trust", "--json").json["resumed"]
        == "already finished"
    )
    assert command("report", older).code == 0
    assert UNKNOWN in Path("runs/older/report.html").read_text()
    verified = command("runs", "verify", older)
    assert verified.code == 4
    assert "the record is whole" not in verified.out
    assert f"members were not replayed: run 'older' was {UNKNOWN}" in verified.out


def test_a_run_of_an_older_version_is_not_resumed(command, result, older):
    """With the reason, and a new run as the remedy."""
    for arguments in (f"evolve --resume {older} --generations 9", f"parity --run {older}"):
        outcome = command(*arguments.split())
        assert outcome.code == 4
        assert f"run 'older' was {UNKNOWN}" in outcome.error
        assert "start a new run" in outcome.error
    compared = command("runs", "compare", result["run"], older, "--json").json["runs"][1]
    assert not compared["is_comparable"]
    assert "did not say all that decides results" in compared["differs"][0]
