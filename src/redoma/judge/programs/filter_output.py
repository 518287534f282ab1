"""What filters print when their input is known: `… | cut -c3- | sh` is read like the rest.

A card names a function here by `prints`; it gives the text, or None where it would have to guess.
Expressions are tried only where their cost is bounded: a command must not be able to keep the
judge busy.
"""

from __future__ import annotations

import re

from redoma.judge.interpret.arg import NAMES, UNKNOWN
from redoma.judge.interpret.places import normal
from redoma.judge.programs.options import split
from redoma.judge.text.budget import spend
from redoma.judge.text.regex import parsed, tries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from redoma.judge.interpret.arg import Arg
    from redoma.judge.interpret.invocation import Invocation

LONGEST = 16384
MOST_TRIES = 200_000
MOST_TRIES_OF_ALL = 1_000_000


def _input(call: Invocation, words: list[Arg]) -> str | None:
    """The text of the named files or of what flows in."""
    texts: list[str] = []
    for word in words or [call.word.like("-")]:
        held = call.stdin if word == "-" else call.walker.files.get(call.path(word))
        if held is None or held.text is None or UNKNOWN in held.text or held.taint & NAMES:
            return None
        texts.append(held.text)
    text = "".join(texts)
    return text if len(text) <= LONGEST else None


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    return lines[:-1] if lines and not lines[-1] else lines


