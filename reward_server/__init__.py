# SPDX-License-Identifier: Apache-2.0
"""Scores attempts: numpy and opencv only, so that a small ARM board can run it.

Map: `config`, `layers` (the three reward layers, pure), `scorer` (an `Episode` to a `Scored`).
"""
