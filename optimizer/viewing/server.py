"""The server: which address gives what. It reads runs of one folder, and writes tags and notes."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from data.errors import DataError
from engine.errors import EngineError
from optimizer.errors import ConfigError, OptimizerError, StoreError
from optimizer.evidence.ledger import build_ledger
from optimizer.store.labels import change_labels, read_labels
from optimizer.store.listing import find_status, summarise
from optimizer.store.searches import list_noted
from optimizer.viewing.access import Guard
from optimizer.viewing.beside import MOST_COMPARED, build_comparison
from optimizer.viewing.channels import BusyError, Channel, ChannelState, Computer, EventStream
from optimizer.viewing.forecasts import make_forecast_page, make_list_page, read_folder_signature
from optimizer.viewing.live import LiveRun
from optimizer.viewing.pages import (
    ASSETS,
    REPORT_HEADERS,
    encode_json,
    load_asset,
    make_candidate_page,
    make_report,
    render_page,
)
from optimizer.viewing.run_index import COLUMNS, NUMBERS, RunIndex, list_rows, read_signature
from optimizer.viewing.today import COLUMNS as TODAY
from optimizer.viewing.today import FOLLOW, MOST_FOLLOWED, list_followed, read_today
from strategy.errors import StrategyError

MOST_VIEWERS = 100
"""Streams that are open at a time."""

MOST_CHANNELS = 50
"""Runs whose last state is kept while another one is watched."""

MOST_POSTED = 20_000
"""Bytes of tags and a note."""

READERS = 2
"""Threads that look at runs."""

EXPECTED = (OptimizerError, DataError, EngineError, StrategyError)


class Viewer:
    """The application of a folder of runs and one of forecasts, and its memory between requests.

    At most `most_viewers` streams are open at a time, fewer where connections are few.
    """

    most_viewers = MOST_VIEWERS

    def __init__(self, runs: Path, token: str, hosts: Iterable[str], forecasts: Path) -> None:
        self.index = RunIndex(runs)
        self._token, self._forecasts = token, forecasts
        self._readers = ThreadPoolExecutor(READERS, "reading")
        self._computer = Computer()
        self.channels: dict[str, Channel] = {}
        self._live: dict[str, LiveRun] = {}
        routes = [
            Route("/", self.show_index),
            Route("/events", self.stream_rows),
            Route("/compare", self.show_comparison),
            Route("/compare/data", self.send_comparison),
            Route("/run/{run}", self.show_run),
            Route("/run/{run}/events", self.stream_run),
            Route("/run/{run}/report", self.send_report),
            Route("/run/{run}/candidate/{key}", self.send_candidate),
            Route("/run/{run}/labels", self.write_labels, methods=["POST"]),
            Route("/forecasts", self.show_forecasts),
            Route("/forecasts/{name}", self.show_forecast),
            Route("/today", self.show_today),
            Route("/today/{run}", self.send_today),
            Route("/scan", show_scan),
            Route("/assets/{name}", send_asset),
        ]
        handlers: Mapping[Any, Callable[[Request, Exception], Awaitable[Response]]] = {
            **dict.fromkeys(EXPECTED, explain),
            404: explain_absence,
            Exception: explain_defect,
        }
        self.app = Guard(Starlette(routes=routes, exception_handlers=handlers), token, hosts)

    def begin(self) -> None:
        """Read all runs, so that a first visit a moment later finds them read."""
        self._readers.submit(self._encode_rows)

    def close(self) -> None:
        """End all streams."""
        for channel in self.channels.values():
            channel.close()

    async def show_index(self, _: Request) -> Response:
        """The index as a page."""
        return HTMLResponse(make_index())

    async def stream_rows(self, _: Request) -> Response:
        """Lines of the index whenever one changes."""
        return self._stream("", lambda: ChannelState(self._encode_rows()))

    async def show_run(self, request: Request) -> Response:
        """A run: while it is recorded as it grows, afterwards its report."""
        path = await self._find(request)
        summary = await self._read(lambda: summarise(path))
        is_live = (await self._read(lambda: find_status(path))) == "running"
        return HTMLResponse(
            render_page(
                "run.html",
                run=summary,
                token=self._token,
                is_finished=summary.front_size is not None and not is_live,
            )
        )

    async def stream_run(self, request: Request) -> Response:
        """State of a run whenever it changes."""
        path = await self._find(request)
        return self._stream(path.name, self._watch(path).look)

    async def send_report(self, request: Request) -> Response:
        """The report of a run, at a member where one is named."""
        path, member = await self._find(request), parse_member(request)
        key = path.name, member, read_signature(path)
        content = await self._computer.get(key, lambda: make_report(path, member))
        return HTMLResponse(content, headers=REPORT_HEADERS)

    async def send_candidate(self, request: Request) -> Response:
        """Trades of a member of a front that grows."""
        path, key = await self._find(request), request.path_params["key"]
        candidate = self._watch(path).find_candidate(key)

        def make() -> bytes:
            return make_candidate_page(path, candidate.genome, candidate.generation)

        content = await self._computer.get((path.name, key), make)
        return HTMLResponse(content, headers=REPORT_HEADERS)

    async def show_comparison(self, request: Request) -> Response:
        """Runs side by side as a page."""
        paths = await self._find_several(request)
        names = [path.name for path in paths]
        return HTMLResponse(render_page("beside.html", runs=names))

    async def send_comparison(self, request: Request) -> Response:
        """Runs side by side as data."""
        paths = await self._find_several(request)
        key = tuple((path.name, read_signature(path)) for path in paths)

        def compare() -> bytes:
            return encode_json(build_comparison(paths))

        content = await self._computer.get(key, compare)
        return Response(content, media_type="application/json")

    async def show_today(self, _: Request) -> Response:
        """The followed runs as a page, which is filled run by run."""
        followed = list_followed(await self._read(self.index.list_summaries))
        shown = followed[:MOST_FOLLOWED]
        more = len(followed) - len(shown)
        page = render_page("today.html", runs=shown, more=more, columns=TODAY, tag=FOLLOW)
        return HTMLResponse(page)

    async def send_today(self, request: Request) -> Response:
        """Where a run stands; read anew once a minute."""
        path = await self._find(request)
        key = "today", path.name, read_signature(path), int(time.time() // 60)
        content = await self._computer.get(key, lambda: encode_json(read_today(path)))
        return Response(content, media_type="application/json")

    async def show_forecasts(self, _: Request) -> Response:
        """The recorded forecasts as a page."""
        return await self._show_of_folder("", lambda: make_list_page(self._forecasts))

    async def show_forecast(self, request: Request) -> Response:
        """How a forecast was made, and how good it was, as a page."""
        name = request.path_params["name"]
        return await self._show_of_folder(name, lambda: make_forecast_page(self._forecasts, name))

    async def write_labels(self, request: Request) -> Response:
        """Set tags and note of a run."""
        path, posted = await self._find(request), await read_posted(request)
        tags, note = posted.get("tags"), posted.get("note")
        if not (isinstance(tags, list) and all(isinstance(tag, str) for tag in tags)):
            raise ConfigError("tags are a list of words")
        if not isinstance(note, str):
            raise ConfigError("a note is a text")

        def write() -> Mapping[str, object]:
            known = read_labels(path)
            kept = {tag.casefold() for tag in tags}
            gone = [tag for tag in known.tags if tag.casefold() not in kept]
            return vars(change_labels(path, add=tags, remove=gone, note=note))

        return JSONResponse(await self._read(write))

    async def _show_of_folder(self, name: str, make: Callable[[], bytes]) -> Response:
        signature = await self._read(lambda: read_folder_signature(self._forecasts))
        return HTMLResponse(await self._computer.get(("forecasts", name, signature), make))

    def _encode_rows(self) -> bytes:
        try:
            runs = self.index.list_summaries()
        except StoreError as error:
            return encode_json({"rows": [], "problem": str(error)})
        try:
            ledger = build_ledger(runs, list_noted(self.index.folder)).describe()
        except StoreError as error:
            ledger = str(error)
        return encode_json({"rows": list_rows(runs), "ledger": ledger})

    async def _read(self, read: Callable[[], Any]) -> Any:  # noqa: ANN401 - whatever it gives
        return await asyncio.get_running_loop().run_in_executor(self._readers, read)

    async def _find(self, request: Request) -> Path:
        name = request.path_params["run"]
        return Path(await self._read(lambda: self.index.find(name)))

    async def _find_several(self, request: Request) -> list[Path]:
        names = list(dict.fromkeys(request.query_params.getlist("run")))
        if not 2 <= len(names) <= MOST_COMPARED:
            raise ConfigError(f"Choose 2 to {MOST_COMPARED} runs to compare.")
        paths: list[Path] = await self._read(lambda: [self.index.find(name) for name in names])
        return paths

    def _watch(self, path: Path) -> LiveRun:
        return self._live.setdefault(path.name, LiveRun(path))

    def _stream(self, key: str, look: Callable[[], ChannelState]) -> Response:
        if sum(channel.viewers for channel in self.channels.values()) >= min(
            self.most_viewers, MOST_VIEWERS
        ):
            raise BusyError("Too many pages watch already: close some.")
        channel = self.channels.get(key)
        if channel is None or channel.is_over:
            self._leave_unwatched()
            channel = self.channels[key] = Channel(look, self._readers)
        return EventStream(channel)

    def _leave_unwatched(self) -> None:
        """Forget runs without a viewer, where there are many."""
        idle = [key for key, channel in self.channels.items() if not channel.viewers]
        for key in idle[: max(len(self.channels) - MOST_CHANNELS, 0)]:
            del self.channels[key]
            self._live.pop(key, None)


@cache
def make_index() -> str:
    """The index as a page, which a stream fills."""
    return render_page("index.html", columns=COLUMNS, numbers=NUMBERS, most=MOST_COMPARED)


async def show_scan(_: Request) -> Response:
    """The command that scans, as a page."""
    return HTMLResponse(render_page("scan.html"))


async def send_asset(request: Request) -> Response:
    """A script or a style."""
    name = request.path_params["name"]
    if name not in ASSETS:
        return PlainTextResponse("There is no such file.\n", 404)
    asset = load_asset(name)
    headers = {"content-encoding": "gzip", "cache-control": "private, max-age=604800, immutable"}
    return Response(asset.content, media_type=asset.media_type, headers=headers)


def parse_member(request: Request) -> int | None:
    """Number of a member in an address; None without."""
    text = request.query_params.get("member", "")
    if text and not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise ConfigError("A member is a number from 0 on.")
    return int(text) if text else None


async def read_posted(request: Request) -> Mapping[str, object]:
    """The JSON object that was posted; refused when it is too long, or none."""
    content = b""
    async for chunk in request.stream():
        content += chunk
        if len(content) > MOST_POSTED:
            raise ConfigError(f"More than {MOST_POSTED:,} bytes were posted.")
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise ConfigError("What is posted is a JSON object.")
    return value


async def explain(_: Request, error: Exception) -> Response:
    """An error that a person can do something about, as text."""
    code = 503 if isinstance(error, BusyError) else 404 if isinstance(error, StoreError) else 400
    return PlainTextResponse(f"{' '.join(str(error).split())}\n", code)


async def explain_absence(*_: object) -> Response:
    """An address that leads nowhere, as text."""
    return PlainTextResponse("There is no such page.\n", 404)


async def explain_defect(_: Request, error: Exception) -> Response:
    """An error that is a defect of ours, without its trace."""
    return PlainTextResponse(f"{type(error).__name__}: a defect of the optimizer.\n", 500)
