"""Folders of runs by any name: every command finds them, or says why they are left out."""

import os
import shutil
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import quote

import pytest

import optimizer
from optimizer.cli.flags import run_names
from tests.support.viewing import serving

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
