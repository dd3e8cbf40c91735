# SPDX-License-Identifier: Apache-2.0
"""The sites of the embedded web, one module each; pure functions from request to HTML.

Map: `shell` (what all pages share), `pictures` (SVG images), `search` (search engine) and `results`
(its hits as markup), `wiki` (encyclopedia), `policy` (government rules), `advert` (where the search
engine's adverts lead).
"""
