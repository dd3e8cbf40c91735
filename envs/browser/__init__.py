# SPDX-License-Identifier: Apache-2.0
"""Chromium through Playwright as a `PageDriver`."""
