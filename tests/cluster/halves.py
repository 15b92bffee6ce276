"""The Pods of the scenario fractions, for tests."""

from pods import SCENARIOS

HALF = (SCENARIOS / "fractions" / "half-pod.yaml").read_text()
WHOLE = (SCENARIOS / "fractions" / "exclusive-pod.yaml").read_text()


def dry_run(lab, text: str = HALF) -> str:
    """The result of the API server and its webhooks."""
    return lab.kubectl("create", "--dry-run=server", "-f", "-", text=text, check=False)


def answers(lab) -> bool:
    return "created" in dry_run(lab)


def waiting(text: str, name: str) -> str:
    """The scenario's Pod under this name, with a container that waits: the lab's image does nothing
    by itself."""
    text = text.replace("metadata:\n  name: vgpu-pod", f"metadata:\n  name: {name}")
    text = text.replace("metadata:\n  name: gpu-pod", f"metadata:\n  name: {name}")
    return text.replace("    resources:\n", "    command: [sleep, infinity]\n    resources:\n")
