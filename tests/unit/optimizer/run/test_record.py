"""What decides the results of a run is defined once, and restored by its purpose."""

from contextlib import suppress
from dataclasses import replace

import pytest

from optimizer.config.run_config import RunConfig, names_deciding
from optimizer.config.values import read_schema_extra
from optimizer.errors import ConfigError, StoreError
from optimizer.goals import objectives
from optimizer.run import record as record_module
from optimizer.run.purposes import (
    COMBINE,
    JUDGE,
    REPLAY,
    RESUME,
    SHOW,
    SIGNAL,
    VERIFY,
    restore_task,
)
from optimizer.run.record import build_identity, build_run_header, read_identity
from optimizer.run.runner import resume_run
from optimizer.run.task import prepare
from optimizer.store import RunStore
from optimizer.store.caveats import OPENED
from optimizer.store.listing import list_run_folders
from optimizer.store.result import RunHeader
from strategy import STRATEGIES
from strategy.conditions import AllOf
from tests.support.commands import write_market

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


@pytest.fixture(scope="module")
def recorded(tmp_path_factory, folder):
    """Directory of a run of that strategy, to be read only."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(STRATEGIES, OWN, PUBLISHED)
        config = RunConfig(data=f"csv:{folder}/bars.csv", strategy=OWN)
        return record(tmp_path_factory.mktemp("recorded"), config)


@pytest.fixture
def run(recorded, own):
    """The run, beside the strategy as it was then."""
    return recorded


def refusals(path, **flags):
    """The errors of those who would go on with a run, and of those who would judge it again."""
    with pytest.raises(StoreError) as resumed:
        resume_run(path, flags, None)
    with RunStore.open(path) as store, pytest.raises(StoreError) as judged:
        restore_task(store, JUDGE, flags)
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


EDITS = {
    "relation": (condition(PUBLISHED, 0, relation=">"), "recorded '<', now '>'"),
    "bound": (gene(PUBLISHED, "vol_z_min", high=4.5), "vol_z_min.high: recorded 4.0, now 4.5"),
    "order_of_genes": (
        replace(PUBLISHED, layout=replace(PUBLISHED.layout, genes=PUBLISHED.layout.genes[::-1])),
        "strategy.genes.ema_fast: "),
}  # fmt: skip


@pytest.mark.parametrize("edit", EDITS)
def test_an_edited_strategy_is_another_one(run, own, edit):
    """Neither is its run resumed nor its front judged again; what was edited is named."""
    edited, line = EDITS[edit]
    assert edited.digest != PUBLISHED.digest
    own(edited)
    for text in refusals(run):
        assert line in text


def test_other_goals_laws_and_costs_are_refused(run, monkeypatch):
    """Though the name is the same; a newer search does not go on, and judges alike."""
    turned = replace(objectives.OBJECTIVES["total_return"], maximise=False)
    law, way = record_module.ENGINE_VERSION, record_module.SEARCH_VERSION
    with monkeypatch.context() as patch:
        patch.setitem(objectives.OBJECTIVES, "total_return", turned)
        for text in refusals(run):
            assert "objectives.total_return.maximise: recorded True, now False" in text
    with monkeypatch.context() as patch:
        patch.setattr(record_module, "ENGINE_VERSION", law + 1)
        for text in refusals(run):
            assert f"engine_version: recorded {law}, now {law + 1}" in text
    with monkeypatch.context() as patch:
        patch.setattr(record_module, "SEARCH_VERSION", way + 1)
        with pytest.raises(StoreError, match=f"search_version: recorded {way}, now {way + 1}"):
            resume_run(run, {}, None)
        with RunStore.open(run) as store:
            restore_task(store, JUDGE, {})
    for text in refusals(run, fee_bp=1.0):
        assert "costs.fee_bp: recorded 5.0, now 1.0" in text


def test_bars_and_words_are_known_by_what_they_say(run, own, folder, tmp_path):
    """Under another name or summary the same; with one changed price bars are others."""
    own(replace(PUBLISHED, summary="Another."))
    text = (folder / "bars.csv").read_text()
    (tmp_path / "renamed.csv").write_text(text)
    with RunStore.open(run) as store:
        restore_task(store, JUDGE, {"data": f"csv:{tmp_path}/renamed.csv"})
    first = text.splitlines()[1]
    volume = first.rsplit(",", 1)[1]
    (tmp_path / "other.csv").write_text(text.replace(first, first.removesuffix(volume) + "123.5"))
    for refusal in refusals(run, data=f"csv:{tmp_path}/other.csv"):
        assert "data_hash: recorded '" in refusal
        assert "name the bars of the run with --data" in refusal


def changed_parts(task, config, warm_start=None):
    """Parts in which a task and another configuration differ."""
    return set(build_identity(task, None).differences(build_identity(prepare(config), warm_start)))


DECIDING = {
    "seed": 2, "population": 7, "objectives": "sharpe", "constraints": ["max_drawdown <= 0.3"],
    "over_windows": "worst", "min_trades": 3, "fee_bp": 1.0, "slippage_bp": 1.0, "fee_unit": 0.01,
    "fee_min": 1.0, "min_risk": 0.01, "risk_fraction": 0.5, "max_positions": 2,
    "max_leverage": 3.0, "crossover_probability": 0.5, "crossover_eta": 7,
    "mutation_probability": 0.5, "mutation_eta": 15, "adapt": False, "survival": "crowding",
    "archive": 7, "elite": 0.5, "immigrants": 0.5, "patience": 3, "on_stagnation": "restart",
    "polish": 7, "bounds": {"z_window": [100.0, 200.0]},
    "start": "1970-01-20", "end": "1970-01-20", "holdout": "20%", "strategy": "mean_reversion",
    "timeframe": "30m", "price_offset": 1.0,
}  # fmt: skip
HARMLESS = {
    "threads": 1, "memory": 10**8, "device": "cpu", "runs": "elsewhere", "keep": "last",
    "report": False, "tags": ["baseline"], "generations": 3, "max_evaluations": 300,
    "max_seconds": 3.0, "plateau": 3, "max_bytes": 10**8, "trust_rates": True,
    "trust_leverage": True, "judge": False, "null": 99, "null_keep": "week",
    "folds": 2, "train": 2, "every": "30d", "pick_by": "keep", "anchored": True, "cpcv": "6,2",
    "purge": 9, "embargo": 9, "blocks": 8, "resamples": 99, "trials": 99, "dedupe": True,
    "calendar": "XNYS", "bounds": {"ema_fast": [12.0, 192.0]},
    "objectives": RunConfig().objectives.replace(",", " , "),
}  # fmt: skip


SHOWN_IN = {"search": "settings", "costs": "costs", "goals": "goals", "strategy": "strategy"}
"""Part in which what a knob decides is compared."""


def test_what_changes_results_is_another_identity(task, market):
    """Another value shows in the part that the knob names."""
    for name, value in DECIDING.items():
        what = read_schema_extra(RunConfig.model_fields[name], "decides")
        changed = changed_parts(task, market.model_copy(update={name: value}))
        assert changed & {SHOWN_IN.get(what, "data_hash"), SHOWN_IN.get(what, "windows")}, name


@pytest.mark.filterwarnings("ignore:Series.values returning:DeprecationWarning")
def test_what_changes_no_result_is_the_same_identity(task, market):
    """Threads, memory and where things lie are free; so is a bound that held before."""
    for name, value in HARMLESS.items():
        # A date every 30 days is nothing without how long each search looks back.
        with_it = {"train": "180d"} if name == "every" else {}
        assert not changed_parts(task, market.model_copy(update={name: value, **with_it})), name


@pytest.mark.parametrize(
    ("before", "after", "parts"),
    [
        ({"timeframe": "1h"}, {"timeframe": "1h", "scale_lengths": False}, {"strategy"}),
        ({}, {"search": "lattice", "steps": {"reward_r": 0.5}}, {"settings"}),
        ({"max_positions": 2}, {"max_positions": 2, "rank": "close"}, {"costs"}),
        (
            {"search": "lattice", "steps": {"reward_r": 0.5}},
            {"search": "lattice", "steps": {"reward_r": 1.0}},
            {"settings"},
        ),
    ],
    ids=["scaled lengths", "a lattice", "order of signals", "another lattice"],
)
def test_ways_to_search_are_told_from_each_other(market, before, after, parts):
    """Each by the part that it decides; guests to begin with by their hash."""
    one, other = (prepare(market.model_copy(update=changes)) for changes in (before, after))
    first, second = (build_identity(task, None) for task in (one, other))
    assert set(first.differences(second)) == parts
    assert first.asks_the_same(second) is False
    begun = build_identity(one, "aa")
    assert set(first.differences(begun)) == {"warm_start"}


def test_every_knob_decides_or_does_not(task):
    """Each knob is marked; what decides by its value is in the identity, and is tried above."""
    identity = build_identity(task, None)
    assert tuple(identity.settings) == names_deciding("search")
    assert tuple(identity.costs) == names_deciding("costs")
    assert set(identity.goals) == set(names_deciding("goals"))
    by_value = {*identity.settings, *identity.costs, *identity.goals}
    assert by_value <= {*DECIDING, "search", "steps", "rank"}
    assert {*names_deciding("nothing", "end")} <= set(HARMLESS)


def test_an_identity_survives_its_header(tmp_path, market):
    """Read back from the store it is the one of the task, and so is its digest."""
    limited = market.model_copy(update={"max_positions": 2, "rank": "close"})
    with RunStore.open(record(tmp_path, limited)) as store:
        task, recorded = restore_task(store, JUDGE, {}), read_identity(store)
        assert recorded.digest == store.header["identity"]["digest"]
        assert RunHeader.read(store.header).costs["rank"] == "close"
    assert recorded.differences(build_identity(task, None)) == {}


PURPOSES = {
    "judge": JUDGE, "verify": VERIFY, "show": SHOW, "combine": COMBINE, "replay": REPLAY,
    "signal": SIGNAL, "resume": RESUME,
}  # fmt: skip
CHEAP = {"fee_bp": 1.0}
OTHERS = {"data": "csv:other/bars.csv"}


@pytest.fixture
def held_out(recordings, tmp_path, monkeypatch):
    """A copy of a run that held out a fifth of 3,000 bars, beside another market."""
    monkeypatch.chdir(tmp_path)
    recordings.copy("held out")
    (tmp_path / "other").mkdir()
    write_market(tmp_path / "other" / "bars.csv", 3000, seed=5)
    (path,) = list_run_folders(tmp_path / "runs")
    return path


def list_windows(held_out, purpose, flags):
    """Role and length of each window of the restored task."""
    with RunStore.open(held_out) as store:
        task = restore_task(store, purpose, flags)
    return [(window.role, len(window)) for window in task.markets.all_windows]


SEARCHED, HELD_OUT, WHOLE = ("search", 2400), ("held_out", 600), ("search", 3000)


@pytest.mark.parametrize(
    ("name", "flags", "closed", "opened"),
    [
        ("judge", {}, [SEARCHED, HELD_OUT], [SEARCHED, HELD_OUT]),
        ("resume", {}, [SEARCHED, HELD_OUT], [SEARCHED, HELD_OUT]),
        ("verify", {}, [SEARCHED], [SEARCHED]),
        ("combine", {}, [SEARCHED], [SEARCHED]),
        ("show", {}, [SEARCHED], [SEARCHED, HELD_OUT]),
        ("replay", {}, [SEARCHED], [SEARCHED, HELD_OUT]),
        ("replay", CHEAP, [SEARCHED], [SEARCHED, HELD_OUT]),
        ("replay", OTHERS, None, [WHOLE]),
        ("signal", {}, [WHOLE], [WHOLE]),
        ("signal", OTHERS, [WHOLE], [WHOLE]),
    ],
    ids=str,
)
def test_a_purpose_has_bars_of_its_own(held_out, name, flags, closed, opened):
    """Held-out ones once they were opened, always or never; other bars of the same times never."""
    if closed is None:
        with pytest.raises(ConfigError, match="nobody has opened them"):
            list_windows(held_out, PURPOSES[name], flags)
    else:
        assert list_windows(held_out, PURPOSES[name], flags) == closed
    with RunStore.open(held_out, writable=True) as store:
        store.add_evidence(OPENED, {})
        store.flush()
    assert list_windows(held_out, PURPOSES[name], flags) == opened


def is_refused(held_out, purpose, flags):
    """Whether members would not be judged as they were."""
    with RunStore.open(held_out) as store, suppress(StoreError):
        restore_task(store, purpose, flags)
        return False
    return True


@pytest.mark.parametrize(
    ("flags", "free"),
    [
        (CHEAP, {"replay"}),
        (OTHERS, {"signal"}),
        ({"holdout": "10%"}, {"signal"}),
        ({"seed": 3, "population": 12}, {"judge", "verify", "show", "combine", "replay", "signal"}),
        ({"min_trades": 7}, set()),
    ],
    ids=lambda value: str(sorted(value)),
)
def test_a_purpose_asks_that_its_parts_are_as_recorded(held_out, flags, free):
    """Costs, bars, windows, the search and goals; what goes on is compared with its start."""
    asked = {name: PURPOSES[name] for name in PURPOSES if name != "resume"}
    if flags.keys() & {"data", "holdout"}:
        # Bars that were held out are refused first.
        del asked["replay"]
    assert {name for name in asked if not is_refused(held_out, asked[name], flags)} == free


def test_another_law_is_refused_by_all(held_out, monkeypatch):
    """Whatever the purpose: equal genes would trade otherwise."""
    monkeypatch.setattr(record_module, "ENGINE_VERSION", record_module.ENGINE_VERSION + 1)
    others = (purpose for name, purpose in PURPOSES.items() if name != "resume")
    assert all(is_refused(held_out, purpose, {}) for purpose in others)
    assert is_refused(held_out, REPLAY, CHEAP)


def test_a_search_goes_on_to_the_generations_it_was_last_asked_for(held_out):
    """Every other purpose has those that the run began with."""
    with RunStore.open(held_out, writable=True) as store:
        began = restore_task(store, JUDGE, {}).config.generations
        store.note_resumption((), began + 5)
        assert restore_task(store, RESUME, {}).config.generations == began + 5
        assert restore_task(store, JUDGE, {}).config.generations == began
