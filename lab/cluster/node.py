"""One real node of a lab: separate namespaces with containerd and kubelet, and a simulated machine.
Has what tests do to a node: restart a part, reboot, run a program on it."""

import json
import pathlib
import signal
import sys
import time
from dataclasses import asdict

from . import containerd, kubelet, network, numa, registry
from . import settings as s
from .client import Client, Done
from .control_plane import ControlPlane
from .errors import LabError
from .node_root import NodeRoot
from .paths import ROOT
from .settings import NodeSettings, Settings

_LOGS = "/var/log/lab"
_STATE = {"TRANCHE_SIM_STATE": f"{containerd.MACHINE_FOLDER}/state"}
# What GPUs keep without power, on the node's disk: MIG modes, for one.
_KEPT = "/etc/tranche-lab/state"
_HEALTH = "exec 3<>/dev/tcp/127.0.0.1/10248 && printf 'GET /healthz HTTP/1.0\\r\\n\\r\\n' >&3 && head -1 <&3"
_CTR = ["ctr", "--address", "/run/containerd/containerd.sock", "--namespace", "k8s.io"]


class Node:
    def __init__(self, folder: pathlib.Path, this: NodeSettings, settings: Settings, lab: Client):
        """`folder`: the lab's; `lab`: its supervisor."""
        self.name = this.name
        self.settings = this
        self.lab_settings = settings
        self.folder = folder / "n" / this.name
        self.disk = self.folder / "root"
        self._lab = lab
        self.client = Client(self.folder / "s", f"node {self.name}")

    # Life.

    def prepare(self, control_plane: ControlPlane) -> None:
        """Prepares the node's disk before its first boot."""
        self.folder.mkdir(parents=True)
        pki = control_plane.pki
        user = f"kubelet-{self.name}"
        pki.client(user, f"system:node:{self.name}", "system:nodes")
        for folder in ("etc/kubernetes", "etc/containerd", "etc/cni/net.d", "etc/tranche-lab"):
            (self.disk / folder).mkdir(parents=True, exist_ok=True)
        (self.disk / _LOGS.lstrip("/")).mkdir(parents=True)
        kubernetes = self.disk / "etc/kubernetes"
        control_plane.write_kubeconfig(kubernetes / "kubelet.conf", user)
        (kubernetes / "ca.crt").write_bytes(pki.authority.read_bytes())
        config = kubelet.config(self.settings, self.lab_settings)
        (kubernetes / "kubelet.json").write_text(json.dumps(config, indent=1))
        cni = network.cni_config(self.settings, self.lab_settings)
        (self.disk / "etc/cni/net.d/10-lab.conflist").write_text(json.dumps(cni, indent=1))
        wrapped = self.lab_settings.runtime == "wrapper" and self.has_gpu
        base_spec = self.lab_settings.runtime == "cdi" and self.has_gpu
        text = containerd.config("nvidia" if wrapped else "runc", base_spec)
        (self.disk / containerd.CONFIG.lstrip("/")).write_text(text)
        mirrors = self.disk / registry.HOSTS_FOLDER.lstrip("/") / "_default"
        mirrors.mkdir(parents=True)
        (mirrors / "hosts.toml").write_text(registry.hosts(s.GATEWAY))
        if self.has_gpu:
            machine = pathlib.Path(self.settings.machine).read_bytes()
            (self.disk / "etc/tranche-lab/machine.yaml").write_bytes(machine)

    @property
    def has_gpu(self) -> bool:
        return bool(self.settings.machine)

    @property
    def _process(self) -> str:
        return f"node-{self.name}"

    def boot(self) -> None:
        """Everything up to containerd; kubelet is started by start_kubelet()."""
        root = NodeRoot(
            name=self.name,
            folder=str(self.folder),
            socket=str(self.folder / "s"),
            cgroup=f"{self.lab_settings.cgroup}/{self.name}/system",
            programs=self.lab_settings.programs,
            build=self.lab_settings.build,
        )
        (self.folder / "node.json").write_text(json.dumps(asdict(root)))
        pid = self._lab.start(
            self._process,
            [sys.executable, "-m", "lab.cluster.node_root", self.folder / "node.json"],
            self.folder / "boot.log",
            env={"PYTHONPATH": str(ROOT)},
            unshare=["net", "mount", "pid", "uts", "ipc"],
        )
        self._wait_boot()
        network.connect_node(self._lab, self.client, pid, self.settings, self.lab_settings)
        if self.has_gpu:
            self.install_machine()
        self.start_containerd()

    def _wait_boot(self) -> None:
        end = time.monotonic() + 30
        while not self.client.answers():
            if time.monotonic() > end or not self._lab.running(self._process):
                text = (self.folder / "boot.log").read_text(errors="replace")
                raise LabError(f"node {self.name} does not boot:\n{text}")
            time.sleep(0.02)

    def install_machine(self) -> None:
        """The simulated machine as at power-on, and its driver, installed as on a host. GPUs that
        ran before keep what a reboot leaves them."""
        folder, tree = containerd.MACHINE_FOLDER, containerd.TREE_FOLDER
        script = f"""
umask 022
mkdir -p {folder} {tree}
chmod 0777 {folder}
cp /etc/tranche-lab/machine.yaml {folder}/machine.yaml
export TRANCHE_SIM={folder}/machine.yaml
if [ -e {_KEPT} ]; then
  cp {_KEPT} {folder}/state
  /opt/tranche/bin/tranche-sim clear
  /opt/tranche/bin/tranche-sim reset --reboot
fi
/opt/tranche/bin/tranche-sim root {tree} --pci-folder {containerd.PCI_FOLDER}
cp -a {tree}/dev/. /dev/
cp -a {tree}/usr/. /usr/
ln -sfn {containerd.WRAPPER} /usr/bin/nvidia-ctk
ldconfig
mount --bind {tree}/proc/driver /proc/driver
mount --bind {tree}/proc/devices /proc/devices
[ ! -d /sys/bus/pci/devices ] || mount --bind {tree}/sys/bus/pci/devices /sys/bus/pci/devices
"""
        self.client.run(["/bin/sh", "-ec", script], env=_STATE)
        self._show_numa_nodes()

    def refresh_devices(self) -> None:
        """Renews device nodes and /proc after a change of MIG instances, as the driver does by
        itself."""
        tree = containerd.TREE_FOLDER
        script = f"""
rm -rf {tree}/dev/nvidia-caps /dev/nvidia-caps
/opt/tranche/bin/tranche-sim root {tree} --pci-folder {containerd.PCI_FOLDER}
cp -a {tree}/dev/. /dev/
"""
        self.client.run(["/bin/sh", "-ec", script], env=_STATE)

    def _show_numa_nodes(self) -> None:
        found = self.run("ls", containerd.TREE_FOLDER + numa.FOLDER).out.split()
        if len(found) > 1:
            numa.write(self.disk / "etc/tranche-lab/numa", len(found))
            self.run("mount", "--bind", "/etc/tranche-lab/numa", numa.FOLDER)

    def start_containerd(self) -> None:
        if self.lab_settings.runtime == "cdi" and self.has_gpu:
            self._write_base_spec()
        self.client.start(
            "containerd",
            ["containerd", "--config", containerd.CONFIG],
            f"{_LOGS}/containerd.log",
            restart=True,
        )
        end = time.monotonic() + 60
        while self.client.run([*_CTR, "version"], check=False).code != 0:
            if time.monotonic() > end or not self.client.running("containerd"):
                raise LabError(
                    f"containerd does not come up on node {self.name}",
                    f"its log: {self.disk}{_LOGS}/containerd.log",
                )
            time.sleep(0.1)

    def start_kubelet(self) -> None:
        self.client.start(
            "kubelet",
            ["kubelet", *kubelet.flags(self.settings)],
            f"{_LOGS}/kubelet.log",
            restart=True,
        )

    def kubelet_is_healthy(self) -> bool:
        return "200 OK" in self.run("bash", "-c", _HEALTH, check=False).out

    def restart_kubelet(self) -> None:
        """Returns when kubelet reports that it is healthy."""
        self.client.stop("kubelet")
        self.start_kubelet()
        end = time.monotonic() + 60
        while not self.kubelet_is_healthy():
            if time.monotonic() > end:
                raise LabError(f"kubelet does not come up on node {self.name}:\n{self.log('kubelet')[-2000:]}")
            time.sleep(0.1)

    def restart_containerd(self) -> None:
        """The containers continue: each is held by its shim."""
        self.client.stop("containerd")
        self.start_containerd()

    def power_off(self) -> None:
        """Everything that runs on the node ends at once; its disk stays."""
        if self.has_gpu and self.client.answers():
            self.run("cp", f"{containerd.MACHINE_FOLDER}/state", _KEPT, check=False)
        if self._lab.running(self._process):
            self._lab.signal(self._process, signal.SIGKILL)
        if not self._lab.wait_end(self._process, 30):
            raise LabError(f"node {self.name} does not end, even when killed")

    def reboot(self) -> None:
        self.power_off()
        self.boot()
        self.start_kubelet()

    # Use.

    def run(self, *argv: object, **options) -> Done:
        """A program on the node, outside all containers; nvidia-smi finds the node's machine."""
        env = {**(_STATE if self.has_gpu else {}), **options.pop("env", {})}
        return self.client.run(list(argv), env=env, **options)

    def sim(self, *arguments: object) -> str:
        """tranche-sim on this node's machine: sim("fault", "lost", "--gpu", 0)."""
        return self.try_sim(*arguments, check=True).out

    def try_sim(self, *arguments: object, check: bool = False) -> Done:
        """The same; without check, a refusal is in the answer."""
        done = self.run("/opt/tranche/bin/tranche-sim", *arguments, check=check)
        if arguments[0] in ("mig", "reset"):
            self.refresh_devices()
        return done

    def occupy(self, name: str, *arguments: object) -> None:
        """A process of this node that holds a GPU until leave(name): occupy("a", "--memory", "315Mi")."""
        env = {"TRANCHE_SIM_STATE": f"{containerd.MACHINE_FOLDER}/state"}
        argv = ["/opt/tranche/bin/tranche-sim", "occupy", *arguments]
        self.client.start(f"occupy-{name}", argv, f"{_LOGS}/occupy-{name}.log", env=env)

    def leave(self, name: str) -> None:
        self.client.end(f"occupy-{name}")

    def gpus(self) -> list:
        return json.loads(self.sim("show", "-o", "json"))["gpus"]

    def uuids(self) -> list[str]:
        return [gpu["uuid"] for gpu in self.gpus()]

    def log(self, program: str) -> str:
        return (self.disk / _LOGS.lstrip("/") / f"{program}.log").read_text(errors="replace")

    def load_image(self, archive: pathlib.Path) -> None:
        """Imports a docker archive of this machine."""
        target = self.disk / "tmp" / f"import-{archive.name}"
        target.write_bytes(archive.read_bytes())
        try:
            self.run(*_CTR, "images", "import", f"/tmp/{target.name}", timeout=300)
        finally:
            target.unlink()

    def images(self) -> list[str]:
        return self.run(*_CTR, "images", "list", "-q").out.split()

    def _write_base_spec(self) -> None:
        spec = self.run("ctr", "oci", "spec").out
        pci = self.run("test", "-d", "/sys/bus/pci/devices", check=False).code == 0
        file = self.disk / containerd.BASE_SPEC.lstrip("/")
        file.write_text(containerd.with_kernel(spec, pci))
