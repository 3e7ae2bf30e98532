"""PubMed's citations: XML with the root PubmedArticleSet or MedlineCitationSet, as NLM distributes it.

The sections of an abstract keep their labels. A citation without an abstract is indexed by its title. `DeleteCitation`
lists the citations that NLM withdrew. Abstracts in other languages (OtherAbstract) are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

from lxml import etree

from mappings.collection import Collection
from mappings.documents import Deletion, Document, Rejection, Section, check_id, clean
from mappings.errors import InvalidInput
from mappings.formats.fields import MAX_KEYWORD_CHARACTERS, dropped_of, fields_of, keywords
from mappings.formats.files import LocatedItem, parse_or_reject
from mappings.formats.jsonl import split
from mappings.formats.medline_dates import published, source_version
from mappings.formats.xml_elements import Shape, XmlRecord, elements, plain, texts

SHAPE: Final[Shape] = {
    "PubmedArticleSet": ("PubmedArticle", "PubmedBookArticle", "DeleteCitation"),
    "MedlineCitationSet": ("MedlineCitation", "DeleteCitation"),
}
_NO_TITLE: Final = frozenset({"", "not available", "in process citation"})
_NOTICES: Final = {
    "RetractionIn": "Retraction in",
    "RetractionOf": "Retraction of",
    "ExpressionOfConcernIn": "Expression of concern in",
    "RetractedandRepublishedIn": "Retracted and republished in",
    "ErratumIn": "Erratum in",
    "UpdateIn": "Update in",
    "UpdateOf": "Update of",
}
"""What NLM calls a reference to a later or earlier publication, and what readers do."""
_NO_LABEL: Final = frozenset({"", "UNASSIGNED", "UNLABELLED", "UNLABELED"})


def read(path: Path, collection: Collection) -> Iterator[LocatedItem]:
    """The citations of a file, and the deletions."""
    source = str(path)
    for item in elements(path, SHAPE):
        if isinstance(item, Rejection):
            yield LocatedItem(item.position, item)
        elif item.element.tag == "DeleteCitation":
            for pmid in item.element.iterfind("PMID"):
                yield parse_or_reject(source, _position(item, plain(pmid)), partial(_deletion, plain(pmid)))
        else:
            position = _position(item, plain(item.element.find(".//PMID")))
            yield parse_or_reject(source, position, partial(parse, item.element, collection))


def _position(record: XmlRecord, pmid: str) -> str:
    return f"PMID {pmid[:40]}" if pmid else record.position


def _deletion(pmid: str) -> Deletion:
    return Deletion(_id(pmid))


def _id(pmid: str) -> str:
    if not pmid:
        raise InvalidInput("PMID is missing: it must be the id of the document", field="PMID")
    check_id(pmid)
    return pmid


def parse(element: etree._Element, collection: Collection) -> Document:
    """One citation: a PubmedArticle, or a MedlineCitation by itself. Raises `InvalidInput`."""
    if element.tag == "PubmedBookArticle":
        raise InvalidInput(
            "PubmedBookArticle is not accepted: a chapter of a book is not a citation", field="PubmedBookArticle"
        )
    citation = element if element.tag == "MedlineCitation" else element.find("MedlineCitation")
    article = None if citation is None else citation.find("Article")
    if article is None:
        raise InvalidInput("Article is missing: it contains the title and the abstract", field="Article")
    pmid = _id(plain(citation.find("PMID")))
    values = {"pmid": pmid, **_values(element, citation, article)}
    return Document(
        id=pmid,
        title=_title(article),
        sections=_sections(article, collection),
        labels=collection.default_labels,
        fields=fields_of(values, collection),
        source_version=source_version(citation),
        dropped=dropped_of(values, collection, ("source",)),
    )


def _title(article: etree._Element) -> str:
    title = plain(article.find("ArticleTitle"))
    return plain(article.find("VernacularTitle")) if title.strip("[]. ").lower() in _NO_TITLE else title


def _sections(article: etree._Element, collection: Collection) -> tuple[Section, ...]:
    parts = (Section(_heading(part), plain(part)) for part in article.iterfind("Abstract/AbstractText"))
    found = tuple(part for part in parts if part.text)
    return split(found[0].text, collection) if len(found) == 1 and not found[0].heading else found


def _heading(part: etree._Element) -> str:
    labels = (clean(part.get(name, "")).strip() for name in ("Label", "NlmCategory"))
    return next((label for label in labels if label.upper() not in _NO_LABEL), "")


def _values(element: etree._Element, citation: etree._Element, article: etree._Element) -> dict[str, Any]:
    """The values of the fields that a kind can declare, by name."""
    headings = citation.findall("MeshHeadingList/MeshHeading")
    return {
        "source": "PubMed",
        **_journal(citation, article),
        "authors": keywords(filter(None, map(_author, article.iterfind("AuthorList/Author")))),
        "mesh": keywords(name for heading in headings for name in texts(heading, "DescriptorName")),
        "mesh_major": keywords(
            name for heading in headings if _major(heading) for name in texts(heading, "DescriptorName")
        ),
        "keywords": keywords(texts(citation, "KeywordList/Keyword")),
        "language": keywords(texts(article, "Language")),
        "type": keywords(texts(article, "PublicationTypeList/PublicationType")),
        "doi": _doi(element, article),
        "notices": keywords(_notices(citation)),
        **published(article.find("Journal/JournalIssue/PubDate")),
    }


def _notices(citation: etree._Element) -> Iterator[str]:
    """What was published of the article later, such as "Retraction in: Lancet. 2020;395:1820 (PMID 32511943)"."""
    for item in citation.iterfind("CommentsCorrectionsList/CommentsCorrections"):
        kind, place, pmid = (
            _NOTICES.get(item.get("RefType", "")),
            plain(item.find("RefSource")),
            plain(item.find("PMID")),
        )
        if kind and (place or pmid):
            yield f"{kind}: {place}{f' (PMID {pmid})' if pmid else ''}"[:MAX_KEYWORD_CHARACTERS]


def _journal(citation: etree._Element, article: etree._Element) -> dict[str, str]:
    """The journal and the article's place in it; a value that is missing is empty."""
    short = texts(article, "Journal/ISOAbbreviation") + texts(citation, "MedlineJournalInfo/MedlineTA") + [""]
    journal = (texts(article, "Journal/Title") + short)[0]
    found = {
        "journal": journal,
        "journal_abbreviation": short[0] if short[0] != journal else "",
        "volume": plain(article.find("Journal/JournalIssue/Volume")),
        "issue": plain(article.find("Journal/JournalIssue/Issue")),
        "pages": _pages(article),
    }
    return {name: value[:MAX_KEYWORD_CHARACTERS] for name, value in found.items()}


