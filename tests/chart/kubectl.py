"""kubectl against the API server of a test."""

import json
import subprocess

import pytest
from helm import lab_program


class Kubectl:
    def __init__(self, server, namespace: str):
        self._program = lab_program("kubectl")
        if self._program is None:
            pytest.skip("no kubectl: lab/build/build makes one")
        self._config = server.kubeconfig()
        self._namespace = namespace

    def __call__(self, *arguments: str, item: dict | None = None) -> subprocess.CompletedProcess:
        """`item` comes by the standard input: pass "-f", "-"."""
        return subprocess.run(
            [self._program, f"--kubeconfig={self._config}", f"--namespace={self._namespace}", *arguments],
            input=None if item is None else json.dumps(item),
            capture_output=True,
            text=True,
            check=False,
        )

    def refusal(self, item: dict) -> str:
        """The message for a user who applies what is refused."""
        done = self("apply", "-f", "-", item=item)
        assert done.returncode != 0, f"it was taken: {done.stdout}"
        return done.stderr
