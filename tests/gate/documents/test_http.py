import datetime
import gzip
import ipaddress
import itertools
import socket
import ssl
import threading
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest

from agentguard.errors import DataError
from agentguard.gate._config import HttpSource
from agentguard.gate.documents._http import fetch, list_http
from agentguard.gate.documents._text import Raw

from ...rows import over

TLS = ssl.create_default_context()


class Site:
    """A server on loopback whose answers a test lays down: path -> (status, headers, pieces of the body)."""

    def __init__(self, tls=None):
        self.answers = {}
        self.requests = []
        site = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                site.requests.append((self.path, dict(self.headers)))
                status, headers, body = site.answers.get(self.path, (404, {}, b""))
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                if isinstance(body, bytes):
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)
                    return
                self.send_header("Connection", "close")
                self.end_headers()
                self.close_connection = True
                try:
                    for piece in body:
                        self.wfile.write(piece)
                except OSError:
                    pass  # the reader has had enough

            def log_message(self, *args):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        if tls is not None:
            self.server.socket = tls.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.port = self.server.server_port
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()

    def url(self, path="/", host="127.0.0.1", scheme="http"):
        return f"{scheme}://{host}:{self.port}{path}"

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


@pytest.fixture
def site():
    site = Site()
    yield site
    site.close()


def names(monkeypatch, **known):
    """A name service of the test's own; counts how often it is asked for each name."""
    asked = []
    system = socket.getaddrinfo

    def look_up(host, port, *args, **kwargs):
        name = host.decode() if isinstance(host, bytes) else host
        if name not in known:
            return system(host, port, *args, **kwargs)
        asked.append(name)
        addresses = known[name](asked.count(name)) if callable(known[name]) else known[name]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in addresses]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    return asked


def private(url, **options):
    return fetch(url, allow_private=True, tls=TLS, **options)


def test_a_page_with_its_media_type_and_encoding(site):
    site.answers["/returns"] = (200, {"Content-Type": 'Text/HTML; Charset="ISO-8859-1"'}, "<p>Größe".encode("latin-1"))
    assert private(site.url("/returns")) == Raw("<p>Größe".encode("latin-1"), "text/html", "ISO-8859-1")


def test_the_pages_of_a_source_by_their_addresses(site):
    site.answers["/docs/Returns%20policy.md?v=2"] = (200, {}, b"# Returns")
    first, second = list_http(
        HttpSource(
            type="http",
            url=site.url("/docs/Returns%20policy.md?v=2"),
            urls=["https://example.org/", site.url("/docs/Returns%20policy.md?v=2")],
            allow_private=True,
        )
    )
    assert (first.uri, first.name) == (site.url("/docs/Returns%20policy.md?v=2"), "Returns policy.md")
    assert (second.uri, second.name) == ("https://example.org/", "example.org")
    assert first.read() == Raw(b"# Returns")


@over("host", ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "[::ffff:127.0.0.1]", "127.1"])
def test_private_addresses_are_not_asked_in_any_spelling(site, host):
    site.answers["/"] = (200, {}, b"secret")
    with pytest.raises(DataError, match=r"leads to an address that is not asked|cannot be"):
        fetch(site.url(host=host), tls=TLS)
    assert site.requests == []


def test_metadata_is_not_asked_even_where_private_addresses_may_be(monkeypatch):
    names(monkeypatch, **{"inside.test": ["169.254.169.254"]})
    with pytest.raises(DataError, match=r"inside\.test leads to .* 169\.254\.169\.254 is link-local"):
        private("http://inside.test/latest/meta-data/")


def test_one_private_address_among_public_ones_is_too_many(monkeypatch):
    names(monkeypatch, **{"both.test": ["93.184.216.34", "127.0.0.1"]})
    with pytest.raises(DataError, match=r"127\.0\.0\.1 is this machine's own; allow_private: true"):
        fetch("http://both.test/", tls=TLS)


def test_a_name_is_looked_up_once_and_what_was_checked_is_connected_to(site, monkeypatch):
    asked = names(monkeypatch, **{"docs.test": lambda time: ["127.0.0.1"] if time == 1 else ["169.254.169.254"]})
    site.answers["/"] = (200, {}, b"page")
    assert private(site.url(host="docs.test")).data == b"page"
    assert asked == ["docs.test"]
    assert site.requests[0][1]["Host"] == f"docs.test:{site.port}"


def test_the_next_address_is_tried_where_one_does_not_answer(site, monkeypatch):
    names(monkeypatch, **{"docs.test": ["127.0.0.2", "127.0.0.1"]})
    site.answers["/"] = (200, {}, b"page")
    assert private(site.url(host="docs.test")).data == b"page"


def test_redirects_are_followed_five_times(site):
    for step in range(7):
        site.answers[f"/{step}"] = (302, {"Location": f"/{step + 1}"}, b"")
    site.answers["/7"] = (200, {}, b"page")
    assert private(site.url("/2")).data == b"page"
    with pytest.raises(DataError, match="redirects more than 5 times"):
        private(site.url("/1"))


def test_every_redirect_is_checked(site, monkeypatch):
    names(monkeypatch, **{"metadata.test": ["169.254.169.254"]})
    site.answers["/"] = (302, {"Location": "http://metadata.test/"}, b"")
    with pytest.raises(DataError, match=r"169\.254\.169\.254 is link-local"):
        private(site.url())


@over("location", ["file:///etc/passwd", "ftp://example.org/", "gopher://x/", "data:text/plain,x", "http://[/"])
def test_redirects_lead_to_web_addresses_only(site, location):
    site.answers["/"] = (302, {"Location": location}, b"")
    with pytest.raises(DataError, match=r"redirects to something|cannot be fetched"):
        private(site.url())


