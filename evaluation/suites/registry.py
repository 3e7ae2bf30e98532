"""The suites by name, in the order of `evaluate all`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from evaluation.suite import Suite, SuiteOptions, spell_option
from evaluation.suites import (
    answers,
    assertion,
    beir,
    check_covid,
    citations,
    claims,
    cystic_fibrosis,
    evidence,
    experts,
    findings,
    forms,
    lay,
    medquad,
    notes,
    press,
    rationales,
    scifact,
    stance,
    transfer,
)
from evaluation.suites.lookups import suite as lookups
from evaluation.suites.nothing_here import suite as nothing_here
from evaluation.suites.polarity import suite as polarity
from evaluation.suites.radiology import suite as radiology
from mappings.errors import InvalidInput, NotFound

SUITES: Final[Mapping[str, Suite]] = {
    module.SUITE.name: module.SUITE
    for module in (
        scifact,
        check_covid,
        medquad,
        notes,
        press,
        cystic_fibrosis,
        evidence,
        citations,
        lay,
        answers,
        experts,
        forms,
        claims,
        lookups,
        radiology,
        findings,
        polarity,
        assertion,
        stance,
        rationales,
        nothing_here,
        transfer,
        beir,
    )
}


def find_suite(name: str, options: SuiteOptions) -> Suite:
    """The suite of that name. Raises `NotFound`, `InvalidInput` for options that it does not know."""
    suite = SUITES.get(name)
    if suite is None:
        raise NotFound(f"there is no suite {name!r}; there are {', '.join(SUITES)}", field="suite")
    for option in options.chosen:
        if option not in suite.options:
            raise InvalidInput(f"{spell_option(option)} is for {suites_with(option)}, not for {name}", field=option)
    if options.simple and suite.standalone is not None:
        raise InvalidInput(f"--simple is for suites that search one collection, not for {name}", field="simple")
    return suite


def suites_with(option: str) -> str:
    """The names of the suites that know an option."""
    return ", ".join(suite.name for suite in SUITES.values() if option in suite.options)
