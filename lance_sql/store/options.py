"""Storage options by the names of object_store, as in other Lance libraries.

    {"aws_access_key_id": "A", "region": "eu-central-1", "allow_http": "true", "timeout": "60s"}
    {"key": "A", "client_kwargs": {"region_name": "eu-central-1"}}          the same with fsspec's names

Unknown options raise an error that names them: silently ignoring one could hide a mistake, such as a mistyped key.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from lance_sql.errors import InvalidArgument
from lance_sql.store.endpoints import Endpoint, set_endpoint
from lance_sql.store.profile_keys import profile_keys
from lance_sql.store.profile_settings import VARIABLE, profile_settings

_CLIENT: Final = frozenset(
    {
        "allow_http",
        "allow_invalid_certificates",
        "connect_timeout",
        "default_content_type",
        "default_headers",
        "http1_only",
        "http2_keep_alive_interval",
        "http2_keep_alive_timeout",
        "http2_keep_alive_while_idle",
        "http2_only",
        "pool_idle_timeout",
        "pool_max_idle_per_host",
        "proxy_url",
        "proxy_ca_certificate",
        "proxy_excludes",
        "randomize_addresses",
        "read_timeout",
        "root_certificate",
        "timeout",
        "user_agent",
    }
)
_CERTIFICATE: Final = "root_certificate"
# Options of other libraries that do not concern how a store is reached.
_ELSEWHERE: Final = frozenset({"dynamodb_endpoint", "download_retry_count"})

_S3_WORDS: Final[Mapping[str, str]] = {
    "key": "access_key_id",
    "username": "access_key_id",
    "secret": "secret_access_key",
    "password": "secret_access_key",
    "token": "session_token",
    "region_name": "region",
    "anon": "skip_signature",
}
_GCS_WORDS: Final[Mapping[str, str]] = {"anon": "skip_signature", "endpoint": "base_url", "endpoint_url": "base_url"}
_AZURE_WORDS: Final[Mapping[str, str]] = {
    "account_key": "access_key",
    "sas_token": "sas_key",
    "anon": "skip_signature",
    "tenant_id": "authority_id",
}
_PREFIXES: Final = {"s3": ("aws_",), "gs": ("google_",), "az": ("azure_storage_", "azure_")}
_FAMILY: Final = {"s3": "s3", "s3a": "s3", "gs": "gs", "gcs": "gs", "az": "az", "abfs": "az", "abfss": "az"}
_WORDS: Final = {"s3": _S3_WORDS, "gs": _GCS_WORDS, "az": _AZURE_WORDS}


@dataclass(slots=True)
class ClientSettings:
    """Keyword arguments of obstore's client of a store, by topic."""

    config: dict[str, Any] = field(default_factory=dict)
    client: dict[str, Any] = field(default_factory=dict)
    retry: dict[str, Any] = field(default_factory=dict)
    credentials: Any = None
    endpoint: Endpoint | None = None
    """The server, if it is not the provider's own."""
    keys_from: str = "none"
    """The place of the keys, for messages."""


def to_object_store(scheme: str, bucket: str, options: Mapping[str, Any]) -> ClientSettings:
    """Converts storage options to the settings of the scheme's client. What they lack comes from the environment and,
    for S3, from the profile.

    bucket: or container, as in the URI; `container@account.host` names an account of Azure
    raises: InvalidArgument for an option that the scheme does not have, for an endpoint that is not an address, a
        profile that does not exist, and a file of certificates that cannot be read
    """
    family = _FAMILY[scheme]
    settings = ClientSettings()
    for name, value in _flat(options).items():
        _add(settings, scheme, family, name, value)
    config = settings.config
    account = bucket.partition("@")[2].partition(".")[0]
    if family == "az" and account:
        config.setdefault("account_name", account)
    profile: dict[str, str] = {}
    if family == "s3":
        name = config.pop("profile", None)
        profile = profile_settings(name)
        settings.credentials = profile_keys(config, name)
        settings.keys_from = _keys_from(config, name, settings.credentials)
        if "region" in profile and not {"region", "default_region"} & config.keys() and not _has_region():
            config["region"] = profile["region"]
    settings.endpoint = set_endpoint(family, bucket, config, profile)
    is_plain = settings.endpoint is not None and settings.endpoint.is_plain
    if is_plain:
        settings.client.setdefault("allow_http", True)
    # parsing all certificates of a system takes milliseconds
    _trust(settings, None if is_plain else family, profile)
    return settings


