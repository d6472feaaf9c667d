"""Tools that an agent calls over stdio; each is a command of this program, with limits.

An agent names no file: bars, costs and held-out bars are the owner's, strategies are text that is
words alone, runs are named by their ids in one folder, which keeps each idea and its tries.
"""

import hashlib
import json
import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import ValidationError

from data.errors import DataError
from data.files import taking_turns
from optimizer.agents.bounded import CallLimits, Outcome, run_bounded
from optimizer.atomic_write import write_whole
from optimizer.errors import ConfigError, OptimizerError
from optimizer.evidence.betting import DEFAULT_SEARCHES
from optimizer.formatting import format_count
from optimizer.store.files import read_owner
from optimizer.store.listing import list_run_folders
from optimizer.store.payload import Payload
from optimizer.store.searches import LARGEST_BYTES, note_try, read_list, write_list
from strategy.errors import StrategyError
from strategy.words_only import require_words_only

FOLDER, TRIED = "ideas", "tried.json"

NAME_DIGITS = 16

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

        Genes that the list could not hold are refused.
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
        """Sentence on all tries."""
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
    return hashlib.sha256(text.encode()).hexdigest()[:NAME_DIGITS]


def require_run_id(text: str) -> str:
    """The id of a run, or ``latest``; never a path."""
    # A minus in front would be a flag of the command.
    if not re.fullmatch(r"[0-9A-Za-z][0-9A-Za-z-]*", text):
        raise ConfigError(
            f"run {text[:40]!r}: name the id of a run, as list_runs has it, or latest"
        )
    return text


INSTRUCTIONS = """Search trading strategies on bars of the owner, and find out whether what you find
is luck. Begin with describe_data. Write an idea in words of the language, mend it with
check_strategy, then search it and judge the run. A backtest of one candidate says nothing about
luck, and each that you make is counted: the more ideas you try, the more evidence a later one
needs. Say what judge says, with the number of ideas that were tried."""

SHOWN = (
    "trades", "mean_r", "strength", "total_return", "max_drawdown_marked", "win_rate",
    "profit_factor", "sharpe_daily", "trades_per_year",
)  # fmt: skip
"""Metrics of a candidate."""

LONGEST_TEXT, LONGEST_ERROR, MOST_RUNS, DIGITS = 6_000, 600, 20, 5

MARGIN_S = 15.0
"""Seconds of a search that are left for its certificate."""

OURS = (OptimizerError, DataError, StrategyError, OSError)
"""Errors that tell an agent what to mend."""

Json = dict[str, Any]


@dataclass(frozen=True)
class OwnerSettings:
    """Settings by the owner of the machine."""

    runs: Path
    bars: tuple[str, ...]  # flags of the bars and of their reading
    trades: tuple[str, ...]  # flags of what decides trades, bars included
    search: tuple[str, ...]  # flags of what decides a search, all of the above included
    limits: CallLimits
    most_candidates: int  # that a search evaluates
    may_run_python: bool = False


class _Tools(MCPServer):
    """A server with refusals of one line."""

    async def call_tool(self, *call: Any, **named: Any) -> Any:  # noqa: ANN401 - the library's own
        """Answer by `MCPServer`, an error in one line."""
        try:
            return await super().call_tool(*call, **named)
        except ToolError as error:
            raise ToolError(_shorten_error(error)) from None


