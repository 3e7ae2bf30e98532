"""A dossier as schema.org ClaimReview, which fact-checkers publish beside an article and search engines read."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from mappings.dossiers.dossier import ChosenEvidence, DossierClaim
from search.kept.items import KeptItem
from web.citations.citation import INVENTED, Citation
from web.dossiers.snapshots import cited


def as_claim_reviews(item: KeptItem, claims: tuple[DossierClaim, ...]) -> dict[str, Any]:
    """JSON-LD with a review of each claim that has a verdict; the unrated ones are left out."""
    published = datetime.fromtimestamp(item.changed / 1_000_000, UTC).date().isoformat()
    reviews = [_review(claim, item.owner, published) for claim in claims if claim.verdict != "unrated"]
    return {"@context": "https://schema.org", "@graph": reviews}


def _review(claim: DossierClaim, owner: str, published: str) -> dict[str, Any]:
    studies = {(item.collection, item.document): item for item in claim.evidence if not item.withheld}
    appeared = {"appearance": {"@type": "CreativeWork", "url": claim.source}} if claim.source else {}
    review = {
        "@type": "ClaimReview",
        "claimReviewed": claim.text,
        "datePublished": published,
        "author": {"@type": "Person", "name": owner},
        "reviewRating": {"@type": "Rating", "alternateName": claim.verdict},
        "itemReviewed": {"@type": "Claim", "text": claim.text, **appeared},
        "reviewBody": claim.notes,
        "citation": [_article(item) for item in studies.values()],
    }
    return {name: value for name, value in review.items() if value}


def _article(evidence: ChosenEvidence) -> dict[str, Any]:
    study: Citation = cited(evidence)
    journal = study.text("journal")
    article = {
        "@type": "ScholarlyArticle",
        "name": study.title,
        "author": [{"@type": "Person", "name": name} for name in study.authors],
        "datePublished": study.year,
        "isPartOf": {"@type": "Periodical", "name": journal} if journal else None,
        "url": study.address,
        "identifier": [
            {"@type": "PropertyValue", "propertyID": name, "value": value}
            for name, value in (("doi", study.doi), ("pmid", study.pmid))
            if value
        ],
        "description": INVENTED if study.invented else "",
    }
    return {name: value for name, value in article.items() if value}
