"""A run from elsewhere is data: nothing of it is run, asked, written to, or fills memory."""

import shutil
from pathlib import Path

import pytest

from optimizer import load_run
from optimizer.errors import StoreError
from optimizer.run import trust
from optimizer.store import RunStore
from strategy.errors import StrategyError
from tests.support.commands import SMALL
from tests.support.hostile import (
    CANARY,
    READERS,
    Mutator,
    Watch,
    harm_arrays,
    limited_memory,
    read_hostile,
)
from tests.support.own_files import momentum_file

WRITES = "open({!r}, 'w').close()\n"
DATA = ("--data", "csv:bars.csv")
SERIES = ("--data", "polygon:X:ADAUSD", "--from", "2024-01-01", "--to", "2024-03-01")
BRIEF = (("runs", "verify", "{}"), ("backtest", "{}", "--member", "0"))
REPLAYS = [
    ("report", "{}"),
    ("runs", "verify", "{}"),
    ("judge", "{}", "--folds", "0", "--blocks", "0", "--null", "0", "--quiet"),
    ("backtest", "{}", "--member", "0"),
    ("parity", "--run", "{}"),
    ("runs", "export", "{}", "member.py", "--as", "backtesting.py"),
    ("evolve", "--resume", "{}", "--generations", "3", "--no-judge"),
    ("runs", "show", "{}"),
    ("runs", "show", "{}", "--importance"),
    ("runs", "compare", "{}", "{}"),
    ("runs", "list"),
    ("evolve", "--warm-start", "{}", "--population", "8", "--generations", "0", "--no-judge"),
]
"""All commands that read a run."""
WRITERS = [words for words in REPLAYS if words[0] == "evolve"]


@pytest.fixture
def canary(tmp_path):
    """A file that exists once code of a record has run."""
    return tmp_path / "it_ran"


def forge(path, name, change):
    """A run beside another one, of a header that `change` made; gives its folder."""
    target = Path(path).with_name(name)
    with RunStore.open(Path(path)) as store:
        header = change(dict(store.header))
        with RunStore.create(target.parent, name, header) as forged:
            for summary in store.generations():
                forged.record(store.generation(summary.number))
            forged.finish(store.result)
            for title, payload in store.evidence:
                forged.add_evidence(title, payload)
            forged.flush()
    if (Path(path) / "columns").is_dir():
        shutil.copytree(Path(path) / "columns", target / "columns", dirs_exist_ok=True)
    return target


def become_stranger(monkeypatch, folder):
    """Forget whatever was trusted: from now on this is another user, of that folder."""
    monkeypatch.setenv("XDG_DATA_HOME", str(folder))
    monkeypatch.setattr(trust, "_SESSION", {})
    return trust.trust_file()


def replay(command, path, *more, commands=REPLAYS):
    """Run commands that read a run; what each printed."""
    outcomes = [command(*(word.format(path) for word in words), *more) for words in commands]
    assert {outcome.code for outcome in outcomes} <= {0, 2, 3, 4}
    return [outcome.out + outcome.err for outcome in outcomes]


def change_header(**fields):
    """A change of a header, those of its command in a field of that name."""
    return lambda header: {
        **header, **fields, "command": {**header["command"], **fields.get("command", {})},
    }  # fmt: skip


