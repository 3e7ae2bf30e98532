"""What ranks the sentences in the suite `radiology`: lexical scores, encoders, and each encoder beside BM25."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from encoders.artifact import Artifact, find
from encoders.labels.sentences import INDIANA
from encoders.labels.tasks.findings import REPORTS_OF, TASK
from evaluation.baselines import lexical
from evaluation.baselines.prepared import plain_tokens
from evaluation.baselines.transformers import RunEncoder, describe_run, is_run
from evaluation.measures import Values
from evaluation.suite import Progress, SuiteOptions
from evaluation.suites.radiology import crossfit
from evaluation.suites.radiology.judgements import FindingJudgements, Scoring
from mappings import collection as kinds
from mappings.errors import InvalidInput, ModelError, Unavailable
from search.bootstrap import Medley
from search.models.registry import HASHING
from search.protocols import Encoder
from search.settings import Settings

COLLECTION: Final = "reports"
BM25, OKAPI, TFIDF = "bm25", "rank-bm25 BM25Okapi", "tf-idf"
DENSE, UNMARKED, BASELINE, FOLDS, ACROSS = "dense", "dense, unmarked", "baseline", "2-fold", "across"
OWN_RECIPE: Final = "radiology-fold"
"""The recipe of the folds' models that goes beyond the paper's: their rows need no name of it."""
BESIDE: Final = f" + {BM25}"
"""After an encoder's name: its cosines beside BM25's scores."""
TWICE: Final = f"{BESIDE}, feedback"
"""After an encoder's name: the same, searched twice."""
SHIPPED: Final = f"{BESIDE}, as shipped"
"""After the name of the kind's encoder: the same, with BM25's share of the kind."""
SENTENCES_PER_STEP: Final = 256
"""Sentences encoded between two steps of the progress."""

NamedEncoders = Mapping[str, tuple[Encoder, ...]]
"""System → its encoder, or one for each fold: the first is trained on fold 1."""


class System(NamedTuple):
    """What ranks the sentences. `encoder`: it scores any query by itself; `note`: what was chosen for a fused one."""

    name: str
    scoring: Scoring
    encoder: bool = False
    note: str = ""


def open_encoders(medley: Medley, options: SuiteOptions) -> NamedEncoders:
    """The encoders to compare. Raises `InvalidInput` for one that was trained on the findings it would rank for."""
    settings, reports = medley.settings, options.reports
    kind = kinds.load(COLLECTION, None, settings.collections)
    named: dict[str, tuple[Encoder, ...]] = {}
    for system, collection in ((UNMARKED, replace(kind, marking=None)), (DENSE, kind)):
        if kind.vectors:
            named[system] = tuple(medley.models.encoders(collection).values())[:1]
            _refuse_trained(medley, settings.encoder or next(iter(kind.vectors.values())), reports)
    for system, model in ((BASELINE, options.baseline), (ACROSS, options.across)):
        if model:
            named[system] = (_open(medley, model),)
            _refuse_trained(medley, model, reports)
    if options.folds:
        models = [options.folds / f"fold-{fold}" for fold in (1, 2)]
        encoders = tuple(_open_fold(medley, model, fold, reports) for fold, model in enumerate(models, 1))
        named[_name_folds(medley, models[0])] = encoders
    return named


def _name_folds(medley: Medley, model: Path) -> str:
    """`2-fold`, and the recipe of the models where it is not the project's own."""
    recipe = _card(medley, str(model.absolute())).get("recipe", {}).get("name", "")
    return FOLDS if recipe in ("", OWN_RECIPE) else f"{FOLDS} {recipe}"


def _open(medley: Medley, name: str) -> Encoder:
    """A bi-encoder by name or path, or that of a run."""
    return RunEncoder(Path(name)) if is_run(Path(name)) else medley.models.encoder(name)


def _card(medley: Medley, name: str) -> Mapping[str, Any]:
    """What is known of a model here: of a model directory its card, of a run what would be in it."""
    if name == HASHING or medley.models.servers is not None:
        return {}
    if is_run(Path(name)):
        return describe_run(Path(name))
    found: Mapping[str, Any] = Artifact.open(find(name, medley.models.folders())).manifest.get("card", {})
    return found


def shipped_share(settings: Settings) -> float | None:
    """BM25's share in the fusion of the kind; None if the kind fuses in another way than this suite, or searches twice."""
    kind = kinds.load(COLLECTION, None, settings.collections)
    legs = (BM25, *kind.vectors)
    total = sum(kind.fusion.weights.get(leg, 0.0) for leg in legs)
    alike = (kind.fusion.method, kind.fusion.normalisation) == ("weighted", "floor") and not kind.feedback
    return kind.fusion.weights.get(BM25, 0.0) / total if alike and len(legs) == 2 and total else None


def _open_fold(medley: Medley, model: Path, fold: int, reports: str) -> Encoder:
    try:
        encoder = _open(medley, str(model.absolute()))
    except ModelError as error:
        message = f"{model} is not a usable bi-encoder ({error.message}); --folds is a folder that holds the models fold-1 and fold-2"
        raise InvalidInput(message, field="folds") from error
    _refuse_trained(medley, str(model.absolute()), reports, fold)
    return encoder


