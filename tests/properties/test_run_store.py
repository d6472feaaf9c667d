"""Law: whatever happens, a run opens, and all that was acknowledged is there."""

import resource
import shutil
import sqlite3
from contextlib import ExitStack, closing, nullcontext, suppress
from copy import deepcopy

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from optimizer.errors import StoreError
from optimizer.store import RunStore
from optimizer.store.files import OWNER, read_owner
from optimizer.store.listing import DATABASE
from tests.support.recording import (
    HEADER,
    assert_same_generation,
    make_generation,
    mount,
    quick_directory,
)

RUN = "run-1"
LOG = f"{DATABASE}-wal"


class RunLife(RuleBasedStateMachine):
    """One run, its owners, and their accidents, beside a plain dictionary of what it holds.

    Generation k is always `make_generation(k)`. Results, evidence and plans are written through.
    """

    def __init__(self):
        super().__init__()
        self.place = ExitStack()
        self.runs_dir = self.place.enter_context(quick_directory())
        self.path = self.runs_dir / RUN
        self.store = None
        self.handed = -1  # newest generation handed over
        self.safe = -1  # newest generation acknowledged
        self.whole = 0  # sound whole generations at the end, as far as it matters
        self.is_damaged = False
        self.is_lost = False  # an older state of the file was put back
        self.is_noticed = False  # damage that an owner noticed, for ever
        self.held = {"plan": 50, "front": None, "evidence": {}}
        self.is_sure = True  # whether no generation is on its way that would undo the result
        self.earlier = None  # a former state of the file, and what was held then

    @initialize(
        keep=st.sampled_from(["all", "front", "last"]),
        kind=st.sampled_from(["ext4", "nfs4"]),
    )
    def start(self, keep, kind):
        """Create the run, on a local disk or on a network file system."""
        mount(self.place.enter_context(pytest.MonkeyPatch.context()), ("/", kind))
        self.store = RunStore.create(self.runs_dir, RUN, HEADER, keep=keep)

    def is_owned(self):
        """Whether this process owns the run."""
        return self.store is not None

    @precondition(is_owned)
    @rule(count=st.integers(1, 4))
    def step(self, count):
        """Hand generations over."""
        for _ in range(count):
            self.store.record(make_generation(self.handed + 1))
            self.handed += 1
        self.is_sure = False

    @precondition(is_owned)
    @rule(front=st.sampled_from("ab"))
    def finish(self, front):
        """End the search with a front; evidence on it counts again."""
        if self.handed < 0:
            return
        fields = ("data_hash", "generation", "evaluated", "stopped_by")
        self.store.finish({"front_hash": front, **dict.fromkeys(fields, "same")})
        self.acknowledge()
        self.held["front"] = front

    @precondition(is_owned)
    @rule(name=st.sampled_from(["null", "judgement"]), value=st.integers(0, 9))
    def judge(self, name, value):
        """Add a row of evidence; one without a result is refused."""
        self.checkpoint()
        if self.held["front"] is not None:
            self.store.add_evidence(name, {"value": value})
            self.store.flush()
            rows = self.held["evidence"].setdefault(self.held["front"], [])
            rows.append((name, {"value": value}))

    @precondition(is_owned)
    @rule(plan=st.integers(1, 99))
    def plan(self, plan):
        """Ask for another number of generations."""
        self.store.note_resumption([], plan)
        self.store.flush()
        self.acknowledge()
        self.held["plan"] = plan

    @precondition(lambda self: not self.is_owned())
    @rule(is_copied=st.booleans(), name=st.sampled_from(["one", "other"]))
    def rename(self, is_copied, name):
        """Copy the run, and go on with the copy, or give it another name."""
        path = self.runs_dir / name
        if path != self.path:
            if is_copied:
                shutil.copytree(self.path, path)
                shutil.rmtree(self.path)
            else:
                self.path.rename(path)
            self.path = path

    @precondition(lambda self: not self.is_owned())
    @rule()
    def keep_file(self):
        """Keep a copy of the file of a sound run that is closed."""
        if not (self.is_damaged or self.is_lost or (self.path / LOG).exists()) and self.is_sure:
            content = (self.path / DATABASE).read_bytes()
            known = (self.safe, self.whole, deepcopy(self.held))
            self.earlier = content, read_owner(self.path).records, known

    @precondition(lambda self: not self.is_owned() and self.earlier)
    @rule()
    def put_back(self):
        """Put that copy in the place of the file, which has more since."""
        content, records, known = self.earlier
        is_plain = not (self.path / LOG).exists()
        if (
            is_plain
            and not self.is_damaged
            and read_owner(self.path).records > records
            and known[0] >= 0
        ):
            (self.path / DATABASE).write_bytes(content)
            self.safe, self.whole, held = known
            self.handed, self.held = self.safe, deepcopy(held)
            self.is_lost = True

    @precondition(is_owned)
    @rule()
    def checkpoint(self):
        """Wait for the disk."""
        self.store.flush()
        self.acknowledge()

    @precondition(is_owned)
    @rule()
    def close(self):
        """Let go properly."""
        self.store.close()
        self.store = None
        self.acknowledge()

    @precondition(is_owned)
    @rule()
    def kill(self):
        """Keep the files as they are at this instant, and nothing of what the owner still does."""
        image = self.runs_dir / "image"
        image.mkdir()
        # The owner's note first: it may be older than the rows, never newer.
        names = [OWNER, *(p.name for p in self.path.iterdir() if p.name != OWNER)]
        for name in names:
            with suppress(FileNotFoundError):
                shutil.copyfile(self.path / name, image / name)
        self.store.close()
        self.store = None
        shutil.rmtree(self.path)
        image.rename(self.path)

    @precondition(lambda self: not self.is_owned())
    @rule()
    def resume(self):
        """Own the run again and go on from the newest sound generation."""
        self.store = RunStore.open(self.path, writable=True)
        last = self.store.last_generation()
        newest = -1 if last is None else last.number
        assert newest >= self.safe
        self.is_noticed |= self.is_damaged or self.is_lost
        self.is_lost = False
        if not self.is_sure:
            result = self.store.result
            assert result is None or result["front_hash"] == self.held["front"]
            self.held["front"] = result and self.held["front"]
            self.is_sure = True
        assert bool(self.store.warnings) == self.is_noticed
        if self.is_damaged:
            assert newest == self.safe
        if last is not None:
            assert_same_generation(make_generation(newest), last)
            self.whole = 1 if self.is_damaged else min(2, newest + 1)
        self.handed = self.safe = newest

    @precondition(lambda self: not self.is_owned())
    @rule(share=st.floats(0, 1), is_cut=st.booleans())
    def damage(self, share, is_cut):
        """Cut the newest population somewhere, or flip the lowest bit of a byte.

        Only where two whole generations are left. A precondition cannot say so: how many there are
        after a full disk depends on the writer's pace, and Hypothesis replays its steps.
        """
        if self.whole < 2 or self.is_damaged:
            return
        with closing(sqlite3.connect(self.path / DATABASE)) as connection, connection:
            query = (
                "SELECT id, name, body FROM record WHERE kind = 'generation'"
                " ORDER BY id DESC LIMIT 1"
            )
            place, newest, content = connection.execute(query).fetchone()
            middle = int(share * (len(content) - 1))
            flipped = content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]
            connection.execute(
                "UPDATE record SET body = ? WHERE id = ?",
                (content[:middle] if is_cut else flipped, place),
            )
            newest = int(newest)
        self.safe = newest - 1
        self.is_damaged = True
        self.whole = 1

    @precondition(is_owned)
    @rule()
    def second_owner(self):
        """Another owner is refused."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("optimizer.store.files.TRIES", 1)
            with pytest.raises(StoreError, match="is owned by process"):
                RunStore.open(self.path, writable=True)

    @precondition(is_owned)
    @rule(room=st.integers(0, 20_000))
    def fill_disk(self, room):
        """Let no file grow beyond a little more than the log; the owner stops, with an error.

        It stops too where there was room, so that the next steps are the same at any pace.
        """
        log = self.path / LOG
        size = log.stat().st_size if log.exists() else 0
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (max(512, size + room), hard))
        self.is_sure = False
        try:
            self.store.record(make_generation(self.handed + 1))
            self.handed += 1
            self.store.flush()
            self.acknowledge()
        except StoreError:
            pass  # raised once more at the end
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        # What the disk refused is not there, or is there whole.
        refused = self.safe < self.handed
        with pytest.raises(StoreError, match="could not be written") if refused else nullcontext():
            self.store.close()
        self.store = None

    @invariant()
    def store_opens_with_all_that_was_acknowledged(self):
        """A reader finds the newest acknowledged generation, and nothing wrong but known damage."""
        if not self.path.exists():
            return
        with RunStore.open(self.path) as store:
            last = store.last_generation()
            number = -1 if last is None else last.number
            assert number >= self.safe
            if last is not None:
                assert_same_generation(make_generation(number), last)
            if not self.is_damaged:
                assert store.verify() == [line for line in store.warnings if "going on" not in line]
                assert bool(store.warnings) == (self.is_noticed or self.is_lost)
            assert store.planned == self.held["plan"]
            if self.is_sure:
                front = self.held["front"]
                assert (store.result and store.result["front_hash"]) == front
                assert list(store.evidence) == self.held["evidence"].get(front, [])

    def acknowledge(self):
        """Everything handed over is on disk; the first commit after damage has healed it."""
        if not self.is_sure:
            self.held["front"], self.is_sure = None, True
        if self.handed > self.safe:
            self.whole = min(2, self.whole + self.handed - self.safe)
            self.is_damaged = False
        self.safe = self.handed

    def teardown(self):
        """Let go of the run and remove it."""
        if self.store is not None:
            self.store.close()
        self.place.close()


TestRunLife = RunLife.TestCase
TestRunLife.settings = settings(
    max_examples=settings.default.max_examples, stateful_step_count=40, deadline=None
)
