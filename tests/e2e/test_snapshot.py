"""`tranche snapshot` of a real API server, and the commands that give the same answers from its
file."""

import contextlib
import json
import os
import resource
import signal
import stat
import subprocess
import sys

import pytest
import yaml
from programs import ROOT, TRANCHE, clean_environment
from test_schemas import closed, schema, validator

sys.path.append(str(ROOT / "tests" / "chart"))
from api_server import Refused, running_server  # noqa: E402

# In every name here that somebody may keep secret.
MARK = "zebra"
NODE = "zebra-host.example.com"
TEAM = "zebra-team"
GPU = "GPU-4cf8db2d-06c0-7d70-1a51-e59b25b2c16c"


def run(*arguments, text: str = "", before=None, **env) -> subprocess.CompletedProcess:
    return subprocess.run(
        [TRANCHE, *map(str, arguments)],
        env=clean_environment(**env),
        input=text,
        capture_output=True,
        text=True,
        timeout=60,
        preexec_fn=before,
    )


class Cluster:
    def __init__(self, server):
        self.server = server
        self.config = server.kubeconfig()

    def create(self, path: str, thing: dict) -> dict:
        with contextlib.suppress(Refused):
            return self.server.request("POST", path, thing)
        return self.server.request("GET", f"{path}/{thing['metadata']['name']}")

    def status(self, path: str, status: dict):
        thing = self.server.request("GET", path)
        self.server.request("PUT", f"{path}/status", {**thing, "status": status})

    def take(self, file, *flags: str, token: str | None = None) -> subprocess.CompletedProcess:
        config = self.server.kubeconfig(token) if token else self.config
        return run("snapshot", "--kubeconfig", config, "-o", file, *flags)

    def fill(self):
        self.fill_nodes()
        namespace = f"/api/v1/namespaces/{TEAM}"
        self.create("/api/v1/namespaces", {"metadata": {"name": TEAM}})
        self.create(f"{namespace}/serviceaccounts", {"metadata": {"name": "default"}})
        self.create(f"{namespace}/secrets", {"metadata": {"name": "keys"}, "stringData": {"key": "hunter2"}})
        self.create(f"{namespace}/pods", self.pod())
        self.status(f"{namespace}/pods/{MARK}-pod", {"phase": "Running"})
        self.create(
            f"/apis/resource.k8s.io/v1/namespaces/{TEAM}/resourceclaims",
            {
                "metadata": {"name": "zebra-claim", "annotations": {"example.com/token": "hunter2"}},
                "spec": {
                    "devices": {
                        "requests": [{"name": "zebra-request", "exactly": {"deviceClassName": "gpu-share"}}]
                    }
                },
            },
        )

    def fill_nodes(self):
        labels = {"kubernetes.io/hostname": NODE, "nvidia.com/gpu.product": "NVIDIA-L20", "zebra.com/team": "zebra-a"}
        told = {"metadata": {"name": NODE, "labels": labels, "annotations": {"example.com/token": "hunter2"}}}
        self.create("/api/v1/nodes", told)
        self.status(
            f"/api/v1/nodes/{NODE}",
            {
                "capacity": {"nvidia.com/gpu.shared": "8"},
                "allocatable": {"nvidia.com/gpu.shared": "8"},
                "conditions": [
                    {
                        "type": "TrancheConfigured",
                        "status": "True",
                        "reason": "ConfigApplied",
                        "message": "ConfigMap zebra-gpu/zebra-configs, key zebra-key (the node's label), version 1",
                    }
                ],
            },
        )
        self.create("/api/v1/namespaces", {"metadata": {"name": "zebra-gpu"}})
        configs = "# by zebra\nversion: v1\nsharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 8}]}}\n"
        self.create(
            "/api/v1/namespaces/zebra-gpu/configmaps",
            {"metadata": {"name": "zebra-configs"}, "data": {"zebra-key": configs}},
        )
        slices = "/apis/resource.k8s.io/v1/resourceslices"
        device = {"name": "gpu-0", "attributes": {"uuid": {"string": GPU}, "productName": {"string": "NVIDIA L20"}}}
        pool = {"name": NODE, "generation": 1, "resourceSliceCount": 1}
        self.create(
            slices,
            {
                "metadata": {"name": "zebra-slice"},
                "spec": {"driver": "gpu.nvidia.com", "nodeName": NODE, "pool": pool, "devices": [device]},
            },
        )
        self.create("/apis/resource.k8s.io/v1/deviceclasses", {"metadata": {"name": "gpu-share"}, "spec": {}})
        self.fill_gpu_nodes()

    def fill_gpu_nodes(self):
        """What the node's agent would publish. The definition accepts anything: the chart has the
        real one."""
        names = {"plural": "gpunodes", "singular": "gpunode", "kind": "GPUNode"}
        anything = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
        version = {"name": "v1alpha1", "served": True, "storage": True, "schema": anything}
        self.create(
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
            {
                "metadata": {"name": "gpunodes.tranche.dev"},
                "spec": {"group": "tranche.dev", "scope": "Cluster", "names": names, "versions": [version]},
            },
        )
        path = "/apis/tranche.dev/v1alpha1/gpunodes"
        self.server.wait(lambda: self.server.request("GET", path), "GPUNodes are served")
        gpu = {"index": 0, "uuid": GPU, "model": "NVIDIA L20", "mig": "unsupported"}
        held = {
            "gpu": GPU,
            "device": GPU,
            "id": f"{GPU}::3",
            "namespace": TEAM,
            "pod": f"{MARK}-pod",
            "container": f"{MARK}-main",
            "wire": "device-plugin",
            "use": "time-sliced",
            "state": "in-use",
        }
        reason = {"about": "nvidia.com/gpu.shared", "message": f"{TEAM}/{MARK}-pod holds {GPU}::3"}
        self.create(
            path,
            {
                "apiVersion": "tranche.dev/v1alpha1",
                "kind": "GPUNode",
                "metadata": {"name": NODE},
                "status": {"gpus": [gpu], "holdings": [held], "reasons": [reason]},
            },
        )

    @staticmethod
    def pod() -> dict:
        container = {
            "name": f"{MARK}-main",
            "image": "registry.example.com/zebra:hunter2",
            "command": ["hunter2"],
            "args": ["--password=hunter2"],
            "env": [{"name": "PASSWORD", "value": "hunter2"}],
            "resources": {"limits": {"nvidia.com/gpu.shared": "1"}},
        }
        return {
            "metadata": {
                "name": f"{MARK}-pod",
                "labels": {"zebra": "zebra"},
                "annotations": {"example.com/token": "hunter2", "tranche.dev/memory": "8Gi"},
            },
            "spec": {"nodeName": NODE, "automountServiceAccountToken": False, "containers": [container]},
        }


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with running_server(tmp_path_factory.mktemp("server")) as server:
        one = Cluster(server)
        one.fill()
        yield one


