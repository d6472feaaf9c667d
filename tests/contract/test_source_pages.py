"""The pages about sources, tried literally: files as they stand there, commands as they stand."""

import re
import shlex

import pyarrow as pa
import pytest
from pyarrow import feather

from data.providers import ccxt_exchange
from tests.support.exchange import FakeExchange, serve_exchange
from tests.support.paths import ROOT
from tests.support.series import make_columns

pytestmark = pytest.mark.slow

PAGE = (ROOT / "data" / "providers" / "README.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
FILE = re.compile(r"^`([^`\n]+)`\n\n```csv\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHELL = re.compile(r"^```bash\n(.*?)^```$", re.MULTILINE | re.DOTALL)
START = "python -m optimizer "
WITH_COMMANDS = [name for name, text in SECTIONS.items() if SHELL.search(text)]


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


@pytest.mark.parametrize("section", WITH_COMMANDS)
def test_every_command_of_a_page_does_what_it_says(command, place, section):
    """Each line of each block, in order, ends well."""
    lines = [line for block in SHELL.findall(SECTIONS[section]) for line in block.splitlines()]
    assert lines
    for line in lines:
        assert line.startswith(START), line
        outcome = command(*shlex.split(line.removeprefix(START)))
        assert outcome.code == 0, (line, outcome.err)


def test_every_file_of_the_page_is_used(place):
    """No file stands there for nothing."""
    commands = " ".join(" ".join(SHELL.findall(text)) for text in SECTIONS.values())
    names = [name for name, _ in FILE.findall(PAGE)]
    assert len(names) >= 9
    assert [name for name in names if name not in commands] == []


def test_every_option_that_the_page_names_exists(command):
    """Flags that are renamed are renamed here too."""
    commands = (("evolve",), ("data", "import"), ("data", "fetch"))
    known = "".join(command(*words, "--help-all").out for words in commands)
    named = set(re.findall(r"--[a-z][a-z-]+", PAGE))
    assert {flag for flag in named if flag not in known} == set()
