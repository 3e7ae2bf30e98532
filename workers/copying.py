"""The documents of a store on their way elsewhere: into a backup, or into a store under another name."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from search.storage import ExportedVersion

CopiedDocuments = Callable[[int], None]
"""Called with how many more documents are saved, restored, copied or indexed."""


class CountedVersions:
    """Exported versions that are counted as they pass, and the jobs that brought them."""

    def __init__(self, versions: Iterator[ExportedVersion], on_progress: CopiedDocuments) -> None:
        self._versions, self._on_progress = versions, on_progress
        self.total = self.deleted = 0
        self.jobs: set[str] = set()

    def __iter__(self) -> Iterator[ExportedVersion]:
        for item in self._versions:
            self.total += 1
            self.deleted += item.content is None
            self.jobs |= {item.job} - {""}
            self._on_progress(1)
            yield item
