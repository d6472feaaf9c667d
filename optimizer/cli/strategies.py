"""strategies: list the shipped ones, all words of the language, and begin one of your own."""

from pathlib import Path
from typing import Annotated

from data.shell import write_command
from optimizer.atomic_write import write_whole
from optimizer.cli.console import stdout
from optimizer.cli.flags import Sectioned, argument, config_flags
from optimizer.cli.notes import note
from optimizer.cli.shared import command_group
from optimizer.config.run_config import TRADES, resolve_config
from optimizer.errors import ConfigError

app = command_group("Strategies: list, words, new, check.")


@app.command("list")
def list_strategies() -> None:
    """Every strategy with its genes."""
    from optimizer.cli.strategy_texts import print_genes
    from strategy import STRATEGIES

    console = stdout()
    for spec in STRATEGIES.values():
        console.say(f"{spec.name}: {spec.summary}")
        print_genes(console, spec)
        console.print()
    console.say("one of your own: python -m optimizer strategies new NAME")


@app.command("words")
def list_words() -> None:
    """Every word that a strategy's file may say."""
    from optimizer.cli.strategy_texts import list_signatures

    console = stdout()
    for heading, signatures in list_signatures().items():
        console.say(heading)
        if any(signatures.values()):
            for called, text in signatures.items():
                console.say(f"  {called}: {text}")
        else:
            console.say(f"  {', '.join(signatures)}")
        console.say("")
    console.say("They are joined by + - * / and abs, > < >= <=, & | ~.")
    console.say("A file to begin from: python -m optimizer strategies new NAME")


@app.command("new")
def write_beginning(
    name: Annotated[str, argument("Of the strategy and its file.", "NAME")],
) -> None:
    """Write a commented file to begin a strategy of your own from."""
    from optimizer.cli.strategy_texts import BEGINNING, is_module

    path = Path(name if name.endswith(".py") else f"{name}.py")
    if not path.stem.isidentifier():
        raise ConfigError(f"'{path.stem}' is no name of a strategy: use letters, digits and _")
    if is_module(path.stem):
        raise ConfigError(
            f"'{path.stem}' is the name of a module: programs that are started beside such a file "
            f"would import it in its place; name it otherwise, such as {path.stem}_idea"
        )
    if path.exists():
        raise ConfigError(f"{path} is there already")
    title = path.stem.replace("_", " ").capitalize()
    check = write_command("strategies", "check", path)
    search = write_command("evolve", "--strategy", path, "--judge")
    names = {"title": title, "check": check, "search": search, "variable": path.stem.upper()}
    write_whole(path, BEGINNING.format(**names))
    stdout().say(f"wrote {path}; check it: {check}")


@app.command("check", cls=Sectioned)
@config_flags(*(name for name in TRADES if name != "strategy"))
def check_strategy(
    file: Annotated[str, argument("The file, with :NAME if it has several.", "FILE.py")],
    *,
    flags: dict[str, object],
) -> None:
    """Show the mistakes of a strategy, or its trades with its default genes."""
    from optimizer.cli.check import print_strategy
    from optimizer.run.task import prepare
    from optimizer.search.compiling import compile_in_background
    from strategy.files import load_strategy
    from strategy.rules import is_file

    if not is_file(file):
        such = f"{file}.py" if Path(f"{file}.py").is_file() else "mine.py"
        raise ConfigError(f"'{file}' is no file of a strategy: name one, such as {such}")
    load_strategy(file)
    config = resolve_config(None, {**flags, "strategy": file})
    compile_in_background("reference")
    task = prepare(config, for_search=True)
    note(*task.notes)
    print_strategy(stdout(), task)
