"""Commands of the documentation, run unchanged."""

import os
import subprocess
import sys

from pods import ROOT

sys.path.insert(0, str(ROOT / "tests" / "docs"))

import markdown  # noqa: E402


def block(page: str, heading: str, begins: str) -> str:
    """The only block of code below a heading that begins like this."""
    text = markdown.section((ROOT / page).read_text(), heading)
    (found,) = [code for _, code in markdown.code_blocks(text) if code.startswith(begins)]
    return found


def run(lab, command: str, folder=None, timeout: int = 120) -> str:
    env = {
        **os.environ,
        "KUBECONFIG": str(lab.kubeconfig),
        "PATH": f"{lab.program('kubectl').parent}:{os.environ['PATH']}",
    }
    words = ["bash", "-ec", command]
    done = subprocess.run(
        words, cwd=folder, env=env, capture_output=True, text=True, timeout=timeout, check=False
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout
