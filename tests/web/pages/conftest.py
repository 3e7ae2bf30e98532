"""Portals over invented studies, with and without a stance classifier; each home is made once and not written to."""

import pytest
import studies_home


@pytest.fixture(scope="session")
def studies(tmp_path_factory):
    return studies_home.fill(tmp_path_factory.mktemp("studies"))


@pytest.fixture
def studies_client(studies):
    """The user of a machine with the collections `studies`, which has a stance model, and `abstracts`, which has none."""
    return studies_home.client_of(studies)


@pytest.fixture(scope="session")
def private_studies(tmp_path_factory):
    return studies_home.fill(tmp_path_factory.mktemp("private"), private=True)


@pytest.fixture
def private_client(private_studies):
    """The same, but the searches of `studies` are private."""
    return studies_home.client_of(private_studies)
