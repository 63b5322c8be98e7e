import threading
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from agentguard.errors import ConfigurationError, DataError
from agentguard.gate._config import S3Source
from agentguard.gate.documents._text import Found, LeftOut, Raw

pytest.importorskip("boto3")

from agentguard.gate.documents._s3 import list_s3

SPACE = "http://s3.amazonaws.com/doc/2006-03-01/"


class Store:
    """What boto3 needs of S3: ListObjectsV2 in pages, and GetObject; one bucket, on loopback."""

    def __init__(self, page_size=2):
        self.objects = {}
        self.requests = []
        self.refused = {}  # path -> (status, code)
        self.broken = set()
        store = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                parts = urlsplit(self.path)
                query = {name: values[0] for name, values in parse_qs(parts.query, keep_blank_values=True).items()}
                path = unquote(parts.path)
                store.requests.append((path, query, self.headers.get("Authorization", "")))
                if path in store.refused:
                    status, code = store.refused[path]
                    self.send(status, f"<Error><Code>{code}</Code><Message>no</Message></Error>".encode())
                elif query.get("list-type") == "2":
                    self.send(200, store.page(query, page_size))
                elif path.removeprefix("/docs/") in store.objects:
                    body, media_type = store.objects[path.removeprefix("/docs/")]
                    self.send(200, body, media_type, len(body) + 10 * (path in store.broken))
                else:
                    self.send(404, b"<Error><Code>NoSuchKey</Code><Message>gone</Message></Error>")

            def send(self, status, body, media_type="application/xml", length=None):
                self.send_response(status)
                self.send_header("Content-Type", media_type)
                self.send_header("Content-Length", str(len(body) if length is None else length))
                if length is not None and length > len(body):
                    self.send_header("Connection", "close")
                    self.close_connection = True
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()

    def page(self, query, size):
        keys = sorted(key for key in self.objects if key.startswith(query.get("prefix", "")))
        start = int(query.get("continuation-token", 0))
        more = start + size < len(keys)
        contents = "".join(
            f"<Contents><Key>{escape(key)}</Key><Size>{len(self.objects[key][0])}</Size></Contents>"
            for key in keys[start : start + size]
        )
        token = f"<NextContinuationToken>{start + size}</NextContinuationToken>" if more else ""
        return (
            f'<?xml version="1.0"?><ListBucketResult xmlns="{SPACE}"><IsTruncated>{str(more).lower()}</IsTruncated>'
            f"{contents}{token}</ListBucketResult>"
        ).encode()

    def source(self, prefix=""):
        address = f"http://127.0.0.1:{self.server.server_port}"
        return S3Source(type="s3", bucket="docs", prefix=prefix, region="eu-central-1", endpoint_url=address)

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


@pytest.fixture
def store(monkeypatch, tmp_path):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIATESTTESTTESTTEST")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test-secret-access-key")
    for name in ("AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    store = Store()
    yield store
    store.close()


def test_all_pages_of_a_prefix_in_the_order_of_keys(store):
    for number in range(5):
        store.objects[f"kb/{number} & more.md"] = (f"page {number}".encode(), "binary/octet-stream")
    store.objects["other/a.md"] = (b"not asked for", "text/markdown")
    items = list(list_s3(store.source("kb/")))
    assert [(item.uri, item.name) for item in items] == [
        (f"s3://docs/kb/{number} & more.md", f"{number} & more.md") for number in range(5)
    ]
    assert [item.read() for item in items] == [Raw(f"page {n}".encode(), "binary/octet-stream") for n in range(5)]
    listings = [query for _, query, _ in store.requests if "list-type" in query]
    assert [query.get("continuation-token") for query in listings] == [None, "2", "4"]
    assert all("AKIATESTTESTTESTTEST/" in authorization for *_, authorization in store.requests)


def test_media_type_and_encoding_come_along(store):
    store.objects["page"] = (b"<p>x", "Text/HTML; charset=ISO-8859-1")
    (item,) = list_s3(store.source())
    assert item.read() == Raw(b"<p>x", "text/html", "iso-8859-1")


def test_what_is_no_document_is_left_out_with_its_reason(store):
    for key in ("kb/", "kb/logo.png", "kb/.hidden/a.md", "kb/a.md"):
        store.objects[key] = (b"", "")
    store.objects["kb/large.md"] = (b"x" * 101, "")
    items = list(list_s3(store.source("kb/"), limit=100))
    assert {item.uri.removeprefix("s3://docs/"): item.kind for item in items if isinstance(item, LeftOut)} == {
        "kb/": "skipped",
        "kb/logo.png": "skipped",
        "kb/.hidden/a.md": "skipped",
        "kb/large.md": "refused",
    }
    assert [item.uri for item in items if isinstance(item, Found)] == ["s3://docs/kb/a.md"]


def test_a_prefix_may_be_hidden_itself(store):
    store.objects[".docs/a.md"] = (b"A", "")
    assert [type(item) for item in list_s3(store.source(".docs/"))] == [Found]


def test_the_limit_holds_also_where_the_object_has_grown(store):
    store.objects["a.md"] = (b"x" * 100, "")
    (item,) = list_s3(store.source(), limit=100)
    store.objects["a.md"] = (b"x" * 101, "")
    with pytest.raises(DataError, match="more than the 100 bytes"):
        item.read()


def test_an_object_that_is_gone_or_refused_or_breaks_off_is_a_problem(store):
    for key in ("a.md", "b.md", "c.md"):
        store.objects[key] = (b"x", "")
    gone, refused, broken = list_s3(store.source())
    del store.objects["a.md"]
    store.refused["/docs/b.md"] = (403, "AccessDenied")
    store.broken.add("/docs/c.md")
    with pytest.raises(DataError, match="NoSuchKey"):
        gone.read()
    with pytest.raises(DataError, match="AccessDenied"):
        refused.read()
    with pytest.raises(DataError, match="cannot be read"):
        broken.read()


@pytest.mark.parametrize(("status", "code"), [(403, "AccessDenied"), (404, "NoSuchBucket")])
def test_a_bucket_that_cannot_be_listed_makes_the_source_incomplete(store, status, code):
    store.refused["/docs"] = (status, code)
    (item,) = list_s3(store.source("kb/"))
    assert (item.uri, item.kind) == ("s3://docs/kb/", "unlisted")
    assert code in item.reason


def test_missing_credentials_make_the_source_incomplete(store, monkeypatch):
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    (item,) = list_s3(store.source())
    assert item.kind == "unlisted"
    assert "credentials" in item.reason


def test_an_endpoint_that_is_none_is_a_fault_of_the_configuration():
    source = S3Source(type="s3", bucket="docs", region="eu-central-1", endpoint_url="no address")
    with pytest.raises(ConfigurationError, match="bucket docs"):
        list(list_s3(source))
