"""Recorded runs by any name: listed, shown, labelled, exported, verified, in commands to paste."""

import os
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import quote

import pytest

import optimizer
from optimizer import load_run
from optimizer.cli import console
from optimizer.cli.flags import run_names
from optimizer.evidence.judgement import find_pick, read_opened_result
from optimizer.evidence.pick import PickRecord
from optimizer.formatting import GRADE_WORDS, fraction
from optimizer.report.facts import summarize
from optimizer.store import RunStore
from tests.support.commands import SMALL, write_market
from tests.support.hostile import change, flip, forge, interrupt
from tests.support.judged import judgement, record_judgement
from tests.support.judging import judge_briefly
from tests.support.viewing import serving


@pytest.fixture
def ids(command):
    """Ids of the runs that a list with some flags has, in its order."""

    def list_ids(*flags):
        return [run["id"] for run in command("runs", "list", *flags, "--json").json]

    return list_ids


def test_the_list_of_runs_has_verdict_and_numbers_of_the_pick(command, path, monkeypatch):
    """Judged or not, in lines that fit 80 columns; the newest verdict counts."""
    (before,) = command("runs", "list", "--json").json
    with RunStore.open(path) as store:
        whole, none = read_opened_result(store)
    pick = find_pick(whole, none)
    assert (before["strength"], before["trades"]) == (pick.strength, pick.trades)
    assert before["total_return"] == whole.front[pick.member].metrics["total_return"]
    assert (before["symbols"], before["front_size"]) == (["bars"], len(whole.front))
    assert (before["id"], before["verdict"], before["status"]) == (path.name, None, "finished")
    last = whole.front[-1]
    named = PickRecord(len(whole.front) - 1, last.genes, 1.25, 77, is_named=True)
    for grade in ("luck", "robust"):
        judged = record_judgement(path, replace(judgement(grade), pick=named))
    (after,) = command("runs", "list", "--json").json
    assert (after["strength"], after["trades"]) == (1.25, 77)
    assert after["total_return"] == last.metrics["total_return"]
    assert after["verdict"] == judged.verdict.grade
    monkeypatch.setattr(console, "WIDTH_OF_A_FILE", 80)
    lines = command("runs", "list").out.splitlines()
    assert len(lines) == 3
    assert max(map(len, lines)) <= 80
    words = [*GRADE_WORDS[judged.verdict.grade].split(), "bars", "15m", "1.25", "77"]
    for word in (*words, fraction(last.metrics["total_return"])):
        assert word in lines[1].split()
    monkeypatch.setattr(console, "WIDTH_OF_A_FILE", 140)
    wide = command("runs", "list").out.splitlines()[1]
    assert "seller_exhaustion" in wide
    assert after["created_at"][:10] in wide.split()


def test_runs_are_sorted_and_chosen(command, path, ids):
    """By grade and symbol; the greatest first, and runs without the number last."""
    for name in ("better", "unfinished"):
        shutil.copytree(path, path.parent / name)
    interrupt(path.parent / "unfinished")
    record_judgement(path.parent / "better", judgement("robust"))
    record_judgement(path, judgement("luck"))
    assert ids("--sort", "verdict") == ["better", path.name, "unfinished"]
    for name in ("strength", "return", "trades"):
        assert ids("--sort", name)[-1] == "unfinished"
    assert ids("--verdict", "luck") == [path.name]
    assert ids("--symbol", "BARS") == ids()
    assert ids("--symbol", "other") == []
    assert command("runs", "list", "--symbol", "other").code == 0
    assert command("runs", "list", "--sort", "size").code == 2


@pytest.mark.parametrize("grade", ["luck", "invalid", "weak"])
def test_held_out_bars_are_offered_where_they_can_say_something(command, path, grade):
    """A look at them counts for each later search; of a front to drop it would be spent."""
    record_judgement(path, judgement(grade))
    shown = command("runs", "show", "latest").out
    assert ("--open" in shown) == (grade == "weak")