def _refuse_trained(medley: Medley, name: str, reports: str, fold: int = 0) -> None:
    """Raise `InvalidInput` where the model's card says that it was trained on findings that it would rank for.

    Those are the findings of the same reports, of all folds but `fold`.
    """
    data = _card(medley, name).get("data", {})
    if TASK not in data.get("training_pairs", {}) or data.get(REPORTS_OF, INDIANA) != reports:
        return
    if not fold or data.get("fold") != fold:
        trained = f"fold {data['fold']}" if data.get("fold") else "all of them"
        ranked = f"those of fold {3 - fold}" if fold else "all of them"
        raise InvalidInput(
            f"{Path(name).name} was trained on findings ({trained}) and would be measured on {ranked}", field="folds"
        )


def build_systems(
    found: FindingJudgements, named: NamedEncoders, share: float | None, progress: Progress | None
) -> Iterator[System]:
    """All systems of the suite, the lexical ones first. `share` is BM25's share in the kind, for its own encoder."""
    words = _score_each(lexical.bm25(found.texts))
    yield System(BM25, words)
    yield System(OKAPI, _score_each(_okapi(found.texts)))
    yield System(TFIDF, _score_each(lexical.tfidf(found.texts)))
    lexical_scores = words([item.text for item in found.queries])
    for name, encoders in named.items():
        matrices = [_encode(encoder, found.texts, progress) for encoder in encoders]
        yield System(name, score_cosines(found, encoders, matrices), encoder=True)
        yield from _beside(name, found, lexical_scores, encoders, matrices, share if name == DENSE else None)


def _beside(
    name: str,
    found: FindingJudgements,
    words: Values,
    encoders: Sequence[Encoder],
    matrices: Sequence[Values],
    share: float | None,
) -> Iterator[System]:
    """The encoders beside BM25, without and with feedback, and with BM25's `share` if there is one."""
    own = [_place(item.fold, encoders) for item in found.queries]
    vectors = [
        encoders[place].encode_queries([item.text])[0].astype(np.float64)
        for place, item in zip(own, found.queries, strict=True)
    ]
    sentences = [matrices[place] for place in own]
    cosines = np.stack([matrix @ vector for matrix, vector in zip(sentences, vectors, strict=True)])
    scores, shares = crossfit.fuse_scores(found, words, cosines)
    chosen = " and ".join(f"fold {fold} is {share:g}" for fold, share in shares.items())
    how = "chosen on the queries of the other fold" if len(shares) > 1 else "as there is no other fold to choose by"
    yield System(f"{name}{BESIDE}", lambda _: scores, note=f"BM25's share in {chosen}, {how}")
    again, ways = crossfit.apply_feedback(found, words, vectors, sentences, shares)
    chosen = " and ".join(
        f"fold {fold} is {f'{way.share:g} from the best {way.passages}' if way else 'none'}"
        for fold, way in ways.items()
    )
    yield System(f"{name}{TWICE}", lambda _: again, note=f"feedback in {chosen}, {how}")
    if share is not None:
        shipped = crossfit.mix_scores(words, cosines, share)
        yield System(f"{name}{SHIPPED}", lambda _: shipped, note=f"BM25's share is {share:g}, the kind's")


def _place(fold: int, encoders: Sequence[Encoder]) -> int:
    """Which encoder ranks for a query of `fold`: the only one, or the one that was trained on the other fold."""
    return 0 if len(encoders) == 1 else 2 - fold


def _score_each(score: Callable[[str], Values]) -> Scoring:
    return lambda queries: np.stack([score(text) for text in queries])


def _okapi(texts: Sequence[str]) -> Callable[[str], Values]:
    try:
        from rank_bm25 import BM25Okapi
    except ModuleNotFoundError as error:
        raise Unavailable("the reference row needs rank-bm25: pip install -e '.[eval]'", field="eval") from error
    model = BM25Okapi([plain_tokens(text) for text in texts])
    return lambda query: np.asarray(model.get_scores(plain_tokens(query)), dtype=np.float64)


def _encode(encoder: Encoder, texts: Sequence[str], progress: Progress | None) -> Values:
    """The sentences' vectors, shape (n, d)."""
    parts = []
    for start in range(0, len(texts), SENTENCES_PER_STEP):
        parts.append(encoder.encode_passages(texts[start : start + SENTENCES_PER_STEP]))
        if progress:
            progress(min(start + SENTENCES_PER_STEP, len(texts)), len(texts))
    return np.concatenate(parts).astype(np.float64)


def score_cosines(found: FindingJudgements, encoders: Sequence[Encoder], matrices: Sequence[Values]) -> Scoring:
    """Cosines. Of two encoders each query goes to the one that was trained on the other fold."""

    def score(queries: Sequence[str]) -> Values:
        all_scores = [
            encoder.encode_queries(queries).astype(np.float64) @ matrix.T
            for encoder, matrix in zip(encoders, matrices, strict=True)
        ]
        if len(encoders) == 1:
            return np.asarray(all_scores[0])
        own = [_place(item.fold, encoders) for item in found.queries]
        return np.stack([all_scores[encoder][place] for place, encoder in enumerate(own)])

    return score
