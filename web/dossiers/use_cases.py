"""What a caller can do with dossiers, the same over every interface; changes and readings are in the access log."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Final

from mappings.collection import Collection
from mappings.dossiers import changes
from mappings.dossiers.changes import DossierEdit
from mappings.dossiers.dossier import Dossier, DossierClaim, Stamp
from mappings.dossiers.parse import check_claim, parse_dossier
from mappings.errors import Conflict, NotFound
from search.kept.items import MOST_CONTENT_BYTES, MOST_NAME_CHARACTERS, KeptDraft, KeptItem, KeptPage
from web.dossiers.snapshots import PassageChoice, snapshot
from web.kept.live_documents import LiveDocuments, live_documents
from web.kept.use_cases import KeptUseCases
from web.use_cases import UseCases

_ATTEMPTS: Final = 3
_NAMED_AFTER: Final = 80


@dataclass(frozen=True, slots=True)
class OpenDossier:
    """A kept dossier with its content; `own`: the caller is its owner, and can change it."""

    item: KeptItem
    dossier: Dossier
    own: bool


@dataclass(frozen=True, slots=True)
class DossierUseCases:
    """The dossiers of the caller of `use_cases`, and those that others share with them, which they can only read."""

    use_cases: UseCases

    def get(self, identifier: str) -> OpenDossier:
        """A dossier that the caller sees. Raises `NotFound`, also for an item of another kind."""
        item = self._kept.get(identifier)
        if item.kind != "dossier":
            raise NotFound(f"there is no dossier {identifier[:100]!r} that you may see", field="id")
        return OpenDossier(item, parse_dossier(item.content), item.owner == self._user)

    def page(self, size: int, after: str = "") -> KeptPage:
        """A page of the dossiers that the caller sees, what was changed last first. Raises `InvalidInput`."""
        return self._kept.list_items("dossier", None, size, after)

    def create(self, name: str, shared_with: frozenset[str] = frozenset()) -> KeptItem:
        """Begin a dossier. Raises the errors of a kept item that is added."""
        return self._kept.add(KeptDraft("dossier", name, changes.begun(self._stamp()).as_json(), "", shared_with))

    def rename(self, identifier: str, revision: int, name: str, shared_with: frozenset[str]) -> KeptItem:
        """Give a dossier of the caller another name, or share it otherwise. Raises the errors of `change`."""
        opened = self._opened(identifier, revision)
        dossier = changes.renamed(opened.dossier, opened.item.name, name, self._stamp())
        return self._stored(replace(opened.item, name=name, shared_with=shared_with), dossier)

    def delete(self, identifier: str, revision: int) -> KeptItem:
        """Delete a dossier of the caller. Raises the errors of `change`."""
        return self._kept.delete(self._opened(identifier, revision).item.id, revision)

    def add_claim(self, identifier: str, revision: int, text: str) -> KeptItem:
        """Add a claim. Raises the errors of `change`, and `InvalidInput` for a text that is empty or too long."""
        return self.change(identifier, revision, partial(_claim_added, check_claim(text)))

    def change(self, identifier: str, revision: int, edit: DossierEdit) -> KeptItem:
        """Change the content of a dossier of the caller that still has this revision; an edit without effect stores nothing.

        Raises `NotFound`, `Forbidden` for a dossier of another user, `Conflict` for another revision and for a dossier
        that is full.
        """
        opened = self._opened(identifier, revision)
        dossier = edit(opened.dossier, self._stamp())
        return opened.item if dossier == opened.dossier else self._stored(opened.item, dossier)

    def add_evidence(self, identifier: str, claim: str, choice: PassageChoice) -> tuple[KeptItem, int]:
        """(dossier, number of the claim) with chosen sentences as evidence for a claim, which is added unless it is there.

        `identifier` is the dossier's; empty: a new one, named after the claim. A search page does not know revisions, and
        an addition takes nothing away, so it is repeated where another change came between. Raises the errors of `change`,
        and `InvalidInput`, `NotFound` and `Conflict` for sentences that can't be taken.
        """
        text, stamp = check_claim(claim), self._stamp()
        collection = self._collection(choice.collection)
        stored = self.use_cases.document(collection.name, choice.document, "document")
        evidence = snapshot(choice, stored, collection, stamp.at)

        def edit(dossier: Dossier, stamp: Stamp) -> Dossier:
            known = dossier if dossier.claim_of(text) else changes.with_claim(dossier, text, stamp)
            return changes.with_evidence(known, _claim_of(known, text).number, evidence, stamp)

        item = self._added(identifier, edit) if identifier else self._begun(text, edit)
        return item, _claim_of(parse_dossier(item.content), text).number

    def documents(self, dossier: Dossier) -> LiveDocuments:
        """The documents of the evidence that still exist and that the caller can see."""
        chosen = (item for claim in dossier.claims for item in claim.evidence if not item.withheld)
        return live_documents(self.use_cases, ((item.collection, item.document) for item in chosen))

    def _collection(self, name: str) -> Collection:
        return self.use_cases.named(name, "document")

    def _added(self, identifier: str, edit: DossierEdit) -> KeptItem:
        for attempt in range(_ATTEMPTS):
            revision = self.get(identifier).item.revision
            try:
                return self.change(identifier, revision, edit)
            except Conflict as error:
                if error.field != "revision" or attempt == _ATTEMPTS - 1:
                    raise
        raise AssertionError("the last attempt returns or raises")

    def _begun(self, claim: str, edit: DossierEdit) -> KeptItem:
        stamp = self._stamp()
        dossier = changes.fitted(edit(changes.begun(stamp), stamp), MOST_CONTENT_BYTES)
        return self._kept.add(KeptDraft("dossier", self._free_name(claim), dossier.as_json()))

    def _free_name(self, claim: str) -> str:
        """A name after the claim that none of the caller's dossiers has."""
        printable = "".join(letter if letter.isprintable() else " " for letter in claim)
        stem = " ".join(printable.split())[:_NAMED_AFTER].strip() or "Dossier"
        name, number = stem, 1
        while self.use_cases.medley.kept.named(self.use_cases.caller.access, "dossier", name):
            number += 1
            name = f"{stem[: MOST_NAME_CHARACTERS - 10]} ({number})"
        return name

    def _opened(self, identifier: str, revision: int) -> OpenDossier:
        opened = self.get(identifier)
        opened.item.check_owner(self.use_cases.caller.access)
        # Before the edit, which could fail for a reason that only the other change explains.
        opened.item.check_revision(revision)
        return opened

    def _stored(self, item: KeptItem, dossier: Dossier) -> KeptItem:
        content = changes.fitted(dossier, MOST_CONTENT_BYTES).as_json()
        draft = KeptDraft("dossier", item.name, content, item.collection, item.shared_with)
        return self._kept.replace(item.id, item.revision, draft)

    def _stamp(self) -> Stamp:
        return Stamp(datetime.now(UTC).isoformat(timespec="seconds"), self._user)

    @property
    def _kept(self) -> KeptUseCases:
        return KeptUseCases(self.use_cases)

    @property
    def _user(self) -> str:
        return self.use_cases.caller.access.user


def _claim_added(text: str, dossier: Dossier, stamp: Stamp) -> Dossier:
    return changes.with_claim(dossier, text, stamp)


def _claim_of(dossier: Dossier, text: str) -> DossierClaim:
    found = dossier.claim_of(text)
    assert found  # noqa: S101 - the caller has just added it
    return found
