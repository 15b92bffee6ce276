"""An API server into which the chart can be installed."""

import contextlib
import pathlib
from collections.abc import Iterator

from api_server import running_server
from node_features import NODE_FEATURES


@contextlib.contextmanager
def chart_server(folder: pathlib.Path) -> Iterator:
    """With the namespaces that the tests install into, and NodeFeatures."""
    with running_server(folder) as server:
        for name in ("tranche", "gpu-operator"):
            server.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        server.apply(NODE_FEATURES)
        server.wait(
            lambda: server.request("GET", "/apis/nfd.k8s-sigs.io/v1alpha1"), "NodeFeatures are served"
        )
        yield server
