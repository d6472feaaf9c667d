"""What is shown: progress, words of numbers, text that commands no terminal, processes."""

import io
import os
import re
import sys
from types import SimpleNamespace

import pytest

from data import progress as module
from data.progress import Progress, Show
from data.vendor import client
from engine.accounts.account import UNSIZED
from engine.accounts.metrics import FORMULAS
from optimizer.cli.console import Lines
from optimizer.cli.progress import open_show
from optimizer.evidence.verdict import Verdict
from optimizer.formatting import EXPECTED, GRADE_WORDS, GRADES, MEANINGS
from optimizer.goals.objectives import OBJECTIVES
from optimizer.printable import clean_values, printable
from optimizer.processes import ROOT, safe_variables
from optimizer.run.runner import SearchPace
from optimizer.showing import choose_show
from optimizer.store.result import FIGURES

BEST = {"strength": 0.4227, "total_return": 0.4772, "max_drawdown": 0.0511}


class Terminal(io.StringIO):
    """A stream that claims to be a terminal."""

    def isatty(self):
        """Whether a person sees it."""
        return True


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still."""
    now = SimpleNamespace(seconds=100.0, monotonic=lambda: now.seconds)
    monkeypatch.setattr(module, "time", now)
    return now


def find_generation(number, **changes):
    """Progress of a search of eight generations."""
    return Progress("generation", number, 8, BEST, "front 7", **changes)


def test_lines_come_once_a_second(clock):
    """The first and the last always; the time left is that of the event, else of its pace."""
    stream = io.StringIO()
    show = open_show(Lines(stream))
    for number in range(9):
        show(find_generation(number, left_s=None if number else 125.0))
        clock.seconds += 0.4
    for done in (2, 5):
        show(Progress("judging: folds", done, 6, note="2 did as well so far"))
        clock.seconds += 3
    best = "strength 0.4227, total_return 47.72%, max_drawdown 5.11%, front 7"
    assert stream.getvalue().splitlines() == [
        f"generation 0 of 8, {best}, 2 min 5 s left",
        f"generation 3 of 8, {best}, 2 s left",
        f"generation 6 of 8, {best}, 1 s left",
        f"generation 8 of 8, {best}",
        "judging: folds 2 of 6, 2 did as well so far",
        "judging: folds 5 of 6, 2 did as well so far, 1 s left",
    ]


@pytest.mark.parametrize("term", ["xterm", "dumb"])
def test_a_terminal_shows_a_view_where_it_can_draw_one(monkeypatch, term):
    """It is taken away in the end, and says that a search stops; where TERM is dumb are lines."""
    monkeypatch.setenv("TERM", term)
    stream = Terminal()

    def draw(progress, *, is_stopping=False):
        show(progress)
        show.is_stopping = is_stopping
        before = stream.tell()
        show._live.refresh()
        return re.sub(r"\x1b\[[\d;?]*\w", "", stream.getvalue()[before:])

    with open_show(Lines(stream)) as show:
        if term == "dumb":
            show(find_generation(3))
            assert "generation 3 of 8, strength" in stream.getvalue()
            return
        for number in range(4):
            shown = draw(find_generation(number, left_s=20.0))
        for words in ("generation 3 of 8", "20 s left", "best total_return  47.72%", "front 7"):
            assert words in shown
        shown = draw(find_generation(14, left_s=20.0))
        assert "the same for 14 generations" in shown
        shown = draw(Progress("judging: folds", 2, 6))
        assert "judging" in shown
        assert "folds 2 of 6" in shown
        assert "best" not in shown
        assert "stopping" in draw(find_generation(4), is_stopping=True)
        assert "5 of 8" not in draw(find_generation(5), is_stopping=True)
        shown = stream.tell()
    assert "\x1b[2K" in stream.getvalue()[shown:]


def test_scripts_stay_silent(capsys, monkeypatch):
    """Only a notebook and an interactive session have a viewer, no script that loads Jupyter."""
    pytest.importorskip("ipykernel.kernelapp")
    monkeypatch.delattr(sys, "ps1", raising=False)
    with choose_show() as show:
        show(Progress("judging: folds", 0, 6))
    assert type(show) is Show
    assert capsys.readouterr() == ("", "")


def test_the_pace_is_that_of_the_newest_generations():
    """The first two, which compile, and those before the newest twenty say nothing of it."""
    pace = SearchPace()
    for seconds in (60.0, 30.0):
        pace.add(seconds, 10)
    assert (pace.estimate_seconds(3), pace.individuals_per_s > 0) == (None, False)
    for seconds in [4.0] * 5 + [2.0] * 20:
        pace.add(seconds, 10)
    assert (pace.estimate_seconds(3), pace.individuals_per_s, pace.evaluated) == (6.0, 5.0, 270)


def test_every_metric_and_objective_says_what_it_is():
    """No more names than there are, and none without words."""
    assert set(MEANINGS) == {*FIGURES, UNSIZED, EXPECTED, *OBJECTIVES, *FORMULAS}
    assert all(MEANINGS.values())


def test_every_grade_has_words_in_its_order_and_no_other_is_read():
    """Lists of runs are sorted by that order; another would be shown without colour and words."""
    assert [*GRADE_WORDS] == [*GRADES]
    assert [Verdict(grade, "").grade for grade in GRADE_WORDS] == [*GRADES]
    with pytest.raises(ValueError, match="grade"):
        Verdict("latest", "")


KEY = "abcdef0123456789"


@pytest.mark.parametrize("sign", ["\x1b", "\x9b", "\u202e", "\u2066", "\r", "\u2028"])
def test_signs_that_command_a_terminal_are_shown_as_a_question(sign):
    """Escapes, C1, signs of direction and whatever moves the cursor."""
    assert printable(f"a{sign}[2Jb") == "a?[2Jb"


def test_values_of_a_record_stay_in_one_line():
    """Also names of a mapping; numbers are as they were."""
    value = {"a\nb\x1b": ["x\ny", 1.5, None, {"z": "\u202e"}]}
    assert clean_values(value) == {"a b?": ["x y", 1.5, None, {"z": "?"}]}


@pytest.mark.parametrize(
    "text",
    [
        "https://api.host/v2?limit=5&apiKey={}",
        "status 403: Authorization: Bearer {}",
        "api_key = '{}'",
        "https://name:{}@host/bars.csv",
        "wss://{}@host",
        '{{"access_token": "{}"}}',
        "password={}",
    ],
)
def test_a_secret_by_its_name_is_hidden(text):
    """In an address, a header, a file or JSON."""
    shown = printable(text.format(KEY))
    assert KEY not in shown
    assert "(hidden)" in shown


def test_a_secret_that_is_known_is_hidden_anywhere(monkeypatch):
    """Of the environment, and of the vendor's account."""
    monkeypatch.setenv("SOME_API_KEY", KEY)
    assert KEY not in printable(f"no such file {KEY}.csv")
    monkeypatch.delenv("SOME_API_KEY")
    monkeypatch.setattr(client, "READ_KEYS", {KEY})
    assert KEY not in printable(f"no such file {KEY}.csv")
    monkeypatch.setattr(client, "READ_KEYS", set())
    assert KEY in printable(f"no such file {KEY}.csv")


def test_other_text_is_as_it_was():
    """Words that only sound like a secret."""
    for text in ("https://host/a:b", "seed: recorded 1, now 2", 'write api_key = "..." into x', ""):
        assert printable(text) == text


def test_a_child_finds_our_packages_where_this_process_found_them(tmp_path, monkeypatch):
    """Another checkout that an environment names comes after the working folder, as here."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(sys, "path", ["", str(tmp_path)])
    assert safe_variables()["PYTHONPATH"].split(os.pathsep) == [ROOT, str(tmp_path)]
    monkeypatch.chdir(tmp_path)
    assert safe_variables()["PYTHONPATH"].split(os.pathsep) == [ROOT]
