"""The words by which a sentence is recognised as a claim, an opinion, a joke, or the furniture of a web page. English only."""

from __future__ import annotations

import re
from typing import Final

_STEMS: Final = [
    "prevent",
    "protect",
    "boost",
    "trigger",
    "affect",
    "harm",
    "damage",
    "relieve",
    "alleviate",
    "worsen",
    "improve",
    "slow",
    "delay",
    "stop",
    "fight",
    "combat",
    "block",
    "suppress",
    "inhibit",
    "accelerate",
    "shrink",
    "extend",
    "prolong",
    "shorten",
    "kill",
    "cure",
    "treat",
    "heal",
    "help",
    "ease",
    "curb",
    "slash",
    "halve",
    "double",
    "triple",
    "cause",
    "reduce",
    "lower",
    "raise",
    "increase",
    "decrease",
    "cut",
    "weaken",
    "strengthen",
    "reverse",
    "destroy",
    "eliminate",
    "repair",
    "restore",
    "contribute",
    "infect",
    "transmit",
]


def _forms(stem: str) -> tuple[str, str, str, str]:
    """The base form, the one in -s, the past and the one in -ing."""
    if stem == "cut":
        return "cut", "cuts", "cut", "cutting"
    if stem in ("stop", "slow down"):
        return stem, f"{stem}s", f"{stem}ped", f"{stem}ping"
    root = stem.removesuffix("e")
    plural = f"{stem}es" if stem.endswith(("sh", "ch")) else f"{stem}s"
    past = "shrank" if stem == "shrink" else "fought" if stem == "fight" else f"{root}ed"
    return stem, plural, past, f"{root}{'t' if stem in ('transmit',) else ''}ing"


BASE: Final = frozenset(_forms(stem)[0] for stem in _STEMS)
SINGULAR: Final = frozenset(_forms(stem)[1] for stem in _STEMS)
PAST: Final = frozenset(_forms(stem)[2] for stem in _STEMS)
"""Forms of the verbs that say what something does to health. Two verbs of one subject have the same form."""

