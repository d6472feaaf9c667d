"""Network file systems: found in the kernel's table, refused for write-ahead logs."""

from pathlib import Path

import pytest

from optimizer.errors import StoreError
from optimizer.runs.space import network_kind, refuse_network

TABLE = """\
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
40 22 0:35 / /srv rw,relatime shared:9 - nfs4 server:/export rw,vers=4.2
41 40 254:1 / /srv/local rw shared:10 - xfs /dev/vdb rw
42 22 0:36 / /my\\040share rw - cifs //host/share rw
43 22 0:37 / /over rw - nfs host:/a rw
44 43 0:38 / /over rw - tmpfs tmpfs rw
nonsense
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/srv/runs", "nfs4"),
        ("/srv", "nfs4"),
        ("/srv/local/runs", None),
        ("/srvx", None),
        ("/my share/runs", "cifs"),
        ("/over/runs", None),
        ("/home/somebody", None),
    ],
)
def test_deepest_and_latest_mount_decides(path, kind):
    """A path belongs to the deepest mount above it, the later one of two at the same place."""
    assert network_kind(Path(path), TABLE) == kind


def test_write_ahead_log_on_a_network_mount_is_refused():
    """The message names the file system and both ways out."""
    with pytest.raises(StoreError, match=r"\(nfs4\).*local disk.*journal='delete'"):
        refuse_network(Path("/srv/runs"), "wal", TABLE)


def test_rollback_journal_is_allowed_anywhere():
    """With journal='delete' a network mount is accepted."""
    refuse_network(Path("/srv/runs"), "delete", TABLE)


def test_empty_table_means_local(tmp_path):
    """A path that no line covers lies on no network."""
    assert network_kind(tmp_path, "") is None


def test_systems_without_a_table_are_local(tmp_path, monkeypatch):
    """Where the kernel has no such table, nothing is refused."""
    monkeypatch.setattr("optimizer.runs.space.MOUNTS", tmp_path / "absent")
    assert network_kind(tmp_path) is None
