"""Limits of this process, for as long as a test needs them."""

import contextlib
import resource
import signal


@contextlib.contextmanager
def limit_file_size(size):
    """Let no file grow beyond a size, as a full disk does."""
    before, heard = resource.getrlimit(resource.RLIMIT_FSIZE), signal.getsignal(signal.SIGXFSZ)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, heard)
