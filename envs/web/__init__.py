# SPDX-License-Identifier: Apache-2.0
"""The embedded web: a world drawn from a seed, its sites, its search engine and its tasks.

Map: `relations`, `terms`, `names`, `draw` -> `world` (entities and facts) -> `wording`, `filler`,
`article` (which block of a page states which fact) -> `search_index`, `sites/`, `hazards`,
`web_site` (all hosts as one site) -> `questions`, `task_set` (tasks with their truth) -> `guide`,
`teacher` (what to do next, for those who may know). `serve` shows it to a person.
"""
