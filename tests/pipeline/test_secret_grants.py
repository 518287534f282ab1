"""A secret reaches a command only by policy, confirmation and audit, and nothing else shows it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from redoma import Access, Outcome, Sandbox
from redoma.jail.engines.registry import DEFAULTS
from redoma.model.errors import EngineFailed, UnknownToken, UsageError
from redoma.model.grant import Secret
from redoma.model.request import Question
from redoma.pipeline.user_vault import vault
from tests.pipeline.place import Place

pytestmark = [pytest.mark.requirement("S10"), pytest.mark.both_users]
VALUE = "tok-5f2c81d09b7e-kept"
FILE = "/run/secrets/api"


class Asked:
    """Who is asked, and what they were asked."""

    def __init__(self, *, says: bool) -> None:
        self._says = says
        self.questions: list[Question] = []

    def __call__(self, question: Question) -> bool:
        self.questions.append(question)
        return self._says


def sandbox(place: Place, asked: Asked, *secrets: str, **more: object) -> Sandbox:
    vault().put("api", Secret(VALUE))
    return place.sandbox(access=Access(secrets=secrets), ask=asked, **more)


def everything_below(place: Path) -> list[str]:
    """Every file that has the secret in plaintext."""
    found = []
    for directory, _, names in os.walk(place):
        for name in names:
            path = Path(directory, name)
            if path.is_file() and VALUE.encode() in path.read_bytes():
                found.append(str(path))
    return found


@pytest.mark.parametrize("engine", ["", "bubblewrap", "forkserver"])
def test_a_command_gets_a_secret_in_a_variable_or_in_a_file(place: Place, engine: str) -> None:
    asked = Asked(says=True)
    box = sandbox(place, asked, "api", f"api={FILE}", "api=OTHER", engine=engine)
    result = box.run(f"printf '%s ' ${{#api}} ${{#OTHER}}; wc -c < {FILE}; stat -c %a {FILE}")
    assert (result.stdout, result.ok) == (
        f"{len(VALUE)} {len(VALUE)} {len(VALUE)}\n400\n".encode(),
        True,
    )
    assert len(asked.questions) == 1
    because = " ".join(asked.questions[0].because)
    assert "it gets the secret api in plaintext: the variable OTHER" in because
    assert VALUE not in repr(asked.questions[0])


def test_the_file_is_memory_that_cannot_be_written_and_is_gone_afterwards(place: Place) -> None:
    box = sandbox(place, Asked(says=True), f"api={FILE}")
    result = box.run(
        f"grep ' {FILE} ' /proc/self/mountinfo | sed 's/.* - //' | cut -d' ' -f1;"
        f" echo x 2>/dev/null > {FILE} || echo refused; echo x 2>/dev/null > /run/secrets/y || echo refused"
    )
    assert result.stdout.decode().split() == ["tmpfs", "refused", "refused"]
    assert not os.path.exists(FILE)


@pytest.mark.parametrize("engine", ["", "bubblewrap", "forkserver"])
def test_who_is_asked_and_says_no_keeps_the_secret_closed(place: Place, engine: str) -> None:
    box = sandbox(place, Asked(says=False), "api", engine=engine)
    assert box.run("echo ran").outcome is Outcome.DECLINED
    assert "run-starting" not in place.kinds()
    assert (
        place.sandbox(access=Access(secrets=("api",))).run("echo ran").outcome is Outcome.DECLINED
    )


def test_the_audit_log_names_the_secret_and_never_has_its_value(place: Place) -> None:
    place.user_policy("logging:\n  include_command_output: true\n")
    box = sandbox(place, Asked(says=True), "api", f"api={FILE}")
    box.run(f'echo "$api"; cat {FILE}; echo "$api" >&2')
    started = [row for row in place.rows() if row.kind == "run-starting"]
    assert [json.loads(row.details)["secrets"] for row in started] == [["api=api", f"api={FILE}"]]
    assert everything_below(place.workspace.parent) == []


def test_what_a_command_prints_of_it_is_taken_out(place: Place) -> None:
    shown = {1: b"", 2: b""}

    def show(number: int, data: bytes) -> None:
        shown[number] += data

    box = sandbox(place, Asked(says=True), "api")
    ended = box.run(
        'printf "%s|" "$api"; printf %s "$api" | base64 -w0; printf "|"; for c in $(echo "$api" | fold -w1);'
        ' do printf %s "$c"; sleep 0.01; done; echo; echo "err $api" >&2; printf tail-tok',
        sink=show,
    )
    for text in (ended.stdout + ended.stderr, shown[1] + shown[2]):
        assert VALUE.encode() not in text
        assert (text.count(b"**********"), b"tail-tok" in text) == (8, True)


def test_a_policy_says_which_secrets_a_command_may_get(place: Place) -> None:
    asked = Asked(says=True)
    place.user_policy("secrets:\n  allowed: [npm_*]\n")
    box = sandbox(place, asked, "api")
    denied = box.run("echo ran")
    assert (denied.outcome, asked.questions) == (Outcome.DENIED, [])
    assert denied.decision is not None
    assert denied.decision.because == (
        "the secret api is not on the list of those that a command may get",
    )
    place.user_policy("secrets:\n  allowed: [npm_*, api]\n  confirm: false\n")
    assert box.run("echo ran").stdout == b"ran\n"
    assert asked.questions == []
    place.policy("secrets:\n  confirm: true\n")  # a project may only tighten
    assert box.run("echo ran").stdout == b"ran\n"
    assert len(asked.questions) == 1
    place.policy("secrets:\n  allowed: []\n")
    assert box.run("echo ran").outcome is Outcome.DENIED


def test_a_preview_gets_no_secret_since_nobody_is_asked_about_it(place: Place) -> None:
    asked = Asked(says=True)
    box = sandbox(place, asked, "api", f"api={FILE}")
    seen = box.preview(f'echo "${{api-nothing}}" > made; ls {FILE} >> made 2>&1')
    assert asked.questions == []
    text = Path(place.workspace, "made")
    assert not text.exists()
    seen.apply()
    assert text.read_text().splitlines()[0] == "nothing"
    assert VALUE not in text.read_text()


def test_an_engine_without_a_root_of_its_own_gives_variables_and_no_file(place: Place) -> None:
    given = sandbox(place, Asked(says=True), "api", engine="direct").run("echo ${#api}")
    assert given.stdout == f"{len(VALUE)}\n".encode()
    with pytest.raises(EngineFailed, match="no place of its own"):
        sandbox(place, Asked(says=True), f"api={FILE}", engine="direct").run("true")


def test_a_secret_that_is_not_kept_stops_the_run(place: Place) -> None:
    with pytest.raises(UnknownToken) as caught:
        sandbox(place, Asked(says=True), "other").run("echo ran")
    assert caught.value.hint == "redoma vault set other"


@pytest.mark.parametrize(
    "written",
    [
        *("", "=X", "a b", "api=", "api=/etc/passwd", "api=/run/secrets/../x", "api=/run/secrets/"),
        *("api=/run/secrets/a/b", "api=LD_PRELOAD", "api=PATH", "api=A B", "api=1X", "x.y"),
    ],
)
def test_a_grant_that_cannot_be_read_is_an_error(place: Place, written: str) -> None:
    if written == "api=":
        assert place.sandbox(access=Access(secrets=(written,)))  # the variable of its name
        return
    with pytest.raises(UsageError):
        place.sandbox(access=Access(secrets=(written,)))


def test_two_secrets_do_not_share_a_place(place: Place) -> None:
    with pytest.raises(UsageError, match="two secrets"):
        place.sandbox(access=Access(secrets=("one=TOKEN", "two=TOKEN")))


def command_lines() -> list[bytes]:
    """The command line of every process, and the environment of those of ours outside."""
    found = []
    for process in Path("/proc").iterdir():
        for name in ("cmdline", "environ") if process.name == str(os.getpid()) else ("cmdline",):
            try:
                found.append((process / name).read_bytes())
            except OSError:
                continue
    return found


@pytest.mark.parametrize("engine", [e for e in DEFAULTS if e in ("bubblewrap", "forkserver")])
def test_no_command_line_shows_the_secret_while_it_is_used(place: Place, engine: str) -> None:
    from threading import Thread

    box = sandbox(place, Asked(says=True), "api", f"api={FILE}", engine=engine)
    done: list[bytes] = []
    shown: list[bytes] = []
    running = Thread(
        target=lambda: done.append(
            box.run("echo ready; sleep 1; true", sink=lambda _n, data: shown.append(data)).stdout
        )
    )
    running.start()
    while not shown and running.is_alive():
        pass
    seen = command_lines()
    running.join()
    assert done == [b"ready\n"]
    assert any(b"sleep" in line for line in seen)
    assert [line for line in seen if VALUE.encode() in line] == []
