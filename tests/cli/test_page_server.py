"""The server of `view`: it answers to its own page alone, and changes nothing."""

import http.client
import json
import socket
import threading

import pytest
from helpers.pages import PATIENCE

from patchfold.cli._page_server import MOST_BODY, PageServer, files_below

STATEMENTS = [
    "DROP TABLE dataset",
    "UPDATE dataset SET a = 0",
    "CREATE TABLE other AS SELECT * FROM dataset",
    "COPY dataset TO '/tmp/dataset.csv'",
    "ATTACH '/tmp/other.db'",
    "SELECT * FROM read_csv('/etc/passwd')",
    "INSTALL httpfs",
    "LOAD httpfs",
    "PRAGMA database_list",
    "SET enable_external_access = true",
]

OUTSIDE = [
    "../secret.txt",
    "..%2fsecret.txt",
    "%2e%2e/secret.txt",
    "assets/../../secret.txt",
    "assets//page.js",
    "/etc/passwd",
    "//etc/passwd",
    "link.txt",
    ".",
    "..",
    "assets",
    "assets/",
    "data/",
    "index.html%00",
    "index.html/",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    (folder / "static" / "assets").mkdir(parents=True)
    (folder / "static" / "index.html").write_text("<p>the page</p>")
    (folder / "static" / "assets" / "page.js").write_text("'script'")
    (folder / "secret.txt").write_text("secret")
    (folder / "static" / "link.txt").symlink_to(folder / "secret.txt")
    return folder


@pytest.fixture(scope="module")
def server(folder):
    page = dict(files_below(folder / "static"))
    files = page | {"": page["index.html"], "data/metadata.json": b"{}"}
    with PageServer(files, 0) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def ask(server):
    """Send a request with the right Host, and return its answer, its body read."""

    def send(path, method="GET", body=None, host=None, **headers):
        link = http.client.HTTPConnection(*server.server_address, timeout=PATIENCE)
        link.putrequest(method, path, skip_host=True)
        hosts = host if isinstance(host, list) else [host]
        for name in hosts:
            link.putheader("Host", name or f"127.0.0.1:{server.server_port}")
        for name, value in headers.items():
            link.putheader(name.replace("_", "-"), value)
        if body is not None:
            link.putheader("Content-Length", str(len(body)))
        link.endheaders(body)
        answer = link.getresponse()
        answer.said = answer.read()
        link.close()
        return answer

    return send


def home(server):
    return f"/{server.token}/"


def test_the_page_and_its_files_are_given_to_who_has_the_token(server, ask):
    for path, said, kind in [
        ("", b"<p>the page</p>", "text/html; charset=utf-8"),
        ("index.html", b"<p>the page</p>", "text/html; charset=utf-8"),
        ("assets/page.js", b"'script'", "text/javascript; charset=utf-8"),
        ("data/metadata.json?x=1", b"{}", "application/json"),
    ]:
        answer = ask(home(server) + path)
        assert (answer.status, answer.said) == (200, said)
        assert answer.headers["Content-Type"].startswith(kind.split("?")[0])
        answer = ask(home(server) + path, "HEAD")
        assert (answer.status, answer.said) == (200, b"")
        assert answer.headers["Content-Length"] == str(len(said))


def test_the_page_itself_may_ask(server, ask):
    own = f"http://127.0.0.1:{server.server_port}"
    assert ask(home(server), Origin=own, Sec_Fetch_Site="same-origin").status == 200
    assert ask(home(server), Sec_Fetch_Site="none").status == 200
    other = f"localhost:{server.server_port}"
    assert ask(home(server), host=other, Origin=f"http://{other}").status == 200


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "OPTIONS"])
@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:{port}",
        "127.0.0.1",
        "127.0.0.1:1",
        "127.0.0.1:{port}.evil.example",
        "[::1]:{port}",
        "0.0.0.0:{port}",
        "localhost.:{port}",
        "user@127.0.0.1:{port}",
    ],
)
def test_another_host_is_forbidden(server, ask, host, method):
    """By DNS rebinding a page of the web reaches this port under a name of its own."""
    name = host.format(port=server.server_port)
    for origin in ({}, {"Origin": f"http://{name}"}):
        answer = ask(home(server), method, host=name, **origin)
        assert answer.status == 403
        assert b"page" not in answer.said


