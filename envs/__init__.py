# SPDX-License-Identifier: Apache-2.0
"""Browser worlds that run one search task at a time; neither torch nor ray.

Map: `types` (what crosses a seam), `actions` (the sixteen actions and their masks), `site` (what a
task set serves), `dom` (a document as rows, and the element table made from it), `driver` (what a
browser must be able to do), `search_env` (the environment), `answers` and `spans` (texts to answer
or type), `plain` (what an agent sees, as text), `registry` (names to classes), `browser/`
(Chromium), `twin/` (the same pages without Chromium), `web/` (the embedded web), `gym/` (the env
under Gymnasium's interface).
"""
