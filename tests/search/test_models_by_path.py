"""A bi-encoder that the settings give by its path: a process that has not loaded it finds it for an index."""

from __future__ import annotations

from pathlib import Path

from tiny import write_artifact

from encoders.artifact import Artifact
from search.models.registry import Models
from search.settings import Settings


def test_an_index_of_a_model_given_by_its_path_is_searched_by_another_process(tmp_path: Path) -> None:
    write_artifact(tmp_path / "elsewhere")
    fingerprint = Artifact.open(tmp_path / "elsewhere").fingerprint
    given = Settings(home=tmp_path / "home", encoder=str(tmp_path / "elsewhere"), form="fp32")
    found = Models(given).find_encoder(fingerprint)
    assert found is not None
    assert found.fingerprint == fingerprint
    assert Models(Settings(home=tmp_path / "home")).find_encoder(fingerprint) is None
    broken = Settings(home=tmp_path / "home", encoder=str(tmp_path / "nowhere"))
    assert Models(broken).find_encoder(fingerprint) is None
