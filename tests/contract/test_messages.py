"""One page of all errors and refusals: `tests/golden/messages.txt`, commands and what they answer.

The test runs each command of the page and compares the line. A person writes the headings, with
the recorded run that lies in the folder and the exit code, the commands and their files;
`pytest tests/contract/test_messages.py --bless` writes all answers anew.
"""

import re
import shlex
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.paths import ROOT

PAGE = ROOT / "tests" / "golden" / "messages.txt"

HEADING, FILE, COMMAND, ANSWER = "## ", "> ", "$ ", "  "
"""Beginnings of lines: of a heading, a file with its content, a command, its answer."""

CHANGING = {
    r"\d{8}-\d{6}-[0-9a-f]{6}": "RUN",
    r"\b[0-9a-f]{64}\b": "SHA256",
    r"machine has \d+, use 1 to \d+": "machine has N, use 1 to N",
}
"""Words that differ from session to session or machine to machine, and what the page has."""


class Message(NamedTuple):
    """A command, the files that it reads, and its answer."""

    files: dict[str, str]
    command: str
    answer: str


def read_page():
    """Messages of the page by heading."""
    sections, files = {}, {}
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith(HEADING):
            messages = sections[line.removeprefix(HEADING)] = []
        elif line.startswith(FILE):
            name, _, content = line.removeprefix(FILE).partition(" ")
            files[name] = content.replace("\\n", "\n")
        elif line.startswith(COMMAND):
            messages.append(Message(files, line.removeprefix(COMMAND), ""))
            files = {}
        elif line.startswith(ANSWER):
            messages[-1] = messages[-1]._replace(answer=line.removeprefix(ANSWER))
    return sections


def list_files():
    """Names of all files of the folder, with their sizes."""
    return {path: path.stat().st_size for path in Path().rglob("*") if path.is_file()}


def ask(command, message, code):
    """The answer to a command, which wrote nothing but one line on stderr."""
    for name, content in message.files.items():
        Path(name).write_text(content, encoding="utf-8")
    before = list_files()
    outcome = command(*shlex.split(message.command))
    assert (outcome.code, outcome.out) == (code, ""), (message.command, outcome)
    assert list_files() == before, message.command
    for name in message.files:
        Path(name).unlink()
    answer = outcome.error.replace(f"{Path.cwd()}/", "")
    for pattern, word in CHANGING.items():
        answer = re.sub(pattern, word, answer)
    assert "a defect of the optimizer" not in answer, message.command
    return answer


@pytest.mark.parametrize("heading", read_page())
def test_each_refusal_is_the_line_of_the_page(command, recordings, request, heading):
    """With the exit code of its heading, on stderr alone, and no file is written or changed."""
    name, code = re.fullmatch(r"(.+), exit code (\d+)", heading).groups()
    if name != "nothing":
        recordings.copy(name)
    messages = read_page()[heading]
    answers = [ask(command, message, int(code)) for message in messages]
    if request.config.getoption("bless"):
        write_answers(heading, answers)
        return
    told = [(message.command, message.answer) for message in messages]
    assert [(m.command, answer) for m, answer in zip(messages, answers, strict=True)] == told


def write_answers(heading, answers):
    """Write the answers of one heading anew."""
    lines, rest, is_here = [], iter(answers), False
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith(HEADING):
            is_here = line == HEADING + heading
        if not (is_here and line.startswith(ANSWER)):
            lines.append(line)
        if is_here and line.startswith(COMMAND):
            lines.append(ANSWER + next(rest))
    PAGE.write_text("\n".join([*lines, ""]), encoding="utf-8")
