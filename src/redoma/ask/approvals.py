"""Approvals that last: for a session, for this exact command, for this kind of command.

What is remembered is the parsed command, as a digest of its words, and never its text; and with
it everything that the person saw when they said yes: the place, what the run may touch, how
risky it was, and which rules found something. A command that differs in any of these is asked
about again. Nothing forbidden is ever covered.

Which first words of a command are a kind of command, so that all of it can be approved.

`git push` is a kind of thing to do. `rm` is not: what it does stands in the words that follow. So
only programs that are a family of commands have a prefix, and it always holds the verb.
"""

from __future__ import annotations

import json
import re
from hashlib import sha256

from redoma.ask import answers
from redoma.ask import own_files as files
from redoma.ask.answers import told
from redoma.base.identity import short_id
from redoma.model.decision import Risk
from redoma.model.errors import AskUnavailable, UsageError
from redoma.model.message import Message
from redoma.model.request import Choice, Remember
from redoma.model.value import Value, fields_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from redoma.model.request import Answer, Question


# An approval in advance waits so long for its command; one for a session ends with the day.
ONCE_LASTS = 600.0
SESSION_LASTS = 12 * 3600.0
MOST_APPROVALS = 2000
LONGEST_SHOWN = 500


REMEMBERED = "remembered: "
"""Begins the notes of an answer that nobody gave anew."""


class Approval(Value):
    """One approval that lasts, and all that it is bound to."""

    id: str
    remember: Remember
    shown: str  # for people; nothing is matched on it
    words: str = ""  # a digest of the argvs and of what joins them
    prefix: tuple[str, ...] = ()
    options: tuple[str, ...] = ()  # of a prefix: what the command may be given
    digest: str = ""  # of the one question that an approval in advance is for
    workspace: str = ""
    cwd: str = ""
    grant: str = ""
    session: str = ""
    risk: Risk = Risk.SAFE
    rules: tuple[str, ...] = ()
    approved_by: str = ""
    at: str = ""
    boot: str = ""  # the start of the machine that it ends with; "" for those that last
    until: float = 0.0

    def over(self) -> bool:
        """Whether its time has run out."""
        return bool(self.boot) and not answers.Until(boot=self.boot, seconds=self.until).left()

    def covers(self, question: Question) -> bool:
        """Whether what was approved then is what is asked now."""
        if self.over() or question.risk >= Risk.FORBIDDEN or not question.workspace:
            return False
        if self.remember is Remember.ONCE:
            return bool(self.digest) and self.digest == question.digest
        if not question.argvs or question.risk > self.risk:
            return False
        # Attack: the same words in another place, with more rights, or with a new thing in them.
        if (self.workspace, self.cwd, self.grant) != (
            question.workspace,
            question.cwd,
            question.grant,
        ) or not set(question.rules) <= set(self.rules):
            return False
        if self.remember is Remember.PREFIX:
            return (
                bool(self.prefix)
                and self.prefix == prefix_of(question)
                # Attack: `npm publish` is approved, `npm publish --registry=…` is asked for.
                and set(options_of(question)) <= set(self.options)
            )
        if self.remember is Remember.SESSION and (
            not self.session or self.session != question.session
        ):
            return False
        return self.words == words_digest(question)


def words_digest(question: Question) -> str:
    """The command as it was understood, as one name; its words are not kept, they may be secret."""
    parsed = json.dumps([question.argvs, question.joins])
    return sha256(parsed.encode("ascii")).hexdigest()


def can_remember(question: Question) -> frozenset[Remember]:
    """How an approval of this question can last."""
    possible = {Remember.ONCE}
    if question.argvs and question.workspace and question.risk < Risk.FORBIDDEN:
        possible.add(Remember.EXACT)
        if question.session:
            possible.add(Remember.SESSION)
        if prefix_of(question):
            possible.add(Remember.PREFIX)
    return frozenset(possible)


