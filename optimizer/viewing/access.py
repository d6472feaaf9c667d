"""Access to the server: token, host and origin of a request, and the policy of its answer.

Sources: RFC 6265bis on cookies; Fetch Standard on ``Origin``; Content Security Policy Level 3.
"""

import asyncio
import hashlib
import ipaddress
import secrets
import socket
from collections.abc import Iterable
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

TOKEN = "key"
"""Parameter of an address that holds the token; by its own name it would be hidden in print."""

TOKEN_HEADER = "x-optimizer-token"
"""Header of a request that writes, in which the page repeats the token."""

OWN_NAMES = ("127.0.0.1", "localhost", "::1")

NO_TOKEN = "The token is missing or wrong: open the address that the server printed.\n"

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src data: blob:; "
    "connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
"""Of pages: only scripts of this server run, and nothing is asked of another one."""

HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
"""Of every answer that does not say otherwise."""


PIECE = 65_536
"""Bytes that are handed on at once: who reads slowly costs no more memory than some of them."""


class Guard:
    """Lets requests through that know the token, name this host and come from its own pages.

    The token stands in a cookie or in the address; `hosts` are those at which the server listens.
    """

    def __init__(self, app: ASGIApp, token: str, hosts: Iterable[str]) -> None:
        self._app, self._token, self._names = app, token, {*OWN_NAMES, *hosts}
        self._is_open = any(map(is_wildcard, hosts))
        if not self._names <= {*OWN_NAMES}:
            self._names.add(socket.gethostname().lower())
        # Cookies are shared by all ports of a host, on which another server may listen.
        self._cookie = f"optimizer_{hashlib.sha256(token.encode()).hexdigest()[:8]}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, refuse it in a sentence, or keep its token in a cookie."""
        if scope["type"] != "http":
            return
        response = self._refuse(scope) or self._keep_token(scope)

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            body = message.get("body", b"")
            last = max(len(body) - 1, 0) // PIECE * PIECE
            for begin in range(0, last, PIECE):
                piece = body[begin : begin + PIECE]
                await send({**message, "body": piece, "more_body": True})
                await asyncio.sleep(0)  # a client that left is heard of
            await send({**message, "body": body[last:]} if last else message)

        await (response or self._app)(scope, receive, send_guarded)

    def _refuse(self, scope: Scope) -> Response | None:
        """The answer to a request that may not ask; None for others."""
        headers = Headers(scope=scope)
        host, origin = headers.get("host", ""), headers.get("origin")
        if not self._is_own(host):
            sentence = "This address is not one of this server: open the one that it printed."
        elif origin is not None and urlsplit(origin).netloc.lower() != host.lower():
            sentence = "A page of another origin asked: open the address that the server printed."
        elif scope["method"] not in ("GET", "HEAD") and origin is None:
            sentence = "What writes comes from a page of this server, which names its origin."
        elif not any(self._is_token(token) for token in self._list_tokens(scope, headers)):
            sentence = NO_TOKEN.strip()
        else:
            return None
        return PlainTextResponse(f"{sentence}\n", 403)

    def _keep_token(self, scope: Scope) -> Response | None:
        """A cookie with the token, and the address without it."""
        pairs = _list_parameters(scope)
        if scope["method"] != "GET" or TOKEN not in dict(pairs):
            return None
        rest = urlencode([(name, value) for name, value in pairs if name != TOKEN])
        path = "/" + scope["path"].lstrip("/")
        response = RedirectResponse(f"{path}?{rest}" if rest else path, 303)
        # Lax: a link in a notebook, which is another site, leads here.
        response.set_cookie(self._cookie, self._token, httponly=True, samesite="lax")
        return response

    def _list_tokens(self, scope: Scope, headers: Headers) -> Iterable[str]:
        """Tokens that a request has; a writing one has it in a header as well."""
        if scope["method"] not in ("GET", "HEAD"):
            return [headers.get(TOKEN_HEADER, "")]
        named = [value for name, value in _list_parameters(scope) if name == TOKEN]
        return [*named, HTTPConnection(scope).cookies.get(self._cookie, "")]

    def _is_token(self, text: str) -> bool:
        return secrets.compare_digest(text.encode("utf-8", "replace"), self._token.encode())

    def _is_own(self, host: str) -> bool:
        """True if a host is this one by a name of its own, which no other site can bear."""
        try:
            name = (urlsplit(f"//{host}").hostname or "").lower()
        except ValueError:
            return False
        return name in self._names or (self._is_open and _read_number(name) is not None)


def is_wildcard(host: str) -> bool:
    """True if it stands for all addresses of this machine."""
    number = _read_number(host)
    return number is not None and number.is_unspecified


def is_loopback(host: str) -> bool:
    """True if only this machine reaches it."""
    number = _read_number(host)
    return number is not None and number.is_loopback


def _read_number(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The number that names a host, which cannot be bound to another one; None of a name."""
    try:
        number = ipaddress.ip_address(host)
    except ValueError:
        return None
    return getattr(number, "ipv4_mapped", None) or number


def _list_parameters(scope: Scope) -> list[tuple[str, str]]:
    return parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
