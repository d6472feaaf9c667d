"""A server of runs, asked over a socket as any program could, and a run that grows by steps."""

import http.client
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

from optimizer.forecasts.column import make_forecast, write_forecast
from optimizer.forecasts.settings import ForecastSettings
from optimizer.store import RunStore
from optimizer.viewing.serving import RunServer
from tests.support.planted_returns import planted_market

QUICK = ForecastSettings(
    model="ridge", train=400, refit=300, window=8, features="returns, range", horizon=2
)


@dataclass(frozen=True)
class Answer:
    """What came back."""

    code: int  # status
    headers: dict  # by name, in small letters
    text: str  # body


class Asker:
    """Asks a server by its address, by default with its cookie."""

    def __init__(self, server):
        self.server, self.address = server, server.address
        self.host = urlsplit(server.address).netloc
        self.token = self.address.partition("=")[2]
        first = self.ask(self.address.removeprefix(f"http://{self.host}"), cookie="")
        self.first, self.cookie = first, first.headers["set-cookie"].partition(";")[0]

    def ask(self, path, method="GET", body=None, *, cookie=None, timeout=60, **headers):
        """An answer; `headers` have underscores for hyphens."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        cookie = self.cookie if cookie is None else cookie
        if cookie:
            named["Cookie"] = cookie
        connection = http.client.HTTPConnection(self.host, timeout=timeout)
        try:
            connection.request(method, path, body, named)
            answer = connection.getresponse()
            text = answer.read().decode("utf-8", "replace")
        finally:
            connection.close()
        return Answer(
            answer.status, {name.lower(): value for name, value in answer.getheaders()}, text
        )

    def post(self, path, body, **headers):
        """An answer to what a page of the server would write."""
        own = {"Origin": f"http://{self.host}", "X_Optimizer_Token": self.token}
        return self.ask(path, "POST", body, **{**own, **headers})


@contextmanager
def serving(runs, port=0, **more):
    """A server of a folder in this process, ended at the end."""
    server = RunServer(runs, port, **more).start()
    try:
        yield Asker(server)
    finally:
        server.stop()


def record_forecast(folder, name):
    """Fit a line to a small market and write its forecast."""
    forecast = make_forecast([planted_market(1, 1200, 0.3)], QUICK)
    return write_forecast(forecast, folder / name)


class GrowingRun:
    """A run that repeats a finished one, generation by generation.

    Args:
        source: Folder of the finished run.
        runs: Folder in which it grows.
        run_id: Its name.
    """

    def __init__(self, source, runs, run_id):
        with RunStore.open(source) as store:
            numbers = range(len(store.generations()))
            self.generations = [store.generation(number) for number in numbers]
            self.result, header = store.result, store.header
        self.store = RunStore.create(runs, run_id, header)
        self.path = self.store.path

    def grow(self, number):
        """Record up to a generation."""
        for generation in self.generations[len(self.store.generations()) : number + 1]:
            self.store.record(generation)
        self.store.flush()

    def finish(self):
        """Record the result."""
        self.grow(len(self.generations))
        self.store.finish(self.result)

    def close(self):
        """Let go of it."""
        self.store.close()
