# SPDX-License-Identifier: Apache-2.0
"""Any corpus as a browsable, searchable site with tasks: `documents.jsonl` and `questions.jsonl`.

Map: `rows` (the two files' fields, and what is wrong with a row) -> `hashed` (text to numbers, on
disk) -> `search` (BM25, on disk) -> `library` (documents by row or key, with the cache folder) ->
`markup` (safe HTML from any format), `parts` (long documents in parts) -> `pages` (the site) ->
`evidence`, `task_set` (tasks with their truth) -> `teacher`. `importing` is the command line and
`convert/` writes the two files from well-known question sets.
"""
