"""The cluster's GPUs with a real scheduler, kubelet and API server: how much is free of each kind, who has it, and why
Pods wait; the same in /metrics, in /v1/fleet and in `tranche report`."""

import json
import pathlib
import subprocess
import sys

import pytest
import yaml
from claims import DRIVER, InMode, claiming, share, template, wait_devices
from claims import VALUES as CLAIMS
from pods import GPU, Applied, pod, wait_offer
from release import Release

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from programs import TRANCHE, clean_environment  # noqa: E402
from prometheus import Page  # noqa: E402

SHARED = "nvidia.com/gpu.shared"
SMALL = "nvidia.com/mig-1g.5gb"
SERVICE = "kube-system/tranche-controller-web:web"
PROXY = "/api/v1/namespaces/kube-system/services/tranche-controller-web:web/proxy"
SHARING = {"renameByDefault": True, "resources": [{"name": GPU, "replicas": 4}]}


def objects() -> list[dict]:
    """The configurations, and two readers: one of all Pods, one of namespace "seen" alone."""
    data = {
        "default": json.dumps({"version": "v1", "flags": {"migStrategy": "mixed"}}),
        "shared": json.dumps({"version": "v1", "sharing": {"timeSlicing": SHARING}}),
    }

    def account(name: str) -> dict:
        return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": "kube-system"}}

    def binding(kind: str, name: str, role: str, reader: str, **metadata) -> dict:
        return {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": kind,
            "metadata": {"name": name, **metadata},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
            "subjects": [{"kind": "ServiceAccount", "name": reader, "namespace": "kube-system"}],
        }

    return [
        account("fleet") | {"kind": "ConfigMap", "data": data},
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "seen"}},
        account("reader-all"),
        account("reader-some"),
        account("reader-none"),
        binding("ClusterRoleBinding", "reader-all", "cluster-admin", "reader-all"),
        binding("ClusterRoleBinding", "reader-some", "tranche-viewer", "reader-some"),
        # The API server's proxy, by which the tests reach the Service.
        binding("ClusterRoleBinding", "reader-some-proxy", "cluster-proxy", "reader-some"),
        binding("ClusterRoleBinding", "reader-none-proxy", "cluster-proxy", "reader-none"),
        binding("RoleBinding", "reader-some", "view", "reader-some", namespace="seen"),
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": {"name": "cluster-proxy"},
            "rules": [{"apiGroups": [""], "resources": ["services/proxy"], "verbs": ["get"]}],
        },
    ]


@pytest.fixture(scope="module")
def release(lab):
    """l20 is shared by four, t4 is whole, mig has instances, and a100 serves claims."""
    lab.kubectl("label", "node", "l20", "nvidia.com/device-plugin.config=shared", "--overwrite")
    # The plain nodes have no network of Pods.
    place = r"controller.nodeSelector.kubernetes\.io/hostname=l20"
    values = (place, "config.name=fleet", "config.default=default", "metrics.enabled=true", "web.enabled=true")
    with (
        Applied(lab, *map(json.dumps, objects())),
        InMode(lab, "a100"),
        Release(lab, "migStrategy=mixed", *values, *CLAIMS) as one,
    ):
        wait_offer(lab, "l20", 4, resource=SHARED)
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
    lab.kubectl("label", "node", "l20", "nvidia.com/device-plugin.config-")
    wait_offer(lab, "l20", 0, resource=SHARED)
    wait_offer(lab, "t4", 0)
    wait_offer(lab, "mig", 0, resource=SMALL)


def kubeconfig(lab, folder: pathlib.Path, account: str) -> pathlib.Path:
    """The lab's, with a token of the account instead of its own credentials."""
    config = yaml.safe_load(pathlib.Path(lab.kubeconfig).read_text())
    token = lab.kubectl("-n", "kube-system", "create", "token", account).strip()
    for user in config["users"]:
        user["user"] = {"token": token}
    file = folder / account
    file.write_text(yaml.safe_dump(config))
    return file


def report(config: pathlib.Path, *more: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [TRANCHE, "report", "--kubeconfig", config, "-o", "json", *more],
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )


def fleet(config: pathlib.Path, *more: str) -> dict:
    done = report(config, *more)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def metrics(lab) -> Page:
    return Page(lab.kubectl("get", "--raw", f"{PROXY}/metrics"))


def value(page: Page, name: str, **labels: str) -> float:
    """Of the one series that has these labels, and perhaps more."""
    [found] = [one for has, one in page.all(name).items() if labels.items() <= set(has)]
    return found


