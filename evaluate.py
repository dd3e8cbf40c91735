# SPDX-License-Identifier: Apache-2.0
"""Evaluate a checkpoint: `python evaluate.py checkpoint=runs/latest`; see `conf/evaluate.yaml`."""

import sys

from actors.cli import main

if __name__ == "__main__":
    sys.exit(main(["evaluate", *sys.argv[1:]]))
