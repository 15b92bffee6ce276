"""Containers with limits: `tranche limit`, what a container can hold, and its Events."""

import os
import subprocess

from lab.cluster import paths


def limit(lab, *words: str) -> subprocess.CompletedProcess:
    """`tranche limit`, as the operator calls it."""
    program = paths.build_folder() / "bin" / "tranche"
    env = {**os.environ, "KUBECONFIG": str(lab.kubeconfig)}
    return subprocess.run(
        [program, "limit", *words], env=env, capture_output=True, text=True, timeout=90, check=False
    )


def can_hold(lab, name: str, memory: str) -> bool:
    command = f"tranche-load hold --memory {memory} --duration 100ms; echo code=$?"
    return lab.exec(name, "bash", "-c", command).rstrip().endswith("code=0")


def events(lab, kind: str, name: str) -> dict:
    """Reason -> note, of the Events about an object."""
    about = f"involvedObject.kind={kind},involvedObject.name={name}"
    items = lab.get("events", "-n", "default", "--field-selector", about)["items"]
    return {one["reason"]: one["message"] for one in items}


def wait_event(lab, kind: str, name: str, reason: str) -> str:
    def what() -> str:
        return f"{kind} {name} has no Event {reason}: {events(lab, kind, name)}"

    lab.wait(lambda: reason in events(lab, kind, name), what)
    return events(lab, kind, name)[reason]