class RememberedApprovals:
    """The lasting approvals of one user, in one file."""

    def __init__(self, directory: str, redact: Callable[[str], str] = lambda text: text) -> None:
        self._directory = directory
        self._redact = redact

    def ask(self, question: Question) -> Answer | None:
        """Yes, where this was approved before and still holds; an approval for once is used up."""
        with self._locked() as path:
            kept = _read(path)
            found = next((one for one in kept if one.covers(question)), None)
            if found is None:
                return None
            if found.remember is Remember.ONCE:
                _write(path, [one for one in kept if one is not found])
        return told(
            question,
            Choice.APPROVE,
            by=found.approved_by,
            notes=Message(
                "remembered: {remember} {id}", remember=found.remember.value, id=found.id
            ),
        )

    def keep(self, question: Question, answer: Answer) -> Approval:
        """Remembers an approval; the same again is the one that is there."""
        if not answer.approves(question):
            raise UsageError("only an approval of exactly this question can be remembered")
        if answer.remember not in can_remember(question):
            raise UsageError(
                "this command cannot be approved for {remember}: it is not plain enough to be "
                "known again",
                remember=Message(answer.remember.value),
                hint="approve it once",
            )
        made = _approval(question, answer, self._redact)
        with self._locked() as path:
            kept = _read(path)
            for one in kept:
                if _same(one, made):
                    return one
            if len(kept) >= MOST_APPROVALS:
                raise AskUnavailable("too many approvals are kept", hint="redoma approvals clear")
            _write(path, [*kept, made])
        return made

    def list(self) -> tuple[Approval, ...]:
        """Every approval that still holds, oldest first."""
        with self._locked() as path:
            return tuple(one for one in _read(path) if not one.over())

    def revoke(self, id: str) -> Approval:
        """Forgets one approval."""
        with self._locked() as path:
            kept = _read(path)
            found = [one for one in kept if id and one.id.startswith(id)]
            if len(found) != 1:
                many = (
                    Message("{id} can be {count} approvals", id=repr(id), count=len(found))
                    if found
                    else Message("no approval {id}", id=repr(id))
                )
                raise UsageError(many, hint="redoma approvals")
            _write(path, [one for one in kept if one is not found[0]])
            return found[0]

    def clear(self, *, workspace: str = "", session: str = "") -> int:
        """Forgets all approvals, or those of one workspace or session; how many they were."""
        with self._locked() as path:
            kept = _read(path)
            left = [
                one
                for one in kept
                if (workspace and one.workspace != workspace)
                or (session and one.session != session)
            ]
            _write(path, left)
            return len(kept) - len(left)

    def _locked(self) -> _Lock:
        return _Lock(files.own_directory(self._directory))


class _Lock:
    """The approvals' file, for one at a time."""

    def __init__(self, directory: str) -> None:
        self._path = f"{directory}/approvals.json"
        self._lock = files.locked(f"{directory}/approvals.lock")

    def __enter__(self) -> str:
        self._lock.__enter__()
        return self._path

    def __exit__(self, *error: object) -> None:
        self._lock.__exit__(None, None, None)


def _approval(question: Question, answer: Answer, redact: Callable[[str], str]) -> Approval:
    remember = answer.remember
    lasts = {Remember.ONCE: ONCE_LASTS, Remember.SESSION: SESSION_LASTS}.get(remember)
    end = answers.after(lasts) if lasts else answers.Until(boot="", seconds=0.0)
    once, prefix = remember is Remember.ONCE, remember is Remember.PREFIX
    words = prefix_of(question) if prefix else ()
    shown = f"{' '.join(words)} ..." if prefix else redact(question.command)
    return Approval(
        id=short_id(),
        remember=remember,
        shown=shown[:LONGEST_SHOWN],
        words="" if once or prefix else words_digest(question),
        prefix=words,
        options=options_of(question) if prefix else (),
        digest=question.digest if once else "",
        workspace=question.workspace,
        cwd=question.cwd,
        grant=question.grant,
        session=question.session if remember is Remember.SESSION else "",
        risk=question.risk,
        rules=question.rules,
        approved_by=answer.approved_by,
        at=answer.at,
        boot=end.boot,
        until=end.seconds,
    )


def _same(one: Approval, other: Approval) -> bool:
    """Whether two approvals say the same, whoever gave them, and neither is over."""
    own = {"id", "at", "approved_by", "boot", "until", "shown"}
    left, right = fields_of(one), fields_of(other)
    return not one.over() and all(left[name] == right[name] for name in left if name not in own)


