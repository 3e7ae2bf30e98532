from __future__ import annotations

import re
import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mappings.analysis.cues import KINDS, cues
from mappings.analysis.lexicon import rows
from mappings.analysis.negation import negated, polarity

SENTENCES = [
    # each mention is in brackets: [-absent], [+present], [?uncertain]
    "No [-pneumothorax], [-effusion] or [-consolidation].",
    "No [-pneumothorax], but a small [+effusion].",
    "There is no [-pneumothorax], [-pleural effusion], or focal [-consolidation] seen.",
    "No [-effusion] and no [-pneumothorax].",
    "No [-effusion] and the [+heart is enlarged].",
    "No [-pneumothorax], [+effusion] is seen on the left.",
    "No [-pneumothorax], the heart shows [+cardiomegaly].",
    "No [-pneumothorax], mild [+cardiomegaly].",
    "No [-pneumothorax] and mild [+atelectasis] or [+scarring] at the left base.",
    "No [-pneumothorax], small [-effusion], or [-mass].",
    "Without [-fever], [-chills] or [-night sweats].",
    "The lungs are free of [-infiltrate] and [-edema].",
    "The lungs are clear of [-consolidation].",
    "Negative for [-pneumonia].",
    "The [-effusion] has resolved.",
    "The right [-effusion] has since completely resolved.",
    "Interval resolution of the [-pneumothorax].",
    "There was an [-effusion], which has resolved.",
    "[-Pneumothorax] is not seen.",
    "[-Pneumothorax] and [-effusion] are not identified.",
    "[-Effusion], [-edema] and [-pneumothorax] are no longer seen.",
    "The [+heart] is large, and [-pneumothorax] is not seen.",
    "There is a small [+effusion], [-pneumothorax] is not seen.",
    "A [-pneumothorax] isn't seen.",
    "There isn't any [-effusion].",
    "[+Atelectasis] rather than [-pneumonia].",
    "No change in the [+effusion].",
    "No significant interval change in [+cardiomegaly].",
    "No increase in size of the [+nodule].",
    "Not only [+effusion] but also [+edema].",
    "Without change in the left [+effusion].",
    "Cannot exclude [?pneumonia].",
    "[?Pneumonia] cannot be excluded.",
    "A small [?pneumothorax] is not entirely excluded.",
    "Possible [?nodule] in the apex.",
    "May represent [?atelectasis].",
    "No findings suspicious for [-malignancy].",
    "No [-effusion]; possible [?nodule].",
    "No [-effusion], possible [?nodule].",
    "[+Effusion] without [-pneumothorax].",
    "[+Cardiomegaly] with no [-edema].",
    "No [-abnormality] other than [+cardiomegaly].",
    "No [-effusion] despite [+heart failure].",
    "No [-fracture] as the cause of [+pain].",
    "No evidence of [-tuberculosis] or [-sarcoidosis].",
    "No convincing radiographic evidence for [-pneumonia].",
    "[-Pneumonia] was ruled out.",
    "[-Pneumonia] has been excluded.",
    "He denies [-chest pain], [-cough], and [-dyspnea].",
    "No [-nausea] or [-vomiting].",
    "She has [+nausea] but no [-vomiting].",
    "She reports [+cough] and denies [-fever].",
    "[-Fever]: no.",
    "[-Pneumothorax]: none.",
    "[-Effusion]: absent",
    "The lungs are not free of [+infiltrate].",
    "The [+effusion] has not resolved.",
    "The [+pneumonia] is nearly resolved.",
    "No [-opacity] consistent with [-pneumonia].",
    "Neither [-effusion] nor [-pneumothorax] is present.",
    "[+Opacity] not seen on the prior study.",
    "Absence of [-edema].",
    "The examination fails to demonstrate [-pneumonia].",
    "No [-effusion] (small [+granuloma] in the apex).",
    "Chest tube was removed; the [+pneumothorax] is larger.",
    "The patient does not have [-diabetes] or [-hypertension].",
    "The patient has [+diabetes]. No [-hypertension].",
    "Findings argue against [-heart failure].",
    "[-Breath sounds] are absent.",
    "Absent [-breath sounds] on the left.",
    "The [+heart is enlarged].",
    "The [-heart is not enlarged].",
    "No further [?seizures].",
    "No doubt a [+fracture].",
    "Without [-edema], [-effusion], or other sign of [-heart failure].",
    "No acute [-fracture] is identified, and there is stable [+scoliosis].",
    "No [-pneumothorax] following removal of the [-chest tube].",
    "No [-acute finding] is seen.",
    "No [-widening of the mediastinum].",
    "No [-graft versus host disease] or [-rash].",
    "[+Graft versus host disease] without [-rash].",
    "No [-non-Hodgkin lymphoma].",
    "A non-displaced [+fracture].",
    "Nondisplaced [+fracture].",
    "Rule out [?pneumonia].",
    "No treatment for [+asthma].",
    "No [-effusion], [-pneumothorax].",
    "The right [+pneumothorax] is unchanged, without [-tension].",
    "No sign of [-rejection], [-infection], or of [-bleeding].",
    "The patient reports no [-chest pain] but has [+shortness of breath].",
    "There are no signs of [-infection] at the wound site.",
    "Neither [-fever] nor [-rash] was noted.",
    "She was never diagnosed with [-asthma].",
    "CT was negative for [-pulmonary embolism], although it did show [+pneumonia].",
    "No [-murmurs], [-rubs], or [-gallops].",
    "Abdomen is soft, without [-guarding] or [-rebound].",
    "Patient is without [-complaints].",
    "He is afebrile and denies [-cough].",
    "[-Diabetes] was ruled out by laboratory tests.",
    "Her [-rash] has cleared.",
    "The biopsy showed no evidence of [-malignancy]; however, [+inflammation] was present.",
    "No previous [-surgery].",
    "[-Pulmonary edema] is absent.",
    "The scan did not reveal any [-fracture].",
    "There was no [-loss of consciousness], and he complains of [+headache].",
    "[+Headache] not relieved by acetaminophen.",
    "Low suspicion for [?appendicitis].",
    "Cannot rule out [?stroke].",
    "[?Stroke] is unlikely.",
    "Family denies any history of [-seizures].",
    "The wound shows no [-drainage], no [-erythema], and no [-swelling].",
    "There is a [+mass] without associated [-lymphadenopathy].",
    "Lungs: clear to auscultation, no [-wheezes].",
    "No acute distress; mild [+tachycardia].",
    "[-Pleural effusion] previously seen is no longer visualized.",
    "Not a candidate for surgery because of [+heart failure].",
    "Patient did not have [-vomiting] today, only [+nausea].",
    "Tests for [-hepatitis B] came back negative.",
    "[+Effusion], which has not resolved.",
    "The absence of [-fever] argues against [-infection].",
    "There is little to suggest [?pneumonia].",
    "[+Pneumonia] has not improved.",
    "We found no [-tumor], [-cyst] or other [-lesion] in the kidney.",
    "Denies [-smoking], drinks [+alcohol] socially.",
    "Denies [-fever], [-chills], [-nausea].",
    "[-Hemoptysis] denied.",
    "No [-pneumothorax] status post removal of [-chest tube].",
    "Findings are inconsistent with [-tuberculosis].",
    "[-Pneumothorax] no longer appreciated.",
    "Resolved [-pneumonia].",
    "There is no evidence that the patient has [-cancer].",
    "Without evidence for [-ischemia], the stress test was normal.",
    "Both lungs are free from [-infiltrates].",
    "He had no further [-episodes].",
    "It is not clear whether [?metastasis] is present.",
    "No [-DVT] in either leg.",
    "[+Pain] is not controlled.",
    "The patient does not appear to have [-pneumonia].",
    "Statins did not reduce [+mortality].",
    "[-Cardiomegaly] has resolved, and a small [+effusion] remains.",
    "Hardly any [-effusion].",
    "The previously noted left-sided [-pneumothorax] is not currently identified.",
    "There's no [-consolidation].",
    "[-Cough]: denies. [+Fever]: yes.",
    "No lobar [-collapse] and no [-edema] is evident; [+scarring] is unchanged.",
]  # fmt: skip
SAYS = {"-": "absent", "+": "present", "?": "uncertain"}


