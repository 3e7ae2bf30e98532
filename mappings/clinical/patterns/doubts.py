"""Cues by pattern of what is doubted or refused, of what something was only taken for, and of what only seems to be so."""

from __future__ import annotations

import re
from typing import Final

from mappings.analysis.mentions.cue_pattern import word_pattern
from mappings.analysis.mentions.cues import CueKind

_REFUSED: Final = (
    r"(?:refused|declined|rejected|turned\s(?:\w+\s)?down|said no|sa(?:id|ys) no|(?:did|do|does|would|will|was|is)\s?(?:not|n['’]t)\s(?:want|wish|take|have|hear|accept|consider|agree|keen|interested|entertain|like)|"
    r"(?:didn|wouldn|doesn|won)['’]t\s(?:want|wish|take|have|hear|accept|consider|agree)|opted out|opted against|decided against|not accepted|not interested|not taken up|never took|without success|in vain|was not keen|preferred not|chose not|shook|rather not|sooner not|thought better|(?:would|['’]d) (?:rather|sooner|prefer)|prefer(?:s|red)? (?:to (?:wait|manage|stay|carry|continue|go on|leave|avoid|do without|see)|not)|not tempted|unwilling|averse|(?:has|have|was|were|is)(?: not|n['’]t) (?:been )?(?:started|begun|commenced|taken up|pursued)|never (?:attended|started|went|turned up)|did not attend|dna['’]?d|opposed|vetoed)"
)
_OFFERED: Final = re.compile(
    r"\b(?:(?:was|were|is|are|been|being|has|have|had|we|i|then|also|again)\s){0,4}"
    r"(?:talked about|talked through|broached|offered|proposed|suggested|recommended|advised|urged|put forward|encouraged|pressed|invited|put to (?:him|her|them)|discussed|mentioned)\b"
    rf"(?:\s(?:to have|to take|to|for|with|the option of|a|an|the))*,?(?=[\s,][^.;:]{{1,70}}?\b{_REFUSED}\b)",
    re.I,
)
"""An offer that is refused in the same sentence: "offered a stoma, which he refused"."""
_NOT_AS_THOUGHT: Final = (
    r"(?:turn(?:ed|s)\sout|prov(?:ed|es|en)\b|(?:was|is|were)\s(?:in\sfact|in\sreality|really|only|just|merely|simply|actually|nothing|an?\b|not\b)|"
    r"has\s(?:turned\sout|proved|been\sshown\sto\sbe))(?!\s?(?:to\sbe\s)?(?:real|right|true|correct|confirmed|so\b|genuine|just\sthat))"
)
_TAKEN_FOR: Final = re.compile(
    rf"\bwhat\b[^.;:]{{1,30}}?\b(?:taken for|took for|taken to be|took to be|thought to be|thought was|looked like|believed to be|believed was|called|diagnosed as|labelled|read as|reported as|suspected to be|sounded like|heard as|seen as|interpreted as|construed as|mistook for|mistaken for|felt to be|felt as|assumed to be|passed for|passed off as|flagged as|reported to be|described as|put down as)\b(?:\s(?:an?|the)\b)?(?=[^.;]{{2,60}}?\b(?:{_NOT_AS_THOUGHT}|(?:was|were|is)\s(?!confirmed|right|correct|indeed|so\b|taken|treated|found|given|seen)))",
    re.I,
)
"""What something only seemed to be: "what was taken for shingles turned out to be dermatitis"."""
_ONLY_THOUGHT: Final = re.compile(
    rf"\b(?:(?:the|an?|his|her|their|this|any|our|\w+ly)\s)*(?:supposed|alleged|suspected|queried|feared|presumed|putative|apparent|reported|possible|initial|so-called|original|initially suspected|previously suspected|(?:label|diagnosis|suspicion|idea|thought|possibility) of)\s"
    rf"(?=[^.;,]{{2,40}}?\s(?:{_NOT_AS_THOUGHT}|(?:(?:was|were|is|has|had|been|then|later)\s)*(?:(?:not|never)\s(?:been\s)?(?:borne out|confirmed|found|present|there)\b|(?:refuted|excluded|ruled out|discounted|dismissed|discarded|disproved|mistaken|wrong|withdrawn|removed|dropped|revised|revoked)\b)))",
    re.I,
)
_CONFIRMED: Final = re.compile(
    r"\b(?:suspected|presumed|queried|possible|probable|likely)\s(?=[^.;,]{2,40}?\s(?:was|were|has been|now|later|is|and)\s(?:\w+\s)?(?:confirmed|proven|verified|borne out|corroborated)\b)",
    re.I,
)
_CAUSE_IS: Final = re.compile(
    r"\b(?:likely|likeliest|probable|plausible|best|possible|obvious|favou?red|leading|main|chief|working|prime)\s(?:explanation|cause|culprit|source|reason|diagnosis|suspect|contender|candidate|answer|trigger|etiology|aetiology|guess)\s(?:for|of|behind|in|here|to explain|at present)\b"
    r"[^.;:]{0,60}?\s(?P<cue>(?:is|was|remains|being|would be|would seem to be|appears to be|seems to be|must be|has to be)\b|:)",
    re.I,
)
_CAUSE_OF: Final = re.compile(
    r"\b(?:most\s)?(?:likely|likeliest|probable|plausible|possible|presumed|suspected|unlikely)\s(?:explanation|cause|culprit|source|reason|trigger|etiology|aetiology)s?\s(?:for|of|behind)\b",
    re.I,
)
"""What is explained is there: "the most likely cause of his delirium"."""
_NEEDS_EXCLUDING: Final = re.compile(
    r"\b(?:needs?|requires?|needing|want|wants|merits?|must have|to have|should have)\b(?=\s[^.,;:]{2,40}?\s(?:excluding|ruling out|excluded|ruled out|exclusion|ruled in or out|looking for)\b)\s?",
    re.I,
)
_ASKED_BY: Final = re.compile(
    r"\b(?:differentials?|ddx|possibilities|alternatives)\b[^:.;]{0,30}:|"
    r"\b(?:query|queries|question|questions|suspicion|concern|concerns)\s(?:raised|made|voiced|put|expressed)\b[^:.;]{0,40}:",
    re.I,
)
_GUESSED: Final = re.compile(
    r"\bif\s(?:i|we|one|you)\s(?:had|have|were)\sto\s(?:guess|choose|bet|venture|name|pick)\b(?:,?\s(?:i|we)(?:\swould|['’]d)\s(?:say|go for|guess|pick|choose|name))?",
    re.I,
)
_SLIM: Final = re.compile(
    r"\b(?:chances?|odds|probability|likelihood|risk)\s(?:of|that|for)\b(?=[^.;]{2,50}?\b(?:is|are|seems?|remains?)\s(?:\w+\s)?(?:slim|remote|minute|negligible|vanishing\w*|tiny|low but)\b)",
    re.I,
)
_CUT_OUT: Final = re.compile(
    r"\b(?P<cue>(?:cannot|can['’]?t|could\snot|couldn['’]t|would\snot|wouldn['’]t|not|unable\sto|yet\sto|hard\sto|difficult\sto)\s(?:yet\s|really\s)?rule)\s"
    r"(?=[^.;,]{2,40}?\s(?:in\sor\s)?out\b)",
    re.I,
)
_THOUGH_OTHER: Final = re.compile(
    r"\b(?:in\skeeping|consistent|compatible)\swith\s(?=[^.;,]{2,40}?,?\s(?:al)?though\s[^.;,]{2,40}?\s(?:has\sto\sbe|must\sbe|should\sbe|needs\sto\sbe|cannot\sbe|could|might|may|remains|is\salso)\b)",
    re.I,
)
"""What is left open by the alternative: "in keeping with psoriasis, though tinea has to be thought of"."""
_INCLUDES: Final = re.compile(
    r"\b(?:differentials?|ddx|(?:diagnostic\s|other\s)considerations|possibilities)\b[^.;:]{0,70}?\s(?P<cue>(?:would\s|might\s|could\s|also\s|may\s|must\s|should\s)*includ(?:es?|ing))\b",
    re.I,
)
_LIMITED: Final = re.compile(
    r"\b(?:evaluation|assessment)\sfor\s(?:an?\s|the\s)?(?=[^.;,]{2,40}?\s(?:limited|suboptimal|degraded|compromised|incomplete|inadequate)\b)",
    re.I,
)
_OR_BOTH: Final = re.compile(
    r",?\s(?:or|and/or)\s(?:both|neither|something\selse|a\smixture|a\sbit\sof\sboth|some\sof\seach)\s?\?", re.I
)
_NOT_SO_SURE: Final = re.compile(
    r";\s(?:but\s|however,?\s)?(?:[\w’']+\s){1,4}(?:not|less|un|never)\s?(?:at\sall\s|so\s|entirely\s|quite\s|yet\s|wholly\s)*(?:sure|convinced|certain|persuaded|satisfied)(?=\s*(?:[.,;]|$))",
    re.I,
)
"""Who doubts what someone else has named: "they call it measles; I am not convinced"."""
_STILL_THERE: Final = re.compile(
    r"\b(?:gone|resolved|settled|cleared|better|improved|stopped|clear|healed|vanished|faded|over)\b[^.]{0,30}?(?:[,;]\s|\sbut\s|\swhile\s|\swhereas\s)(?:(?:and|but|while|the|his|her)\s)*[^.,;]{3,40}?"
    r"(?P<cue>(?:\s(?:has|have|is|are|does|do|did|was)\snot|\s(?:has|have|is|are|does|do|did|was)n['’]t))(?=\s*(?:[.;,]|$))",
    re.I,
)
"""What has stayed while another thing has gone: "the rash is gone, the itch is not"."""
_APART_FROM: Final = re.compile(
    r"\b(?:apart\sfrom|other\sthan|aside\sfrom|except\sfor|besides|beyond)\s[^.;]{2,50}?(?P<cue>\sno\s(?:other\s|further\s|new\s|specific\s)?(?:complaints?|concerns?|problems?|symptoms?|issues?|abnormalit\w+)|\s(?:the|his|her|this)\s(?:\w+\s){1,2}(?:is|are|was|were|appears?)\s(?:\w+\s)?(?:normal|unremarkable|clear|negative))(?=\s*(?:[.;,]|$))",
    re.I,
)
_LOOKED_FOR: Final = re.compile(
    r"\b(?:looked|checked|tested|searched|screened|investigated)\sfor\s(?:any\s|an?\s)?(?=[^.;:]{2,50}?[:,–—-]\s[^.;]{2,80}?\b(?:all|both|were|was|entirely)\s(?:normal|negative|clear|unremarkable|reassuring|sterile)\b)",
    re.I,
)
_NONE_OF: Final = re.compile(
    r"(?<![\d/])\b(?:0|none|nil|zero)\s?(?:/|of|out\sof)\s?(?:the\s)?\d+\s(?:\w+\s){0,2}?(?:nodes?|cores?|biops\w+|slides|sections|blocks|samples|levels|fragments|swabs|cultures)\s(?:with|positive\sfor|involved\sby|containing|show\w*|contain\w*|grew)\b",
    re.I,
)
_IN_ERROR: Final = re.compile(
    r"\b(?:carr(?:y|ies|ied)|lists?|listed|records?|recorded|letters?|charts?|notes|coded|label\w*|entered|documented)\b[^.;]{2,60}?(?P<cue>\s(?:in\serror|by\smistake|erroneously|mistakenly))\b",
    re.I,
)
_ASKED_ABOUT: Final = re.compile(
    r"\basked\s(?:specifically\s|directly\s|repeatedly\s|again\s)?(?:about|for)\s(?:any\s)?(?=[^.;]{2,60}?\b(?:(?:recalled|recalls|remembers?|remembered|reports?|reported|gave|gives|noticed|had)\s(?:nothing|none)|a\s(?:\w+\s)?no\b|not\son\sany|"
    r"there\s(?:is|was|were)\snone|(?:says?|said)\s(?:no|not|never|none)\b|shook|denied|denies|nil\b|nothing\sof))",
    re.I,
)
"""What was asked about and denied: "when asked about suicidal ideation she answered with a firm no"."""
_FIRST_THOUGHT: Final = re.compile(
    r"\b(?:at\sfirst|initially|originally|first|previously|for\s(?:years|months|weeks))\s(?:was\s|were\s|had\sbeen\s)?(?:put\sdown\sto|attributed\sto|ascribed\sto|thought\sto\s(?:be|have|represent)|taken\s(?:for|to\sbe)|blamed\son|"
    r"diagnosed\s(?:as|with)|labell?ed(?:\sas)?|treated\sas|believed\sto\sbe|suspected\sto\sbe|considered\sto\sbe)\s(?:an?\s|the\s)?"
    r"(?=[^.]{2,90}?\b(?:now\s(?:know|clear|proven)|turned\sout|prov(?:ed|en)\sto|disprove[dn]|refuted|excluded|ruled\sout|in\sfact|(?:was|is)\s(?:wrong|not\sso|not\sthe\scase)|discounted|dismissed|discarded|revised)\b)",
    re.I,
)
"""What was thought before it was known better: "at first put down to angina; we now know that it was reflux"."""
_NOTHING_OF: Final = re.compile(
    r"\bnothing\sof\s(?:the|that|any)\s[^.;,]{2,40}?(?P<cue>\s(?:suspected|feared|queried|described|reported|seen|reported\sbefore|mentioned))\b",
    re.I,
)
_NOT_FOUND_BY: Final = re.compile(
    r"\b(?:queried|suspected|reported|noted|heard|felt|feared|raised|mentioned|described|seen|thought)\s(?:by|on|in|at)\s[^.;,]{2,40}?\s(?:(?:was|is|were|are|could|can)\s?(?:not|n['’]t)|cannot)\s(?:be\s)?(?:now\s)?(?:heard|seen|found|felt|confirmed|identified|detected|"
    r"reproduced|borne\sout|substantiated|corroborated|supported|visuali[sz]ed|appreciated|demonstrated|elicited|there)\b",
    re.I,
)
"""What another examination does not find again: "the murmur queried by the nurse could not be heard"."""
_NOT_HEALING: Final = re.compile(
    r"\bno\s(?:evidence|sign|signs|indication|suggestion)\s(?:that|of)\s(?=[^.;,]{2,40}?\s(?:(?:is|are|has|have|was)\s(?:been\s)?(?:heal|improv|resol[uv]|respon|chang|progress|grow|enlarg|spread|unit(?:ed|ing)|worsen)|(?:heal|improv|unit|respond|grow)ing\b))",
    re.I,
)
_WITHIN_NORMAL: Final = re.compile(
    r"\b(?:engorgement|congestion|enlargement|dilat\w+|distension|distention|prominence|widening|elevation|thickening)\s(?P<cue>(?:(?:is|are|appears?|remains?)\s)?within\s(?:the\s)?(?:limits\sof\snormal|normal\slimits|normal\srange))\b",
    re.I,
)
_INSTEAD_IT_IS: Final = re.compile(
    r"(?:^|[.;:]\s)(?:(?:rather\sthan|instead\sof|far\sfrom|despite|without|in\sthe\sabsence\sof|for\slack\sof)\s)[^.,;:]{3,50}?"
    r"(?<!\bthat)(?<!\bwhich)(?<!\bwhen)(?<!\bif)(?<!\bthan)(?<!\bbecause)(?<!\bwho)(?<!\bas)\s(?P<cue>(?:he|she|they|it|this|we|i|there)\s(?:has|have|had|is|was|are|were|does|did))\b",
    re.I,
)
"""Where the main clause starts: "rather than a stroke this is a palsy", "without any warning he had a seizure"."""
_RULED_IT_OUT: Final = re.compile(
    r"(?<!\bnot\s)(?<!\bto\s)(?<!n['’]t\s)(?<!\byet\s)(?<!\bbeen\s)\b(?P<cue>(?:ruled|rules|ruling))\s(?=[^.;,]{2,40}?\sout\b)",
    re.I,
)
_MAKES: Final = r"\b(?:makes?|made|making|renders?|rendered|leaves)\s(?=[^.;,]{2,40}?\s"
_MADE_IMPOSSIBLE: Final = re.compile(rf"{_MAKES}(?:impossible|untenable|inconceivable|implausible)\b)", re.I)
_MADE_UNLIKELY: Final = re.compile(
    rf"{_MAKES}(?:(?:much|far|very|most|highly|extremely|rather|somewhat)\s)?(?:unlikely|less\slikely|improbable|doubtful|a\slittle\sless\slikely)\b)",
    re.I,
)
_NIL_BAR: Final = re.compile(
    r"\b(?:nil|nothing|none|no)\b[^.;:]{0,40}?\s(?P<cue>(?:bar|save|save\sfor|barring|excepting))\s", re.I
)
"""The one thing that there is: "nil of note bar glandular fever"."""
_WORKING: Final = re.compile(
    r"\b(?:working|provisional|presumptive|tentative|leading|current|interim|holding|admitting|initial)\s(?:dx|diagnosis|label|impression|hypothesis)\b[^.;:]{3,50}?\s"
    r"(?P<cue>(?:is|remains|being|stays)\s)(?!awaited|pending|being|to\b|not\b|still\b|under\b|done|back)",
    re.I,
)
_MORE_THAN: Final = re.compile(
    r"\b(?:more|rather|better|likelier)\s(?:likely|probable|probably|plausible|plausibly|suggestive|typical|consistent|compatible|in\skeeping|indicative|like|convincing|readily|easily|reminiscent|characteristic|to\sbe|due\sto)\b"
    r"[^.;]{3,60}?\s(?P<cue>than(?:\s(?:with|of|to|by|for|from|an?|the|any))*)\s",
    re.I,
)
"""What is less likely than another: "more in keeping with reflux than with angina"."""
_FAVOURED_OVER: Final = re.compile(
    r"\b(?:favou?rs?|favou?red|favou?ring|leaning\stowards?|lean\stowards?|prefer)\s[^.;,]{2,40}?\s(?P<cue>over|ahead\sof)\s",
    re.I,
)
_PRO_AND_CON: Final = re.compile(
    r"(?:^|(?<=[.;]\s))(?:in\sfavou?r\sof|against|arguing\s(?:for|against)|counting\sagainst)\s(?=[^.;,:]{2,40}:)", re.I
)
_ANOTHER_THOUGHT: Final = re.compile(
    r"\bis\s(?:one|a|the\sfirst)\s(?:thought|possibility|option|candidate|explanation|idea|contender|consideration)\b[^.;]{3,50}?\s(?P<cue>(?:is\s)?(?:another|the\sother|a\ssecond|the\snext))(?=\s*(?:[.;,]|$))",
    re.I,
)
_SO_CALLED: Final = re.compile(
    r"\b(?:so-called|supposed)\s(?=[^.;,]{2,40}?\s(?:was|were|is|are|proved|turned\sout)\s(?!confirmed|present|severe|not\sso|treated|still|found|noted))",
    re.I,
)
_CAUSES: Final = "explanation cause causes culprit source reason diagnosis suspect contender candidate answer trigger etiology aetiology guess"

