"""The controller's page and data on a lab: who reads them, and how."""

import contextlib
import json
import pathlib
import re
import subprocess
import sys
import time

import yaml
from pods import GPU, ROOT

sys.path.insert(0, str(ROOT / "tests" / "e2e"))
from programs import TRANCHE, clean_environment  # noqa: E402
from prometheus import Page  # noqa: E402

SERVICE = "kube-system/tranche-controller-web:web"
PROXY = "/api/v1/namespaces/kube-system/services/tranche-controller-web:web/proxy"
SHARING = {"renameByDefault": True, "resources": [{"name": GPU, "replicas": 4}]}
LIMITS = {"limits": {"enforcement": "strict"}}


def objects() -> list[dict]:
    """The configurations, and two readers: one of all Pods, one of namespace "seen" alone."""
    data = {
        "default": json.dumps({"version": "v1", "flags": {"migStrategy": "mixed"}}),
        "shared": json.dumps({"version": "v1", "sharing": {"timeSlicing": SHARING}, "tranche": LIMITS}),
        "mps": json.dumps({"version": "v1", "sharing": {"mps": SHARING}}),
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


def kubeconfig(lab, folder: pathlib.Path, account: str) -> pathlib.Path:
    """The lab's, with a token of the account instead of its own credentials."""
    config = yaml.safe_load(pathlib.Path(lab.kubeconfig).read_text())
    token = lab.kubectl("-n", "kube-system", "create", "token", account).strip()
    for user in config["users"]:
        user["user"] = {"token": token}
    file = folder / account
    file.write_text(yaml.safe_dump(config))
    return file


def tranche(*words: object) -> subprocess.CompletedProcess:
    """A command. Where the controller has been asked too often, it is asked again."""
    for _ in range(30):
        done = subprocess.run(
            [TRANCHE, *words], env=clean_environment(), capture_output=True, text=True, timeout=60
        )
        if "status 429" not in done.stderr:
            break
        time.sleep(1)
    return done


def report(config: pathlib.Path, *more: str) -> subprocess.CompletedProcess:
    return tranche("report", "--kubeconfig", config, *more)


def fleet(config: pathlib.Path, *more: str) -> dict:
    done = report(config, "-o", "json", *more)
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


@contextlib.contextmanager
def reached(lab, way: str):
    """The page's address on this machine, by kubectl port-forward or by kubectl proxy."""
    words = {
        "port-forward": ("-n", "kube-system", "port-forward", "svc/tranche-controller-web", ":9401"),
        "proxy": ("proxy", "--port=0"),
    }
    path = {"port-forward": "/", "proxy": f"{PROXY}/"}
    kubectl = [str(lab.program("kubectl")), "--kubeconfig", str(lab.kubeconfig), *words[way]]
    with subprocess.Popen(kubectl, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            line = process.stdout.readline()
            found = re.search(r"127\.0\.0\.1:\d+", line)
            assert found, line
            yield f"http://{found[0]}{path[way]}"
        finally:
            process.terminate()


def certificate(folder: pathlib.Path) -> None:
    """An authority (ca.crt), and tls.crt and tls.key of it for agents.example."""

    def openssl(*words: object) -> None:
        subprocess.run(["openssl", *map(str, words)], cwd=folder, check=True, capture_output=True)

    new = ("req", "-newkey", "rsa:2048", "-nodes", "-days", "1")
    openssl(*new, "-x509", "-subj", "/CN=authority", "-keyout", "ca.key", "-out", "ca.crt")
    name = ("-addext", "subjectAltName=DNS:agents.example", "-addext", "basicConstraints=critical,CA:FALSE")
    signed = ("-CA", "ca.crt", "-CAkey", "ca.key")
    openssl(*new, "-x509", "-subj", "/CN=agents", *name, *signed, "-keyout", "tls.key", "-out", "tls.crt")