def marked(sentence: str) -> tuple[str, list[tuple[int, int, str]]]:
    text, mentions = "", []
    for piece in re.split(r"(\[[-+?][^]]+\])", sentence):
        if piece.startswith("["):
            mentions.append((len(text), len(text) + len(piece) - 3, SAYS[piece[1]]))
            text += piece[2:-1]
        else:
            text += piece
    return text, mentions


@pytest.mark.parametrize("sentence", SENTENCES)
def test_what_a_sentence_says_of_each_mention(sentence: str) -> None:
    text, mentions = marked(sentence)
    assert mentions
    for start, end, says in mentions:
        assert (text[start:end], polarity(text, start, end)) == (text[start:end], says)
        assert negated(text, start, end) is (says == "absent")


def test_a_cue_reaches_over_its_own_sentence_only() -> None:
    text = "No fever. Cough for a week. No rash."
    assert [negated(text, text.index(word), text.index(word) + len(word)) for word in ("fever", "Cough", "rash")] == [
        True,
        False,
        True,
    ]


NOUNS = st.lists(
    st.sampled_from(["effusion", "pneumothorax", "edema", "a mass", "rib fracture"]), min_size=1, unique=True
)


def spans(text: str, nouns: list[str]) -> list[tuple[int, int]]:
    return [(text.index(noun), text.index(noun) + len(noun)) for noun in nouns]


