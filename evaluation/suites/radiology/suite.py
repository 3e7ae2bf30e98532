"""The suite `radiology`: complete rankings of all sentences, by each system, for findings that are there or not.

It asks encoders directly: what is compared are encoders, and mAP needs every sentence in the ranking.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from encoders.artifact import Artifact, find
from encoders.labels.tasks.findings import TASK
from evaluation.baselines import lexical
from evaluation.baselines.prepared import plain_tokens
from evaluation.index import home
from evaluation.statistics import compare, interval
from evaluation.suites.radiology import crossfit
from evaluation.suites.radiology import judgements as radiology
from evaluation.suites.radiology.judgements import Judgements, Scoring, Values
from mappings import collection as kinds
from mappings.errors import InvalidInput, ModelError, Unavailable
from search.bootstrap import Medley
from search.models.registry import HASHING
from search.protocols import Encoder
from search.settings import Settings

SUITE: Final = "radiology"
COLLECTION: Final = "reports"
BM25, OKAPI, TFIDF, DENSE, BASELINE, FOLDS = "bm25", "rank-bm25 BM25Okapi", "tf-idf", "dense", "baseline", "2-fold"
BESIDE: Final = f" + {BM25}"
"""After an encoder's name: its cosines beside BM25's scores."""
TWICE: Final = f"{BESIDE}, feedback"
"""After an encoder's name: the same, searched twice."""
AT_ONCE: Final = 256
"""Sentences encoded between two steps of the progress."""

Progress = Callable[[int, int], None]
Report = dict[str, Any]


class System(NamedTuple):
    """What ranks the sentences. `encoder`: it scores any query by itself; `note`: what was chosen for a fused one."""

    name: str
    scoring: Scoring
    encoder: bool = False
    note: str = ""


def run(
    settings: Settings,
    queries: int | None = None,
    folds: Path | None = None,
    baseline: str = "",
    variants: bool = True,
    progress: Progress | None = None,
) -> Report:
    """The suite's report in the stable JSON form.

    `folds` holds the models fold-1 and fold-2, each trained on the findings of its fold and asked for those of the
    other; `baseline` names a further bi-encoder, such as an untrained one. Raises `InvalidInput`, `NotFound`, `ModelError`.
    """
    started = time.perf_counter()
    whole = radiology.judgements(settings)
    found = whole.sampled(queries)
    medley = Medley.open(home(settings))
    named = _encoders(medley, baseline, folds)
    systems = list(_systems(found, named, progress))
    values = {system.name: radiology.measured(found, system.scoring) for system in systems}
    apart = {
        system.name: np.concatenate(radiology.separations(found, system.scoring))
        for system in systems
        if system.encoder
    }
    sample = {"queries": len(found.queries), "of": len(whole.queries), "fixed": True}
    return {
        "suite": SUITE,
        "collection": COLLECTION,
        "queries": len(found.queries),
        "sample": sample if len(found.queries) < len(whole.queries) else None,
        "rows": [row for system in values for row in _rows(found, system, values[system], apart.get(system), variants)],
        "tests": _tests(values),
        "published": [item.as_json() for item in radiology.PUBLISHED],
        "notes": _notes(found, systems, named, apart),
        "command": command(queries, folds, baseline, variants),
        "seconds": round(time.perf_counter() - started, 1),
    }


def require(settings: Settings, folds: Path | None, baseline: str) -> None:
    """Raise as `run` does where one of its encoders can't be asked."""
    _encoders(Medley.open(home(settings)), baseline, folds)


def decided(
    settings: Settings, queries: int | None, folds: Path | None, baseline: str, variants: bool
) -> tuple[str, Any]:
    """The command of the report, and all that decides it: sentences, queries and encoders."""
    found = radiology.judgements(settings).sampled(queries)
    named = _encoders(Medley.open(home(settings)), baseline, folds)
    asked = [
        (judged.text, judged.fold, np.packbits(judged.relevant).tobytes().hex(), int(judged.ranked.sum()))
        for judged in found.queries
    ]
    prints = {system: [encoder.fingerprint for encoder in encoders] for system, encoders in named.items()}
    return command(queries, folds, baseline, variants), [found.texts, asked, prints, settings.form, settings.device]


