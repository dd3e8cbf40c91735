# SPDX-License-Identifier: Apache-2.0
"""HTTP/1.1 heads as a proxy reads and rewrites them (RFC 9112). Pure.

Strict where two readers could differ: a message with two lengths, an odd transfer coding, a folded
line or a bare control character is refused rather than repaired.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import urlsplit

from envs.egress.refusal import Reason, RefusedError
from envs.egress.target import HTTP_PORT, Target, parse_authority

Headers = tuple[tuple[str, str], ...]

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_BAD_TEXT = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_BAD_PATH = re.compile(r"[\x00-\x20\x7f]")
# Of one connection, not of the message (RFC 9110 7.6.1), and what only a proxy should see.
_HOP_BY_HOP = frozenset(
    {
        "connection",
        "expect",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "proxy-status",  # only the proxy itself says that something is its own error
        "te",
        "trailer",
        "upgrade",
    }
)
_VERSIONS = ("HTTP/1.1", "HTTP/1.0")
_NO_BODY_STATUS = (204, 304)
_PROXY_STATUS = "Proxy-Status"  # RFC 9209
_PROXY_NAME = "foragerl"


@dataclass(frozen=True, kw_only=True, slots=True)
class Body:
    """How a message's body ends."""

    length: int = 0  # bytes; not for the two others
    is_chunked: bool = False
    is_until_close: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class RequestHead:
    """A request that can be read in one way only."""

    method: str
    target: Target
    path: str  # in origin form, with its query; "" of a tunnel
    headers: Headers
    body: Body
    keeps_alive: bool  # the client would send another request on this connection

    @property
    def is_tunnel(self) -> bool:
        """Whether bytes are to be passed without being read."""
        return self.method == "CONNECT"

    def encode(self) -> bytes:
        """The head for the server: origin form, and the host that was checked."""
        host = self.target.authority.removesuffix(f":{HTTP_PORT}")
        headers = (("Host", host), *(h for h in self.headers if h[0].lower() != "host"))
        return _encode(f"{self.method} {self.path} HTTP/1.1", _forwarded(headers))


@dataclass(frozen=True, kw_only=True, slots=True)
class ResponseHead:
    """The head of a server's answer."""

    status: int
    phrase: str
    headers: Headers
    body: Body
    keeps_alive: bool  # the server would take another request on this connection

    def encode(self, *, keeps_alive: bool) -> bytes:
        """The head for the client."""
        headers = [*_forwarded(self.headers)]
        headers.append(("Connection", "keep-alive" if keeps_alive else "close"))
        return _encode(f"HTTP/1.1 {self.status} {self.phrase}", headers)


def parse_request(data: bytes) -> RequestHead:
    """Read a request's head, up to and with the empty line; raises `RefusedError`."""
    try:
        line, headers = _lines(data)
        method, goal, version = line.split(" ")
        if version not in _VERSIONS or not _TOKEN.fullmatch(method):
            raise ValueError(line)
        if method == "CONNECT":
            host, port = parse_authority(goal)
            target, path, body = Target(host=host, port=port), "", Body()
        else:
            target, path = _absolute(goal)
            body = _length(headers, otherwise=Body())
        keeps = version == "HTTP/1.1" and not _has_token(headers, "close")
    except ValueError as error:
        raise RefusedError(Reason.MALFORMED) from error
    return RequestHead(
        method=method, target=target, path=path, headers=headers, body=body, keeps_alive=keeps
    )


def parse_response(data: bytes, *, method: str) -> ResponseHead:
    """Read the head of the answer to a `method` request; raises `ValueError`."""
    line, headers = _lines(data)
    version, _, rest = line.partition(" ")
    code, _, phrase = rest.partition(" ")
    is_known = version in _VERSIONS and re.fullmatch(r"[1-9][0-9][0-9]", code)
    if not is_known or _BAD_TEXT.search(phrase):
        raise ValueError(f"expected a status line, got {line!r}")
    status = int(code)
    if method == "HEAD" or status < 200 or status in _NO_BODY_STATUS:
        body = Body()
    else:
        body = _length(headers, otherwise=Body(is_until_close=True))
    keeps = version == "HTTP/1.1" and not body.is_until_close and not _has_token(headers, "close")
    return ResponseHead(status=status, phrase=phrase, headers=headers, body=body, keeps_alive=keeps)


