# SPDX-License-Identifier: Apache-2.0
"""The default policy: match features and the gated network that reads them.

Map: `family` (both together), `features` (every column), `sizes` (how many there are), `net`; under
the features `scene` (what they share), `clues` (what is asked, and what notes explain of it),
`relations` (vectors of what is said about a subject), `words`, `change` and `history` (inputs of
the diff and the history stream); under the network `streams` (what each reads), `vision` (the
picture's encoder). Torch in `net`, `streams`, `vision` and `family` alone.
"""