def _has_region() -> bool:
    return bool(os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION"))


def _keys_from(config: Mapping[str, Any], profile: str | None, credentials: Any) -> str:
    if "access_key_id" in config:
        return "storage options"
    if credentials is not None:
        return f"the profile {profile or os.environ.get(VARIABLE) or 'default'!r} in ~/.aws"
    return "AWS_ACCESS_KEY_ID" if os.environ.get("AWS_ACCESS_KEY_ID") else "none"


def _trust(settings: ClientSettings, family: str | None, profile: Mapping[str, str]) -> None:
    """Sets the certificates to trust, besides those of the system.

    family: None if none are needed
    raises: InvalidArgument for a file that cannot be read
    """
    given, setting = settings.client.get("root_certificate"), "storage option root_certificate"
    if given is None and family == "s3":
        variable = os.environ.get("AWS_CA_BUNDLE")
        given, setting = (
            (variable, "AWS_CA_BUNDLE")
            if variable
            else (profile.get("ca_bundle"), "ca_bundle of the profile in ~/.aws/config")
        )
    if given is None:
        return
    if not isinstance(given, bytes) and "-----BEGIN" not in str(given):
        try:
            given = Path(given).expanduser().read_bytes()
        except OSError as error:
            raise InvalidArgument(
                f"{setting}={str(given)!r} cannot be read: {error.strerror}: name a file with certificates in PEM form"
            ) from error
    settings.client["root_certificate"] = given


def bare_name(family: str, name: str) -> str:
    """Returns an option's name without the prefix of its provider."""
    short = name.lower()
    for prefix in _PREFIXES[family]:
        if short.startswith(prefix):
            return short.removeprefix(prefix)
    return short


def _flat(options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the options, including those that fsspec nests under `client_kwargs`."""
    flat = {name: value for name, value in options.items() if name != "client_kwargs" and value is not None}
    inner = options.get("client_kwargs") or {}
    if not isinstance(inner, Mapping):
        raise InvalidArgument("storage option 'client_kwargs' must be a dict")
    for name, value in inner.items():
        flat.setdefault(name, value)
    return flat


def _add(settings: ClientSettings, scheme: str, family: str, name: str, value: Any) -> None:
    short = bare_name(family, name)
    if short in _ELSEWHERE:
        return
    if short in ("ca_bundle", "verify"):
        # certificates, or whether to ask for some, by the names of Amazon's library
        short, value = ("allow_invalid_certificates", not value) if isinstance(value, bool) else (_CERTIFICATE, value)
    if short in _CLIENT:
        settings.client[short] = _flag(value) if short.startswith(("allow_", "http1_", "http2_only")) else value
        return
    if short in ("client_max_retries", "max_retries"):
        settings.retry["max_retries"] = int(value)
        return
    if short in ("client_retry_timeout", "retry_timeout"):
        settings.retry["retry_timeout"] = value if isinstance(value, timedelta) else timedelta(seconds=int(value))
        return
    if family == "gs" and short == "token":
        short, value = ("skip_signature", True) if value == "anon" else ("service_account", value)
    short = _WORDS[family].get(short, short)
    if not isinstance(value, str | int | bool):
        raise InvalidArgument(
            f"storage option {name!r} of {scheme}:// is a {type(value).__name__}: pass text, a number or a bool"
        )
    settings.config[short] = value


def _flag(value: Any) -> Any:
    return value.lower() in ("true", "1", "yes") if isinstance(value, str) else bool(value)
