"""Fixtures of the chart's tests."""

import sys

import pytest
from api_server import running_server
from helm import ROOT, Helm, find_helm
from node_features import NODE_FEATURES

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
    with running_server(tmp_path_factory.mktemp("server")) as server:
        for name in ("tranche", "gpu-operator"):
            server.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        server.apply(NODE_FEATURES)
        server.wait(
            lambda: server.request("GET", "/apis/nfd.k8s-sigs.io/v1alpha1"), "NodeFeatures are served"
        )
        yield server
