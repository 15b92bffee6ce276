#!/usr/bin/env python3
"""An HTTPS server that answers what a test tells it, in order, whatever is asked.

Usage: stub_server.py CERTIFICATE KEY CLIENT_CA|-      (- : client certificates are not asked for)

On stdin, one JSON object a line, an answer:
  {"status": 200, "headers": {"K": "V"}, "body": "...",     Content-Length is set
   "chunks": ["...", ...],        instead of body: a chunked answer, each sent by itself
   "hold": true,                  the connection stays open after the last chunk
   "cut": true,                   the connection is closed in the middle of the answer
   "drop": true,                  the connection is closed instead of an answer
   "silent": true,                there is no answer, and the connection stays open
   "repeat": 1000}                body or chunk text is repeated so often
On stdout, "PORT" first, then one JSON object a line, a request: method, target, headers, body,
subject (of the client certificate), connection (a number). Ends when stdin ends.
"""

import http.server
import json
import queue
import socket
import ssl
import sys
import threading
import time

ANSWERS = queue.Queue()
ENDED = threading.Event()
PRINTING = threading.Lock()
CONNECTIONS = iter(range(1, 1 << 30))


def say(text):
    with PRINTING:
        print(text, flush=True)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 60

    def setup(self):
        super().setup()
        self.number = next(CONNECTIONS)

    def log_message(self, *_):
        pass

    def record(self):
        length = int(self.headers.get("Content-Length", 0))
        certificate = self.connection.getpeercert() if hasattr(self.connection, "getpeercert") else None
        names = {key: value for rdn in (certificate or {}).get("subject", ()) for key, value in rdn}
        say(json.dumps({
            "method": self.command,
            "target": self.path,
            "headers": {key.lower(): value for key, value in self.headers.items()},
            "body": self.rfile.read(length).decode(),
            "subject": names.get("commonName", ""),
            "connection": self.number,
        }))

    def answer(self):
        self.record()
        try:
            answer = ANSWERS.get(timeout=60)
        except queue.Empty:
            answer = {"status": 500, "body": "the test gave no answer"}
        try:
            self.send(answer)
        except (BrokenPipeError, ConnectionError, ssl.SSLError):
            self.close_connection = True

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer

    def send(self, answer):
        if answer.get("silent"):
            return self.hold()
        if answer.get("drop"):
            return self.close()
        self.send_response(answer.get("status", 200))
        for key, value in answer.get("headers", {}).items():
            self.send_header(key, value)
        if "chunks" in answer:
            return self.send_chunks(answer)
        body = answer.get("body", "").encode() * answer.get("repeat", 1)
        extra = 10 if answer.get("cut") else 0
        self.send_header("Content-Length", str(len(body) + extra))
        self.end_headers()
        self.wfile.write(body)
        if answer.get("cut"):
            self.close()

    def send_chunks(self, answer):
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.flush()
        for chunk in answer["chunks"]:
            data = chunk.encode() * answer.get("repeat", 1)
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            self.wfile.flush()
        if answer.get("hold"):
            return self.hold()
        if answer.get("cut"):
            return self.close()
        self.wfile.write(b"0\r\n\r\n")

    def hold(self):
        # Until the client goes away, or the test.
        self.connection.settimeout(0.05)
        while not ENDED.is_set():
            try:
                if not self.connection.recv(1):
                    break
            except TimeoutError:
                continue
            except OSError:
                break
        self.close_connection = True

    def close(self):
        self.wfile.flush()
        self.close_connection = True
        try:
            self.connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    context = None

    def finish_request(self, request, client_address):
        # The handshake happens on the connection's thread.
        request.settimeout(60)
        try:
            if self.context:
                request = self.context.wrap_socket(request, server_side=True)
        except (ssl.SSLError, OSError):
            return
        super().finish_request(request, client_address)

    def handle_error(self, request, client_address):
        pass


def main():
    certificate, key, client_ca = sys.argv[1:4]
    server = Server(("127.0.0.1", 0), Handler)
    if certificate != "-":
        server.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        server.context.load_cert_chain(certificate, key)
        server.context.set_alpn_protocols(["http/1.1"])
        if client_ca != "-":
            server.context.load_verify_locations(client_ca)
            server.context.verify_mode = ssl.CERT_OPTIONAL
    threading.Thread(target=server.serve_forever, daemon=True).start()
    say(str(server.server_port))
    for line in sys.stdin:
        ANSWERS.put(json.loads(line))
    ENDED.set()
    time.sleep(0.1)


if __name__ == "__main__":
    main()
