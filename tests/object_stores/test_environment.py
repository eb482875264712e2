"""Servers, keys, profiles and certificates that the environment names, as for Amazon's own tools."""

from __future__ import annotations

import http.server
import os
import ssl
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import lance_sql
from lance_sql.errors import StoreError
from lance_sql.store.object_store import ObjectStore
from lance_sql.store.options import to_object_store
from tests.object_stores.places import Place

KEYS = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1"}
NOWHERE = "http://127.0.0.1:1"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home folder, and an environment without names of stores."""
    for name in list(os.environ):
        if name.startswith(("AWS_", "GOOGLE_", "AZURE_", "STORAGE_EMULATOR")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".aws").mkdir()
    return tmp_path


def profile(home: Path, config: str, credentials: str = "") -> None:
    (home / ".aws" / "config").write_text(config)
    (home / ".aws" / "credentials").write_text(credentials)


def set_all(monkeypatch: pytest.MonkeyPatch, **variables: str) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize("variable", ["AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT"])
@pytest.mark.parametrize("end", ["", "/"])
def test_a_variable_names_the_server(place: Place, monkeypatch: pytest.MonkeyPatch, variable: str, end: str) -> None:
    set_all(monkeypatch, **KEYS, **{variable: place.proxy.endpoint + end})
    table = lance_sql.write({"id": [1, 2]}, place.new_uri())
    assert lance_sql.open(table.uri).count_rows() == 2


@pytest.mark.parametrize(
    ("options", "variables"),
    [
        ({"endpoint": ...}, {"AWS_ENDPOINT_URL_S3": NOWHERE}),
        ({"endpoint_url": ...}, {"AWS_ENDPOINT_URL_S3": NOWHERE, "AWS_ENDPOINT_URL": NOWHERE}),
        ({"aws_endpoint_url_s3": ..., "endpoint": NOWHERE}, {"AWS_ENDPOINT_URL": NOWHERE}),
        ({}, {"AWS_ENDPOINT_URL_S3": ..., "AWS_ENDPOINT_URL": NOWHERE, "AWS_ENDPOINT": NOWHERE}),
        ({}, {"AWS_ENDPOINT_URL": ..., "AWS_ENDPOINT": NOWHERE}),
    ],
)
def test_the_nearest_name_of_the_server_counts(
    place: Place, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], variables: dict[str, Any]
) -> None:
    """An option sends no keys to the server of a variable."""
    here = place.proxy.endpoint
    set_all(monkeypatch, **KEYS, **{name: here if value is ... else value for name, value in variables.items()})
    given = {name: here if value is ... else value for name, value in options.items()}
    uri = place.new_uri()
    lance_sql.write({"id": [1]}, uri, storage_options=given)
    assert lance_sql.open(uri, storage_options=given).count_rows() == 1


SERVICES = """
[profile dev]
region = eu-west-3
services = lab
endpoint_url = {nowhere}
[services lab]
s3 =
  endpoint_url = {here}
