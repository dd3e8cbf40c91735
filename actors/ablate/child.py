# SPDX-License-Identifier: Apache-2.0
"""One training run of an ablation: ends, saving, when the command that started it is gone.

`python -m actors.ablate.child PARENT_PID train key=value ...`
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

from actors.cli import main

_PR_SET_PDEATHSIG = 1  # <linux/prctl.h>


def end_with(parent_pid: int) -> bool:
    """Have the kernel interrupt this process when its parent ends, by whatever; False if it has.

    Linux alone can; elsewhere a killed command leaves its runs to their own end.
    """
    if sys.platform.startswith("linux"):
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.prctl(_PR_SET_PDEATHSIG, signal.SIGINT) != 0:
            raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG)")
    return os.getppid() == parent_pid


if __name__ == "__main__":
    sys.exit(main(sys.argv[2:]) if end_with(int(sys.argv[1])) else 1)
