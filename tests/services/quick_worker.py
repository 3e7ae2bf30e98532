"""`medley` with short clocks, and with documents that can break it: what tests start as a process of its own.

A word in a document's title decides what becomes of the worker that is at it.
"""

from __future__ import annotations

import os
import signal
import sys
import time

import workers.indexing.analysis
import workers.queueing.queue
import workers.queueing.sweeper
import workers.queueing.worker
from encoders.hashing import HashingEncoder
from search.engines.opensearch import admin

KILLS, RAISES, CONFUSES, SLOW = "KILLWORKER", "OUTOFRANGE", "UNREADABLE", "SLOWLY"
SWEEP_SECONDS, CLAIM_SECONDS, SLACK_SECONDS, LEASE_SECONDS = 1.0, 3.0, 4.0, 5.0
SLOW_SECONDS, TEXT_SECONDS = 1.5, 0.002


def hurry() -> None:
    """What is noticed after half a minute is noticed after seconds."""
    workers.queueing.sweeper.SWEEP_SECONDS = SWEEP_SECONDS
    workers.queueing.queue.CLAIM_SECONDS = CLAIM_SECONDS
    workers.queueing.queue.SLACK_SECONDS = SLACK_SECONDS
    workers.queueing.worker._RENEW_SECONDS = CLAIM_SECONDS / 4
    admin.LEASE_SECONDS = LEASE_SECONDS


def break_models() -> None:
    """Encoding kills the process, raises or takes its time, and analysis raises, where a document says so."""
    encode, analyse = HashingEncoder.encode_passages, workers.indexing.analysis.read_passages

    def encode_passages(self, texts):
        for text in texts:
            if KILLS in text:
                os.kill(os.getpid(), signal.SIGKILL)
            if RAISES in text:
                raise RuntimeError(f"token out of range: {_word(text, RAISES)}")
        time.sleep(SLOW_SECONDS if any(SLOW in text for text in texts) else TEXT_SECONDS * len(texts))
        return encode(self, texts)

    def read_passages(document, version, collection, reader):
        if CONFUSES in document.title:
            raise ValueError(f"no sentence ends: {_word(document.title, CONFUSES)}")
        return analyse(document, version, collection, reader)

    HashingEncoder.encode_passages = encode_passages
    workers.indexing.analysis.read_passages = read_passages


def _word(text: str, start: str) -> str:
    """The word that begins with `start`: it may name its document."""
    return next(word.strip(".") for word in text.split() if word.startswith(start))


if __name__ == "__main__":
    hurry()
    break_models()
    from web.cli.main import main

    sys.argv[0] = "medley"
    main()
