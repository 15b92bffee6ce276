"""etcd, kube-apiserver, kube-controller-manager and kube-scheduler of one lab: how each is started
and when it is ready. All run in the lab's own network; the API server serves on 443 of every
address there, also the first one of the services' range, so that Pods find it at the usual place
without kube-proxy."""

import pathlib
import time

from . import settings as s
from .client import Client
from .errors import LabError
from .kubeconfig import write_kubeconfig
from .pki import Pki
from .settings import Settings

COMPONENTS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
_ETCD = "http://127.0.0.1:2379"
# Clients of the API server: file name, user, group.
_USERS = (
    ("admin", "tranche-lab-admin", "system:masters"),
    ("kube-controller-manager", "system:kube-controller-manager", ""),
    ("kube-scheduler", "system:kube-scheduler", ""),
    ("kubelet-client", "kube-apiserver-kubelet-client", "system:masters"),
)


class ControlPlane:
    def __init__(self, folder: pathlib.Path, settings: Settings, client: Client):
        self.folder = folder
        self.settings = settings
        self.client = client
        self.pki = Pki(folder / "pki")
        self.logs = folder / "log"

    def prepare(self, port: int) -> None:
        """Keys and kubeconfigs. `port`: of the relay, on the machine's loopback."""
        self.pki.make_authority()
        names = ["kubernetes", "kubernetes.default", "kubernetes.default.svc", "localhost"]
        names += ["kubernetes.default.svc.cluster.local"]
        self.pki.server("apiserver", [*names, s.API_SERVICE, s.GATEWAY, "127.0.0.1"])
        for name, user, group in _USERS:
            self.pki.client(name, user, group)
        for name in ("kube-controller-manager", "kube-scheduler"):
            self.write_kubeconfig(self.folder / f"{name}.conf", name)
        outside = f"https://127.0.0.1:{port}"
        context = f"tranche-lab-{self.settings.name}"
        write_kubeconfig(self.folder / "kubeconfig", outside, self.pki, "admin", context)
        self.write_kubeconfig(self.folder / "admin.conf", "admin")

    def write_kubeconfig(self, path: pathlib.Path, name: str) -> None:
        """For somebody inside the lab."""
        write_kubeconfig(path, f"https://{s.GATEWAY}:443", self.pki, name, "lab")

    def start(self, name: str) -> None:
        program = pathlib.Path(self.settings.programs) / name
        arguments = getattr(self, "_" + name.replace("-", "_"))()
        if name != "etcd" and (gates := self.settings.feature_gates(name)):
            arguments.append(f"--feature-gates={gates}")
        self.client.start(name, [program, *arguments], self.logs / f"{name}.log")

    def start_all(self) -> None:
        self.logs.mkdir(exist_ok=True)
        self.start("etcd")
        self.start("kube-apiserver")
        self.wait_ready()
        self.start("kube-controller-manager")
        self.start("kube-scheduler")

    def wait_ready(self, timeout: float = 120) -> None:
        end = time.monotonic() + timeout
        kubectl = pathlib.Path(self.settings.programs) / "kubectl"
        command = [kubectl, "--kubeconfig", self.folder / "admin.conf", "get", "--raw", "/readyz"]
        while self.client.run(command, check=False).code != 0:
            self.check_running()
            if time.monotonic() > end:
                raise LabError(
                    f"kube-apiserver is not ready after {timeout:.0f} s",
                    f"its log: {self.logs}/kube-apiserver.log",
                )
            time.sleep(0.2)

    def check_running(self) -> None:
        for name, program in self.client.programs().items():
            if name in COMPONENTS and program["exit"] is not None:
                log = self.logs / f"{name}.log"
                lines = log.read_text(errors="replace").splitlines()[-5:]
                raise LabError(
                    f"{name} ended with exit code {program['exit']}:\n  " + "\n  ".join(lines),
                    f"the whole log: {log}",
                )

    def _etcd(self) -> list:
        return [
            f"--data-dir={self.folder / 'etcd'}",
            "--name=lab",
            f"--listen-client-urls={_ETCD}",
            f"--advertise-client-urls={_ETCD}",
            "--listen-peer-urls=http://127.0.0.1:2380",
            "--initial-advertise-peer-urls=http://127.0.0.1:2380",
            "--initial-cluster=lab=http://127.0.0.1:2380",
            "--unsafe-no-fsync",
            "--log-level=warn",
        ]

    def _kube_apiserver(self) -> list:
        pki = self.pki
        return [
            f"--etcd-servers={_ETCD}",
            "--secure-port=443",
            f"--advertise-address={s.GATEWAY}",
            "--endpoint-reconciler-type=none",
            # Without kube-proxy, webhooks are called by their Pods' addresses.
            "--enable-aggregator-routing=true",
            f"--service-cluster-ip-range={s.SERVICE_NETWORK}",
            "--authorization-mode=Node,RBAC",
            "--enable-admission-plugins=NodeRestriction",
            "--allow-privileged=true",
            "--anonymous-auth=false",
            f"--client-ca-file={pki.authority}",
            f"--tls-cert-file={pki.certificate('apiserver')}",
            f"--tls-private-key-file={pki.key('apiserver')}",
            f"--kubelet-client-certificate={pki.certificate('kubelet-client')}",
            f"--kubelet-client-key={pki.key('kubelet-client')}",
            "--kubelet-preferred-address-types=InternalIP",
            f"--service-account-key-file={pki.service_account_key}",
            f"--service-account-signing-key-file={pki.service_account_key}",
            "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
            f"--cert-dir={self.folder / 'pki'}",
        ]

    def _kube_controller_manager(self) -> list:
        config = self.folder / "kube-controller-manager.conf"
        return [
            f"--kubeconfig={config}",
            f"--authentication-kubeconfig={config}",
            f"--authorization-kubeconfig={config}",
            "--bind-address=127.0.0.1",
            "--leader-elect=false",
            "--use-service-account-credentials=true",
            f"--service-account-private-key-file={self.pki.service_account_key}",
            f"--root-ca-file={self.pki.authority}",
            f"--cluster-signing-cert-file={self.pki.authority}",
            f"--cluster-signing-key-file={self.pki.key('ca')}",
            f"--cert-dir={self.folder / 'pki'}",
        ]

    def _kube_scheduler(self) -> list:
        config = self.folder / "kube-scheduler.conf"
        return [
            f"--kubeconfig={config}",
            f"--authentication-kubeconfig={config}",
            f"--authorization-kubeconfig={config}",
            "--bind-address=127.0.0.1",
            "--leader-elect=false",
            f"--cert-dir={self.folder / 'pki'}",
        ]
