# SPDX-License-Identifier: Apache-2.0
"""Evaluate a checkpoint: `python evaluate.py checkpoint=runs/latest`; see `conf/evaluate.yaml`."""

import sys

from actors.entry import run

if __name__ == "__main__":
    sys.exit(run(["evaluate", *sys.argv[1:]]))
