"""objectives: everything that a search can strive for."""

from typing import Annotated

from data.shell import write_command
from optimizer.cli.console import plain_table, stdout
from optimizer.cli.flags import Sectioned, argument, config_flags
from optimizer.cli.shared import command_group
from optimizer.config.run_config import TRADES, resolve_config
from optimizer.formatting import MEANINGS, format_count, fraction, metric

app = command_group("What a search can strive for.")

DRAWN = 256
"""Candidates that a goal is tried on."""


@app.command("list")
def list_objectives() -> None:
    """Every objective."""
    from engine.accounts.metrics import FORMULAS
    from optimizer.goals.objectives import OBJECTIVES

    console = stdout()
    table = plain_table("objective", "wanted", "what it is")
    for objective in OBJECTIVES.values():
        wanted = "more" if objective.maximise else "less"
        table.add_row(objective.name, wanted, MEANINGS[objective.name])
    for name in FORMULAS:
        if name not in OBJECTIVES:
            table.add_row(name, "either", MEANINGS[name])
    console.print(table)
    console.say("R is what a trade puts at risk, from its entry to its stop.")
    console.say(
        "trades:min turns one; sharpe@worst says how windows make one number: mean, worst, q25; "
        "sharpe@near asks a member's near neighbours too"
    )
    console.say(
        "A formula is one too, with a name or without: "
        "--objective 'calm = cagr / max(max_drawdown, 0.05)'"
    )
    console.say("--constraint 'max_drawdown <= 0.3' bounds any of them, or a formula")
    console.say(
        f"Try one: {write_command('objectives', 'check', 'cagr / max(max_drawdown, 0.05)')}"
    )


@app.command("check", cls=Sectioned)
@config_flags(*TRADES)
def check_goal(
    text: Annotated[str, argument("An objective or a constraint.", "FORMULA")],
    *,
    flags: dict[str, object],
) -> None:
    """Try an objective or a constraint on candidates drawn at random."""
    import numpy as np

    from optimizer.goals.constraints import find_constraint
    from optimizer.run.points import try_objective
    from optimizer.run.task import prepare

    bound = find_constraint(text)
    goal = text if bound is None else bound.as_objective
    tried = try_objective(prepare(resolve_config(None, {**flags, "objectives": goal})), DRAWN)
    objective, known = tried.objective, np.sort(tried.values[~np.isnan(tried.values)])
    console = stdout()
    if bound is None:
        more = "more" if objective.maximise else "less"
        console.say(f"{objective.name}: {objective.metric}, {more} is better")
    else:
        kept = int(bound.holds(known).sum())
        console.say(f"{bound.name}: kept by {fraction(kept / DRAWN)} of {DRAWN} candidates")
    table = plain_table("of what is defined", "value", right=("value",))
    places = {"least": 0, "a quarter below": 1, "middle": 2, "a quarter above": 3, "largest": 4}
    for name, quarter in places.items() if len(known) else ():
        table.add_row(name, metric(objective.name, float(known[(len(known) - 1) * quarter // 4])))
    console.print(table)
    reasons = ", ".join(f"{why.replace('_', ' ')} {n}" for why, n in tried.undefined.items())
    undefined = DRAWN - len(known)
    share = f"{fraction(undefined / DRAWN)} of {format_count(DRAWN, 'candidate')}"
    console.say(f"undefined in {share}{': ' if reasons else ''}{reasons}")