@pytest.fixture
def file(cluster, tmp_path):
    file = tmp_path / "snapshot.json"
    done = cluster.take(file)
    assert done.returncode == 0, done.stderr
    return file


# --- taking ------------------------------------------------------------------------------------


def test_a_snapshot_has_what_commands_read_and_no_secrets(cluster, tmp_path):
    file = tmp_path / "snapshot.json"
    file.write_text("of yesterday")
    file.chmod(0o644)
    done = cluster.take(file)
    assert (done.returncode, done.stdout) == (0, "")
    assert f"{file} has 1 Node, 1 GPUNode, 1 Pod, 1 ResourceSlice, 1 ResourceClaim" in done.stderr
    assert "1 ConfigMap (zebra-gpu/zebra-configs)" in done.stderr
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    text = file.read_text()
    assert "hunter2" not in text and "registry.example.com" not in text
    whole = json.loads(text)
    validator(closed(schema("snapshot-v1"))).validate(whole)
    content = whole["snapshot"]
    assert content["nodes"][0]["node"]["metadata"]["name"] == NODE
    assert content["pods"][0]["metadata"]["annotations"] == {"tranche.dev/memory": "8Gi"}
    assert content["resourceClaims"][0]["spec"]["devices"]["requests"][0]["name"] == "zebra-request"
    assert content["configMaps"][0]["data"].keys() == {"zebra-key"}
    # Neither the definitions of NVIDIA's operator nor ours are installed here.
    assert {gap["code"] for gap in content["gaps"]} == {"not found"}


