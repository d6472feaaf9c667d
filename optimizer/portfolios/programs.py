"""A portfolio as programs of another platform, one a component."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from engine.accounts.costs import Costs
from optimizer.errors import ConfigError
from optimizer.export.programs import ENDINGS, build_program
from optimizer.portfolios.portfolio import pick_members


def build_component_programs(
    members: Sequence[tuple[str, int | None]],
    weights: Sequence[float],
    costs: Costs,
    runs: Path,
    platform: str,
) -> dict[str, str]:
    """Text of a program for each component, by the place of its file.

    Each risks the account's share times its weight; without limits no component's trades hang on
    those of another. Arguments are those of `optimizer.portfolios.portfolio.build_portfolio`, and a
    name of `ENDINGS`.

    Raises:
        ConfigError: When the account has limits, a component sizes its trades from cash, or the
            platform cannot say what a member does.
        StoreError: When members would trade otherwise than in their run.
    """
    if costs.has_limits:
        raise ConfigError(
            "max_positions and max_leverage: the program of a component does not know what others "
            "hold; a portfolio with limits is not exported"
        )
    programs = {}
    for number, picked in enumerate(pick_members(members, weights, runs, costs)):
        if picked.task.spec.account is not None:
            raise ConfigError(
                f"{picked.component.name} sizes its trades by account(...): a program of it alone "
                "does not know the cash that the others leave; such a portfolio is not exported"
            )
        weight = picked.component.weight
        own = replace(
            picked.task.costs,
            risk_fraction=costs.risk_fraction * weight,
            max_positions=None,
            max_leverage=None,
            rank=None,
        )
        title = f"Member {picked.member} of run {picked.run}, at weight {weight:g} of a portfolio."
        task = replace(picked.task, costs=own)
        if picked.task.costs.has_limits:
            trades = task.engine(device="cpu").trades(picked.component.genome)
            told = picked.describe_limits(sum(map(len, trades)))
            title += f" {told[0].upper()}{told[1:]}." if told else ""
        text = build_program(task, picked.component.genome, title, platform)
        # A folder each: a platform may know a strategy by the name of its class alone.
        programs[f"{number}/exported{ENDINGS[platform]}"] = text
    return programs
