"""Cues by pattern of what may come, what is asked, offered and refused, and what something was only taken for."""

from __future__ import annotations

import re
from typing import Final

from mappings.analysis.mentions.cue_pattern import word_pattern
from mappings.analysis.mentions.cues import CueKind
from mappings.clinical.time_patterns import CONSIDERED, PLANNED

_SAFE_FROM: Final = re.compile(
    r"\b(?:(?:to|will|should|would|can|helps?)\s)?(?:stop|stops|stopping|keep|keeps|keeping|hold|holds|holding|prevent|prevents)\b"
    r"(?=\s(?!on\b|off\b|him\b|her\b|them\b)[^.,;:]{2,40}?\s(?:at bay|away|in check|(?:from\s)?(?:setting in|coming|recurring|returning|developing|spreading|"
    r"forming|building up|taking hold|getting worse|happening|flaring|starting|occurring))\b)",
    re.I,
)
"""What is to be kept away: "keep the reflux at bay", "to stop swelling setting in"."""
_SO_THAT: Final = re.compile(
    r"\bso(?:\sthat)?\b(?=[^.;]{2,60}\b(?:(?:will|do|does|should|may|might|can|would)\snot|cannot|can['’]t|won['’]t|doesn['’]t|don['’]t|never|"
    r"(?:is|are|can be|may be)\s(?:caught|found|spotted|detected|picked up|seen|recogni[sz]ed|diagnosed|avoided|prevented|treated))\b)",
    re.I,
)
"""The purpose of a measure: "vaccinated so that he will not suffer shingles"."""
_THE_MOMENT: Final = re.compile(
    r"\b(?:the\s(?:very\s)?(?:moment|minute|instant|day)|as soon as|if ever|(?:every|each|any) time|whenever)\b"
    r"(?=[^.;,]{2,50}\b(?:returns?|recurs?|starts?|begins?|appears?|reappears?|shows?|comes?|strikes?|sets?|develops?|occurs?|gets?|worsens?|"
    r"feels?|notices?|flares?|breaks?|increases?|becomes?)\b)",
    re.I,
)
_WERE_TO: Final = re.compile(
    r"(?:(?<=^)|(?<=[.;:,]\s)|(?<=\bdo\s)|(?<=\bknow\s))(?:were|had)\b(?=\s(?!not\b|n['’]t|seen|being|also|all)(?:(?!\b(?:has|have|had|but)\b)[^.,;?]){2,50}?\s(?:to\s[a-z]{3,}|been)\b[^.;?]{0,40}(?:[,.]|$))",
    re.I,
)
_WITH_OR_WITHOUT: Final = re.compile(
    r"\bin the (?:absence|presence) of\b(?=[^.;]{2,60}?\s(?:can|may|will|should|would|must|(?:is|are) to)\s)", re.I
)
_TO_BE_CALLED_FOR: Final = re.compile(
    r"(?:^|[,;:?]\s*|\s[-–—]\s|\s(?:and|then|means?|please)\s)(?:please\s|do\s|always\s|then\s|to\s|you should\s|straight\s|immediately\s|at once\s)*"
    r"(?:(?:phone|ring|dial|page|call)\s(?:us|me|the|your|for|an?|9\d\d|11[12]|back|at|triage|immediately|straight)|dial\s|999\b|911\b|(?:attend|contact|consult|tell|inform|alert)\s(?:us|me|your|the|a|an|A&E|ED|labour|maternity)\b\s?(?!had\b|was\b)|"
    r"come\s(?:straight\s|right\s|directly\s|in|back|to)|come straight|return\s(?:to\s(?:the\s)?(?:ed|er|a&e|hospital|clinic|ward|us)|at once|immediately|straight)|report\s(?:to|it|at|this|immediately)|go\s(?:straight\s|directly\s|at once\s)?to\s|"
    r"make your way|seek\s|let\s(?:us|me|the|your)\s(?:\w+\s)?know|stop\s(?:it|taking|the\s(?:drug|tablets?|medicine|treatment|cream))|see\s(?:your|a|an|the)\s(?:own\s)?(?:doctor|gp|dentist|nurse|physician|midwife|optician|pharmacist|specialist)|get\s(?:in touch|help|to|seen))",
    re.I,
)
"""What to do at once if what precedes it happens: "Calf swelling: attend A&E", "any bleeding? Come straight in"."""
_RISK_OF_NUMBER: Final = re.compile(
    r"\b(?:risk|likelihood|odds|chances?|probability|incidence|rate)\b(?:\s(?:is|was|of|at|being|stands at|works out at|estimated at|put at|around|about|some|roughly|approximately|up to|under|over|below|above|less than|more than)|:)*\s*[<>~≈≤≥]?\s?"
    r"(?:\d|one in|low|high|small|raised|increased|considerable|negligible|explained|discussed|acceptable|accepted|quoted|mentioned|outlined)",
    re.I,
)
_RATE_OF: Final = re.compile(
    r"\b\d+(?:\.\d+)?\s?(?:%|per cent|percent|in\s\d+)\s(?:\w+\s)?(?:risk|rate|chance|likelihood|probability|incidence)\s(?:of|for)\b|\b1\s?(?:in|:)\s?\d+\s(?:\w+\s)?(?:of|for)\b|\d\s?%\sfor\b",
    re.I,
)
_REFUSED: Final = (
    r"(?:refused|declined|rejected|turned\s(?:\w+\s)?down|said no|sa(?:id|ys) no|(?:did|do|does|would|will|was|is)\s?(?:not|n['’]t)\s(?:want|wish|take|have|hear|accept|consider|agree|keen|interested|entertain|like)|"
    r"(?:didn|wouldn|doesn|won)['’]t\s(?:want|wish|take|have|hear|accept|consider|agree)|opted out|opted against|decided against|not accepted|not interested|not taken up|never took|without success|in vain|was not keen|preferred not|chose not|shook)"
)
_OFFERED: Final = re.compile(
    r"\b(?:(?:was|were|is|are|been|being|has|have|had|we|i|then|also|again)\s){0,4}"
    r"(?:offered|proposed|suggested|recommended|advised|urged|put forward|encouraged|pressed|invited|put to (?:him|her|them)|discussed|mentioned)\b"
    rf"(?:\s(?:to have|to take|to|for|with|the option of|a|an|the))*(?=[\s,][^.;:]{{1,60}}?\b{_REFUSED}\b)",
    re.I,
)
"""An offer that is refused in the same sentence: "offered a stoma, which he refused"."""
_NOT_AS_THOUGHT: Final = (
    r"(?:turn(?:ed|s)\sout|prov(?:ed|es|en)\b|(?:was|is|were)\s(?:in\sfact|in\sreality|really|only|just|merely|simply|actually|nothing|an?\b|not\b)|"
    r"has\s(?:turned\sout|proved|been\sshown\sto\sbe))(?!\s?(?:to\sbe\s)?(?:real|right|true|correct|confirmed|so\b|genuine|just\sthat))"
)
_TAKEN_FOR: Final = re.compile(
    rf"\bwhat\b[^.;:]{{1,30}}?\b(?:taken for|took for|taken to be|took to be|thought to be|thought was|looked like|believed to be|believed was|called|diagnosed as|labelled|read as|reported as|suspected to be|sounded like)\b(?:\s(?:an?|the)\b)?(?=[^.;]{{2,60}}?\b(?:{_NOT_AS_THOUGHT}|(?:was|were|is)\s(?!confirmed|right|correct|indeed|so\b|taken|treated|found|given|seen)))",
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
_MORE_LIKELY: Final = re.compile(
    r"\b(?:makes?|making|renders?)\s(?=[^.;,]{2,40}?\s(?:more|less)\s(?:likely|probable|frequent|common)\b)", re.I
)
_AND_CAUSE: Final = re.compile(
    r"\b(?:may|might|can|could|will)\s[^.;:]{3,60}?\s(?:and|or)\s(?P<cue>(?:even\s|also\s|then\s)?(?:cause|lead to|bring|produce|provoke|result in|give|trigger|become|turn into|develop|end in))\b",
    re.I,
)
_AND_EXCLUDE: Final = re.compile(
    r"\bto\s[a-z]{3,}\b[^.;:]{3,60}?\s(?:and|or)\s(?P<cue>(?:exclude|rule out|detect|look for|screen for|pick up|find|confirm)\s(?:any|an|a|underlying|occult)?)",
    re.I,
)
_NEXT_TIME: Final = re.compile(
    r"\b(?:another|a (?:further|second|repeat|new|fresh|recurrent)|any (?:further|new|more|future))\s(?=[^.;,]{2,50}?\s(?:could|would|might|may|will|should|must|means?)\b)",
    re.I,
)
_FORBIDDEN: Final = re.compile(
    r"(?:^|(?<=[.;:]\s)|(?<=please\s)|(?<=and\s))(?:do not|don['’]t|never)\s(?:ever\s)?(?:take|use|give|drink|eat|prescribe|start|have|combine|mix|apply)\s(?:any\s|more\s)?",
    re.I,
)
_ORDER: Final = re.compile(
    r"(?:^|[.;:]\s)(?:then\s|please\s)?(?:start|commence|begin|add|restart|give|try|arrange|repeat|check|book|order|request|increase)\s"
    r"(?=[^.;]{2,40}?\s(?:when|if|once|should|unless|as soon as|after|tomorrow|next)\b)",
    re.I,
)
_PROPOSAL: Final = re.compile(r"(?:^|[.;:]\s)suggest\s(?:an?\s)?", re.I)
_DATED_PLAN: Final = re.compile(
    r"\b(?:booked|scheduled|rescheduled|planned|arranged|listed|pencilled in|penciled in|due|fixed|slated|lined up|earmarked|set|penned in|down)\s(?:in\s)?(?:for|on|in|at)\s(?:the\s)?(?:\d|(?:first|second|third|fourth|last|mon|tue|wed|thu|fri|sat|sun|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|next|this|early|mid|late|spring|summer|autumn|winter|easter|christmas|weeks?|six|two|three|four)\w*)",
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
_IN_OTHERS: Final = re.compile(
    r"\bin\s(?:patients|people|those|anyone|women|men|children|adults|smokers|someone|a person|a patient)\s(?:with|like|of|who have)\s(?:your|this|that|such|the same|you|her|his|these)\b[^,.;]{0,30}|"
    r"\bin\s(?:some|a few|certain|rare|many|most|susceptible|other|a minority of|a small number of)\s(?:people|patients|cases|individuals|women|men|users|children|instances)\b|"
    r"\b(?:such|these|some|those|many|most|one in \w+|one \w+ in \w+|\d+ in \d+|\d+ ?% of)\s(?:such\s|these\s|of\sthese\s|of\sthem\s)?(?:patients|people|women|men|children|carriers|cases|individuals|users|smokers)\b(?=[^.;]{0,30}\b(?:develop|go on|goes on|get|gets|end up|will|suffer|experience|have|die)\b)",
    re.I,
)
_ODDS: Final = "risk risks likelihood odds chance chances probability incidence rate"
_CAUSES: Final = "explanation cause causes culprit source reason diagnosis suspect contender candidate answer trigger etiology aetiology guess"

PROSPECTS: Final = (
    word_pattern(
        "stop stops stopping keep keeps keeping hold holds holding prevent prevents",
        _SAFE_FROM,
        CueKind("doubt-before", "hypothetical"),
    ),
    word_pattern("so", _SO_THAT, CueKind("clause-before", "hypothetical")),
    word_pattern(
        "moment minute instant day soon ever time whenever", _THE_MOMENT, CueKind("clause-before", "hypothetical")
    ),
    word_pattern("were had", _WERE_TO, CueKind("clause-before", "hypothetical")),
    word_pattern("absence presence", _WITH_OR_WITHOUT, CueKind("clause-before", "hypothetical")),
    word_pattern(
        "phone ring dial page call 999 911 attend contact see consult tell inform alert come return report go make seek let "
        "stop get",
        _TO_BE_CALLED_FOR,
        CueKind("clause-after", "hypothetical"),
    ),
    word_pattern(_ODDS, _RISK_OF_NUMBER, CueKind("next-after", "hypothetical")),
    word_pattern(f"{_ODDS} 1 frax score", _RATE_OF, CueKind("doubt-before", "hypothetical")),
    word_pattern(
        "offered proposed suggested recommended advised urged put encouraged pressed invited discussed mentioned",
        _OFFERED,
        CueKind("either", "ruled-out"),
    ),
    word_pattern("what", _TAKEN_FOR, CueKind("before", "ruled-out")),
    word_pattern(
        "supposed alleged suspected queried feared presumed putative apparent reported possible initial called original label "
        "diagnosis suspicion idea thought possibility",
        _ONLY_THOUGHT,
        CueKind("before", "ruled-out"),
    ),
    word_pattern("may might can could will", _AND_CAUSE, CueKind("doubt-before", "hypothetical")),
    word_pattern(
        "exclude rule detect look screen pick find confirm", _AND_EXCLUDE, CueKind("doubt-before", "hypothetical")
    ),
    word_pattern(
        "another further second repeat new fresh recurrent more future",
        _NEXT_TIME,
        CueKind("doubt-before", "hypothetical"),
    ),
    word_pattern("not t never", _FORBIDDEN, CueKind("doubt-before", "hypothetical")),
    word_pattern(
        "start commence begin add restart give try arrange repeat check book order request increase",
        _ORDER,
        CueKind("doubt-before", PLANNED),
    ),
    word_pattern("suggest", _PROPOSAL, CueKind("doubt-before", CONSIDERED)),
    word_pattern("confirmed proven verified borne corroborated", _CONFIRMED, CueKind("skip")),
    word_pattern("make makes making render renders", _MORE_LIKELY, CueKind("doubt-before", "hypothetical")),
    word_pattern(
        "booked scheduled rescheduled planned arranged listed pencilled penciled due fixed slated lined earmarked set down",
        _DATED_PLAN,
        CueKind("doubt-after", PLANNED),
    ),
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
    word_pattern(_ODDS, _SLIM, CueKind("doubt-before", "uncertain")),
    word_pattern(
        "patients patient people those anyone women men children adults smokers someone person cases individuals users carriers "
        "instances",
        _IN_OTHERS,
        CueKind("clause-either", "hypothetical"),
    ),
)