def test_it_goes_to_standard_output_too(cluster):
    for flags in ([], ["-o", "-"]):
        done = run("snapshot", "--kubeconfig", cluster.config, *flags)
        assert done.returncode == 0 and done.stderr == ""
        assert json.loads(done.stdout)["version"] == "snapshot/v1"
    with open("/dev/full", "w") as full:
        full_disk = subprocess.run(
            [TRANCHE, "snapshot", "--kubeconfig", str(cluster.config)],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            env=clean_environment(),
            timeout=60,
        )
    assert full_disk.returncode == 1 and "No space left on device" in full_disk.stderr


def test_what_may_not_be_read_is_said_with_the_rule_that_is_missing(cluster, tmp_path):
    server = cluster.server
    rbac = "/apis/rbac.authorization.k8s.io/v1"
    cluster.create("/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "reader"}})
    rules = [{"apiGroups": [""], "resources": ["nodes", "namespaces"], "verbs": ["list"]}]
    cluster.create(f"{rbac}/clusterroles", {"metadata": {"name": "reader"}, "rules": rules})
    cluster.create(
        f"{rbac}/clusterrolebindings",
        {
            "metadata": {"name": "reader"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "reader"},
            "subjects": [{"kind": "ServiceAccount", "namespace": "default", "name": "reader"}],
        },
    )
    token = server.token("default", "reader")
    server.wait(lambda: server.request("GET", "/api/v1/nodes", token=token), "the rule is known")
    file = tmp_path / "snapshot.json"
    done = cluster.take(file, token=token)
    assert done.returncode == 1, done.stderr
    assert "pods could not be read: " in done.stderr and "grant list on pods" in done.stderr
    assert "configmaps zebra-gpu/zebra-configs could not be read: " in done.stderr
    content = json.loads(file.read_text())["snapshot"]
    assert content["nodes"] and content["pods"] == []
    # What is missing is no empty list for readers of the file.
    listed = run("limit", "get", "-n", TEAM, f"{MARK}-pod", "--snapshot", file)
    assert listed.returncode == 1 and "grant list on pods" in listed.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["-o", "{folder}"], 2, "is a folder; name a file in it"),
        (["-o", "/dev/null"], 2, "is no file"),
        (["-o", "{folder}/none/s.json"], 2, "is in no folder that exists"),
        (["--config-map", "configs"], 2, "'configs' names no ConfigMap; write NAMESPACE/NAME"),
        (["--kubeconfig", "/nonexistent"], 2, "there is no file /nonexistent"),
        (["all"], 2, "unexpected argument 'all'"),
        (["-o", "{folder}/s.json"], 3, "127.0.0.1:1"),
    ],
)
def test_what_goes_wrong_before_anything_is_written(arguments, code, says, tmp_path):
    config = {
        "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
        "users": [{"name": "u", "user": {}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    (tmp_path / "config").write_text(json.dumps(config))
    (tmp_path / "out").mkdir()
    arguments = [one.format(folder=tmp_path / "out") for one in arguments]
    done = run("snapshot", *arguments, KUBECONFIG=tmp_path / "config")
    assert done.returncode == code and says in done.stderr, done.stderr
    assert list((tmp_path / "out").iterdir()) == []


def test_a_full_disk_leaves_what_was_there(cluster, tmp_path):
    file = tmp_path / "snapshot.json"
    file.write_text("of yesterday")

    def small_files():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))

    done = run("snapshot", "--kubeconfig", cluster.config, "-o", file, before=small_files)
    assert done.returncode == 1 and "what was there is as it was" in done.stderr, done.stderr
    assert file.read_text() == "of yesterday" and os.listdir(tmp_path) == [file.name]


# --- reading -----------------------------------------------------------------------------------

MANIFESTS = [
    {"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [{"resources": {"limits": {"nvidia.com/gpu": 1}}}]}},
    {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "spec": {"devices": {"requests": [{"name": "g", "exactly": {"deviceClassName": "gpu-shard"}}]}},
    },
]


def lint(*flags) -> tuple:
    done = run("lint", "-o", "json", *flags, "-", text=yaml.safe_dump_all(MANIFESTS))
    return done.returncode, json.loads(done.stdout), done.stderr


def test_lint_finds_in_a_snapshot_what_it_finds_in_the_cluster(cluster, file, tmp_path):
    from_cluster = lint("--kubeconfig", cluster.config)
    assert from_cluster[0] == 1 and "gpu-share" in json.dumps(from_cluster[1])
    assert lint("--snapshot", file) == from_cluster
    anonymous = tmp_path / "anonymous.json"
    assert cluster.take(anonymous, "--anonymize").returncode == 0
    assert lint("--snapshot", anonymous) == from_cluster


def test_limits_are_those_of_the_cluster(cluster, tmp_path):
    server = cluster.server
    pod = server.request("GET", f"/api/v1/namespaces/{TEAM}/pods/{MARK}-pod")["metadata"]
    about = {
        "namespace": TEAM,
        "pod": pod["name"],
        "uid": pod["uid"],
        "container": f"{MARK}-main",
        "resource": "nvidia.com/gpu.shared",
        "memory": "4Gi",
        "compute": "",
        "class": "",
    }
    gone = {**about, "pod": "zebra-gone", "uid": "0b51bcc7-6a6c-4c0f-9e0e-9c2bd53d2b1a"}
    order = json.dumps({"version": "limit-settings/v1", "settings": [about, gone]})
    patch = {"metadata": {"annotations": {"tranche.dev/limits": order}}}
    server.request("PATCH", f"/api/v1/nodes/{NODE}", patch, kind="application/merge-patch+json")
    file, anonymous = tmp_path / "s.json", tmp_path / "a.json"
    assert cluster.take(file).returncode == 0 and cluster.take(anonymous, "--anonymize").returncode == 0
    for words in (["list"], ["list", "-o", "json"], ["list", "-n", "none"], ["get", pod["name"], "-n", TEAM]):
        from_cluster = run("limit", *words, "--kubeconfig", cluster.config)
        from_file = run("limit", *words, "--snapshot", file)
        assert from_file.stdout == from_cluster.stdout
        assert (from_file.returncode, from_file.stderr) == (from_cluster.returncode, from_cluster.stderr)
    assert "zebra-gone" in run("limit", "list", "--snapshot", file).stdout
    renamed = run("limit", "list", "--snapshot", anonymous).stdout
    assert "4Gi" in renamed and " gone" in renamed and MARK not in renamed
    written = run("limit", "set", pod["name"], "--memory", "8Gi", "--snapshot", file)
    assert written.returncode == 2 and "this command does not know it" in written.stderr


def test_layouts_are_those_of_the_cluster(cluster, file):
    for form in ("table", "json"):
        from_cluster = run("layout", "show", "--node", NODE, "-o", form, "--kubeconfig", cluster.config)
        from_file = run("layout", "show", "--node", NODE, "-o", form, "--snapshot", file)
        assert from_cluster.returncode == 0 and from_file.stdout == from_cluster.stdout
    everywhere = json.loads(run("layout", "show", "--snapshot", file, "-o", "json").stdout)
    validator(closed(schema("layout-nodes-v1"))).validate(everywhere)
    assert [node["node"] for node in everywhere["nodes"]] == [NODE]
    shown = run("layout", "show", "--snapshot", file).stdout
    assert "Node zebra-host" in shown and "GPU 0      NVIDIA L20: no MIG" in shown
    none = run("layout", "show", "--snapshot", file, "--node", "other")
    assert none.returncode == 1 and "the snapshot has no Node other" in none.stderr


def test_a_dry_run_of_a_layout_tells_what_it_tells_of_the_cluster(cluster, file, tmp_path):
    words = ["layout", "apply", "--node", NODE, "-c", "all-1g.10gb", "--no-wait", "--dry-run"]
    from_cluster = run(*words, "--kubeconfig", cluster.config)
    from_file = run(*words, "--snapshot", file)
    assert from_cluster.returncode == 0, from_cluster.stderr
    assert f"{TEAM}/{MARK}-pod" in from_cluster.stdout
    assert from_file.stdout == from_cluster.stdout
    for_real = run(*words[:-1], "--snapshot", file)
    assert for_real.returncode == 2 and "add --dry-run" in for_real.stderr


def test_layouts_of_a_snapshot_with_gpu_nodes():
    sample = ROOT / "tests" / "data" / "snapshot-v1.json"
    shown = json.loads(run("layout", "show", "--snapshot", sample, "-o", "json").stdout)
    validator(closed(schema("layout-nodes-v1"))).validate(shown)
    for node in shown["nodes"]:
        validator(closed(schema("layout-node-v1"))).validate(node)
    assert shown["nodes"][0]["gpus"][0]["instances"][0]["profile"] == "1g.10gb"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["limit", "list", "--snapshot", "/nonexistent"], "No such file"),
        (["limit", "list", "--snapshot", "{folder}"], "{folder}"),
        (["layout", "show", "--snapshot", "{torn}"], "torn or not snapshot/v1"),
        (["lint", "--snapshot", "{torn}", "-"], "torn or not snapshot/v1"),
        (["limit", "list", "--snapshot", "{torn}", "--context", "x"], "it stands beside a cluster"),
        (["layout", "show", "--snapshot", "{torn}", "--kubeconfig", "x"], "it stands beside a cluster"),
        (["layout", "show", "--snapshot", "{torn}", "-o", "svg"], "no picture"),
    ],
)
def test_files_that_are_no_snapshot(arguments, says, tmp_path):
    torn = tmp_path / "torn.json"
    torn.write_text((ROOT / "tests" / "data" / "snapshot-v1.json").read_text()[:500])
    names = {"folder": tmp_path, "torn": torn}
    done = run(*(one.format(**names) for one in arguments), text="kind: Pod\n")
    assert done.returncode == 2 and says.format(**names) in done.stderr, done.stderr
    assert done.stdout == ""


