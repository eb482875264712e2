"""Storage options by the names of object_store, as other Lance libraries take them, to those of fsspec.

    {"aws_access_key_id": "A", "aws_region": "eu-central-1"}
        ->  {"key": "A", "client_kwargs": {"region_name": "eu-central-1"}}

What is not known here is passed on as it is, so a file system's own options work as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

# From a name to where the value goes; a pair is a key inside of a dictionary, None drops the option.
_Target = str | tuple[str, str] | None

_S3: Final[Mapping[str, _Target]] = {
    "access_key_id": "key",
    "secret_access_key": "secret",
    "session_token": "token",
    "token": "token",
    "region": ("client_kwargs", "region_name"),
    "default_region": ("client_kwargs", "region_name"),
    "endpoint": "endpoint_url",
    "endpoint_url": "endpoint_url",
    "skip_signature": "anon",
    "allow_http": None,
    "virtual_hosted_style_request": None,
}
_GCS: Final[Mapping[str, _Target]] = {
    "service_account": "token",
    "service_account_path": "token",
    "application_credentials": "token",
    "skip_signature": None,
}
_AZURE: Final[Mapping[str, _Target]] = {
    "account_name": "account_name",
    "account_key": "account_key",
    "access_key": "account_key",
    "sas_token": "sas_token",
    "sas_key": "sas_token",
    "client_id": "client_id",
    "client_secret": "client_secret",
    "tenant_id": "tenant_id",
    "endpoint": None,
}
# Per scheme: the prefixes that a name may have, and what its rest means.
_NAMES: Final[Mapping[str, tuple[tuple[str, ...], Mapping[str, _Target]]]] = {
    "s3": (("aws_",), _S3),
    "s3a": (("aws_",), _S3),
    "gs": (("google_",), _GCS),
    "gcs": (("google_",), _GCS),
    "az": (("azure_storage_", "azure_"), _AZURE),
    "abfs": (("azure_storage_", "azure_"), _AZURE),
    "abfss": (("azure_storage_", "azure_"), _AZURE),
}


def to_fsspec(scheme: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The keyword arguments of the scheme's fsspec file system."""
    prefixes, names = _NAMES.get(scheme, ((), {}))
    translated: dict[str, Any] = {}
    for name, value in options.items():
        short = name.lower()
        for prefix in prefixes:
            if short.startswith(prefix):
                short = short.removeprefix(prefix)
                break
        if short not in names:
            translated[name] = value
            continue
        target = names[short]
        if isinstance(target, tuple):
            outer, inner = target
            translated[outer] = {**translated.get(outer, {}), inner: value}
        elif target == "anon":
            translated[target] = str(value).lower() in ("true", "1", "yes")
        elif target is not None:
            translated[target] = value
    return translated
