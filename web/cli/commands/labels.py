"""`medley label`: training pairs without annotators; each subcommand makes them in a different way."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, Final

import click

from mappings.collection import Collection
from mappings.documents import Document, Rejection
from mappings.errors import InvalidInput
from search.settings import Settings, read
from web.cli.common import json_option, open_medley, show

folder = click.Path(path_type=Path, file_okay=False)
BATCH: Final = 500
EVERYTHING: Final = 2**62
NO_INDEX: Final = "label"
"""No index has this name, so for the store every document is pending in it."""


@click.group()
def label() -> None:
    """Make training pairs from documents and judgements."""


@label.command()
@click.argument("out", type=folder)
@json_option
def pairs(out: Path, as_json: bool) -> None:
    """Make training pairs and their corpora from the data sets of MEDLEY_DATA, into OUT."""
    from encoders.labels.run import label_datasets

    show(label_datasets(_data(read()), out), as_json)


@label.command("entity-aspect")
@click.argument("out", type=folder)
@click.argument("path", type=click.Path(path_type=Path), required=False)
@click.option("--collection", "-c", default=None, help="Label the documents of this collection.")
@click.option("--format", "-f", "format_", default="jsonl", show_default=True, help="The format of PATH.")
@click.option("--kind", default="notes", show_default=True, help="The collection kind of the documents in PATH.")
@click.option(
    "--lexicon",
    type=click.Path(path_type=Path, dir_okay=False),
    default=None,
    help="More entities, one a line: name, TAB, other names.",
)
@click.option("--per-passage", type=click.IntRange(1), default=1, show_default=True, help="Pairs per passage.")
@click.option("--seed", type=int, default=13, show_default=True, help="Seed for drawing entities and aspects.")
@json_option
def entity_aspect(
    out: Path, path: Path | None, collection: str | None, format_: str, kind: str, as_json: bool, **chosen: Any
) -> None:
    """Make pairs of an entity and an aspect from PATH, a collection, or the data sets of MEDLEY_DATA, into OUT."""
    from encoders.labels.self_label import label_data, label_documents
    from encoders.labels.tasks.entity_aspect import Labelling
    from mappings.analysis.entities import read_lexicon

    if path and collection:
        raise InvalidInput("give files or --collection, not both", field="collection")
    settings, lexicon = read(), chosen.pop("lexicon")
    labelling = Labelling(lexicon=read_lexicon(lexicon) if lexicon else None, **chosen)
    if path:
        documents, cut = _of_files(path, format_, kind, settings)
    elif collection:
        documents, cut = _of_collection(collection)
    else:
        show(label_data(_data(settings), out, labelling), as_json)
        return
    show(label_documents(documents, cut, out, labelling, settings.data), as_json)


@label.command()
@click.argument("labels", type=folder)
@json_option
def vectors(labels: Path, as_json: bool) -> None:
    """Train fastText vectors on the corpora in LABELS; each word's neighbours go to LABELS/neighbours.jsonl."""
    from encoders.labels.vectors import write_neighbours

    show(write_neighbours(labels), as_json)