def kinds(fleet_: dict) -> dict:
    """(resource, mechanism) -> counts."""
    names = ("advertised", "allocated", "free", "pending")
    return {
        (row["resource"], row["mechanism"]): tuple(row.get(name, 0) for name in names) for row in fleet_["capacity"]
    }


def causes(fleet_: dict) -> dict:
    return {one.get("pod", ""): one["cause"] for one in fleet_.get("waiting", [])}


def test_the_same_in_metrics_fleet_and_report(lab, release, tmp_path):
    everything = kubeconfig(lab, tmp_path, "reader-all")
    with Applied(
        lab,
        pod("whole", "sleep", "infinity", gpus=1, node="t4"),
        pod("shared", "sleep", "infinity", gpus=1, resource=SHARED, node="l20"),
        pod("instance", "sleep", "infinity", gpus=1, resource=SMALL),
        template("part", share("4Gi", 25)),
        claiming("claims", "part", node="a100"),
        pod("too-many", "sleep", "infinity", gpus=5),
        pod("nowhere", "sleep", "infinity", gpus=1, resource="nvidia.com/mig-7g.40gb"),
        pod("gated", "sleep", "infinity", gpus=1, schedulingGates=[{"name": "example.com/wait"}]),
    ):
        for name in ("whole", "shared", "instance", "claims"):
            lab.wait_pod(name)
        wanted = {"too-many": "not-enough", "nowhere": "no-such-resource", "gated": "gate"}
        lab.wait(
            lambda: wanted.items() <= causes(fleet(everything, "--service", SERVICE)).items(),
            lambda: f"the causes are {causes(fleet(everything, '--service', SERVICE))}",
        )
        expected = {
            (GPU, "exclusive"): (1, 1, 0, 6),
            (SHARED, "time-slicing"): (4, 1, 3, 0),
            (SMALL, "mig"): (2, 1, 1, 0),
            ("nvidia.com/mig-2g.10gb", "mig"): (1, 0, 1, 0),
            ("nvidia.com/mig-3g.20gb", "mig"): (1, 0, 1, 0),
            # One of four GPUs has a part that a claim has.
            (DRIVER, "share"): (4, 1, 3, 0),
        }
        # Agents write who holds what at most every 30 s.
        lab.wait(
            lambda: kinds(fleet(everything, "--service", SERVICE)) == expected,
            lambda: f"there is {kinds(fleet(everything, '--service', SERVICE))}",
            120,
        )
        served = fleet(everything, "--service", SERVICE)
        # What needs no agent is the same without the controller.
        objects_alone = fleet(everything)
        assert kinds(objects_alone) == kinds(served)
        assert causes(objects_alone) == causes(served)
        assert {node["reporting"] for node in objects_alone["nodes"]} == {"silent"}

        page = metrics(lab)
        for (resource, mechanism), (advertised, allocated, free, _) in kinds(served).items():
            for state, count in (("advertised", advertised), ("allocated", allocated), ("free", free)):
                labels = {"resource": resource, "mechanism": mechanism, "state": state}
                assert value(page, "tranche_capacity_tranches", **labels) == count, labels
        for cause in wanted.values():
            assert value(page, "tranche_pending_pods", namespace="default", cause=cause) == 1
        assert page["tranche_controller_leads"] == 1

        # Agents are asked, and say who they are.
        lab.wait(
            lambda: {n["name"]: n["reporting"] for n in fleet(everything, "--service", SERVICE)["nodes"]}
            == dict.fromkeys(("a100", "l20", "mig", "t4"), "fresh"),
            lambda: f"nodes: {fleet(everything, '--service', SERVICE)['nodes']}",
        )
        assert value(metrics(lab), "tranche_nodes", reporting="fresh") == 4


def test_names_of_pods_that_one_may_not_list(lab, release, tmp_path):
    some = kubeconfig(lab, tmp_path, "reader-some")
    with Applied(lab, pod("hidden", "sleep", "infinity", gpus=1, node="t4")):
        lab.wait_pod("hidden")
        seen = fleet(some, "--service", SERVICE)
        assert kinds(seen)[GPU, "exclusive"][1] == 1
        assert "hidden" not in json.dumps(seen)
    done = report(kubeconfig(lab, tmp_path, "reader-none"), "--service", SERVICE)
    assert done.returncode != 0 and "/v1/fleet" in done.stderr, done.stderr