"""


@pytest.mark.parametrize("config", ["[profile dev]\nendpoint_url = {here}\n", SERVICES])
@pytest.mark.parametrize("by", ["variable", "option"])
def test_a_profile_names_server_and_keys(
    place: Place, monkeypatch: pytest.MonkeyPatch, home: Path, config: str, by: str
) -> None:
    text = config.format(here=place.proxy.endpoint, nowhere=NOWHERE)
    profile(home, text, "[dev]\naws_access_key_id = key\naws_secret_access_key = secret\n")
    options = {"profile": "dev"} if by == "option" else None
    if by == "variable":
        monkeypatch.setenv("AWS_PROFILE", "dev")
    uri = place.new_uri()
    lance_sql.write({"id": [1]}, uri, storage_options=options)
    assert lance_sql.open(uri, storage_options=options).count_rows() == 1


def test_settings_of_a_profile(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    text = f"[default]\nregion = eu-west-3\nendpoint_url = {NOWHERE}\n[profile other]\nregion = eu-north-1\n"
    profile(home, text)
    set_all(monkeypatch, AWS_ACCESS_KEY_ID="key", AWS_SECRET_ACCESS_KEY="secret")
    assert to_object_store("s3", "b", {}).config == {"region": "eu-west-3", "endpoint": NOWHERE}
    assert to_object_store("s3", "b", {"region": "eu-west-1"}).config["region"] == "eu-west-1"
    monkeypatch.setenv("AWS_PROFILE", "other")
    assert to_object_store("s3", "b", {}).config == {"region": "eu-north-1"}
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    assert to_object_store("s3", "b", {}).config == {}
    monkeypatch.delenv("AWS_PROFILE")
    monkeypatch.setenv("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "true")
    assert to_object_store("s3", "b", {}).config == {}


@pytest.mark.parametrize(
    ("scheme", "variables", "wanted"),
    [
        ("gs", {"STORAGE_EMULATOR_HOST": "localhost:4443"}, {"base_url": "http://localhost:4443"}),
        ("gs", {"STORAGE_EMULATOR_HOST": "http://localhost:4443"}, {"base_url": "http://localhost:4443"}),
        ("az", {"AZURE_STORAGE_ENDPOINT": "http://localhost:10000/a"}, {"endpoint": "http://localhost:10000/a"}),
    ],
)
def test_other_providers(
    monkeypatch: pytest.MonkeyPatch, scheme: str, variables: dict[str, str], wanted: dict[str, str]
) -> None:
    set_all(monkeypatch, **variables)
    settings = to_object_store(scheme, "b", {})
    assert settings.config == wanted
    assert settings.client == {"allow_http": True}


def test_plain_requests_only_where_the_address_has_no_tls(monkeypatch: pytest.MonkeyPatch) -> None:
    assert to_object_store("s3", "b", {"endpoint": "https://s3.example"}).client == {}
    assert to_object_store("s3", "b", {"endpoint": NOWHERE, "allow_http": "false"}).client == {"allow_http": False}


@pytest.mark.parametrize(
    ("address", "wanted"),
    [("https://s3.example", "https://b.s3.example"), ("https://b.s3.example", "https://b.s3.example")],
)
def test_buckets_as_part_of_the_host(address: str, wanted: str) -> None:
    options = {"endpoint": address, "virtual_hosted_style_request": "true"}
    assert to_object_store("s3", "b", options).config["endpoint"] == wanted
    assert to_object_store("s3", "b", {"endpoint": address}).config["endpoint"] == address


@pytest.mark.parametrize("how", ["option", "variable"])
def test_anonymous_requests_have_no_signature(
    place: Place, monkeypatch: pytest.MonkeyPatch, home: Path, how: str
) -> None:
    uri = place.new_uri()
    lance_sql.write({"id": [1]}, uri, storage_options=place.options)
    profile(home, "", "[default]\naws_access_key_id = other\naws_secret_access_key = secret\n")
    monkeypatch.setenv("AWS_ENDPOINT_URL", place.proxy.endpoint)
    seen: list[str | None] = []
    place.proxy.inject = lambda request: seen.append(request.key_id)
    if how == "variable":
        monkeypatch.setenv("AWS_SKIP_SIGNATURE", "true")
    assert lance_sql.open(uri, storage_options={"anon": True} if how == "option" else None).count_rows() == 1
    assert seen
    assert set(seen) == {None}


@pytest.mark.parametrize(
    ("variables", "options", "message"),
    [
        (
            {"AWS_ENDPOINT_URL": "127.0.0.1:9000"},
            {},
            "AWS_ENDPOINT_URL='127.0.0.1:9000' is not the address of a server",
        ),
        ({"AWS_ENDPOINT_URL_S3": "http://"}, {}, "AWS_ENDPOINT_URL_S3='http://' is not the address"),
        ({}, {"endpoint": "http://a b"}, "storage option endpoint='http://a b' is not the address"),
        ({}, {"endpoint": "http://a:b"}, "storage option endpoint='http://a:b' is not the address"),
        ({"AWS_PROFILE": "nosuch"}, {}, "AWS_PROFILE='nosuch' is not a profile in ~/.aws, which has 'dev'"),
        ({}, {"profile": "nosuch"}, "storage option profile='nosuch' is not a profile"),
        ({}, {"profile": "dev"}, "storage option profile='dev' has no keys"),
        ({"AWS_CA_BUNDLE": "/nosuch.pem"}, {}, "AWS_CA_BUNDLE='/nosuch.pem' cannot be read: No such file"),
        ({}, {"ca_bundle": "/nosuch.pem"}, "storage option root_certificate='/nosuch.pem' cannot be read"),
    ],
)
def test_mistakes_name_the_setting(
    monkeypatch: pytest.MonkeyPatch, home: Path, variables: dict[str, str], options: dict[str, Any], message: str
) -> None:
    profile(home, "[profile dev]\nregion = eu-west-1\n")
    set_all(monkeypatch, AWS_EC2_METADATA_DISABLED="true", **variables)
    with pytest.raises(lance_sql.InvalidArgument) as raised:
        ObjectStore("s3://b/t.lance", options)
    assert message in str(raised.value)
    assert len(str(raised.value).splitlines()) == 1


def certificates(folder: Path) -> tuple[Path, Path]:
    """Makes an authority, and a certificate of this machine by it; returns the files of both."""
    x509 = pytest.importorskip("cryptography.x509")
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    def made(subject: str, key: Any, issuer: str, issuer_key: Any, *, is_authority: bool) -> Any:
        named = [x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, each)]) for each in (subject, issuer)]
        now = datetime.now(UTC)
        return (
            x509.CertificateBuilder(named[1], named[0], key.public_key(), x509.random_serial_number())
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + timedelta(days=1))
            .add_extension(x509.BasicConstraints(is_authority, None), critical=True)
            .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
            .sign(issuer_key, hashes.SHA256())
        )

    keys = [ec.generate_private_key(ec.SECP256R1()) for _ in range(2)]
    authority, own = folder / "ca.pem", folder / "own.pem"
    pem = serialization.Encoding.PEM
    authority.write_bytes(made("ca", keys[0], "ca", keys[0], is_authority=True).public_bytes(pem))
    private = keys[1].private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    own.write_bytes(private + made("localhost", keys[1], "ca", keys[0], is_authority=False).public_bytes(pem))
    return authority, own


EMPTY = b"<ListBucketResult><Name>b</Name><IsTruncated>false</IsTruncated></ListBucketResult>"


class Empty(http.server.BaseHTTPRequestHandler):
    """A bucket with nothing in it."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(EMPTY)))
        self.end_headers()
        self.wfile.write(EMPTY)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def secure(home: Path) -> Iterator[tuple[str, Path]]:
    """A server with TLS, and the file of its authority."""
    authority, own = certificates(home)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(own)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Empty)
    server.handle_error = lambda *_: None  # type: ignore[method-assign]
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"https://localhost:{server.server_port}", authority
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("how", ["AWS_CA_BUNDLE", "root_certificate", "ca_bundle", "text", "profile", "unchecked"])
def test_certificates(secure: tuple[str, Path], monkeypatch: pytest.MonkeyPatch, home: Path, how: str) -> None:
    address, authority = secure
    set_all(monkeypatch, **KEYS, AWS_ENDPOINT_URL=address)
    options: dict[str, Any] = {}
    if how == "AWS_CA_BUNDLE":
        monkeypatch.setenv(how, str(authority))
    elif how == "profile":
        profile(home, f"[default]\nca_bundle = {authority}\n")
    elif how == "unchecked":
        options = {"client_kwargs": {"verify": False}}
    else:
        options = {"root_certificate" if how == "text" else how: authority.read_text() if how == "text" else authority}
    with pytest.raises(lance_sql.TableNotFound):
        lance_sql.open("s3://b/t.lance", storage_options=options)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("untrusted", "its certificate is not trusted: name the file .* in AWS_CA_BUNDLE"),
        ("plain to TLS", "it closed the connection: a server with TLS needs https://"),
        ("TLS to plain", "it does not speak TLS: write http://"),
        ("nothing", "nothing listens there: check the address"),
        ("host", "the host is unknown: check the address"),
    ],
)
def test_a_server_that_cannot_be_reached(
    secure: tuple[str, Path], place: Place, monkeypatch: pytest.MonkeyPatch, kind: str, message: str
) -> None:
    addresses = {
        "untrusted": secure[0],
        "plain to TLS": secure[0].replace("https:", "http:"),
        "TLS to plain": place.proxy.endpoint.replace("http:", "https:"),
        "nothing": NOWHERE,
        "host": "http://nosuch.invalid",
    }
    set_all(monkeypatch, **KEYS, AWS_ENDPOINT_URL=addresses[kind])
    named = f"^s3://b/t.lance: AWS_ENDPOINT_URL={addresses[kind]} cannot be reached: {message}"
    with pytest.raises(StoreError, match=named) as raised:
        lance_sql.open("s3://b/t.lance", storage_options={"max_retries": 0})
    assert len(str(raised.value).splitlines()) == 1
