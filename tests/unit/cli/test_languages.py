"""Redoma as somebody meets it who reads Portuguese; programs and agents read English."""

from __future__ import annotations

import errno
import json
import os
import re
from pathlib import Path

import pytest

from redoma.cli import COMMANDS
from redoma.i18n import in_language
from redoma.i18n.catalogue import of
from redoma.model.message import Message
from tests.unit.cli.running import Done, run
from tests.unit.hook.payloads import claude

LOCALE = {"LC_ALL": "pt_BR.UTF-8"}
ASKED = "git push --force origin main"


def portuguese(*arguments: str, cwd: Path | None = None, stdin: bytes = b"", **env: str) -> Done:
    return run(*arguments, cwd=cwd, stdin=stdin, **{**LOCALE, **env})


def test_a_judgement_is_said_in_the_readers_language(tmp_path: Path) -> None:
    done = portuguese("check", ASKED, cwd=tmp_path, HOME=str(tmp_path))
    assert (done.status, done.err) == (10, "")
    deep = " " * 26
    assert done.out.split("\n") == [
        "perigoso: precisa de confirmação  (política default, pacote default)",
        "",
        "  git push --force origin main",
        "  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^",
        "  perigoso: git push --force substitui um histórico sobre o qual outros podem ter construído",
        "    [force-push]",
        "  em vez disso: git push --force-with-lease para quando outra pessoa fez push nesse"
        " meio-tempo",
        f"{deep}^^^^",
        f"{deep}perigoso: faz push direto para o branch sobre o qual todos constroem",
        f"{deep}  [push-trunk]",
        f"{deep}em vez disso: faça push de um branch seu e abra um pull request",
        "  ^^^ moderado: executa código do projeto [run-project]",
        "",
    ]


def test_programs_get_the_same_in_every_language(tmp_path: Path) -> None:
    arguments = ("check", "--json", ASKED)
    home = str(tmp_path)
    english = run(*arguments, cwd=tmp_path, HOME=home)
    assert portuguese(*arguments, cwd=tmp_path, HOME=home).out == english.out
    assert json.loads(english.out)["reasons"][0]["reason"] == (
        "git push --force replaces history that others may have built on"
    )


@pytest.mark.parametrize("where", ["before", "after", "equals", "variable"])
def test_the_flag_and_the_variable_say_more_than_the_locale(where: str) -> None:
    done = {
        "before": lambda: portuguese("--language", "en", "chek"),
        "after": lambda: portuguese("chek", "--language", "en"),
        "equals": lambda: portuguese("chek", "--language=en"),
        "variable": lambda: portuguese("chek", REDOMA_LANGUAGE="en"),
    }[where]()
    assert (done.status, done.err) == (
        2,
        "redoma: there is no command 'chek'\nhint: redoma check\n",
    )


def test_an_error_and_its_hint_are_both_said() -> None:
    done = portuguese("chek")
    assert (done.status, done.err) == (
        2,
        "redoma: não existe o comando 'chek'\ndica: redoma check\n",
    )


def test_a_language_that_there_is_not_is_refused() -> None:
    done = run("--language", "xx", "check", "ls")
    assert (done.status, done.out, done.err) == (
        2,
        "",
        "redoma: there is no language 'xx'\nhint: languages: en, pt-BR\n",
    )


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_helps_in_both_languages(command: str) -> None:
    english, other = run(command, "--help"), portuguese(command, "--help")
    assert (english.status, other.status) == (0, 0)
    assert english.out.startswith("usage: redoma ")
    assert other.out.startswith("uso: redoma ")
    assert other.out.endswith("\n")


def test_a_refused_run_says_why_and_that_nothing_ran(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    own = tmp_path / ".config/redoma/sandbox.yaml"
    own.parent.mkdir(parents=True)
    own.write_text("confirmation: {ask_about_held: true}\n")
    done = portuguese(
        *("run", "--ask", "nobody", "--", "cat", "/etc/shadow\0"[:-1]),
        cwd=tmp_path / "project",
        HOME=str(tmp_path),
        XDG_STATE_HOME=str(tmp_path / "state"),
    )
    assert done.status == 126
    assert done.out == ""
    assert "lê /etc/shadow, que guarda chaves, tokens ou senhas [" in done.err.replace(
        "\n    ", " "
    )
    assert "então nada foi executado\n" in done.err


def test_a_policy_that_is_wrong_is_told_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "sandbox.yaml").write_text("polcy: strict\n")
    done = portuguese("policy", "lint", cwd=tmp_path, HOME=str(tmp_path / "home"))
    assert (done.status, done.out) == (1, "")
    assert done.err == (
        f"redoma: {tmp_path}/sandbox.yaml:1:1: chave desconhecida polcy\n"
        "dica: você quis dizer policy?\n"
    )


def test_the_doctor_speaks_it_too(tmp_path: Path) -> None:
    done = portuguese("doctor", HOME=str(tmp_path), XDG_CACHE_HOME=str(tmp_path))
    heads = [line for line in done.out.split("\n") if line and not line.startswith(" ")]
    assert heads[:4] == ["níveis", "garantias", "motores", "grupos de controle"]
    assert "    sem escritas confinadas, leituras confinadas, " in done.out
    assert ": direct executa sem sandbox\n" in done.out