@label.command()
@click.argument("labels", type=folder)
@click.argument("out", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--dimension", type=click.IntRange(2, 1024), default=128, show_default=True)
@click.option("--words", type=click.IntRange(1), default=9_000_000, show_default=True, help="At most so much text.")
@click.option(
    "--least", type=click.IntRange(1), default=5, show_default=True, help="Words that occur less often are left out."
)
@click.option("--epochs", type=click.IntRange(1, 100), default=3, show_default=True)
@json_option
def words(labels: Path, out: Path, as_json: bool, **chosen: int) -> None:
    """Train fastText vectors on the corpora in LABELS and write them to OUT, a file such as words.npz."""
    from encoders.words.fasttext import VectorTraining, train_words

    out.parent.mkdir(parents=True, exist_ok=True)  # before the training, which takes minutes
    vectors, count = train_words(labels, VectorTraining(**chosen))
    vectors.save(out)
    known = {"words": count, "vocabulary": len(vectors.words), "dimension": vectors.dimension}
    show(known | {"fingerprint": vectors.fingerprint}, as_json)


@label.command("read-words")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.argument("out", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--most", type=click.IntRange(1), default=100_000, show_default=True, help="The first so many words.")
@json_option
def read_words(file: Path, out: Path, most: int, as_json: bool) -> None:
    """Write vectors of words in text form (GloVe, word2vec, fastText's .vec) to OUT, a file such as words.npz."""
    from encoders.words.text_form import read_text_vectors

    vectors = read_text_vectors(file, most)
    out.parent.mkdir(parents=True, exist_ok=True)
    vectors.save(out)
    known = {"vocabulary": len(vectors.words), "dimension": vectors.dimension}
    show(known | {"fingerprint": vectors.fingerprint}, as_json)


@label.command()
@click.argument("pairs_file", metavar="PAIRS", type=click.Path(path_type=Path, dir_okay=False))
@click.argument("out", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--neighbours",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    help="A file made by `label vectors`.",
)
@click.option("--m", type=click.IntRange(1, 100), default=10, show_default=True, help="Variants per training pair.")
@click.option("--seed", type=int, default=13, show_default=True)
@json_option
def augment(pairs_file: Path, out: Path, neighbours: Path, m: int, seed: int, as_json: bool) -> None:
    """Write variants of the queries in PAIRS to OUT, half with similar words inserted, half with words replaced."""
    from encoders.labels.augment import augment as augment_pairs
    from encoders.labels.augment import read_neighbours
    from encoders.labels.pairs import read_pairs, task_of, write_lines

    found = [replace(pair, task=task_of(out)) for pair in read_pairs(pairs_file)]
    written = write_lines(out, augment_pairs(found, read_neighbours(neighbours), m, seed))
    show({"pairs": len(found), "variants": written - len(found)}, as_json)


def _of_files(path: Path, format_: str, kind: str, settings: Settings) -> tuple[Iterator[Document], Collection]:
    """The documents of files in any format that can be read; a bad record is reported on stderr and skipped."""
    from mappings.collection import load
    from mappings.formats.registry import read as read_files

    cut = load(kind, None, settings.collections)

    def documents() -> Iterator[Document]:
        for item in read_files(path, format_, cut):
            if isinstance(item, Document):
                yield item
            elif isinstance(item, Rejection):
                click.echo(f"skipped {item.source}, {item.position}: {item.reason}", err=True)

    return documents(), cut


def _of_collection(name: str) -> tuple[Iterator[Document], Collection]:
    """The documents in the store of a collection, whether indexed or not."""
    medley = open_medley(patient=True)
    store = medley.collections.store(name)

    def documents() -> Iterator[Document]:
        ids = iter([identifier for identifier, _ in store.pending(NO_INDEX, EVERYTHING)])
        while batch := list(islice(ids, BATCH)):
            for stored in store.latest(batch).values():
                if stored.document is not None:
                    yield stored.document

    return documents(), medley.collections.get(name)


@label.command()
@click.argument("out", type=folder)
@click.option(
    "--reports",
    type=click.Choice(["indiana", "mtsamples"]),
    default="indiana",
    show_default=True,
    help="Chest X-ray reports, or transcribed notes of radiology without those of the test fifth.",
)
@json_option
def findings(out: Path, reports: str, as_json: bool) -> None:
    """Label the sentences of X-ray reports in MEDLEY_DATA with the findings they affirm or rule out, into OUT."""
    from encoders.labels.tasks.findings import label_findings

    show(label_findings(_data(read()), out, reports), as_json)


def _data(settings: Settings) -> Path:
    if settings.data is None:
        raise InvalidInput("MEDLEY_DATA is not set: it must name the folder of the data sets", field="MEDLEY_DATA")
    return settings.data
