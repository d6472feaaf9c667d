"""Limits of this process, for as long as a test needs them."""

import contextlib
import resource
import signal
import sys


@contextlib.contextmanager
def limit_file_size(size):
    """Let no file grow beyond a size, as a full disk does."""
    before, heard = resource.getrlimit(resource.RLIMIT_FSIZE), signal.getsignal(signal.SIGXFSZ)
    # Python keeps compiled modules that such a disk cut, and fails on them from then on.
    sys.dont_write_bytecode = True
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, heard)
        sys.dont_write_bytecode = False
