"""The cluster's GPUs with a real scheduler, kubelet and API server: how much is free of each kind, who has it, and why
Pods wait; the same in /metrics, in /v1/fleet, in commands, on the page and in Prometheus."""

import collections
import json
import pathlib
import re
import subprocess
import sys

import pytest
import yaml
from claims import DRIVER, InMode, claiming, share, template, wait_devices
from claims import VALUES as CLAIMS
from cluster_web import (
    PROXY,
    SERVICE,
    causes,
    certificate,
    fleet,
    kinds,
    kubeconfig,
    metrics,
    objects,
    reached,
    report,
    value,
)
from pods import GPU, ROOT, Applied, pod, wait_offer
from questions import Asked, find_program, scraping
from release import Release, label

sys.path.insert(0, str(ROOT / "tests" / "web"))
from browser import environment, find_chromium  # noqa: E402

SHARED = "nvidia.com/gpu.shared"
SMALL = "nvidia.com/mig-1g.5gb"
# What each node is for; the first two share by four.
NODES = {"l20": "time-slicing", "mps": "mps", "t4": "exclusive", "mig": "mig", "a100": "share"}


@pytest.fixture(scope="module")
def lab(labs):
    return labs.get(["l20", "l20=mps", "t4", "a100-40gb-mig=mig", "a100-40gb-x4=a100"])


@pytest.fixture(scope="module")
def release(lab):
    """l20 is shared by four, with limits, mps by MPS; t4 is whole, mig has instances, and a100 serves claims."""
    values = ("config.name=fleet", "config.default=default", "mig.monitor=true", "metrics.enabled=true")
    parts = ("web.enabled=true", "limits.enabled=true", "mps.enabled=true", "gfd.enabled=true", "gfd.labelOutput=node")
    label(lab, "l20", "shared")
    label(lab, "mps", "mps")
    with (
        Applied(lab, *map(json.dumps, objects())),
        InMode(lab, "a100"),
        Release(lab, *values, *parts, *CLAIMS) as one,
    ):
        wait_offer(lab, "l20", 4, resource=SHARED)
        wait_offer(lab, "mps", 4, resource=SHARED)
        wait_offer(lab, "t4", 1)
        wait_offer(lab, "mig", 2, resource=SMALL)
        wait_devices(lab, "a100", "gpu-0", "gpu-1", "gpu-2", "gpu-3")
        controller = ("-n", "kube-system", "-l", "app.kubernetes.io/component=controller")
        lab.wait(
            lambda: lab.kubectl("get", "--raw", f"{PROXY}/healthz", check=False) == "ok\n",
            lambda: lab.kubectl("get", "--raw", f"{PROXY}/healthz", check=False)
            + lab.kubectl("-n", "kube-system", "get", "endpointslices,svc,pods", "-o", "wide")
            + lab.kubectl("logs", "--prefix", *controller, check=False),
        )
        yield one


@pytest.fixture(scope="module")
def viewer(lab, release, tmp_path_factory) -> pathlib.Path:
    """A kubeconfig of one who may see everything."""
    return kubeconfig(lab, tmp_path_factory.mktemp("viewer"), "reader-all")


HOLD = ("tranche-load", "hold", "--duration", "1h", "--memory")
WAITING = {"too-many": "not-enough", "nowhere": "no-such-resource", "gated": "gate"}
# (resource, mechanism) -> advertised, allocated, free, pending, with the Pods of `users`.
EXPECTED = {
    (GPU, "exclusive"): (1, 1, 0, 6),
    (SHARED, "time-slicing"): (4, 2, 2, 0),
    (SHARED, "mps"): (4, 1, 3, 0),
    (SMALL, "mig"): (2, 1, 1, 0),
    ("nvidia.com/mig-2g.10gb", "mig"): (1, 0, 1, 0),
    ("nvidia.com/mig-3g.20gb", "mig"): (1, 0, 1, 0),
    # One of four GPUs has a part that a claim has.
    (DRIVER, "share"): (4, 1, 3, 0),
}
# MiB that their programs hold. A context is beside it.
HELD = {"near": 10200, "busy": 0, "client": 3000, "instance": 700, "claims": 1500, "whole": 5000}


@pytest.fixture(scope="module")
def users(lab, release):
    """A Pod or two of each kind, and Pods that wait."""

    def holds(name: str, **more) -> str:
        return pod(name, *HOLD, f"{HELD[name]}Mi", image="lab-glibc:1", gpus=1, **more)

    busy = ("tranche-load", "compute", "--duration", "1h", "--duty", "20")
    with Applied(
        lab,
        holds("near", resource=SHARED, node="l20"),
        pod("busy", *busy, image="lab-glibc:1", gpus=1, resource=SHARED, node="l20"),
        holds("client", resource=SHARED, node="mps"),
        holds("whole", node="t4"),
        holds("instance", resource=SMALL),
        template("part", share("4Gi", 25)),
        claiming("claims", "part", *HOLD, f"{HELD['claims']}Mi", node="a100"),
        pod("too-many", "sleep", "infinity", gpus=5),
        pod("nowhere", "sleep", "infinity", gpus=1, resource="nvidia.com/mig-7g.40gb"),
        pod("gated", "sleep", "infinity", gpus=1, schedulingGates=[{"name": "example.com/wait"}]),
    ):
        for name in HELD:
            lab.wait_pod(name)
        yield


