"""The pages about sources, tried literally: files as they stand there, commands as they stand."""

import re
import shlex
import tomllib

import pyarrow as pa
import pytest
from pyarrow import feather

from data.providers import ccxt_exchange
from data.vendor.account import check_url
from tests.support.exchange import FakeExchange, serve_exchange
from tests.support.paths import ROOT
from tests.support.series import make_columns

pytestmark = pytest.mark.slow

PAGE = (ROOT / "data" / "providers" / "README.md").read_text(encoding="utf-8")
VENDOR = (ROOT / "data" / "vendor" / "README.md").read_text(encoding="utf-8")
FIRST_PAGE = (ROOT / "README.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
FILE = re.compile(r"^`([^`\n]+)`\n\n```csv\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHELL = re.compile(r"^```bash\n(.*?)^```$", re.MULTILINE | re.DOTALL)
START = "python -m optimizer "


def commands_of(text):
    """Lines of all blocks of a page, in order."""
    return [line for block in SHELL.findall(text) for line in block.splitlines()]


def type_commands(command, lines):
    """What each line printed; all of them end well."""
    printed = []
    for line in lines:
        assert line.startswith(START), line
        # To judge a search takes long, and is no matter of its bars.
        briefly = ("--no-judge",) * line.startswith(f"{START}evolve")
        outcome = command(*shlex.split(line.removeprefix(START)), *briefly)
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


@pytest.mark.parametrize("section", [name for name in SECTIONS if SHELL.search(SECTIONS[name])])
def test_every_command_of_the_page_of_sources_ends_well(command, place, section):
    """Each line of each block, in order."""
    assert type_commands(command, commands_of(SECTIONS[section]))


def test_every_command_of_the_vendors_page_does_what_it_says(command, vendor, monkeypatch):
    """One after the other, with the key of its first line; the first page shows the same."""
    export, *lines = commands_of(VENDOR)
    variable, _, vendor.key = export.removeprefix("export ").partition("=")
    monkeypatch.setenv(variable, vendor.key)
    printed = "".join(type_commands(command, lines))
    assert "seller_exhaustion on X:ADAUSD 15m, 35,040 bars" in printed
    assert "0 mismatches" in printed
    assert "prices not adjusted for splits" in printed
    block = next(block for block in SHELL.findall(FIRST_PAGE) if "polygon" in block)
    assert all(line in VENDOR for line in block.splitlines()[:2])


def test_the_settings_of_the_vendors_page_are_legal():
    """The example of vendors.toml is TOML whose address may have the key."""
    example = re.search(r"^```toml\n(.*?)^```$", VENDOR, re.MULTILINE | re.DOTALL)[1]
    settings = tomllib.loads(example)["polygon"]
    assert set(settings) == {"api_key", "calls_per_minute", "url"}
    assert check_url(settings["url"]) == settings["url"]
