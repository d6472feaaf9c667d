"""Runs in a browser, asked without one: who may ask, what is given, what abuse comes to."""

import json
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from html import unescape
from http.client import HTTPConnection
from typing import NamedTuple

import pandas as pd
import pytest

import optimizer
from optimizer.forecasts.column import list_records
from optimizer.store.labels import change_labels, read_labels
from optimizer.store.listing import list_runs
from optimizer.store.searches import SEARCHES
from optimizer.viewing.access import is_loopback
from optimizer.viewing.channels import Channel
from tests.support.runs import record_run
from tests.support.viewing import Asker, record_forecast, serving

PLANTED = "planted text that nobody may read"


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A folder of one small run, with held-out bars, beside and in which other files lie."""
    folder = tmp_path_factory.mktemp("place") / "runs"
    path = record_run(folder, holdout="20%")
    (folder.parent / "secret.txt").write_text(PLANTED)
    (folder / "secret.txt").write_text(PLANTED)
    (path / "report.html").write_text(PLANTED)
    (folder / "linked").symlink_to(folder.parent)
    return folder


@pytest.fixture(scope="module")
def run_id(runs):
    """Name of the run."""
    return list_runs(runs)[0].id


@pytest.fixture(scope="module")
def forecasts(runs):
    """A folder of one forecast, beside that of runs."""
    folder = runs.parent / "forecasts"
    folder.mkdir()
    record_forecast(folder, "line.parquet")
    return folder


@pytest.fixture(scope="module")
def asker(runs, forecasts):
    """A server of those folders."""
    with serving(runs, forecasts=forecasts) as asking:
        yield asking


@contextmanager
def watching(asker, path):
    """States of a stream, as they come."""
    connection = HTTPConnection(asker.host, timeout=20)
    connection.request("GET", path, headers={"Cookie": asker.cookie})
    answer = connection.getresponse()
    assert answer.getheader("content-type").startswith("text/event-stream")
    lines = iter(lambda: answer.readline().decode(), "")
    try:
        yield (json.loads(line[6:]) for line in lines if line.startswith("data: "))
    finally:
        connection.close()


def test_the_address_is_kept_as_a_cookie(asker):
    """The token leaves the address at the first visit; every answer has the policy."""
    first = asker.first
    assert (first.code, first.headers["location"]) == (303, "/")
    assert "HttpOnly" in first.headers["set-cookie"]
    assert "SameSite=lax" in first.headers["set-cookie"]
    page = asker.ask("/")
    assert page.code == 200
    assert page.headers["content-security-policy"].startswith("default-src 'none'")
    assert page.headers["cache-control"] == "no-store"
    assert asker.token not in page.text
    assert not re.search(r"<script>|https?://|onclick", page.text)


@pytest.mark.parametrize(
    "path", ["/", "/?key=wrong", "/?key=", "/?key=%C3%A9", "/events", "/no", "/forecasts", "/today"]
)
def test_without_the_token_nothing_is_given(asker, path):
    """Neither pages nor the names of what there is: a sentence."""
    for cookie in ("", "optimizer_0=1", asker.cookie[:-1], asker.cookie.replace("=", "=x"), ";;=é"):
        # Who names it elsewhere comes through the door, and no further.
        for named in ({}, {"X_Note": asker.token}):
            answer = asker.ask(path, cookie=cookie.encode("utf-8").decode("latin-1"), **named)
            assert (answer.code, answer.text.count("\n"), "<" in answer.text) == (403, 1, False)


@pytest.mark.parametrize(
    "headers",
    [
        *({"Host": host} for host in ("evil.example", "127.0.0.1.evil.example:80", "[", "")),
        *({"Origin": origin} for origin in ("http://evil.example", "null", "http://127.0.0.1:1")),
    ],
    ids=str,
)
def test_other_hosts_and_origins_are_refused(asker, headers):
    """A name that another site bears is not ours, wherever it leads; nor is its page."""
    assert asker.ask("/", **headers).code == 403


def test_nothing_but_the_listing_is_given(asker, run_id):
    """No path of a client is opened; a report is made from the record, never read as a file."""
    for path in (
        "/run/..", "/run/../secret.txt", "/run/%2e%2e%2fsecret.txt/report", "/run/..%2f..%2fetc",
        "/run/secret.txt", "/run/linked", "/run/linked/report", "//etc/passwd", "/secret.txt",
        "/run/%00/report", "/assets/..%2f..%2fpage.py", "/assets/page.py",
        f"/run/{run_id}/run.sqlite",
        f"/run/{run_id}%2freport.html", f"/run/{run_id}/candidate/..", f"/run/{run_id[:-1]}/report",
        "/forecasts/..%2fsecret.txt", "/forecasts/../secret.txt", "/forecasts/no.parquet",
        "/compare?run=..&run=secret.txt", f"/compare/data?run={run_id}&run=linked",
    ):  # fmt: skip
        answer = asker.ask(path)
        assert answer.code == 404, path
        assert PLANTED not in answer.text
        assert answer.text.count("\n") == 1
    report = asker.ask(f"/run/{run_id}/report")
    assert report.code == 200
    assert PLANTED not in report.text
    stated = re.search(r'Security-Policy" content="([^"]*)"', report.text)[1].replace("&#39;", "'")
    assert report.headers["content-security-policy"] == f"{stated}; frame-ancestors 'self'"


def test_labels_are_the_only_thing_written(asker, runs, run_id):
    """With token and origin they are kept as `runs tag` keeps them; else nothing is."""
    path = f"/run/{run_id}/labels"
    body = json.dumps({"tags": ["one", "two"], "note": "<b>a</b> note"})
    assert asker.post(path, body).code == 200
    kept = read_labels(runs / run_id)
    assert (kept.tags, kept.note) == (("one", "two"), "<b>a</b> note")
    for headers in ({"X_Optimizer_Token": ""}, {"X_Optimizer_Token": "x"}, {"Origin": "http://x"}):
        assert asker.post(path, '{"tags": [], "note": ""}', **headers).code == 403
    assert asker.ask(path, "POST", body).code == 403
    for wrong in ("", "[]", "{", '{"tags": 1, "note": ""}', '{"tags": [], "note": 1}', "x" * 30_000,
                  '{"tags": ["two words"], "note": ""}', '{"tags": [], "note": "\\u001b"}',
                  "[" * 15_000):  # fmt: skip
        answer = asker.post(path, wrong)
        assert answer.code == 400, wrong[:40]
        assert answer.text.count("\n") == 1
    assert read_labels(runs / run_id).tags == ("one", "two")
    assert "&lt;b&gt;a&lt;/b&gt; note" in asker.ask(f"/run/{run_id}").text
    assert asker.post(path, '{"tags": ["Two"], "note": ""}').code == 200
    assert read_labels(runs / run_id).tags == ("two",)


def test_the_index_is_a_line_a_run(asker, runs, run_id):
    """The numbers are those of `runs list`; a change of labels is a new state."""
    (summary,) = list_runs(runs)
    with watching(asker, "/events") as states:
        (row,) = next(states)["rows"]
        change_labels(runs / run_id, add=["newer"])
        (newer,) = next(states)["rows"]
    texts = [text for text, _ in row["cells"]]
    assert texts[0] == run_id
    assert [key for _, key in row["cells"]][4:12] == [
        summary.strength, summary.expected, summary.folds, summary.held_out, summary.cagr,
        summary.expected_cagr, summary.max_drawdown, summary.trades,
    ]  # fmt: skip
    assert newer["cells"][12][0].endswith("newer")


def test_a_damaged_list_of_searches_is_a_line(asker, runs, run_id):
    """The runs of the index stand."""
    noted = runs / SEARCHES
    whole = noted.read_text()
    try:
        noted.write_text("{}")
        with watching(asker, "/events") as states:
            # The first may be of a moment before.
            state = next(state for state in states if str(noted) in state["ledger"])
    finally:
        noted.write_text(whole)
    assert [row["id"] for row in state["rows"]] == [run.id for run in reversed(list_runs(runs))]
    assert "problem" not in state


def test_forecasts_are_those_of_the_command(asker, forecasts, command):
    """The list has a line each, the page what `forecast show` prints, and both are escaped."""
    record = list_records(forecasts).records[forecasts / "line.parquet"]
    listed = asker.ask("/forecasts").text
    html = asker.ask("/forecasts/line.parquet").text
    cells = ["PLANTED", "ridge", "2", "skill" if record.skill.has_skill else "no skill"]
    assert re.findall(r"<td[^>]*>([^<]*)</td>", listed)[:4] == cells
    assert 'href="/forecasts/line.parquet"' in listed
    sentence, *printed = command("forecast", "show", forecasts / "line.parquet").out.splitlines()
    table, lines = printed[: printed.index("", 1)], printed[printed.index("", 1) + 1 :]
    page = unescape(re.sub("<[^>]*>", "", html))
    assert sentence in page
    assert len(lines) == 6
    assert all(line in page for line in lines)
    rows = [re.findall(r"<t[hd][^>]*>([^<]*)</t[hd]>", row) for row in html.split("<tr>")]
    assert table[-1].split() in [[unescape(cell) for cell in row] for row in rows]
    assert f"known from {record.known_from}" in page


def test_runs_stand_side_by_side(asker, runs, run_id):
    """Two tries: what differs, both curves, the correlation of their days; a third has no bars."""
    other = record_run(runs, holdout="20%", seed=8).name
    state = json.loads(asker.ask(f"/compare/data?run={run_id}&run={other}").text)
    assert [line[0] for line in state["differs"]] == [other]
    assert any("seed" in line for line in state["differs"][0])
    assert [trace["name"] for trace in state["equity"]["data"]] == [run_id, other]
    assert [trace["name"] for trace in state["front"]["data"]] == [run_id, other]
    (pair,) = state["correlations"]
    days = []
    for name in (run_id, other):
        run = optimizer.load_run(name, runs)
        trades = run.trades(run.pick.member)
        by_day = trades.groupby(trades["exit_time"].dt.floor("D"))["r"].sum()
        days.append(by_day.reindex(pd.to_datetime(run.days, unit="D", utc=True), fill_value=0.0))
    assert float(pair[2]) == pytest.approx(days[0].corr(days[1]), abs=1e-4)
    assert pair[3] == f"{len(days[0])} days"
    assert state["problems"] == []
    rows = {label: cells for label, *cells in state["rows"]}
    assert rows["expected of it"] == ["not known yet"] * 2
    assert asker.ask(f"/compare?run={run_id}&run={other}").code == 200
    alone = record_run(runs, objectives="strength").name
    state = json.loads(asker.ask(f"/compare/data?run={run_id}&run={alone}").text)
    assert any("nothing to compare" in line for line in state["problems"])
    assert any("objectives" in line for line in state["differs"][0])


@pytest.mark.slow
def test_the_command_prints_its_address_and_ends_quietly(runs):
    """What it prints opens; Ctrl-C ends it without a word, also while a page is open."""
    process = subprocess.Popen(
        [sys.executable, "-m", "optimizer", "ui", "--runs", runs],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ},
    )  # fmt: skip
    try:
        address = process.stdout.readline().strip()
        server = type("Started", (), {"address": address})()
        asker = Asker(server)
        assert asker.ask("/").code == 200
        with watching(asker, "/events") as states:
            assert next(states)["rows"]
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=30)
    finally:
        process.kill()
    assert (process.returncode, out, err) == (0, "", "")


GET = "GET {path} HTTP/1.1\r\nHost: {host}\r\n"
ASKING = GET + "Cookie: {cookie}\r\n\r\n"
POSTING = (
    "POST /run/growing/labels HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\n"
    "X-Optimizer-Token: {token}\r\nContent-Length: 1000\r\n\r\n"
)


class Kind(NamedTuple):
    """A hostile client."""

    first: str = ""  # sent at once
    each_s: bytes = b""  # sent every second
    path: str = "/"

    def begin(self, host, cookie, token):
        """Bytes that it sends at once."""
        text = self.first.format(host=host, path=self.path, cookie=cookie, token=token)
        return text.encode("latin-1")


KINDS = {
    "silent": Kind(),
    "half line": Kind("GET / HT"),
    "half head": Kind(GET),
    "slow head": Kind("GET / HTTP/1.1\r\nX: ", b"x"),
    "TLS": Kind("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"),
    "huge head": Kind(GET + "X: " + "x" * 60_000),
    "no token": Kind(GET + "\r\n"),
    "half known": Kind(ASKING.removesuffix("\r\n")),
    "no body": Kind(POSTING),
    "slow body": Kind(POSTING, b"x"),
    "kept alive": Kind(ASKING),
    "half again": Kind(ASKING + GET, b"x"),
    "unread page": Kind(ASKING, path="/assets/plotly.js"),
    "unread stream": Kind(ASKING, path="/events"),
}


@pytest.fixture(scope="module")
def run_path(recordings, tmp_path_factory):
    """A copy of a small run in a folder of runs."""
    folder, result = recordings.record("held out")
    return shutil.copytree(folder / result["path"], tmp_path_factory.mktemp("runs") / "first")


@pytest.fixture(scope="module")
def attacked(run_path):
    """A server of its folder."""
    with serving(run_path.parent) as asking:
        yield asking


async def make_much(_):
    """News that fills every buffer."""
    return b":" + b"x" * 1_000_000 + b"\n\n"


@pytest.mark.parametrize("kind", KINDS)
def test_no_client_is_waited_for_long(attacked, monkeypatch, kind):
    """Whoever says too little, or leaves a page or a stream unread, is ended."""
    monkeypatch.setattr("optimizer.viewing.serving.PATIENCE_S", 0.3)
    monkeypatch.setattr(Channel, "_wait_for_news", make_much)
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        name, port = attacked.host.split(":")
        client.connect((name, int(port)))
        client.send(KINDS[kind].begin(attacked.host, attacked.cookie, attacked.token))
        until = time.monotonic() + 20
        poll = select.poll()
        poll.register(client, select.POLLRDHUP)
        while not poll.poll(50):
            assert time.monotonic() < until
            with suppress(ConnectionError):
                client.send(KINDS[kind].each_s)
    assert attacked.ask("/").code == 200


@pytest.mark.parametrize(
    ("host", "is_everywhere"),
    [
        ("0", True), ("0x0", True), ("0.0", True), ("::", True), ("0::0", True), ("\uff10", True),
        ("::ffff:0.0.0.0", True), ("127.1", False), ("::ffff:127.0.0.1", False),
    ],
)  # fmt: skip
def test_a_host_is_known_by_its_number(run_path, host, is_everywhere):
    """However it is written: who listens on all addresses is open, and shown at its own."""
    with serving(run_path.parent, host=host) as asking:
        assert ("//127.0.0.1:" in asking.address) == is_everywhere
        assert asking.ask("/", Host="192.0.2.7").code == (200 if is_everywhere else 403)
        assert is_loopback(asking.server.bound) != is_everywhere
