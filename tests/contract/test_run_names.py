"""Folders of runs by any name: every command finds them, or says why they are left out."""

import errno
import json
import os
import shutil
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import quote, urlencode

import pytest

import optimizer
from data.files import name_draft
from optimizer.cli.flags import run_names
from tests.support.commands import SMALL
from tests.support.viewing import serving

LISTED = {
    "blank": "my run",
    "blanks at the ends": " a ",
    "wide blank": "a\u00a0b",
    "umlaut, one sign": "L\u00e4ufe",
    "umlaut, two signs": "La\u0308ufe",
    "Chinese": "\u8dd1\u6b65",
    "emoji": "\U0001f680",
    "dot first": ".hidden",
    "dot last": "ends.",
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
    "as JSON": '{"a":1}',
}

BAD, LINK, WORD = "cannot be printed: rename", "links are not followed", "'latest' stands for"
LEFT_OUT = {
    "end of a line": ("a\nb", BAD),
    "escape": ("a\x1b[2Jb", BAD),
    "turned": ("a\u202eb", BAD),
    "joined emoji": ("\U0001f468\u200d\U0001f467", BAD),
    "no UTF-8": (os.fsdecode(b"bad\xff"), BAD),
    "latest": ("latest", WORD),
    "LATEST": ("LATEST", WORD),
    "link": ("linked", LINK),
    "closed": ("closed", "cannot be opened (Permission denied)"),
}

DRAFT = name_draft("my run")
NO_RUNS = ("group", DRAFT, "dangling", "circle")


@pytest.fixture
def place(command, recordings):
    """A command in a folder with a run that is called `other`, and what makes more."""
    result = recordings.copy(*SMALL)
    os.rename(result["path"], "runs/other")
    return command


def rename(name):
    """A younger copy of the run by that name."""
    return shutil.copytree("runs/other", Path("runs") / name)


def begin(name):
    """The shortest beginning of a name that tells it from `other`."""
    return next(
        name[:size] for size in range(1, len(name) + 1) if not "other".startswith(name[:size])
    )


QUICK = (
    ("runs", "show", "--", "RUN"),
    ("runs", "show", "--", "BEGIN"),
    ("runs", "show", "--json", "PATH"),
    ("runs", "tag", "--", "RUN", "word"),
    ("runs", "tag", "--", "RUN"),
    ("runs", "note", "--", "RUN", "seen"),
    ("runs", "export", "--", "RUN", "front.csv"),
    ("runs", "compare", "--", "other", "RUN"),
    ("runs", "verify", "--individuals", "0", "--", "RUN"),
)
"""Commands that take a run, by name, by the beginning of a name, and by path."""

SLOW = (
    ("runs", "export", "--", "RUN", "study.journal"),
    ("report", "--", "RUN"),
    ("backtest", "--run", "PATH", "--member", "0"),
    ("signal", "--", "RUN:0"),
    ("portfolio", "--", "RUN:0", "other:0", "RUN"),
    ("judge", "--folds", "0", "--blocks", "0", "--", "RUN"),
    ("evolve", "--no-judge", "--no-report", "--resume=RUN"),
)
"""Others, which compute: they run for the worst names."""

WORST = (LISTED["umlaut, two signs"], LISTED["dash first"], LISTED["colon"], LISTED["markup"])


def said(outcome):
    """Both streams, of which no sign commands a terminal."""
    text = outcome.out + outcome.err
    assert "Traceback" not in text
    assert not [sign for sign in text if not (sign.isprintable() or sign in "\n\t\u00a0")]
    return text


