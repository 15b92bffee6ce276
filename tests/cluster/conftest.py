"""Tests on a real Kubernetes (docs/lab.md). They run when TRANCHE_TEST_LAB is set, as root: `make
test-lab`. One lab serves all tests unless they say otherwise; they leave it as they found it,
except for the MIG instances of node mig."""

import os
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
HERE = pathlib.Path(__file__).resolve().parent

from lab.cluster import paths  # noqa: E402
from lab.cluster.errors import LabError  # noqa: E402
from lab.cluster.lab import Lab  # noqa: E402
from names import PREFIX  # noqa: E402


def reason_to_skip() -> str:
    """Why no lab can be started here; empty: one can."""
    if not os.environ.get("TRANCHE_TEST_LAB"):
        return "real-Kubernetes tests run by `make test-lab` (TRANCHE_TEST_LAB is not set)"
    try:
        paths.check_machine()
        paths.programs_folder()
        paths.build_folder()
    except LabError as error:
        return f"no lab here: {error.message()}"
    return ""


def pytest_collection_modifyitems(items):
    reason = reason_to_skip()
    if not reason:
        return
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.skip(reason=reason))


class OneLab:
    """One lab at a time, kept while the same one is needed: a machine has few inotify instances
    (128 by default), and each kubelet and containerd takes a dozen."""

    def __init__(self):
        self._lab = None
        self._key = None
        self._count = 0

    def get(self, nodes: list[str], **options) -> Lab:
        key = (tuple(nodes), tuple(sorted(options.items())))
        if key != self._key:
            self.close()
            self._count += 1
            self._lab = Lab.up(f"{PREFIX}{self._count}", nodes, **({"node_status": "1s"} | options))
            self._key = key
        return self._lab

    def close(self) -> None:
        if self._lab is not None:
            self._lab.down()
        self._lab = self._key = None


@pytest.fixture(scope="session")
def labs():
    one = OneLab()
    yield one
    one.close()


@pytest.fixture(scope="module")
def lab(labs):
    """l20 and t4 with a GPU each, a100 with four, mig with one in MIG mode, six plain nodes; Pods get
    GPUs by the wrapper."""
    nodes = ["l20", "t4", "a100-40gb-x4=a100", "a100-40gb-mig=mig"]
    return labs.get(nodes, plain=6, topology_manager="restricted")


@pytest.fixture(scope="module")
def two_gpu_lab(labs):
    """Eight nodes, two with a GPU: l20 and t4."""
    return labs.get(["l20", "t4"], plain=6)


@pytest.fixture(scope="module")
def cdi_lab(labs):
    """One node with four GPUs, without NVIDIA's container runtime as the default."""
    return labs.get(["a100-40gb-x4=a100"], runtime="cdi")