def test_a_snapshot_of_before_answers_what_it_can():
    early = ROOT / "tests" / "data" / "snapshot-v1-early.json"
    done = run("lint", "--snapshot", early, "-", text="apiVersion: v1\nkind: Pod\nspec: {containers: []}\n")
    assert done.returncode == 0 and "not in this file" in done.stderr
    shown = run("layout", "show", "--snapshot", early)
    assert shown.returncode == 0 and "GPU 0      A100: 1g.10gb, 1g.10gb+me" in shown.stdout


# --- without names -----------------------------------------------------------------------------


def test_an_anonymous_snapshot_has_no_name(cluster, tmp_path):
    file = tmp_path / "anonymous.json"
    done = cluster.take(file, "--anonymize")
    assert done.returncode == 0
    text = file.read_text()
    assert MARK not in text and GPU not in text and "127.0.0.1" not in text
    whole = json.loads(text)
    validator(closed(schema("snapshot-v1"))).validate(whole)
    content = whole["snapshot"]
    node = content["nodes"][0]
    name = node["node"]["metadata"]["name"]
    assert name == "node-1" == node["node"]["metadata"]["labels"]["kubernetes.io/hostname"]
    assert content["pods"][0]["spec"]["nodeName"] == name == content["resourceSlices"][0]["spec"]["nodeName"]
    assert node["node"]["metadata"]["labels"]["nvidia.com/gpu.product"] == "NVIDIA-L20"
    configs = content["configMaps"][0]
    key = next(iter(configs["data"]))
    where = f"ConfigMap {configs['metadata']['namespace']}/{configs['metadata']['name']}, key {key} "
    assert node["configuration"]["origin"].startswith(where)
    assert "replicas: 8" in configs["data"][key]
    status = content["gpuNodes"][0]["status"]
    assert content["gpuNodes"][0]["metadata"]["name"] == name
    assert status["holdings"][0]["pod"] == content["pods"][0]["metadata"]["name"]
    assert status["holdings"][0]["id"] == f"{status['gpus'][0]['uuid']}::3"
    pod, gpu = content["pods"][0]["metadata"], status["gpus"][0]["uuid"]
    assert status["reasons"][0]["message"] == f"{pod['namespace']}/{pod['name']} holds {gpu}::3"
    uuid = content["resourceSlices"][0]["spec"]["devices"][0]["attributes"]["uuid"]["string"]
    assert uuid == "GPU-00000000-0000-4000-8000-000000000001"


def test_a_file_is_made_anonymous_later(cluster, file, tmp_path):
    report = tmp_path / "report.json"
    done = run("snapshot", "--anonymize", "--snapshot", file, "-o", report)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert stat.S_IMODE(report.stat().st_mode) == 0o600
    text = report.read_text()
    assert MARK not in text and GPU not in text
    before, after = (json.loads(one.read_text())["snapshot"] for one in (file, report))
    assert after["takenAt"] == before["takenAt"] and len(after["pods"]) == len(before["pods"])
    for flags, says in (([], "add --anonymize"), (["--anonymize", "--context", "x"], "beside a cluster")):
        wrong = run("snapshot", "--snapshot", file, *flags)
        assert wrong.returncode == 2 and says in wrong.stderr
    torn = run("snapshot", "--anonymize", "--snapshot", "/dev/null")
    assert torn.returncode == 2 and "torn or not snapshot/v1" in torn.stderr
