"""Variables that make other programs run code, and what assigning or dropping them means."""

from __future__ import annotations

import re

from redoma.judge.interpret.arg import UNKNOWN, Arg
from redoma.judge.interpret.places import normal, place_of
from redoma.model.decision import Effect, Place, Target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.invocation import Invocation
    from redoma.judge.interpret.state import State
    from redoma.judge.interpret.walker import Walker

_LOADERS = frozenset(
    "LD_PRELOAD LD_AUDIT DYLD_INSERT_LIBRARIES DYLD_FORCE_FLAT_NAMESPACE BASH_ENV "
    "PROMPT_COMMAND PYTHONSTARTUP PYTHONHOME PYTHONINSPECT PYTHONBREAKPOINT PERL5OPT "
    "PERL5DB RUBYOPT LUA_INIT LUA_INIT_5_3 LUA_INIT_5_4 PHPRC PHP_INI_SCAN_DIR "
    "GCONV_PATH GETCONF_DIR HOSTALIASES LOCALDOMAIN OPENSSL_CONF OPENSSL_MODULES "
    "OPENSSL_ENGINES SSLKEYLOGFILE GIT_EXEC_PATH GIT_TEMPLATE_DIR ELECTRON_RUN_AS_NODE "
    "VIMINIT GVIMINIT EXINIT SHELLOPTS BASHOPTS GLOBIGNORE ZDOTDIR HGRCPATH RSYNC_RSH "
    "CVS_RSH AUTOM4TE AUTOMAKE ACLOCAL RUSTC CARGO_TARGET_RUNNER R_PROFILE "
    "R_PROFILE_USER R_ENVIRON GTK_MODULES QT_PLUGIN_PATH GST_PLUGIN_PATH WGETRC "
    "CURL_HOME NETRC KRB5_CONFIG SUDO_EDITOR CORECLR_PROFILER COR_PROFILER "
    "DOTNET_STARTUP_HOOKS BUN_INSPECT_PRELOAD DENO_DIR_PRELOAD ERL_FLAGS "
    "ELIXIR_ERL_OPTIONS MAVEN_OPTS_FILE npm_config_script_shell npm_config_node_gyp "
    "PIP_CONFIG_FILE PIP_INDEX_URL PIP_EXTRA_INDEX_URL UV_INDEX_URL npm_config_registry "
    "NPM_CONFIG_REGISTRY".split()
)
_PATHS = frozenset(
    "PYTHONPATH NODE_PATH LD_LIBRARY_PATH DYLD_LIBRARY_PATH DYLD_FRAMEWORK_PATH PERL5LIB "
    "PERLLIB RUBYLIB GEM_PATH GEM_HOME LUA_PATH LUA_CPATH CLASSPATH FPATH "
    "ANSIBLE_LIBRARY COMPOSER_HOME TERMINFO MODULEPATH GUILE_LOAD_PATH JULIA_LOAD_PATH".split()
)
_JAVA = ("-javaagent", "-agentpath", "-agentlib", "OnError", "OnOutOfMemoryError", "-Xrun")
_OPTIONS = {
    "NODE_OPTIONS": (
        "--require",
        "-r ",
        "--import",
        "--loader",
        "--experimental-loader",
        "--eval",
        "--inspect",
    ),
    "JAVA_TOOL_OPTIONS": _JAVA,
    "_JAVA_OPTIONS": _JAVA,
    "JDK_JAVA_OPTIONS": (*_JAVA, "@"),
    "MAKEFLAGS": ("--eval", "SHELL=", "-f", "--file", "-C"),
    "GNUMAKEFLAGS": ("--eval", "SHELL=", "-f", "--file", "-C"),
    "GREP_OPTIONS": ("-f",),
    "PYTHONWARNINGS": ("::",),
    "LESS": ("!",),
    "TAR_OPTIONS": (
        "--checkpoint-action",
        "--to-command",
        "--use-compress",
        "--rsh-command",
        "-I",
        ":",
        "--file",
        "--info-script",
    ),
    "RSYNC_OPTIONS": ("-e", "--rsh"),
    "CFLAGS": ("-fplugin", "$(", "`"),
    "RUSTFLAGS": ("linker=", "-Clinker"),
    "RUSTC_WRAPPER": ("/",),
    "RUSTC_WORKSPACE_WRAPPER": ("/",),
    "CARGO_BUILD_RUSTC_WRAPPER": ("/",),
    "ENV": ("/",),
    "TAPE": (":",),
    "LD_DEBUG_OUTPUT": ("/",),
}
_COMMANDS = frozenset(
    "PAGER GIT_PAGER MANPAGER LESSOPEN LESSCLOSE EDITOR VISUAL GIT_EDITOR "
    "GIT_SEQUENCE_EDITOR GIT_SSH_COMMAND GIT_SSH GIT_EXTERNAL_DIFF GIT_PROXY_COMMAND "
    "GIT_ASKPASS SSH_ASKPASS SUDO_ASKPASS BROWSER FCEDIT HGEDITOR SVN_EDITOR SVN_SSH "
    "KUBE_EDITOR SYSTEMD_EDITOR SYSTEMD_PAGER PSQL_PAGER PSQL_EDITOR BAT_PAGER "
    "DELTA_PAGER AWS_PAGER GH_PAGER GH_EDITOR GH_BROWSER GLAB_PAGER FZF_DEFAULT_COMMAND "
    "FZF_CTRL_T_COMMAND FZF_ALT_C_COMMAND RESTIC_PASSWORD_COMMAND BORG_PASSCOMMAND "
    "BORG_RSH TEXEDIT MANROFFOPT CHEAT_EDITOR ANSIBLE_VAULT_PASSWORD_FILE "
    "KUBECTL_EXTERNAL_DIFF PGPASSCOMMAND MYSQL_PAGER DIFFPROG MERGE_TOOL "
    "RCLONE_PASSWORD_COMMAND GPG_TTY_COMMAND EDITOR_COMMAND LYNX_EDITOR CRASHPAGER CC "
    "CXX LD AR".split()
)
_SSH_SETTINGS = (
    "StrictHostKeyChecking|IdentitiesOnly|BatchMode|ConnectTimeout|UserKnownHostsFile|LogLevel"
    "|IdentityFile"
)
_HARMLESS_COMMANDS = re.compile(
    r"(?:/(?:usr/)?(?:local/)?bin/)?(?:cat|less(?: -[-A-Za-z]+)*|more|most|true|false|:|none|never"
    r"|echo|head|delta|bat(?:cat)?(?: -[-a-z=]+)*|n?vim?(?: -\w+)*|nano(?: -\w+)?|pico|micro|hx"
    r"|helix|kak|joe|mg|emacs(?:client)?(?: -\w+)*|code(?:-insiders)?(?: (?:--wait|-w))?"
    r"|cursor(?: --wait)?|subl(?: -w)?|zed(?: --wait)?|gedit|kate|xdg-open|open|firefox|chromium"
    r"|google-chrome|wslview|ssh(?: -(?:[1246AaCfgKkMNnqsTtVvXxYy]+|i \S+|p \d+|l \S+|o (?:"
    + _SSH_SETTINGS
    + r")=\S+))*|(?:fd|fdfind|rg|find|git)(?: [\w.*=/' -]+)?|gcc(?:-\d+)?|g\+\+(?:-\d+)?"
    r"|clang(?:\+\+)?(?:-\d+)?|cc|c\+\+|ccache (?:gcc|clang|g\+\+)|ld|lld|ar|musl-gcc"
    r"|(?:\w+-){2,3}(?:gcc|g\+\+|ld|ar|clang))?"
)
_CLIENTS = frozenset(
    "PGOPTIONS PGSERVICEFILE PGHOSTADDR GH_HOST GITLAB_HOST KUBECONFIG AWS_ENDPOINT_URL "
    "AWS_CA_BUNDLE DOCKER_HOST DOCKER_TLS_VERIFY CONTAINER_HOST NODE_EXTRA_CA_CERTS "
    "NODE_TLS_REJECT_UNAUTHORIZED SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE CURL_CA_BUNDLE "
    "GIT_SSL_NO_VERIFY GIT_SSL_CAINFO VAULT_ADDR CONSUL_HTTP_ADDR PYTHONHTTPSVERIFY".split()
)
_PROXIES = frozenset(("http_proxy", "https_proxy", "all_proxy", "ftp_proxy", "no_proxy"))
_HISTORY = frozenset(("HISTFILE", "HISTSIZE", "HISTFILESIZE", "SAVEHIST", "HISTIGNORE", "HISTCMD"))
_SECRET_VALUE = re.compile(
    r"(?:ghp_|gho_|ghs_|ghu_|github_pat_|glpat-|sk-[A-Za-z0-9]|sk_live_|rk_live_|xox[abpr]-"
    r"|AKIA[0-9A-Z]{8}|ASIA[0-9A-Z]{8}|AIza[0-9A-Za-z_-]{10}|npm_[A-Za-z0-9]{8}"
    r"|pypi-[A-Za-z0-9]{8}|hf_[A-Za-z0-9]{8}|dop_v1_|eyJ[A-Za-z0-9_-]{10}|-----BEGIN )"
)
_CODE_VALUE = re.compile(
    r"\s*(?:/\S*/)?(?:(?:ba|z|da|k|fi)?sh\s+-\w*c\b|python3?\s+-c\b|(?:node|perl|ruby)\s+-e\b)"
)
_GIT_KEYS = (
    "command",
    "pager",
    "editor",
    "sshcommand",
    "fsmonitor",
    "hookspath",
    "proxy",
    "askpass",
    "helper",
    "textconv",
    "driver",
    "alias.",
    "cmd",
    "program",
)
_USUAL = (
    "/bin",
    "/.bin",
    "/.cargo/",
    "/.local/",
    "/go/",
    "/.nvm/",
    "/.pyenv/",
    "/.rbenv/",
    "/.bun/",
    "/.deno/",
    "/.asdf/",
    "/.volta/",
)


