"""Variables that make other programs run code, and what assigning or dropping them means."""

from __future__ import annotations

import re

from redoma.judge.interpret.arg import UNKNOWN, Arg
from redoma.model.risk import Effect, Place, Target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.call import Call
    from redoma.judge.interpret.state import State
    from redoma.judge.interpret.walk import Walker

_LOADERS = frozenset(
    "LD_PRELOAD LD_LIBRARY_PATH LD_AUDIT DYLD_INSERT_LIBRARIES DYLD_LIBRARY_PATH DYLD_FRAMEWORK_PATH BASH_ENV ENV "
    "PROMPT_COMMAND PYTHONSTARTUP PYTHONHOME PYTHONINSPECT PERL5OPT PERL5LIB PERL5DB PERLLIB RUBYOPT RUBYLIB "
    "NODE_OPTIONS NODE_PATH JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS LUA_INIT PHPRC PHP_INI_SCAN_DIR "
    "GCONV_PATH GETCONF_DIR HOSTALIASES LOCALDOMAIN RES_OPTIONS MALLOC_CHECK_ TERMINFO TERMCAP "
    "OPENSSL_CONF SSLKEYLOGFILE GIT_EXEC_PATH GIT_TEMPLATE_DIR RUSTC_WRAPPER RUSTC_WORKSPACE_WRAPPER CARGO_BUILD_RUSTC_WRAPPER "
    "MAKEFLAGS GNUMAKEFLAGS ANSIBLE_LIBRARY ELECTRON_RUN_AS_NODE COMPOSER_HOME GEM_PATH GEM_HOME VIMINIT EXINIT PAGER_FLAGS "
    "BASH_FUNC SHELLOPTS BASHOPTS PS4 GLOBIGNORE FPATH ZDOTDIR TAR_OPTIONS RSYNC_RSH CVS_RSH HGRCPATH".split()
)
_COMMANDS = frozenset(
    "PAGER GIT_PAGER MANPAGER LESSOPEN LESSCLOSE EDITOR VISUAL GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_SSH_COMMAND GIT_SSH "
    "GIT_EXTERNAL_DIFF GIT_PROXY_COMMAND GIT_ASKPASS SSH_ASKPASS SUDO_ASKPASS BROWSER FCEDIT HGEDITOR SVN_EDITOR SVN_SSH "
    "KUBE_EDITOR SYSTEMD_EDITOR SYSTEMD_PAGER PSQL_PAGER PSQL_EDITOR BAT_PAGER DELTA_PAGER AWS_PAGER GH_PAGER GH_EDITOR "
    "FZF_DEFAULT_COMMAND FZF_CTRL_T_COMMAND RIPGREP_CONFIG_PATH RESTIC_PASSWORD_COMMAND BORG_PASSCOMMAND BORG_RSH "
    "TEXEDIT MANROFFOPT MAN_DISABLE_SECCOMP".split()
)
_HARMLESS_COMMANDS = re.compile(
    r"(?:/(?:usr/)?bin/)?(?:cat|less(?: -[A-Za-z]+)*|more|true|false|:|vim?|nvim|nano|emacs|code(?: --wait)?|head|delta|bat|never)?"
)
_HISTORY = frozenset(("HISTFILE", "HISTSIZE", "HISTFILESIZE", "HISTCONTROL", "HISTIGNORE", "SAVEHIST"))
_SECRET_VALUE = re.compile(
    r"(?:ghp_|gho_|ghs_|github_pat_|glpat-|sk-[A-Za-z0-9]|sk_live_|xox[abpr]-|AKIA[0-9A-Z]{8}|ASIA[0-9A-Z]{8}|AIza[0-9A-Za-z_-]{10}|npm_[A-Za-z0-9]{8}|hf_[A-Za-z0-9]{8}|eyJ[A-Za-z0-9_-]{10})"
)


def judge_variable(walker: Walker, name: str, value: Arg, state: State, *, kept: bool) -> None:
    """Notes what setting a variable would make others do."""
    if name in _LOADERS or name.startswith(("BASH_FUNC_", "GIT_CONFIG")):
        if value or name.startswith("GIT_CONFIG"):
            walker.note(Effect.EXECUTES, value.span, tags=("loader",), detail=name)
        if "$(" in value or "`" in value:
            walker.hidden_text(value, state)
    elif name in _COMMANDS:
        if kept:
            walker.note(Effect.WRITES, value.span, tags=("shell-state",), detail=name)
        if not _HARMLESS_COMMANDS.fullmatch(value.strip()):
            walker.note(Effect.EXECUTES, value.span, tags=("hooked",), detail=name)
            if UNKNOWN not in value:
                walker.nested(value.like(value.lstrip("|")), state.copy())
    elif name in ("PS1", "PS2", "PS0", "PROMPT"):
        if "$(" in value or "`" in value:
            walker.hidden_text(value, state)
    elif name == "PATH":
        _judge_path(walker, value, kept=kept)
    elif name in _HISTORY:
        walker.note(Effect.DELETES, value.span, Target(text=name, place=Place.SECRET), tags=("history",))
    elif name.lower() in ("git_ssh_command", "git_pager") and not _HARMLESS_COMMANDS.fullmatch(value):
        walker.note(Effect.EXECUTES, value.span, tags=("hooked",), detail=name)
    if value and _SECRET_VALUE.search(value):
        walker.note(Effect.SECRETS, value.span, Target(text=name, place=Place.SECRET), tags=("literal",))


def _judge_path(walker: Walker, value: Arg, *, kept: bool) -> None:
    first = value.partition(":")[0]
    if kept and first == UNKNOWN and ":" not in value:
        walker.note(Effect.EXECUTES, value.span, tags=("path",), detail="something unknown")
        return
    if first.startswith(("/usr/", "/bin", "/sbin", "/opt/", UNKNOWN)) or not first:
        return
    trusted = ("/.cargo/bin", "/.local/bin", "/go/bin", "/node_modules/.bin", "/.venv/bin", "/venv/bin", "/.nvm/", "/.pyenv/", "/.rbenv/", "/.bun/bin", "/.deno/bin", "/bin")
    if first.startswith(walker.ground.home + "/") and any(t in first for t in trusted):
        return
    walker.note(Effect.EXECUTES, value.span, tags=("path",), detail=first)


def judge_unset(call: Call, name: Arg) -> None:
    """Dropping the history's variables hides what was done."""
    if name in _HISTORY:
        target = Target(text=str(name), place=Place.SECRET)
        call.fact(Effect.DELETES, target, tags=("history",))
