"""node("l20") is a fresh node with that simulated machine; it ends with its test."""

import pytest

from node import Node


@pytest.fixture
def node():
    nodes = []

    def open_node(machine: str = "l20", **options) -> Node:
        nodes.append(Node(machine, **options))
        return nodes[-1]

    yield open_node
    for one in nodes:
        one.close()