def judge_variable(walker: Walker, name: str, value: Arg, state: State, *, kept: bool) -> None:
    """Notes what setting a variable would make others do."""
    if name in _LOADERS or name.startswith("BASH_FUNC_") or value.startswith("() {"):
        _judge_loader(walker, name, value, state)
    elif name in _OPTIONS:
        if UNKNOWN not in value and any(mark in value for mark in _OPTIONS[name]):
            walker.note(Effect.EXECUTES, value.span, tags=("loader",), detail=name)
    elif name in _PATHS:
        _judge_folders(walker, name, value, state)
    elif name.startswith("GIT_CONFIG"):
        _judge_git(walker, name, value)
    elif name in _COMMANDS or (name.startswith("git_") and name.upper() in _COMMANDS):
        if kept and value not in ("", "true", ":", "cat"):
            walker.note(Effect.WRITES, value.span, tags=("shell-state",), detail=name)
        _judge_command(walker, name, value, state)
    elif name in ("PS0", "PS1", "PS2", "PS4", "PROMPT", "RPROMPT"):
        if "$(" in value or "`" in value:
            walker.note(Effect.EXECUTES, value.span, tags=("loader",), detail=name)
            walker.hidden_text(value, state)
    elif name in _CLIENTS or name.lower() in _PROXIES:
        walker.note(Effect.WRITES, value.span, tags=("clients",), detail=name)
    elif name == "PATH":
        walker.note(Effect.WRITES, value.span, tags=("shell-state",), detail=name)
        _judge_path(walker, value, kept=kept)
    elif name in _HISTORY and value in ("", "0", "/dev/null", "*"):
        target = Target(text=name, place=Place.SECRET)
        walker.note(Effect.DELETES, value.span, target, tags=("history",))
    elif _CODE_VALUE.match(value):
        walker.note(Effect.EXECUTES, value.span, tags=("prepared",), detail=name)
    if value and holds_secret(value):
        target = Target(text=name, place=Place.SECRET)
        walker.note(Effect.SECRETS, value.span, target, tags=("literal",))


