"""Reads code of languages that nobody here knows, by its texts and the names that stand before.

Lisp, Scheme, Prolog, OCaml, Octave, gnuplot and their like differ in everything but this: a
program is run, and a file deleted, by a function with a telling name that is given a text.
"""

from __future__ import annotations

import re

from redoma.judge.interpret.arg import UNKNOWN, Stream

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.arg import Arg
    from redoma.judge.interpret.invocation import Invocation

_LISPS = frozenset("lisp scheme racket clojure elisp".split())
_NAME = r"[A-Za-z_][\w*!?]*(?:[-.:/][\w*!?]+)*"
# What nothing closes reaches to the end, so that it is looked through once.
_DOUBLE = r'"(?P<double>(?:\\.|[^"\\])*+)(?:"|\Z|\\\Z)'
_SINGLE = r"'(?P<single>(?:\\.|''|[^'\\])*+)(?:'|\Z|\\\Z)"
_PIECES = re.compile(rf"{_DOUBLE}|{_SINGLE}|`(?P<run>[^`]*+)(?:`|\Z)|(?P<name>{_NAME})", re.DOTALL)
_LISP_PIECES = re.compile(rf"{_DOUBLE}|(?P<name>{_NAME})", re.DOTALL)
_RUNS = frozenset(
    "system system* shell shell_cmd shell-command shell-command-to-string shell_to_string sh "
    "run-program launch-program run-shell-command call-process call-process-shell-command "
    "start-process start-process-shell-command make-process process process* popen popen2 popen3 "
    "open-pipe open-pipe* open-input-pipe open-output-pipe open-input-output-pipe exec execl "
    "execlp execle execv execve execvp execvpe execute spawn spawnl spawnv spawnvp host unix dos "
    "unix_g unix_w process_create create_process create_process_env command cmd open_process "
    "open_process_in open_process_out open_process_full getoutput sys-exec".split()
)
_EVALUATES = frozenset(
    "eval evalin eval-string read-from-string read_term_from_atom term_to_atom feval str2func "
    "load consult loadstring interpret".split()
)
_DELETES = frozenset(
    "delete unlink remove rmdir rmtree remove-file delete-file delete_file delete-directory "
    "delete_directory delete-directory-tree remove_directory delete_directory_and_contents "
    "delete-directory/files remove_tree".split()
)
_ESCAPES = re.compile(r"(?:^|;)[ \t]*+!([^\n;]++)", re.MULTILINE)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_TREES = ("director", "rmdir", "tree")
_SEPARATORS = str.maketrans(":/", "..")
_MOST = 400
_REACH = 6
"""How many texts after a function's name may be its arguments."""


def read_literals(call: Invocation, text: Arg, language: str = "") -> Stream:
    """Notes what the code runs and deletes, as far as names and texts tell."""
    pieces = _pieces(str(text), language)
    for index, (kind, name) in enumerate(pieces):
        call.walker.step()
        if kind == "run":
            call.run_shell(text.like(name))
        elif kind == "text" and name[:1] in ("|", "<") and name[1:].strip():
            # gnuplot and others: a file whose name begins so is a program.
            call.run_shell(text.like(name[1:]))
        elif kind == "name":
            _named(call, text, name, [p for k, p in _after(pieces, index) if k == "text"])
    for line in _ESCAPES.findall(str(text)) if language not in _LISPS else ():
        call.reads_perhaps(text.like(line.strip()))
    return Stream(None, text.taint)


def _pieces(code: str, language: str) -> list[tuple[str, str]]:
    out: list[tuple[str, str]] = []
    for match in (_LISP_PIECES if language in _LISPS else _PIECES).finditer(code):
        kind = str(match.lastgroup)
        value = match[kind]
        if kind in ("double", "single"):
            out.append(("text", _ESCAPE.sub(r"\1", value) if kind == "double" else value))
        else:
            out.append((kind, value))
        if len(out) >= _MOST:
            break
    return out


def _after(pieces: list[tuple[str, str]], index: int) -> list[tuple[str, str]]:
    """What follows a name, up to the next one that acts itself."""
    out: list[tuple[str, str]] = []
    for kind, value in pieces[index + 1 : index + 1 + 2 * _REACH]:
        if kind == "name" and (_is(value, _RUNS) or _is(value, _DELETES)):
            break
        out.append((kind, value))
    return out


def _is(name: str, functions: frozenset[str]) -> bool:
    """Whether a name, or its last part, is one of these."""
    lowered = name.lower()
    return lowered in functions or lowered.translate(_SEPARATORS).rpartition(".")[2] in functions


def _named(call: Invocation, text: Arg, name: str, given: list[str]) -> None:
    if _is(name, _RUNS):
        if not given:
            return
        words = [text.like(each) for each in given[:_REACH]]
        if " " in given[0].strip() or len(given) == 1:
            call.run_shell(words[0])
        else:
            call.run_args(words)
    elif _is(name, _EVALUATES) and not given:
        call.unknown_code(text.span)
    elif _is(name, _DELETES):
        for each in given[:1]:
            if "/" in each or each.startswith("~"):
                home = call.state.variables.get("HOME", UNKNOWN)
                path = f"{home}{each[1:]}" if each[:1] == "~" else each
                call.deletes(
                    text.like(path),
                    *(("recursive",) if any(t in name.lower() for t in _TREES) else ()),
                )