def test_a_run_has_tags_and_a_note(command, path, ids):
    """They are given, shown, found by, taken away, and change nothing of the record."""
    other = shutil.copytree(path, path.parent / "other")
    assert command("runs", "tag", path.name, "btc", "wide").code == 0
    assert command("runs", "tag", other.name, "WIDE").code == 0
    assert command("runs", "note", path.name, "stops too\nnear").out.endswith("stops too near\n")
    assert set(ids("--tag", "wide")) == {path.name, other.name}
    assert ids("--tag", "wide", "--tag", "BTC") == [path.name]
    assert ids("--tag", "none") == []
    payload = command("runs", "show", path.name, "--json").json
    assert (payload["tags"], payload["note"]) == (["btc", "wide"], "stops too near")
    run = load_run(path.name, path.parent)
    assert (run.tags, run.note) == (("btc", "wide"), "stops too near")
    run.label("more", remove=["btc"], note="")
    assert command("runs", "tag", path.name).out == f"{path.name}: tags wide, more\n"
    assert command("runs", "verify", path.name, "--individuals", "0").code == 0
    assert command("runs", "tag", path.name, "--remove", "wide", "--remove", "more").code == 0
    assert load_run(path.name).tags == ()
    assert command("runs", "delete", other.name, "--yes").code == 0
    assert ids() == [path.name]


def test_a_search_begins_with_its_tags(command, market):
    """Also one that is gone on with gets those that are named then."""
    assert command("evolve", "--data", market, *SMALL, "--tag", "a", "--tag", "b").code == 0
    assert command("evolve", "--resume", "latest", "--tag", "c", *SMALL[-2:]).code == 0
    assert command("runs", "list", "--tag", "b", "--json").json[0]["tags"] == ["a", "b", "c"]


def test_the_front_of_an_interrupted_run_is_all_of_it(command, held_out):
    """More members than the newest population has."""
    flags = (*SMALL, "--generations", "20", "--runs", "longer")
    assert command("evolve", "--data", "csv:bars.csv", *flags).code == 0
    interrupt(next(Path("longer").glob("2*")))
    run = load_run("latest", runs="longer")
    assert run.generations["front"].iloc[-1] < len(run.front)
    shown = command("runs", "show", "latest", *flags[-2:]).out
    assert re.search(r"front +(\d+)", shown)[1] == str(len(run.front))


def test_verify_replays_members(command, held_out, path):
    """Whole with its bars, wherever they are now; without them only the record is."""
    whole = command("runs", "verify", "latest", "--individuals", "2", "--json")
    assert (whole.code, whole.json["is_whole"], whole.json["problems"]) == (0, True, [])
    assert whole.json["certificate"]["individuals"] == min(2, len(held_out["front"]))
    market = Path("bars.csv")
    write_market(market, seed=4)
    other = command("runs", "verify", "latest")
    assert (other.code, "data_hash: recorded '" in other.out) == (4, True)
    market.unlink()
    gone = command("runs", "verify", "latest", "--json")
    assert (gone.code, gone.json["is_whole"], gone.json["problems"]) == (4, False, [])
    assert "bars.csv" in command("runs", "verify", "latest").error
    record = command("runs", "verify", "latest", "--individuals", "0")
    assert (record.code, "0 mismatches" in record.out) == (0, False)
    Path("moved").mkdir()
    moved = write_market(Path("moved") / "bars.csv")
    assert command("runs", "verify", "latest", "--data", moved).code == 0
    forge(path, "result", lambda payload: payload["front"][0]["metrics"].update(trades=1))
    forged = command("runs", "verify", "latest", "--data", moved, "--json")
    assert (forged.code, forged.json["is_whole"]) == (4, False)
    assert "member 0.metrics.trades: recorded 1.0," in forged.json["problems"][0]
    flip(path, 1)
    assert "generation 1" in command("runs", "verify", "latest").error


CHANGES = {
    "figures": lambda path: change(
        path, "UPDATE record SET payload = CAST(replace(CAST(payload AS TEXT), "
        "'\"strength\":', '\"strength\":9') AS BLOB) WHERE kind = 'result'"
    ),
    "generation": lambda path: change(
        path, "UPDATE record SET whole = x'00' WHERE name = '2'"
    ),
}  # fmt: skip


@pytest.mark.parametrize("harm", CHANGES.values(), ids=CHANGES)
def test_a_result_that_was_changed_is_nowhere_shown(command, path, harm):
    """Neither with its digest alone, nor where a generation is another one."""
    harm(path)
    uses = ("show latest", "show latest --json", "export latest front.csv", "verify latest",
            "export latest front.journal")  # fmt: skip
    for use in (*(f"runs {use}" for use in uses), "report latest"):
        outcome = command(*use.split())
        assert outcome.code == 4, use
        assert outcome.out == "" or "verify" in use, use
    assert not list(Path().glob("front.*"))