def judge_steering(walker: Walker, name: str, value: Arg, state: State) -> None:
    """The same for what sets a variable without an assignment, where others are steered by it.

    Attack: `for GIT_PAGER in 'rm -rf ~'`, `${LD_PRELOAD:=x.so}`, `((PATH=3))`, `mapfile PATH`.
    """
    known = (_LOADERS, _OPTIONS, _PATHS, _COMMANDS, _CLIENTS, _HISTORY, ("PATH", "PS4"))
    if (
        any(name in each for each in known)
        or name.startswith(("BASH_FUNC_", "GIT_CONFIG"))
        or name.lower() in _PROXIES
    ):
        judge_variable(walker, name, value, state, kept=True)


def _judge_loader(walker: Walker, name: str, value: Arg, state: State) -> None:
    """Code by variable: the prompt's command, and a file that this script wrote, are read."""
    if value:
        walker.note(Effect.EXECUTES, value.span, tags=("loader",), detail=name)
    if name == "PROMPT_COMMAND" and UNKNOWN not in value:
        walker.nested(value, state.copy())
    elif name == "BASH_ENV":
        held = walker.files.get(state.behind(normal(value, state.cwd)))
        if held is not None and held.text is not None:
            walker.nested(value.like(held.text), state.copy())
    elif "$(" in value or "`" in value:
        walker.hidden_text(value, state)


