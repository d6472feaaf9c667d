"""Programs in processes of their own that begin with what another one has imported."""

import json
import os
import subprocess
import sys

SERVER = """
import json, os, sys, tempfile
exec(sys.argv[1])
for line in sys.stdin:
    folder, code, *arguments = json.loads(line)
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        if not os.fork():
            os.dup2(out.fileno(), 1)
            os.dup2(err.fileno(), 2)
            os.chdir(folder)
            sys.path.insert(0, folder)
            sys.argv[1:] = arguments
            exec(code, {"__name__": "__main__"})
            sys.exit()
        status = os.waitstatus_to_exitcode(os.wait()[1])
        said = []
        for file in (out, err):
            file.seek(0)
            said.append(file.read().decode())
    print(json.dumps([status, *said]), flush=True)
"""


class Forking:
    """A process that has imported something, and begins others that need not do so again.

    Args:
        imports: What it does first.
        environment: All variables of its own and of what it begins.
    """

    def __init__(self, imports, environment=os.environ):
        pipe = subprocess.PIPE
        # Python's own code of a file is kept by its second and its length, which may be the same.
        command = [sys.executable, "-B", "-c", SERVER, imports]
        self._process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, text=True, env=environment
        )

    def run(self, folder, code, *arguments):
        """What a program prints in a folder, where it looks for modules first; fails with it."""
        self._process.stdin.write(json.dumps([str(folder), code, *arguments]) + "\n")
        self._process.stdin.flush()
        status, out, err = json.loads(self._process.stdout.readline())
        assert status == 0, err[-3000:]
        return out

    def close(self):
        """End it."""
        self._process.kill()
        self._process.communicate()
