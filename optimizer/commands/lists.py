"""Every choice has a list: strategies and objectives."""

from rich.table import Table

from engine.metrics import METRICS
from optimizer.commands.console import stdout
from optimizer.objectives import OBJECTIVES
from optimizer.shown import number
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
    """Print objectives."""
    table = Table(box=None)
    table.add_column("objective")
    table.add_column("the search")
    for objective in OBJECTIVES.values():
        table.add_row(objective.name, "maximises it" if objective.maximise else "minimises it")
    console = stdout()
    console.print(table)
    console.say(
        "trades:min turns one; sharpe@worst says how windows make one number: mean, worst, q25"
    )
    others = ", ".join(name for name in METRICS if name not in OBJECTIVES)
    console.say(f"--constraint 'max_drawdown <= 0.3' bounds any of them, and {others}")
