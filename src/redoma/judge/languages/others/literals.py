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
_PIECES = re.compile(
    rf'"(?P<double>(?:\\.|[^"\\])*+)"|\'(?P<single>(?:\\.|\'\'|[^\'\\\n])*+)\'|`(?P<run>[^`]*+)`|(?P<name>{_NAME})',
    re.DOTALL,
)
_LISP_PIECES = re.compile(rf'"(?P<double>(?:\\.|[^"\\])*+)"|(?P<name>{_NAME})', re.DOTALL)
_RUNS = re.compile(
    r"(?:.*[.:/])?(?:system\*?|shell(?:_cmd|-command\S*|_to_string)?|sh|run-program|launch-program|"
    r"run-shell-command|call-process\S*|start-process\S*|make-process|process\*?|popen\d?|"
    r"open(?:-input|-output|-input-output)?-pipe\*?|exec[lv]?[pe]*|execute\S*|spawn\S*|host|unix|dos|"
    r"unix_g|unix_w|process_create|create_process\S*|command|cmd|open_process\S*|getoutput|sys-exec)",
    re.IGNORECASE,
)
_EVALUATES = re.compile(
    r"(?:.*[.:/])?(?:eval|evalin|eval-string|read-from-string|read_term_from_atom|term_to_atom|"
    r"feval|str2func|load|consult|loadstring|interpret)",
    re.IGNORECASE,
)
_DELETES = re.compile(
    r"(?:.*[.:/])?(?:delete|unlink|remove|rmdir|rmtree|remove-file|delete[-_](?:file|directory\S*)|"
    r"delete-directory-tree|remove_directory|delete_directory_and_contents|"
    r"delete-directory/files|remove_tree)",
    re.IGNORECASE,
)
_ESCAPES = re.compile(r"(?:^|[;\n])\s*!([^\n;]+)")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_TREES = re.compile(r"director|rmdir|tree", re.IGNORECASE)
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
        if kind == "name" and (_RUNS.fullmatch(value) or _DELETES.fullmatch(value)):
            break
        out.append((kind, value))
    return out


def _named(call: Invocation, text: Arg, name: str, given: list[str]) -> None:
    if _RUNS.fullmatch(name):
        if not given:
            return
        words = [text.like(each) for each in given[:_REACH]]
        if " " in given[0].strip() or len(given) == 1:
            call.run_shell(words[0])
        else:
            call.run_args(words)
    elif _EVALUATES.fullmatch(name) and not given:
        call.unknown_code(text.span)
    elif _DELETES.fullmatch(name):
        for each in given[:1]:
            if "/" in each or each.startswith("~"):
                home = call.state.variables.get("HOME", UNKNOWN)
                path = f"{home}{each[1:]}" if each[:1] == "~" else each
                call.deletes(text.like(path), *(("recursive",) if _TREES.search(name) else ()))
