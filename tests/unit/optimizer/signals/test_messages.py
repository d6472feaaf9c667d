"""Messages: a body of JSON to a webhook or a command, and no secret anywhere else."""

import json
import shlex
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from optimizer.signals.watching import MessageError, send_message

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
            self.send_header("Location", f"http://127.0.0.1:{server.server_port}/elsewhere")
            self.end_headers()

        def log_message(self, *words):
            """Nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", received
        server.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def _secret(monkeypatch):
    monkeypatch.setenv("HOOK_KEY", "c4nary")


def test_a_webhook_and_a_command_get_json(tmp_path):
    """The secret of an address comes from the environment; a command has no shell."""
    with receiving() as (address, received):
        send_message(f"{address}/$HOOK_KEY", BODY)
    assert received == [("/c4nary", "application/json", BODY)]
    send_message(f"tee {shlex.quote(str(tmp_path / 'out'))}", BODY)
    assert json.loads((tmp_path / "out").read_text()) == BODY


@pytest.mark.parametrize("status", [302, 307, 404, 500])
def test_an_answer_that_is_no_success_is_an_error(status):
    """A redirect is followed nowhere, and no secret is in the words."""
    with receiving(status) as (address, received), pytest.raises(MessageError) as raised:
        send_message(f"{address}/${{HOOK_KEY}}", BODY)
    assert len(received) == 1
    assert str(status) in str(raised.value)
    assert "c4nary" not in str(raised.value)


@pytest.mark.parametrize(
    "target", ["http://127.0.0.1:9/$HOOK_KEY", "false", "sh -c 'exit 3'", "/no/such/$HOOK_KEY"]
)
def test_a_message_that_does_not_arrive_is_an_error_without_the_secret(target):
    """Where nobody listens the library's own words show the address."""
    with pytest.raises(MessageError) as raised:
        send_message(target, BODY)
    assert "c4nary" not in str(raised.value)
