# SPDX-License-Identifier: Apache-2.0
"""Chromium as an `envs.driver.PageDriver`.

Map: `driver` (the `PageDriver`) over `reading` (a page as a snapshot, decoded by `snapshot`),
`pointing` (hit tests, mouse, keys) and `settle` (when a step is over); `tabs` and `tab` (what the
host knows of pages, from events); `cdp` (the socket); `launch`, `profile`, `discovery` (the
process, its folder, its binary); `install` (`python -m envs.browser.install`).
"""
