"""The page about the vendor, tried literally: every block, as it stands, in a shell."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from data.vendor.account import check_url
from tests.support.paths import FINDS, ROOT
from tests.support.vendor import running_vendor

PAGE = (ROOT / "data" / "vendor" / "README.md").read_text(encoding="utf-8")
FIRST_PAGE = (ROOT / "README.md").read_text(encoding="utf-8")
SHELL = re.compile(r"^```bash\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BLOCKS = SHELL.findall(PAGE)


@pytest.fixture
def shell(tmp_path):
    """Run a script as a person would, with a vendor on loopback in the configuration."""
    with running_vendor() as vendor:
        vendor.key = re.search(r"POLYGON_API_KEY=(\S+)", PAGE)[1]
        settings = tmp_path / "config" / "exhaustion-optimizer" / "vendors.toml"
        settings.parent.mkdir(parents=True)
        settings.write_text(f'[polygon]\nurl = "{vendor.url}"\ncalls_per_minute = 1000\n')
        env = {
            **os.environ,
            **FINDS,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "XDG_CONFIG_HOME": str(tmp_path / "config"),
            "XDG_CACHE_HOME": str(tmp_path / "cache"),
        }

        def run(script):
            return subprocess.run(
                ["bash", "-e", "-c", script], cwd=tmp_path, env=env, capture_output=True, text=True
            )

        yield run


@pytest.mark.slow
def test_every_command_of_the_page_does_what_it_says(shell):
    """All blocks, one after the other in one shell, end well."""
    assert len(BLOCKS) == 3
    done = shell("\n".join(BLOCKS))
    assert done.returncode == 0, done.stderr
    assert "seller_exhaustion on X:ADAUSD 15m, 35,040 bars" in done.stdout
    assert "0 mismatches" in done.stdout
    assert "prices not adjusted for splits" in done.stdout


def test_the_first_page_shows_the_same_key_and_symbol(command):
    """What stands in README.md is a command that exists, with the key's variable."""
    block = next(block for block in SHELL.findall(FIRST_PAGE) if "polygon" in block)
    assert block.splitlines()[0] == BLOCKS[0].splitlines()[0]
    assert block.splitlines()[1] in BLOCKS[0]


def test_the_settings_of_the_page_are_legal():
    """The example of vendors.toml is TOML whose address may have the key."""
    example = re.search(r"^```toml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)[1]
    settings = tomllib.loads(example)["polygon"]
    assert set(settings) == {"api_key", "calls_per_minute", "url"}
    assert check_url(settings["url"]) == settings["url"]


def test_every_option_that_the_page_names_exists(command):
    """Flags that are renamed are renamed here too."""
    known = command("evolve", "--help-all").out + command("data", "fetch", "--help-all").out
    assert {flag for flag in re.findall(r"--[a-z][a-z-]+", PAGE) if flag not in known} == set()
