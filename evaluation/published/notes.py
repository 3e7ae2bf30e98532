"""What is told of the rows of a report: how the set-up of published ones differs, and where ours is behind the best."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

Report = Mapping[str, Any]
RAISED: Final = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def mark_notes(report: Report) -> dict[str, str]:
    """Note of a row → the number that marks it, raised, in the order of the rows."""
    notes = dict.fromkeys(row["note"] for row in (*report["rows"], *report["published"]) if row.get("note"))
    return {note: str(number).translate(RAISED) for number, note in enumerate(notes, 1)}


def footnotes(report: Report) -> list[str]:
    """What must be known of rows, such as how the set-up of published ones differs: each note once, after its mark."""
    return [f"{mark} {note}" for note, mark in mark_notes(report).items()]


def compare_with_best(report: Report) -> list[str]:
    """The row in the set-up of the published ones beside the best of these, by measure; without it, nothing."""
    row = next((row for row in report["rows"] if row["system"] == report.get("alike")), None)
    compared = []
    for name, ours in row["measures"].items() if row else ():
        theirs = [item for item in report["published"] if name in item["measures"]]
        if theirs:
            best = max(theirs, key=lambda item, name=name: float(item["measures"][name]))  # type: ignore[misc]
            figure = f"{best['measures'][name]:.4f}".removesuffix("0")
            behind = ", behind" if round(ours["value"], 3) < best["measures"][name] else ""
            compared.append(f"{name} {ours['value']:.3f} against {figure} ({best['system']}){behind}")
    return [f"beside the best published row, {row['system']}: {'; '.join(compared)}"] if row and compared else []
