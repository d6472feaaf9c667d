"""objectives: everything that a search can strive for."""

from optimizer.cli.shared import command_group

app = command_group("What a search can strive for.")


@app.command("list")
def list_objectives() -> None:
    """Every objective."""
    from engine.accounts.metrics import METRICS
    from optimizer.cli.console import plain_table, stdout
    from optimizer.formatting import MEANINGS
    from optimizer.goals.objectives import OBJECTIVES

    console = stdout()
    table = plain_table("objective", "wanted", "what it is")
    for objective in OBJECTIVES.values():
        wanted = "more" if objective.maximise else "less"
        table.add_row(objective.name, wanted, MEANINGS[objective.name])
    for name in METRICS:
        if name not in OBJECTIVES:
            table.add_row(name, "-", f"{MEANINGS[name]}; for constraints only")
    console.print(table)
    console.say("R is what a trade puts at risk, from its entry to its stop.")
    console.say(
        "trades:min turns one; sharpe@worst says how windows make one number: mean, worst, q25; "
        "sharpe@near asks a member's near neighbours too"
    )
    console.say("--constraint 'max_drawdown <= 0.3' bounds any of them")
