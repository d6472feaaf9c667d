"""Progress is a view in a terminal, a line a second elsewhere, nothing for a script."""

import io
import re
import sys
from types import SimpleNamespace

import pytest

from data import progress as module
from data.progress import Progress, Show
from optimizer.cli.console import Lines
from optimizer.cli.progress import open_show
from optimizer.run.runner import SearchPace
from optimizer.showing import choose_show

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
    """Only a notebook and an interactive session have a viewer."""
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
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
