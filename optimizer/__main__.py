"""The command line: ``python -m optimizer COMMAND``.

Exit codes: 0 done; 2 usage, configuration or data refused; 4 run store; 5 device; 130 interrupted,
with everything recorded so far kept; 1 a defect of ours, or engines that disagree.
"""

import errno
import io
import os
import sys
import traceback

from typer.exceptions import TyperException

from optimizer.commands.app import app
from optimizer.commands.interrupts import stopping_at_once
from optimizer.errors import OptimizerError, ParityError, StoppedError, StoreError

CLOSED_PIPE = 141
"""What a shell reports for a program whose reader went away."""

FULL_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def main(arguments: list[str] | None = None) -> int:
    """Run one command.

    Args:
        arguments: Of the command line, those of this process when None.

    Returns:
        The exit code; errors are one line on stderr.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    is_debug = "--debug" in given
    given = [argument for argument in given if argument != "--debug"]
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character must not end the command.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        with stopping_at_once():
            code = app(given or ["--help"], standalone_mode=False, prog_name="python -m optimizer")
            sys.stdout.flush()
        # The command line's library makes a code of Ctrl-C, and says nothing.
        return _failed(KeyboardInterrupt()) if code == StoppedError.exit_code else int(code or 0)
    except (SystemExit, BrokenPipeError):
        # Libraries leave the program when a reader went away; no command of ours does.
        _forget_stdout()
        return CLOSED_PIPE
    except (Exception, KeyboardInterrupt) as error:
        if is_debug:
            traceback.print_exc()
        return _failed(error)


def _failed(error: BaseException) -> int:
    """Tell a person what went wrong; the exit code."""
    if isinstance(error, StoppedError | KeyboardInterrupt):
        print(str(error) or "stopped", file=sys.stderr)
        return StoppedError.exit_code
    if isinstance(error, OSError) and error.errno in FULL_DISK:
        _forget_stdout()
    message, code = _explained(error)
    # A mismatch is shown in full; everything else is one line, for programs to read.
    told = message if isinstance(error, ParityError) else _one_line(message)
    print(f"error: {told}", file=sys.stderr)
    return code


def _explained(error: BaseException) -> tuple[str, int]:
    """What to tell a person, and the exit code."""
    # Imported only now: the way without an error needs none of them.
    from data.errors import DataError
    from engine.errors import DeviceError, EngineError
    from strategy.errors import StrategyError

    if isinstance(error, TyperException):
        return error.format_message(), 2
    if isinstance(error, OptimizerError):
        return str(error), error.exit_code
    if isinstance(error, DeviceError):
        return str(error), 5
    if isinstance(error, DataError | EngineError | StrategyError):
        return str(error), 2
    if isinstance(error, OSError) and error.errno in FULL_DISK:
        return f"the output could not be written: {error.strerror}", StoreError.exit_code
    name = type(error).__name__
    return f"{name}: {error} (a defect of the optimizer; --debug shows where)", 1


def _one_line(message: str) -> str:
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    return "; ".join(lines).replace(":; ", ": ")


def _forget_stdout() -> None:
    # The interpreter flushes stdout once more at exit; give it somewhere to go.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
