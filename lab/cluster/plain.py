"""Plain nodes: kwok's. Node objects that kwok keeps Ready; Pods on them are only marked as running.
They make a cluster as large as a scheduler's message needs it, for next to nothing."""

import pathlib

from .client import Client
from .settings import Settings

PROGRAM = "kwok"
_ANNOTATION = "kwok.x-k8s.io/node"


def manifest(settings: Settings) -> list[dict]:
    resources = {"cpu": "4", "memory": "8Gi", "pods": "110", "ephemeral-storage": "64Gi"}
    return [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": name,
                "annotations": {_ANNOTATION: "fake"},
                "labels": {
                    "kubernetes.io/hostname": name,
                    "kubernetes.io/os": "linux",
                    "kubernetes.io/arch": "amd64",
                    "type": "kwok",
                },
            },
            "status": {"allocatable": resources, "capacity": resources},
        }
        for name in settings.plain_names()
    ]


def start(folder: pathlib.Path, settings: Settings, client: Client) -> None:
    program = pathlib.Path(settings.programs) / PROGRAM
    arguments = [
        f"--kubeconfig={folder / 'admin.conf'}",
        f"--config={pathlib.Path(__file__).with_name('stages.yaml')}",
        "--manage-all-nodes=false",
        f"--manage-nodes-with-annotation-selector={_ANNOTATION}=fake",
        "--node-lease-duration-seconds=40",
    ]
    client.start(PROGRAM, [program, *arguments], folder / "log" / "kwok.log")
