"""The bundles of a caller, as the rows of a cohort name them."""

from __future__ import annotations

from typing import Final

from search.kept.items import MOST_PAGE_ITEMS, KeptItem
from web import context
from web.kept.bundles import reference_to
from web.kept.use_cases import KeptUseCases

MOST_BUNDLES: Final = MOST_PAGE_ITEMS


def listed_bundles() -> dict[str, KeptItem]:
    """How a row names a bundle -> the bundle: those that were changed last; others can be typed."""
    found = KeptUseCases(context.use_cases()).list_items("bundle", None, MOST_BUNDLES).items
    return {reference_to(item, context.caller().access): item for item in found}
