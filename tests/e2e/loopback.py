"""An HTTP server on the loopback, which tells a test what it was asked."""

import http.server
import threading
from collections.abc import Callable


class LoopbackServer:
    """Answers every request by answer(path), which gives a status and a body. `asked`: path and
    headers of each request. Closed at the end of a with statement, or by close()."""

    def __init__(self, answer: Callable[[str], tuple[int, bytes]], content_type: str = "application/json"):
        asked = self.asked = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                asked.append((self.path, dict(self.headers)))
                status, body = answer(self.path)
                self.send_response(status)
                self.send_header("Content-Type", content_type)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_PATCH = do_POST = do_PUT = do_GET

            def log_message(self, *_):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.address = f"127.0.0.1:{self._server.server_port}"
        self.url = f"http://{self.address}"
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def __enter__(self) -> "LoopbackServer":
        return self

    def __exit__(self, *_) -> None:
        self.close()
