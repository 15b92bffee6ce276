"""lab/up says when the kernel allows fewer inotify instances than its nodes take."""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from lab.cluster import inotify  # noqa: E402


def test_nothing_is_said_while_there_are_enough():
    assert inotify.warning(limit=128, used=30, nodes=8) == ""


def test_the_sysctl_is_named_before_they_run_out():
    said = inotify.warning(limit=128, used=30, nodes=9)
    assert "9 nodes take about 108 inotify instances, and 98 of 128 are free" in said
    assert "sysctl fs.inotify.max_user_instances=512" in said
    assert "and 0 of 128 are free" in inotify.warning(limit=128, used=200, nodes=1)


def test_this_machine_tells_both():
    assert inotify.limit() > 0
    assert inotify.used() >= 0