def _together(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


# Columns and bytes --------------------------------------------------------------------------------


def cut(call: Invocation) -> str | None:
    options = split(call.args, frozenset("-b -c -f -d --bytes --characters --fields".split()))
    text = _input(call, options.operands)
    if text is None or options.has("--complement", "-s", "--output-delimiter"):
        return None
    places = options.value("-c", "-b", "--characters", "--bytes")
    fields = options.value("-f", "--fields")
    wanted = _ranges(str(places if places is not None else fields or ""))
    if wanted is None:
        return None
    if places is not None:
        return _together(["".join(_picked(list(line), wanted)) for line in _lines(text)])
    between = str(options.value("-d", "--delimiter") or "\t")[:1]
    cut = (
        between.join(_picked(line.split(between), wanted)) if between in line else line
        for line in _lines(text)
    )
    return _together(list(cut))


def _ranges(given: str) -> list[tuple[int, int]] | None:
    out: list[tuple[int, int]] = []
    for piece in given.split(",")[:32]:
        match = re.fullmatch(r"(\d{0,5})(-?)(\d{0,5})", piece)
        if match is None or not (match[1] or match[3]):
            return None
        start = int(match[1] or 1)
        out.append((start, int(match[3] or LONGEST) if match[2] else start))
    return out


def _picked(items: list[str], wanted: list[tuple[int, int]]) -> list[str]:
    return [
        item
        for place, item in enumerate(items, 1)
        if any(first <= place <= last for first, last in wanted)
    ]


def part(call: Invocation) -> str | None:
    """`head -c 8`, `tail -c 8`."""
    options = split(call.args, frozenset("-n --lines -c --bytes".split()))
    given = options.value("-c", "--bytes")
    text = _input(call, options.operands)
    if given is None or text is None or not given.lstrip("+").isdigit():
        return None
    count = int(given.lstrip("+")[:6])
    if call.name.endswith("head"):
        return text[:count]
    return text[max(count - 1, 0) :] if given[0] == "+" else text[-count:] if count else ""


def paste(call: Invocation) -> str | None:
    options = split(call.args, frozenset(("-d", "--delimiters")))
    text = _input(call, options.operands)
    if text is None or not options.has("-s", "--serial"):
        return None
    between = str(options.value("-d", "--delimiters") or "\t")
    return between[:1].join(_lines(text)) + "\n"


# Lines --------------------------------------------------------------------------------------------


def sort(call: Invocation) -> str | None:
    options = split(
        call.args, frozenset("-k -t -o -S -T --key --output --compress-program".split())
    )
    text = _input(call, options.operands)
    if text is None or not set(options.given) <= {"-u", "-r", "--unique", "--reverse"}:
        return None
    lines = sorted(_lines(text), reverse=options.has("-r", "--reverse"))
    return _together(list(dict.fromkeys(lines)) if options.has("-u", "--unique") else lines)


def uniq(call: Invocation) -> str | None:
    text = None if call.args else _input(call, [])
    if text is None:
        return None
    lines = _lines(text)
    kept = [line for place, line in enumerate(lines) if not place or line != lines[place - 1]]
    return _together(kept)


def unchanged(call: Invocation) -> str | None:
    """`fold`, `fmt`, `nl -b n`, `expand`: a short line stays what it is but for blanks."""
    options = split(call.args, frozenset("-w --width -b -s -t --tabs".split()))
    text = _input(call, options.operands)
    short = text is not None and all(len(line) <= 60 for line in _lines(text))
    if not short or (call.name == "nl" and options.value("-b") != "n"):
        return None
    return text if not options.has("-w", "--width") else None


def grep(call: Invocation) -> str | None:
    takes = frozenset("-e -f -m -A -B -C --regexp --file --max-count".split())
    options = split(call.args, takes)
    operands = list(options.operands)
    pattern = options.value("-e", "--regexp") or (operands.pop(0) if operands else None)
    allowed = {"-e", "--regexp", "-v", "-i", "-F", "-E", "-o", "-h", "-a", "-w"}
    text = _input(call, operands)
    if text is None or pattern is None or not set(options.given) <= allowed:
        return None
    basic = not options.has("-E") and not call.name.startswith("e")
    fixed = options.has("-F") or call.name.startswith("f")
    search = _expression(str(pattern), basic=basic, fixed=fixed, any_case=options.has("-i"))
    if search is None or not _cheap(search, text):
        return None
    if options.has("-o"):
        return _together([m[0] for line in _lines(text) for m in search.finditer(line) if m[0]])
    wanted = not options.has("-v")
    return _together([line for line in _lines(text) if bool(search.search(line)) == wanted])


def sed(call: Invocation) -> str | None:
    """`s/…/…/` without addresses, one or several."""
    options = split(call.args, frozenset("-e -f --expression --file -l".split()))
    operands = list(options.operands)
    scripts = options.values("-e", "--expression")
    if not scripts and operands:
        scripts = [operands.pop(0)]
    allowed = {"-e", "--expression", "-E", "-r", "-u", "-s"}
    text = _input(call, operands)
    if text is None or not set(options.given) <= allowed:
        return None
    for script in scripts:
        text = _substituted(text, str(script).strip(), basic=not options.has("-E", "-r"))
        if text is None:
            return None
    return text


def _substituted(text: str, script: str, *, basic: bool) -> str | None:
    for _ in range(8):
        script = script.lstrip("; \n")
        if not script:
            return text
        if script[0] != "s" or len(script) < 4:
            return None
        end = re.escape(script[1])
        piece = rf"((?:\\.|(?!{end})[^\\])*+)"
        match = re.match(rf"s{end}{piece}{end}{piece}{end}([gip\d]*)", script, re.DOTALL)
        if match is None:
            return None
        search = _expression(match[1], basic=basic, fixed=False, any_case="i" in match[3])
        if search is None or not _cheap(search, text) or "p" in match[3] or match[3].isdigit():
            return None
        changed = _changed(text, search, _filled(match[2]), every="g" in match[3])
        if changed is None:
            return None
        text = changed
        script = script[match.end() :]
    return None


def _changed(
    text: str, search: re.Pattern[str], fill: Callable[[re.Match[str]], str], *, every: bool
) -> str | None:
    """The lines with what was found replaced; None where that makes more than can be followed.

    Attack: `s/a/&&&&&&&&/g`, again and again, makes a text of any size out of a short one.
    """
    room = LONGEST
    out: list[str] = []
    for line in _lines(text):
        at = 0
        for match in search.finditer(line):
            out += line[at : match.start()], fill(match)
            at = match.end()
            room -= len(out[-1]) + 1
            if room < 0:
                return None
            if not every:
                break
        out += line[at:], "\n"
    return "".join(out)


def _filled(replacement: str) -> Callable[[re.Match[str]], str]:
    def fill(match: re.Match[str]) -> str:
        def one(mark: re.Match[str]) -> str:
            if mark[0] == "&":
                return match[0]
            letter = mark[0][1]
            if letter.isdigit():
                return match[int(letter)] or "" if int(letter) <= match.re.groups else ""
            return {"n": "\n", "t": "\t"}.get(letter, letter)

        return re.sub(r"\\.|&", one, replacement, flags=re.DOTALL)

    return fill


_BASIC = {"\\(": "(", "\\)": ")", "\\|": "|", "\\+": "+", "\\?": "?", "\\{": "{", "\\}": "}"}


def _expression(text: str, *, basic: bool, fixed: bool, any_case: bool) -> re.Pattern[str] | None:
    """A pattern of grep or sed as one of Python's."""
    flags = re.IGNORECASE if any_case else 0
    if len(text) > 256:
        return None
    if fixed:
        return re.compile(re.escape(text), flags)
    if basic:
        text = re.sub(r"\\.|[(){}|+?]", lambda m: _BASIC.get(m[0]) or _plain(m[0]), text)
    try:
        return re.compile(text, flags)
    except (re.error, OverflowError, RecursionError):
        return None


def _plain(sign: str) -> str:
    return sign if sign[0] == "\\" and sign[1:].isalnum() else re.escape(sign[-1])


def _cheap(search: re.Pattern[str], text: str) -> bool:
    """Attack: an expression that backtracks without end: repetitions, alternatives, groups."""
    longest = max((len(line) for line in _lines(text)), default=0)
    ways = tries(parsed(search.pattern, search.flags), longest)
    if (longest + 1) * ways > MOST_TRIES or len(text) * ways > MOST_TRIES_OF_ALL:
        return False
    spend(len(text) * ways)
    return True


# Printing and paths -------------------------------------------------------------------------------

_BEGIN = re.compile(
    r'\s*+BEGIN\s*+\{\s*+print(f?)\s*+\(?\s*+"((?:[^"\\]++|\\.)*+)"\s*+\)?;?\s*+\}\s*+'
)
_COLUMN = re.compile(r"\s*+\{\s*+print\s*+(?:\$(\d{1,3}))?;?\s*+\}\s*+|1")


def awk(call: Invocation) -> str | None:
    words = call.args
    begins = _BEGIN.fullmatch(words[0]) if len(words) == 1 else None
    if begins is not None:
        from redoma.judge.interpret.formats import unescaped

        return unescaped(begins[2]) + ("" if begins[1] else "\n")
    column = _COLUMN.fullmatch(words[0]) if words and words[0][:1] != "-" else None
    text = _input(call, words[1:]) if column is not None else None
    if text is None or column is None:
        return None
    wanted = int(column[1] or 0)
    if not wanted:
        return text
    rows = [line.split() for line in _lines(text)]
    return _together([row[wanted - 1] if wanted <= len(row) else "" for row in rows])


def openssl(call: Invocation) -> str | None:
    words = [str(word) for word in call.args]
    based = words[:1] == ["base64"] or (words[:1] == ["enc"] and {"-base64", "-a"} & set(words))
    if not based or not {"-d", "-A", "-base64", "-a", "enc", "base64"}.issuperset(words):
        return None
    from redoma.judge.programs.filters import decoded, encoded

    text = _input(call, [])
    try:
        if text is None:
            return None
        return decoded("base64", text) if "-d" in words else encoded("base64", text)
    except ValueError:
        return None


def path(call: Invocation) -> str | None:
    """`dirname`, `basename`, `realpath`, `readlink -f`: by name alone, links aside."""
    options = split(call.args, frozenset("-s --suffix --relative-to --relative-base".split()))
    words = options.operands
    plain = {"-f", "-e", "-m", "-n", "-q", "-z", "-P", "-L", "--canonicalize"}
    if not words or any(not word.known for word in words) or not set(options.given) <= plain:
        return None
    out: list[str] = []
    for word in words[:1] if call.name.endswith("basename") else words[:16]:
        text = str(word)
        if call.name.endswith("dirname"):
            head, slash, _ = text.rstrip("/").rpartition("/")
            out.append(head.rstrip("/") or slash or ("/" if text[:1] == "/" else "."))
        elif call.name.endswith("basename"):
            last = text.rstrip("/").rpartition("/")[2] or text[:1]
            out.append(last.removesuffix(words[1]) if len(words) > 1 else last)
        else:
            link = call.name.endswith("readlink") and not options.has("-f", "-e", "-m")
            if link or (UNKNOWN in call.state.cwd and text[:1] != "/"):
                return None
            out.append(normal(text, call.state.cwd))
    return _together(out)


def which(call: Invocation) -> str | None:
    words = [word for word in call.args if word[:1] != "-"]
    if not words or any(not word.known or "/" in word for word in words):
        return None
    # Where it lies is not known, but what it is called is all that counts.
    return _together([f"/usr/bin/{word}" for word in words[:16]])
