"""The published schemas (docs/schemas) compared with what the programs really write: they accept
it, they name every field of it, and they refuse it when any value is of another kind.

Grants and the configuration in force come from a running agent, snapshots from a command
(test_snapshot.py). Snapshot and tiers have samples too, which the code is compared with by
src/kubernetes/cluster/snapshot/snapshot_test.cpp and gpu_tier_test.cpp."""

import copy
import datetime
import json
import sys

import pytest
import yaml
from jsonschema import Draft202012Validator, FormatChecker

from node import GPU, sharing
from programs import ROOT, wait_until
from test_grants import checksum

sys.path.append(str(ROOT / "tests" / "chart"))
from api_server import running_server  # noqa: E402

SCHEMAS = ROOT / "docs" / "schemas"
DATA = ROOT / "tests" / "data"
FORMATS = FormatChecker(formats=())


@FORMATS.checks("date-time", raises=ValueError)
def is_time(value: object) -> bool:
    return not isinstance(value, str) or datetime.datetime.fromisoformat(value).tzinfo is not None


def schema(name: str) -> dict:
    return json.loads((SCHEMAS / f"{name}.schema.json").read_text())


def validator(text: dict) -> Draft202012Validator:
    return Draft202012Validator(text, format_checker=FORMATS)


def closed(part):
    """The schema, which then accepts no unnamed field."""
    if isinstance(part, list):
        return [closed(one) for one in part]
    if not isinstance(part, dict):
        return part
    shut = {key: closed(value) for key, value in part.items()}
    if part.get("type") == "object" and "properties" in part:
        shut.setdefault("additionalProperties", False)
    return shut


def paths(value, at: tuple = ()):
    """The path of each value inside `value`."""
    if at:
        yield at
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, below in inside:
        yield from paths(below, (*at, key))


def parent(value, at: tuple):
    for key in at[:-1]:
        value = value[key]
    return value


def of_another_kind(value, at: tuple):
    """A copy with something at `at` that none of our formats has anywhere."""
    other = copy.deepcopy(value)
    inside = parent(other, at)
    inside[at[-1]] = 0.5 if isinstance(inside[at[-1]], dict) else {"foreign": 0.5}
    return other


def without(value, at: tuple):
    other = copy.deepcopy(value)
    del parent(other, at)[at[-1]]
    return other


def check(name: str, value: dict, free: tuple = ()) -> None:
    """`free`: objects, by the end of their path, whose content somebody else describes."""
    text = schema(name)
    validator(text).validate(value)
    validator(closed(text)).validate(value)
    for at in paths(value):
        above = ["/".join(map(str, at[:length])) for length in range(1, len(at))]
        if not any(one.endswith(free) for one in above):
            assert not validator(text).is_valid(of_another_kind(value, at)), at
    # A format has every field of its own parts, in every file.
    for at in paths(value):
        of_its_part = len(at) == 2 and at[0] in ("record", "choice", "limits", "snapshot", "journal")
        if len(at) == 1 or (of_its_part and isinstance(at[1], str)):
            assert not validator(text).is_valid(without(value, at)), at


