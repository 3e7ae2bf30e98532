"""Progress of long commands on stderr that is no terminal."""

from __future__ import annotations

import pytest

from web.cli import common


def test_a_log_gets_a_line_a_minute(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    clock = iter([0.0, *(10.0 * number for number in range(1, 20) for _ in range(1 + (number % 6 == 0)))])
    monkeypatch.setattr(common.time, "monotonic", lambda: next(clock))
    with common.counter("medquad") as shown:
        for done in range(1, 15):
            shown(done, 3_293)
    assert capsys.readouterr().err.splitlines() == ["medquad 6 of 3,293", "medquad 12 of 3,293"]


def test_a_short_command_tells_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with common.progress("reading", 5) as advance:
        advance(3)
    assert capsys.readouterr() == ("", "")