DOUBTS: Final = (
    word_pattern(
        "offered proposed suggested recommended advised urged put encouraged pressed invited discussed mentioned talked broached",
        _OFFERED,
        CueKind("either", "ruled-out"),
    ),
    word_pattern("than instead far despite without absence lack", _INSTEAD_IT_IS, CueKind("end")),
    word_pattern("bar save barring excepting", _NIL_BAR, CueKind("end")),
    word_pattern("ruled rules ruling", _RULED_IT_OUT, CueKind("before", "ruled-out")),
    word_pattern("impossible untenable inconceivable implausible", _MADE_IMPOSSIBLE, CueKind("before", "ruled-out")),
    word_pattern("unlikely likely improbable doubtful", _MADE_UNLIKELY, CueKind("doubt-before", "uncertain")),
    word_pattern(
        "working provisional presumptive tentative leading current interim holding admitting initial",
        _WORKING,
        CueKind("doubt-before", "uncertain"),
    ),
    word_pattern("called supposed", _SO_CALLED, CueKind("before", "ruled-out")),
    word_pattern("than", _MORE_THAN, CueKind("doubt-before", "uncertain")),
    word_pattern("over ahead", _FAVOURED_OVER, CueKind("doubt-before", "uncertain")),
    word_pattern("favour favor against arguing", _PRO_AND_CON, CueKind("doubt-before", "uncertain")),
    word_pattern("another other second next", _ANOTHER_THOUGHT, CueKind("doubt-after", "uncertain")),
    word_pattern("what", _TAKEN_FOR, CueKind("before", "ruled-out")),
    word_pattern(
        "supposed alleged suspected queried feared presumed putative apparent reported possible initial called original label "
        "diagnosis suspicion idea thought possibility",
        _ONLY_THOUGHT,
        CueKind("before", "ruled-out"),
    ),
    word_pattern("confirmed proven verified borne corroborated", _CONFIRMED, CueKind("skip")),
    word_pattern("rule", _CUT_OUT, CueKind("doubt-before", "uncertain")),
    word_pattern("though although", _THOUGH_OTHER, CueKind("doubt-before", "uncertain")),
    word_pattern("include includes including", _INCLUDES, CueKind("doubt-before", "uncertain")),
    word_pattern(
        "limited suboptimal degraded compromised incomplete inadequate", _LIMITED, CueKind("doubt-before", "uncertain")
    ),
    word_pattern("both neither mixture else each", _OR_BOTH, CueKind("sentence-after", "uncertain")),
    word_pattern(
        "sure convinced certain persuaded satisfied unconvinced unsure",
        _NOT_SO_SURE,
        CueKind("sentence-after", "uncertain"),
    ),
    word_pattern(
        "gone resolved settled cleared better improved stopped clear healed vanished faded over",
        _STILL_THERE,
        CueKind("doubt-after", "present"),
    ),
    word_pattern("apart other aside except besides beyond", _APART_FROM, CueKind("pseudo")),
    word_pattern("looked checked tested searched screened investigated", _LOOKED_FOR, CueKind("before", "ruled-out")),
    word_pattern("error mistake erroneously mistakenly", _IN_ERROR, CueKind("after", "ruled-out")),
    word_pattern("asked", _ASKED_ABOUT, CueKind("before", "ruled-out")),
    word_pattern(
        "first initially originally previously years months weeks", _FIRST_THOUGHT, CueKind("before", "ruled-out")
    ),
    word_pattern("nothing", _NOTHING_OF, CueKind("after", "ruled-out")),
    word_pattern(
        "queried suspected reported noted heard felt feared raised mentioned described seen thought",
        _NOT_FOUND_BY,
        CueKind("after", "ruled-out"),
    ),
    word_pattern("evidence sign signs indication suggestion", _NOT_HEALING, CueKind("skip")),
    word_pattern("within", _WITHIN_NORMAL, CueKind("after", "ruled-out")),
    word_pattern("0 none nil zero", _NONE_OF, CueKind("before", "ruled-out")),
    word_pattern(_CAUSES, _CAUSE_IS, CueKind("doubt-before", "uncertain")),
    word_pattern(_CAUSES, _CAUSE_OF, CueKind("skip")),
    word_pattern(
        "excluding ruling excluded ruled exclusion looking", _NEEDS_EXCLUDING, CueKind("doubt-before", "uncertain")
    ),
    word_pattern(
        "differential differentials ddx possibilities alternatives query queries question questions suspicion concern concerns",
        _ASKED_BY,
        CueKind("doubt-before", "uncertain"),
    ),
    word_pattern("if", _GUESSED, CueKind("doubt-before", "uncertain")),
    word_pattern("risk odds chance chances probability likelihood", _SLIM, CueKind("doubt-before", "uncertain")),
)
