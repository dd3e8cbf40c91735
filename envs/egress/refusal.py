# SPDX-License-Identifier: Apache-2.0
"""Why the proxy refuses, and the refusal as it is recorded and raised."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from http import HTTPStatus


class Reason(enum.Enum):
    """Why a request was refused."""

    MALFORMED = "malformed"  # no request that can be read in one way only
    SCHEME = "scheme"  # neither http nor a tunnel
    METADATA = "metadata"  # of a cloud's machine; never allowed
    NOT_LISTED = "not_listed"  # the proxy lets listed hosts through only, and this is none
    PRIVATE_ADDRESS = "private_address"  # one of the host's addresses is not public
    RATE = "rate"  # too many requests to this domain
    BYTES = "bytes"  # too many bytes from and to this domain, or all domains
    BREAKER_OPEN = "breaker_open"  # the domain timed out too often
    BUSY = "too_many_connections"

    def status(self) -> HTTPStatus:
        """What the client is answered."""
        return _STATUS.get(self, HTTPStatus.FORBIDDEN)


_STATUS = {
    Reason.MALFORMED: HTTPStatus.BAD_REQUEST,
    Reason.RATE: HTTPStatus.TOO_MANY_REQUESTS,
    Reason.BREAKER_OPEN: HTTPStatus.SERVICE_UNAVAILABLE,
    Reason.BUSY: HTTPStatus.SERVICE_UNAVAILABLE,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Refusal:
    """One refused request."""

    authority: str  # canonical "host:port"; "" when the request could not be read
    reason: Reason

    def __str__(self) -> str:
        return f"{self.authority or '?'} {self.reason.value}"


class RefusedError(Exception):
    """A request is refused; the client hears the status and nothing else."""

    def __init__(self, reason: Reason, authority: str = "") -> None:
        super().__init__(f"{authority or 'request'}: {reason.value}")
        self.refusal = Refusal(authority=authority, reason=reason)
