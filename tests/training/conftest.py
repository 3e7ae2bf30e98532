from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from label_data import LAY, write

BODY = (
    "Patients were assigned to one of two arms and followed for a year by nurses who did not know the arm. "
    "The primary outcome was measured at baseline, at six months and at the end, by a central laboratory. "
)
MASKED = (
    "Workers of two factories wore a mask, or none, for six weeks, and fell ill alike in both of them. "
    "Whoever coughed stayed at home and was telephoned each evening by a nurse of the works, who kept a list. "
)
REPORT = (
    "Dogs of both sexes slept in kennels of their own while a camera counted how often each of them woke at night. "
    "Light, noise and the keeper's visits were kept the same, and food came at dawn and at dusk from a machine. "
)


def abstract(number: int, title: str) -> dict[str, Any]:
    sections = [("BACKGROUND", f"{title} is common in ward {number}."), ("METHODS", BODY)]
    sections.append(
        ("CONCLUSIONS", f"We conclude that {title.lower()} falls by {number} percent with the new care. Good.")
    )
    return {
        "doc_id": f"pmc:{number}",
        "title": title,
        "sections": [{"label": label, "text": text} for label, text in sections],
    }


def claim(number: int, text: str, document: int) -> dict[str, Any]:
    return {"id": number, "claim": text, "evidence": {}, "cited_doc_ids": [document]}


