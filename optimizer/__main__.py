"""The command line: ``python -m optimizer COMMAND``.

Exit codes stand in docs/reference/commands.md.
"""

import contextlib
import errno
import os
import re
import sys
import traceback
import warnings
from typing import TextIO

from typer.exceptions import TyperException

from optimizer.cli.app import app, explain_wrong_use
from optimizer.cli.flags import ASKED_FOR_ALL
from optimizer.cli.notes import (
    STOPPED,
    handle_signals,
    interrupt_again,
    keep_for_json,
    prepare_streams,
    relay_logs,
    stop_now,
    tell,
)
from optimizer.errors import OptimizerError, ParityError, StoppedError, StoreError

PACKAGE = "exhaustion-optimizer"

CLOSED_PIPE = 141
"""Exit code that a shell reports for a program whose reader went away."""

DEFECT, FAILED_DEVICE = 1, 5

UNUSABLE_NAME = (errno.ENAMETOOLONG, errno.ELOOP, errno.EACCES, errno.ENOTDIR)
"""Errors of names that no file can have or that may not be opened."""

LONGEST_NAME = 255
"""Longer names no file system has; they are cut where they are shown."""

COMPLETE = "_OPTIMIZER_COMPLETE"
"""In the environment where a shell asks what may follow."""

ASKS_FOR_COMPLETION = {"--install-completion", "--show-completion"}


def main(arguments: list[str] | None = None) -> int:
    """Run one command.

    Args:
        arguments: Of the command line. With None they are those of this process, which is then
            ours, and ends here.

    Returns:
        The exit code; errors are one line on stderr.
    """
    if arguments is not None:
        return _run(arguments, is_ours=False)
    process_arguments = sys.argv[1:]
    # numba goes on without a setting that it cannot read, after a traceback.
    warnings.filterwarnings("error", "Environment variable", RuntimeWarning, r"numba\.core\.config")
    code = _run(process_arguments, is_ours=True)
    if code == FAILED_DEVICE or "--debug" not in process_arguments:
        _end_at_once(code)
    return code


def _run(arguments: list[str], *, is_ours: bool) -> int:
    """Run one command; `is_ours`: in a process of this program."""
    STOPPED.clear()
    StoppedError.answer = ""
    given = list(arguments)
    is_debug = "--debug" in given
    given = [argument for argument in given if argument != "--debug"]
    ASKED_FOR_ALL.set("--help-all" in given)
    given = ["--help" if argument == "--help-all" else argument for argument in given]
    prepare_streams(is_ours=is_ours)
    try:
        with (
            keep_for_json("--json" in given),
            handle_signals(stop_now),
            interrupt_again(),
            relay_logs(),
        ):
            if given == ["--version"]:
                # Only here, because it imports much.
                from importlib.metadata import version

                sys.stdout.write(f"{PACKAGE} {version(PACKAGE)}\n")
                return 0
            if COMPLETE in os.environ or ASKS_FOR_COMPLETION.intersection(given):
                with contextlib.suppress(SystemExit):
                    app(given, prog_name="optimizer", complete_var=COMPLETE, standalone_mode=False)
                return 0
            words, name = given or ["--help"], "python -m optimizer"
            code = app(words, standalone_mode=False, prog_name=name)
            sys.stdout.flush()
        # The command line's library makes a code of Ctrl-C, silently.
        return (
            _report_error(KeyboardInterrupt()) if code == StoppedError.exit_code else int(code or 0)
        )
    except TyperException as error:
        return _report_error(explain_wrong_use(error, given), is_debug=is_debug)
    except (SystemExit, BrokenPipeError):
        # Libraries leave the program when a reader went away; no command of ours does.
        _forget(sys.stdout)
        return CLOSED_PIPE
    except (Exception, KeyboardInterrupt) as error:
        return _report_error(error, is_debug=is_debug)


def _end_at_once(code: int) -> None:
    """End the process without its libraries' part.

    A device that hangs would hold them up for ever, and taking compiled loops down one by one is
    half a second of work.
    """
    for stream in (sys.stdout, sys.stderr):
        _flush(stream)
    os._exit(code)


def _report_error(error: BaseException, *, is_debug: bool = False) -> int:
    """Tell a person what went wrong; the exit code."""
    if is_debug:
        _tell("".join(traceback.format_exception(error)).rstrip())
    if isinstance(error, StoppedError | KeyboardInterrupt):
        _tell(StoppedError.answer or "stopped")
        return StoppedError.exit_code
    _flush(sys.stdout)
    message, code = _describe_error(error)
    if STOPPED.is_set() and code == DEFECT and not isinstance(error, OptimizerError):
        # Until Python 3.12 a signal within `__set_name__`, as of a cached property, is an error.
        _tell(StoppedError.answer or "stopped")
        return StoppedError.exit_code
    # A mismatch is shown in full; everything else is one line, for programs to read.
    sentence = message if isinstance(error, ParityError) else _one_line(message)
    mistakes = getattr(error, "mistakes", ()) if sys.stderr.isatty() else ()
    for line in map(_one_line, mistakes or [sentence]):
        _tell(f"error: {line}")
    return code


def _tell(text: str) -> None:
    """Print on stderr; where that is full or gone too, the exit code is all that is left."""
    try:
        tell(text)
    except OSError:
        _forget(sys.stderr)


def _describe_error(error: BaseException) -> tuple[str, int]:
    """Message for a person, and the exit code: of a full disk one, whatever was written."""
    # Imported only now: the way without an error needs none of them.
    from data.errors import describe_unwritten, is_full_disk
    from optimizer.cli.limits import explain_limit

    full = StoreError.exit_code if is_full_disk(error) else None
    limit = None if isinstance(error, OptimizerError) else explain_limit(error)
    if isinstance(error, TyperException):
        return error.format_message().replace("Value error, ", ""), 2
    if limit is not None:
        return limit, full or 2
    if (code := getattr(error, "exit_code", None)) is not None:
        return str(error), full or code
    if isinstance(error, OSError) and full:
        return describe_unwritten(error.filename or "the output", error), full
    if isinstance(error, OSError) and error.errno in UNUSABLE_NAME:
        return f"{error.filename or 'a file'}: {error.strerror}", 2
    name = type(error).__name__
    return f"{name}: {error} (a defect of the optimizer; --debug shows where)", DEFECT


def _one_line(message: str) -> str:
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    line = "; ".join(lines).replace(":; ", ": ")
    # A byte that a shell reads as `\xe9` is one sign of a name.
    too_long = rf"(?:(?>\\x[0-9a-f]{{2}}|[^\s/])){{{LONGEST_NAME + 10},}}"
    return re.sub(too_long, lambda name: f"{name[0][:60]}...", line)


def _flush(stream: TextIO) -> None:
    try:
        stream.flush()
    except OSError:
        _forget(stream)


def _forget(stream: TextIO) -> None:
    # The interpreter flushes once more at exit; give it somewhere to go.
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


if __name__ == "__main__":
    sys.exit(main())
