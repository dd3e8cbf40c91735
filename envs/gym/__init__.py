# SPDX-License-Identifier: Apache-2.0
"""The env through Gymnasium's interface; see docs/GYMNASIUM.md.

forage_env.py     `ForageEnv`: reset and step over arrays of fixed sizes
arrays.py         those arrays: keys, shapes, units, and how an observation becomes them
action_index.py   actions as the whole numbers of one `Discrete`, and its mask
core_thread.py    the async env on an event loop of its own thread, with deadlines
settings.py       keyword arguments to an `EnvConfig`
browsergym.py     observations and action strings in BrowserGym's shape
bid_actions.py    action strings such as `click('12')` to actions, never executed as code
registration.py   the ids; `ids.py` registers them when it is imported
"""