def test_a_loss_is_said_by_each_command_and_page(command, path, caplog):
    """An older state of the database was put back: judged anew it stays said."""
    shutil.copy(path / "run.sqlite", "before")
    judge_briefly(path)
    shutil.copy("before", path / "run.sqlite")
    with RunStore.open(path) as store:
        said = store.verify()
    assert said
    assert command("judge", "latest", "--folds", "0", "--null", "0").code == 0
    assert said[0] in command.refuse(4, "runs", "verify", path)
    caplog.clear()
    run = load_run(str(path))
    assert set(said) <= set(run.losses)
    assert said[0] in caplog.text
    assert said[0] in "".join(fact.value for fact in summarize(run) if fact.tone == "grave")
    assert said[0] in command("runs", "list", "--json").json[0]["damaged"]
    for words in (["runs", "show", path], ["runs", "export", path, "x.csv"], ["report", path]):
        outcome = command(*words)
        assert (outcome.code, outcome.err.count(said[0])) == (0, 1), outcome


def test_a_report_takes_the_place_of_a_link(command, path):
    """Whatever the link of a run from elsewhere names is as it was."""
    Path("precious").write_text("mine")
    os.symlink(Path("precious").resolve(), path / "report.html")
    assert command("report", "latest").code == 0
    assert Path("precious").read_text() == "mine"
    assert (path / "report.html").read_text().startswith("<!doctype html>")
    assert not (path / "report.html").is_symlink()


LISTED = {
    "blanks at the ends": " a ",
    "wide blank": "a\u00a0b",
    "umlaut, one sign": "L\u00e4ufe",
    "umlaut, two signs": "La\u0308ufe",
    "Chinese": "\u8dd1\u6b65",
    "emoji": "\U0001f680",
    "dot first": ".hidden",
    "dots": "a..b",
    "dash first": "-x",
    "flag": "--help",
    "quotes": """it's "so" `x`""",
    "longest": "x" * 255,
    "percent": "100%41",
    "hash and question": "a#b?c=d&e",
    "colon": "btc:wide",
    "colon and number": "btc:3",
    "backslash": "a\\b",
    "markup": "<b>'&amp;{{ run }}[red]<img src=x>",
    "pattern": "*[a]?$HOME",
    "null word": "None",
}

BAD, LINK, WORD = "rename", "links are not followed", "'latest' stands for"
LEFT_OUT = {
    "end of a line": ("a\nb", BAD),
    "escape": ("a\x1b[2Jb", BAD),
    "turned": ("a\u202eb", BAD),
    "no UTF-8": (os.fsdecode(b"bad\xff"), BAD),
    "LATEST": ("LATEST", WORD),
    "link": ("linked", LINK),
}


@pytest.fixture
def place(command, recordings):
    """A command in a folder with a run that is called `other`."""
    os.rename(recordings.copy("noise")["path"], "runs/other")
    return command


def rename(name):
    """A younger copy of the run by that name."""
    return shutil.copytree("runs/other", Path("runs") / name)


def said(outcome):
    """Both streams, of which no sign commands a terminal."""
    text = outcome.out + outcome.err
    assert "Traceback" not in text
    assert not [sign for sign in text if not (sign.isprintable() or sign in "\n\t\u00a0")]
    return text


def test_a_run_of_any_name_is_listed_and_found(place):
    """By its name, by a path, by completion, in Python and on a page."""
    for name in LISTED.values():
        rename(name)
    listed = {run["id"]: run for run in place("runs", "list", "--json").json}
    assert {run["status"] for run in listed.values()} == {"finished"}
    assert {run["damaged"] for run in listed.values()} == {""}
    assert set(listed) == {"other", *LISTED.values()}
    text = said(place("runs", "list"))
    with serving(Path("runs")) as asker:
        for name in LISTED.values():
            assert name[:20] in text
            assert name in run_names(SimpleNamespace(params={}), name[:-1])
            assert optimizer.load_run(name).id == name
            for words in (("--", name), (str(Path("runs") / name),)):
                shown = place("runs", "show", "--json", *words)
                assert (shown.code, shown.json["result"]["run"]) == (0, name), shown
            assert asker.ask(f"/run/{quote(name, safe='')}").code == 200


