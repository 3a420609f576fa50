"""Limit a child process, then run its script: `python -P child_limits.py MEMORY SCRIPT ARGUMENT...`.

It is run by path, not imported, so that a child starts as fast as what its script imports.
"""

import runpy
import signal
import sys

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interruption is the parent's, which then ends this process
    try:
        import resource
    except ImportError:  # Windows
        pass
    else:
        memory = int(sys.argv[1])
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.argv = sys.argv[2:]
    runpy.run_path(sys.argv[0], run_name="__main__")
