"""The arbiter parses what tenants write, so of its node's files it gets folders by name: those that
docs/helm.md names, and never one with kubelet's key or a Pod's token in it."""

import re
from pathlib import Path, PurePosixPath

import pytest
from modes import LIMITS, MODES, MPS

DOCS = Path(__file__).parents[2] / "docs" / "helm.md"
DRIVER = {"nvidiaDriverRoot": "/run/nvidia/driver"}
ON = {"limits": {"enabled": True}}
# Each with the arbiter; labels alone have none.
ARBITERS = {name: values | ON for name, values in MODES.items() if name != "labels-only"} | {
    "claims": {"dra": {"enabled": True}},
    "claims, root": {"dra": {"enabled": True}, "nvidiaDriverRoot": "/"},
    "claims, root twice": {"dra": {"enabled": True}, "nvidiaDriverRoot": "//"},
    "claims, driver container": {"dra": {"enabled": True}} | DRIVER,
    "claims, MPS": {"dra": {"enabled": True}, "config": {"map": {"default": MPS}}} | DRIVER,
    "cdi, root": {"deviceListStrategy": "cdi-annotations"} | ON,
    "runtime's hook": {"config": {"map": {"default": LIMITS + "    runtimeHook: true\n"}}},
    "kernel limits": {"config": {"map": {"default": LIMITS + "    kernelLimits: true\n"}}},
    "other folders": {"dra": {"enabled": True}, "stateDir": "/data/tranche", "limits": {"arbiterStateDir": "/run/a"}},
}
# What must stay out of its sight, in each of these modes.
SECRETS = [
    "/var/lib/kubelet/pki/kubelet-client-current.pem",
    "/var/lib/kubelet/pods/x/volumes/token",
    "/etc/kubernetes",
]


def named_folders(values: dict) -> set[str]:
    """The host's folders that docs/helm.md names for the arbiter."""
    (entry,) = re.findall(r"^- the arbiter's folders of the node:(.*?)^- ", DOCS.read_text(), re.M | re.S)
    paths = {
        "<stateDir>/tenants": values.get("stateDir", "/var/lib/tranche") + "/tenants",
        "limits.arbiterStateDir": values.get("limits", {}).get("arbiterStateDir", "/run/tranche-arbiter"),
        "mps.root": "/run/nvidia/mps",
        "nvidiaDriverRoot": values.get("nvidiaDriverRoot", ""),
    }
    words = set(re.findall(r"`([^`]+)`", entry)) - {"kernelLimits", "volume-mounts", "/"}
    return {paths.get(word, word) for word in words}


def folders(rendered) -> set[str]:
    return {source.removesuffix(" ro") for source in rendered.mounts(rendered.arbiter()).values()}


@pytest.mark.parametrize("mode", ARBITERS)
def test_the_arbiter_sees_the_folders_that_the_document_names(helm, mode):
    values = ARBITERS[mode]
    rendered = helm.template(values)
    assert rendered.arbiter()
    seen = folders(rendered)
    assert seen <= named_folders(values) - {"/", "//"}
    for folder in seen:
        hidden = [secret for secret in SECRETS if PurePosixPath(secret).is_relative_to(folder)]
        assert not hidden, f"{folder} has {hidden}"


def test_each_folder_that_the_document_names_is_seen_by_an_arbiter(helm):
    seen = set().union(*(folders(helm.template(values)) for values in ARBITERS.values()))
    assert named_folders(DRIVER) <= seen


@pytest.mark.parametrize("root", [None, "/", "//"])
def test_without_a_folder_of_the_driver_its_library_is_looked_for_in_usr(helm, root):
    rendered = helm.template({"dra": {"enabled": True}, "nvidiaDriverRoot": root})
    assert rendered.mounts(rendered.arbiter())["/driver-root/usr"] == "/usr ro"
    assert rendered.mounts()["/driver-root"] == f"{root or '/'} ro"
