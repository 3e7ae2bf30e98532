"""A dossier as a file: citations for reference managers, a table, JSON, or ClaimReview for a web page."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from mappings.dossiers.dossier import ChosenEvidence, DossierClaim
from mappings.errors import InvalidInput
from web.citations.bibtex import as_bibtex
from web.citations.citation import INVENTED, Citation, one_line
from web.citations.csv_table import safe_cell
from web.citations.ris import as_ris
from web.dossiers.claim_review import as_claim_reviews
from web.dossiers.snapshots import cited
from web.dossiers.use_cases import OpenDossier
from web.kept.shapes import moment

EVIDENCE_TABLE_COLUMNS: Final = (
    *("claim", "verdict", "notes", "source", "title", "quote", "stance", "probability", "evidence_note", "authors"),
    *("journal", "year", "doi", "pmid", "collection", "document", "added", "remark"),
)
_CITED_COLUMNS: Final = ("journal", "year", "doi", "pmid")


@dataclass(frozen=True, slots=True)
class DossierFormat:
    """A format that a dossier is exported in. `mark` follows the dossier's name in the name of the file."""

    write: Callable[[OpenDossier], str]
    media_type: str
    suffix: str
    mark: str = ""


def dossier_format(name: str) -> DossierFormat:
    """The format of this name. Raises `InvalidInput`."""
    found = DOSSIER_FORMATS.get(name)
    if found is None:
        raise InvalidInput(f"{name!r:.40} is not a format; known are {', '.join(DOSSIER_FORMATS)}", field="format")
    return found


def citations_of(opened: OpenDossier) -> list[Citation]:
    """The studies of a dossier, each once, with a note for each claim that it is evidence for."""
    found: dict[tuple[str, ...], Citation] = {}
    for claim in opened.dossier.claims:
        for item in claim.evidence:
            if item.withheld:
                continue
            study = cited(item)
            known = found.setdefault(_key(study), study)
            notes = dict.fromkeys((*known.notes, _note(claim, item)))
            found[_key(study)] = replace(known, notes=tuple(notes))
    return list(found.values())


def unrated_claims(opened: OpenDossier) -> int:
    """How many claims have no verdict yet; a ClaimReview leaves them out."""
    return sum(claim.verdict == "unrated" for claim in opened.dossier.claims)


def _key(study: Citation) -> tuple[str, ...]:
    """What is the same for two copies of a study, also in different collections."""
    return (
        ("pmid", study.pmid)
        if study.pmid
        else ("doi", study.doi.lower())
        if study.doi
        else (study.collection, study.id)
    )


def _note(claim: DossierClaim, item: ChosenEvidence) -> str:
    note = f" Note: {item.note}" if item.note else ""
    return one_line(f"Claim: {claim.text} (verdict: {claim.verdict}). Quote: {item.quote}{note}")


def _as_table(opened: OpenDossier) -> str:
    file = io.StringIO()
    writer = csv.writer(file, quoting=csv.QUOTE_ALL)
    writer.writerow(EVIDENCE_TABLE_COLUMNS)
    for row in _rows(opened):
        writer.writerow([safe_cell(row.get(name, "")) for name in EVIDENCE_TABLE_COLUMNS])
    return file.getvalue()


def _rows(opened: OpenDossier) -> Iterator[Mapping[str, str]]:
    """A row for each piece of evidence, and one for a claim without any."""
    for claim in opened.dossier.claims:
        known = {"claim": claim.text, "verdict": claim.verdict, "notes": claim.notes, "source": claim.source}
        shown = [item for item in claim.evidence if not item.withheld]
        yield from ((known | _cells(item)) for item in shown)
        if not shown:
            yield known


def _cells(item: ChosenEvidence) -> dict[str, str]:
    study = cited(item)
    return {
        "title": item.title,
        "quote": item.quote,
        "stance": item.stance or "",
        "probability": "" if item.probability is None else f"{item.probability:.2f}",
        "evidence_note": item.note,
        "authors": "; ".join(study.authors),
        **{name: study.text(name) for name in _CITED_COLUMNS},
        "collection": item.collection,
        "document": item.document,
        "added": item.added,
        "remark": INVENTED if item.invented else "",
    }


def _as_json(opened: OpenDossier) -> str:
    item = opened.item
    about = {"id": item.id, "name": item.name, "owner": item.owner, "revision": item.revision}
    times = {"created": moment(item.created), "changed": moment(item.changed)}
    return _json({**about, **times, **opened.dossier.as_json()})


def _as_claim_reviews(opened: OpenDossier) -> str:
    # It is pasted into a script element of a page, which "</script>" in a claim would end.
    return _json(as_claim_reviews(opened.item, opened.dossier.claims)).replace("<", "\\u003c")


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


DOSSIER_FORMATS: Final[Mapping[str, DossierFormat]] = {
    "ris": DossierFormat(lambda opened: as_ris(citations_of(opened)), "application/x-research-info-systems", "ris"),
    "bibtex": DossierFormat(lambda opened: as_bibtex(citations_of(opened)), "application/x-bibtex", "bib"),
    "csv": DossierFormat(_as_table, "text/csv", "csv"),
    "json": DossierFormat(_as_json, "application/json", "json"),
    "claimreview": DossierFormat(_as_claim_reviews, "application/ld+json", "jsonld", "-rated-claims"),
}
