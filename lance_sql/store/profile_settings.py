"""Settings of a profile in ~/.aws/config: its region, endpoint and certificates. `profile_keys` has its keys.

[profile dev]
region = eu-central-1
endpoint_url = http://localhost:9000
ca_bundle = ~/ca.pem
services = lab

[services lab]
s3 =
  endpoint_url = http://localhost:9001
"""

from __future__ import annotations

import configparser
import os
from pathlib import Path
from typing import Final

from lance_sql.errors import InvalidArgument

VARIABLE: Final = "AWS_PROFILE"
_FILES: Final = {"AWS_SHARED_CREDENTIALS_FILE": "credentials", "AWS_CONFIG_FILE": "config"}
"""Variables with the paths of the files, and their names in ~/.aws."""


def paths() -> list[Path]:
    """Returns the paths of the files with keys and with settings, whether they exist or not."""
    folder = Path.home() / ".aws"
    return [Path(os.environ.get(variable) or folder / name).expanduser() for variable, name in _FILES.items()]


def profile_settings(profile: str | None) -> dict[str, str]:
    """Returns the settings of a profile: `region`, `endpoint_url` and `ca_bundle`, if it has them.

    profile: None for the one of $AWS_PROFILE, or else "default"
    raises: InvalidArgument for a file that cannot be parsed
    """
    path = paths()[-1]
    try:
        text = path.read_text(encoding="utf-8")
    except OSError:
        return {}
    parser = configparser.RawConfigParser(default_section="", strict=False)
    try:
        parser.read_string(text)
    except (configparser.Error, ValueError) as error:
        reason = " ".join(str(error).split())
        raise InvalidArgument(f"{path} cannot be parsed: {reason}: correct it, or set AWS_CONFIG_FILE") from error
    name = profile or os.environ.get(VARIABLE) or "default"
    sections = (f"profile {name}", name) if name == "default" else (f"profile {name}",)
    found = {
        key: value for section in sections if parser.has_section(section) for key, value in parser[section].items()
    }
    services = f"services {found.get('services', '')}"
    of_s3 = parser.get(services, "s3", fallback="") if parser.has_section(services) else ""
    for line in of_s3.splitlines():
        key, mark, value = line.partition("=")
        if mark and key.strip() == "endpoint_url":
            found["endpoint_url"] = value
    wanted = ("region", "endpoint_url", "ca_bundle")
    return {key: value.strip() for key, value in found.items() if key in wanted and value.strip()}
