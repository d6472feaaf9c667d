"""Messages: a body of JSON to a webhook or a command, and no secret anywhere else."""

import json
import shlex
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from optimizer.errors import ConfigError
from optimizer.signals.messages import MessageError, check_target, send_message

BODY = {"run": "a", "symbols": [{"state": "enter"}]}


@contextmanager
def receiving(status=200):
    """A webhook on loopback, and what it was sent: path, type and body."""
    received = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            received.append((self.path, self.headers["Content-Type"], json.loads(body)))
            self.send_response(status)
            self.send_header("Location", "http://127.0.0.1:9/elsewhere")
            self.end_headers()

        def log_message(self, *words):
            """Nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", received
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_a_webhook_gets_json_and_its_secret(monkeypatch):
    """The secret comes from the environment."""
    monkeypatch.setenv("HOOK_KEY", "c4nary")
    with receiving() as (address, received):
        send_message(f"{address}/$HOOK_KEY", BODY)
    assert received == [("/c4nary", "application/json", BODY)]


@pytest.mark.parametrize("status", [302, 404, 500])
def test_an_answer_that_is_no_success_is_an_error(status, monkeypatch):
    """A redirect is followed nowhere, and no secret is in the words."""
    monkeypatch.setenv("HOOK_KEY", "c4nary")
    with (
        receiving(status) as (address, received),
        pytest.raises(MessageError, match=f"status {status}") as raised,
    ):
        send_message(f"{address}/${{HOOK_KEY}}", BODY)
    assert len(received) == 1
    assert "c4nary" not in str(raised.value)


def test_a_webhook_that_is_not_there_keeps_the_secret(monkeypatch):
    """The library's message shows the address, ours does not."""
    monkeypatch.setenv("HOOK_KEY", "c4nary")
    with pytest.raises(MessageError, match="the webhook failed") as raised:
        send_message("http://127.0.0.1:9/$HOOK_KEY", BODY)
    assert "c4nary" not in str(raised.value)


def test_a_command_reads_json(tmp_path):
    """From its standard input, without a shell."""
    send_message(f"tee {shlex.quote(str(tmp_path / 'out'))}", BODY)
    assert json.loads((tmp_path / "out").read_text()) == BODY


@pytest.mark.parametrize(
    ("command", "words"),
    [("false", "ended with 1"), ("/no/such/program", "cannot be started")],
)
def test_a_command_that_fails_is_an_error(command, words):
    """What did not arrive is known."""
    with pytest.raises(MessageError, match=words):
        send_message(command, BODY)


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("", "--on-change is empty"),
        ("https://host/$NO_SUCH_VARIABLE", r"names \$NO_SUCH_VARIABLE"),
        ("notify 'open", "quotation mark"),
        ("notify $", r"write \$\$"),
    ],
)
def test_a_target_that_cannot_be_one_is_refused(target, words):
    """Before anything is read."""
    with pytest.raises(ConfigError, match=words):
        check_target(target)
