"""A code is short-lived, good once, not to be guessed, and cannot be made useless by a flood."""

from __future__ import annotations

import math

import pytest

from redoma.sessions.codes import LIFETIME, InviteCodes, neighbourhood
from redoma.sessions.errors import CodeRefused, TooManyAttempts
from redoma.sessions.tickets import Bearer, SingleUse


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def wrong(codes: InviteCodes, address: str, times: int) -> list[type[Exception]]:
    seen: list[type[Exception]] = []
    for number in range(times):
        with pytest.raises((CodeRefused, TooManyAttempts)) as refused:
            codes.redeem(f"ZZZZ-{number:04}-ZZZZ-ZZZZ", address)
        seen.append(refused.type)
    return seen


def test_a_code_has_at_least_sixty_bits_in_groups_that_can_be_read() -> None:
    text = InviteCodes().give("s").text
    secret = text.split("-")[1:]
    assert [len(group) for group in secret] == [4, 4, 4]
    assert sum(map(len, secret)) * math.log2(32) >= 60
    assert not set(text) & set("OILU")


def test_a_code_is_good_once() -> None:
    codes = InviteCodes()
    code = codes.give("s").text
    assert codes.redeem(code, "192.0.2.1") == "s"
    with pytest.raises(CodeRefused):
        codes.redeem(code, "192.0.2.1")


def test_a_code_is_over_after_fifteen_minutes() -> None:
    clock = Clock()
    codes = InviteCodes(clock)
    code = codes.give("s").text
    assert LIFETIME == 15 * 60
    clock.now += LIFETIME + 1
    with pytest.raises(CodeRefused):
        codes.redeem(code, "192.0.2.1")


def test_a_new_code_ends_the_one_before() -> None:
    codes = InviteCodes()
    old, new = codes.give("s").text, codes.give("s").text
    with pytest.raises(CodeRefused):
        codes.redeem(old, "192.0.2.1")
    assert codes.redeem(new, "192.0.2.1") == "s"


def test_a_code_may_be_typed_carelessly() -> None:
    codes = InviteCodes()
    code = codes.give("s").text
    assert codes.redeem(f" {code.lower().replace('-', ' ').replace('0', 'o')} ", "192.0.2.1") == "s"


def test_guessing_is_slowed_down_for_each_address() -> None:
    seen = wrong(InviteCodes(Clock()), "192.0.2.1", 30)
    assert seen[:10] == [CodeRefused] * 10
    assert set(seen[10:]) == {TooManyAttempts}


def test_a_flood_from_one_address_shuts_out_nobody_with_the_right_code() -> None:
    codes = InviteCodes(Clock())
    code = codes.give("s").text
    wrong(codes, "192.0.2.1", 500)
    assert codes.redeem(code, "192.0.2.1") == "s"


def test_a_flood_from_everywhere_shuts_out_nobody_with_the_right_code() -> None:
    codes = InviteCodes(Clock())
    code = codes.give("s").text
    for number in range(300):
        wrong(codes, f"198.51.{number // 250}.{number % 250}", 4)
    assert codes.redeem(code, "192.0.2.9") == "s"


def test_a_flood_shortens_the_attempts_of_every_address() -> None:
    codes = InviteCodes(Clock())
    for number in range(50):
        wrong(codes, f"198.51.100.{number}", 3)
    assert wrong(codes, "192.0.2.9", 5) == [CodeRefused] * 3 + [TooManyAttempts] * 2


def test_a_code_whose_first_group_is_known_is_not_tried_without_end() -> None:
    codes = InviteCodes(Clock())
    code = codes.give("s")
    for number in range(1000):
        with pytest.raises((CodeRefused, TooManyAttempts)):
            codes.redeem(f"{code.id}{number:012}", "192.0.2.1")
    with pytest.raises((CodeRefused, TooManyAttempts)):
        codes.redeem(code.text, "192.0.2.1")


def test_attempts_take_no_memory_without_end() -> None:
    codes = InviteCodes(Clock())
    for number in range(12_000):
        wrong(codes, f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}", 1)
    assert len(codes._wrong) <= 10_000


def test_a_whole_network_of_ipv6_is_one_address() -> None:
    assert neighbourhood("2001:db8::1") == neighbourhood("2001:db8::ffff")
    assert neighbourhood("::ffff:192.0.2.1") == "192.0.2.1"


def test_a_ticket_is_good_once_and_soon_over() -> None:
    clock = Clock()
    tickets: SingleUse[Bearer] = SingleUse(clock=clock)
    whose = Bearer(session="s", guest="g")
    text = tickets.issue(whose)
    assert tickets.take(text) == whose
    assert tickets.take(text) is None
    late = tickets.issue(whose)
    clock.now += 31
    assert tickets.take(late) is None
    assert tickets.take("made up") is None
