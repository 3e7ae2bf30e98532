"""Cells of a large index, on a small one: what they hold, what a search finds by them, and how they follow an index that grows."""

from __future__ import annotations

import numpy as np
import pytest

from search.engines.embedded.slots import columns as slot_columns
from search.engines.embedded.slots.columns import Column, FileRows
from search.engines.embedded.slots.rows import quantise
from search.engines.embedded.vectors import cells as cells_module
from search.engines.embedded.vectors.cells import Cells, GrowingCells, assign, await_cells, train
from search.engines.embedded.vectors.codes import asked_code, estimates, factors, pack_signs
from search.engines.embedded.vectors.nearest import Preselection, nearest
from search.engines.embedded.vectors.signs import SignBits

ROWS, SIZE = 90_000, 48


def drawn(seed: int, count: int) -> np.ndarray:
    """Unit rows near 300 directions; the same directions for every seed."""
    centres = np.random.default_rng(1).standard_normal((300, SIZE))
    own = np.random.default_rng(seed)
    rows = centres[own.integers(300, size=count)] + 0.8 * own.standard_normal((count, SIZE))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture(scope="module")
def parts():
    vectors = drawn(2, ROWS)
    vectors[::1_000] = np.nan
    return quantise(vectors)


@pytest.fixture
def small(monkeypatch):
    """Cells for indexes as small as these."""
    monkeypatch.setattr(cells_module, "CELLS_FROM", 1_000)
    monkeypatch.setattr(cells_module, "_GROUPS", 16)


def first(parts, rows: int):
    return tuple(part[:rows] for part in parts)


def prepared(parts, rows: int = ROWS) -> Preselection:
    made = Preselection(SIZE)
    nearest(first(parts, rows), np.arange(rows), drawn(3, 1)[0], 10, made)
    await_cells()
    return made


def mean_recall(parts, slots, made: Preselection, count: int = 50) -> float:
    shares = []
    for query in drawn(4, 12):
        found, scores = nearest(parts, slots, query, count, made)
        expected, _ = nearest(parts, slots, query, count)
        assert np.all(np.diff(scores) <= 0)
        assert np.isin(found, slots).all()
        assert len(np.unique(found)) == len(found) == count
        shares.append(np.isin(expected, found).mean())
    return float(np.mean(shares))


@pytest.mark.parametrize("share", [1.0, 0.9, 0.3, 0.01])
def test_a_search_by_cells_finds_nearly_all_of_what_it_may(parts, small, share):
    slots = np.sort(np.random.default_rng(5).permutation(ROWS)[: int(ROWS * share)])
    assert mean_recall(parts, slots, prepared(parts)) >= 0.95


def test_a_search_by_cells_looks_at_few_rows(parts, small, monkeypatch):
    made = prepared(parts)
    looked = []
    monkeypatch.setattr(
        "search.engines.embedded.vectors.codes.weighted_distances",
        lambda bits, asked, weights: looked.append(bits.shape[1]) or np.zeros(bits.shape[1], np.uint16),
    )
    monkeypatch.setattr("search.engines.embedded.vectors.nearest._SIGNED_FROM", 1)
    nearest(parts, np.arange(ROWS), drawn(6, 1)[0], 10, made)
    assert 8_192 <= looked[0] < ROWS / 5


