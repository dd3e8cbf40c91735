# SPDX-License-Identifier: Apache-2.0
"""Importing this module registers the ids, for `gymnasium.make("envs.gym.ids:foragerl/...")`.

The one module of ours whose import does something: Gymnasium finds envs in no other way.
"""

from envs.gym.registration import register

register()
