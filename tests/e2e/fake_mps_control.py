#!/usr/bin/env python3
"""A stand-in of nvidia-cuda-mps-control for tests: records every call, keeps a daemon process as
the real one does (its pid in the pipe folder, a socket that answers), and is controlled by files of
the folder FAKE_MPS:

    calls.jsonl     written: one call a line, with arguments, input and the environment of CUDA
    refuse-start    exists: `-d` fails
    servers         read: what get_server_list prints
"""

import fcntl
import json
import os
import pathlib
import signal
import socket
import sys

HOME = pathlib.Path(os.environ["FAKE_MPS"])
PIPE = pathlib.Path(os.environ["CUDA_MPS_PIPE_DIRECTORY"])
LOG = pathlib.Path(os.environ["CUDA_MPS_LOG_DIRECTORY"])


def record(text: str) -> None:
    line = {
        "args": sys.argv[1:],
        "input": text,
        "env": {k: v for k, v in os.environ.items() if k.startswith("CUDA_")},
    }
    with open(HOME / "calls.jsonl", "a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write(json.dumps(line) + "\n")


def answer(settings: dict, words: list) -> str:
    name, *rest = words or [""]
    if name == "get_default_active_thread_percentage":
        return f"{settings.get('threads', 100.0)}\n"
    if name == "set_default_active_thread_percentage":
        settings["threads"] = float(rest[0])
        return f"{settings['threads']}\n"
    if name == "get_server_list":
        file = HOME / "servers"
        return file.read_text() if file.exists() else ""
    if name in (
        "set_default_device_pinned_mem_limit",
        "set_device_pinned_mem_limit",
        "set_active_thread_percentage",
        "quit",
    ):
        return ""
    return f"unknown command {name}\n"


def daemon() -> None:
    """Serves until `quit`: one line in, its answer out."""
    control = PIPE / "control"
    control.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(os.path.relpath(control))  # short enough for a socket's name
    listener.listen()
    (PIPE / "nvidia-cuda-mps-control.pid").write_text(str(os.getpid()))
    settings = {}
    with open(LOG / "control.log", "a") as log:
        log.write(f"Start of {PIPE.parent.name}\n")
        log.flush()
        os.write(int(os.environ["FAKE_READY"]), b"x")
        os.close(int(os.environ["FAKE_READY"]))
        while True:
            peer, _ = listener.accept()
            with peer:
                text = peer.makefile().readline().strip()
                peer.sendall(answer(settings, text.split()).encode())
            if text == "quit":
                (PIPE / "nvidia-cuda-mps-control.pid").unlink()
                control.unlink()
                return


def start() -> int:
    if (HOME / "refuse-start").exists():
        print("Failed to start: the GPU is busy")
        return 1
    ready, told = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() > 0:
            os._exit(0)
        os.close(ready)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        null = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(null, fd)
        os.environ["FAKE_READY"] = str(told)
        os.chdir(PIPE)
        daemon()
        os._exit(0)
    os.close(told)
    return 0 if os.read(ready, 1) else 1


def command(text: str) -> int:
    os.chdir(PIPE)
    peer = socket.socket(socket.AF_UNIX)
    try:
        peer.connect("control")
    except OSError:
        print("Cannot find MPS control daemon process")
        return 1
    peer.sendall(text.encode() + b"\n")
    sys.stdout.write(peer.makefile().read())
    return 0


if __name__ == "__main__":
    if sys.argv[1:] == ["-d"]:
        record("")
        sys.exit(start())
    given = sys.stdin.read()
    record(given)
    sys.exit(command(given.strip()))