def command(queries: int | None, folds: Path | None, baseline: str, variants: bool) -> str:
    """The command line that prints this report."""
    words = [f"medley evaluate {SUITE}"]
    words += [f"--queries {queries}"] if queries else []
    words += [f"--folds {folds.name}"] if folds else []
    words += [f"--baseline {Path(baseline).name}"] if baseline else []
    return " ".join([*words, *(["--no-variants"] if not variants else [])])


def _encoders(medley: Medley, baseline: str, folds: Path | None) -> dict[str, tuple[Encoder, ...]]:
    """System -> its encoder, or one for each fold: the first is trained on fold 1."""
    settings = medley.settings
    vectors = kinds.load(COLLECTION, None, settings.collections).vectors
    named: dict[str, tuple[Encoder, ...]] = {}
    for system, name in ((DENSE, settings.encoder or next(iter(vectors.values()), "")), (BASELINE, baseline)):
        if name:
            named[system] = (medley.models.encoder(name),)
            _refuse_taught(medley, name, fold=0)
    if folds:
        named[FOLDS] = tuple(_of_fold(medley, folds / f"fold-{fold}", fold) for fold in (1, 2))
    return named


def _of_fold(medley: Medley, model: Path, fold: int) -> Encoder:
    try:
        encoder = medley.models.encoder(str(model.absolute()))
    except ModelError as error:
        message = (
            f"{model} is no usable bi-encoder ({error.message}); a folder of folds holds the models fold-1 and fold-2"
        )
        raise InvalidInput(message, field="folds") from error
    _refuse_taught(medley, str(model.absolute()), fold)
    return encoder


def _refuse_taught(medley: Medley, name: str, fold: int) -> None:
    """Raise `InvalidInput` where the model's card says that it learnt findings it is asked for: all but those of `fold`."""
    if name == HASHING or medley.models.servers is not None:
        return
    data = Artifact.open(find(name, medley.models.folders())).manifest.get("card", {}).get("data", {})
    if TASK in data.get("training_pairs", {}) and (not fold or data.get("fold") != fold):
        taught = f"fold {data['fold']}" if data.get("fold") else "all of them"
        asked = f"those of fold {3 - fold}" if fold else "all of them"
        raise InvalidInput(
            f"{Path(name).name} was trained on findings ({taught}) and is asked for {asked}", field="folds"
        )


def _systems(
    found: Judgements, named: Mapping[str, tuple[Encoder, ...]], progress: Progress | None
) -> Iterator[System]:
    words = _each(lexical.bm25(found.texts))
    yield System(BM25, words)
    yield System(OKAPI, _each(_okapi(found.texts)))
    yield System(TFIDF, _each(lexical.tfidf(found.texts)))
    lexical_scores = words([item.text for item in found.queries])
    for name, encoders in named.items():
        matrices = [_encoded(encoder, found.texts, progress) for encoder in encoders]
        yield System(name, _dense(found, encoders, matrices), encoder=True)
        yield from _beside(name, found, lexical_scores, encoders, matrices)


def _beside(
    name: str, found: Judgements, words: Values, encoders: Sequence[Encoder], matrices: Sequence[Values]
) -> Iterator[System]:
    """The encoders beside BM25, and so with feedback."""
    own = [_place(item.fold, encoders) for item in found.queries]
    vectors = [
        encoders[place].encode_queries([item.text])[0].astype(np.float64)
        for place, item in zip(own, found.queries, strict=True)
    ]
    sentences = [matrices[place] for place in own]
    cosines = np.stack([matrix @ vector for matrix, vector in zip(sentences, vectors, strict=True)])
    scores, shares = crossfit.fused(found, words, cosines)
    told = " and ".join(f"fold {fold} is {share:g}" for fold, share in shares.items())
    how = "chosen on the queries of the other fold" if len(shares) > 1 else "as there is no other fold to choose by"
    yield System(f"{name}{BESIDE}", lambda _: scores, note=f"BM25's share in {told}, {how}")
    again, ways = crossfit.fed_back(found, words, vectors, sentences, shares)
    told = " and ".join(
        f"fold {fold} is {f'{way.share:g} from the best {way.passages}' if way else 'none'}"
        for fold, way in ways.items()
    )
    yield System(f"{name}{TWICE}", lambda _: again, note=f"feedback in {told}, {how}")