def _judge_command(walker: Walker, name: str, value: Arg, state: State) -> None:
    """A pager, an editor, a transport: the usual ones pass, others are read as what they run."""
    if _HARMLESS_COMMANDS.fullmatch(value.strip()):
        return
    walker.note(Effect.EXECUTES, value.span, tags=("hooked",), detail=name)
    if UNKNOWN not in value:
        walker.nested(value.like(value.lstrip("|")), state.copy())


def _judge_git(walker: Walker, name: str, value: Arg) -> None:
    """Git's settings by variables: keys that name programs, or whole files of settings."""
    lowered = value.lower()
    if name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG"):
        if value not in ("", "/dev/null"):
            walker.note(Effect.EXECUTES, value.span, tags=("loader",), detail=name)
    elif name == "GIT_CONFIG_PARAMETERS" or (
        name.startswith("GIT_CONFIG_KEY")
        and (UNKNOWN in value or any(key in lowered for key in _GIT_KEYS))
    ):
        walker.note(Effect.EXECUTES, value.span, tags=("loader",), detail=f"{name}={value}")


def _judge_folders(walker: Walker, name: str, value: Arg, state: State) -> None:
    """Folders that code is loaded from: the project's own and the system's are what is usual."""
    for entry in value.replace(";", ":").split(":"):
        if not entry or UNKNOWN in entry:
            continue
        place = place_of(normal(entry, state.cwd), walker.ground)
        if place in (Place.TEMP, Place.OUTSIDE, Place.DEVICE) and not entry.startswith(
            ("/opt/", "/srv/")
        ):
            walker.note(Effect.EXECUTES, value.span, tags=("loader",), detail=f"{name}={entry}")
            return


def _judge_path(walker: Walker, value: Arg, *, kept: bool) -> None:
    first = value.partition(":")[0]
    if value == UNKNOWN and kept:
        walker.note(Effect.EXECUTES, value.span, tags=("prepared",), detail="PATH")
    if first.startswith(("/usr/", "/bin", "/sbin", "/opt/", "/snap/", UNKNOWN)) or not first:
        return
    home, workspace = walker.ground.home, walker.ground.workspace
    if first.startswith((home + "/", workspace + "/")) and any(usual in first for usual in _USUAL):
        return
    walker.note(Effect.EXECUTES, value.span, tags=("path",), detail=first)


def holds_secret(text: str) -> bool:
    """Whether a text holds what looks like a real token or key."""
    return _SECRET_VALUE.search(text) is not None


def judge_unset(call: Invocation, name: Arg) -> None:
    """Dropping the history's variables hides what was done."""
    if name in _HISTORY:
        target = Target(text=str(name), place=Place.SECRET)
        call.fact(Effect.DELETES, target, tags=("history",))
