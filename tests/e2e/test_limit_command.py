"""`tranche limit` chooses its cluster as kubectl does (file, context, namespace) and prints documents."""

import json
import subprocess

import pytest
import yaml
from loopback import LoopbackServer
from programs import TRANCHE, clean_environment
from test_schemas import check


class Cluster(LoopbackServer):
    """An API server that has these Nodes and Pods for lists, and no other object. `paths`: what it
    was asked, without queries."""

    def __init__(self, nodes: tuple = (), pods: tuple = ()):
        lists = {"/api/v1/nodes": ("NodeList", nodes), "/api/v1/pods": ("PodList", pods)}
        self.paths = []

        def answer(path):
            self.paths.append(path.split("?")[0])
            kind, items = lists.get(self.paths[-1], ("Status", ()))
            body = {"kind": kind, "apiVersion": "v1", "metadata": {}, "items": items, "message": "no such Pod"}
            return (404 if kind == "Status" else 200), json.dumps(body).encode()

        super().__init__(answer)


@pytest.fixture
def clusters():
    both = {"test": Cluster(), "prod": Cluster()}
    yield both
    for one in both.values():
        one.close()


def kubeconfig(clusters: dict) -> str:
    contexts = {"test": {"cluster": "test"}, "prod": {"cluster": "prod", "namespace": "shop"}}
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "test",
            "contexts": [{"name": name, "context": one} for name, one in contexts.items()],
            "clusters": [{"name": name, "cluster": {"server": one.url}} for name, one in clusters.items()],
        }
    )


def limit(home, *words: str) -> subprocess.CompletedProcess:
    env = clean_environment(HOME=home)
    return subprocess.run([TRANCHE, "limit", *words], env=env, capture_output=True, text=True, check=False)


def test_contexts(tmp_path, clusters):
    file = tmp_path / ".kube" / "config"
    file.parent.mkdir()
    file.write_text(kubeconfig(clusters))
    test, prod = clusters["test"].paths, clusters["prod"].paths

    done = limit(tmp_path, "list")
    assert (done.returncode, done.stderr) == (0, "")
    assert (test, prod) == (["/api/v1/nodes"], []), "current-context of ~/.kube/config"

    assert limit(tmp_path, "list", "--context", "prod").returncode == 0
    assert prod.pop() == "/api/v1/nodes"
    assert limit(tmp_path, "get", "p", "--context=prod").returncode == 1
    assert prod.pop() == "/api/v1/namespaces/shop/pods/p", "the context's namespace"
    assert limit(tmp_path, "--context", "prod", "get", "p", "-n", "other").returncode == 1
    assert prod.pop() == "/api/v1/namespaces/other/pods/p"
    assert limit(tmp_path, "get", "p").returncode == 1
    assert test.pop() == "/api/v1/namespaces/default/pods/p"

    moved = file.rename(tmp_path / "elsewhere")
    assert limit(tmp_path, "list", "--kubeconfig", str(moved), "--context", "prod").returncode == 0
    assert prod == ["/api/v1/nodes"]


def test_a_context_that_is_not_there(tmp_path, clusters):
    file = tmp_path / "config"
    file.write_text(kubeconfig(clusters))
    done = limit(tmp_path, "list", "--kubeconfig", str(file), "--context", "nowhere")
    assert done.returncode == 2
    assert 'no "nowhere" among contexts' in done.stderr
    assert "test, prod" in done.stderr
    done = limit(tmp_path, "list", "--context", "nowhere")
    assert done.returncode == 2
    assert "there is no kubeconfig that could have it" in done.stderr
    assert not clusters["test"].paths + clusters["prod"].paths


def test_without_a_kubeconfig_it_says_where_it_looked(tmp_path):
    done = limit(tmp_path, "list")
    assert done.returncode == 3
    assert "KUBECONFIG is not set" in done.stderr
    assert f"there is no {tmp_path}/.kube/config" in done.stderr
    assert "this is no Pod with a service account" in done.stderr
    assert "--kubeconfig" in done.stderr
    done = limit(tmp_path, "list", "--kubeconfig", f"{tmp_path}/mine")
    assert done.returncode == 2
    assert f"--kubeconfig: there is no file {tmp_path}/mine" in done.stderr


def test_kubeconfig_lists_files_as_kubectl_reads_it(tmp_path, clusters):
    for name in clusters:
        one = json.loads(kubeconfig(clusters))
        one["contexts"] = [entry for entry in one["contexts"] if entry["name"] == name]
        one["current-context"] = name
        (tmp_path / name).write_text(json.dumps(one))
    env = clean_environment(HOME=tmp_path, KUBECONFIG=f"{tmp_path}/gone:{tmp_path}/prod:{tmp_path}/test")
    for words, asked in (([], "prod"), (["--context", "test"], "test")):
        done = subprocess.run([TRANCHE, "limit", "list", *words], env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert clusters[asked].paths.pop() == "/api/v1/nodes"
        assert not clusters["prod"].paths + clusters["test"].paths


SETTING = {
    "namespace": "shop",
    "pod": "train",
    "uid": "u-1",
    "container": "main",
    "resource": "nvidia.com/gpu.shared",
    "memory": "8Gi",
    "compute": "50%",
    "class": "normal",
}


@pytest.fixture
def one_setting():
    """A cluster with a Pod that has a setting in force."""
    devices = [{"uuid": "GPU-1", "memoryBytes": 8 << 30, "permille": 500}]
    answer = {**SETTING, "state": "holds", "message": "as set", "devices": devices}
    annotations = {
        "tranche.dev/limits": json.dumps({"version": "limit-settings/v1", "settings": [SETTING]}),
        "tranche.dev/limits-status": json.dumps({"version": "limit-status/v1", "settings": [answer]}),
    }
    node = {"metadata": {"name": "n1", "annotations": annotations}}
    pod = {
        "metadata": {"name": "train", "namespace": "shop", "uid": "u-1"},
        "spec": {"nodeName": "n1", "containers": [{"name": "main"}]},
        "status": {"phase": "Running"},
    }
    cluster = Cluster((node,), (pod,))
    yield cluster, {"node": "n1", **answer}
    cluster.close()


def test_documents(tmp_path, one_setting):
    cluster, expected = one_setting
    file = tmp_path / "config"
    file.write_text(kubeconfig({"test": cluster, "prod": cluster}))
    done = limit(tmp_path, "list", "--kubeconfig", str(file), "-o", "json")
    assert (done.returncode, done.stderr) == (0, "")
    shown = json.loads(done.stdout)
    assert shown == {"version": "limit-list/v1", "limits": [expected]}
    check("limit-list-v1", shown)
    done = limit(tmp_path, "list", "--kubeconfig", str(file), "-o", "yaml")
    assert yaml.safe_load(done.stdout) == shown
    assert done.stdout.splitlines()[:3] == ['version: "limit-list/v1"', "limits:", '- node: "n1"']


def test_an_empty_document_is_one_too(tmp_path, clusters):
    file = tmp_path / "config"
    file.write_text(kubeconfig(clusters))
    for verb in ("list", "prune"):
        done = limit(tmp_path, verb, "--kubeconfig", str(file), "-o", "json")
        assert json.loads(done.stdout) == {"version": "limit-list/v1", "limits": []}
        check("limit-list-v1", json.loads(done.stdout))
