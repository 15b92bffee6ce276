"""The first process of a place of its own (process, mount and network namespace): starts programs
there when asked over a unix socket, collects what ends, and takes everything with it when it dies,
because the kernel kills a process namespace with its first process. One for the lab's control plane,
one for each node.

One request a connection, one JSON object each way:
    {"op": "start", "name", "argv", "env", "log", "unshare": [..], "cwd", "restart"}  -> {"pid"}
    {"op": "run", "argv", "env", "input", "timeout"}                       -> {"code", "out", "err"}
    {"op": "signal", "name", "signal"}                                     -> {}
    {"op": "stop", "name"}                    SIGTERM, and no restart      -> {}
    {"op": "forget", "name"}                  of one that has ended        -> {}
    {"op": "status"}                        -> {"programs": {name: {"pid", "exit", "restarts"}}}
or {"error": text}. `exit` is null while the program runs, else its exit code (negative: the signal). A
program with `restart` that ends by itself is started again a second later, as systemd would.
Single-threaded, so that fork is safe. After serve() nothing is imported: a node's root file system
need not hold Python.
"""

import json
import os
import selectors
import signal
import socket
import sys
import time

from . import linux

_UNSHARE = {
    "net": linux.NEWNET,
    "mount": linux.NEWNS,
    "pid": linux.NEWPID,
    "uts": linux.NEWUTS,
    "ipc": linux.NEWIPC,
}
MAX_REQUEST = 64 << 20


class Running:
    """A one-off command: its client, its output, its deadline."""

    def __init__(self, connection, out, err, deadline):
        self.connection = connection
        self.out = out
        self.err = err
        self.deadline = deadline


