"""CUDA programs in containers, controlled step by step (tests/sim/mps_client.py)."""

import pathlib
import subprocess
import sys

from programs import BUILD, ROOT

CLIENT = ROOT / "tests" / "sim" / "mps_client.py"
LIMITER = BUILD / "lib" / "libtranche-limit.so"
# A container's view of /run: its own tenant.
CONTAINER = """
mount -t tmpfs tmpfs /run && mkdir -p /run/tranche/mine && mount --bind "$TENANT" /run/tranche/mine || exit 99
exec "$@"
"""


class Client:
    """A program with this environment. tenant: the folder of its container's tenant; then it has
    the limiter, which takes root."""

    def __init__(self, env: dict, tenant: pathlib.Path | None = None):
        limiter = {"LD_PRELOAD": LIMITER, "TENANT": tenant} if tenant else {}
        self.process = subprocess.Popen(
            [*(["unshare", "--mount", "sh", "-c", CONTAINER, "sh"] if tenant else []), sys.executable, CLIENT],
            env={name: str(value) for name, value in {**env, **limiter}.items()},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __call__(self, *words: object):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        numbers = [int(word) for word in self.process.stdout.readline().split()]
        assert numbers, f"the program ended: {self.process.wait()}"
        return numbers[0] if len(numbers) == 1 else tuple(numbers)

    def joined(self) -> "Client":
        assert (self("init"), self("context")) == (0, 0)
        return self

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()