def listed(nouns: list[str]) -> str:
    return nouns[0] if len(nouns) == 1 else f"{', '.join(nouns[:-1])} or {nouns[-1]}"


@given(NOUNS, st.sampled_from(["No", "There is no evidence of", "Without", "Negative for", "Free of", "He denies"]))
def test_a_cue_before_rules_out_a_list_of_any_length(nouns: list[str], cue: str) -> None:
    text = f"{cue} {listed(nouns)}."
    assert all(negated(text, *span) for span in spans(text, nouns))


@given(NOUNS, st.sampled_from(["is not seen", "has resolved", "was ruled out", "are no longer present"]))
def test_a_cue_after_rules_out_a_list_of_any_length(nouns: list[str], cue: str) -> None:
    text = f"{listed(nouns)} {cue}."
    assert all(negated(text, *span) for span in spans(text, nouns))


@given(NOUNS, st.sampled_from(["There is", "Persistent", "New", "Unchanged"]))
def test_without_a_cue_nothing_is_ruled_out(nouns: list[str], opening: str) -> None:
    text = f"{opening} {listed(nouns)}."
    assert not any(polarity(text, *span) == "absent" for span in spans(text, nouns))


@given(st.text(alphabet="no ,;.()nt'withoutandeffusion\n", max_size=120), st.integers(-3, 130), st.integers(-3, 130))
def test_any_text_and_span_has_an_answer(text: str, start: int, end: int) -> None:
    assert polarity(text, start, end) in SAYS.values()


def test_a_long_text_is_done_in_linear_time() -> None:
    text = "No effusion, edema or mass, and no fracture but " * 2_000
    began = time.perf_counter()
    for match in list(re.finditer("edema", text))[:200]:
        negated(text, *match.span())
    assert time.perf_counter() - began < 3


def test_cues_are_disjoint_and_in_order() -> None:
    found = cues("No evidence of effusion, not seen previously; cannot be excluded.")
    assert [cue.kind for cue in found] == ["before", "pseudo", "doubt-after"]
    assert all(first.end <= second.start for first, second in pairwise(found))


def test_the_lexicon_has_known_kinds_and_each_once() -> None:
    kinds = [kind for kind, _ in rows("negation")]
    assert len(set(kinds)) == len(kinds)
    assert {kind for kind in kinds if not kind.startswith(":")} == set(KINDS)
