"""Keys that expire while a store is open."""

from __future__ import annotations

import json
import os
import pickle
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import lance_sql
from tests.object_stores.answers import Wrong
from tests.object_stores.places import Place
from tests.object_stores.proxy import Request


@dataclass
class Keys:
    """Keys in ~/.aws.

    valid: ids that the server accepts
    """

    folder: Path
    place: Place
    valid: set[str | None] = field(default_factory=set)

    @property
    def options(self) -> dict[str, str]:
        return {name: value for name, value in self.place.options.items() if "key" not in name}

    def static(self, id: str) -> None:
        """Writes keys to the file, as tools for single sign-on do."""
        text = f"[default]\naws_access_key_id = {id}\naws_secret_access_key = s\naws_session_token = t\n"
        new = self.folder / "new"
        new.write_text(text)
        os.replace(new, self.folder / "credentials")
        self.valid = {id}

    def program(self, id: str, seconds: float) -> None:
        """Makes the program of the profile return keys that end."""
        end = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + seconds))
        keys = {"Version": 1, "AccessKeyId": id, "SecretAccessKey": "s", "SessionToken": "t", "Expiration": end}
        (self.folder / "keys.json").write_text(json.dumps(keys))
        script = self.folder / "program.py"
        script.write_text(f"print(open({str(self.folder / 'keys.json')!r}).read())")
        config = self.folder / "config"
        text = f"[default]\ncredential_process = {sys.executable} {script}\n"
        if not config.exists():
            config.write_text(text)
        self.valid = {id}

    def accept(self, request: Request) -> Wrong | None:
        return None if request.key_id in self.valid or request.key_id == "key" else Wrong.EXPIRED


@pytest.fixture
def keys(place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Keys]:
    for name in list(os.environ):
        if name.startswith("AWS_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = tmp_path / ".aws"
    folder.mkdir()
    made = Keys(folder, place)
    with place.proxy.injecting(made.accept):
        yield made


def static(keys: Keys, id: str, seconds: float = 0) -> None:
    keys.static(id)


def program(keys: Keys, id: str, seconds: float = 3.0) -> None:
    keys.program(id, seconds)


@pytest.mark.parametrize("renew", [static, program])
def test_open_handles_take_renewed_keys(keys: Keys, renew: Callable[..., None]) -> None:
    renew(keys, "first")
    uri = keys.place.new_uri()
    table = lance_sql.write({"id": [1]}, uri, storage_options=keys.options)
    job = lance_sql.begin_write(table.schema, uri, mode="append", storage_options=keys.options)
    task = pickle.loads(pickle.dumps(job))
    written = task.write_fragments({"id": [2]})
    if renew is program:
        # the keys that the store has taken have ended
        time.sleep(3.1)
    renew(keys, "second")
    assert table.latest().count_rows() == 1
    more = task.write_fragments({"id": [3]})
    assert job.commit([*written, *more]).version == 2
    assert table.scan().to_table().num_rows == 1
    assert table.latest().delete("id = 1").count_rows() == 2
    assert lance_sql.open(uri, storage_options=keys.options).maintenance.cleanup(retain_versions=1).versions


def test_a_program_is_not_asked_before_its_keys_end(keys: Keys) -> None:
    keys.program("first", 3600)
    uri = keys.place.new_uri()
    lance_sql.write({"id": [1]}, uri, storage_options=keys.options)
    (keys.folder / "keys.json").write_text("{}")
    assert lance_sql.open(uri, storage_options=keys.place.options).count_rows() == 1
    table = lance_sql.open(uri, storage_options={**keys.options, **keys.place.options})
    assert table.count_rows() == 1


def use(table: Any, verb: str) -> None:
    if verb == "latest":
        table.latest()
    elif verb == "delete":
        table.delete("id = 1")
    elif verb == "tag":
        table.tags.create("x")
    elif verb == "cleanup":
        table.maintenance.cleanup(retain_versions=1)
    else:
        table.scan().to_table()


@pytest.mark.parametrize("verb", ["latest", "delete", "tag", "cleanup", "scan"])
@pytest.mark.parametrize("is_profile", [False, True])
def test_expired_keys_are_named(keys: Keys, verb: str, is_profile: bool) -> None:
    keys.static("first")
    uri = keys.place.new_uri()
    own = {"aws_access_key_id": "mine", "aws_secret_access_key": "s"}
    keys.valid.add("mine")
    options = keys.options if is_profile else {**keys.options, **own}
    lance_sql.write({"id": [1]}, uri, storage_options=options)
    table = lance_sql.open(uri, storage_options=options)
    keys.valid = set()
    with pytest.raises(PermissionError, match=r"^ExpiredToken: the keys for s3://.* have expired: ") as raised:
        use(table, verb)
    assert ("~/.aws" in str(raised.value)) == is_profile
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < 400
    keys.valid = {"first", "mine"}
    use(table, verb)


def test_a_program_that_fails_is_named(keys: Keys) -> None:
    keys.program("first", 3.0)
    uri = keys.place.new_uri()
    table = lance_sql.write({"id": [1]}, uri, storage_options=keys.options)
    time.sleep(3.1)
    (keys.folder / "program.py").write_text("raise SystemExit('log in first')")
    with pytest.raises(PermissionError, match=r"keys of the profile in ~/.aws cannot be renewed.*log in first"):
        table.latest()
    keys.program("second", 60)
    assert table.latest().count_rows() == 1
