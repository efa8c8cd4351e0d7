"""Lists of different lengths in one array."""

import numpy as np
import pytest

from jaxsim.structure.lists import Lists, runs, starts

LISTS = [[3, 1, 4, 1, 5], [], [9], [2, 6, 5]]
MADE = Lists(np.array([x for own in LISTS for x in own]), np.array([len(own) for own in LISTS]))


def told(lists: Lists) -> list[list[int]]:
    return [own.tolist() for own in np.split(lists.items, np.cumsum(lists.sizes)[:-1])]


def test_where_lists_begin_and_how_they_run():
    np.testing.assert_array_equal(starts(MADE.sizes), [0, 5, 5, 6])
    np.testing.assert_array_equal(MADE.start, starts(MADE.sizes))
    np.testing.assert_array_equal(runs(MADE.sizes), [0, 1, 2, 3, 4, 0, 0, 1, 2])
    np.testing.assert_array_equal(MADE.owner, [0, 0, 0, 0, 0, 2, 3, 3, 3])


@pytest.mark.parametrize("by", [-1, 0, 1, 7])
def test_items_so_many_places_on(by):
    expected = [x for own in LISTS for x in np.roll(own, -by)]
    np.testing.assert_array_equal(MADE.turned(by), expected)


def test_the_other_way_round_from_the_first_item_on():
    assert told(MADE.reversed()) == [own[:1] + own[:0:-1] for own in LISTS]


def test_some_lists():
    assert told(MADE.chosen(np.array([True, False, False, True]))) == [LISTS[0], LISTS[3]]


@pytest.mark.parametrize("least", [1, 4, 8])
def test_rows_are_filled_with_what_they_begin_with(least):
    wide = max(5, least)
    rows = [own + [own[0] if own else 0] * (wide - len(own)) for own in LISTS]
    np.testing.assert_array_equal(MADE.rows(least), rows)
    rows = [own[::-1] + [own[-1] if own else 0] * (wide - len(own)) for own in LISTS]
    np.testing.assert_array_equal(MADE.rows(least, backward=True), rows)


def test_rows_of_at_most_so_many_items_are_from_all_along_a_list():
    np.testing.assert_array_equal(MADE.rows(most=3), [[3, 1, 1], [0, 0, 0], [9, 9, 9], [2, 6, 5]])
    np.testing.assert_array_equal(MADE.rows(most=2, backward=True), [[4, 3], [0, 0], [9, 9], [6, 2]])


def test_no_lists():
    none = Lists(np.zeros((0, 3)), np.zeros(0, int))
    assert none.rows(4).shape == (0, 4, 3)
    assert none.reversed().items.shape == none.turned(1).shape == (0, 3)