def test_two_hosts_are_forbidden(server, ask):
    own = f"127.0.0.1:{server.server_port}"
    assert ask(home(server), host=[own, own]).status == 403
    assert ask(home(server), host=[own, "evil.example"]).status == 403
    assert ask(f"http://{own}{home(server)}", host="evil.example").status == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "https://127.0.0.1:{port}"},
        {"Origin": "http://localhost:{port}"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": ""},
    ],
)
def test_another_origin_is_forbidden(server, ask, headers):
    filled = {k: v.format(port=server.server_port) for k, v in headers.items()}
    for path in ("", "data/metadata.json"):
        for method in ("GET", "POST", "OPTIONS"):
            answer = ask(home(server) + path, method, **filled)
            assert answer.status == 403
            assert "Access-Control-Allow-Origin" not in answer.headers


def test_without_the_token_nothing_is_given(server, ask):
    token = server.token
    assert len(token) >= 43
    wrong = ["", "x", token[:-1], token + "x", token.swapcase(), "%" + token, "%C3%A9"]
    for word in wrong:
        for path in (f"/{word}/", f"/{word}/data/metadata.json", f"/{word}"):
            answer = ask(path)
            assert answer.status == 403, path
            assert token.encode() not in answer.said
    for path in ("/", "/index.html", "/favicon.ico", f"/?token={token}", "*", "//"):
        assert ask(path).status == 403


def test_a_token_is_drawn_for_every_server(server):
    with PageServer({}, 0) as other:
        assert other.token != server.token


@pytest.mark.parametrize("statement", STATEMENTS)
def test_no_statement_is_taken(server, ask, statement):
    """Nothing behind the server runs code or queries that a request sends."""
    body = json.dumps({"type": "exec", "sql": statement}).encode()
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        answer = ask(home(server) + "data/query", method, body)
        assert answer.status == 405
        assert answer.headers["Allow"] == "GET, HEAD"
    assert ask("/data/query", "POST", body).status == 403
    assert ask(home(server) + "data/query").status == 404
    assert ask(home(server) + "data/metadata.json", "POST", body).status == 405
    assert ask(home(server) + "data/metadata.json").said == b"{}"


@pytest.mark.parametrize("path", OUTSIDE)
def test_no_other_file_is_given(server, ask, path):
    answer = ask(home(server) + path)
    assert answer.status == 404
    assert b"secret" not in answer.said


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_long_body_is_not_read(server, ask, method):
    body = b" " * (MOST_BODY + 1)
    with socket.create_connection(server.server_address, timeout=PATIENCE) as link:
        link.sendall(
            f"{method} {home(server)} HTTP/1.1\r\n"
            f"Host: 127.0.0.1:{server.server_port}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n".encode()
        )
        said = b""
        while part := link.recv(4096):
            said += part
    assert said.split()[1] in (b"400", b"405")
    assert b"the page" not in said


def test_an_answer_tells_nothing_and_lets_no_other_page_hold_it(server, ask):
    for path in (home(server), "/", home(server) + "<script>"):
        answer = ask(path)
        assert b"script" not in answer.said
        headers = answer.headers
        assert headers["Server"].strip() == "patchfold"
        assert headers["Cache-Control"] == "no-store"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
        policy = headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'")
        assert "frame-ancestors 'none'" in policy
        assert "http" not in policy
        assert "*" not in policy
        assert "unsafe" not in policy


def test_nonsense_is_refused_without_a_word_on_the_terminal(server, ask, capfd):
    for sent in (
        b"\r\n",
        b"GET\r\n\r\n",
        b"FOO / HTTP/1.1\r\n\r\n",
        b"\xff\x00\r\n\r\n",
        b"GET / HTTP/1.1\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\n",
    ):
        with socket.create_connection(server.server_address, timeout=PATIENCE) as link:
            link.sendall(sent)
            link.shutdown(socket.SHUT_WR)
            while link.recv(4096):
                pass
    assert ask(home(server)).status == 200
    assert capfd.readouterr() == ("", "")


def test_it_is_open_on_this_machine_alone_and_on_another_port_if_one_is_taken(server):
    assert server.server_address[0] == "127.0.0.1"
    with PageServer({}, server.server_port) as other:
        assert other.server_port != server.server_port
        assert f":{other.server_port}/" in other.address
