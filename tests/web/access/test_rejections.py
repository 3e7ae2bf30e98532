"""Refused tokens and sessions are logged without their secrets, and an address that keeps sending them is slowed."""

import re

import pytest

from web.access.throttle import FREE_FAILURES, QUIET_SECONDS, Throttle


def csrf(client):
    return re.search(r'name="csrf" value="([^"]+)"', client.get("/login").text)[1]


def log_in(client, token):
    return client.post("/login", data={"csrf": csrf(client), "token": token})


def call(client, header, address="127.0.0.1"):
    return client.get("/v1/collections", headers={"Authorization": header}, environ_overrides={"REMOTE_ADDR": address})


@pytest.mark.parametrize(
    ("change", "reason", "is_known"),
    [
        (lambda right: f"{right[:-2]}xx", "wrong secret", True),
        (lambda right: "Bearer medley_abc_secret-of-nobody", "unknown token", False),
        (lambda right: "Bearer ", "unknown token", False),
        (lambda right: "Basic YTpi", "not a bearer token", False),
    ],
)
def test_a_bad_bearer_token_is_logged(client, token, logged, home, change, reason, is_known):
    right = token("ada", "ward-7")["Authorization"]
    sent = change(right)
    assert call(client, sent, "192.0.2.7").status_code == 401
    (line,) = logged()
    assert (line["action"], line["status"], line["address"], line["user"]) == ("authenticate", 401, "192.0.2.7", None)
    assert (line["token"], line["asked"]) == (right.split("_")[1] if is_known else None, {"reason": reason})
    written = (home / "access.log").read_text()
    assert right.split("_", 2)[2][:8] not in written
    assert "secret-of-nobody" not in written


def test_a_failed_login_and_a_logout_are_logged(client, token, logged):
    right = token("ada", "ward-7")["Authorization"].removeprefix("Bearer ")
    log_in(client, right[:-2] + "xx")
    log_in(client, right)
    client.post("/logout", data={"csrf": csrf(client)})
    client.get("/")
    assert [(line["action"], line["user"], line["token"], line["asked"], line["status"]) for line in logged()] == [
        ("login", None, right.split("_")[1], {"reason": "wrong secret"}, 401),
        ("login", "ada", right.split("_")[1], {}, 200),
        ("logout", "ada", right.split("_")[1], {}, 200),
    ]


def test_a_request_with_neither_token_nor_session_is_not_logged(client, token, logged):
    token("ada", "ward-7")
    assert client.get("/v1/collections").status_code == 401
    assert logged() == []


def test_a_rejection_that_cannot_be_logged_is_an_error(client, token, home):
    token("ada", "ward-7")
    (home / "access.log").mkdir()
    assert call(client, "Bearer wrong").status_code == 503


def test_wrong_tokens_are_slowed_more_and_more(client, token, logged):
    token("ada", "ward-7")
    assert {call(client, "Bearer wrong").status_code for _ in range(FREE_FAILURES)} == {401}
    answers = [call(client, "Bearer wrong") for _ in range(4)]
    assert [(answer.status_code, answer.headers["Retry-After"]) for answer in answers] == [
        (429, wait) for wait in "1248"
    ]
    assert answers[0].json["error"]["code"] == "throttled"
    assert "too many wrong tokens came from 127.0.0.1" in answers[0].json["error"]["message"]
    assert [line["status"] for line in logged()] == [401] * FREE_FAILURES + [429] * 4


def test_a_right_token_is_accepted_from_a_slowed_address_and_others_are_not_slowed(client, token):
    right = token("ada", "ward-7")["Authorization"]
    for _ in range(FREE_FAILURES + 3):
        call(client, "Bearer wrong")
    assert call(client, right).status_code == 200
    assert log_in(client, right.removeprefix("Bearer ")).status_code == 303
    assert client.get("/").status_code == 200
    assert call(client, "Bearer wrong").status_code == 429
    assert call(client, "Bearer wrong", "192.0.2.8").status_code == 401


def test_wrong_logins_are_slowed_on_the_page(client, token):
    token("ada", "ward-7")
    form = csrf(client)
    answers = [client.post("/login", data={"csrf": form, "token": "wrong"}) for _ in range(FREE_FAILURES + 2)]
    assert [answer.status_code for answer in answers] == [401] * FREE_FAILURES + [429] * 2
    assert answers[-1].headers["Retry-After"] == "2"
    assert "so try again in 2 seconds" in answers[-1].text


def test_an_address_starts_afresh_after_a_quiet_time():
    now = 0.0
    throttle = Throttle(lambda: now)
    waits = [throttle.count_failure("192.0.2.7") for _ in range(FREE_FAILURES + 40)]
    assert waits[:FREE_FAILURES] == [0] * FREE_FAILURES
    assert (waits[FREE_FAILURES], waits[-1]) == (1, QUIET_SECONDS)
    now += QUIET_SECONDS - 1
    assert throttle.count_failure("192.0.2.7") == QUIET_SECONDS
    now += QUIET_SECONDS
    assert throttle.count_failure("192.0.2.7") == 0


def test_an_ipv6_network_is_one_sender():
    throttle = Throttle()
    waits = [throttle.count_failure(f"2001:db8::{number:x}") for number in range(FREE_FAILURES + 1)]
    assert waits[-1] == 1
    assert throttle.count_failure("2001:db8:0:1::1") == 0


def test_no_number_of_addresses_fills_the_memory():
    throttle = Throttle(most=100)
    for number in range(1_000):
        throttle.count_failure(f"10.0.{number // 250}.{number % 250}")
    assert len(throttle) == 100


@pytest.mark.parametrize("address", [None, "", "nonsense"])
def test_a_sender_without_an_address_is_counted_too(address):
    throttle = Throttle()
    assert [throttle.count_failure(address) for _ in range(FREE_FAILURES + 1)][-1] == 1
