"""Ideas that agents tried in a folder of runs, each noted before its result is known."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from data.files import taking_turns
from optimizer.atomic_write import write_whole
from optimizer.errors import ConfigError
from optimizer.formatting import format_count
from optimizer.store.payload import Payload
from optimizer.store.searches import LARGEST_BYTES, note_try, read_list, write_list

FOLDER, TRIED = "ideas", "tried.json"

DIGITS = 16

MOST_GENE_BYTES = 20_000
"""Bytes of all genes of a try, as the list of tries has them."""


@dataclass(frozen=True)
class Try(Payload):
    """A backtest or a search of an idea."""

    when: str  # ISO time
    idea: str  # digest of its text
    tool: Literal["backtest", "search"]
    genes: Mapping[str, float | str]  # of a backtest; those not named have their default


@dataclass(frozen=True)
class Ideas:
    """Texts of ideas and the list of tries in a folder of runs."""

    runs: Path

    def keep(self, text: str) -> Path:
        """File of an idea, written if new."""
        path = self.runs / FOLDER / f"idea_{hash_text(text)}.py"
        if not path.is_file():
            path.parent.mkdir(parents=True, exist_ok=True)
            # Always and first, so that each word is one of the language, on the text's own line.
            write_whole(path, f"from strategy.words import *; {text}", may_follow=False)
        return path

    def note(
        self, text: str, tool: Literal["backtest", "search"], genes: Mapping[str, float | str]
    ) -> None:
        """Note a try; a backtest counts as a question of the folder, as a search does by itself.

        Raises:
            ConfigError: When the list could not hold the genes.
            StoreError: When the list cannot be read or written.
        """
        _check_genes(genes)
        now = datetime.now(UTC).isoformat(timespec="seconds")
        made = Try(now, hash_text(text), tool, genes)
        path = self.runs / FOLDER / TRIED
        with taking_turns(path.parent):
            known = read_list(path, LARGEST_BYTES, "tries of agents", Try.read)
            write_list(path, [one.payload() for one in (*known, made)])
        if tool == "backtest":
            note_try(self.runs, hash_text(json.dumps([text, genes], sort_keys=True)))

    def describe(self) -> str:
        """Sentence on all tries.

        Raises:
            StoreError: When the list cannot be read.
        """
        tries = read_list(self.runs / FOLDER / TRIED, LARGEST_BYTES, "tries of agents", Try.read)
        counts = [
            format_count(sum(one.tool == tool for one in tries), noun)
            for tool, noun in (("backtest", "backtest"), ("search", "search"))
        ]
        ideas = format_count(len({one.idea for one in tries}), "idea")
        return f"{ideas} tried in this folder, by {' and '.join(counts)}."


def _check_genes(genes: Mapping[str, float | str]) -> None:
    """Refuse genes that would make the list of tries unreadable."""
    try:
        if any("\0" in f"{name}{value}" for name, value in genes.items()):
            raise ValueError
        size = len(json.dumps(genes, ensure_ascii=False, allow_nan=False).encode())
    except ValueError:
        raise ConfigError("genes must be finite numbers or words") from None
    if size > MOST_GENE_BYTES:
        raise ConfigError(f"genes have {size:,} bytes, {MOST_GENE_BYTES:,} at most")


def hash_text(text: str) -> str:
    """Name of a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]


def require_run_id(text: str) -> str:
    """The id of a run, or ``latest``; never a path.

    Raises:
        ConfigError: When it is neither.
    """
    # A minus in front would be a flag of the command.
    if not re.fullmatch(r"[0-9A-Za-z][0-9A-Za-z-]*", text):
        raise ConfigError(
            f"run {text[:40]!r}: name the id of a run, as list_runs has it, or latest"
        )
    return text
