"""A message to a webhook or a command: JSON, with secrets that only the environment knows."""

import json
import os
import shlex
import subprocess
from collections.abc import Mapping
from string import Template

import urllib3
from urllib3.exceptions import HTTPError

from optimizer.errors import ConfigError, OptimizerError

WEBHOOKS = ("https://", "http://")

LONGEST_S = 30.0
"""Seconds until a message counts as lost."""


class MessageError(OptimizerError):
    """A message did not arrive; its words hold no secret."""

    exit_code = 3


def check_target(target: str) -> None:
    """Refuse a target of messages that cannot be one.

    Args:
        target: An address that begins with ``https://`` or ``http://``, or else a command;
            ``$NAME`` in it stands for a variable of the environment.

    Raises:
        ConfigError: When it is empty, or names a variable that is not there.
    """
    filled = _fill_secrets(target)
    if not target.startswith(WEBHOOKS) and not _split_command(filled):
        raise ConfigError("--on-change is empty: name a command, or an address of a webhook")


def send_message(target: str, body: Mapping[str, object]) -> None:
    """Send a body as JSON: by POST to a webhook, or to the standard input of a command.

    Raises:
        MessageError: When it does not arrive.
    """
    text = json.dumps(body, allow_nan=False).encode()
    filled = _fill_secrets(target)
    if target.startswith(WEBHOOKS):
        _post(filled, text)
    else:
        _run(_split_command(filled), text)


def _post(address: str, text: bytes) -> None:
    try:
        answer = urllib3.request(
            "POST",
            address,
            body=text,
            headers={"Content-Type": "application/json"},
            redirect=False,
            retries=False,
            timeout=LONGEST_S,
        )
    except (HTTPError, OSError) as error:
        # Messages of the library show the address, which may hold a secret.
        raise MessageError(f"the webhook failed ({type(error).__name__})") from None
    if not 200 <= answer.status < 300:
        raise MessageError(f"the webhook answered with status {answer.status}")


def _run(words: list[str], text: bytes) -> None:
    try:
        ended = subprocess.run(
            words, input=text, stdout=subprocess.DEVNULL, timeout=LONGEST_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise MessageError(f"the command took more than {LONGEST_S:g} s") from None
    except OSError as error:
        raise MessageError(f"the command cannot be started ({error.strerror})") from None
    if ended.returncode:
        raise MessageError(f"the command ended with {ended.returncode}")


def _split_command(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        raise ConfigError("--on-change: a quotation mark is not closed") from None


def _fill_secrets(target: str) -> str:
    """A target with variables of the environment in it."""
    try:
        return Template(target).substitute(os.environ)
    except KeyError as error:
        raise ConfigError(
            f"--on-change names ${error.args[0]}, which the environment does not have"
        ) from None
    except ValueError:
        raise ConfigError("--on-change: write $$ for a plain $, or $NAME for a variable") from None