def _place(fold: int, encoders: Sequence[Encoder]) -> int:
    """Which encoder a query of `fold` is asked of: the only one, or the one that was trained on the other fold."""
    return 0 if len(encoders) == 1 else 2 - fold


def _each(score: lexical.Scorer) -> Scoring:
    return lambda queries: np.stack([score(text) for text in queries])


def _okapi(texts: Sequence[str]) -> lexical.Scorer:
    try:
        model = importlib.import_module("rank_bm25").BM25Okapi([plain_tokens(text) for text in texts])
    except ModuleNotFoundError as error:
        raise Unavailable("the reference row needs rank-bm25: pip install -e '.[eval]'", field="eval") from error
    return lambda query: np.asarray(model.get_scores(plain_tokens(query)), dtype=np.float64)


def _encoded(encoder: Encoder, texts: Sequence[str], progress: Progress | None) -> Values:
    parts = []
    for start in range(0, len(texts), AT_ONCE):
        parts.append(encoder.encode_passages(texts[start : start + AT_ONCE]))
        if progress:
            progress(min(start + AT_ONCE, len(texts)), len(texts))
    return np.concatenate(parts).astype(np.float64)


def _dense(found: Judgements, encoders: Sequence[Encoder], matrices: Sequence[Values]) -> Scoring:
    """Cosines. With two encoders each query is asked of the one that was trained on the other fold."""

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


def _rows(
    found: Judgements, system: str, values: Mapping[str, Values], apart: Values | None, variants: bool
) -> list[Report]:
    measures = _estimates(values)
    if apart is not None:
        measures["separation"] = interval(apart).as_json() | {"deviation": round(float(apart.std()), 6)}
    rows: list[Report] = [{"system": system, "measures": measures}]
    present = np.array([item.concept.present for item in found.queries])
    for name, chosen in (("positive", present), ("negative", ~present)):
        if variants and chosen.any():
            some = {measure: found_values[chosen] for measure, found_values in values.items()}
            rows.append({"system": f"{system}, {name}", "measures": _estimates(some)})
    return rows


def _estimates(values: Mapping[str, Values]) -> dict[str, dict[str, float]]:
    return {measure: interval(found).as_json() for measure, found in values.items()}


def _tests(values: Mapping[str, Mapping[str, Values]]) -> list[Report]:
    """In AP: each encoder, alone and beside BM25, against BM25, and the folds against the baseline and against its like."""
    ways = ("", BESIDE, TWICE)
    pairs = [(f"{system}{way}", BM25) for way in ways for system in (DENSE, BASELINE, FOLDS)]
    pairs += [(f"{FOLDS}{way}", BASELINE) for way in ways]
    pairs += [(f"{FOLDS}{way}", f"{BASELINE}{way}") for way in ways[1:]]
    return [_test(first, second, values) for first, second in pairs if first in values and second in values]


def _test(first: str, second: str, values: Mapping[str, Mapping[str, Values]]) -> Report:
    found = compare(values[first]["AP"], values[second]["AP"])
    return {
        "system": first,
        "against": second,
        "measure": "AP",
        "difference": found.difference.as_json(),
        "ratio": round(float(values[first]["AP"].mean() / values[second]["AP"].mean()), 4),
        "p": round(found.p, 5),
    }


def _notes(
    found: Judgements,
    systems: Sequence[System],
    named: Mapping[str, tuple[Encoder, ...]],
    apart: Mapping[str, Values],
) -> list[str]:
    positive = sum(item.concept.present for item in found.queries)
    return [
        f"{len(found.texts):,} distinct sentences, all ranked; {positive} positive and {len(found.queries) - positive} negative "
        f"queries with at least {radiology.LEAST} matching sentences; labels by the project's own lexicon",
        "AP is averaged over queries (mAP); Rprec is the recall at as many sentences as match, the paper's mean recall",
        *(
            f"separation of {system}: {item.mean():.3f} ± {item.std():.3f} over {item.size:,} labels"
            for system, item in apart.items()
        ),
        *(f"{system.name}: {system.note}" for system in systems if system.note),
        *(
            f"{system}: {', '.join(encoder.fingerprint[:12] for encoder in encoders)}"
            for system, encoders in named.items()
        ),
    ]
