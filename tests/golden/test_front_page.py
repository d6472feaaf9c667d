"""What the first page shows is what its command prints: repeated, it finds the same front."""

import re
import shlex

import pytest

from tests.golden.test_fronts import PLATFORM
from tests.support.commands import Commands
from tests.support.paths import ROOT

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
