"""The steps of OpenSearch's pipelines in this process, on a kind with tiny models: documents, queries, vectors, scores."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parents[2] / "encoders"))
from tiny import WIDTH, write_artifact

from encoders.artifact import Artifact
from encoders.runtime import BiEncoder
from mappings.analysis.passages import passages, placed_windows
from mappings.collection import SHIPPED_KINDS, load
from mappings.documents import Document
from mappings.formats.jsonl import split
from search.settings import Settings
from web.inference.meter import ModelMeter
from web.inference.models import RunOptions, artifacts
from web.inference.models import load as load_models
from web.inference.server import Limits, make_inference_app

LIMITS = Limits(requests=8, waiting=64)
TEXT = "METHODS: Patients had renal pain. RESULTS: No fever was seen. " + "The trial went on for a long time. " * 20


def hits_of(number: int) -> dict[str, Any]:
    """A request for the scores of so many hits."""
    return {
        "query": "x",
        "titles": [""] * number,
        "texts": ["a"] * number,
        "fused": [0] * number,
        "encoders": [""] * number,
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tiny models, and kinds that name them."""
    folder = tmp_path_factory.mktemp("models")
    write_artifact(folder / "tiny-bi")
    write_artifact(folder / "tiny-cross", "cross-encoder")
    (folder / "kinds").mkdir()
    for kind, name in (("abstracts", "abstracts"), ("notes", "notes"), ("abstracts", "elsewhere")):
        text = (SHIPPED_KINDS / f"{kind}.toml").read_text()
        text = text.replace("medley-biencoder", "missing" if name == "elsewhere" else "tiny-bi")
        (folder / "kinds" / f"{name}.toml").write_text(text.replace("medley-crossencoder", "tiny-cross"))
    again = (folder / "kinds/abstracts.toml").read_text()
    (folder / "kinds/again.toml").write_text(f"{again}\n[feedback]\npassages = 5\nshare = 0.3\n")
    return folder


@pytest.fixture
def client(folder: Path, tmp_path: Path) -> Any:
    return client_of(folder, tmp_path, "tiny-bi", "tiny-cross")


def client_of(folder: Path, home: Path, *names: str) -> Any:
    """A client of a server of these models."""
    settings, meter = Settings(home=home, models=folder, form="fp32"), ModelMeter()
    models = load_models(artifacts(names, settings), settings, RunOptions(LIMITS.waiting, True, meter.count_run))
    return make_inference_app(models, home, LIMITS, meter, folder / "kinds").test_client()


def test_a_document_gets_the_vectors_and_the_words_that_an_index_of_ours_has(client: Any, folder: Path) -> None:
    found = client.post("/opensearch/abstracts/documents", json={"title": "Aspirin", "text": TEXT}).get_json()
    kind = load("abstracts", "abstracts", folder / "kinds")
    own = passages(Document("x", "Aspirin", split(TEXT, kind)), 1, kind)
    windows = [window for passage in own for window in placed_windows(passage, kind.window_words)]
    wanted = BiEncoder(Artifact.open(folder / "tiny-bi"), form="fp32").encode_passages(windows)
    rows = np.asarray([item["vector"] for item in found["windows"]], np.float32)
    assert len(windows) > 1
    np.testing.assert_allclose(rows, wanted.astype(np.float16).astype(np.float32), atol=1e-3)
    assert "fever" in found["ruled_out"]
    assert "fever|ruled-out" in found["proves"]
    assert (found["title_words"], found["tie"]) == ("", 0.0)
    untitled = client.post("/opensearch/abstracts/documents", json={"text": "Fever is common. It passes."}).get_json()
    assert untitled["title_words"] == "Fever is common."


def test_a_long_document_is_more_than_the_queue_holds(client: Any) -> None:
    text = "Fever was seen in this trial of many words that go on and on. " * 400
    found = client.post("/opensearch/abstracts/documents", json={"title": "", "text": [text, text]}).get_json()
    assert len(found["windows"]) > LIMITS.waiting
    assert len(found["windows"][0]["vector"]) == WIDTH


@pytest.mark.parametrize(
    ("step", "body"),
    [
        ("documents", {"title": "", "text": TEXT}),
        ("vectors", {"inputs": ["fever"]}),
        ("rerank", {"query": "fever", "documents": ["No fever."]}),
    ],
)
def test_what_nobody_waits_for_is_not_read(client: Any, step: str, body: dict[str, Any]) -> None:
    late = client.post(f"/opensearch/abstracts/{step}", json=body, headers={"X-Medley-Deadline-Ms": "0"})
    assert (late.status_code, late.get_json()["error_type"]) == (504, "Overloaded")
    assert client.post(f"/opensearch/abstracts/{step}", json=body).status_code == 200


