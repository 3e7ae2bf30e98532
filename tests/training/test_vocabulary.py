"""A trimmed model reads what it knows as before, and spells what it no longer knows."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
sys.path.append(str(Path(__file__).parents[1] / "encoders"))

from tiny_torch import checkpoint  # noqa: E402
from tokenizers import Tokenizer, models  # noqa: E402

from encoders.training.export.vocabulary import find_used_tokens, trim_vocabulary  # noqa: E402
from mappings.errors import ModelError  # noqa: E402

pytestmark = [pytest.mark.torch, pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
SEEN = ["aspirin fever stroke stroke", "the heart of the patients"]


def vectors(model, tokenizer, text):  # type: ignore[no-untyped-def]
    with torch.inference_mode():
        return model(**tokenizer(text, return_tensors="pt")).last_hidden_state


@pytest.mark.parametrize("family", ["Bert", "DistilBert"])
def test_what_is_known_is_read_as_before(family: str) -> None:
    whole = checkpoint(family, head=False)
    model, tokenizer = trim_vocabulary(whole.model, whole.tokenizer, find_used_tokens(whole.tokenizer, SEEN))
    assert len(tokenizer) == model.config.vocab_size == 4 + 26 * 2 + 7
    assert torch.equal(vectors(model, tokenizer, SEEN[0]), vectors(whole.model, whole.tokenizer, SEEN[0]))
    assert tokenizer.tokenize("stroke cough") == ["stroke", "c", "##o", "##u", "##g", "##h"]
    assert whole.tokenizer.tokenize("cough") == ["cough"]
    assert tokenizer.cls_token_id == whole.tokenizer.cls_token_id


def test_rare_tokens_go_by_their_number() -> None:
    tokenizer = checkpoint("Bert", head=False).tokenizer
    assert find_used_tokens(tokenizer, SEEN, 2) == {"stroke", "the"}
    assert find_used_tokens(tokenizer, []) == frozenset()


def test_tokens_that_were_added_follow_the_others() -> None:
    whole = checkpoint("Bert", head=False)
    whole.tokenizer.add_special_tokens({"additional_special_tokens": ["[QUERY]"]})
    whole.model.resize_token_embeddings(len(whole.tokenizer))
    model, tokenizer = trim_vocabulary(whole.model, whole.tokenizer, find_used_tokens(whole.tokenizer, SEEN))
    assert tokenizer.convert_tokens_to_ids("[QUERY]") == model.config.vocab_size - 1
    assert torch.equal(
        vectors(model, tokenizer, "[QUERY] heart"), vectors(whole.model, whole.tokenizer, "[QUERY] heart")
    )


def test_greek_letters_stay_and_other_signs_go() -> None:
    whole = checkpoint("Bert", head=False)
    content = json.loads(whole.tokenizer.backend_tokenizer.to_str())
    known = content["model"]["vocab"]
    known |= {token: len(known) + place for place, token in enumerate(["α", "##β", "中", "é"])}
    whole.tokenizer._tokenizer = Tokenizer.from_str(json.dumps(content))
    whole.model.resize_token_embeddings(len(known))
    _, tokenizer = trim_vocabulary(whole.model, whole.tokenizer, find_used_tokens(whole.tokenizer, SEEN))
    assert {"α", "##β"} <= tokenizer.get_vocab().keys()
    assert not {"中", "é"} & tokenizer.get_vocab().keys()


def test_other_tokenizers_are_refused() -> None:
    other = transformers.PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.WordLevel({"a": 0}, "a")))
    with pytest.raises(ModelError, match="only WordPiece vocabularies can be trimmed, not WordLevel"):
        trim_vocabulary(None, other, set())
