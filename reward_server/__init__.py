# SPDX-License-Identifier: Apache-2.0
"""Scores attempts: numpy and opencv only, so that a small ARM board can run it.

Map: `config` (what is paid, and how much), `layers` (the parts of the three layers, pure),
`registry` (names to parts), `scorer` (an `Episode` to a `Scored` or an `Unscored`).
"""
