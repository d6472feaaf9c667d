"""Runs as a stranger sends them: with another header, every digest right."""

import shutil
from pathlib import Path

from optimizer.run import trust
from optimizer.store import RunStore

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
    for folder in ("columns", "rows"):
        if (Path(path) / folder).is_dir():
            shutil.copytree(Path(path) / folder, target / folder, dirs_exist_ok=True)
    return target


def become_stranger(monkeypatch, folder):
    """Forget whatever was trusted: from now on this is another user, of that folder."""
    monkeypatch.setenv("XDG_DATA_HOME", str(folder))
    monkeypatch.setattr(trust, "_SESSION", {})
    return trust.trust_file()
