"""What decides the results of a run is defined once, for all that build on a run."""

import json
from dataclasses import replace

import pytest

from optimizer.config.run_config import LATER_COSTS, RunConfig, names_deciding
from optimizer.config.values import read_schema_extra
from optimizer.errors import StoreError
from optimizer.goals import objectives
from optimizer.run import identity as identity_module
from optimizer.run.header import (
    build_run_header,
    recorded_config,
    recorded_task,
    task_to_resume,
)
from optimizer.run.identity import (
    Identity,
    build_identity,
    different_lines,
    recorded_identity,
    require_identity,
    require_same,
)
from optimizer.run.runner import resume_run
from optimizer.run.task import prepare
from optimizer.store import RunStore
from strategy import STRATEGIES, LessThan
from strategy.conditions import AllOf
from strategy.exits import FromEntry
from strategy.expressions import Column, GeneValue
from strategy.nodes import transform_nodes
from tests.support.commands import write_market
from tests.support.former import describe_former

OWN = "own"
RUN = "run"
PUBLISHED = replace(STRATEGIES["seller_exhaustion"], name=OWN)


pytestmark = pytest.mark.usefixtures("begun_here")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where a market of 3,000 bars and runs lie."""
    place = tmp_path_factory.mktemp("identity")
    write_market(place / "bars.csv")
    return place


@pytest.fixture
def own(monkeypatch):
    """Publish a strategy of one's own, or what became of it."""

    def publish(spec):
        monkeypatch.setitem(STRATEGIES, OWN, spec)

    publish(PUBLISHED)
    return publish


@pytest.fixture(scope="module")
def market(folder):
    """A configuration on that market."""
    return RunConfig(data=f"csv:{folder}/bars.csv")


@pytest.fixture(scope="module")
def task(market):
    """What it asks for."""
    return prepare(market)


def record(folder, config, name=RUN):
    """A run that has recorded nothing but its header."""
    task = prepare(config)
    header = build_run_header(task, "cpu", build_identity(task, None))
    RunStore.create(folder / "runs", name, header).close()
    return folder / "runs" / name


@pytest.fixture
def run(tmp_path, folder, own):
    """Directory of a run of that strategy."""
    return record(tmp_path, RunConfig(data=f"csv:{folder}/bars.csv", strategy=OWN))


def refusals(path, **flags):
    """The errors of those who would go on with a run, and of those who would judge it again."""
    with pytest.raises(StoreError) as resumed:
        resume_run(path, flags, None, None)
    with RunStore.open(path) as store, pytest.raises(StoreError) as judged:
        recorded_task(store, flags)
    return str(resumed.value), str(judged.value)


def gene(spec, which, **changes):
    """A strategy with a changed gene."""
    genes = (replace(each, **changes) if each.name == which else each for each in spec.layout.genes)
    return replace(spec, layout=replace(spec.layout, genes=tuple(genes)))


def condition(spec, place, **changes):
    """A strategy with a changed condition."""
    parts = list(spec.long.conditions)
    parts[place] = replace(parts[place], **changes)
    return replace(spec, long=AllOf(tuple(parts)))


def swap_genes(spec, one, other):
    """A strategy in which two genes have changed their places."""
    names = {one: other, other: one}

    def change(node):
        if isinstance(node, GeneValue) and node.gene.name in names:
            return GeneValue(spec.layout.gene(names[node.gene.name]))
        return node

    parts = {part: getattr(spec, part) for part in ("long", "stop", "target", "max_hold")}
    return replace(spec, **{part: transform_nodes(node, change) for part, node in parts.items()})


def fast(spec, **changes):
    """A strategy with a changed average on the left of its first condition."""
    return condition(spec, 0, left=replace(spec.long.conditions[0].left, **changes))


def pairs(spec, *constraints):
    """A strategy with other constraints between genes."""
    return replace(spec, layout=replace(spec.layout, constraints=constraints))


