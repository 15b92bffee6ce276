"""A program on a pseudo terminal, and what it has painted there."""

import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time

import pyte

from programs import DEADLINE


class Terminal:
    def __init__(self, command: list, env: dict, columns: int = 120, lines: int = 30):
        self.screen = pyte.Screen(columns, lines)
        # ncurses would believe them, and not the terminal.
        env = {name: value for name, value in env.items() if name not in ("COLUMNS", "LINES")}
        self._stream = pyte.ByteStream(self.screen)
        self.pid, self._fd = pty.fork()
        if self.pid == 0:
            # The parent sets the size before the first byte is painted; this is in case it is late.
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
            try:
                os.execve(command[0], [str(part) for part in command], env)
            finally:
                os._exit(127)
        self.raw = b""
        self._code = None

    def resize(self, columns: int, lines: int) -> None:
        self.screen.resize(lines, columns)
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def press(self, keys: str) -> None:
        os.write(self._fd, keys.encode())

    def text(self) -> str:
        return "\n".join(line.rstrip() for line in self.screen.display)

    def read(self, seconds: float) -> None:
        """What it paints within that time."""
        ready, _, _ = select.select([self._fd], [], [], seconds)
        if ready:
            try:
                data = os.read(self._fd, 65536)
            except OSError:  # it has ended
                return
            self.raw += data
            self._stream.feed(data)

    def until(self, condition, what: str = "") -> str:
        """The screen once the condition holds of its text: a function, or a text that is in it."""
        holds = condition if callable(condition) else lambda text: condition in text
        end = time.monotonic() + 2 * DEADLINE
        while not holds(self.text()):
            assert time.monotonic() < end, f"not so: {what or condition}\n{self.text()}"
            assert self._code is None and not self.ended(), f"it ended: {what or condition}\n{self.text()}"
            self.read(0.2)
        return self.text()

    def ended(self) -> bool:
        if self._code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self._code = os.waitstatus_to_exitcode(status)
        return self._code is not None

    def wait(self) -> int:
        end = time.monotonic() + 2 * DEADLINE
        while not self.ended():
            assert time.monotonic() < end, f"it does not end\n{self.text()}"
            self.read(0.1)
        self.read(0)
        return self._code

    def close(self) -> None:
        if not self.ended():
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self._fd)