@pytest.mark.slow
def test_no_value_of_a_record_names_what_is_run_or_written(command, noise, canary):
    """Neither the configuration, the strategy's name nor its file, beside the run or elsewhere."""
    path = Path(noise["path"])
    text = WRITES.format(str(canary)) + momentum_file()
    deploy = Path("deploy.py").resolve()
    deploy.write_text(text)
    place = {"path": "deploy.py", "folder": str(deploy.parent), "text": text,
             "has_functions": True, "sha256": "0" * 64}  # fmt: skip
    elsewhere = deploy.with_name("elsewhere")
    named = {"strategy": "deploy.py:MOMENTUM"}
    places = {"runs": f"{elsewhere}/runs", "cache": f"{elsewhere}/cache"}
    changes = {
        "all": change_header(command=named, strategy=str(deploy), strategy_file=None),
        "places": change_header(command=places),
        "place": change_header(command={"strategy": "deploy.py"}, strategy_file=place),
    }  # fmt: skip
    for title, change in changes.items():
        forged = forge(path, f"{title}-sent", change)
        commands = {"all": REPLAYS, "places": WRITERS}.get(title, BRIEF)
        replay(command, forged, *DATA, commands=commands)
        if title != "place":
            # The files that a trusted run names are bars and columns, and no file is code.
            command("runs", "verify", forged, "--trust")
            replay(command, forged, commands=WRITERS if title == "places" else BRIEF)
        assert not canary.exists(), title
    # Neither to the folder of runs nor to the cache that its sender had.
    assert not elsewhere.exists()


@pytest.mark.slow
def test_python_of_a_record_runs_once_it_is_trusted(command, recordings, tmp_path, monkeypatch):
    """By its digest, for this user; until then everything else is shown, and how to trust."""
    shutil.copy(recordings.record("noise")[0] / "bars.csv", "bars.csv")
    canary = tmp_path / "it_ran"
    begun = WRITES.format(str(canary)) + momentum_file()
    Path("idea.py").write_text(begun)
    made = command("evolve", *DATA, *SMALL, "--strategy", "idea.py", "--json")
    path = Path(made.json["path"])
    canary.unlink()
    Path("idea.py").unlink()
    # What a person ran here needs no word, in any later command.
    monkeypatch.setattr(trust, "_SESSION", {})
    assert "0 mismatches" in command("runs", "verify", path).out
    canary.unlink()
    remembered = become_stranger(monkeypatch, tmp_path / "stranger")
    replay(command, path, *DATA)
    for words in (("runs", "verify"), ("backtest", "--run"), ("parity", "--run")):
        outcome = command(*words, path, *DATA)
        assert "--trust" in outcome.out + outcome.err
    assert "stop" in command("runs", "show", path, "--member", "0").out
    assert command("report", path, *DATA, "--out", "page.html").code == 0
    assert "trust" in Path("page.html").read_text()
    with pytest.raises(StoreError, match="trust"):
        load_run(str(path), data="csv:bars.csv").trades(0)
    assert not canary.exists()
    assert not remembered.exists()
    assert "0 mismatches" in command("runs", "verify", path, *DATA, "--trust").out
    assert canary.exists()
    monkeypatch.setattr(trust, "_SESSION", {})
    assert command("backtest", "--run", path, "--member", "0").code == 0
    # Another text is another digest.
    canary.unlink()
    other = forge(path, "other-text", lambda header: {
        **header,
        "strategy_file": {**header["strategy_file"], "text": begun + "# another\n"},
    })  # fmt: skip
    assert "--trust" in command("runs", "verify", other, *DATA).out
    assert not canary.exists()
    with pytest.raises(StrategyError, match="another text"):
        load_run(str(other), data="csv:bars.csv", trust=True).trades(0)


@pytest.mark.slow
def test_files_that_only_a_record_names_are_not_read(command, noise, tmp_path, monkeypatch):
    """Bars, columns and individuals to begin with: a person names them, or trusts the run."""
    path = noise["path"]
    become_stranger(monkeypatch, tmp_path / "stranger")
    for printed in replay(command, path, commands=BRIEF):
        assert "--data" in printed
        assert "--trust" in printed
    assert "0 mismatches" in command("runs", "verify", path, *DATA).out
    assert command("report", path, "--out", "page.html").code == 0
    assert "was not begun here" in Path("page.html").read_text()
    assert "0 mismatches" in command("runs", "verify", path, "--trust").out
    assert command("backtest", path, "--member", "0").code == 0