@pytest.mark.parametrize("file", sorted(SCHEMAS.iterdir()), ids=lambda file: file.name)
def test_each_is_a_schema(file):
    text = json.loads(file.read_text())
    assert text["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    Draft202012Validator.check_schema(text)
    assert f"{text['title']}.schema.json".replace("/", "-") == file.name or text["title"] == "GPUTier"


def test_snapshot():
    sample = json.loads((DATA / "snapshot-v1.json").read_text())
    # Kubernetes' forms, and those of gpu-tier-v1 and gpu-node-v1alpha1.
    described_elsewhere = (
        "spec/affinity",
        "spec/selector",
        "tiers/0/spec",
        "spec/devices/0",
        "devices/requests/0",
        "devices/constraints/0",
        "spec/selectors/0",
        "opaque/parameters",
        "gpuNodes/0/status",
    )
    check("snapshot-v1", sample, free=described_elsewhere)
    for node in sample["snapshot"]["gpuNodes"]:
        validator(schema("gpu-node-v1alpha1")).validate(node)


@pytest.mark.parametrize(
    ("path", "wrong"),
    [
        (("version",), "snapshot/v2"),
        (("checksum",), "0123456789ABCDEF"),
        (("snapshot", "takenAt"), "yesterday"),
        (("snapshot", "nodes"), None),
        (("snapshot", "resourceSlices"), None),
        (("snapshot", "resourceClaims", 0, "status", "allocation", "devices", "results", 0, "device"), 0),
        (("snapshot", "nodes", 0, "node", "metadata", "name"), ""),
        (("snapshot", "nodes", 0, "node", "status", "capacity", "nvidia.com/gpu"), 8),
        (("snapshot", "pods", 0, "spec", "containers", 0, "resources", "requests", "nvidia.com/gpu"), "1"),
        (("snapshot", "gaps", 0, "code"), "bad luck"),
    ],
)
def test_snapshot_refuses(path, wrong):
    sample = json.loads((DATA / "snapshot-v1.json").read_text())
    parent(sample, path)[path[-1]] = wrong
    assert not validator(schema("snapshot-v1")).is_valid(sample)


def test_arbiter_status():
    # The code's output is compared with this sample by src/sharing/limit/arbiter_status_test.cpp.
    check("arbiter-status-v1", json.loads((DATA / "arbiter-status-v1.json").read_text()))


def test_evict_requests():
    # The code's output is compared with this sample by
    # src/kubernetes/cluster/formats/eviction_requests_test.cpp.
    check("evict-requests-v1", json.loads((DATA / "evict-requests-v1.json").read_text()))


def test_checkpoint():
    # The code's output is compared with this sample by src/kubernetes/dra/prepared_test.cpp.
    check("checkpoint-v1", json.loads((DATA / "checkpoint-v1.json").read_text()))


def test_journal():
    # The code's output is compared with this sample by src/sharing/mig/journal_test.cpp.
    check("journal-v1", json.loads((DATA / "journal-v1.json").read_text()))


@pytest.mark.parametrize("name", ["mig-change-v1", "mig-drain-v1"])
def test_mig_change(name):
    # The code's output is compared with these samples by
    # src/kubernetes/cluster/formats/mig_change_test.cpp.
    check(name, json.loads((DATA / f"{name}.json").read_text()))


def test_mig_pool():
    # The code's output is compared with this sample by src/sharing/mig/pool_plan_test.cpp.
    check("mig-pool-v1", json.loads((DATA / "mig-pool-v1.json").read_text()))


@pytest.mark.parametrize("name", ["limit-settings-v1", "limit-status-v1"])
def test_limit_settings(name):
    # The code's output is compared with these samples by
    # src/kubernetes/cluster/formats/limit_settings_test.cpp.
    check(name, json.loads((DATA / f"{name}.json").read_text()))


def check_sample(name: str, sample: dict, free: tuple = ()) -> None:
    """As check(), of a format that leaves out what is unknown or empty."""
    text = schema(name)
    validator(text).validate(sample)
    validator(closed(text)).validate(sample)
    for at in paths(sample):
        if not any("/".join(map(str, at[:length])).endswith(free) for length in range(1, len(at))):
            assert not validator(text).is_valid(of_another_kind(sample, at)), at
    for at in text["required"]:
        assert not validator(text).is_valid(without(sample, (at,))), at


def test_gpu_node():
    # The code's output is compared with this sample by
    # src/kubernetes/cluster/formats/gpu_node_test.cpp.
    sample = json.loads((DATA / "gpu-node-v1alpha1.json").read_text())
    check_sample("gpu-node-v1alpha1", sample)
    # Before the agent has written for the first time.
    validator(schema("gpu-node-v1alpha1")).validate(without(sample, ("status",)))


def test_usage():
    # The code's output is compared with this sample by
    # src/kubernetes/usage/node_usage_json_test.cpp.
    sample = json.loads((DATA / "usage-v1.json").read_text())
    check_sample("usage-v1", sample)
    known = schema("usage-v1")
    parts = {"gpus": "gpu", "containers": "container", "processes": "process", "tranches": "tranches", "checks": "check"}
    for name, part in parts.items():
        written = {key for one in sample[name] for key in one}
        assert written == set(known["$defs"][part]["properties"]), "the sample has every field"


def test_fleet():
    # The code's output is compared with this sample by src/kubernetes/fleet/fleet_json_test.cpp.
    sample = json.loads((DATA / "fleet-v1.json").read_text())
    check_sample("fleet-v1", sample, free=("/usage",))
    for node in sample["nodes"]:
        validator(schema("usage-v1")).validate(node["usage"])


TIERS = json.loads((DATA / "gpu-tiers.json").read_text())


@pytest.mark.parametrize("case", TIERS["fit"], ids=lambda case: case["name"])
def test_tier(case):
    validator(schema("gpu-tier-v1")).validate(case["tier"])
    validator(closed(schema("gpu-tier-v1"))).validate(case["tier"])


@pytest.mark.parametrize("case", TIERS["unfit"], ids=lambda case: case["name"])
def test_tier_refuses(case):
    assert not validator(schema("gpu-tier-v1")).is_valid(case["tier"])


def test_a_snapshot_takes_every_tier_that_is_fit():
    sample = json.loads((DATA / "snapshot-v1.json").read_text())
    sample["snapshot"]["tiers"] = [case["tier"] for case in TIERS["fit"]]
    validator(schema("snapshot-v1")).validate(sample)


def test_grants(node):
    written = []
    for flags in (
        ["--device-list-strategy=envvar", "--pass-device-specs"],
        ["--device-list-strategy=volume-mounts"],
        ["--device-list-strategy=cdi-annotations,cdi-cri"],
    ):
        here = node("l20")
        driver = here.driver_root
        roots = (f"--driver-root={driver}", f"--driver-root-ctr-path={here.host}{driver}")
        here.agent(*roots, *flags, config=sharing(4))
        here.kubelet.wait(GPU, allocatable=4)
        here.kubelet.admit("a", {GPU: 2})
        written += here.stored_grants()
    assert len(written) == 3
    for grant in written:
        check("grant-v1", grant)
    # So that no check passed on empty lists.
    for field in ("envs", "mounts", "devices", "annotations", "cdiDevices"):
        assert any(grant["record"][field] for grant in written), field


def test_limits(node, tmp_path):
    """Of a part with every limit, and of whole GPUs without any."""
    library = tmp_path / "libtranche-limit.so"
    library.write_bytes(b"library")
    one, two = node("l20"), node("a100-80gb-x8")
    for here, config in ((one, json.loads(sharing(4))), (two, {})):
        config["tranche"] = {"limits": {"enforcement": "strict"}}
        here.agent(f"--limit-library={library}", config=config)
    one.kubelet.wait(GPU, allocatable=4)
    one.kubelet.admit("a", {GPU: 1})
    two.kubelet.wait(GPU, allocatable=8)
    two.kubelet.admit("a", {GPU: 8})
    part, whole = (json.loads(next((here.state / "tenants").glob("*.json")).read_text()) for here in (one, two))
    for promise in (part, whole):
        check("limits-v1", promise)
        assert promise["checksum"] == checksum(promise["limits"])
    assert set(part["limits"]["devices"][0]) == {"uuid", "memoryBytes", "permille", "weight"}
    assert [set(device) for device in whole["limits"]["devices"]] == [{"uuid", "weight"}] * 8


@pytest.mark.parametrize(
    ("path", "wrong"),
    [
        (("version",), "limits/v2"),
        (("limits", "id"), "../x"),
        (("limits", "enforcement"), "hard"),
        (("limits", "priority"), "high"),
        (("limits", "devices"), []),
        (("limits", "devices", 0, "uuid"), "0"),
        (("limits", "devices", 0, "weight"), 0),
        (("limits", "devices", 0, "permille"), 1001),
        (("limits", "devices", 0, "memoryBytes"), -1),
    ],
)
def test_limits_refuse(path, wrong):
    device = {"uuid": "GPU-1", "weight": 1, "permille": 250, "memoryBytes": 1}
    limits = {"id": "5c1f", "resource": GPU, "enforcement": "strict", "priority": "normal", "devices": [device]}
    sample = {"version": "limits/v1", "checksum": "0123456789abcdef", "limits": limits}
    validator(schema("limits-v1")).validate(sample)
    parent(sample, path)[path[-1]] = wrong
    assert not validator(schema("limits-v1")).is_valid(sample)


@pytest.fixture
def server(tmp_path):
    with running_server(tmp_path) as server:
        yield server


def test_configuration_in_force(node, server):
    """As the agent keeps it for a start without the API server: chosen, and none."""
    metadata = {"name": "configs", "namespace": "default", "annotations": {}}
    configs = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"two": sharing(2)}}
    metadata["annotations"]["tranche.dev/mig-strategy"] = "mixed"
    server.apply(configs)
    labels = {"nvidia.com/device-plugin.config": "two"}
    server.apply({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1", "labels": labels}})
    here = node("l20")
    here.agent(
        f"--kubeconfig={server.kubeconfig()}",
        "--config-map=default/configs",
        "--fallback-strategies=empty",
        env={"NODE_NAME": "n1"},
    )
    here.kubelet.wait(GPU, allocatable=2)
    file = here.state / "config.json"
    wait_until(file.exists, "what is in force is kept")
    chosen = json.loads(file.read_text())
    assert chosen["choice"]["text"] == sharing(2)
    assert chosen["choice"]["migStrategy"] == "mixed"
    check("config-choice-v1", chosen)

    server.apply({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1", "labels": {}}})
    wait_until(lambda: json.loads(file.read_text()) != chosen, "nothing is shared any more")
    none = json.loads(file.read_text())
    assert none["choice"]["text"] is None
    check("config-choice-v1", none)


def fields(part: dict, at: str = "") -> dict:
    """path -> type, of every field of a schema."""
    found = {}
    for name, below in part.get("properties", {}).items():
        found[f"{at}.{name}"] = below.get("type")
        found |= fields(below, f"{at}.{name}")
        found |= fields(below.get("items", {}), f"{at}.{name}[]")
    return found


def resolved(part, defs: dict):
    """With $ref resolved, and an enumeration as its text."""
    if isinstance(part, list):
        return [resolved(one, defs) for one in part]
    if not isinstance(part, dict):
        return part
    if "$ref" in part:
        part = {**defs[part["$ref"].rsplit("/", 1)[1]], **part}
    if "enum" in part:
        part = {"type": "string", **part}
    return {key: resolved(value, defs) for key, value in part.items()}


def test_the_definition_of_gpunodes_has_every_field():
    """The API server drops what its definition lacks. The definition does not restrict the fields'
    values."""
    file = ROOT / "deploy" / "helm" / "tranche" / "templates" / "gpunodes-crd.yaml"
    lines = [line for line in file.read_text().splitlines() if "{{" not in line]
    begin = next(number for number, line in enumerate(lines) if line.startswith("apiVersion"))
    [version] = yaml.safe_load("\n".join(lines[begin:]))["spec"]["versions"]
    defined = version["schema"]["openAPIV3Schema"]["properties"]["status"]
    text = schema("gpu-node-v1alpha1")
    assert fields(defined) == fields(resolved(text["properties"]["status"], text["$defs"]))
    assert "enum" not in json.dumps(defined) and "required" not in json.dumps(defined)
