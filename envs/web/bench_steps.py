# SPDX-License-Identifier: Apache-2.0
"""Steps that the scripted oracle needs for each task of Forage-Bench, measured on the fast twin.

`tests/envs/web/test_bench_steps.py` measures them again.
"""

from __future__ import annotations

_TEXT = """
    9 5 7 10 6 8 9 6 9 12 5 13 7 5 9 11 5 13 7 7 9 9 9 15 7 6 10 10 6 13 8 6 6 11 6 12 9 6 9 9 5
    12 7 6 9 11 5 13 9 6 6 9 5 12 10 5 11 9 6 8 7 6 6 11 6 11 7 6 6 9 6 11 7 6 9 9 6 10 7 7 9 10
    5 14 7 7 9 11 7 12 7 5 10 11 5 16 7 6 7 12 5 11 7 5 9 9 5 14 9 6 11 10 5 8 8 5 10 10 5 10 9
    6 10 11 5 11 8 5 9 9 8 14 10 6 9 11 7 13 7 5 10 9 5 8 8 5 12 9 7 8 8 6 9 10 5 13 9 5 8 11 6
    11 7 5 9 10 6 13 7 5 12 11 8 11 7 6 11 10 6 13 7 5 10 10 6 10 7 5 10 9 6 13 7 5 7 11 5 8 7 5
    6 11 5 11 10 5 7 9 6 11 7 5 7 10 7 13 9 5 10 9 8 11 9 5 10 10 6 11 8 6 10 12 6 11 7 5 10 10
    5 14 9 5 12 13 6 11 8 6 10 9 5 14 7 6 10 12 6 10 7 6 6 9 5 12 9 5 9 9 5 8 7 6 9 9 5 13 7 6 9
    11 6 11 8 5 6 9 8 11 7 8 10 9 5 12 7 6 6 9 5 11
"""
ORACLE_STEPS = tuple(int(steps) for steps in _TEXT.split())  # [300] in the order of the tasks
