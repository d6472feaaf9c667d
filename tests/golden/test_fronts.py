"""Blessed fronts of short searches, by their hash, and the front that the first page shows.

They compare only on the platform that the file names. `pytest tests/golden --bless` is their only
writer; the commit explains why they moved.
"""

import json
import platform
import re
import shlex
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from data import Window, load_bars
from engine.accounts.metrics import compute_metrics, measure_span
from engine.batch import Engine
from optimizer.goals.objectives import Goals, parse_objectives
from optimizer.search.evolution import front_hash
from optimizer.search.generation import final_front
from strategy import STRATEGIES
from strategy.indicators.windows import zscore
from strategy.rows import as_it_reads
from tests.support.commands import SHIPPED, Commands
from tests.support.paths import ROOT
from tests.support.searches import evolve, settings

FILE = Path(__file__).with_name("fronts.json")
PLATFORM = f"{sys.platform} {platform.machine()}"

BARS = load_bars("sample")
# A number that is known at each bar's close stands in for a forecast.
BARS = replace(BARS, extra={"forecast": as_it_reads(zscore)(BARS.close, 96) / 8})
WINDOWS = [Window.whole(BARS)]
SETTINGS = settings(population=32, generations=10, seed=1)


class SampleProblem:
    """The default problem on the sample, without configuration or store."""

    def __init__(self, spec):
        self.layout, self.goals = (
            spec.layout,
            Goals(parse_objectives("sharpe_trade,total_return,max_drawdown"), min_trades=10),
        )
        self.n_objectives, self.failure_names = 3, self.goals.failure_names
        self.engine = Engine(spec, [BARS], WINDOWS)
        self.span = measure_span(BARS, WINDOWS[0])

    def evaluate(self, genomes):
        """Judge genomes [P, G]."""
        return self.goals.judge(compute_metrics(self.engine.evaluate(genomes), [self.span]))


def evolve_front(name):
    """The front after ten generations of 32: members and hash."""
    *_, last = evolve(SampleProblem(STRATEGIES[name]), SETTINGS)
    front = final_front(last)
    return {"members": len(front), "front_hash": front_hash(front.genomes, front.objectives)}


@pytest.fixture(scope="module")
def blessed(request):
    """Fronts by strategy, written anew when asked for."""
    if request.config.getoption("--bless"):
        fronts = {"platform": PLATFORM} | {name: evolve_front(name) for name in sorted(SHIPPED)}
        FILE.write_text(json.dumps(fronts, indent=1) + "\n", encoding="utf-8")
    return json.loads(FILE.read_text(encoding="utf-8"))


@pytest.mark.golden
@pytest.mark.parametrize("name", sorted(SHIPPED))
def test_search_finds_the_blessed_front(name, blessed):
    """The same seed gives the same front on the platform that blessed it."""
    if blessed["platform"] != PLATFORM:
        pytest.skip(f"blessed on {blessed['platform']}, this is {PLATFORM}")
    assert evolve_front(name) == blessed[name]


PAGE, TUTORIAL = ROOT / "README.md", ROOT / "docs" / "tutorial.md"
SHOWN = re.compile(
    r"```text\n(?P<shown>.*?)```\n\nThat is `python -m optimizer (?P<asked>[^`]+)`", re.S
)
CUT = re.compile(r"(?<=Their genes\n).*?(?=\ncertificate: )", re.S)
"""What the page leaves out."""

WRITTEN_ON = "linux x86_64"


def remove_timings(text):
    """Without what differs from run to run: times, what a first run compiles, the run's name."""
    text = re.sub(r", and \d+\.\d s of compiling", "", text)
    text = re.sub(r"in \d+\.\d s|\(about \d+ s\)", "in a moment", text)
    return re.sub(r"\d{8}-\d{6}-[0-9a-f]{6}", "RUN", text)


def read_commands(block):
    """Arguments of each command of a block."""
    lines = filter(None, block.splitlines())
    return [shlex.split(line)[3:] for line in lines if line.startswith("python -m optimizer")]


def check_shown(block, printed):
    """Each line that a block shows was printed, in its order; how many these are."""
    words, place = " ".join(remove_timings(printed).split()), 0
    lines = remove_timings(block).splitlines()
    for line in lines:
        expected = " ".join(line.removesuffix("...").split())
        place = words.find(expected, place)
        assert place >= 0, line
    return len(lines)


@pytest.mark.slow
@pytest.mark.golden
def test_the_pages_show_what_is_printed(capsys, tmp_path, monkeypatch, request):
    """The tutorial's commands as they stand, one of which README shows with every figure.

    The hash of the front is among them; ``--bless`` writes README anew.
    """
    if PLATFORM != WRITTEN_ON:
        pytest.skip(f"written on {WRITTEN_ON}, this is {PLATFORM}")
    monkeypatch.chdir(tmp_path)
    command = Commands(capsys)
    page, tutorial = PAGE.read_text(encoding="utf-8"), TUTORIAL.read_text(encoding="utf-8")
    match, outcomes = SHOWN.search(page), {}
    printed, shown = "", 0
    for kind, block in re.findall(r"```(bash|text)\n(.*?)```", tutorial, re.S):
        if kind == "text":
            shown, printed = shown + check_shown(block, printed), ""
            continue
        for arguments in read_commands(block):
            outcome = command(*arguments)
            assert outcome.code == 0, outcome.err
            outcomes[" ".join(arguments)] = outcome.out
            printed += outcome.out
        printed += "".join(path.read_text() for path in tmp_path.glob("*.csv"))
    assert shown > 30
    lines = outcomes[match["asked"]].splitlines()
    front = CUT.sub("...", "".join(f"{line.rstrip()}\n" for line in lines))
    if request.config.getoption("--bless"):
        page = page[: match.start("shown")] + front + page[match.end("shown") :]
        PAGE.write_text(page, encoding="utf-8")
    else:
        assert remove_timings(match["shown"]) == remove_timings(front)
