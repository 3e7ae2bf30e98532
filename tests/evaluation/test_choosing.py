"""Choices on data sets left out: the mean over data sets decides, a loss forbids, and a choice is judged without its own."""

from __future__ import annotations

import numpy as np
import pytest

from evaluation.tuning.choosing import Choice, losses
from mappings.errors import InvalidInput


def gains(**means: float) -> dict[str, np.ndarray]:
    """Gains of forty questions around each mean, alike in spread."""
    spread = np.tile([-0.01, 0.01], 20)
    return {name: spread + mean for name, mean in means.items()}


def test_data_sets_count_alike_however_many_questions_they_have():
    few, many = {"few": np.full(2, 0.4)}, {"many": np.full(400, 0.0)}
    assert Choice([few | many]).judge(0).gain.value == pytest.approx(0.2)


def test_the_greatest_mean_is_chosen_and_the_first_of_equal_ones():
    options = [gains(a=0.1, b=0.1), gains(a=0.3, b=0.0), gains(a=0.2, b=0.1)]
    assert Choice(options).best == 1
    assert Choice([options[0], options[0]]).best == 0


def test_an_option_that_loses_beyond_its_interval_is_not_chosen():
    greedy, safe = gains(a=0.5, b=-0.1), gains(a=0.1, b=0.0)
    assert losses(greedy) == ("b",)
    assert Choice([greedy, safe]).best == 1


def test_a_loss_within_the_interval_does_not_forbid():
    noisy = {"a": np.full(40, 0.2), "b": np.tile([-0.3, 0.29], 20)}
    assert losses(noisy) == ()
    assert Choice([noisy, gains(a=0.1, b=0.05)]).best == 0


def test_where_every_option_loses_the_fewest_losses_decide():
    assert Choice([gains(a=-0.1, b=-0.1, c=0.9), gains(a=-0.1, b=0.0, c=0.1)]).best == 1


def test_one_question_is_no_loss_since_it_has_no_interval():
    assert losses({"a": np.array([-1.0])}) == ()


def test_each_data_set_is_left_out_of_the_choice_it_is_judged_by():
    first, second = gains(a=0.9, b=0.0, c=0.0), gains(a=0.0, b=0.1, c=0.1)
    assert Choice([first, second]).best == 0
    assert [Choice([first, second]).without(name) for name in "abc"] == [1, 0, 0]


def test_a_judged_option_names_the_worst_data_set_and_all_losses():
    judged = Choice([gains(a=-0.1, b=-0.2, c=0.3)]).judge(0)
    assert (judged.worst, judged.least, judged.loses) == ("b", pytest.approx(-0.2), ("a", "b"))
    assert judged.gain.value == pytest.approx(0.0)
    assert judged.gain.low < 0 < judged.gain.high


@pytest.mark.parametrize("options", [[], [{}]])
def test_a_choice_needs_options_and_data_sets(options):
    with pytest.raises(InvalidInput, match="a choice needs an option and a data set"):
        Choice(options)


def test_leaving_out_needs_two_data_sets():
    with pytest.raises(InvalidInput, match="leaving a data set out needs another one"):
        Choice([gains(a=0.1)]).without("a")