def test_what_is_far_from_the_query_is_found_where_nothing_else_is_allowed(parts, small):
    """A filter can leave only rows of other cells than the query's: then further cells are looked at."""
    made, query = prepared(parts), drawn(7, 1)[0]
    far = np.sort(np.argsort(parts[0].astype(np.float32) @ query)[: ROWS // 2])
    far = far[~np.isin(far, np.arange(0, ROWS, 1_000))]
    found, scores = nearest(parts, far, query, 20, made)
    _, best = nearest(parts, far, query, 20)
    assert len(found) == 20
    assert np.isin(found, far).all()
    assert scores.mean() >= best.mean() - 0.02  # all of them are far, and hardly any farther than others


def test_each_row_is_in_the_nearest_cell_of_the_nearest_group(parts, small):
    _, coarse, scale = parts
    groups, centroids = train(coarse, scale)
    assert (groups.shape, centroids.shape) == ((16, SIZE), (256, SIZE))
    assert np.allclose(np.linalg.norm(centroids, axis=1), 1, atol=1e-5)
    numbers = assign(groups, centroids, coarse, scale)
    row = coarse[17].astype(np.float32)
    group = int(np.argmax(groups @ row))
    assert numbers[17] == 16 * group + int(np.argmax(centroids[16 * group : 16 * (group + 1)] @ row))
    made = Cells.of(groups, centroids, numbers)
    assert np.array_equal(np.sort(made.order), np.arange(ROWS))
    assert np.array_equal(made.order[made.places], np.arange(ROWS))
    for cell in (0, 100, 255):
        assert (numbers[made.order[made.starts[cell] : made.starts[cell + 1]]] == cell).all()
    assert np.array_equal(np.sort(made.order[made.starts[-1] :]), np.arange(0, ROWS, 1_000))  # without a vector


def test_cells_follow_an_index_that_grows_and_serve_older_snapshots(parts, small):
    made = prepared(parts, 60_000)
    for rows in (62_000, 66_000, ROWS):  # few new rows, enough for cells of their own, and again
        assert mean_recall(first(parts, rows), np.arange(rows), made) >= 0.95
        await_cells()
        assert mean_recall(first(parts, rows), np.arange(rows), made) >= 0.95
        assert mean_recall(first(parts, 60_000), np.arange(60_000), made) >= 0.95
        few = np.sort(np.random.default_rng(rows).permutation(rows)[: rows // 5])
        assert mean_recall(first(parts, rows), few, made) >= 0.95


def test_codes_say_the_same_of_a_slot_in_any_order(parts, small):
    """What is in a cell is told from its centroid, what came since from the origin."""
    _, coarse, scale = parts
    signs = SignBits(SIZE)
    signs.of(coarse[:50_000], scale[:50_000])
    groups, centroids = train(coarse, scale)
    for known, rows in ((40_000, 50_000), (60_000, ROWS)):
        signs.of(coarse[:rows], scale[:rows])
        numbers = assign(groups, centroids, coarse[:known], scale[:known])
        signs.arrange(Cells.of(groups, centroids, numbers), coarse[:known], scale[:known])
        held = signs.of(coarse[:rows], scale[:rows])
        rests = coarse[:rows] * scale[:rows]
        told = numbers < len(centroids)
        rests[:known][told] -= centroids[numbers[told]]
        places = held.cells.places_of(np.arange(rows))
        assert np.array_equal(held.bits[:, places].T, pack_signs(rests))
        assert np.allclose(held.factors[places], factors(rests))


def test_estimates_by_codes_are_close_to_the_products(parts, small):
    """Closer the nearer a row is to its centroid: the error is a share of what is left of it."""
    rows, coarse, scale = (part[1:5_000] for part in parts)
    groups, centroids = train(coarse, scale)
    own = centroids[np.minimum(assign(groups, centroids, coarse, scale), len(centroids) - 1)]
    whole = rows.astype(np.float32)
    errors = []
    for bases in (np.zeros_like(own), own):
        rests = whole - bases
        signs, found = pack_signs(rests).T.copy(), factors(rests)
        off = [estimates(signs, found, bases @ query, asked_code(query)) - whole @ query for query in drawn(8, 20)]
        errors.append(np.sqrt(np.mean(np.square(off))))
        assert abs(np.mean(off)) < 0.02
    assert errors[1] < errors[0] < 0.12


def test_a_file_of_rows_is_searched_as_rows_in_memory_are(parts, small, monkeypatch, tmp_path):
    """Rows of a large file are not mapped, so that they do not count as memory of the process."""
    made = prepared(parts)
    columns = [Column(tmp_path / str(number), part.dtype, part.shape[1]) for number, part in enumerate(parts)]
    for column, part in zip(columns, parts, strict=True):
        column.path.write_bytes(part.tobytes())
    monkeypatch.setattr(slot_columns, "MAPPED_BYTES", 1_000_000)
    read = tuple(column.open(ROWS) for column in columns)
    assert [isinstance(part, FileRows) for part in read] == [True, True, False]
    for slots in (np.arange(ROWS), np.arange(0, ROWS, 7), np.arange(30)):
        for query in drawn(9, 3):
            for chosen in (made, Preselection(SIZE), None):
                (found, scores), (expected, best) = (nearest(rows, slots, query, 20, chosen) for rows in (read, parts))
                assert found.tolist() == expected.tolist()
                assert scores.tolist() == best.tolist()


def test_small_indexes_have_no_cells(parts):
    made = []
    GrowingCells(lambda *given: made.append(given)).follow(parts[1], parts[2])
    await_cells()
    assert made == []


def test_cells_that_can_not_be_made_are_not_missed(parts, small, monkeypatch, caplog):
    def broken(*_: object) -> None:
        raise MemoryError("no room for cells")

    monkeypatch.setattr(cells_module, "train", broken)
    made = prepared(parts)
    assert mean_recall(parts, np.arange(ROWS), made) >= 0.95
    await_cells()
    assert caplog.text.count("cells could not be made: searches look at all rows") == 1