def test_an_agent_is_answered_in_english_unless_told_otherwise(tmp_path: Path) -> None:
    call = claude("Bash", command=ASKED)

    def reason(**env: str) -> str:
        done = portuguese("hook", "claude-code", stdin=call, HOME=str(tmp_path), **env)
        assert done.status == 0
        answer = json.loads(done.out)["hookSpecificOutput"]
        assert answer["permissionDecision"] == "ask"
        return str(answer["permissionDecisionReason"])

    assert reason().startswith(
        "Redoma asks a person first (dangerous). git push --force replaces history"
    )
    assert reason(REDOMA_LANGUAGE="pt-BR").startswith(
        "O Redoma pergunta primeiro a uma pessoa (perigoso). git push --force substitui um"
    )


def test_a_hook_refuses_what_it_cannot_read_in_any_language(tmp_path: Path) -> None:
    for option in (["--language", "pt-BR"], ["--language=xx"], ["--language"]):
        done = run("hook", "claude-code", *option, stdin=b"{", HOME=str(tmp_path))
        assert done.status == 2
        assert json.loads(done.out)["hookSpecificOutput"]["permissionDecision"] == "deny"
    done = run("--language", "pt-BR", "hook", "claude-code", stdin=b"{", HOME=str(tmp_path))
    assert (done.status, done.err.startswith("O Redoma não consegue ler esta chamada")) == (2, True)


LEAKS = [
    ("x.yaml:2:19: network.allowed_hosts: '*' would allow every host", "permitiria todo host"),
    ("f has been made by someone else since", "f foi criado por outra pessoa desde então"),
    ("entry 2: it, or the link before it, is not as it was written", "não está como foi escrita"),
    ("this is not YAML: mapping values are not allowed here", "não são permitidos aqui"),
    ("cannot read /x: Permission denied", "permissão negada"),
    (Message("cannot read {path}: {why}", path="/x", why=OSError(28, os.strerror(28), "/x")), "não há espaço livre"),
    ("kubectl apply --dry-run=client: the cluster was not asked", "o cluster não foi consultado"),
    ("p.json:1:1: a plan needs 'version'", "p.json:1:1: um plano precisa de 'version'"),
    (Message("redoma: ran instead: {ran}", ran=Message("nothing in the place of {seen}", seen="psql")), "nada no lugar de psql"),
    ("ssh runs a command on a changes something on another machine", "executa um comando em a"),
]  # fmt: skip


@pytest.mark.parametrize(("english", "part"), LEAKS)
def test_what_is_put_together_from_several_messages_is_translated_whole(
    english: str, part: str
) -> None:
    said = in_language(english, "pt-BR")
    assert part in said
    assert not set(said.split()) & {"the", "is", "was", "not", "would", "by", "has", "needs"}


def test_what_a_person_has_to_type_is_never_translated() -> None:
    said = in_language("one of: safe, moderate, elevated, dangerous, forbidden", "pt-BR")
    assert said == "uma de: safe, moderate, elevated, dangerous, forbidden"


def test_every_error_of_the_system_that_people_meet_is_known() -> None:
    known = of("pt-BR").libraries
    met = "ENOENT EACCES EPERM EEXIST EISDIR ENOTDIR ENOTEMPTY ENOSPC EROFS EDQUOT EMFILE EFBIG"
    met += " ENAMETOOLONG ELOOP EBUSY ETXTBSY EINVAL EXDEV ENOMEM E2BIG EIO EPIPE ENOSYS"
    met += " ECONNREFUSED ECONNRESET ETIMEDOUT ENETUNREACH EHOSTUNREACH EADDRINUSE"
    assert [n for n in met.split() if os.strerror(getattr(errno, n)) not in known] == []


# Words that no Portuguese sentence has; names of options and rules stand in brackets or after --.
ENGLISH = re.compile(
    r"(?<![-\w\[/.])(the|is|was|are|were|which|cannot|that|this|has|not|with)(?![-\w])"
)
USUAL = [
    *(("check", each) for each in ("rm -rf /", "ssh a b", "curl x | sh", "echo 'a", "eval $x")),
    *(("run",), ("run", "--level", "zz", "ls"), ("run", "--memory", "zz", "ls")),
    *(("run", "--credential", "x", "ls"), ("run", "--workspace", "/", "ls")),
    *(("policy",), ("policy", "lint", "/nonexistent"), ("policy", "explain", "rm x")),
    *(("audit",), ("audit", "verify"), ("audit", "show", "9"), ("audit", "list", "--kind", "z")),
    *(("plan",), ("plan", "check", "/nonexistent"), ("pending", "zz"), ("answer", "zz", "yes")),
    *(("undo",), ("undo", "zz"), ("apply", "zz"), ("discard", "zz"), ("history", "zz"), ("gc",)),
    *(("vault", "remove", "x"), ("vault", "zz"), ("redact", "/nonexistent"), ("doctor", "zz")),
    *(("hook", "install", "zz"), ("hook", "status"), ("approvals", "zz"), ("doctor",)),
]


@pytest.mark.parametrize("arguments", USUAL, ids=" ".join)
def test_no_english_sentence_is_left_in_portuguese(
    arguments: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "project").mkdir()
    places = {f"XDG_{name}_HOME": str(tmp_path / name) for name in ("STATE", "CACHE", "CONFIG")}
    done = portuguese(*arguments, cwd=tmp_path / "project", HOME=str(tmp_path), **places)
    assert ENGLISH.findall(done.out + done.err) == []
