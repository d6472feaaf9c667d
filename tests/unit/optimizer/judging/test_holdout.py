"""Looks at held-out bars are counted, from every reader."""

import json
from threading import Thread

from optimizer.judging import holdout
from optimizer.judging.holdout import LOOKS, record_look
from optimizer.store.result import WindowDescription

WINDOW = WindowDescription(
    symbol="X", sample="held_out", start=0, end=9, first="2020", last="2021", bars=9
)


def test_two_who_look_at_once_are_both_counted(tmp_path, monkeypatch):
    """A look that comes while another is written down waits, and none takes the other's place."""
    counts, read = [], holdout._read_looks

    def look(front):
        counts.append(record_look(tmp_path, [WINDOW], "content", front))

    second = Thread(target=look, args=["second"])

    def read_while_another_looks(path):
        noted = read(path)
        if not second.ident:
            second.start()
            second.join(0.2)
        return noted

    monkeypatch.setattr(holdout, "_read_looks", read_while_another_looks)
    look("first")
    second.join()
    assert sorted(map(sorted, counts), key=len)[-1] == ["first", "second"]
    assert sorted(map(len, counts)) == [1, 2]
    noted = json.loads((tmp_path / LOOKS).read_text())
    assert sorted(entry["front"] for entry in noted) == ["first", "second"]
