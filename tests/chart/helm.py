"""Helm for the tests, and its rendered objects with queries."""

import functools
import json
import os
import pathlib
import shutil
import subprocess
from dataclasses import dataclass

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHART = ROOT / "deploy/helm/tranche"
LAB_BUILD = ROOT / "lab/build/build"


# Without a cluster, a helm built from source assumes Kubernetes 1.20.
KUBERNETES = "1.36.3"


# The parser in C is many times faster; some PyYAML lack it.
YAML_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@functools.cache
def lab_program(name: str) -> pathlib.Path | None:
    """A program built by the lab; None if missing."""
    if not LAB_BUILD.exists():
        return None
    done = subprocess.run([LAB_BUILD, "--where"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return None
    program = pathlib.Path(done.stdout.strip().splitlines()[-1]) / name
    return program if program.exists() else None


def find_helm() -> str | None:
    found = os.environ.get("TRANCHE_HELM") or lab_program("helm") or shutil.which("helm")
    return str(found) if found else None


@dataclass
class Rendered:
    objects: list[dict]

    def named(self) -> list[str]:
        return sorted(
            f"{o['kind']} {o['metadata'].get('namespace', '-')}/{o['metadata']['name']}" for o in self.objects
        )

    def of(self, kind: str) -> list[dict]:
        return [o for o in self.objects if o["kind"] == kind]

    def one(self, kind: str, name: str | None = None) -> dict:
        """A DaemonSet without a name is the agent's."""
        found = [o for o in self.of(kind) if name in (None, o["metadata"]["name"])]
        if kind == "DaemonSet" and name is None:
            found = [o for o in found if component_of(o) == "agent"]
        assert len(found) == 1, f"{len(found)} objects {kind} {name or ''}: {self.named()}"
        return found[0]

    def pod(self, component: str = "agent") -> dict:
        """The spec of that DaemonSet's Pods."""
        found = [o for o in self.of("DaemonSet") if component_of(o) == component]
        assert len(found) == 1, f"{len(found)} DaemonSets {component}: {self.named()}"
        return found[0]["spec"]["template"]["spec"]

    def agent(self) -> dict:
        """The one container of the agent's Pod."""
        assert "initContainers" not in self.pod()
        (container,) = self.pod()["containers"]
        assert container["command"][-1] == "agent"
        return container

    def arbiter(self) -> dict | None:
        """The one container of the arbiter's Pod, where it runs on each GPU node."""
        return None if self.keeps_arbiter() else self._arbiter()

    def keeps_arbiter(self) -> bool:
        """Whether it runs for earlier claims alone, on nodes with a mode."""
        return self._arbiter() is not None and "tranche.dev/mode" in json.dumps(self.pod("arbiter").get("affinity"))

    def _arbiter(self) -> dict | None:
        if "arbiter" not in map(component_of, self.of("DaemonSet")):
            return None
        assert "initContainers" not in self.pod("arbiter")
        (container,) = self.pod("arbiter")["containers"]
        return container

    def mps(self) -> dict | None:
        """The DaemonSet of the MPS control daemons."""
        names = [o["metadata"]["name"] for o in self.of("DaemonSet")]
        found = [name for name in names if name.endswith("mps-control-daemon")]
        return self.one("DaemonSet", found[0]) if found else None

    def env(self, container: dict | None = None) -> dict:
        """Name -> value, or the field that it is taken from; without `container` the agent's."""
        env = (container or self.agent())["env"]
        names = [e["name"] for e in env]
        assert len(names) == len(set(names)), f"a variable is there twice: {names}"
        return {
            e["name"]: e["value"] if "value" in e else e["valueFrom"]["fieldRef"]["fieldPath"]
            for e in env
        }

    def mounts(self, container: dict | None = None) -> dict:
        """Path in the container -> "host path" with " ro" when it is read only; without `container` the
        agent's."""
        container = container or self.agent()
        pod = self.pod("arbiter" if container == self.arbiter() else "agent")
        volumes = {v["name"]: v for v in pod["volumes"]}
        mounted = {m["name"] for m in container["volumeMounts"]}
        assert set(volumes) == mounted, "a volume is not mounted, or a mount has no volume"
        mounts = container["volumeMounts"]
        assert len({m["name"] for m in mounts}) == len(mounts)
        def source(volume: dict) -> str:
            if "configMap" in volume:
                return "ConfigMap " + volume["configMap"]["name"]
            if "secret" in volume:
                return "Secret " + volume["secret"]["secretName"]
            return volume.get("hostPath", {"path": "(empty)"})["path"]

        return {
            m["mountPath"]: source(volumes[m["name"]]) + (" ro" if m.get("readOnly") else "") for m in mounts
        }

    def rules(self, account: str) -> set[str]:
        """The rights of a service account: "scope verb resource" or "scope verb resource/name", all
        bindings together."""
        granted = set()
        for binding in [*self.of("ClusterRoleBinding"), *self.of("RoleBinding")]:
            if account not in [s["name"] for s in binding["subjects"]]:
                continue
            role = self._role(binding)
            scope = binding["metadata"].get("namespace", "cluster")
            for rule in role["rules"]:
                granted |= {f"{scope} {text}" for text in _expanded(rule)}
        return granted

    def _role(self, binding: dict) -> dict:
        reference = binding["roleRef"]
        for role in self.of(reference["kind"]):
            same = role["metadata"].get("namespace") == binding["metadata"].get("namespace")
            if role["metadata"]["name"] == reference["name"] and same:
                return role
        raise AssertionError(f"{binding['metadata']['name']} binds {reference}, which is not there")


def component_of(item: dict) -> str:
    return item["metadata"]["labels"]["app.kubernetes.io/component"]


def _expanded(rule: dict):
    for group in rule["apiGroups"]:
        for resource in rule["resources"]:
            for verb in rule["verbs"]:
                for name in rule.get("resourceNames", [""]):
                    yield f"{verb} {resource}{'.' + group if group else ''}{'/' + name if name else ''}"


class Helm:
    def __init__(self, program: str, folder: pathlib.Path):
        self._program = program
        self._folder = folder
        # A developer's own settings and repositories must not matter.
        homes = {f"HELM_{kind}_HOME": str(folder / kind.lower()) for kind in ("CACHE", "CONFIG", "DATA")}
        self._env = {
            k: v for k, v in os.environ.items() if not k.startswith("HELM_") and k != "KUBECONFIG"
        } | homes

    def run(self, *arguments: str, **options) -> subprocess.CompletedProcess:
        return subprocess.run(
            [self._program, *arguments], env=self._env, capture_output=True, text=True, check=False, **options
        )

    def _values(self, values: dict | None) -> list[str]:
        if not values:
            return []
        file = self._folder / "values.yaml"
        file.write_text(yaml.safe_dump(values))
        return ["--values", str(file)]

    def _render(self, values, arguments, release="gpu", namespace="tranche") -> subprocess.CompletedProcess:
        version = [] if "--kube-version" in arguments else ["--kube-version", KUBERNETES]
        return self.run(
            "template",
            release,
            str(CHART),
            "--namespace",
            namespace,
            *version,
            *self._values(values),
            *arguments,
        )

    def template(
        self, values: dict | None = None, *arguments: str, release="gpu", namespace="tranche"
    ) -> Rendered:
        done = self._render(values, arguments, release, namespace)
        assert done.returncode == 0, done.stderr
        return Rendered([o for o in yaml.load_all(done.stdout, Loader=YAML_LOADER) if o])

    def refusal(self, values: dict | None = None, *arguments: str, namespace="tranche") -> str:
        done = self._render(values, arguments, namespace=namespace)
        assert done.returncode != 0, "the values were taken"
        return done.stderr

    def lint(self, values: dict | None = None) -> subprocess.CompletedProcess:
        return self.run(
            "lint",
            str(CHART),
            "--strict",
            "--namespace",
            "tranche",
            "--kube-version",
            KUBERNETES,
            *self._values(values),
        )

    def notes(self, values: dict | None = None, namespace="tranche") -> str:
        """NOTES.txt, which Helm prints only at an installation: rendered as part of an object of a
        copy of the chart."""
        copy = self._folder / "chart"
        shutil.copytree(CHART, copy)
        (copy / "templates/NOTES.txt").rename(copy / "notes.txt")
        (copy / "templates/notes.yaml").write_text(
            'kind: Notes\nmetadata: {name: n}\ntext: {{ tpl (.Files.Get "notes.txt") . | quote }}\n'
        )
        done = self.run(
            "template",
            "gpu",
            str(copy),
            "--namespace",
            namespace,
            "--kube-version",
            KUBERNETES,
            *self._values(values),
        )
        assert done.returncode == 0, done.stderr
        return Rendered([o for o in yaml.load_all(done.stdout, Loader=YAML_LOADER) if o]).one("Notes")["text"]