def test_the_same_in_metrics_fleet_and_report(lab, users, viewer):
    lab.wait(
        lambda: WAITING.items() <= causes(fleet(viewer, "--service", SERVICE)).items(),
        lambda: f"the causes are {causes(fleet(viewer, '--service', SERVICE))}",
    )
    # Agents write who holds what at most every 30 s.
    lab.wait(
        lambda: kinds(fleet(viewer, "--service", SERVICE)) == EXPECTED,
        lambda: f"there is {kinds(fleet(viewer, '--service', SERVICE))}",
        120,
    )
    served = fleet(viewer, "--service", SERVICE)
    # What needs no agent is the same without the controller.
    objects_alone = fleet(viewer)
    assert kinds(objects_alone) == kinds(served)
    assert causes(objects_alone) == causes(served)
    assert {node["reporting"] for node in objects_alone["nodes"]} == {"silent"}

    page = metrics(lab)
    for (resource, mechanism), (advertised, allocated, free, _) in kinds(served).items():
        for state, count in (("advertised", advertised), ("allocated", allocated), ("free", free)):
            labels = {"resource": resource, "mechanism": mechanism, "state": state}
            assert value(page, "tranche_capacity_tranches", **labels) == count, labels
    for cause in WAITING.values():
        assert value(page, "tranche_pending_pods", namespace="default", cause=cause) == 1
    assert page["tranche_controller_leads"] == 1

    # Agents are asked, and say who they are.
    wait_fresh(lab, viewer)
    assert value(metrics(lab), "tranche_nodes", reporting="fresh") == len(NODES)


def wait_fresh(lab, viewer) -> None:
    lab.wait(
        lambda: {n["name"]: n["reporting"] for n in fleet(viewer, "--service", SERVICE)["nodes"]}
        == dict.fromkeys(NODES, "fresh"),
        lambda: f"nodes: {fleet(viewer, '--service', SERVICE)['nodes']}",
    )


def test_names_of_pods_that_one_may_not_list(lab, users, tmp_path):
    some = kubeconfig(lab, tmp_path, "reader-some")
    mine = json.loads(pod("mine", "sleep", "infinity", gpus=5))
    mine["metadata"]["namespace"] = "seen"
    with Applied(lab, json.dumps(mine)):
        lab.wait(lambda: "mine" in causes(fleet(some, "--service", SERVICE)), "the Pod of the reader's namespace")
        seen = fleet(some, "--service", SERVICE)
    assert kinds(seen)[GPU, "exclusive"][1] == 1 and len(seen["waiting"]) == len(WAITING) + 1
    assert not [name for name in (*HELD, *WAITING) if f'"{name}"' in json.dumps(seen)]
    done = report(kubeconfig(lab, tmp_path, "reader-none"), "--service", SERVICE)
    assert done.returncode != 0 and "/v1/fleet" in done.stderr, done.stderr


# The closing questions: one command, one metric and one panel each, with the same number.


@pytest.fixture(scope="module")
def prometheus(release, viewer, tmp_path_factory):
    if find_program("prometheus") is None:
        pytest.skip("no prometheus: tools/setup.sh test gets it")
    server = scraping(release, viewer, tmp_path_factory.mktemp("prometheus"))
    yield server
    server.process.kill()


@pytest.fixture
def asked(lab, release, users, viewer, prometheus):
    return Asked(lab, release, viewer, prometheus)


def test_who_uses_the_card(asked):
    def memory():
        used = {pod: one.get("memoryUsed") for pod, one in asked.containers().items()}
        return used, asked.metric("tranche_container_memory_used_bytes"), asked.panel_by_pod("Who uses the card")

    def of_every_kind(used: dict) -> bool:
        return used.keys() == HELD.keys() and all(used[name] >= HELD[name] << 20 for name in HELD)

    asked.alike(memory, of_every_kind, "each Pod's memory")
    mechanisms = {one["mechanism"] for one in asked.containers().values()}
    assert mechanisms == set(NODES.values())

    # Compute is over the last minute, and the minutes are not the same: 3 points.
    def shares():
        told = asked.containers()["busy"].get("computeShare", -1)
        return [abs(share - 0.2) <= 0.03 for share in (told, asked.panel_by_pod("Who uses the card", 1).get("busy", -1))]

    asked.alike(lambda: [all(shares())], bool, "the share of a Pod with a duty of 20 %")


