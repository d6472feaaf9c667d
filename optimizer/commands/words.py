"""strategies words: what a strategy's file may say, from the language itself."""

import inspect

from optimizer.commands.console import stdout
from strategy import words
from strategy.kinds import COLUMNS, KINDS

HEADINGS = {
    "Term": "Other numbers and genes",
    "Claim": "Conditions",
    "Strategy": "The strategy itself",
}
"""By what a word makes."""


def words_command() -> None:
    """Print every word."""
    console = stdout()
    for heading, told in told_words().items():
        console.say(heading)
        if any(told.values()):
            for called, text in told.items():
                console.say(f"  {called}: {text}")
        else:
            console.say(f"  {', '.join(told)}")
        console.say("")
    console.say("They are joined by + - * / and abs, > < >= <=, & | ~.")
    console.say("A file to begin from: python -m optimizer strategies new NAME")


def told_words() -> dict[str, dict[str, str]]:
    """Every word as it is called and what it is, by what it makes; columns need no words."""
    found: dict[str, dict[str, str]] = {"Columns": {}, "Indicators": {}}
    for name in words.__all__:
        word = getattr(words, name)
        if name in COLUMNS:
            found["Columns"][name] = ""
            continue
        heading = "Indicators"
        if name not in KINDS:
            made = getattr(inspect.signature(word).return_annotation, "__name__", "")
            heading = HEADINGS.get(made, "Stops, targets, exits and the rest")
        found.setdefault(heading, {})[_called(name)] = _meaning(name)
    return found


def _called(name: str) -> str:
    """A word with its arguments, without their types."""
    signature = inspect.signature(getattr(words, name))
    bare = [
        one.replace(annotation=inspect.Parameter.empty) for one in signature.parameters.values()
    ]
    return name + str(inspect.Signature(bare))


def _meaning(name: str) -> str:
    reads = KINDS[name].columns if name in KINDS else ()
    text = str(getattr(words, name).__doc__).splitlines()[0]
    return f"{text} It reads {', '.join(reads)}." if reads else text