class Supervisor:
    def __init__(self, listener: socket.socket):
        self._listener = listener
        self._selector = selectors.DefaultSelector()
        self._programs: dict[str, dict] = {}
        self._requests: dict[str, dict] = {}  # of programs that are restarted
        self._due: dict[str, float] = {}  # when
        self._running: dict[int, Running] = {}
        self._received: dict[socket.socket, bytearray] = {}

    def serve(self) -> None:
        wake, ring = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(ring, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._listener.setblocking(False)
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._selector.register(wake, selectors.EVENT_READ)
        while True:
            for key, _ in self._selector.select(timeout=0.5):
                if key.fileobj is self._listener:
                    self._accept()
                elif key.fileobj == wake:
                    self._drain(wake)
                else:
                    self._read(key.fileobj)
            self._reap()
            self._restart()
            self._expire()

    def _accept(self) -> None:
        connection, _ = self._listener.accept()
        connection.setblocking(False)
        self._received[connection] = bytearray()
        self._selector.register(connection, selectors.EVENT_READ)

    @staticmethod
    def _drain(fd: int) -> None:
        try:
            while os.read(fd, 4096):
                pass
        except BlockingIOError:
            pass

    def _read(self, connection: socket.socket) -> None:
        try:
            chunk = connection.recv(1 << 16)
        except BlockingIOError:
            return
        except OSError:
            chunk = b""
        data = self._received[connection]
        data += chunk
        if chunk and not data.endswith(b"\n"):
            if len(data) > MAX_REQUEST:
                self._forget(connection)
                connection.close()
            return
        self._forget(connection)
        if not data.endswith(b"\n"):
            connection.close()
            return
        try:
            answer = self._do(json.loads(data), connection)
        except Exception as error:  # told to the asker; the supervisor must live
            answer = {"error": f"{type(error).__name__}: {error}"}
        if answer is not None:
            self._answer(connection, answer)

    def _forget(self, connection: socket.socket) -> None:
        self._selector.unregister(connection)
        del self._received[connection]

    @staticmethod
    def _answer(connection: socket.socket, answer: dict) -> None:
        try:
            connection.setblocking(True)
            connection.settimeout(10)
            connection.sendall(json.dumps(answer).encode() + b"\n")
        except OSError:
            pass  # who asked has gone
        finally:
            connection.close()

    def _do(self, request: dict, connection: socket.socket) -> dict | None:
        match request["op"]:
            case "start":
                return self._start(request)
            case "run":
                return self._run(request, connection)
            case "signal":
                program = self._programs[request["name"]]
                if program["exit"] is None:
                    os.kill(program["pid"], request["signal"])
                return {}
            case "stop":
                self._requests.pop(request["name"], None)
                self._due.pop(request["name"], None)
                return self._do({**request, "op": "signal", "signal": signal.SIGTERM}, connection)
            case "forget":
                program = self._programs.get(request["name"])
                if program is not None and program["exit"] is None:
                    return {"error": f"{request['name']} runs"}
                self._programs.pop(request["name"], None)
                return {}
            case "status":
                return {"programs": self._programs}
        return {"error": f"unknown op {request['op']!r}"}

    def _start(self, request: dict) -> dict:
        known = self._programs.get(request["name"])
        if known is not None and known["exit"] is None:
            return {"error": f"{request['name']} runs already"}
        log = os.open(request["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        try:
            pid = spawn(
                request["argv"],
                env=request["env"],
                out=log,
                err=log,
                cwd=request.get("cwd", "/"),
                unshare=request.get("unshare", ()),
                keep=request.get("keep", ()),
            )
        finally:
            os.close(log)
        self._programs[request["name"]] = {"pid": pid, "exit": None, "restarts": 0}
        if request.get("restart"):
            self._requests[request["name"]] = request
        return {"pid": pid}

    def _restart(self) -> None:
        for name, due in list(self._due.items()):
            if time.monotonic() < due:
                continue
            del self._due[name]
            restarts = self._programs[name]["restarts"] + 1
            try:
                self._start(self._requests[name])
            except OSError as error:
                print(f"{name} cannot be started again: {error}", flush=True)
                continue
            self._programs[name]["restarts"] = restarts

    def _run(self, request: dict, connection: socket.socket) -> None:
        given, out, err = (open(os.memfd_create(name), "w+b") for name in ("in", "out", "err"))
        given.write(request.get("input", "").encode())
        given.seek(0)  # writes it out too
        try:
            pid = spawn(
                request["argv"],
                env=request["env"],
                stdin=given.fileno(),
                out=out.fileno(),
                err=err.fileno(),
            )
        finally:
            given.close()
        deadline = time.monotonic() + request.get("timeout", 60)
        self._running[pid] = Running(connection, out, err, deadline)

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            code = os.waitstatus_to_exitcode(status)
            for name, program in self._programs.items():
                if program["pid"] == pid and program["exit"] is None:
                    program["exit"] = code
                    if name in self._requests:
                        self._due[name] = time.monotonic() + 1.0
            if pid in self._running:
                self._finish(self._running.pop(pid), code)

    def _finish(self, running: Running, code: int) -> None:
        texts = []
        for file in (running.out, running.err):
            file.seek(0)
            texts.append(file.read(16 << 20).decode(errors="replace"))
            file.close()
        self._answer(running.connection, {"code": code, "out": texts[0], "err": texts[1]})

    def _expire(self) -> None:
        now = time.monotonic()
        for pid, running in self._running.items():
            if now > running.deadline:
                running.deadline = now + 3600
                os.kill(pid, signal.SIGKILL)


def spawn(argv, *, env, out, err, stdin=None, cwd="/", unshare=(), keep=()) -> int:
    """Starts argv in a new session; with `unshare`, as the first process of new namespaces. `keep`:
    descriptors it inherits. Returns the pid as seen from here."""
    flags = 0
    for name in unshare:
        flags |= _UNSHARE[name]
    reader, writer = os.pipe2(os.O_CLOEXEC)
    child = os.fork()
    if child == 0:
        _become(argv, env, out, err, stdin, cwd, flags, keep, writer)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        told = pipe.read().decode()  # ends when the program runs, or has failed to
    if flags:
        os.waitpid(child, 0)  # the one in between
    pid, _, failure = told.partition("\n")
    if failure or not pid:
        if not flags:
            os.waitpid(child, 0)
        raise OSError(f"{argv[0]}: {failure or 'did not start'}")
    return int(pid)


def _become(argv, env, out, err, stdin, cwd, flags, keep, writer) -> None:
    try:
        os.setsid()
        if flags:
            linux.unshare(flags)
            inner = os.fork()
            if inner > 0:
                os.write(writer, f"{inner}\n".encode())
                os._exit(0)
        else:
            os.write(writer, f"{os.getpid()}\n".encode())
        null = os.open("/dev/null", os.O_RDWR)
        os.dup2(null if stdin is None else stdin, 0)
        os.dup2(out, 1)
        os.dup2(err, 2)
        for fd in keep:
            os.set_inheritable(fd, True)
        os.chdir(cwd)
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGINT, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        os.execvpe(argv[0], argv, env)
    except BaseException as error:
        os.write(writer, str(error).encode())
    finally:
        os._exit(127)


def listen(path: str) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    if os.path.exists(path):
        os.unlink(path)  # of the supervisor before this one
    listener.bind(path)
    os.chmod(path, 0o600)
    listener.listen(64)
    return listener


def fail(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
    raise SystemExit(1)
