# SPDX-License-Identifier: Apache-2.0
"""Everything that a page or a question says, by language.

Map: `shapes` (what a language has to provide), `en_*` and `zh_*` (what each provides), `languages`
(the table of them). A further language is its modules and one row of that table.
"""
