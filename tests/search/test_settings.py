from pathlib import Path

import pytest

from mappings.errors import InvalidInput
from search.settings import Settings, describe, read


def test_defaults(tmp_path):
    assert read({}, tmp_path) == Settings()


def test_a_variable_takes_precedence_over_the_file(tmp_path):
    (tmp_path / "medley.toml").write_text('home = "/data/medley"\nwindow = 50\n')
    settings = read({"MEDLEY_WINDOW": "70"}, tmp_path)
    assert (settings.home, settings.window) == (Path("/data/medley"), 70)


def test_an_empty_variable_is_ignored(tmp_path):
    assert read({"MEDLEY_DATA": ""}, tmp_path).data is None


@pytest.mark.parametrize(
    ("file", "environ", "message"),
    [
        ("windows = 3", {}, "unknown setting 'windows'; known are .*candidates, cohort_patients, collections"),
        ("window = [", {}, "is not valid TOML"),
        ("", {"MEDLEY_WINDOW": "many"}, "MEDLEY_WINDOW is 'many'; it must be a whole number"),
        ("", {"MEDLEY_WINDOW": "-1"}, "MEDLEY_WINDOW is '-1'; it must be a whole number"),
    ],
)
def test_an_invalid_setting_is_named(tmp_path, file, environ, message):
    (tmp_path / "medley.toml").write_text(file)
    with pytest.raises(InvalidInput, match=message.replace("(", r"\(")):
        read(environ, tmp_path)


def test_every_setting_is_documented():
    page = (Path(__file__).parents[2] / "docs" / "operator" / "settings.md").read_text(encoding="utf-8")
    for variable, _, meaning in describe():
        assert f"`{variable}`" in page
        assert meaning in page