def error_head(status: HTTPStatus, details: str) -> bytes:
    """The proxy's own answer in place of a server's, without a body, closing the connection."""
    reason = f'{_PROXY_NAME}; error=http_request_error; details="{details}"'
    headers = ((_PROXY_STATUS, reason), ("Content-Length", "0"), ("Connection", "close"))
    return _encode(f"HTTP/1.1 {status.value} {status.phrase}", headers)


def is_error_of_proxy(headers: Mapping[str, str]) -> bool:
    """Whether an answer with these headers was made by `error_head`."""
    values = [value for name, value in headers.items() if name.lower() == _PROXY_STATUS.lower()]
    return any(value.startswith(f"{_PROXY_NAME};") for value in values)


def _absolute(goal: str) -> tuple[Target, str]:
    """Target and origin form of an absolute URL; another scheme than http is refused."""
    if _BAD_PATH.search(goal):
        raise ValueError(goal)
    scheme, separator, _ = goal.partition("://")
    if not separator or not scheme:
        raise ValueError(goal)
    if scheme.lower() != "http":
        raise RefusedError(Reason.SCHEME)
    parts = urlsplit(goal)
    if "@" in parts.netloc or "\\" in goal:
        raise ValueError(goal)
    host, port = parse_authority(parts.netloc, default_port=HTTP_PORT)
    path = parts.path or "/"
    return Target(host=host, port=port), f"{path}?{parts.query}" if "?" in goal else path


def _lines(data: bytes) -> tuple[str, Headers]:
    """Start line and headers; latin-1, as the bytes of values are nobody's business here."""
    line, *rest = data.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
    headers = []
    for text in rest:
        name, colon, value = text.partition(":")
        if not colon or not _TOKEN.fullmatch(name) or _BAD_TEXT.search(value):
            raise ValueError(f"expected a header, got {text!r}")
        headers.append((name, value.strip(" \t")))
    return line, tuple(headers)


def _length(headers: Headers, *, otherwise: Body) -> Body:
    lengths = {value for name, value in headers if name.lower() == "content-length"}
    codings = [value.lower() for name, value in headers if name.lower() == "transfer-encoding"]
    if codings:
        if codings != ["chunked"] or lengths:
            raise ValueError(f"expected chunked and no length, got {codings} and {lengths}")
        return Body(is_chunked=True)
    if not lengths:
        return otherwise
    value = lengths.pop()
    if lengths or not (value.isascii() and value.isdigit()) or len(value) > 18:
        raise ValueError(f"expected one content length, got {value!r} and {lengths}")
    return Body(length=int(value))


def _has_token(headers: Headers, token: str) -> bool:
    return any(
        token in (part.strip().lower() for part in value.split(","))
        for name, value in headers
        if name.lower() in ("connection", "proxy-connection")
    )


def _forwarded(headers: Iterable[tuple[str, str]]) -> Headers:
    """Headers without those of the connection, and those that the connection header names."""
    headers = tuple(headers)
    named = {
        part.strip().lower()
        for name, value in headers
        if name.lower() == "connection"
        for part in value.split(",")
    }
    # A message keeps its length and coding whatever its connection header says.
    dropped = _HOP_BY_HOP | (named - {"content-length", "transfer-encoding", "host"})
    return tuple(h for h in headers if h[0].lower() not in dropped)


def _encode(line: str, headers: Iterable[tuple[str, str]]) -> bytes:
    text = "".join(f"{name}: {value}\r\n" for name, value in headers)
    return f"{line}\r\n{text}\r\n".encode("latin-1")
