"""An interactive zsh on its own terminal, asked for its completions."""

import os
import pathlib
import pty
import select
import subprocess
import time

# zsh passes every match to compadd: ours writes it to $OFFERED first. A line "." ends an answer.
_SETUP = r"""
PROMPT=
unset zle_bracketed_paste
autoload -Uz compinit && compinit -u -D
source "$SCRIPT"
bindkey '^I' complete-word
bindkey '^U' kill-whole-line
compadd() {
  if [[ ${@[1,(i)(-|--)]} != *-(O|A|D)\ * ]]; then
    local -a hits
    local -A around
    local hit
    builtin compadd -A hits "$@"
    zparseopts -E -A around P: p: S: s:
    for hit in $hits; do
      print -r -- "$IPREFIX${around[-P]}${around[-p]}$hit${around[-s]}" >> "$OFFERED"
    done
  fi
  builtin compadd "$@"
}
answered() {
  print . >> "$OFFERED"
  comppostfuncs=(answered)
}
answered
"""


class Zsh:
    def __init__(self, folder: pathlib.Path, script: str):
        (folder / "script.zsh").write_text(script)
        (folder / "setup.zsh").write_text(_SETUP)
        self._offered = folder / "offered"
        self._offered.touch()
        self._terminal, end = pty.openpty()
        self._shell = subprocess.Popen(
            ["zsh", "-f", "-i"],
            stdin=end,
            stdout=end,
            stderr=end,
            start_new_session=True,
            env={
                "HOME": str(folder),
                "PATH": "/usr/bin:/bin",
                "TERM": "dumb",
                "SCRIPT": str(folder / "script.zsh"),
                "OFFERED": str(self._offered),
            },
        )
        os.close(end)
        self._ask(f"source {folder}/setup.zsh\n")

    def complete(self, line: str) -> set[str]:
        """The words that TAB offers at the end of `line`."""
        return self._ask(f"\x15{line}\t")

    def close(self) -> None:
        self._shell.kill()
        self._shell.wait()
        os.close(self._terminal)

    def _ask(self, typed: str, deadline: float = 60.0) -> set[str]:
        self._offered.write_text("")
        os.write(self._terminal, typed.encode())
        shown = b""
        end = time.monotonic() + deadline
        while time.monotonic() < end:
            lines = self._offered.read_text().splitlines()
            if lines and lines[-1] == ".":
                return set(lines[:-1])
            # Its output is drained, or it would block.
            if select.select([self._terminal], [], [], 0.01)[0]:
                shown += os.read(self._terminal, 65536)
        raise AssertionError(f"zsh gives no answer to {typed!r}; it shows {shown!r}")