EDITS = {
    "relation": (condition(PUBLISHED, 0, relation=">"), "recorded '<', now '>'"),
    "threshold": (
        swap_genes(PUBLISHED, "vol_z_min", "tr_z_min"),
        "recorded 'vol_z_min', now 'tr_z_min'",
    ),
    "condition": (
        replace(PUBLISHED, long=AllOf(PUBLISHED.long.conditions * 2)),
        "strategy.long.1: recorded ema(close, ema_fast) < ema(close, ema_slow), ",
    ),
    "source": (fast(PUBLISHED, source=Column("open")), "recorded 'close', now 'open'"),
    "indicator": (fast(PUBLISHED, indicator="sma"), "recorded 'ema', now 'sma'"),
    "length": (
        swap_genes(PUBLISHED, "ema_fast", "atr_window"),
        "recorded 'ema_fast', now 'atr_window'",
    ),
    "warm_up": (
        gene(PUBLISHED, "z_window", default=700),
        "strategy.warm_up_bars: recorded 671, now 699",
    ),
    "target": (
        swap_genes(PUBLISHED, "reward_r", "atr_stop_mult"),
        "recorded 'reward_r', now 'atr_stop_mult'",
    ),
    "stop": (
        replace(PUBLISHED, stop=FromEntry(PUBLISHED.stop.distance)),
        "strategy.stop: recorded beyond_bar(atr_stop_mult * ",
    ),
    "time_limit": (
        swap_genes(PUBLISHED, "max_hold", "z_window"),
        "recorded 'max_hold', now 'z_window'",
    ),
    "constraint_gone": (
        pairs(PUBLISHED),
        "strategy.constraints",
    ),
    "constraint": (
        pairs(PUBLISHED, LessThan("atr_window", "ema_slow")),
        "strategy.constraints",
    ),
    "bound": (
        gene(PUBLISHED, "vol_z_min", high=4.5),
        "strategy.genes.vol_z_min.high: recorded 4.0, now 4.5",
    ),
    "default": (
        gene(PUBLISHED, "vol_z_min", default=2.5),
        "strategy.genes.vol_z_min.default: recorded 2.0, now 2.5",
    ),
    "positive": (
        gene(PUBLISHED, "vol_z_min", positive=True),
        "strategy.genes.vol_z_min.positive: recorded False, now True",
    ),
    "kind": (
        gene(PUBLISHED, "vol_z_min", kind="int", low=1, high=4, default=2),
        "strategy.genes.vol_z_min.kind: recorded 'float', now 'int'",
    ),
    "order_of_genes": (
        replace(PUBLISHED, layout=replace(PUBLISHED.layout, genes=PUBLISHED.layout.genes[::-1])),
        "strategy.genes.ema_fast: recorded 'ema_fast', now 'max_hold'",
    ),
    "version": (
        replace(PUBLISHED, version=PUBLISHED.version + 1),
        f"strategy.version: recorded {PUBLISHED.version}, now {PUBLISHED.version + 1}",
    ),
}


@pytest.mark.parametrize("edit", EDITS)
def test_an_edited_strategy_is_another_one(run, own, edit):
    """Neither is its run resumed nor its front judged again; what was edited is named."""
    edited, line = EDITS[edit]
    assert edited.digest != PUBLISHED.digest
    own(edited)
    for text in refusals(run):
        assert line in text
        assert "undo the change of the strategy or of its bounds, or start a new run" in text


def test_a_run_of_the_former_type_of_strategies_resumes(tmp_path, market):
    """Its members are judged again and it is resumed; what it was searched on decides as before."""
    task = prepare(market)
    former = describe_former(task.spec)
    header = build_run_header(task, "cpu", replace(build_identity(task, None), strategy=former))
    RunStore.create(tmp_path / RUN, RUN, header).close()
    with RunStore.open(tmp_path / RUN / RUN) as store:
        recorded_task(store, {})
        task_to_resume(store, recorded_config(store, {}), {})
        identity = require_identity(store)
    require_same(RUN, identity, build_identity(task, None))
    for text in refusals(tmp_path / RUN / RUN, bounds={"reward_r": [1.0, 2.0]}):
        assert "strategy.genes.reward_r.low: recorded 0.5, now 1.0" in text


def test_words_for_people_decide_nothing(run, own):
    """Another summary is the same strategy."""
    reworded = replace(PUBLISHED, summary="Another.")
    assert reworded.digest == PUBLISHED.digest
    own(reworded)
    with RunStore.open(run) as store:
        recorded_task(store, {})


