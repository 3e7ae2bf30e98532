"""Plain attention computes what the library's own does, padding and gradients included."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="the train extra is not installed")
transformers = pytest.importorskip("transformers", reason="the train extra is not installed")

from tiny_models import FAMILIES, config  # noqa: E402

from encoders.training.loop.attention import NAME, use_plain_attention  # noqa: E402

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore")]


def outcome(model):  # type: ignore[no-untyped-def]
    """Hidden states of real tokens, and all gradients."""
    ids = torch.tensor([[2, 5, 6, 7, 3], [2, 9, 3, 0, 0]])
    mask = (ids != 0).long()
    model.zero_grad()
    states = model(input_ids=ids, attention_mask=mask).last_hidden_state * mask[..., None]
    (states * torch.arange(states.numel()).view_as(states).sin()).sum().backward()
    return states.detach(), torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None])


@pytest.mark.parametrize("family", FAMILIES)
def test_plain_attention_is_the_same_attention(family: str) -> None:
    torch.manual_seed(0)
    model = transformers.AutoModel.from_config(config(family)).eval()
    before, expected = model.config._attn_implementation, outcome(model)
    with use_plain_attention([model], True):
        assert (model.config._attn_implementation == NAME) is (family not in ("mpnet", "xlnet"))
        found = outcome(model)
    assert model.config._attn_implementation == before
    for mine, theirs in zip(found, expected, strict=True):
        assert torch.allclose(mine, theirs, atol=1e-5)


def test_it_is_put_back_after_an_error_and_not_used_unasked() -> None:
    model = transformers.AutoModel.from_config(config("bert"))
    before = model.config._attn_implementation
    with pytest.raises(KeyError), use_plain_attention([model], True):
        raise KeyError
    assert model.config._attn_implementation == before
    with use_plain_attention([model], False):
        assert model.config._attn_implementation == before
