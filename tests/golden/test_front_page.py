"""What the first page shows is what its command prints: repeated, it finds the same front."""

import re
import shlex

import pytest

from tests.golden.test_golden import PLATFORM
from tests.support.commands import run
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


@pytest.mark.slow
@pytest.mark.golden
def test_the_first_page_shows_what_is_printed(tmp_path, request):
    """Every figure, the hash of the front among them; ``--bless`` writes it anew."""
    if PLATFORM != WRITTEN_ON:
        pytest.skip(f"written on {WRITTEN_ON}, this is {PLATFORM}")
    page = PAGE.read_text(encoding="utf-8")
    match = SHOWN.search(page)
    printed = run(*shlex.split(match["asked"]), cwd=tmp_path).out
    printed = "".join(f"{line.rstrip()}\n" for line in printed.splitlines())
    printed = CUT.sub("...", printed)
    if request.config.getoption("--bless"):
        page = page[: match.start("shown")] + printed + page[match.end("shown") :]
        PAGE.write_text(page, encoding="utf-8")
    else:
        assert remove_timings(match["shown"]) == remove_timings(printed)


@pytest.mark.slow
@pytest.mark.golden
def test_the_tutorial_shows_what_is_printed(tmp_path):
    """Its commands one after the other as they stand; each line that it shows, in its order."""
    if PLATFORM != WRITTEN_ON:
        pytest.skip(f"written on {WRITTEN_ON}, this is {PLATFORM}")
    page, printed, shown = TUTORIAL.read_text(encoding="utf-8"), "", 0
    for kind, block in re.findall(r"```(bash|text)\n(.*?)```", page, re.S):
        if kind == "bash":
            for line in filter(None, block.splitlines()):
                if line.startswith("python -m optimizer"):
                    outcome = run(*shlex.split(line)[3:], cwd=tmp_path)
                    assert outcome.code == 0, outcome.err
                    printed += outcome.out
            printed += "".join(path.read_text() for path in tmp_path.glob("*.csv"))
            continue
        words, place = " ".join(remove_timings(printed).split()), 0
        for line in remove_timings(block).splitlines():
            expected = " ".join(line.removesuffix("...").split())
            place = words.find(expected, place)
            assert place >= 0, line
            shown += 1
        printed = ""
    assert shown > 30
