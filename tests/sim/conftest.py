"""Simulated machines for the Python tests, one private state for each."""

import pytest

from mps_support import Mps
from simulated import Machine


@pytest.fixture
def machine(tmp_path):
    """machine("l20") is a fresh simulated L20 machine."""
    opened = []

    def open_machine(name: str) -> Machine:
        folder = tmp_path / f"{name}-{len(opened)}"
        folder.mkdir()
        opened.append(Machine(name, folder))
        return opened[-1]

    yield open_machine
    for one in opened:
        one.close()


@pytest.fixture
def mps(machine):
    """mps("l20") is a fresh simulated L20 machine on which MPS can be started."""
    opened = []

    def open_mps(name: str = "l20") -> Mps:
        opened.append(Mps(machine(name)))
        return opened[-1]

    yield open_mps
    for one in opened:
        one.close()