_VERBS: Final = "|".join(sorted({form for stem in _STEMS for form in _forms(stem)}, key=len, reverse=True))
EFFECT: Final = re.compile(
    rf"\b(?:{_VERBS}|transmitted|transmitting"
    r"|(?:leads?|led|leading) to|(?:results?|resulted|resulting) in|(?:link|links|linked|ties|tied) (?:to|with|between)"
    r"|(?:associated|correlated) with|associations? (?:between|with)|risk factors?|risks? (?:of|for)|at (?:higher |lower )?risk"
    r"|(?:makes?|made|keeps?|kept) (?:you|people|us|children|women|men|patients|the)"
    r"|(?:rose|rises?|fell|falls?|drops?|dropped|climbs?|climbed|soared|plunged) (?:by|to|from|sharply|steadily)"
    r"|spreads?|spreading|transmissions?|transmissible|recover(?:s|ed)?(?: from)?|immunity|immune|protective|susceptib\w+|contagious|infectious"
    r"|(?:no |a |positive |negative )?correlations?|(?:negatively|positively|closely|not) related to|predict(?:s|ed|ive)?|predictors?"
    r"|survive[sd]?|surviv(?:al|ing)|contract(?:s|ed)?|symptoms? of|treatments? for|remed(?:y|ies)|promise (?:as|in|for|against)"
    r"|(?:works?|worked) (?:for|against|better|as)|(?:does|do|did)(?: not|n['’]t) work|wards? off"
    r"|(?:in)?effective|(?:in)?effectiveness|efficacy|(?:no|little|any) (?:effect|benefit|evidence)|side[- ]effects?"
    r"|(?:un)?safe|dangerous|deadly|toxic|beneficial|harmful|healthy|unhealthy|(?:good|bad) for|carcinogenic|addictive)\b",
    re.IGNORECASE,
)
COMPARISON: Final = re.compile(
    r"\b(?:than|(?:more|less|as|equally|most|least) (?:likely|effective|common|often|frequent|safe|dangerous|severe|deadly)"
    r"|compared (?:with|to)|in comparison|versus|vs|twice|threefold|twofold|\w+ times (?:more|less|as|the|higher|lower)"
    r"|(?:higher|lower|greater|fewer|longer|shorter|better|worse|lesser|increased|reduced|elevated) (?:risks?|odds|chances?|rates?"
    r"|levels?|mortality|survival|incidence|deaths|lives|outcomes?|likelihood))\b",
    re.IGNORECASE,
)
LIKELIHOOD: Final = re.compile(
    r"\b(?:can(?:not|['’]t)?|could(?:n['’]t)?|may|might|likely|unlikely|probably|never|always|rarely|most people|is|are|isn['’]t|aren['’]t)\b",
    re.IGNORECASE,
)
HEALTH: Final = re.compile(
    r"\b(?:(?:corona)?virus(?:es)?|covid|vaccin\w+|infect\w+|diseases?|illness(?:es)?|patients?|antibod(?:y|ies)|drugs?|medic\w+|doses?"
    r"|treatments?|therap(?:y|ies)|symptoms?|mortality|deaths?|die[sd]?|fatal\w*|immun\w+|health\w*|hospitali[sz]\w+|genes?|genetic|cells?"
    r"|brains?|hearts?|lungs?|liver|kidneys?|blood|bones?|skin|muscles?|sleep|diets?|vitamins?|supplements?|obes\w+|weight|smok\w+|alcohol"
    r"|exercise|pregnan\w+|tumou?rs?|cancers?|bacteria\w*|hormones?|lifespan|longevity|ag(?:e)?ing|masks?)\b",
    re.IGNORECASE,
)
_UNITS: Final = (
    r"%|‰|°[CF]?|per\s?cent\b|percentage\b|(?:mg|mcg|µg|μg|g|kg|ml|l|dl|mmol|mmhg|kcal|iu|cm|mm|km)\b"
    r"|(?:years?|months?|weeks?|days?|hours?|hrs?|minutes?|mins?|seconds?|times?|points?|pounds?|lbs?|stones?|calories|cups?"
    r"|glasses|units?|doses?|fold|grams?|milligrams?|micrograms?|litres?|liters?|steps|people|patients?|adults?|women|men|children"
    r"|babies|infants|participants?|volunteers?|cases|deaths|lives|adults|pregnancies|births|studies|trials|servings?|portions?)\b"
)
NUMBER: Final = r"(?<![\w.,/-])\d+(?:[.,]\d+)*"
MEASURED: Final = re.compile(
    rf"{NUMBER}(?:\s?(?:to|-|–|or)\s?\d+(?:[.,]\d+)*)?[\s-]?(?:(?:million|billion|thousand|hundred)[\s-])?(?:\w+[\s-]){{0,1}}(?:{_UNITS})"
    r"|\b(?:one|two|three|four|five|six|seven|eight|nine) (?:in|out of) (?:\d+|ten|three|four|five|six|seven|eight|nine|twenty|a hundred)\b"
    rf"|{NUMBER} (?:in|of|out of) (?:every )?\d"
    r"|\b(?:half|a third|a quarter|two[- ]thirds|three[- ]quarters|most|the majority) of\b",
    re.IGNORECASE,
)
RESEARCH: Final = re.compile(
    r"\b(?:stud(?:y|ies)|trials?|research|researchers|scientists|meta-analys[ie]s|review|data|findings) (?:[\w,]+ ){0,4}"
    r"(?:show|find|found|suggest|reveal|report|conclude|confirm|prove|discover|indicat|claim|say|warn)\w*",
    re.IGNORECASE,
)
OPINION: Final = re.compile(
    r"\b(?:I|we)(?:['’](?:m|re|ve|d))? (?:\w+ )?(?:believe|think|feel|hope|guess|suppose|wish|love|hate|want|suspect|doubt)\b"
    r"|\b(?:in (?:my|our) (?:\w+ )?(?:opinion|view|experience)|it seems to me|arguably|if you ask me)\b"
    r"|\b(?:should|ought to|must|shouldn['’]t|mustn['’]t|needs? to|has to|have to)\b"
    r"|\b(?:it['’]s|it is) (?:time|a shame|a scandal|outrageous|great|wonderful|amazing|terrible)\b",
    re.IGNORECASE,
)
MONTH: Final = re.compile(
    r"\b(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?\s*$",
    re.IGNORECASE,
)
ANECDOTE: Final = re.compile(
    r"(?<!type )(?<!phase )(?<!stage )(?<!grade )(?<!class )\b(?:I|I['’](?:m|ve|d|ll)|[Mm]y|myself)\b"
)
JOKE: Final = re.compile(
    r"\b(?:lol|rofl|lmao|(?:ha){2,}h?|just kidding|joking aside|kidding aside|no joke|satire|satirical|spoof|parody"
    r"|april fools?['’]?s?|pun intended|asking for a friend|said no one ever|walks? into a bar)\b|[😀-🙄🤣🤪]",
    re.IGNORECASE,
)
PLAN: Final = re.compile(
    r"\b(?:(?:more|further|larger|additional) (?:\w+ )?(?:research|studies|trials|work|data) (?:is|are|will be) (?:\w+ )?(?:needed|required|necessary)"
    r"|(?:trial|study|team|researchers|project|scientists) (?:will|aims?|plans?|hopes?|is set) (?:to )?"
    r"|(?:aimed|plans?|planned|hopes?|hoping) to (?:find|test|study|see|learn|investigate|determine))\b",
    re.IGNORECASE,
)
FURNITURE: Final = re.compile(
    r"\b(?:click (?:here|to)|read (?:more|next|also|the full)|sign (?:up|in) |subscribe|log ?in\b|newsletter|cookies?\b|privacy policy"
    r"|terms (?:of|and) (?:use|service|conditions)|all rights reserved|copyright|©|advertisement|sponsored|getty images|shutterstock"
    r"|share (?:this|on)|follow us|download (?:the|our) app|related (?:articles|stories|topics)|skip to|back to top|photo(?:graph)?:"
    r"|image (?:source|caption|credit)|published (?:on|at|:)|last updated|comments? \(\d)",
    re.IGNORECASE,
)
ATTRIBUTION: Final = re.compile(
    r"[,\s]*\b(?:(?:he|she|they|it) )?(?:said|says|told|added|adds|explained|explains|commented|according to|noted|wrote|tweeted)\b"
    r"[^,.;:“\"]{0,120}",
    re.IGNORECASE,
)
ANAPHORA: Final = re.compile(
    r"^[\"“'‘]?(?:(?:and|but|so|also|however|moreover|then|or),? )?"
    r"(?:it|they|this|these|that|those|he|she|such|both|its|their|there|here"
    r"|the (?:drug|drugs|treatment|pill|jab|vaccine|diet|supplement|latter|former|same|effect|therapy|condition|disease))\b",
    re.IGNORECASE,
)
WORD: Final = re.compile(r"[^\W\d_][\w'’-]*")