def _shorten_error(error: ToolError) -> str:
    cause = error.__cause__
    if isinstance(cause, ValidationError):
        first = cause.errors()[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"[:LONGEST_ERROR]
    if cause is not None and not isinstance(cause, OURS):
        return f"a defect of the optimizer: {type(cause).__name__}; tell the owner"
    text = str(cause or error).removeprefix("Error executing tool ")
    return " ".join(text.split())[:LONGEST_ERROR]


def build_server(owner: OwnerSettings) -> MCPServer:
    """The server with all its tools."""
    server = _Tools("optimizer", instructions=INSTRUCTIONS, log_level="ERROR")
    desk = Desk(owner)
    tools = (
        desk.describe_data, desk.check_strategy, desk.backtest, desk.search, desk.judge,
        desk.find_expected, desk.signal, desk.list_runs,
    )  # fmt: skip
    for tool in tools:
        server.add_tool(tool, tool.__name__.removeprefix("find_"), structured_output=False)
    return server


class Desk:
    """The tools, one method each; an agent reads their docstrings."""

    def __init__(self, owner: OwnerSettings) -> None:
        self._owner, self._ideas = owner, Ideas(owner.runs)

    async def describe_data(self) -> str:
        """Bars that you may search, and limits: symbols, range, duration. Begin here."""
        bars = json.loads((await self._run("data", "show", *self._owner.bars, "--json")).out)
        shown = bars if isinstance(bars, list) else [bars]
        names = ("symbol", "timeframe", "bars", "first bar opens", "last bar opens", "simulated")
        return _answer(
            {
                "bars": [_choose(one, *names) for one in shown[:MOST_RUNS]],
                "most_candidates": self._owner.most_candidates,
                "most_seconds": self._owner.limits.seconds,
                "tried": self._ideas.describe(),
            },
            "write an idea and call check_strategy",
        )

    async def check_strategy(self, text: str) -> str:
        """Check the text of a strategy; it is recorded, not traded, and counts as no try.

        The text gives names to words, such as: IDEA = strategy("Buys a dip.", long=(close >
        sma(close, length("slow", 200, 50, 400))) & (rsi(close, 14) < gene("sold", 35, 15, 45)),
        stop=beyond_bar(1.5 * rma(true_range, 14)), target=r_multiple(2), max_hold=48). A search
        varies gene(name, default, low, high) and length(...). No import, function or loop.
        """
        path = self._keep(text)
        said = (await self._run("strategies", "check", str(path), *self._owner.trades)).out
        return _answer({"said": said[:LONGEST_TEXT]}, "search it; or mend it and check again")

    async def backtest(self, text: str, genes: dict[str, float | str] | None = None) -> str:
        """Trade one candidate of a strategy; genes that are not named have their default.

        It is counted as a try, and says nothing about luck.
        """
        path, values = self._keep(text), genes or {}
        flags = [flag for name, value in values.items() for flag in ("--set", f"{name}={value}")]
        self._ideas.note(text, "backtest", values)
        ended = await self._run(
            "backtest", "--strategy", str(path), *self._owner.trades, *flags, "--json"
        )
        result = json.loads(ended.out)
        # An undefined one is missing there.
        metrics = {name: result["metrics"].get(name) for name in SHOWN}
        return _answer(
            {"genes": result["genes"], "metrics": metrics, "tried": self._ideas.describe()},
            "search it, then judge the run: one backtest is no evidence",
        )

    async def search(
        self,
        text: str | None = None,
        population: int = 64,
        generations: int = 20,
        resume: str | None = None,
    ) -> str:
        """Search the genes of a strategy for its best candidates; the run is recorded.

        Give the text, or the id of a run to go on with.
        """
        if (text is None) == (resume is None):
            raise ConfigError("name a text to search, or a run to resume")
        known = set(list_run_folders(self._owner.runs))
        if text is None:
            run = require_run_id(resume or "")
            words = ["evolve", "--resume", run, "--runs", str(self._owner.runs)]
        else:
            self._check_size(population, generations)
            path = self._keep(text)
            self._ideas.note(text, "search", {})
            seconds = max(1.0, self._owner.limits.seconds - MARGIN_S)
            words = [
                "evolve", "--strategy", str(path), *self._owner.search, "--population",
                str(population), "--generations", str(generations), "--max-seconds", f"{seconds:g}",
                "--runs", str(self._owner.runs),
            ]  # fmt: skip
        words += ["--no-judge", "--no-report", "--json", "--quiet"]
        ended = await self._run(*words, is_whole=False)
        if ended.stopped:
            begun = self._find_begun(known, ended.pid)
            stopped = {"run": resume or begun, "stopped": ended.stopped}
            return _answer(stopped, "search with the run as resume goes on; without one, ask less")
        result = json.loads(ended.out)
        pick = result["judgement"].get("pick")
        answer = {
            "run": result["run"],
            "candidates": result["evaluated"],
            "members": len(result["front"]),
            "pick": pick and _choose(pick, "genes", "strength", "trades", "mean_r"),
            "tried": self._ideas.describe(),
        }
        step = f"judge run {result['run']}" if pick else "the front is empty: change the idea"
        return _answer(answer, step)

    async def judge(self, run: str = "latest", null: int = DEFAULT_SEARCHES) -> str:
        """Test a run for luck: the same search on copies of the bars without an edge.

        It may take long; after a stop the same call goes on. Held-out bars stay closed.
        """
        name = require_run_id(run)
        if not 0 <= null <= self._owner.most_candidates:
            raise ConfigError(f"null must be from 0 to {self._owner.most_candidates:,}, got {null}")
        words = ("judge", name, *self._in_runs, "--null", str(null), "--json")
        ended = await self._run(*words, is_whole=False)
        if ended.stopped:
            return _answer({"run": run, "stopped": ended.stopped}, "the same call goes on")
        said = json.loads(ended.out)
        judgement = said["judgement"]
        verdict, ledger = judgement["verdict"], {"tried": 0, **judgement["ledger"]}
        answer = {
            "run": said["run"],
            **_choose(verdict, "grade", "sentence", "reasons"),
            "tried": self._ideas.describe(),
            "ledger": _choose(ledger, "searches", "tried", "believed", "is_believed"),
        }
        good = verdict["grade"] in ("weak", "holds", "robust")
        step = (
            f"expected and signal of run {said['run']}"
            if good
            else "drop it; another idea counts too"
        )
        return _answer(answer, step)

    async def find_expected(self, run: str = "latest") -> str:
        """Mean R a trade that the pick of a judged run will earn, with its interval of 80 %."""
        words = ("runs", "show", require_run_id(run), *self._in_runs, "--json")
        shown = json.loads((await self._run(*words)).out)
        judgement = (shown.get("result") or {}).get("judgement") or {}
        known = judgement.get("expected")
        step = "signal" if known else "judge the run: without null searches nothing is expected"
        return _answer({"run": run, "expected": known}, step)

    async def signal(self, run: str = "latest") -> str:
        """Where the pick of a run stands on the newest closed bars; no order is placed."""
        words = ("signal", require_run_id(run), *self._in_runs, "--json")
        said = json.loads((await self._run(*words)).out)
        shown = _choose(said, "run", "strategy", "genes", "verdict", "symbols", "notes", "about")
        return _answer(shown, "tell the owner; place no order")

    async def list_runs(self) -> str:
        """Runs of the folder, newest first, with their verdicts."""
        names = ("id", "status", "strategy", "verdict", "strength", "trades", "expected")
        runs = [_choose(one, *names) for one in (await self._list())[:MOST_RUNS]]
        return _answer({"runs": runs, "tried": self._ideas.describe()}, "judge the unjudged ones")

    @property
    def _in_runs(self) -> tuple[str, str]:
        return "--runs", str(self._owner.runs)

    def _keep(self, text: str) -> Path:
        """File of an idea, once its text is let through."""
        if not self._owner.may_run_python:
            require_words_only(text)
        return self._ideas.keep(text)

    def _check_size(self, population: int, generations: int) -> None:
        most = self._owner.most_candidates
        if min(population, generations + 1) < 1 or population * (generations + 1) > most:
            raise ConfigError(
                f"population x (generations + 1) must be from 1 to {most:,}, got "
                f"{population:,} x {generations + 1:,}"
            )

    def _find_begun(self, known: Collection[Path], pid: int) -> str | None:
        """Id of the run that a process began; the folder may have new ones of other clients."""
        for folder in list_run_folders(self._owner.runs):
            owner = read_owner(folder) if folder not in known else None
            if owner is not None and owner.pid == pid:
                return folder.name
        return None

    async def _list(self) -> list[Json]:
        listed: list[Json] = json.loads(
            (await self._run("runs", "list", *self._in_runs, "--json")).out
        )
        return listed

    async def _run(self, *words: str, is_whole: bool = True) -> Outcome:
        """Run a command; one with a time limit is refused beyond it."""
        ended = await run_bounded(words, self._owner.limits)
        if ended.stopped and is_whole:
            raise OptimizerError(f"{words[0]}: {ended.stopped}; ask for less")
        return ended


def _choose(values: Mapping[str, Any], *names: str) -> Json:
    return {name: values[name] for name in names}


def _answer(result: Mapping[str, Any], step: str) -> str:
    """Short JSON with the next step."""
    return json.dumps(_round({**result, "next": step}), ensure_ascii=False, allow_nan=False)


def _round(value: object) -> object:
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {name: _round(part) for name, part in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_round(part) for part in value]
    return value
