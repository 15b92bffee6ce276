"""A state folder without room: what NVIDIA's plugin would give is given, what must be stored is
refused, and no probe takes the agent for dead."""

import os
import pathlib
import subprocess

import pytest

from node import GPU, sharing
from programs import TRANCHE, wait_until
from test_limits import library, limited  # noqa: F401: a fixture

SMALL_DISK = """
mkdir -p "$STATE" && mount -t tmpfs -o size=1m tmpfs "$STATE" || exit 99
if [ -n "$FULL" ]; then head -c 2M /dev/zero >"$STATE/fill" 2>/dev/null; fi
exec "$0" "$@"
"""

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="mounts a small disk")


class SmallDisk:
    """An agent whose state folder is a separate disk of 1 MiB."""

    def __init__(self, here, *arguments, full: bool, config: str, env: dict | None = None):
        here.write(config)
        self.here = here
        self.agent = here.start(
            "--mount",
            "sh",
            "-c",
            SMALL_DISK,
            TRANCHE,
            "agent",
            *here.places(),
            f"--config-file={here.config}",
            *arguments,
            argv0="unshare",
            executable=pathlib.Path("/usr/bin/unshare"),
            env={"STATE": here.state, "FULL": "1" if full else "", **(env or {})},
        )

    def run(self, *command: object) -> subprocess.CompletedProcess:
        """In the agent's mount namespace, as a probe is."""
        enter = ["nsenter", "--mount", f"--target={self.agent.pid}"]
        return subprocess.run(
            [*enter, *map(str, command)], capture_output=True, text=True, env=self.here.env, timeout=30
        )

    def fill(self) -> None:
        self.run("sh", "-c", f"head -c 2M /dev/zero >{self.here.state}/fill")

    def free(self) -> None:
        assert self.run("rm", self.here.state / "fill").returncode == 0

    def probe(self, level: str) -> int:
        return self.run(TRANCHE, "agent", *self.here.places(), f"--check={level}").returncode


def test_without_limits_pods_get_their_gpus(node):
    here = node("l20")
    disk = SmallDisk(here, "--grants-interval=500ms", full=True, config=sharing(2))
    here.kubelet.wait(GPU, allocatable=2)
    assert here.kubelet.admit("a", {GPU: 1})["phase"] == "Running"
    assert here.kubelet.admit("b", {GPU: 1})["phase"] == "Running"
    disk.agent.wait_log("grants are not stored: .*No space left on device; free space on that disk")
    wait_until(lambda: disk.probe("live") == 0 and disk.probe("ready") == 0, "the agent lives and serves")
    disk.free()
    wait_until(lambda: "grants are stored again" in disk.agent.log, "there is room again")
    assert disk.agent.log.count("grants are not stored") == 1
    stored = disk.run("cat", here.state / "grants" / "grants.jsonl").stdout
    assert len(stored.splitlines()) == 2


def test_what_is_limited_is_refused_with_the_reason(node, library):  # noqa: F811
    here = node("l20")
    disk = SmallDisk(here, f"--limit-library={library}", full=False, config=limited())
    here.kubelet.wait(GPU, allocatable=4)
    free = here.kubelet.ids(GPU)
    disk.fill()
    refusal = here.kubelet.refusal(GPU, free[:1])
    assert "this container's GPU limits cannot be stored: " in refusal
    assert "No space left on device; free space on that disk" in refusal
    assert disk.probe("live") == 0
    disk.free()
    here.kubelet.allocate(GPU, free[:1])
