"""Servers of object stores: the provider's own, or another one that the options, the environment or a profile name."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from lance_sql.errors import InvalidArgument

_OPTIONS: Final = {
    "s3": ("endpoint_url_s3", "endpoint_url", "endpoint"),
    "gs": ("base_url",),
    "az": ("endpoint",),
}
_VARIABLES: Final = {
    "s3": ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"),
    "gs": ("GOOGLE_BASE_URL", "STORAGE_EMULATOR_HOST"),
    "az": ("AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT"),
}
"""The first that is set counts, as in the providers' own libraries."""

_NAMES: Final = {"s3": "endpoint", "gs": "base_url", "az": "endpoint"}
"""Names of the client's option."""

_IGNORED: Final = "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"
_TRUE: Final = ("true", "1", "yes")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Address of a server other than the provider's own.

    address: `http://` or `https://` with the host
    setting: what named it, for messages, such as "AWS_ENDPOINT_URL"
    """

    address: str
    setting: str

    @property
    def is_plain(self) -> bool:
        """Whether requests are not encrypted."""
        return self.address.startswith("http://")

    def __str__(self) -> str:
        return f"{self.setting}={self.address}" if self.address else self.setting


def set_endpoint(family: str, bucket: str, config: dict[str, Any], profile: Mapping[str, str]) -> Endpoint | None:
    """Finds the server of a store, and sets the client's options for it.

    family: "s3", "gs" or "az"
    config: options of the client by their bare names; changed
    profile: settings of the profile
    raises: InvalidArgument for an address that is not one
    """
    found = _found(family, config, profile)
    for name in _OPTIONS[family]:
        config.pop(name, None)
    if found is None:
        is_emulator = str(config.get("use_emulator", "")).lower() in _TRUE
        return Endpoint("", "use_emulator") if is_emulator else None
    _check(found)
    address = found.address.rstrip("/")
    if family == "s3" and str(_virtual(config)).lower() in _TRUE:
        address = _with_bucket(address, bucket)
    config[_NAMES[family]] = address
    if family == "s3" and os.environ.get("AWS_ENDPOINT_URL_S3"):
        # the client prefers the variable to its option
        config["aws_endpoint_url_s3"] = address
    return Endpoint(address, found.setting)


def _found(family: str, config: Mapping[str, Any], profile: Mapping[str, str]) -> Endpoint | None:
    for name in _OPTIONS[family]:
        if config.get(name):
            return Endpoint(str(config[name]), f"storage option {name}")
    if family == "s3" and os.environ.get(_IGNORED, "").lower() in _TRUE:
        return None
    for variable in _VARIABLES[family]:
        if address := os.environ.get(variable):
            is_host = variable == "STORAGE_EMULATOR_HOST" and "://" not in address
            return Endpoint(f"http://{address}" if is_host else address, variable)
    if family == "s3" and "endpoint_url" in profile:
        return Endpoint(profile["endpoint_url"], "endpoint_url of the profile in ~/.aws/config")
    return None


def _virtual(config: Mapping[str, Any]) -> Any:
    return config.get("virtual_hosted_style_request", os.environ.get("AWS_VIRTUAL_HOSTED_STYLE_REQUEST", ""))


def _with_bucket(address: str, bucket: str) -> str:
    """Returns the address of a bucket whose name is part of the host."""
    scheme, _, host = address.partition("://")
    return address if host.startswith(f"{bucket}.") else f"{scheme}://{bucket}.{host}"


def _check(endpoint: Endpoint) -> None:
    try:
        parts = urlsplit(endpoint.address)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        is_address = False
    if not is_address or any(character.isspace() for character in endpoint.address):
        raise InvalidArgument(
            f"{endpoint.setting}={endpoint.address!r} is not the address of a server: write http://HOST:PORT, or https://"
        )