def test_which_pod_is_close_to_its_limit(asked):
    def fill():
        told = {pod: one["memoryUsed"] / one["memoryLimit"]
                for pod, one in asked.containers().items() if "memoryLimit" in one and "memoryUsed" in one}
        used = asked.metric("tranche_container_memory_used_bytes")
        limits = asked.metric("tranche_container_memory_limit_bytes")
        by_metric = {pod: used.get(pod, 0) / limit for pod, limit in limits.items()}
        return told, by_metric, asked.panel_by_pod("Which Pod is close to its limit")

    filled = asked.alike(fill, lambda fills: "near" in fills and len(fills) > 2, "use of limits")
    assert max(filled, key=filled.get) == "near" and filled["near"] >= 0.9
    said = asked.report()
    assert re.search(r"default/near\b.*\b9\d ?%", said), said


def test_how_much_is_free_of_each_kind(asked):
    def free():
        rows = json.loads(asked.report("-o", "json"))["capacity"]
        told = {(row["resource"], row["mechanism"]): row.get("free", 0) for row in rows}
        labelled = asked.controllers("tranche_capacity_tranches")
        by_metric = {(has["resource"], has["mechanism"]): n for has, n in labelled if has["state"] == "free"}
        panel = asked.panel("How much is free of each kind")
        return told, by_metric, {(one["resource"], one["mechanism"]): one["value"] for one in panel}

    wanted = {kind: row[2] for kind, row in EXPECTED.items()}
    asked.alike(free, lambda found: found == wanted, "free tranches")


def test_why_pods_wait(asked):
    def why():
        rows = json.loads(asked.report("-o", "json"))["waiting"]
        told = collections.Counter((row["wants"][0]["resource"], row["cause"]) for row in rows)
        labelled = asked.controllers("tranche_pending_pods")
        panel = [(one, one["value"]) for one in asked.panel("Why Pods wait")]
        return told, *({(has["resource"], has["cause"]): n for has, n in rows} for rows in (labelled, panel))

    wanted = {(GPU, "not-enough"): 1, ("nvidia.com/mig-7g.40gb", "no-such-resource"): 1, (GPU, "gate"): 1}
    asked.alike(why, lambda found: found == wanted, "causes")


@pytest.mark.skipif(find_chromium() is None, reason="no Chromium: tools/setup.sh test installs it")
@pytest.mark.parametrize("way", ["port-forward", "proxy"])
def test_the_page(lab, users, viewer, tmp_path, way):
    """In a browser, with a token."""
    token = yaml.safe_load(viewer.read_text())["users"][0]["user"]["token"]
    wait_fresh(lab, viewer)
    with reached(lab, way) as base:
        done = subprocess.run(
            ["node", ROOT / "tests/cluster/page.mjs", base, tmp_path],
            env=environment(TOKEN=token), capture_output=True, text=True, timeout=300,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    shown = json.loads(done.stdout)
    told = fleet(viewer, "--service", SERVICE)
    assert shown["wrong"] == []
    gpus = [gpu for node in told["nodes"] for gpu in node["usage"]["gpus"]]
    assert shown["gpus"].keys() == {gpu["uuid"] for gpu in gpus}
    used = {"/".join(one[part] for part in ("namespace", "pod", "container")): str(one["memoryUsed"])
            for node in told["nodes"] for one in node["usage"].get("containers", [])}
    assert shown["pods"] == used
    free = {f"{row['mechanism']} {row['resource']} ": str(row.get("free", 0)) for row in told["capacity"]}
    assert shown["free"] == free
    assert shown["waiting"] == {f"default/{name}": cause for name, cause in WAITING.items()}


def test_agents_with_a_certificate_and_a_token(lab, release, viewer, tmp_path):
    """The controller asks them over TLS by a name of theirs, and without the token nobody is answered. Last: the agents
    keep them."""
    certificate(tmp_path)
    files = [f"--from-file={name}={tmp_path / name}" for name in ("tls.crt", "tls.key", "ca.crt")]
    lab.kubectl("-n", "kube-system", "create", "secret", "generic", "agents-tls", *files)
    lab.kubectl("-n", "kube-system", "create", "secret", "generic", "agents-token", "--from-literal=token=gpu-secret")
    release.upgrade(
        "metrics.tls.secretName=agents-tls",
        "metrics.token.secretName=agents-token",
        "web.agentServerName=agents.example",
    )
    wait_fresh(lab, viewer)
    address = release.agents()["t4"]["status"]["podIP"]

    def asks(scheme: str, *more: str) -> str:
        # The controller checks the certificate.
        words = ("-s", "-k", "-o", "/dev/null", "-w", "%{http_code}", *more)
        return lab.node("t4").run("curl", *words, f"{scheme}://{address}:9400/usage", check=False).out

    token = ("-H", "Authorization: Bearer gpu-secret")
    assert [asks("https"), asks("https", *token), asks("http", *token)] == ["401", "200", "000"]
    # By a name that the certificate does not have the controller believes nobody, and says so. It serves TLS itself.
    release.upgrade("web.agentServerName=other.example", "web.tls.secretName=agents-tls")
    over_tls = SERVICE.replace("/", "/https:")
    lab.wait(
        lambda: all(
            node["reporting"] == "silent" and "certificate" in node["why"]
            for node in fleet(viewer, "--service", over_tls)["nodes"]
        ),
        lambda: f"nodes: {fleet(viewer, '--service', over_tls)['nodes']}",
    )