@pytest.mark.parametrize("name", ["threads", "device", "versions", "keep", "notes"])
def test_a_gene_may_have_the_name_of_a_knob(tmp_path, market, own, name):
    """Its bounds decide results all the same."""
    renamed = replace(PUBLISHED.layout.gene("vol_z_min"), name=name)
    parts = list(PUBLISHED.long.conditions)
    parts[1] = replace(parts[1], right=GeneValue(renamed))
    genes = tuple(renamed if gene.name == "vol_z_min" else gene for gene in PUBLISHED.layout.genes)
    layout = replace(PUBLISHED.layout, genes=genes)
    own(replace(PUBLISHED, long=AllOf(tuple(parts)), layout=layout, order=()))
    path = record(tmp_path, market.model_copy(update={"strategy": OWN}))
    for text in refusals(path, bounds={name: [0.5, 3.5]}):
        assert f"strategy.genes.{name}.high: recorded 4.0, now 3.5" in text


def test_another_direction_of_an_objective_is_another_goal(run, monkeypatch):
    """Though its name is the same."""
    turned = replace(objectives.OBJECTIVES["total_return"], maximise=False)
    monkeypatch.setitem(objectives.OBJECTIVES, "total_return", turned)
    for text in refusals(run):
        assert "objectives.total_return.maximise: recorded True, now False" in text


def test_another_law_judges_otherwise(run, monkeypatch):
    """What an older engine found is neither gone on with nor judged by a newer one."""
    version = identity_module.ENGINE_VERSION
    monkeypatch.setattr(identity_module, "ENGINE_VERSION", version + 1)
    for text in refusals(run):
        assert f"engine_version: recorded {version}, now {version + 1}" in text
        assert "use the version that recorded it, or start a new run" in text


def test_another_search_judges_alike(run, monkeypatch):
    """A newer search does not go on with a run; what individuals are worth is still known."""
    version = identity_module.SEARCH_VERSION
    monkeypatch.setattr(identity_module, "SEARCH_VERSION", version + 1)
    with pytest.raises(StoreError, match=f"search_version: recorded {version}, now {version + 1}"):
        resume_run(run, {}, None, None)
    with RunStore.open(run) as store:
        recorded_task(store, {})


def test_other_costs_are_refused(run):
    """With both values, and with the flag to leave out."""
    for text in refusals(run, fee_bp=1.0):
        assert "costs.fee_bp: recorded 5.0, now 1.0\n  give it as recorded" in text


def test_bars_are_known_by_what_they_say(run, folder, tmp_path):
    """Under another name they are the same; with one changed price they are others."""
    text = (folder / "bars.csv").read_text()
    (tmp_path / "renamed.csv").write_text(text)
    with RunStore.open(run) as store:
        recorded_task(store, {"data": f"csv:{tmp_path}/renamed.csv"})
    first = text.splitlines()[1]
    volume = first.rsplit(",", 1)[1]
    (tmp_path / "other.csv").write_text(text.replace(first, first.removesuffix(volume) + "123.5"))
    for refusal in refusals(run, data=f"csv:{tmp_path}/other.csv"):
        assert "data_hash: recorded '" in refusal
        assert "name the bars of the run with --data" in refusal


def changed_parts(task, config, warm_start=None):
    """Parts in which a task and another configuration differ."""
    return set(build_identity(task, None).differences(build_identity(prepare(config), warm_start)))


SHOWN_IN = {
    "search": {"settings"},
    "costs": {"costs"},
    "goals": {"goals"},
    "strategy": {"strategy"},
    "data": {"data_hash", "windows"},
}
"""Where what a knob decides is compared."""

