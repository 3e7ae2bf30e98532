"""Where a request comes from: `X-Forwarded-For` counts only from proxies that the settings name."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from portal_home import settings_of

from mappings.errors import InvalidInput
from web import create_app
from web.access.proxies import Proxies

NAMED = Proxies.of("10.0.0.1, 10.1.0.0/16,fd00::/8,")


@pytest.mark.parametrize(
    ("peer", "forwarded", "address"),
    [
        ("192.0.2.7", [], "192.0.2.7"),
        ("192.0.2.7", ["198.51.100.1"], "192.0.2.7"),
        ("10.0.0.2", ["198.51.100.1"], "10.0.0.2"),
        ("10.0.0.1", [], "10.0.0.1"),
        ("10.0.0.1", ["198.51.100.1"], "198.51.100.1"),
        ("10.0.0.1", ["1.2.3.4, 198.51.100.1"], "198.51.100.1"),
        ("10.0.0.1", ["1.2.3.4", "198.51.100.1"], "198.51.100.1"),
        ("10.0.0.1", ["1.2.3.4, 198.51.100.1, 10.1.2.3"], "198.51.100.1"),
        ("10.0.0.1", ["10.1.2.3,10.1.2.4"], "10.1.2.3"),
        ("10.0.0.1", ["198.51.100.1, nonsense"], "10.0.0.1"),
        ("10.0.0.1", ["nonsense, 10.1.2.3"], "10.1.2.3"),
        ("10.0.0.1", ["", ","], "10.0.0.1"),
        ("10.0.0.1", ["198.51.100.1:4711"], "198.51.100.1"),
        ("::ffff:10.0.0.1", ["::ffff:198.51.100.1"], "198.51.100.1"),
        ("fd00::1", ["[2001:db8::7]:443"], "2001:db8::7"),
        (None, ["198.51.100.1"], None),
        ("", ["198.51.100.1"], ""),
    ],
)
def test_the_address_is_the_last_that_is_no_proxy(peer, forwarded, address):
    assert NAMED.client(peer, forwarded) == address


@given(st.text(max_size=60))
def test_no_header_breaks_it(text):
    assert NAMED.client("10.0.0.1", [text])
    assert Proxies().client("10.0.0.1", [text]) == "10.0.0.1"


@pytest.mark.parametrize("text", ["proxy.example", "10.0.0.0/33", "10.0.0.1/24", "10.0.0.1 10.0.0.2", "*"])
def test_a_wrong_setting_is_named(text):
    with pytest.raises(InvalidInput) as caught:
        Proxies.of(text)
    assert caught.value.field == "MEDLEY_PROXIES"


@pytest.mark.parametrize(("proxies", "address"), [("", "127.0.0.1"), ("127.0.0.1", "198.51.100.1")])
def test_the_access_log_has_the_callers_address(home, token, logged, proxies, address):
    client = create_app(replace(settings_of(home), proxies=proxies)).test_client()
    headers = token("ada", "ward-7") | {"X-Forwarded-For": "192.0.2.66, 198.51.100.1"}
    client.get("/v1/search?collection=notes&text=pneumonia", headers=headers)
    client.get("/v1/collections", headers=headers | {"Authorization": "Bearer wrong"})
    assert [line["address"] for line in logged()] == [address, address]


def test_a_named_proxy_opens_no_portal_without_tokens(home):
    client = create_app(replace(settings_of(home), proxies="127.0.0.1")).test_client()
    assert client.get("/v1/collections", headers={"X-Forwarded-For": "127.0.0.1"}).status_code == 403