@pytest.mark.parametrize(("name", "why"), LEFT_OUT.values(), ids=LEFT_OUT)
def test_a_run_that_is_left_out_is_named_with_the_reason(place, name, why):
    """In lists, on the page, and by whatever command names it; its path still finds it."""
    if name == "linked":
        shutil.copytree("runs/other", "elsewhere")
        os.symlink(Path("elsewhere").resolve(), "runs/linked")
    else:
        rename(name)
    shown = name if name.isprintable() else repr(name)[1:-1]
    listed = {run["id"]: run for run in place("runs", "list", "--json").json}
    assert set(listed) == {"other", shown}
    assert (listed[shown]["status"], why in listed[shown]["damaged"]) == ("left out", True)
    (line,) = [one for one in said(place("runs", "list")).splitlines() if why in one]
    assert line.startswith(f"{shown}: ")
    assert optimizer.load_run("latest").id == "other"
    for words in ("runs show", "runs delete --yes", "evolve --resume"):
        if why is not WORD:
            outcome = place(*words.split(), name)
            assert (outcome.code, why in said(outcome)) == (4, True), outcome
    assert place("runs", "show", f"runs/{name}").code == 0
    with serving(Path("runs")) as asker:
        for asked in (shown, os.fsencode(name)):
            answer = asker.ask(f"/run/{quote(asked, safe='')}/report")
            assert (answer.code, "<" in answer.text) == (404, False)
    assert os.path.lexists(f"runs/{name}")


HOSTILE = Path('-it\'s "my" $(touch pwned) `id`\n\\x\u00e4')

PRINTED = {
    "evolve --data csv:{at}/bars.csv --holdout 20% --runs {at}/more": ("looked at: ", 0),
    "runs show {run}": ("looked at: ", 0),
    "runs show {at}/stopped": ("go on with: ", 0),
    "runs export {at}/stopped {at}/a.csv": ("no result yet: ", 0),
    "runs export {run} {at}/a.journal": ("look at it: ", None),
    "signal {run}": ("opened it: ", None),
    "data import csv:{at}/bars.csv --into {at}/kept": ("use them with ", None),
    "strategies new {at}/idea": ("check it: ", 0),
}
"""Commands, the mark before what they print to copy, and the exit code of that, where it runs."""


@pytest.fixture
def hostile_place(recordings, command):
    """A folder of a hostile name that holds bars, a finished run and one that was stopped."""
    HOSTILE.mkdir()
    made = recordings.copy("held out")
    shutil.copy("bars.csv", HOSTILE)
    shutil.copytree(made["path"], HOSTILE / "stopped")
    os.rename(made["path"], HOSTILE / made["run"])
    interrupt(HOSTILE / "stopped")
    return {"at": f"./{HOSTILE}", "run": f"./{HOSTILE / made['run']}"}


def paste(text):
    """Words that bash makes of a text, which does nothing else."""
    shown = subprocess.run(["bash", "-c", f"printf '%s\\0' {text}"], capture_output=True)
    assert shown.stderr == b""
    return [os.fsdecode(word) for word in shown.stdout.split(b"\0")[:-1]]


@pytest.mark.slow
@pytest.mark.parametrize("asked", PRINTED)
def test_what_is_printed_can_be_pasted(command, hostile_place, asked):
    """Its words name the folder, none is taken for a flag, and the command ends well."""
    mark, code = PRINTED[asked]
    more = SMALL if asked.startswith("evolve") else ()
    outcome = command(*(word.format(**hostile_place) for word in asked.split()), *more)
    printed = outcome.out + outcome.err
    assert mark in printed, printed
    words = paste(printed.partition(mark)[2].partition("\n")[0])
    (named,) = [word for word in words if str(HOSTILE) in word]
    assert Path(named).parts[0] == str(HOSTILE)
    assert words[0] != "python" or not named.startswith("-")
    if code is not None:
        assert words[:3] == ["python", "-m", "optimizer"]
        again = command(*words[3:])
        assert again.code == code, again.err
    assert not Path("pwned").exists()
    if "strategies" in asked:
        # The head of the file says how to check and search it.
        for line in (HOSTILE / "idea.py").read_text().splitlines()[2:4]:
            assert f"{hostile_place['at']}/idea.py" in paste(line.partition(":")[2])