@pytest.mark.slow
def test_a_run_asks_no_vendor(command, vendor, tmp_path):
    """What the cache lacks is named with the command that fetches it; no key is spent.

    That holds for a run of one's own as for any other: only a person who names bars asks for them.
    """
    made = command.succeed("evolve", *SERIES, *SMALL, "--json")
    path, calls = Path(made.json["path"]), len(vendor.calls)
    assert "0 mismatches" in command("runs", "verify", path).out
    elsewhere = tmp_path / "elsewhere"
    forged = forge(path, "cache-sent", change_header(command={"cache": str(elsewhere)}))
    # Bars of this user's own cache are no file that the record names.
    assert "0 mismatches" in command("runs", "verify", forged).out
    other = {"data": ["polygon:X:BTCUSD"], "cache": str(elsewhere)}
    other = forge(path, "symbol-sent", change_header(command=other))
    replay(command, other, commands=WRITERS)
    assert "data fetch polygon:X:BTCUSD" in command.refuse(3, "backtest", other, "--member", "0")
    command("runs", "verify", other, "--trust")
    replay(command, other, commands=BRIEF)
    assert len(vendor.calls) == calls
    assert not elsewhere.exists()
    assert command("backtest", other, "--member", "0", *SERIES[:2]).code == 0


@pytest.fixture(scope="module")
def watch(tmp_path_factory):
    """What hears this process; it cannot be taken off again, so there is one."""
    return Watch(tmp_path_factory.getbasetemp())


@pytest.fixture
def place(tmp_path, monkeypatch, recordings):
    """A folder with a recorded run, here and once read, so that all modules are there."""
    folder, _ = recordings.record(*(flag for flag in SMALL if flag != "--no-judge"), *JUDGED)
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    recorded = next((tmp_path / "runs").glob("*/run.sqlite")).parent
    recorded.rename(tmp_path / "runs" / "sound")
    monkeypatch.chdir(tmp_path)
    shutil.copytree("runs/sound", "runs/changed")
    return tmp_path


JUDGED = ("--null", "0", "--folds", "2", "--population", "32", "--keep", "all")
"""Enough trials to tell genes apart."""


def test_a_changed_run_harms_nobody(place, watch, mutations):
    """Every command ends soon, in one line and with a documented code, and writes only here."""
    # The first run of a command imports modules, and may ask the system what it is.
    read_hostile(watch)
    # Its strategy comes from no file.
    readers = [command for command in READERS if command[1] != "source"]
    assert read_hostile(watch, readers, codes=(0,)) == []
    faults = []
    with limited_memory():
        for seed in range(mutations):
            shutil.rmtree("runs/changed")
            shutil.copytree("runs/sound", "runs/changed")
            Mutator(place / CANARY, seed).change(place / "runs/changed/run.sqlite")
            faults += [f"seed {seed}: {fault}" for fault in read_hostile(watch, choose(seed))]
            if (place / CANARY).exists():
                faults.append(f"seed {seed}: a text of the record was executed")
                (place / CANARY).unlink()
    assert not faults, "\n".join(faults)


def choose(seed, commands=READERS, parts=5):
    """The list of runs and one of several parts of other commands, in turns."""
    return (commands[0], *commands[1 + seed % parts :: parts])


ONCE_HARMFUL = (4, 12, 21, 25, 41, 63, 81, 141, 286)
"""Seeds of genes and memories that are none, and of objectives whose squares are too great."""


def test_changed_numbers_harm_nobody(place, watch, mutations):
    """As above, where the numbers of populations are others and their digests too."""
    read_hostile(watch)
    faults = []
    with limited_memory():
        for seed in (*ONCE_HARMFUL, *range(mutations // 10)):
            shutil.rmtree("runs/changed")
            shutil.copytree("runs/sound", "runs/changed")
            harm_arrays(place / "runs/changed/run.sqlite", seed)
            faults += [f"seed {seed}: {fault}" for fault in read_hostile(watch, choose(seed))]
    assert not faults, "\n".join(faults)