def _pages(article: etree._Element) -> str:
    """The pages as MEDLINE writes them, such as "123-9", otherwise from the first to the last."""
    first, last = (plain(article.find(f"Pagination/{name}")) for name in ("StartPage", "EndPage"))
    return plain(article.find("Pagination/MedlinePgn")) or "-".join(filter(None, (first, last)))


def _author(author: etree._Element) -> str:
    """The name as "Last, First" or "Last, First, Jr"; a group's name as it is; "" for one that NLM marks as invalid."""
    if author.get("ValidYN") == "N":
        return ""
    first = plain(author.find("ForeName")) or plain(author.find("Initials"))
    last = plain(author.find("LastName"))
    names = (last, first, plain(author.find("Suffix")))
    return ", ".join(filter(None, names)) if last else plain(author.find("CollectiveName"))


def _major(heading: etree._Element) -> bool:
    return any(part.get("MajorTopicYN") == "Y" for part in heading)


def _doi(element: etree._Element, article: etree._Element) -> str:
    """The article's own DOI; of several, the first that NLM does not mark as invalid."""
    valid = (item for item in article.iterfind("ELocationID[@EIdType='doi']") if item.get("ValidYN") != "N")
    other = texts(element, "PubmedData/ArticleIdList/ArticleId[@IdType='doi']")
    return next(filter(None, (*map(plain, valid), *other)), "")[:MAX_KEYWORD_CHARACTERS]
