"""A command of this program that ends with the server that began it, however that one ended.

The server holds the other end of standard input; the system closes it with its holder.
"""

import os
import runpy
import signal
from threading import Thread


def end_with_server() -> None:
    """End this process and its children once standard input has no holder."""
    os.read(0, 1)
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    Thread(target=end_with_server, daemon=True).start()
    runpy.run_module("optimizer", run_name="__main__", alter_sys=True)