@pytest.mark.parametrize("name", LISTED.values(), ids=LISTED)
def test_each_command_finds_a_run_by_its_name(place, name):
    """Lists, pages, completion and Python too; at last it is deleted, and the other stays."""
    path = rename(name)
    words = {"RUN": name, "BEGIN": begin(name), "PATH": str(path), "RUN:0": f"{name}:0"}
    for arguments in (*QUICK, *(SLOW if name in WORST else ())):
        given = [words.get(one, one.replace("=RUN", f"={name}")) for one in arguments]
        outcome = place(*given)
        said(outcome)
        assert outcome.code in ((0, 10, 11, 6) if arguments[0] == "signal" else (0,)), outcome
    assert json.loads(path.joinpath("labels.json").read_text())["note"] == "seen"
    listed = {run["id"]: run for run in place("runs", "list", "--json").json}
    assert (listed[name]["status"], listed[name]["damaged"]) == ("finished", "")
    assert set(listed) == {"other", name}
    assert name[:20] in said(place("runs", "list"))
    context = SimpleNamespace(params={})
    assert name in run_names(context, begin(name))
    assert optimizer.load_run(name).id == name
    with serving(Path("runs")) as asker:
        at = f"/run/{quote(name, safe='')}"
        assert (asker.ask(at).code, asker.ask(f"{at}/report").code) == (200, 200)
        both = urlencode([("run", "other"), ("run", name)])
        assert asker.ask(f"/compare/data?{both}").code == 200
        assert asker.post(f"{at}/labels", json.dumps({"tags": [], "note": "page"})).code == 200
    assert optimizer.load_run(name).note == "page"
    assert place("runs", "delete", "--yes", "--", name).code == 0
    assert os.listdir("runs") == ["other"]


class ClosedFolders:
    """The operating system, which does not let us into folders of that name."""

    def __getattr__(self, name):
        return getattr(os, name)

    def lstat(self, path):
        """As `os.lstat`."""
        if path.parent.name == "closed":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return os.lstat(path)


@pytest.mark.parametrize(("name", "why"), LEFT_OUT.values(), ids=LEFT_OUT)
def test_a_run_that_is_left_out_is_named_with_the_reason(place, monkeypatch, name, why):
    """In lists, on the page, and by whatever asks for it; its path still finds it."""
    if name == "linked":
        shutil.copytree("runs/other", "elsewhere")
        os.symlink(Path("elsewhere").resolve(), "runs/linked")
    else:
        rename(name)
    if name == "closed":
        # Root may open all.
        monkeypatch.setattr("optimizer.store.listing.os", ClosedFolders())
    shown = name if name.isprintable() else repr(name)[1:-1]
    listed = {run["id"]: run for run in place("runs", "list", "--json").json}
    assert set(listed) == {"other", shown}
    assert listed[shown]["status"] == "left out"
    assert why in listed[shown]["damaged"]
    (line,) = [one for one in said(place("runs", "list")).splitlines() if why in one]
    assert line.startswith(f"{shown}: ")
    assert optimizer.load_run("latest").id == "other"
    for words in ("runs show", "runs delete --yes", "runs export", "report", "evolve --resume"):
        if why is not WORD:
            outcome = place(*words.split(), name, *(["x.csv"] if "export" in words else []))
            assert (outcome.code, why in said(outcome)) == (4, True), outcome
    assert place("runs", "show", f"runs/{name}").code == 0
    with serving(Path("runs")) as asker:
        answer = asker.ask(f"/run/{quote(shown, safe='')}/report")
        assert (answer.code, why in answer.text) == (404, True)
        assert asker.ask(f"/run/{quote(os.fsencode(name))}/report").code == 404
    assert os.path.lexists(f"runs/{name}")


def test_folders_without_a_run_are_not_named(place):
    """A run inside a folder, a draft, and links to nothing."""
    shutil.copytree("runs/other", "runs/group/inner")
    shutil.copytree("runs/other", f"runs/{DRAFT}")
    os.symlink("nothing", "runs/dangling")
    os.symlink("circle", "runs/circle")
    assert [run["id"] for run in place("runs", "list", "--json").json] == ["other"]
    for name in NO_RUNS:
        assert "there is no run" in place("runs", "show", name).error
    assert place("runs", "show", "x" * 10_000).code == 4


def test_accents_are_found_however_they_are_encoded(place):
    """And one that two names share is refused, unless it is one of them."""
    rename("L\u00e4ufe")
    assert place("runs", "show", "La\u0308u").code == 0
    rename("La\u0308ufe")
    assert "begins more than one run" in place("runs", "show", "L\u00e4u").error
    assert optimizer.load_run("La\u0308ufe").id == "La\u0308ufe"
