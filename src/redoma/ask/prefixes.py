"""Which first words of a command are a kind of command, so that all of it can be approved.

`git push` is a kind of thing to do. `rm` is not: what it does stands in the words that follow. So
only programs that are a family of commands have a prefix, and it always holds the verb.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.model.request import Question

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
