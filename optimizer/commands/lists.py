"""Every choice has a list: strategies and objectives."""

from rich.table import Table

from engine.metrics import METRICS
from optimizer.commands.console import stdout
from optimizer.goals.objectives import OBJECTIVES
from optimizer.shown import MEANINGS, number
from strategy import STRATEGIES


def strategies_command() -> None:
    """Print strategies and their genes."""
    console = stdout()
    for spec in STRATEGIES.values():
        console.say(f"{spec.name}: {spec.summary}")
        table = Table(box=None)
        table.add_column("  gene")
        for heading in ("low", "default", "high"):
            table.add_column(heading, justify="right")
        table.add_column("unit")
        for gene in spec.layout.genes:
            bounds = (number(value) for value in (gene.low, gene.default, gene.high))
            table.add_row(f"  {gene.name}", *bounds, gene.unit)
        console.print(table)
        console.print()


def objectives_command() -> None:
    """Print objectives, what each is, and the metrics that only constraints may name."""
    console = stdout()
    table = Table(box=None)
    for heading in ("objective", "wanted", "what it is"):
        table.add_column(heading)
    for objective in OBJECTIVES.values():
        wanted = "more" if objective.maximise else "less"
        table.add_row(objective.name, wanted, MEANINGS[objective.name])
    for name in METRICS:
        if name not in OBJECTIVES:
            table.add_row(name, "-", f"{MEANINGS[name]}; for constraints only")
    console.print(table)
    console.say("R is what a trade puts at risk, from its entry to its stop.")
    console.say(
        "trades:min turns one; sharpe@worst says how windows make one number: mean, worst, q25"
    )
    console.say("--constraint 'max_drawdown <= 0.3' bounds any of them")
