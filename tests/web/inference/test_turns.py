"""Documents are read a few at a time, and those that can't wait are refused in the way that ML Commons sends again."""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor

import pytest
from flask import Flask

from encoders.batching import Overloaded
from web.inference.errors import answer_medley_error
from web.inference.server import Limits
from web.inference.turns import WAIT_SECONDS, Turns


class Readers:
    """Documents that are read until they are told to end."""

    def __init__(self, turns: Turns, pool: ThreadPoolExecutor) -> None:
        self.turns, self.pool, self.end, self.read = turns, pool, threading.Event(), threading.Semaphore(0)

    def start(self) -> Future[None]:
        return self.pool.submit(self._take)

    def _take(self) -> None:
        with self.turns.take():
            self.read.release()
            assert self.end.wait(60)


def test_a_document_waits_for_its_turn_and_is_refused_if_it_takes_long() -> None:
    with ThreadPoolExecutor(3) as pool:
        readers = Readers(Turns(running=1, present=2), pool)
        first = readers.start()
        assert readers.read.acquire(timeout=60)
        began = time.monotonic()
        second = readers.start()
        with pytest.raises(Overloaded, match="other documents are being read"):
            second.result(60)
        assert time.monotonic() - began >= WAIT_SECONDS
        readers.end.set()
        first.result(60)
        readers.start().result(60)  # its turn comes when the others are done


def test_a_document_that_finds_no_room_to_wait_is_refused_at_once() -> None:
    with ThreadPoolExecutor(1) as pool:
        readers = Readers(Turns(running=1, present=1), pool)
        first = readers.start()
        assert readers.read.acquire(timeout=60)
        with pytest.raises(Overloaded, match="1 of at most 1 documents"), readers.turns.take():
            raise AssertionError("it must not be read")
        readers.end.set()
        first.result(60)


def test_documents_leave_half_of_the_requests_and_of_the_queue_to_searches() -> None:
    def room(limits: Limits) -> tuple[int, int]:
        turns = limits.make_turns()
        return turns.running, turns.present

    assert room(Limits(requests=64, waiting=512)) == (8, 32)  # the defaults; 32 connections of a node match it
    assert room(Limits(requests=8, waiting=512)) == (2, 4)
    assert room(Limits(requests=256, waiting=4096)) == (64, 128)
    assert room(Limits(requests=1, waiting=1)) == (1, 1)


def test_ml_commons_knows_a_refusal_by_its_header() -> None:
    with Flask("refusals").test_request_context("/opensearch/abstracts/documents"):
        answer = answer_medley_error(Overloaded("the queue is full"))
    assert (answer.status_code, answer.headers["x-amzn-ErrorType"]) == (429, "ThrottlingException")
    assert answer.get_json() == {"error": "the queue is full", "error_type": "Overloaded"}