DECIDING = {
    "seed": 2,
    "population": 7,
    "objectives": "sharpe",
    "constraints": ["max_drawdown <= 0.3"],
    "over_windows": "worst",
    "min_trades": 3,
    "fee_bp": 1.0,
    "slippage_bp": 1.0,
    "fee_unit": 0.01,
    "fee_min": 1.0,
    "min_risk": 0.01,
    "risk_fraction": 0.5,
    "max_positions": 2,
    "max_leverage": 3.0,
    "crossover_probability": 0.5,
    "crossover_eta": 7,
    "mutation_probability": 0.5,
    "mutation_eta": 15,
    "adapt": False,
    "survival": "crowding",
    "archive": 7,
    "elite": 0.5,
    "immigrants": 0.5,
    "patience": 3,
    "on_stagnation": "restart",
    "islands": 2,
    "migration": 3,
    "polish": 7,
    "bounds": {"z_window": [100.0, 200.0]},
    "start": "1970-01-20",
    "end": "1970-01-20",
    "holdout": "20%",
    "strategy": "mean_reversion",
    "timeframe": "30m",
    "price_offset": 1.0,
}
HARMLESS = {
    "threads": 1,
    "memory": 10**8,
    "device": "cpu",
    "runs": "elsewhere",
    "keep": "last",
    "budget": 10**6,
    "journal": "delete",
    "report": False,
    "tags": ["baseline"],
    "generations": 3,
    "max_evaluations": 300,
    "max_seconds": 3.0,
    "regret": 7,
    "plateau": 3,
    "max_bytes": 10**8,
    "trust_rates": True,
    "trust_leverage": True,
    "judge": False,
    "null": 99,
    "null_keep": "week",
    "stop_after": 3,
    "folds": 2,
    "train": 2,
    "every": "30d",
    "pick_by": "keep",
    "anchored": True,
    "cpcv": "6,2",
    "purge": 9,
    "embargo": 9,
    "blocks": 8,
    "resamples": 99,
    "trials": 99,
    "dedupe": True,
    "calendar": "XNYS",
    "bounds": {"ema_fast": [12.0, 192.0]},
    "objectives": RunConfig().objectives.replace(",", " , "),
}


@pytest.mark.parametrize(("name", "value"), DECIDING.items())
def test_what_changes_results_is_another_identity(task, market, name, value):
    """Another value shows in the part that the knob names."""
    what = read_schema_extra(RunConfig.model_fields[name], "decides")
    assert changed_parts(task, market.model_copy(update={name: value})) & SHOWN_IN[what]


@pytest.mark.filterwarnings("ignore:Series.values returning:DeprecationWarning")
@pytest.mark.parametrize(("name", "value"), HARMLESS.items())
def test_what_changes_no_result_is_the_same_identity(task, market, name, value):
    """Threads, memory and where things lie are free; so is a bound that held before."""
    # A date every 30 days is nothing without how long each search looks back.
    with_it = {"train": "180d"} if name == "every" else {}
    assert changed_parts(task, market.model_copy(update={name: value, **with_it})) == set()


def test_lengths_that_are_scaled_are_another_strategy(market):
    """Where bars last longer than the strategy was made for."""
    hourly = market.model_copy(update={"timeframe": "1h"})
    plain = hourly.model_copy(update={"scale_lengths": False})
    assert changed_parts(prepare(hourly), plain) == {"strategy"}


def test_lattices_are_told_from_each_other(task, market):
    """A lattice is another search than a genetic one, and another lattice another one again."""
    half, full = (
        market.model_copy(update={"search": "lattice", "steps": {"reward_r": step}})
        for step in (0.5, 1.0)
    )
    assert changed_parts(task, half) == changed_parts(prepare(half), full) == {"settings"}


def test_what_a_window_is_for_decides(task):
    """The same bars of a fold's test instead of its training are another question."""
    (window,) = task.markets.all_windows
    train, test = (
        replace(task.markets, all_windows=(window, replace(window, role=role)))
        for role in ("train", "test")
    )
    first, second = (build_identity(replace(task, markets=each), None) for each in (train, test))
    assert first.differences(second) == {
        "windows": ("windows.1.role: recorded 'train', now 'test'",)
    }


def test_individuals_to_begin_with_decide(task, market):
    """By their hash, wherever they come from."""
    assert changed_parts(task, market, "aa") == {"warm_start"}


