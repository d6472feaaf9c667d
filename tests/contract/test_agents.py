"""Tools for an agent: a session by the official client, refusals, limits, two at once, kills."""

import json
import math
import os
import shutil
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import anyio
import psutil
import pytest

from optimizer.errors import OptimizerError
from optimizer.store.listing import list_runs
from optimizer.store.searches import list_noted
from tests.support.commands import write_market
from tests.support.paths import FINDS

pytestmark = pytest.mark.slow

IDEA = """IDEA = strategy(
    "Buys a dip.",
    long=(close > sma(close, length("slow", 100, 50, 200)))
    & (rsi(close, 14) < gene("sold", 40, 25, 60)),
    stop=beyond_bar(1.5 * rma(true_range, 14)),
    target=r_multiple(gene("reward", 2, 0.5, 4)),
    max_hold=48,
)
"""

ENDLESS = "a = close\n" + "a = a + a\n" * 60 + IDEA.replace("close >", "a >")


OTHER = Path("runs/20000101-000000-abcdef")
"""A run of another client."""


def run_apart(function, *arguments):
    """Outcome of a coroutine function; in a thread of its own, as a browser may hold this one."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(anyio.run, function, *arguments).result()


@pytest.fixture
def bars(tmp_path, monkeypatch):
    """Bars of a market, named by the owner, in the folder of the test."""
    pytest.importorskip("mcp")
    monkeypatch.chdir(tmp_path)
    return write_market(tmp_path / "bars.csv", 3000)


@pytest.fixture
def desk(bars):
    """Function that makes the tools with some limits."""
    # Beside the extra.
    from optimizer.agents.bounded import CallLimits
    from optimizer.agents.server import Desk, OwnerSettings

    def make(seconds=120, memory=8 * 10**9, most=200_000):
        data = ("--data", bars)
        limits = CallLimits(seconds, memory)
        return Desk(
            OwnerSettings(Path("runs"), data, data, (*data, "--min-trades", "3"), limits, most)
        )

    return make


def connect(bars):
    """The official client, over stdio, with a server of its own."""
    from mcp import Client
    from mcp.client.stdio import StdioServerParameters

    words = ["-m", "optimizer", "mcp", "--data", bars, "--min-trades", "3"]
    env = {**os.environ, **FINDS}
    return Client(StdioServerParameters(command=sys.executable, args=words, env=env))


async def ask(client, tool, is_error=False, **arguments):
    """The answer of a tool as JSON, or the line of its refusal."""
    result = await client.call_tool(tool, arguments)
    (content,) = result.content
    assert result.is_error is is_error, content.text
    return content.text if is_error else json.loads(content.text)


def test_a_whole_session(bars):
    """Describe, write an idea, mend its errors, backtest, search, judge, signal."""

    async def session():
        async with connect(bars) as client:
            described = await ask(client, "describe_data")
            assert described["bars"][0]["bars"] == 3000
            wrong = await ask(client, "check_strategy", True, text=IDEA.replace("rsi", "rsj"))
            assert wrong == "line 4: there is no word 'rsj'; did you mean 'rsi'?"
            checked = await ask(client, "check_strategy", text=IDEA)
            assert "3 genes" in checked["said"]
            assert list_noted(Path("runs")) == []
            traded = await ask(client, "backtest", text=IDEA, genes={"sold": 45})
            assert (traded["genes"]["sold"], traded["metrics"]["trades"] > 0) == (45, True)
            for sold in (45, 46):
                await ask(client, "backtest", text=IDEA, genes={"sold": sold})
            found = await ask(client, "search", text=IDEA, population=16, generations=2)
            judged = await ask(client, "judge", run=found["run"], null=0)
            assert judged["tried"] == "1 idea tried in this folder, by 3 backtests and 1 search."
            # The same candidate twice is one question, the search another.
            assert judged["ledger"]["searches"] == 3
            assert judged["ledger"]["tried"] == 2
            assert (await ask(client, "expected"))["expected"] is None
            state = await ask(client, "signal")
            assert state["run"] == found["run"]
            listed = await ask(client, "list_runs")
            assert [run["id"] for run in listed["runs"]] == [found["run"]]
            for said in (described, checked, traded, found, judged, state, listed):
                assert said["next"]
            await refuse_all(client)

    run_apart(session)
    assert {path.name for path in Path().iterdir()} == {"bars.csv", "runs"}


async def refuse_all(client):
    """Malformed calls, huge texts, and paths: a line each, and nothing is recorded."""
    before = list_noted(Path("runs"))
    calls = [
        ("nothing", {}, "Unknown tool: nothing"),
        ("check_strategy", {}, "text: Field required"),
        ("backtest", {"text": 7}, "text: "),
        ("backtest", {"text": "import os\nos.system('true')"}, "line 1: only words"),
        ("search", {"text": "a" * 10**6}, "the text has 1,000,000 characters"),
        ("search", {}, "name a text to search, or a run to resume"),
        ("search", {"text": IDEA, "population": 10**9}, "population x (generations + 1) must be"),
        ("search", {"resume": "../runs"}, "run '../runs': name the id of a run"),
        ("judge", {"run": "/etc"}, "run '/etc': name the id of a run"),
        ("judge", {"run": "latest", "null": -1}, "null must be from 0 to 100,000"),
        ("judge", {"run": "--help"}, "run '--help': name the id of a run"),
        ("expected", {"run": ""}, "run '': name the id of a run"),
        ("signal", {"run": "20200101-000000-abcdef"}, "there is no run"),
    ]
    for tool, arguments, line in calls:
        said = await ask(client, tool, True, **arguments)
        assert said.startswith(line), (tool, said)
        assert len(said.splitlines()) == 1
    assert list_noted(Path("runs")) == before


HOSTILE = {
    "endless": ({"sold": math.inf}, "genes must be finite numbers or words"),
    "half_a_character": ({"\ud800": 1.0}, "genes must be finite numbers or words"),
    "no_word": ({"so\0ld": 1.0}, "genes must be finite numbers or words"),
    "huge": ({"sold": "4" * 60_000_000}, "genes have 60,000,012 bytes, 20,000 at most"),
    "other_names": ({"text": 1.0, "tool": 2.0}, "gene 'text' is unknown"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_genes_leave_the_list_of_tries_whole(desk, case):
    """A line, and the folder goes on."""
    genes, line = HOSTILE[case]
    tools = desk()
    with pytest.raises(OptimizerError, match=f"^{line}"):
        run_apart(tools.backtest, IDEA, genes)
    assert run_apart(tools.list_runs)


def test_two_clients_at_once(bars):
    """Both searches are recorded and counted."""

    async def search(sold):
        async with connect(bars) as client:
            text = IDEA.replace("40", str(sold))
            return await ask(client, "search", text=text, population=16, generations=2)

    async def both():
        found = []
        async with anyio.create_task_group() as group:
            for sold in (41, 42):
                group.start_soon(lambda sold=sold: _append(found, search(sold)))
        return found

    found = run_apart(both)
    assert {one["run"] for one in found} == {run.id for run in list_runs(Path("runs"))}
    tried = json.loads(Path("runs/ideas/tried.json").read_text())
    assert len({one["idea"] for one in tried}) == 2


def _list_children():
    """Processes that this one began, those of earlier tests among them."""
    return set(psutil.Process().children(recursive=True))


async def _append(found, search):
    found.append(await search)


MUCH = {
    "time": ("describe_data", (), {"seconds": 0.3}, "^data: it took more than 0.3 seconds; ask"),
    "memory": ("describe_data", (), {"memory": 10**6},
               "^data: it took more than 1,000,000 bytes of memory; ask for less$"),
    # A text of ninety lines whose expression has 2^60 parts.
    "an endless strategy": ("check_strategy", (ENDLESS,), {"seconds": 20}, "^.+$"),
}  # fmt: skip


@pytest.mark.parametrize("case", MUCH)
def test_a_call_ends_at_its_limit(desk, case):
    """With its processes."""
    tool, given, limits, line = MUCH[case]
    others = _list_children()
    with pytest.raises(OptimizerError, match=line):
        run_apart(getattr(desk(**limits), tool), *given)
    assert _list_children() <= others


async def wait_for_generations():
    """Until the folder has a run of some generations."""
    while not any(run.generations for run in list_runs(Path("runs"))):
        await anyio.sleep(0.02)


def test_a_call_ends_with_its_server(bars):
    """Also with one that was killed."""
    others = _list_children()

    async def kill_server():
        async with connect(bars) as client, anyio.create_task_group() as group:
            call = {"text": IDEA, "population": 8, "generations": 12_000}
            group.start_soon(client.call_tool, "search", call)
            await wait_for_generations()
            begun = _list_children() - others
            (server,) = begun & set(psutil.Process().children())
            server.kill()
            assert not psutil.wait_procs(begun, timeout=10)[1]
            group.cancel_scope.cancel()

    run_apart(kill_server)


def test_a_search_that_was_killed_goes_on(desk):
    """From what it recorded, as the tool says, whatever other clients began meanwhile."""
    tools = desk()

    async def kill_once_recorded():
        await wait_for_generations()
        (run,) = list_runs(Path("runs"))
        owner = json.loads((run.path / "owner.lock").read_text())
        # It does not end while its folder is copied.
        os.kill(owner["pid"], signal.SIGSTOP)
        shutil.copytree(run.path, OTHER)
        (OTHER / "owner.lock").write_text(json.dumps(owner | {"pid": owner["pid"] + 1}))
        os.kill(owner["pid"], signal.SIGKILL)

    async def search():
        stopped = []
        async with anyio.create_task_group() as group:
            group.start_soon(kill_once_recorded)
            group.start_soon(lambda: _append(stopped, tools.search(IDEA, 2000, 60)))
        return json.loads(stopped[0])

    stopped = run_apart(search)
    assert stopped["stopped"] == "it was ended by signal 9"
    shutil.rmtree(OTHER)
    (run,) = list_runs(Path("runs"))
    assert (run.id, run.status) == (stopped["run"], "interrupted")
    again = json.loads(run_apart(lambda: tools.search(resume=run.id)))
    assert again["run"] == run.id
    (run,) = list_runs(Path("runs"))
    assert (run.status, run.generations) == ("finished", 61)