def _read(path: str) -> list[Approval]:
    content = files.read(path)
    if content is None:
        return []
    listed = content.get("approvals")
    if content.get("format") != 1 or not isinstance(listed, list):
        raise AskUnavailable(
            "{path} is damaged", path=path, hint=Message("remove it: {path}", path=path)
        )
    try:
        return [_from(one) for one in listed]
    except (TypeError, ValueError) as error:
        raise AskUnavailable(
            "{path} is damaged: {error}",
            path=path,
            error=error,
            hint=Message("remove it: {path}", path=path),
        ) from error


def _from(given: object) -> Approval:
    if not isinstance(given, dict):
        raise TypeError(f"{given!r} is no approval")
    made: dict[str, object] = {}
    for name, value in given.items():
        if name == "remember":
            made[name] = Remember(value)
        elif name == "risk":
            made[name] = Risk(value)
        elif name in ("options", "prefix", "rules") and isinstance(value, list):
            made[name] = tuple(map(str, value))
        elif isinstance(value, int | float if name == "until" else str):
            made[name] = value
        else:
            raise TypeError(f"{name} is {value!r}")
    return Approval(**made)  # type: ignore[arg-type]


def _write(path: str, kept: list[Approval]) -> None:
    listed: list[object] = []
    for one in kept:
        if one.over():
            continue
        fields = fields_of(one)
        fields.update(remember=one.remember.value, risk=int(one.risk))
        listed.append(fields)
    files.replace(path, {"format": 1, "approvals": listed})


# Program, and after which verbs one more word belongs to the verb (`npm run lint`).
_FAMILIES: dict[str, frozenset[str]] = {
    name: frozenset(verbs.split())
    for name, verbs in {
        "apt": "",
        "apt-get": "",
        "aws": "cloudformation ec2 ecr ecs eks iam lambda rds s3 s3api",
        "az": "acr aks group storage vm webapp",
        "brew": "services",
        "bun": "run",
        "bundle": "exec",
        "cargo": "",
        "composer": "run",
        "docker": "builder buildx compose container image network system volume",
        "dotnet": "",
        "flyctl": "apps machine secrets volumes",
        "gcloud": "app builds compute container functions run sql storage",
        "gem": "",
        "gh": "issue pr release repo run secret workflow",
        "git": "branch remote stash submodule tag worktree",
        "glab": "issue mr release repo",
        "go": "mod",
        "gradle": "",
        "helm": "repo",
        "heroku": "",
        "just": "",
        "kubectl": "apply config create delete rollout",
        "make": "",
        "mvn": "",
        "npm": "run",
        "pip": "",
        "pip3": "",
        "pnpm": "run",
        "podman": "container image network system volume",
        "poetry": "run",
        "systemctl": "",
        "terraform": "state workspace",
        "twine": "",
        "uv": "pip tool",
        "vercel": "",
        "yarn": "run",
    }.items()
}
# Verbs that run whatever follows them: all of it would be everything.
_OPEN_ENDED = frozenset({"exec", "run-script", "x"})
_RUNNERS = frozenset(
    {
        *("cargo run", "docker exec", "docker run", "dotnet exec", "dotnet run", "go run"),
        *("kubectl exec", "kubectl run", "podman exec", "podman run", "uv run", "uv tool"),
    }
)
_VERB = re.compile(r"[a-z][a-z0-9:_-]{0,63}")


def options_of(question: Question) -> tuple[str, ...]:
    """The names of the options and variables that a command is given, without their values."""
    if len(question.argvs) != 1:
        return ()
    words = question.argvs[0][1:]
    named = (word.partition("=")[0] for word in words if word[:1] == "-" or "=" in word)
    return tuple(sorted(set(named)))


def prefix_of(question: Question) -> tuple[str, ...]:
    """The words that name this kind of command; none where it has no such words."""
    if len(question.argvs) != 1 or question.joins:
        return ()
    program, *rest = question.argvs[0]
    deeper = _FAMILIES.get(program)
    if deeper is None or not rest or not _VERB.fullmatch(rest[0]):
        return ()
    # Attack: a kind of command that was approved here is pointed at a place far from here.
    if any(word.startswith(("/", "~", "..")) or "://" in word or "/.." in word for word in rest):
        return ()
    verb = rest[0]
    if verb in _OPEN_ENDED or f"{program} {verb}" in _RUNNERS:
        return ()
    if verb not in deeper:
        return program, verb
    if len(rest) < 2 or not _VERB.fullmatch(rest[1]) or rest[1] in _OPEN_ENDED:
        return ()
    return program, verb, rest[1]
