"""A page and its data, served to one browser on this machine.

Nothing can be changed by a request: files are read, no other method is known, and what
the page computes it computes in the browser.
"""

from __future__ import annotations

import secrets
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

HOST = "127.0.0.1"
"""The page is for this machine alone."""

NAMES = (HOST, "localhost")
"""How a browser on this machine may call it."""

OWN_SITES = ("same-origin", "none")
"""Where a request may come from, as browsers say: the page, or the address bar."""

IDLE_SECONDS = 30
"""A connection that is silent for so long is closed."""

MOST_BODY = 2**16
"""Bytes of a refused request that are read, so that its answer is not lost."""

KINDS = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
}

HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; connect-src 'self'; "
    "script-src 'self'; style-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
"""Of every answer: no other page may hold, read or frame it, nor may it call others."""


class PageServer(ThreadingHTTPServer):
    """Serves files to requests that name its address and its token.

    Parameters
    ----------
    files : mapping of str to Path or bytes
        What there is by its path below the address; "" is the page. A path of a request
        is looked up here as it is, so no other file can be reached.
    port : int
        Where; another one is taken if it is in use.

    Attributes
    ----------
    address : str
        Of the page, with the token, which is drawn anew for every server.
    """

    daemon_threads = True

    def __init__(self, files: Mapping[str, Path | bytes], port: int) -> None:
        try:
            super().__init__((HOST, port), _Handler)
        except OSError:
            super().__init__((HOST, 0), _Handler)
        self.files = files
        self.token = secrets.token_urlsafe(32)
        self.hosts = {f"{name}:{self.server_port}" for name in NAMES}
        if self.server_port == 80:  # which browsers leave out
            self.hosts |= set(NAMES)
        self.address = f"http://{HOST}:{self.server_port}/{self.token}/"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a browser that went away."""
        if not isinstance(sys.exception(), (ConnectionError, TimeoutError)):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    """Answers one connection."""

    server: PageServer
    protocol_version = "HTTP/1.1"
    server_version = "patchfold"
    sys_version = ""
    timeout = IDLE_SECONDS

    def do_GET(self) -> None:
        self._answer()

    do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = do_GET

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing: an address would show the token."""

    def send_error(
        self, code: int, message: str | None = None, explain: str | None = None
    ) -> None:
        """Refuse a request, in words that hold nothing of it."""
        status = HTTPStatus(code)
        body = f"{status.value} {status.phrase}\n".encode()
        self.close_connection = True
        self._begin(status, "text/plain; charset=utf-8", len(body))
        if self.command != "HEAD":
            self.wfile.write(body)
        self._pass_by_body()

    def _answer(self) -> None:
        path = self.path.partition("?")[0]
        start, _, rest = path.partition("/")
        token, _, name = rest.partition("/")
        if start or not (self._is_asked_by_page() and self._is_token(token)):
            self.send_error(HTTPStatus.FORBIDDEN)
        elif self.command not in ("GET", "HEAD"):
            self.send_error(HTTPStatus.METHOD_NOT_ALLOWED)
        elif name not in self.server.files:
            self.send_error(HTTPStatus.NOT_FOUND)
        elif self._has_body():
            self.send_error(HTTPStatus.BAD_REQUEST)
        else:
            self._send(name or "index.html", self.server.files[name])

    def _is_asked_by_page(self) -> bool:
        """Tell whether a request names this address, and none but it as its origin.

        A page of another site may call by a name of its own that leads here (DNS
        rebinding): then Host is that name. Otherwise browsers tell where it is from.
        """
        hosts = self.headers.get_all("Host", [])
        origins = self.headers.get_all("Origin", [])
        sites = self.headers.get_all("Sec-Fetch-Site", [])
        return (
            len(hosts) == 1
            and hosts[0].lower() in self.server.hosts
            and all(origin == f"http://{hosts[0]}" for origin in origins)
            and all(site in OWN_SITES for site in sites)
        )

    def _is_token(self, word: str) -> bool:
        expected = self.server.token.encode("ascii")
        return secrets.compare_digest(word.encode("utf-8", "replace"), expected)

    def _has_body(self) -> bool:
        length = self.headers.get("Content-Length", "0")
        return length != "0" or "Transfer-Encoding" in self.headers

    def _send(self, name: str, content: Path | bytes) -> None:
        kind = KINDS.get(Path(name).suffix, "application/octet-stream")
        if isinstance(content, bytes):
            self._begin(HTTPStatus.OK, kind, len(content))
            if self.command == "GET":
                self.wfile.write(content)
            return
        with content.open("rb") as file:
            self._begin(HTTPStatus.OK, kind, content.stat().st_size)
            if self.command == "GET":
                shutil.copyfileobj(file, self.wfile)

    def _begin(self, status: HTTPStatus, kind: str, length: int) -> None:
        self.send_response(status)
        for name, value in HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(length))
        if status == HTTPStatus.METHOD_NOT_ALLOWED:
            self.send_header("Allow", "GET, HEAD")
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()

    def _pass_by_body(self) -> None:
        """Read what a refused request sends, if it is short; then it is closed."""
        length = getattr(self, "headers", {}).get("Content-Length", "0")
        with suppress(OSError, ValueError):  # a number of thousands of digits
            if length.isdecimal() and int(length) <= MOST_BODY:
                self.rfile.read(int(length))


def files_below(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield the files in a folder and those below it, by their paths in it.

    A link that leads out of the folder is passed over.
    """
    root = folder.resolve()
    for path in sorted(root.rglob("*")):
        if path.is_file() and path.resolve().is_relative_to(root):
            yield path.relative_to(root).as_posix(), path
