"""Shared by all Python tests: the long ones run only with --soak."""


def pytest_addoption(parser):
    parser.addoption("--soak", action="store_true", help="run the soaks, and only those")


def pytest_configure(config):
    config.addinivalue_line("markers", "soak: takes minutes; runs with --soak only")
    config.addinivalue_line("markers", "difference(*names): shows these rows of docs/differences.md")
    config.addinivalue_line("markers", "short: of the tests on a real Kubernetes, those of `make test`")


def pytest_collection_modifyitems(config, items):
    wanted = config.getoption("--soak")
    keep = [item for item in items if (item.get_closest_marker("soak") is not None) == wanted]
    gone = [item for item in items if item not in keep]
    if gone:
        config.hook.pytest_deselected(items=gone)
        items[:] = keep
