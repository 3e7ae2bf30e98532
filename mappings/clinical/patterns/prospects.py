"""Cues by pattern of what may come, what is asked for and what is to be done."""

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
    r"\b(?:so\sthat|(?<!,\s)(?<!;\s)(?<!and\s)so)\b(?!\s(?:i|we|one)\b)(?=[^.;]{2,60}\b(?:(?:will|do|does|should|may|might|can|would)\snot|cannot|can['’]t|won['’]t|doesn['’]t|don['’]t|never|"
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
_MORE_LIKELY: Final = re.compile(
    r"\b(?:makes?|making|renders?)\s(?=[^.;,]{2,40}?\s(?:more|times\sas|twice\sas|half\sas)\s(?:likely|probable|frequent|common)\b)",
    re.I,
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
    r"\b(?:another|a (?:further|second|repeat|new|fresh|recurrent)|any (?:further|new|more|future|(?:recurrence|return|repeat|signs?|hint|worsening|episodes?) of))\s(?=[^.;,]{2,50}?\s(?:could|would|might|may|will|should|must|means?)\b)",
    re.I,
)
_FORBIDDEN: Final = re.compile(
    r"(?:^|(?<=[.;:]\s)|(?<=please\s)|(?<=and\s))(?:do not|don['’]t|never)\s(?:ever\s)?(?:take|use|give|drink|eat|prescribe|start|have|combine|mix|apply)\s(?:any\s|more\s)?",
    re.I,
)
_ORDER: Final = re.compile(
    r"(?:^|[.;:]\s)(?:then\s|please\s)?(?:start|commence|begin|add|restart|resume|recommence|reintroduce|give|try|arrange|repeat|check|book|order|request|increase)\s"
    r"(?=[^.;]{2,40}?\s(?:when|if|once|should|unless|as soon as|after|tomorrow|next|on\s(?:\d|mon|tue|wed|thu|fri|sat|sun|day))\b)",
    re.I,
)
_IS_TO_HAVE: Final = re.compile(
    r"(?:^|[.;:]\s|\b(?:he|she|they|patient|pt)\s(?:is|are)\s)to\s(?:have|get|undergo|receive|start|commence|begin|be\sgiven|be\sstarted\son|go\son|try|attend\sfor|come\sin\sfor|return\sfor|stay\son|finish|complete)\s",
    re.I,
)
_FOR_THE_DAY: Final = re.compile(
    r"(?:^|[.;:]\s)for\s(?=[^.;,:]{2,40}?\s(?:(?:on\s)?(?:mon|tues|wednes|thurs|fri|satur|sun)day|tomorrow|tonight|later|next\s|mane|today|this\s(?:afternoon|evening|morning|week|pm|am)|"
    r"when\s|once\s|as\s(?:an\s)?(?:outpatient|day\scase)|at\s\d|in\s(?:\d|two|three|six|a\s)))",
    re.I,
)
"""What is to be done, without a verb: "for cardioversion Monday"."""
_TO_USE_WHEN: Final = re.compile(
    r"\b(?:use|take|give|apply|inhale|spray|spray\sto\suse|tablet|puffs|reserve|dose)\s(?:\w+\s){0,3}(?P<cue>when|whenever|once)\s(?=[^.;,]{1,40}?\b(?:comes?\son|occurs?|starts?|strikes?|gets?|is\s(?:bad|severe|present|felt)|"
    r"returns?|begins?|arises?|develops?|flares?|builds?|troubles?|worsens?)\b)",
    re.I,
)
_REFERRED_FOR: Final = re.compile(
    r"\b(?:refer|refers|referred|referring|re-?refer(?:red)?|referral)\b(?:\s(?:back|on|made|sent|urgently|today|routinely|him|her|them|this\s\w+|the\spatient))*(?:\sto\s(?:[\w&'’-]+\s){1,4}?|\s)(?:for|re|regarding|with\sa\sview\sto)\s(?![^.;]*\b(?:returns?|presents)\stoday\b|[^.;]*\band\s(?:he|she|they)\s(?:returns?|presents)\b)",
    re.I,
)
_IS_A_RISK: Final = re.compile(
    r"(?<=[a-z])(?<!\bthere)(?<!\bhe)(?<!\bshe)(?<!\bthey)\s(?:is|are|remains?)\s(?:an?\s|the\s|one\s|also\s|of\scourse\s)(?:\w+\s){0,2}?(?:risks?|side[\s-]effects?|hazards?|dangers?|possibility)\s(?:of|with|from|after)\b",
    re.I,
)
"""What a treatment can bring: "miscarriage is a risk of amniocentesis"."""
_PROPOSAL: Final = re.compile(r"(?:^|[.;:]\s)suggest\s(?:an?\s)?", re.I)
_DATED_PLAN: Final = re.compile(
    r"\b(?:booked|scheduled|rescheduled|planned|arranged|listed|pencilled in|penciled in|due|fixed(?=\sfor)|slated|lined up|earmarked|set|penned in|down(?=\sfor))\s(?:in\s)?(?:for|on|in|at)\s(?:the\s)?(?:\d|(?:first|second|third|fourth|last|mon|tue|wed|thu|fri|sat|sun|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|next|this|early|mid|late|spring|summer|autumn|winter|easter|christmas|weeks?|six|two|three|four)\w*)",
    re.I,
)
_IN_OTHERS: Final = re.compile(
    r"\bin\s(?:patients|people|those|anyone|women|men|children|adults|smokers|someone|a person|a patient)\s(?:with|like|of|who have)\s(?:your|this|that|such|the same|you|her|his|these)\b[^,.;]{0,30}|"
    r"\bin\s(?:some|a few|certain|rare|many|most|susceptible|other|a minority of|a small number of)\s(?:people|patients|cases|individuals|women|men|users|children|instances)\b|"
    r"\b(?:such|these|some|those|many|most|one in \w+|one \w+ in \w+|\d+ in \d+|\d+ ?% of)\s(?:such\s|these\s|of\sthese\s|of\sthem\s)?(?:patients|people|women|men|children|carriers|cases|individuals|users|smokers)\b(?=[^.;]{0,30}\b(?:develop|go on|goes on|get|gets|end up|will|suffer|experience|have|die)\b)",
    re.I,
)
_TO_CUT_OUT: Final = re.compile(r"\bto\s(?:help\s)?rule\s(?=[^.;,]{2,40}?\s(?:in\sor\s)?out\b)", re.I)
_NOT_HIDING: Final = re.compile(
    r"\b(?:make|be)\s(?:quite\s|absolutely\s)?(?:sure|certain)\b[^.;]{2,60}?\s(?P<cue>(?:is|are|has|does|was)\s?(?:not|n['’]t)\s(?:hid\w+|conceal\w*|mask\w*|obscur\w+|miss\w*|cover\w*|become|turn\w*|develop\w*)(?:\san?)?)\b",
    re.I,
)
"""What an examination is to make sure of: "to make sure that the shadow is not hiding a mass"."""
_WORK_FOR: Final = re.compile(
    r"\b(?:(?:immuno)?stain\w*|immunohistochemistry|pcr|serology|cultures?|swabs?|antibod\w+|assays?|titres?|titers?|levels?|screens?|cytology|"
    r"markers?)\sfor\s(?=[^.;,]{2,40}?\s(?:ordered|requested|sent|pending|awaited|to\sfollow|added|in\sprogress|set\sup|under\s?way|outstanding)\b)",
    re.I,
)
_RULED_IN_LIST: Final = re.compile(
    r"(?:^|[.:]\s)(?:CTPA|CTA|CT|MRI|MRA|US|USS|XR|CXR|ultrasound|x-?ray|echo|doppler|duplex|film)\b(?:\s(?!shows?|normal|negative|neg|clear|with\s(?!contrast)|no\b)[\w/]+){0,4}"
    r"(?P<cue>,\s(?:r/o|rule\sout|\?))(?=\s?\w)",
    re.I,
)
"""An order and its purpose: "CT pelvis w/ contrast, r/o abscess"."""
_EXPLAINED_CHANCE: Final = re.compile(
    r"\b(?:\w+\s)?(?:possibility|chance|prospect)\sof\s(?:an?\s|the\s)?(?=[^.;]{2,60}?\b(?:explained|discussed|mentioned|quoted|accepted|outlined|spelt\sout|spelled\sout|consent\w*|1\sin|one\sin|\d\s?%))",
    re.I,
)
_REPORT_IT: Final = re.compile(
    r"(?:^|[.;:]\s|\bplease\s)(?P<cue>report)\s(?!of\b|from\b|by\b|to\b|was\b|is\b|that\b)(?:any\s)?", re.I
)
_WITH_ANY: Final = re.compile(
    r"(?:^|[.;:]\s)(?P<cue>(?:with|at|on|for|in)\s(?:any|every|each|the\s(?:first|next|slightest))\s)(?=[^.;]{2,50}?,\s(?:please\s|then\s)?(?:double|halve|stop|phone|ring|call|return|come|"
    r"take|increase|reduce|give|use|seek|repeat|check|hold|omit|send|tell)\b)",
    re.I,
)
_OTHERWISE: Final = re.compile(
    r"\b(?:otherwise|or\selse)\s[^.;,]{2,40}?(?P<cue>\s(?:is|are|becomes?)\s(?:very\s|quite\s|more\s)?(?:likely|possible|inevitable|certain)|\s(?:may|will|can|could|might)\s(?:well\s)?(?:follow|occur|develop|recur|return|result))\b",
    re.I,
)
_NEXT_TIME_THAT: Final = re.compile(
    r"\b(?:the\s)?next\stime\b(?=[^.;,]{2,50}?\b(?:is|are|has|have|occurs?|develops?|comes?|returns?|appears?|gets?|suspected|happens?)\b)",
    re.I,
)
_BEFORE_SURGERY: Final = re.compile(
    r"\bpre-?op(?:erative)?\s(?:for\s)?(?=(?:[\w-]+\s){0,2}?(?:surgery|\w+ectomy|\w+plasty|replacement|repair|transplant\w*|cabg|bypass|fusion|an(?:a)?esthesia)\b)",
    re.I,
)
_WHAT_TO_DO: Final = re.compile(
    r"\b(?:taught|shown|told|knows?|instructed|advised|learnt|learned)\s(?:what|how)\sto\s(?:do|respond|react|act|cope)\s(?:for|about|with|in|against|on|during)\b",
    re.I,
)
_MANE: Final = re.compile(r"(?<!\d\s)(?<!mg\s)(?<!mcg\s)(?<!units\s)(?<!OD\s)(?<!tab\s)(?<!tabs\s)\bmane\b", re.I)
"""Tomorrow morning, unless it is when a dose is taken: "CT mane", but not "40 mg mane"."""
_ODDS: Final = "risk risks likelihood odds chance chances probability incidence rate"

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
    word_pattern("may might can could will", _AND_CAUSE, CueKind("doubt-before", "hypothetical")),
    word_pattern(
        "exclude rule detect look screen pick find confirm", _AND_EXCLUDE, CueKind("doubt-before", "hypothetical")
    ),
    word_pattern(
        "another further second repeat new fresh recurrent more future any",
        _NEXT_TIME,
        CueKind("doubt-before", "hypothetical"),
    ),
    word_pattern("not t never", _FORBIDDEN, CueKind("doubt-before", "hypothetical")),
    word_pattern(
        "start commence begin add restart resume recommence reintroduce give try arrange repeat check book order request increase",
        _ORDER,
        CueKind("doubt-before", PLANNED),
    ),
    word_pattern(
        "risk risks effect effects hazard hazards danger dangers possibility",
        _IS_A_RISK,
        CueKind("doubt-after", "hypothetical"),
    ),
    word_pattern("for", _FOR_THE_DAY, CueKind("doubt-before", PLANNED)),
    word_pattern("when whenever once", _TO_USE_WHEN, CueKind("clause-before", "hypothetical")),
    word_pattern("refer refers referred referring referral", _REFERRED_FOR, CueKind("doubt-before", PLANNED)),
    word_pattern("to", _IS_TO_HAVE, CueKind("doubt-before", PLANNED)),
    word_pattern("suggest", _PROPOSAL, CueKind("doubt-before", CONSIDERED)),
    word_pattern("make makes making render renders", _MORE_LIKELY, CueKind("doubt-before", "hypothetical")),
    word_pattern("rule", _TO_CUT_OUT, CueKind("doubt-before", "hypothetical")),
    word_pattern("sure certain", _NOT_HIDING, CueKind("doubt-before", "hypothetical")),
    word_pattern(
        "ordered requested sent pending awaited follow added progress set way underway outstanding",
        _WORK_FOR,
        CueKind("doubt-before", "hypothetical"),
    ),
    word_pattern("r rule", _RULED_IN_LIST, CueKind("doubt-before", "hypothetical")),
    word_pattern("possibility chance prospect", _EXPLAINED_CHANCE, CueKind("doubt-before", "hypothetical")),
    word_pattern("report", _REPORT_IT, CueKind("doubt-before", "hypothetical")),
    word_pattern("any every each slightest first next", _WITH_ANY, CueKind("doubt-before", "hypothetical")),
    word_pattern("otherwise else", _OTHERWISE, CueKind("doubt-after", "hypothetical")),
    word_pattern("next", _NEXT_TIME_THAT, CueKind("clause-before", "hypothetical")),
    word_pattern("preop pre preoperative", _BEFORE_SURGERY, CueKind("doubt-before", PLANNED)),
    word_pattern(
        "taught shown told know knows instructed advised learnt learned",
        _WHAT_TO_DO,
        CueKind("doubt-before", "hypothetical"),
    ),
    word_pattern("mane", _MANE, CueKind("doubt-after", "hypothetical")),
    word_pattern(
        "booked scheduled rescheduled planned arranged listed pencilled penciled due fixed slated lined earmarked set down",
        _DATED_PLAN,
        CueKind("doubt-after", PLANNED),
    ),
    word_pattern(
        "patients patient people those anyone women men children adults smokers someone person cases individuals users carriers "
        "instances",
        _IN_OTHERS,
        CueKind("clause-either", "hypothetical"),
    ),
)
