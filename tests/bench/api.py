"""The API server of a lab without kubectl's start-up time: requests over one connection a thread."""

import base64
import http.client
import json
import pathlib
import ssl
import tempfile
import threading
import time
import urllib.parse

import yaml

MERGE = "application/merge-patch+json"
IDLE = 30.0


class Api:
    def __init__(self, kubeconfig: pathlib.Path):
        config = yaml.safe_load(kubeconfig.read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        self._url = urllib.parse.urlparse(cluster["server"])
        self._context = ssl.create_default_context(cadata=self._text(cluster, "certificate-authority"))
        self._own = threading.local()
        with tempfile.NamedTemporaryFile("w", suffix=".pem") as pem:
            pem.write(self._text(user, "client-certificate") + self._text(user, "client-key"))
            pem.flush()
            self._context.load_cert_chain(pem.name)

    @staticmethod
    def _text(entry: dict, name: str) -> str:
        if data := entry.get(f"{name}-data"):
            return base64.b64decode(data).decode()
        return pathlib.Path(entry[name]).read_text()

    def open(self) -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection(self._url.hostname, self._url.port, context=self._context)

    def _connection(self) -> http.client.HTTPSConnection:
        """This thread's; a new one where the server may have closed it for being idle."""
        now = time.monotonic()
        if now - getattr(self._own, "used", -IDLE) >= IDLE:
            self._own.connection = self.open()
        self._own.used = now
        return self._own.connection

    def request(self, method: str, path: str, body: dict | None = None, kind: str = "application/json") -> dict:
        connection = self._connection()
        text = None if body is None else json.dumps(body)
        connection.request(method, path, text, {"Content-Type": kind})
        answer = connection.getresponse()
        said = answer.read()
        assert answer.status < 300, f"{method} {path}: {answer.status} {said.decode(errors='replace')}"
        return json.loads(said)

    def patch(self, path: str, body: dict) -> None:
        self.request("PATCH", path, body, MERGE)
