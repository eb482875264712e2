"""Writers in several processes on one table, while requests fail."""

from __future__ import annotations

import random
import threading
from pathlib import Path

import pytest

import lance_sql
from tests.object_stores.places import Place
from tests.object_stores.proxy import Fault, Inject, Request
from tests.rivals.test_rivals import check, run


def losing_answers(share: float, seed: int) -> Inject:
    """Carries requests that write out, and loses the answers of a share of them."""
    generator = random.Random(seed)
    lock = threading.Lock()

    def inject(request: Request) -> Fault | None:
        with lock:
            if request.kind in ("GET", "HEAD", "LIST") or generator.random() >= share:
                return None
            return generator.choice([Fault.LOST, Fault.LOST_AND_BUSY])

    return inject


def breaking_off(share: float, seed: int) -> Inject:
    """Refuses a share of all requests, and cuts the answers of a share of those that read."""
    generator = random.Random(seed)
    lock = threading.Lock()

    def inject(request: Request) -> Fault | None:
        with lock:
            if generator.random() < share:
                return Fault.UNAVAILABLE
            if request.kind == "GET" and generator.random() < share:
                return Fault.CUT
            return None

    return inject


OURS = ["lance_sql"] * 3
MIXED = ["lance_sql", "lance_sql", "pylance"]


@pytest.mark.parametrize(
    ("libraries", "inject", "commits"),
    [
        pytest.param(OURS, losing_answers(0.2, 1), 5, id="lost answers"),
        pytest.param(MIXED, breaking_off(0.05, 2), 5, id="503 and cut bodies"),
        pytest.param(OURS, losing_answers(0.2, 3), 50, id="lost answers, long", marks=pytest.mark.slow),
        pytest.param(MIXED, breaking_off(0.05, 4), 50, id="503 and cut bodies, long", marks=pytest.mark.slow),
    ],
)
def test_every_acknowledged_change_is_there_once(
    tmp_path: Path, place: Place, libraries: list[str], inject: Inject, commits: int
) -> None:
    uri = place.new_uri()
    with place.proxy.injecting(inject):
        results = run(tmp_path, libraries, commits, uri=uri, options=place.options)
    check(results, uri, place.options)
    assert lance_sql.verify(uri, deep=True, storage_options=place.options).is_healthy