def test_lists_in_lists_are_one_text(client: Any) -> None:
    hits = hits_of(2) | {"texts": [[["fever", None], [""], ["renal risk"]], "fever\n\nrenal risk"]}
    own = encoder_of(client)
    answer = client.post("/opensearch/abstracts/scores", json=hits | {"query": ["fever"], "encoders": [own, own]})
    first, second = answer.get_json()["scores"]
    assert first == second


def test_a_text_that_no_json_can_hold_is_cleaned(client: Any) -> None:
    content = b'{"match": {"text": {"query": "fever \\ud800 now"}}}'
    answer = client.post("/opensearch/abstracts/queries", data=content, content_type="application/json")
    assert (answer.status_code, answer.get_json()["text"]) == (200, ["fever   now"])


def test_a_query_is_asked_by_other_names_on_the_fields_of_the_plugin(client: Any) -> None:
    found = client.post("/opensearch/abstracts/queries", json={"match": {"text": {"query": "heart attack"}}}).get_json()
    assert found["text"] == ["heart attack"]
    body = str(found["query"])
    assert "'medley.content': {'query': 'myocardi infarct'" in body
    assert "'content'" not in body
    alone = client.post("/opensearch/abstracts/queries", json={"match": {"body": "?"}}).get_json()
    assert alone["query"] == {"match_none": {}}


def test_vectors_of_queries_are_those_of_what_the_models_read(client: Any, folder: Path) -> None:
    encoder = BiEncoder(Artifact.open(folder / "tiny-bi"), form="fp32")
    found = client.post("/opensearch/abstracts/vectors", json={"inputs": ["renal risk", "fever"]}).get_json()
    np.testing.assert_allclose(found, encoder.encode_queries(["renal risk", "fever"]), atol=1e-5)
    marked = client.post("/opensearch/notes/vectors", json={"inputs": ["no fever"]}).get_json()
    plain = client.post("/opensearch/abstracts/vectors", json={"inputs": ["no fever"]}).get_json()
    assert not np.allclose(marked, plain)  # the kind `notes` turns what is ruled out


def test_a_kind_calls_a_model_by_its_folder_whatever_its_card_says(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder / "tiny-bi", tmp_path / "models/ours")
    shutil.copytree(folder / "tiny-cross", tmp_path / "models/tiny-cross")
    (tmp_path / "models/kinds").mkdir()
    kind = (folder / "kinds/abstracts.toml").read_text().replace("tiny-bi", "ours")
    (tmp_path / "models/kinds/abstracts.toml").write_text(kind)
    client = client_of(tmp_path / "models", tmp_path, "ours", "tiny-cross")
    assert len(client.post("/opensearch/abstracts/vectors", json={"inputs": ["fever"]}).get_json()[0]) == WIDTH
    alone = client_of(tmp_path / "models", tmp_path, "ours")
    answer = alone.post("/opensearch/abstracts/vectors", json={"inputs": ["fever"]})
    assert answer.get_json()["error"] == (
        "this server lacks the cross-encoder tiny-cross of the kind; it serves ours: "
        "name all that the kind needs, each with --model, when it is started"
    )


def encoder_of(client: Any, kind: str = "abstracts") -> str:
    """The fingerprint that documents of a kind get."""
    read = client.post(f"/opensearch/{kind}/documents", json={"title": "", "text": "Fever."}).get_json()
    return str(read["encoder"])


def test_hits_that_another_encoder_read_are_refused(client: Any) -> None:
    own, marked = encoder_of(client), encoder_of(client, "notes")
    assert marked.startswith(own)
    assert marked != own  # the kind `notes` marks what it encodes
    hits = {"query": "fever", "titles": ["A", "B"], "texts": ["fever", "risk"], "fused": [0.9, 0.5]}
    for others in ([own, marked], ["0123456789abcdef", own]):
        answer = client.post("/opensearch/abstracts/scores", json={**hits, "encoders": others})
        assert answer.status_code == 424
        assert "are of another encoder" in answer.get_json()["error"]
        assert "index the documents again" in answer.get_json()["error"]
    unknown = client.post("/opensearch/abstracts/scores", json={**hits, "encoders": [own, None]}).get_json()
    assert "another encoder (an unknown one) than" in unknown["error"]
    read = client.post("/opensearch/abstracts/scores", json={**hits, "encoders": [own, own]}).get_json()
    assert len(read["scores"]) == 2