def test_every_knob_decides_or_does_not(task):
    """Each knob is marked; what decides by its value is in the identity, and is tried above."""
    identity = build_identity(task, None)
    assert tuple(identity.settings) == names_deciding("search")
    # Fees of this version are named where they are charged, so that older runs go on.
    later = {"fee_unit": 0.1, "fee_min": 1.0, "max_positions": 2, "max_leverage": 3.0}
    charged = RunConfig(**later, rank="close").deciding("costs")
    assert tuple(charged) == names_deciding("costs")
    assert tuple(identity.costs) == tuple(name for name in charged if name not in LATER_COSTS)
    assert set(identity.goals) == set(names_deciding("goals"))
    by_value = {*identity.settings, *identity.costs, *identity.goals}
    assert by_value <= {*DECIDING, "search", "steps"}
    assert {*names_deciding("nothing", "end")} <= set(HARMLESS)


def test_an_identity_survives_its_header(task):
    """Written as JSON and read back it is the same, and so is its digest."""
    identity = build_identity(task, "aa")
    header = json.loads(json.dumps(build_run_header(task, "cpu", identity), allow_nan=False))
    recorded = recorded_identity(header)
    assert recorded.differences(identity) == {}
    assert recorded.digest == identity.digest == header["identity"]["digest"]


def test_a_part_that_one_version_does_not_know_is_no_agreement(task):
    """Neither a part that is new here nor one that only a newer version knows is passed over."""
    identity = build_identity(task, None)
    known = identity.as_dict()
    older = recorded_identity({"identity": {k: v for k, v in known.items() if k != "costs"}})
    with pytest.raises(StoreError, match="costs: recorded None, now"):
        require_same(RUN, older, identity)
    with pytest.raises(StoreError, match="'mood' decides the results of this run"):
        recorded_identity({"identity": {**known, "mood": "calm"}})


def test_a_knob_that_is_gone_is_named(run, monkeypatch):
    """A run that it decided is not resumed, and one that it did not decide is."""
    with RunStore.open(run) as store:
        command = dict(store.header["command"]) | {"bygone": 3}
        settings = dict(store.header["identity"]["settings"]) | {"bygone": 3}
        header = dict(store.header) | {"command": command}
    harmless = RunStore.create(run.parent, "harmless", header)
    harmless.close()
    recorded_task(harmless, {})
    identity = {**header["identity"], "settings": settings}
    RunStore.create(run.parent, "deciding", {**header, "identity": identity}).close()
    with pytest.raises(StoreError, match=r"bygone: recorded 3, now none"):
        resume_run(run.parent / "deciding", {}, None, None)


def test_a_run_that_does_not_say_what_decides_it_is_only_read(run):
    """Its versions are named, and what can be done with it."""
    with RunStore.open(run) as store:
        header = {k: v for k, v in store.header.items() if k != "identity"}
    header["versions"] = {"engine": 2, "search": 3}
    RunStore.create(run.parent, "older", header).close()
    for text in refusals(run.parent / "older"):
        assert "recorded by a version (engine 2, search 3) that did not record all" in text
        assert "can be shown and exported" in text


@pytest.mark.parametrize(
    ("changes", "is_comparable"),
    [
        ({}, True),
        ({"seed": 2}, True),
        ({"generations": 7, "plateau": 3}, True),
        ({"threads": 1}, True),
        ({"population": 64}, False),
        ({"fee_bp": 1.0}, False),
        ({"bounds": {"reward_r": [1.0, 2.0]}}, False),
        ({"holdout": "20%"}, False),
    ],
    ids=str,
)
def test_fronts_of_the_same_question_can_be_compared(task, market, changes, is_comparable):
    """Seed and limits may differ; whatever else decides results makes another question."""
    other = build_identity(prepare(market.model_copy(update=changes)), None)
    assert build_identity(task, None).asks_the_same(other) is is_comparable


def test_nothing_else_names_an_identity():
    """Its parts are strings, numbers and what JSON can hold, and nothing is left to default."""
    with pytest.raises(TypeError):
        Identity()


def test_what_is_no_tree_of_known_words_is_shown_as_recorded():
    """A name that no version knows, or a person's own indicator, has no words here."""
    record = {"genes": [], "long": ["unheard_of", ["column", "close", False]], "delay": 0}
    other = {**record, "long": None}
    assert different_lines(record, other) == (
        "long: recorded ['unheard_of', ['column', 'close', False]], now None",
    )
