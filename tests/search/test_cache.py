import pytest

from search.memory.cache import Cache, FreshCache


def test_the_least_recently_used_value_goes_first():
    cache: Cache[int] = Cache(2)
    assert cache.put("a", 1) == 1
    cache.put("b", 2)
    assert cache.get("a") == 1
    cache.put("c", 3)
    assert [cache.get(key) for key in "abc"] == [1, None, 3]


def test_a_fresh_value_is_loaded_once_until_it_is_forgotten():
    loads = iter(range(10))
    cache: FreshCache[int] = FreshCache(60)
    assert [cache.get("a", lambda: next(loads)) for _ in range(3)] == [0, 0, 0]
    assert cache.get("b", lambda: next(loads)) == 1
    cache.forget("a")
    assert [cache.get(key, lambda: next(loads)) for key in "ab"] == [2, 1]


def test_a_value_that_is_not_fresh_is_loaded_again():
    loads = iter(range(10))
    cache: FreshCache[int] = FreshCache(0)
    assert [cache.get("a", lambda: next(loads)) for _ in range(3)] == [0, 1, 2]


def test_a_value_that_changed_while_it_was_loaded_is_not_kept():
    cache: FreshCache[str] = FreshCache(60)

    def load() -> str:
        cache.forget("a")  # as by a commit in another thread
        return "old"

    assert cache.get("a", load) == "old"
    assert cache.get("a", lambda: "new") == "new"


def test_nothing_is_kept_when_loading_fails():
    cache: FreshCache[int] = FreshCache(60)
    with pytest.raises(ZeroDivisionError):
        cache.get("a", lambda: 1 // 0)
    assert cache.get("a", lambda: 2) == 2
