"""Names give away what they are: hosts, files that keep secrets, variables that run code."""

from __future__ import annotations

import pytest

from redoma.judge.interpret.hosts import host_of, host_target
from redoma.judge.interpret.sensitive import is_secret, is_secret_variable, keeps_secrets
from redoma.model.decision import Place, Risk
from tests.unit.judge.judged import risk

HOSTS = [
    ("https://user@Host.example:8443/p?q#f", "host.example"),
    ("git@host.example:o/r", "host.example"),
    ("[::1]:8080", "::1"),
    ("host.example/path", "host.example"),
    ("https://github.com\\@d.example/", "d.example"),
]
MARKS = [
    ("https://example.org/x", Place.HOST, ()),
    ("http://localhost:3000/x", Place.LOOPBACK, ()),
    ("http://127.0.0.1/x", Place.LOOPBACK, ()),
    ("https://githib.com/x", Place.HOST, ("typosquat",)),
    ("https://github.com/x", Place.HOST, ()),
    ("https://rnicrosoft.com/", Place.HOST, ("typosquat",)),
    ("https://xn--pple-43d.com/", Place.HOST, ("lookalike",)),
    ("http://169.254.169.254/", Place.HOST, ("metadata", "numeric", "private", "plain")),
    ("https://bit.ly/x", Place.HOST, ("shortener",)),
    ("https://2130706433/", Place.HOST, ("numeric", "disguised")),
]
SECRET_PATHS = (
    "/home/user/.ssh/id_ed25519 /home/user/project/.env /home/user/project/.env.local /etc/shadow "
    "/home/user/.config/glab-cli/config.yml /proc/1/environ /srv/tls/site.key /home/user/.kube/config"
).split()
PLAIN_PATHS = (
    "/home/user/project/data /home/user/project/login /home/user/project/.env.example "
    "/home/user/.ssh/id_rsa.pub /home/user/.ssh/known_hosts /home/user/project/keyboard.py "
    "/home/user/project/tokens.py /home/user/project/src/secrets/README.md"
).split()
VARIABLES = [
    ("EDITOR=vim ls", Risk.SAFE),
    ("VISUAL=true ls", Risk.SAFE),
    ("PAGER='less -R' ls", Risk.SAFE),
    ("PAGER='sh -c id' ls", Risk.DANGEROUS),
    ("PYTHONPATH=src ls", Risk.SAFE),
    ("PYTHONPATH=/tmp/x ls", Risk.DANGEROUS),
    ("NODE_OPTIONS=--max-old-space-size=4096 ls", Risk.SAFE),
    ("NODE_OPTIONS='--require ./x.js' ls", Risk.DANGEROUS),
    ("JAVA_TOOL_OPTIONS=-Xmx1g ls", Risk.SAFE),
    ("JAVA_TOOL_OPTIONS=-Xrunhprof ls", Risk.DANGEROUS),
    ("_JAVA_OPTIONS=-agentpath:./x.so ls", Risk.DANGEROUS),
    ("JDK_JAVA_OPTIONS=-Xrunhprof ls", Risk.DANGEROUS),
    ("JDK_JAVA_OPTIONS=@./more ls", Risk.DANGEROUS),
    ("ENV=production ls", Risk.SAFE),
    ("ENV=/tmp/rc ls", Risk.DANGEROUS),
    ("MAKEFLAGS=-j4 ls", Risk.SAFE),
    ("LD_PRELOAD=./x.so ls", Risk.DANGEROUS),
    ("LD_LIBRARY_PATH=/usr/local/lib ls", Risk.SAFE),
    ("PATH=/tmp/x:$PATH ls", Risk.DANGEROUS),
    ("PATH=$HOME/.cargo/bin:$PATH ls", Risk.MODERATE),
    ("HISTSIZE=10000 ls", Risk.SAFE),
    ("HISTFILE=/dev/null ls", Risk.DANGEROUS),
    ("GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=user.name GIT_CONFIG_VALUE_0=x ls", Risk.SAFE),
    ("GIT_CONFIG_KEY_0=core.fsmonitor ls", Risk.DANGEROUS),
    ("F='() { :; }; id' ls", Risk.DANGEROUS),
    ("API=ghp_abcdefgh0123 ls", Risk.DANGEROUS),
    ("GREETING=hello ls", Risk.SAFE),
]


@pytest.mark.parametrize(("text", "host"), HOSTS)
def test_the_host_is_what_the_address_leads_to(text: str, host: str) -> None:
    assert host_of(text) == host


@pytest.mark.parametrize(("text", "place", "marks"), MARKS)
def test_an_address_is_marked_for_what_its_name_gives_away(
    text: str, place: Place, marks: tuple[str, ...]
) -> None:
    target, found = host_target(text)
    assert (target.place, found) == (place, marks)


def test_files_that_keep_secrets_are_known_by_their_names() -> None:
    assert [path for path in SECRET_PATHS if not is_secret(path)] == []


def test_ordinary_names_are_not_taken_for_secrets() -> None:
    assert [path for path in PLAIN_PATHS if is_secret(path)] == []


def test_a_folder_of_keys_carries_secrets_without_being_one() -> None:
    path = "/home/user/project/certs"
    assert (keeps_secrets(path), is_secret(path)) == (True, False)


def test_a_variable_is_secret_by_the_words_of_its_name() -> None:
    names = "GITHUB_TOKEN AWS_SECRET_ACCESS_KEY PGPASSWORD MY_API_KEY TOKENIZERS_PARALLELISM KEYBOARD PATH"
    assert [name for name in names.split() if is_secret_variable(name)] == names.split()[:4]


@pytest.mark.parametrize(("command", "level"), VARIABLES, ids=[command for command, _ in VARIABLES])
def test_a_variable_is_judged_by_what_its_value_makes_others_do(command: str, level: Risk) -> None:
    assert risk(command) is level
