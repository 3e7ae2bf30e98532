"""What a message carries: its target, as it is written, and its ids."""

from __future__ import annotations

import pytest

from mappings.errors import NotFound
from workers.messages import QueueTarget, split_ids


@pytest.mark.parametrize(
    ("target", "text"),
    [(QueueTarget("my-notes"), "my-notes"), (QueueTarget("my-notes", "my-notes-12"), "index:my-notes-12")],
)
def test_a_target_is_written_as_in_every_release_and_read_back(target, text):
    assert (target.encode(), str(target)) == (text, text)
    assert QueueTarget.parse(text) == target


def test_a_target_that_can_name_no_index_is_refused():
    with pytest.raises(NotFound):
        QueueTarget.parse("index:notes")


def test_ids_are_split():
    assert split_ids(["a", "b", "c", "d", "e"], 2) == [["a", "b"], ["c", "d"], ["e"]]
    assert split_ids([], 2) == []
