"""The pages lead somewhere and build without a warning; the packages carry what they need."""

import importlib.util
import json
import re
import shlex
from pathlib import Path

import pytest
import typer

from optimizer.cli.app import app
from tests.support.commands import printed, run
from tests.support.paths import ROOT

PACKAGES = ("data", "strategy", "engine", "optimizer")
PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *(ROOT / "notebooks").glob("*.md"),
        *(page for folder in ("docs", *PACKAGES) for page in (ROOT / folder).rglob("*.md")),
    ]
)
BASH = re.compile(r"```bash\n(.*?)```", re.DOTALL)
PROGRAM = "python -m optimizer "
TOOLS = ("sphinx", "furo", "myst_parser")

SHIPPED = """
import json
from setuptools import Distribution
from setuptools.config.pyprojecttoml import apply_configuration
ours = apply_configuration(Distribution({"script_name": "setup.py"}), "pyproject.toml")
ours.include_package_data = False  # else a manifest is written beside the packages
found = ours.get_command_obj("build_py")
found.ensure_finalized()
beside = [f"{folder}/{name}" for _, folder, _, names in found.data_files for name in names]
print(json.dumps([*found.get_source_files(), *beside]))
"""


def headings(page):
    """The names by which code hosts and pages link the headings of a page."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    lines = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", line.lower()).replace(" ", "-") for line in lines}


def test_links_lead_somewhere():
    """To a file of the repository, and to a heading where they name one."""
    for page in PAGES:
        text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        for name, _, heading in re.findall(r"\]\(([^)\s:#]*)(#([^)\s]+))?\)", text):
            target = (page.parent / name).resolve() if name else page
            assert target.exists(), (page, name)
            assert not heading or heading in headings(target), (page, name, heading)


def commands():
    """Commands of all pages, as a person copies them."""
    blocks = [block for page in PAGES for block in BASH.findall(page.read_text(encoding="utf-8"))]
    lines = [part for block in blocks for line in block.splitlines() for part in line.split("&&")]
    return sorted({line.strip() for line in lines if line.strip().startswith(PROGRAM)})


def test_commands_of_pages_are_known():
    """With all their flags; other tests run them."""
    for line in commands():
        words = [word for word in shlex.split(line.removeprefix(PROGRAM)) if word != "$CLUSTER"]
        command, name = typer.main.get_command(app), ""
        while hasattr(command, "commands"):
            name, *words = words
            command = command.commands[name]
        command.make_context(name, words)


@pytest.mark.slow
def test_pages_build_without_a_warning(tmp_path):
    """Reference and links included; nothing is written but what is asked for."""
    if missing := [name for name in TOOLS if importlib.util.find_spec(name) is None]:
        pytest.skip(f"not installed: {', '.join(missing)}")
    words = ("-m", "sphinx", "--fail-on-warning", "-q", "-b", "dummy", "docs", tmp_path)
    built = run(cwd=ROOT, program=words)
    assert (built.code, built.err) == (0, "")


def test_packages_carry_every_file_of_theirs():
    """Sample, types, page of the report and the law; nothing from elsewhere."""
    expected = {
        str(file.relative_to(ROOT))
        for name in PACKAGES
        for file in (ROOT / name).rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    assert expected == {str(Path(file)) for file in json.loads(printed(SHIPPED))}
