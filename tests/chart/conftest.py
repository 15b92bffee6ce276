"""Fixtures of the chart's tests."""

import sys

import pytest
from chart_server import chart_server
from helm import ROOT, Helm, find_helm

sys.path.insert(0, str(ROOT / "deploy/image"))


@pytest.fixture
def helm(tmp_path):
    program = find_helm()
    if program is None:
        pytest.skip("no helm: lab/build/build makes one, or TRANCHE_HELM names one")
    return Helm(program, tmp_path)


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """A real API server with the namespaces that the tests install into, or a skip with the
    reason."""
    with chart_server(tmp_path_factory.mktemp("server")) as server:
        yield server
