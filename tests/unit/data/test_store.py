"""Files of caches: read back as written or not at all, never too many."""

import os

import pytest

from data.store import (
    DamagedError,
    list_entries,
    note_use,
    read_sealed,
    remove_oldest,
    write_sealed,
)


@pytest.mark.parametrize(
    "place", [0, 31, 32, -1, None], ids=["hash", "its end", "body", "end", "cut"]
)
def test_a_damaged_file_is_noticed(place, tmp_path):
    """One bit anywhere, or a part missing."""
    path = tmp_path / "one"
    write_sealed(path, b"content")
    sealed = bytearray(path.read_bytes())
    if place is None:
        sealed = sealed[:-1]
    else:
        sealed[place] ^= 1
    path.write_bytes(sealed)
    with pytest.raises(DamagedError, match="one is damaged"):
        read_sealed(path)


def test_what_was_used_longest_ago_goes_first(tmp_path):
    """Files, and folders with all that is in them; those to be kept stay, and other names."""
    for number in range(5):
        (tmp_path / f"{number}.kept").mkdir()
        write_sealed(tmp_path / f"{number}.kept" / "file", b"12345678")
        os.utime(tmp_path / f"{number}.kept", (number, number))
    write_sealed(tmp_path / "5.kept", b"12345678")
    os.utime(tmp_path / "5.kept", (5, 5))
    (tmp_path / "other").write_text("mine")
    os.utime(tmp_path / "other", (0, 0))
    note_use(tmp_path / "0.kept")
    assert [entry.path.name for entry in list_entries(tmp_path, "*.kept")][::5] == [
        "1.kept",
        "0.kept",
    ]
    assert remove_oldest(tmp_path, "*.kept", 3 * 40, {tmp_path / "2.kept"}) == 3 * 40
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "0.kept",
        "2.kept",
        "5.kept",
        "other",
    ]
    assert remove_oldest(tmp_path, "*.kept", 39, {tmp_path / "2.kept"}) == 40