def test_scores_keep_the_share_of_the_fused_ones(client: Any) -> None:
    hits = {"titles": ["A", "B", ""], "texts": ["fever", ["renal risk", "in patients"], ""], "fused": [0.9, 0.5, 0.1]}
    hits["encoders"] = [encoder_of(client)] * 3
    found = client.post("/opensearch/abstracts/scores", json={"query": "fever", **hits}).get_json()["scores"]
    weight = load("abstracts").reranking.weight
    assert sorted(found[:2]) == pytest.approx(sorted([(1 - weight) * 0.9 + weight, (1 - weight) * 0.5]), abs=1e-6) or (
        sorted(found[:2]) == pytest.approx(sorted([(1 - weight) * 0.9, (1 - weight) * 0.5 + weight]), abs=1e-6)
    )
    assert found[2] == 0


def test_hits_beyond_the_window_stay_below_it(client: Any) -> None:
    number = load("abstracts").reranking.candidates + 5
    fused = [1 - place / 100 for place in range(number)]
    body = {
        "query": "fever",
        "titles": [""] * number,
        "texts": [f"fever {place}" for place in range(number)],
        "fused": fused,
        "encoders": [encoder_of(client)] * number,
    }
    found = client.post("/opensearch/abstracts/scores", json=body).get_json()["scores"]
    assert min(found[:-5]) > max(found[-5:])
    assert found[-5:] == sorted(found[-5:], reverse=True)


def test_texts_are_reranked_in_the_form_of_cohere(client: Any) -> None:
    body = {"query": "fever", "documents": ["renal risk", "", "fever in patients"]}
    found = client.post("/opensearch/abstracts/rerank", json=body).get_json()["results"]
    assert [set(item) for item in found] == [{"index", "relevance_score"}] * 3
    assert [item["relevance_score"] for item in found] == sorted(
        (item["relevance_score"] for item in found), reverse=True
    )
    assert found[-1]["index"] == 1


@pytest.mark.parametrize(
    ("address", "body", "status", "message"),
    [
        ("abstracts/documents", {"title": "", "text": " "}, 400, "the document has no text"),
        ("abstracts/documents", {"title": {"a": 5}}, 422, "`title` must be a text, or a list of texts"),
        ("abstracts/documents", [], 422, "the body must be a JSON object"),
        ("abstracts/queries", {"match": {"text": ""}}, 400, "the query is empty"),
        ("abstracts/queries", {}, 422, "`match` must be the match of one field"),
        ("abstracts/queries", {"match": {"text": {"query": 5}}}, 422, "`match` must be the match of one field"),
        ("abstracts/queries", {"match": {"a": "x", "b": "x"}}, 422, "`match` must be the match of one field"),
        ("abstracts/scores", hits_of(1) | {"query": []}, 422, "`query` must be a text"),
        ("abstracts/vectors", {"inputs": []}, 422, "`inputs` is empty"),
        ("abstracts/vectors", {"inputs": ["x"] * 65}, 413, "one request can hold 64"),
        ("abstracts/rerank", {"query": "x", "documents": "y"}, 422, "`documents` must be a list of texts"),
        ("abstracts/scores", {"query": "x"}, 422, "must be lists"),
        ("abstracts/scores", hits_of(0), 422, "`texts` is empty"),
        ("abstracts/scores", hits_of(1) | {"fused": []}, 422, "`titles`, `texts`, `fused` and `encoders` must have the same length, not 1, 1, 0 and 1"),
        ("abstracts/scores", hits_of(1) | {"encoders": None}, 422, "`titles`, `texts`, `fused` and `encoders` must be lists"),
        ("abstracts/scores", hits_of(1) | {"fused": [True]}, 422, "must hold numbers"),
        ("abstracts/scores", hits_of(1001), 413, "can hold 1000"),
        ("nowhere/queries", {"match": {"text": "x"}}, 404, "there is no collection kind 'nowhere'"),
        ("elsewhere/queries", {"match": {"text": "x"}}, 424, "this server lacks the bi-encoder missing"),
        ("again/queries", {"match": {"text": "x"}}, 400, "searches twice"),
    ],
)  # fmt: skip
def test_a_wrong_request_says_what_is_wrong(client: Any, address: str, body: Any, status: int, message: str) -> None:
    answer = client.post(f"/opensearch/{address}", json=body)
    assert answer.status_code == status, answer.get_json()
    assert message in answer.get_json()["error"]


def test_the_addresses_want_the_token_of_the_server(client: Any, tmp_path: Path) -> None:
    from web.access import tokens

    tokens.add(tmp_path, "cluster", ["public"])
    assert client.post("/opensearch/abstracts/queries", json={"text": "x"}).status_code == 401


def test_sections_of_one_heading_are_searched_by_it(client: Any) -> None:
    text = "FINDINGS: Clear lungs. No pleural effusion.\nIMPRESSION: Normal chest."
    found = client.post("/opensearch/notes/documents", json={"title": "Chest X-ray", "text": text}).get_json()
    assert found["aspects"] == ["findings", "impression"]
    assert found["heading_words"].lower().split() == ["findings", "impression"]
    assert len(found["windows"]) == 2
