"""The pages lead somewhere, build without a warning, and run as they stand, notebooks too."""

import doctest
import importlib.util
import json
import os
import re
import shlex
import tomllib
from pathlib import Path

import pyarrow as pa
import pytest
import typer
from pyarrow import feather

from data.providers import ccxt_exchange
from data.vendor.client import check_url
from optimizer.cli.app import app
from tests.support.commands import printed, run, write_market
from tests.support.exchange import FakeExchange, serve_exchange
from tests.support.paths import FINDS, ROOT
from tests.support.series import make_columns

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


def list_commands(*pages):
    """Commands of some pages, as a person copies them."""
    blocks = [block for page in pages for block in BASH.findall(page.read_text(encoding="utf-8"))]
    lines = [part for block in blocks for line in block.splitlines() for part in line.split("&&")]
    return sorted({line.strip() for line in lines if line.strip().startswith(PROGRAM)})


def test_commands_of_pages_are_known():
    """With all their flags; other tests run them."""
    for line in list_commands(*PAGES):
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


PAGE = (ROOT / "data" / "providers" / "README.md").read_text(encoding="utf-8")
VENDOR = (ROOT / "data" / "vendor" / "README.md").read_text(encoding="utf-8")
FIRST_PAGE = (ROOT / "README.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
FILE = re.compile(r"^`([^`\n]+)`\n\n```csv\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def commands_of(text):
    """Lines of all blocks of a page, in order."""
    return [line for block in BASH.findall(text) for line in block.splitlines()]


def type_commands(command, lines):
    """What each line printed; all of them end well."""
    printed = []
    for line in lines:
        assert line.startswith(PROGRAM), line
        # To judge a search takes long, and is no matter of its bars.
        briefly = ("--no-judge",) * line.startswith(f"{PROGRAM}evolve")
        outcome = command(*shlex.split(line.removeprefix(PROGRAM)), *briefly)
        assert outcome.code == 0, (line, outcome.err)
        printed.append(outcome.out)
    return printed


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with every file of the page, a Feather file, and an exchange that answers."""
    for name, text in FILE.findall(PAGE):
        (tmp_path / name).write_text(text, encoding="utf-8")
    columns = make_columns(50, step_ns=3600 * 10**9)
    columns["date"] = pa.array(columns.pop("timestamp") // 10**6, pa.timestamp("ms", tz="UTC"))
    feather.write_feather(pa.table(columns), str(tmp_path / "BTC_USDT-1h.feather"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("data.cache.user_cache_path", lambda _: tmp_path / "cache")
    with serve_exchange(FakeExchange(2000)) as open_exchange:
        monkeypatch.setattr(ccxt_exchange, "open_exchange", open_exchange)
        yield tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("section", [name for name in SECTIONS if BASH.search(SECTIONS[name])])
def test_every_command_of_the_page_of_sources_ends_well(command, place, section):
    """Each line of each block, in order."""
    assert type_commands(command, commands_of(SECTIONS[section]))


@pytest.mark.slow
def test_every_command_of_the_vendors_page_does_what_it_says(command, vendor, monkeypatch):
    """One after the other, with the key of its first line; the first page shows the same."""
    export, *lines = commands_of(VENDOR)
    variable, _, vendor.key = export.removeprefix("export ").partition("=")
    monkeypatch.setenv(variable, vendor.key)
    printed = "".join(type_commands(command, lines))
    assert "seller_exhaustion on X:ADAUSD 15m, 35,040 bars" in printed
    assert "0 mismatches" in printed
    assert "prices not adjusted for splits" in printed
    block = next(block for block in BASH.findall(FIRST_PAGE) if "polygon" in block)
    assert all(line in VENDOR for line in block.splitlines()[:2])


@pytest.mark.slow
def test_the_settings_of_the_vendors_page_are_legal():
    """The example of vendors.toml is TOML whose address may have the key."""
    example = re.search(r"^```toml\n(.*?)^```$", VENDOR, re.MULTILINE | re.DOTALL)[1]
    settings = tomllib.loads(example)["polygon"]
    assert set(settings) == {"api_key", "calls_per_minute", "url"}
    assert check_url(settings["url"]) == settings["url"]


STRATEGIES = ROOT / "docs" / "howto" / "strategy.md"
FEW = ("--population", "16", "--generations", "2")


@pytest.mark.slow
def test_the_strategy_of_the_front_page_runs_from_a_file(command, market, tmp_path):
    """As it stands there, in a file of its own."""
    examples = doctest.DocTestParser().get_examples(FIRST_PAGE)
    parts = [example.source for example in examples]
    first = next(k for k, part in enumerate(parts) if "strategy.words" in part)
    (tmp_path / "mine.py").write_text("".join(parts[first : first + 3]))
    outcome = command.succeed("strategies", "check", "mine.py", "--data", market)
    assert "pullback: Buys a dip" in outcome.out


@pytest.mark.slow
@pytest.mark.parametrize("library", ["numpy", "talib", "pandas_ta_classic"])
def test_an_indicator_of_ones_own_runs_from_its_file(command, market, tmp_path, library):
    """As the page has it, in ten lines; the first goes all the way to a verdict."""
    pytest.importorskip(library, reason=f"{library} is not installed (extra 'dev')")
    blocks = re.findall(r"```python\n(import .*?)```", STRATEGIES.read_text(), re.DOTALL)
    (text,) = [block for block in blocks if f"import {library}" in block]
    assert len([line for line in text.splitlines() if line]) <= 10
    (tmp_path / "my_rsi.py").write_text(text)
    outcome = command.succeed("strategies", "check", "my_rsi.py", "--data", market)
    assert "0 mismatches" in outcome.out
    if library == "numpy":
        line = "evolve --strategy my_rsi.py --judge"
        assert f"python -m optimizer {line}\n" in STRATEGIES.read_text()
        outcome = command(*line.split(), "--data", market, *FEW, "--null", "3", "--json")
        assert outcome.json["judgement"]["verdict"]["sentence"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "line", [line for line in list_commands(ROOT / "README.md") if "polygon:" not in line]
)
def test_a_command_of_the_first_page_runs_as_it_stands(command, tmp_path, line, monkeypatch):
    """With bars under the name that it uses, and a run where it is about the latest."""
    write_market(tmp_path / "bars.csv")
    # Few null searches and generations: the rest would be more of the same.
    monkeypatch.setattr("optimizer.evidence.judge.DEFAULT_SEARCHES", 5)
    if line.split()[3] == "judge":
        flags = ("--population", 8, "--generations", 1, "--no-report", "--no-judge")
        assert command("evolve", "--holdout", "20%", *flags).code == 0
    if "pullback.py" in line:
        assert command("strategies", "new", "pullback").code == 0
    outcome = command(*shlex.split(line)[3:], *(FEW if line.split()[3] == "evolve" else ()))
    assert outcome.code == 0, outcome.err


NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


@pytest.fixture(scope="module")
def kernel(tmp_path_factory):
    """A process that runs notebooks one after the other, each without the names of others."""
    from jupyter_client import KernelManager  # takes seconds

    manager = KernelManager()
    manager.start_kernel(
        cwd=str(tmp_path_factory.mktemp("notebooks")),
        env={
            **os.environ,
            **FINDS,
            "PYDEVD_DISABLE_FILE_VALIDATION": "1",
        },
    )
    yield manager
    manager.shutdown_kernel(now=True)


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
@pytest.mark.filterwarnings("default")
def test_a_notebook_runs_from_top_to_bottom(path, kernel):
    """Every cell runs without an error; a search shows how far it is, then the run itself.

    Few candidates and generations: the rest would be more of the same.
    """
    import nbformat  # takes seconds
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        cell.source = re.sub(r"population=\d+", "population=24", cell.source)
        cell.source = re.sub(r"generations=\d+", "generations=2", cell.source)
    codes = [cell for cell in notebook.cells if cell.cell_type == "code"]
    notebook.cells.insert(0, nbformat.v4.new_code_cell("%reset -f"))
    client = NotebookClient(notebook, km=kernel, timeout=120)
    try:
        client.execute()
    finally:
        client.kc.stop_channels()
    assert sum(len(cell.outputs) for cell in codes) >= len(codes) - 2
    shown = str([cell.outputs for cell in codes])
    if path.stem == "fronts":
        assert "generation 2 of 2, strength" in shown or "judging: " in shown
        assert "Deepest drawdown" in shown


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_says_what_it_teaches(path):
    """The first cell states what will be learned; no cell defines a function."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    assert cells[0]["cell_type"] == "markdown"
    assert "You will learn" in "".join(cells[0]["source"])
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert not [cell for cell in code if "".join(cell["source"]).startswith("def ")]
    assert not [cell for cell in code if cell["outputs"]]


def test_all_notebooks_are_there():
    """What README names exists."""
    named = {"adaptive_trend", "fronts", "parity", "your_strategy"}
    assert {path.stem for path in NOTEBOOKS} == named