def test_cookies_and_passwords_go_nowhere(site):
    site.answers["/"] = (302, {"Location": f"http://me:pass@127.0.0.1:{site.port}/2", "Set-Cookie": "a=1"}, b"")
    site.answers["/2"] = (200, {}, b"page")
    assert private(site.url()).data == b"page"
    assert not {"Cookie", "Authorization"} & set(site.requests[1][1])


def test_the_environments_proxies_are_not_used(site, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    site.answers["/"] = (200, {}, b"page")
    assert private(site.url()).data == b"page"


@over("status", [204, 401, 404, 410, 500])
def test_other_answers_are_problems(site, status):
    site.answers["/"] = (status, {}, b"")
    with pytest.raises(DataError, match=f"answered {status}"):
        private(site.url())


def test_the_limit_holds_while_the_body_comes_in(site):
    site.answers["/"] = (200, {}, itertools.repeat(b"x" * 10_000))
    with pytest.raises(DataError, match="more than the 1,000,000 bytes"):
        private(site.url(), limit=1_000_000)


def test_compressed_pages_are_unpacked(site):
    site.answers["/"] = (200, {"Content-Encoding": "gzip"}, gzip.compress(b"page" * 1000))
    assert private(site.url()).data == b"page" * 1000
    assert site.requests[0][1]["Accept-Encoding"] == "gzip"


def test_the_limit_is_of_unpacked_bytes(site):
    packer = zlib.compressobj(9, wbits=31)
    bomb = packer.compress(bytes(50_000_000)) + packer.flush()
    assert len(bomb) < 100_000
    site.answers["/"] = (200, {"Content-Encoding": "gzip"}, bomb)
    with pytest.raises(DataError, match="more than the 1,000,000 bytes"):
        private(site.url(), limit=1_000_000)


@pytest.mark.parametrize(
    ("encoding", "body"),
    [("br", b"page"), ("gzip, gzip", b"page"), ("gzip", b"no gzip"), ("gzip", gzip.compress(b"page")[:-9])],
)
def test_what_cannot_be_unpacked_is_a_problem(site, encoding, body):
    site.answers["/"] = (200, {"Content-Encoding": encoding}, body)
    with pytest.raises(DataError, match=r"compressed as|cannot be read|ends in the middle"):
        private(site.url())


def test_a_body_that_breaks_off_is_a_problem(site):
    site.answers["/"] = (200, {"Content-Length": "100"}, [b"only this"])
    with pytest.raises(DataError):
        private(site.url())


def test_a_server_that_drips_is_cut_off(site):
    stop = threading.Event()

    def drip():
        while not stop.wait(0.01):
            yield b"x"

    site.answers["/"] = (200, {}, drip())
    try:
        with pytest.raises(DataError, match="took too long"):
            private(site.url(), seconds=0.3)
    finally:
        stop.set()


def test_a_server_that_says_nothing_is_cut_off():
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(DataError, match="took too long"):
        private(f"http://127.0.0.1:{silent.getsockname()[1]}/", seconds=0.3)


def test_rubbish_for_an_answer_is_a_problem():
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer():
            connection, _ = server.accept()
            with connection:
                connection.recv(10_000)
                connection.sendall(b"\x00\x01rubbish\r\n\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(DataError, match="cannot be"):
            private(f"http://127.0.0.1:{server.getsockname()[1]}/")
        thread.join()


def test_nobody_there_is_a_problem(monkeypatch):
    names(monkeypatch, **{"nobody.test": []})
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(DataError, match="cannot be fetched"):
        private(f"http://127.0.0.1:{port}/")
    with pytest.raises(DataError, match="has no address"):
        private("http://nobody.test/")


# --- HTTPS, with certificates of the test's own ---


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    x509 = pytest.importorskip("cryptography.x509")
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "docs.test")])
    now = datetime.datetime.now(datetime.timezone.utc)
    built = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.DNSName("docs.test"), x509.IPAddress(ipaddress.ip_address("127.0.0.9"))]),
            critical=False,
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    folder = tmp_path_factory.mktemp("tls")
    path = folder / "certificate.pem"
    path.write_bytes(built.public_bytes(serialization.Encoding.PEM))
    secret = folder / "key.pem"
    secret.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return path, secret


@pytest.fixture
def secure_site(certificate):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    told = []
    context.sni_callback = lambda connection, name, context: told.append(name)
    site = Site(context)
    site.told = told
    site.answers["/"] = (200, {}, b"page")
    yield site
    site.close()


def test_a_certificate_is_held_against_the_name(secure_site, certificate, monkeypatch):
    names(monkeypatch, **{"docs.test": ["127.0.0.1"], "other.test": ["127.0.0.1"]})
    believing = ssl.create_default_context(cafile=certificate[0])
    url = secure_site.url(host="docs.test", scheme="https")
    assert fetch(url, allow_private=True, tls=believing).data == b"page"
    assert secure_site.told == ["docs.test"]
    with pytest.raises(DataError, match=r"cannot be fetched: .*certificate verify failed"):
        fetch(secure_site.url(host="other.test", scheme="https"), allow_private=True, tls=believing)
    with pytest.raises(DataError, match="certificate verify failed"):
        fetch(url, allow_private=True, tls=httpx.create_ssl_context())


def test_a_redirect_from_https_to_http_is_refused(secure_site, certificate, monkeypatch):
    names(monkeypatch, **{"docs.test": ["127.0.0.1"]})
    secure_site.answers["/"] = (301, {"Location": "http://docs.test/"}, b"")
    with pytest.raises(DataError, match="redirects from https:// to http://"):
        fetch(
            secure_site.url(host="docs.test", scheme="https"),
            allow_private=True,
            tls=ssl.create_default_context(cafile=certificate[0]),
        )
