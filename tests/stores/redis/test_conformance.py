"""The published suite, on a real server and on the imitation that users may test with."""

from __future__ import annotations

from typing import Any

import fakeredis
import pytest

from agentguard.stores._redis import RedisStore
from agentguard.testing import StoreConformance


class TestRedis(StoreConformance):
    @pytest.fixture
    def place(self, server: Any, prefix: str) -> tuple[str, str]:
        return server.url, prefix

    def open(self, place: tuple[str, str], **options: Any) -> RedisStore:
        url, prefix = place
        return RedisStore(url, prefix=prefix, timeout=20.0, **options)


class TestFakeRedis(StoreConformance):
    @pytest.fixture
    def place(self) -> fakeredis.FakeServer:
        return fakeredis.FakeServer()

    def open(self, place: fakeredis.FakeServer, **options: Any) -> RedisStore:
        return RedisStore(fakeredis.FakeRedis(server=place), **options)
