"""A real node feature discovery on a lab: its master, by its project's published manifests, in a
Pod under their image name. Program and manifests come from lab/build/optional."""

import json
import pathlib
import shutil
import subprocess

from pods import ROOT

from lab.cluster import images

BUILDER = ROOT / "lab" / "build" / "optional" / "build"
NAMESPACE = "node-feature-discovery"
# Labels of a Node that the master keeps, by name without its own prefix.
KEPT = "nfd.node.kubernetes.io/feature-labels"


def built() -> pathlib.Path | None:
    """bin/ and deployment/; None where it was not built."""
    done = subprocess.run([BUILDER, "--where"], capture_output=True, text=True, check=True)
    folder = pathlib.Path(done.stdout.split()[1])
    return folder if folder.is_dir() else None


class Master:
    """with Master(lab, "l20", folder, tmp_path): it runs on l20 and is ready; afterwards it is
    gone, with the definitions and all their objects."""

    def __init__(self, lab, node: str, folder: pathlib.Path, temporary: pathlib.Path):
        self._lab = lab
        self._node = node
        self._folder = folder
        self._temporary = temporary
        self._manifest = ""

    def __enter__(self) -> "Master":
        self._manifest = self._lab.kubectl("kustomize", self._overlay())
        self._load_image()
        self._lab.apply(self._manifest)
        self._lab.kubectl("-n", NAMESPACE, "rollout", "status", "deployment/nfd-master", timeout=90)
        return self

    def __exit__(self, *_) -> None:
        self._lab.kubectl("delete", "--ignore-not-found", "--wait", "-f", "-", text=self._manifest, timeout=120)

    def log(self) -> str:
        return self._lab.kubectl("-n", NAMESPACE, "logs", "deployment/nfd-master", check=False)

    def _overlay(self) -> pathlib.Path:
        """The master's part of the published overlay `default`, on that node and with a numeric
        user, which the published image has."""
        shutil.copytree(self._folder / "deployment", self._temporary / "deployment", dirs_exist_ok=True)
        overlay = self._temporary / "deployment" / "overlays" / "lab"
        overlay.mkdir(exist_ok=True)
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
        (overlay / "namespace.yaml").write_text(json.dumps(namespace))
        spec = {"nodeSelector": {"kubernetes.io/hostname": self._node}, "securityContext": {"runAsUser": 65534}}
        changes = [
            {"op": "add", "path": f"/spec/template/spec/{key}", "value": value} for key, value in spec.items()
        ]
        target = {"kind": "Deployment", "name": "nfd-master"}
        kustomization = {
            "apiVersion": "kustomize.config.k8s.io/v1beta1",
            "kind": "Kustomization",
            "namespace": NAMESPACE,
            "resources": ["namespace.yaml", *(f"../../base/{one}" for one in ("nfd-crds", "rbac", "master"))],
            "components": ["../../components/common", "../../components/master-config"],
            "patches": [{"target": target, "patch": json.dumps(changes)}],
        }
        (overlay / "kustomization.yaml").write_text(json.dumps(kustomization))
        return overlay

    def _load_image(self) -> None:
        archive = self._temporary / "nfd.tar"
        files = {"/usr/bin/nfd-master": self._folder / "bin" / "nfd-master"}
        images.write_program(archive, images.names_in(self._manifest), files)
        self._lab.node(self._node).load_image(archive)
        archive.unlink()
