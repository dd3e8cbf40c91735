# SPDX-License-Identifier: Apache-2.0
"""The running system; the only folder that imports ray.

Map, from the outside in: `cli` (commands), `training` and `evaluating` (the two jobs), `session`
(workers that are up), `controller` (who waits for whom), `evaluation`, `task_source` (groups and
the admission window), `pool` (lost workers are replaced), `types` (what passes between them).
The four kinds of worker as plain objects: `rollout`, `rewards`, `replay`, `learning`; made into
actors by `launch_ray`, or used as they are by `launch_inprocess`. Beside them: `config`,
`weight_box`, `interrupts`, `supervising`, `run_folder`, `metrics`, `progress`, `memory`,
`statistics`, `summary`.
What a person looks at: `live` (the terminal), `show` (report and viewer of what `archive` keeps),
`browse` (acts in the agent's place), `loggers` (trackers), `trace` (spans for Perfetto), `doctor`.
"""
