# SPDX-License-Identifier: Apache-2.0
"""From the files of well-known question sets to rows of a corpus.

Map: `reading` (JSON, JSON lines, gzip, folders) -> `paragraphs` (HotpotQA, 2WikiMultihopQA) and
`tables` (OTT-QA, HybridQA), each a function from inputs to `Converted` (`rows_out`). What a set
does not say is not made up: its documents, questions and supporting facts are carried over.
"""
