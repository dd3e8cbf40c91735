# SPDX-License-Identifier: Apache-2.0
"""A test fails when the proxy's own log has an error: what it serves must never be one."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def no_error_is_logged(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    yield
    errors = [r for r in caplog.get_records("call") if r.levelno >= logging.ERROR]
    assert not [record.getMessage() for record in errors]
