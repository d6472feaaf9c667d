"""The command line: ``python -m optimizer COMMAND``.

Exit codes: 0 done; 2 usage, configuration or data refused; 4 run store; 5 device; 130 interrupted,
with everything recorded so far kept; 1 a defect of ours, or engines that disagree.
"""

import os
import sys
import traceback

from typer.exceptions import TyperException

from optimizer.commands.app import app
from optimizer.errors import OptimizerError

CLOSED_PIPE = 141
"""What a shell reports for a program whose reader went away."""

INTERRUPTED = 130


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
    try:
        code = app(given or ["--help"], standalone_mode=False, prog_name="python -m optimizer")
        sys.stdout.flush()
        return int(code or 0)
    except BrokenPipeError:
        # The interpreter flushes stdout once more at exit; give it somewhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return CLOSED_PIPE
    except (Exception, KeyboardInterrupt) as error:
        if is_debug:
            traceback.print_exc()
        message, code = _explained(error)
        if message:
            print(f"error: {message}" if code != INTERRUPTED else message, file=sys.stderr)
        return code


def _explained(error: BaseException) -> tuple[str, int]:
    """What to tell a person, and the exit code."""
    if isinstance(error, TyperException):
        return error.format_message(), 2
    if isinstance(error, KeyboardInterrupt):
        return "stopped", INTERRUPTED
    if isinstance(error, OptimizerError):
        return str(error), error.exit_code
    return _explained_from_below(error)


def _explained_from_below(error: BaseException) -> tuple[str, int]:
    # Imported only now: the way without an error needs none of them.
    from data.errors import DataError
    from engine.errors import DeviceError, EngineError
    from strategy.errors import StrategyError

    if isinstance(error, DeviceError):
        return str(error), 5
    if isinstance(error, DataError | EngineError | StrategyError):
        return str(error), 2
    name = type(error).__name__
    return f"{name}: {error} (a defect of the optimizer; --debug shows where)", 1


if __name__ == "__main__":
    sys.exit(main())
