"""Settings of a search: goals, ways, and when to stop; the search takes them as they are."""

from typing import Literal

from optimizer.config.values import Comparisons, Eta, Goals, Settings, Steps, knob


class SearchSettings(Settings):
    """How to search."""

    search: Literal["genetic", "lattice"] = knob(
        "genetic",
        "How to search: by a genetic search, or every point of a lattice.",
        decides="search",
    )
    steps: Steps = knob(
        {},
        "Step of a gene on the lattice, from its low bound to its high one; genes without a step "
        "keep their published value; the flag repeats.",
        decides="search",
    )
    population: int = knob(
        128, "Candidates in a generation.", decides="search", ge=1, le=10_000_000
    )
    generations: int = knob(
        50, "Generations after the initial one.", decides="end", ge=0, le=10_000_000
    )
    max_evaluations: int | None = knob(
        None, "Stop before more candidates than this are evaluated.", decides="end", ge=1
    )
    max_seconds: float | None = knob(
        None,
        "Stop after so many seconds of search; where that is depends on the machine.",
        decides="end",
        gt=0,
    )
    plateau: int | None = knob(
        None, "Stop after so many generations without growth of hypervolume.", decides="end", ge=1
    )
    seed: int = knob(1, "Decides every random number.", decides="search", ge=0, le=2**63 - 1)
    warm_start: str | None = knob(
        None,
        "Candidates to begin with: a .json or .csv file, or the front of a run.",
        decides="warm start",
        also="--run",
    )
    member: int | None = knob(
        None,
        "Of those candidates, begin with this one alone, by its number.",
        decides="warm start",
        ge=0,
    )
    repair: bool = knob(
        False,
        "Move candidates of --warm-start inside the bounds and constraints, and say how many; "
        "refuse them else.",
        decides="warm start",
    )
    polish: int = knob(
        4096,
        "Neighbours of the final front that are tried at most, all in one batch.",
        decides="search",
        ge=0,
    )
    crossover_probability: float = knob(
        0.9, "Chance that two parents are crossed.", decides="search", ge=0, le=1
    )
    crossover_eta: Eta = knob(15, "Distribution index of the crossover.", decides="search")
    mutation_probability: float | None = knob(
        None,
        "Chance of a gene to mutate; one gene of a genome if unset.",
        decides="search",
        ge=0,
        le=1,
    )
    mutation_eta: Eta = knob(7, "Distribution index of the mutation.", decides="search")
    adapt: bool = knob(True, "Use operators more often that do well.", decides="search")
    survival: Literal["auto", "crowding", "hypervolume", "reference"] = knob(
        "auto",
        "Who survives: NSGA-II's crowding, hypervolume, or NSGA-III's reference directions; auto "
        "is hypervolume up to three objectives, reference beyond.",
        decides="search",
    )
    archive: int = knob(
        1000,
        "Compromises that are kept at most, of all ever seen; when there are more, those leave "
        "that cost the least hypervolume.",
        decides="search",
        ge=1,
        le=1_000_000,
    )
    elite: float = knob(
        0.0,
        "Chance of a parent to be of the archive.",
        decides="search",
        ge=0,
        le=1,
    )
    immigrants: float = knob(
        0.0, "Share of newcomers that are drawn from anywhere.", decides="search", ge=0, le=1
    )
    patience: int | None = knob(
        10, "Generations without growth of hypervolume that are stagnation.", decides="search", ge=1
    )
    on_stagnation: Literal["immigrants", "restart"] = knob(
        "immigrants",
        "Answer to stagnation: half of the newcomers from anywhere, or a new population beside "
        "the archive.",
        decides="search",
    )


class GoalSettings(Settings):
    """Objectives and constraints."""

    objectives: Goals = knob(
        "strength,total_return,max_drawdown",
        "Objectives, comma separated, such as sharpe, trades:min, sharpe@worst, sharpe@near, or a "
        "formula, 'calm = cagr / max(max_drawdown, 0.05)'; the flag repeats.",
        decides="goals",
        also="--objective",
    )
    constraints: Comparisons = knob(
        [],
        "What must hold of a metric or a formula, such as 'max_drawdown <= 0.3'; with soft, "
        "should; the flag repeats.",
        decides="goals",
    )
    over_windows: str = knob(
        "pooled",
        "How windows make one number: pooled as one, mean, worst, or a quantile such as q25.",
        decides="goals",
    )
    min_trades: int = knob(30, "Fewer trades make a candidate infeasible.", decides="goals", ge=0)
