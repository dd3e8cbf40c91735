# SPDX-License-Identifier: Apache-2.0
"""The running system; the only folder that imports ray.

Map: `controller` (who waits for whom), `task_source`, `rollout`, `rewards`, `replay`, `learning`
(the four kinds of worker as plain objects), `launch_ray` and `launch_inprocess` (the same workers
as actors or as objects), `evaluation`, `metrics`, `progress`, `summary`, `cli`.
"""
