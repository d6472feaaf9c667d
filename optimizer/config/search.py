"""What a search strives for, how, and when to stop; the search takes the settings as they are."""

from typing import Literal

from optimizer.config.values import Comparisons, Eta, Settings, Steps, knob


class SearchSettings(Settings):
    """How to search."""

    search: Literal["genetic", "lattice"] = knob(
        "genetic",
        decides="search",
        description="How to search: by a genetic search, or every point of a lattice.",
    )
    steps: Steps = knob(
        {},
        decides="search",
        description="Step of a gene on the lattice, from its low bound to its high one; genes "
        "without a step keep their published value; the flag repeats.",
    )
    regret: int = knob(
        20_000,
        decides="nothing",
        ge=0,
        description="After a lattice, evaluations of a genetic search on it, which tell how much "
        "of the true front such a search finds; 0 for none.",
    )
    population: int = knob(
        128,
        decides="search",
        ge=1,
        le=10_000_000,
        description="Individuals in a generation.",
    )
    generations: int = knob(
        50,
        decides="end",
        ge=0,
        le=10_000_000,
        description="Generations after the initial one.",
    )
    max_evaluations: int | None = knob(
        None,
        decides="end",
        ge=1,
        description="Stop before more individuals than this are evaluated.",
    )
    max_seconds: float | None = knob(
        None,
        decides="end",
        gt=0,
        description="Stop after so many seconds of search; where that is depends on the machine.",
    )
    plateau: int | None = knob(
        None,
        decides="end",
        ge=1,
        description="Stop after so many generations without growth of hypervolume.",
    )
    seed: int = knob(
        1, decides="search", ge=0, le=2**63 - 1, description="Decides every random number."
    )
    warm_start: str | None = knob(
        None,
        decides="warm start",
        description="Individuals to begin with: a .json or .csv file, or a run.",
    )
    polish: int = knob(
        4096,
        decides="search",
        ge=0,
        description="Neighbours of the final front that are tried at most, all in one batch.",
    )
    crossover_probability: float = knob(
        0.9, decides="search", ge=0, le=1, description="Chance that two parents are crossed."
    )
    crossover_eta: Eta = knob(
        15, decides="search", description="Distribution index of the crossover."
    )
    mutation_probability: float | None = knob(
        None,
        decides="search",
        ge=0,
        le=1,
        description="Chance of a gene to mutate; one gene of a genome if unset.",
    )
    mutation_eta: Eta = knob(7, decides="search", description="Distribution index of the mutation.")
    adapt: bool = knob(True, decides="search", description="Use operators more often that do well.")
    survival: Literal["auto", "crowding", "hypervolume", "reference"] = knob(
        "auto",
        decides="search",
        description="Who survives: NSGA-II's crowding, hypervolume, or NSGA-III's reference "
        "directions; auto is hypervolume up to three objectives, reference beyond.",
    )
    archive: int = knob(
        1000,
        decides="search",
        ge=1,
        le=1_000_000,
        description="Compromises that are kept at most, of all ever seen; when there are more, "
        "those leave that cost the least hypervolume.",
    )
    elite: float = knob(
        0.0,
        decides="search",
        ge=0,
        le=1,
        description="Chance of a parent to be of the archive, with one island.",
    )
    immigrants: float = knob(
        0.0,
        decides="search",
        ge=0,
        le=1,
        description="Share of newcomers that are drawn from anywhere.",
    )
    patience: int | None = knob(
        10,
        decides="search",
        ge=1,
        description="Generations without growth of hypervolume that are stagnation.",
    )
    on_stagnation: Literal["immigrants", "restart"] = knob(
        "immigrants",
        decides="search",
        description="Answer to stagnation: half of the newcomers from anywhere, or a new "
        "population beside the archive.",
    )
    islands: int = knob(
        1,
        decides="search",
        ge=1,
        le=1024,
        description="Parts of the population that breed apart; fewer where they would hold less "
        "than 8 individuals.",
    )
    migration: int = knob(
        10,
        decides="search",
        ge=1,
        description="Generations between visits of the best to the next island.",
    )


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
