"""A real API server for the chart's tests: etcd and kube-apiserver of the lab on loopback, no kubelet, no
controllers. What it stores is gone with it."""

import base64
import contextlib
import json
import pathlib
import signal
import socket
import ssl
import subprocess
import time
import urllib.error
import urllib.request

import pytest
from helm import lab_program

ADMIN = "admin-of-a-test"
DEADLINE = 60.0


class Refused(Exception):
    def __init__(self, status: int, body: str):
        try:
            self.message = json.loads(body).get("message", body)
        except ValueError:
            self.message = body
        super().__init__(f"{status}: {self.message}")
        self.status = status


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@contextlib.contextmanager
def running_server(folder: pathlib.Path, *more: str):
    """An ApiServer until the end of the block, or a skip with the reason."""
    programs = [lab_program(name) for name in ("etcd", "kube-apiserver")]
    if None in programs:
        pytest.skip("no API server: lab/build/build makes one")
    server = ApiServer(*programs, folder, *more)
    try:
        yield server
    finally:
        server.close()


class ApiServer:
    def __init__(self, etcd: pathlib.Path, apiserver: pathlib.Path, folder: pathlib.Path, *more: str):
        """more: further flags of the API server."""
        self._folder = folder
        self._processes = []
        self._port = free_port()
        # Its certificate is new and its own; no secrets are sent.
        self._tls = ssl._create_unverified_context()
        self._kinds = {}
        store, peer = free_port(), free_port()
        client = f"http://127.0.0.1:{store}"
        self._start(
            etcd,
            f"--data-dir={folder}/etcd",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls=http://127.0.0.1:{peer}",
            "--unsafe-no-fsync",
            "--log-level=error",
        )
        key = folder / "account.key"
        subprocess.run(["openssl", "genrsa", "-out", key, "2048"], check=True, capture_output=True)
        (folder / "tokens.csv").write_text(f'{ADMIN},admin,1,"system:masters"\n')
        self._start(
            apiserver,
            f"--etcd-servers={client}",
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            f"--secure-port={self._port}",
            f"--cert-dir={folder}/pki",
            f"--token-auth-file={folder}/tokens.csv",
            "--authorization-mode=RBAC",
            "--allow-privileged=true",
            "--service-cluster-ip-range=10.96.0.0/16",
            "--endpoint-reconciler-type=none",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={key}",
            f"--service-account-signing-key-file={key}",
            *more,
        )
        self.wait(lambda: self.request("GET", "/readyz", raw=True) == "ok", "the API server is ready")

    def _start(self, program, *arguments):
        log = self._folder / f"{pathlib.Path(program).name}.log"
        with log.open("wb") as out:
            self._processes.append(
                subprocess.Popen([program, *arguments], stdin=subprocess.DEVNULL, stdout=out, stderr=out)
            )

    def log(self) -> str:
        """The API server's."""
        return (self._folder / "kube-apiserver.log").read_text()

    @contextlib.contextmanager
    def frozen_store(self):
        """etcd answers nothing meanwhile."""
        etcd = self._processes[0]
        etcd.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            etcd.send_signal(signal.SIGCONT)

    def kubeconfig(self, token: str = ADMIN) -> pathlib.Path:
        """For programs that use it as administrator, or with another token."""
        cluster = {"server": f"https://127.0.0.1:{self._port}", "insecure-skip-tls-verify": True}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "test", "cluster": cluster}],
            "users": [{"name": "user", "user": {"token": token}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "user"}}],
            "current-context": "test",
        }
        file = self._folder / ("kubeconfig" if token == ADMIN else f"kubeconfig-{hash(token):x}")
        # Atomically: a program may be reading what an earlier call wrote.
        whole = file.with_name(f"{file.name}.new")
        whole.write_text(json.dumps(config))
        return whole.replace(file)

    def close(self):
        for process in reversed(self._processes):
            process.kill()
            process.wait()

    def wait(self, condition, what: str, within: float = DEADLINE):
        """The first true value of condition(), which may be refused meanwhile. within: seconds."""
        end = time.monotonic() + within
        while True:
            assert all(p.poll() is None for p in self._processes), (
                f"a server ended; its log is in {self._folder}"
            )
            last = None
            try:
                if value := condition():
                    return value
            except (OSError, Refused) as error:
                last = error
            assert time.monotonic() < end, f"not so after {within} s: {what} ({last})"
            time.sleep(0.05)

    def request(self, method: str, path: str, body=None, token=ADMIN, kind="application/json", raw=False):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"https://127.0.0.1:{self._port}{path}", data, method=method)
        request.add_header("Authorization", f"Bearer {token}")
        request.add_header("Content-Type", kind)
        try:
            with urllib.request.urlopen(request, context=self._tls, timeout=30) as answer:
                text = answer.read().decode()
        except urllib.error.HTTPError as error:
            raise Refused(error.code, error.read().decode()) from None
        return text if raw else json.loads(text)

    def path(self, item: dict) -> str:
        """Where an object is."""
        version = item["apiVersion"]
        base = f"/apis/{version}" if "/" in version else f"/api/{version}"
        if (version, item["kind"]) not in self._kinds:
            for found in self.request("GET", base)["resources"]:
                if "/" not in found["name"]:
                    self._kinds[version, found["kind"]] = (found["name"], found["namespaced"])
        plural, namespaced = self._kinds[version, item["kind"]]
        within = f"/namespaces/{item['metadata']['namespace']}" if namespaced else ""
        return f"{base}{within}/{plural}/{item['metadata']['name']}"

    def apply(self, item: dict, dry_run=False) -> dict:
        """Server-side apply; an unknown or duplicate field is an error."""
        query = "?fieldManager=test&force=true&fieldValidation=Strict" + ("&dryRun=All" if dry_run else "")
        return self.request("PATCH", self.path(item) + query, item, kind="application/apply-patch+yaml")

    def token(self, namespace: str, account: str, pod: dict | None = None) -> str:
        """A token as kubelet asks for one: bound to a Pod, and so to its node."""
        spec = {"expirationSeconds": 600}
        if pod:
            spec["boundObjectRef"] = {
                "kind": "Pod",
                "apiVersion": "v1",
                "name": pod["metadata"]["name"],
                "uid": pod["metadata"]["uid"],
            }
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
        return self.request("POST", f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token", body)[
            "status"
        ]["token"]


def claims(token: str) -> dict:
    part = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
