"""What a search strives for, and what must hold."""

from optimizer.config.knobs import Settings, knob
from optimizer.config.values import Comparisons


class GoalSettings(Settings):
    """Objectives and constraints."""

    objectives: str = knob(
        "sharpe_trade,total_return,max_drawdown",
        decides="goals",
        description="Objectives, comma separated, such as sharpe, trades:min or sharpe@worst.",
    )
    constraints: Comparisons = knob(
        [],
        decides="goals",
        description="What must hold, such as 'max_drawdown <= 0.3'; with soft, should; the flag "
        "repeats.",
    )
    over_windows: str = knob(
        "mean",
        decides="goals",
        description="How windows make one number: mean, worst, or a quantile such as q25.",
    )
    min_trades: int = knob(
        30,
        decides="goals",
        ge=0,
        description="Fewer trades make an individual infeasible.",
    )
