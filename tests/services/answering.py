"""A real HTTP server in this process with scripted answers, for what a healthy cluster never answers."""

from __future__ import annotations

import json
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

Answer = Callable[[str, str, bytes], tuple[int, Any]]
"""(method, path, body) -> (status, JSON)."""


@contextmanager
def answering(answer: Answer, certificate: Path | None = None) -> Iterator[str]:
    """The address of a server that answers by `answer`; over TLS if given a file with a certificate and its key."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_any(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, value = answer(self.command, self.path, body)
            content = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PUT = do_DELETE = handle_any  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    class Quiet(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: object, client_address: object) -> None:
            pass

    server = Quiet(("127.0.0.1", 0), Handler)
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"{'https' if certificate else 'http'}://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


_AUTHORITY = """
[ca]
default_ca = own
[own]
database = {folder}/index.txt
serial = {folder}/serial
new_certs_dir = {folder}
default_md = sha256
policy = any
x509_extensions = names
[any]
commonName = supplied
[names]
subjectAltName = IP:127.0.0.1
"""


def expired_certificate(folder: Path) -> Path:
    """A self-signed certificate for 127.0.0.1 that expired in 2020, with its key, in one file."""
    key, request, made, both = (folder / name for name in ("key.pem", "request.pem", "made.pem", "both.pem"))
    (folder / "ca.cnf").write_text(_AUTHORITY.format(folder=folder), encoding="utf-8")
    (folder / "index.txt").touch()
    (folder / "serial").write_text("01\n", encoding="utf-8")
    names = ["-subj", "/CN=127.0.0.1"]
    asked = ["openssl", "req", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", request, *names]
    dates = ["-startdate", "20200101000000Z", "-enddate", "20200201000000Z"]
    signed = ["openssl", "ca", "-batch", "-selfsign", "-config", folder / "ca.cnf", "-keyfile", key, "-in", request]
    for command in (asked, [*signed, *dates, "-out", made, "-notext"]):
        subprocess.run(command, check=True, capture_output=True)
    both.write_text(key.read_text() + made.read_text(), encoding="utf-8")
    return both
