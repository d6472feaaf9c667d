"""Files beside the database of a run, changed to harm their reader."""

import os
import random
import shutil

BESIDE = (
    "columns", "columns/mood.csv", "rows", "rows/x.row", "owner.lock", "labels.json", "report.html",
    "run.sqlite-wal", "run.sqlite-shm", "run.sqlite-journal", "../looks.json",
)  # fmt: skip
"""Names that this program reads or writes there."""

TARGETS = ("/dev/zero", "/etc/passwd", "/proc/self/mem", "nowhere", "../sound/run.sqlite")

MOST_BYTES = 10**11
"""Of a file without content: more than any disk or memory has."""


def harm_files(run, seed):
    """Change one to three files of a run, or what lies at their names; the same for a seed."""
    dice = random.Random(seed)
    files = sorted(file for file in run.rglob("*") if file.is_file() and file.name != "run.sqlite")
    names = list(dict.fromkeys([*(str(file.relative_to(run)) for file in files), *BESIDE]))
    for name in dice.sample(names, dice.randint(1, 3)):
        path = run / name
        if not path.parent.is_dir():
            continue
        content = path.read_bytes() if path in files and path.is_file() else b"known_at,value\n"
        remove(path)
        _put(path, content, dice)


def remove(path):
    """Remove whatever has a name."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _put(path, content, dice):
    """Put something at a name, or nothing."""
    kind = dice.choice(
        ("changed", "cut", "empty", "zero", "noise", "nested", "endless", "pipe", "link", "loop",
         "folder", "gone")
    )  # fmt: skip
    changed = bytearray(content or b"x")
    for _ in range(dice.choice((1, 20))):
        changed[dice.randrange(len(changed))] = dice.randrange(256)
    contents = {
        "changed": bytes(changed),
        "cut": content[: dice.randrange(len(content) + 1)],
        "empty": b"",
        "zero": bytes(5000),
        "noise": dice.randbytes(5000),
        "nested": b"[" * 300_000,
        "endless": content,
    }
    if kind in contents:
        path.write_bytes(contents[kind])
    if kind == "endless":
        os.truncate(path, MOST_BYTES)
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind in ("link", "loop"):
        path.symlink_to(path if kind == "loop" else dice.choice(TARGETS))
    elif kind == "folder":
        path.mkdir()