def news(number: int, text: str, document: str, label: str) -> dict[str, Any]:
    return {"id": f"n{number}", "claim": text, "cord_id": document, "label": label, "evidence_set": []}


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder in the form of the public data sets, wholly invented, with a leak of every kind in it."""
    root = tmp_path_factory.mktemp("data")
    _claims(root)
    _abstracts(root)
    _health(root)
    _questions(root)
    _summaries(root)
    _further(root)
    write(
        root / "mtsamples/notes.jsonl.gz",
        [
            {"id": f"mts{n:04}", "name": f"Knee Pain - {n}", "description": f"A patient number {n} with a sore knee.",
             "text": f"HISTORY OF PRESENT ILLNESS:,  Pain number {word} began after a long walk in the hills last week.,"
                     f"PLAN: , Rest, ice and a visit number {word} to the physiotherapist within the next ten days."}
            for n, word in enumerate(["one", "two", "three", "four", "five", "six", "seven", "eight"], 1)
        ],
    )  # fmt: skip
    return root


def _claims(root: Path) -> None:
    corpus = [
        {"doc_id": n, "title": f"Trial {n} of statins", "abstract": [f"Statin {n} was given.", BODY]} for n in range(6)
    ]
    write(root / "scifact/corpus.jsonl.gz", corpus)
    train = [claim(1, "Statin zero lowers the risk of stroke.", 0), claim(2, "Statin one raises appetite in mice.", 1)]
    write(root / "scifact/claims_train.jsonl.gz", train)
    write(root / "scifact/claims_dev.jsonl.gz", [claim(9, "Statin one lowers appetite in mice.", 5)])
    write(root / "check_covid/corpus.jsonl.gz", [{"cord_id": "c1", "title": "Masks at work", "abstract": [MASKED]}])
    found = [news(1, "Masks stop the virus.", "c1", "SUPPORT"), news(2, "Masks are old.", "c1", "NOTENOUGHINFO")]
    write(root / "check_covid/claims_train.jsonl.gz", found)
    write(root / "check_covid/claims_dev.jsonl.gz", [news(3, "Vaccines work in the elderly.", "c1", "SUPPORT")])
    sentence = "Honey at low dilutions inhibits the attachment of bacteria to tissue"
    for name, extra in (("train", "Sweet drinks harm teeth in the young"), ("test", sentence)):
        record = {"original_file_id": name, "press_release_conclusion": f"News: {extra}!", "abstract_conclusion": extra}
        write(root / f"press_releases/insciout_{name}.jsonl.gz", [record])


def _abstracts(root: Path) -> None:
    titles = [f"Care bundle {number} for pressure ulcers in older people" for number in range(40)]
    pool = [abstract(number, title) for number, title in enumerate(titles)]
    pool += [abstract(90, "Masks at work"), abstract(91, "Trial 5 of statins")]
    quoting = abstract(92, "An honest title about honey and bacteria")
    quoting["sections"][1]["text"] += "Honey at low dilutions inhibits the attachment of bacteria to tissue."
    retitled = {"doc_id": "pmc:93", "title": "Factories in winter", "sections": [{"label": "", "text": MASKED.upper()}]}
    write(root / "abstracts/abstracts.jsonl.gz", [*pool, quoting, retitled])
    write(root / "cystic_fibrosis/corpus.jsonl.gz", [{"doc_id": "1", "title": "Mucus", "abstract": "Thick."}])
    write(root / "cystic_fibrosis/queries.jsonl.gz", [{"query_id": "1", "text": "What makes mucus thick?"}])
    question = {"id": "7", "QUESTION": titles[0], "CONTEXTS": ["One.", "Two."]}
    write(root / "pubmedqa/questions.jsonl.gz", [question, {**question, "id": "8", "QUESTION": "Masks at work"}])
    trials = [
        {"pmcid": str(n), "title": f"Trial report {n}", "abstract_sections": [{"label": "", "text": f"{word} {BODY}"}]}
        for n, word in (
            (1, "Aspirin and a placebo were compared by a blinded pharmacist in forty wards." * 3),
            (2, REPORT),
        )
    ]
    write(root / "evidence_inference/abstracts.jsonl.gz", trials)
    prompts = [
        {
            "PromptID": str(10 * n + m),
            "PMCID": str(n),
            "Outcome": f"pain on day {n}",
            "Intervention": "aspirin",
            "Comparator": "placebo",
        }
        for n in (1, 2)
        for m in range(3)
    ]
    write(root / "evidence_inference/prompts.jsonl.gz", prompts)
    (root / "evidence_inference/train_article_ids.txt").write_text("1\n")
    found = {"PromptID": "10", "PMCID": "1", "Label": "significantly decreased"}
    said = "Aspirin and a placebo were compared by a blinded pharmacist in forty wards."
    write(root / "evidence_inference/annotations.jsonl.gz", [{**found, "Annotations": said}])


def _health(root: Path) -> None:
    def document(number: int, title: str, text: str) -> dict[str, Any]:
        kinds = ("symptoms", "treatment")
        passages = [
            {"id": f"d{number}-{at}", "question": f"What are the {kind} of {title} ?", "question_type": kind,
             "text": f"{text} The {kind} of number {number} are described in the guide of the clinic."}
            for at, kind in enumerate(kinds)
        ]  # fmt: skip
        return {"id": f"d{number}", "title": title, "passages": passages}

    documents = [
        document(n, f"Disease {n}", f"Disease {n} is rare and its cause number {n} is unknown.") for n in range(12)
    ]
    evaluated = document(50, "Judged syndrome", "The judged syndrome is inherited from one parent.")
    copied = document(51, "Copied syndrome", "Something of its own stands here in this text.")
    copied["passages"][0]["text"] = evaluated["passages"][0]["text"].upper()
    same_entity = document(52, "JUDGED SYNDROME", "Another article on the same entity.")
    write(root / "medquad/documents.jsonl.gz", [*documents, evaluated, copied, same_entity])
    judged = {"passage": "d50-0", "document": "d50", "entity": "Judged syndrome"}
    write(root / "medquad/cdv_test_passages.jsonl.gz", [judged])
    query = {"id": "q", "question": "", "entity": "Judged syndrome", "aspect": "", "aspect_heading": "", "relevant": []}
    write(root / "medquad/cdv_test_queries.jsonl.gz", [query])


def _questions(root: Path) -> None:
    """Questions of experts, claims of citing papers and graded answers, of which a part is judged."""

    def asked(number: int, year: int, text: str) -> dict[str, Any]:
        marked = f"Otters number {number} slept twice a day where the river was calm, and once where it was not."
        snippets = [
            {"document": str(number), "section": "abstract", "text": marked},
            {"document": str(number), "section": "title", "text": f"Sleep of otters in calm rivers, part {number}"},
        ]
        return {"id": f"b{number}", "question": text, "year": year, "snippets": snippets}

    questions = [asked(1, 8, "How long do otters sleep?"), asked(2, 9, "Do calm rivers help otters to sleep?")]
    write(root / "bioasq/questions.jsonl.gz", questions)
    paragraphs = [
        {"doc_id": n, "title": "", "abstract": [f"Nurse {n} counted every bed of the ward twice in one night."]}
        for n in (7000, 7001, 8000)
    ]
    write(root / "citation_integrity/corpus.jsonl.gz", paragraphs)
    cited = claim(0, "Nurses are said to have counted beds at night.", 7000)
    unsettled = claim(1, "Nurses are said to have counted chairs.", 8000)
    write(
        root / "citation_integrity/claims_dev.jsonl.gz",
        [{**cited, "evidence": {"7000": [{"sentences": [0], "label": "SUPPORT"}]}}, unsettled],
    )
    trained = {
        **claim(2, "In a hospital every bed was counted.", 8000),
        "evidence": {"8000": [{"sentences": [0], "label": "REFUTE"}]},
    }
    write(root / "citation_integrity/claims_train.jsonl.gz", [trained, claim(3, "Chairs were lost.", 8001)])
    answer = "Whoever has hiccups for longer than two days should see a doctor about them soon."
    graded = {"id": "1_1", "grade": 4, "rank": 1, "text": f"Hiccups (Treatment): {answer}"}
    write(
        root / "answer_grades/questions.jsonl.gz", [{"id": "1", "question": "What stops Hiccups?", "answers": [graded]}]
    )


def _summaries(root: Path) -> None:
    """A review of each half, by the hash of its id; `LAY` tells which is which."""

    def told(name: str) -> dict[str, str]:
        return {
            "source": "cochrane-auto",
            "id": name,
            "technical": f"Review {name} pooled nine trials of a splint against none for a sprained wrist.",
            "lay": f"Does a splint help number {name}? We looked at nine studies of people who had fallen on a hand.",
        }

    titles = {"title": "Splints for acute sprains", "lay_title": "Splints after a fall"}
    write(root / "lay/passages.jsonl.gz", [{**told(name), **titles} for name in LAY.values()])
    write(root / "lay/sentences.jsonl.gz", [told(name) for name in LAY.values()])


def _further(root: Path) -> None:
    """What is only trained on: one record or two of each data set."""
    checked = {"id": "1", "question": "q", "claim": "Gloves stop colds", "evidence": "Gloves did not stop colds."}
    write(root / "healthver/pairs.jsonl.gz", [{**checked, "label": "REFUTE"}])
    discussed = {"id": 1, "claim": "Onions keep colds away", "evidence": ["Onions were tried."], "label": "SUPPORT"}
    write(root / "covid_fact/claims.jsonl.gz", [discussed])
    asked = {"id": "1", "question": "My aunt has itchy feet, what helps?", "faq": "What helps itchy feet?"}
    write(root / "question_entailment/pairs.jsonl.gz", [{**asked, "entails": True}])
    term = {"source": "hpo-layperson", "lay": "Itchy feet", "technical": "Pruritus of the feet"}
    write(root / "lay/terms.jsonl.gz", [term])
    meant = {"source": "nci-cancer-terms", "term": "pruritus", "definition": "Itching of the skin."}
    judged = {**meant, "term": "Syndrome, judged", "definition": "Something that runs in families."}
    write(root / "lay/definitions.jsonl.gz", [meant, judged])
