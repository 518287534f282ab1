"""`wget`, `http`, `xh` and the other clients and downloaders of the web."""

from __future__ import annotations

from redoma.judge.interpret.arg import NETWORK, NOTHING, SECRET, UNKNOWN, Arg, Stream
from redoma.judge.interpret.hosts import web_request
from redoma.judge.programs.cards import options_of
from redoma.judge.programs.curl import file_of
from redoma.model.decision import Effect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.invocation import Invocation
    from redoma.judge.programs.options import ProgramOptions


def wget(call: Invocation) -> Stream:
    """`wget` writes a file unless told otherwise; `-O -` prints."""
    options = options_of(call)
    if options.has("-h", "--help", "-V", "--version"):
        return Stream(None)
    urls = list(options.operands)
    carried, sends, known = _wget_payload(call, options)
    for word in options.values("--use-askpass"):
        call.fact(Effect.EXECUTES, tags=("hooked",), at=word.span, detail="--use-askpass")
        call.run_shell(word)
    for word in options.values("-e", "--execute"):
        if "askpass" in word:
            call.run_shell(word.like(word.partition("=")[2].strip()))
        elif UNKNOWN in word or "output" in word:
            call.fact(Effect.UNKNOWN, tags=("subcommand",), detail=f"wget -e {word}")
    for word in options.values("-i", "--input-file", "--config"):
        carried |= call.reads(word).taint & SECRET
        call.fact(Effect.NETWORK, tags=("download", "unknown-host"), at=word.span)
        call.fact(
            Effect.UNKNOWN, tags=("subcommand",), at=word.span, detail=f"wget --input-file {word}"
        )
    insecure = options.has("--no-check-certificate")
    spider = options.has("--spider")
    tags = ("download", "insecure") if insecure and not spider else ("download",)
    asked = options.value("--method")
    method = str(asked).upper() if asked is not None else ("POST" if sends else "GET")
    for url in urls:
        web_request(call, url, method, carried | (url.taint & SECRET), tags, known=known)
    if spider:
        return Stream(None)
    return _wget_output(call, options, urls)


def _wget_payload(call: Invocation, options: ProgramOptions) -> tuple[int, bool, bool]:
    carried = 0
    sends = False
    known = True
    for word in options.values("--post-file", "--body-file"):
        carried |= file_of(call, word).taint | word.taint
        known = known and word.known
        sends = True
    for word in options.values("--post-data", "--body-data"):
        carried |= word.taint
        sends = True
    for word in options.values("--header", "--user-agent", "-U", "--referer"):
        carried |= word.taint & SECRET
    return carried, sends, known


def _wget_output(call: Invocation, options: ProgramOptions, urls: list[Arg]) -> Stream:
    source = str(urls[0]) if urls else ""
    answer = Stream(None, NETWORK, source)
    folder = options.value("-P", "--directory-prefix")
    for word in options.values(
        "-o", "--output-file", "-a", "--append-output", "--save-cookies", "--warc-file"
    ):
        if word not in ("-", "/dev/null"):
            call.writes(word)
    output = options.value("-O", "--output-document")
    if output is not None:
        if output in ("-", "/dev/stdout", "/dev/fd/1"):
            return answer
        call.writes(output, "overwrite", content=answer)
        return NOTHING
    if options.has("-r", "--recursive", "-m", "--mirror", "-p", "--page-requisites"):
        target = folder if folder is not None else call.word.like(".")
        for url in urls:
            call.writes(target.like(f"{target}/{_host_folder(url)}"), content=answer)
        if folder is not None:
            call.writes(folder)
            call.walker.files.put(call.path(folder) + "/", answer)
        return NOTHING
    for url in urls:
        name = url.partition("?")[0].partition("://")[2] or str(url)
        name = name.rstrip("/").rpartition("/")[2] if "/" in name.rstrip("/") else "index.html"
        target = url.like(name if folder is None else f"{folder}/{name}")
        call.writes(target, content=answer)
    return NOTHING


def _host_folder(url: str) -> str:
    from redoma.judge.interpret.hosts import host_of

    return host_of(url) or UNKNOWN


_METHODS = frozenset("GET POST PUT PATCH DELETE HEAD OPTIONS TRACE CONNECT PROPFIND PURGE".split())
_ITEM_SEPARATORS = (":=@", "=@", ":=", "==", "@", "=", ":")


def httpie(call: Invocation) -> Stream:
    """`http`, `https`, `xh`: a method, a URL, then items, some of which make the request a POST."""
    options = options_of(call)
    operands = list(options.operands)
    if not operands:
        return Stream(None)
    method = ""
    if operands[0].upper() in _METHODS and len(operands) > 1:
        method = str(operands.pop(0)).upper()
    elif operands[0].isalpha() and operands[0].isupper() and len(operands) > 1:
        method = str(operands.pop(0))
    url, items = operands[0], operands[1:]
    carried, sends, known = _items(call, items)
    if options.has("--raw"):
        sends = True
        for word in options.values("--raw"):
            carried |= word.taint
    if call.stdin.text not in (None, "") or call.stdin.taint & SECRET:
        carried |= call.stdin.taint
        sends = True
    if options.has("-f", "--form", "--multipart"):
        sends = True
    if not method:
        method = "POST" if sends else "GET"
    insecure = any(value in ("no", "false") for value in options.values("--verify"))
    tags = ("download", "insecure") if insecure else ("download",)
    web_request(call, _with_scheme(url), method, carried | (url.taint & SECRET), tags, known=known)
    answer = Stream(None, NETWORK, str(url))
    output = options.value("-o", "--output")
    if output is not None:
        call.writes(output, "overwrite", content=answer)
        return NOTHING
    if options.has("-d", "--download"):
        name = url.partition("?")[0].rstrip("/").rpartition("/")[2] or UNKNOWN
        call.writes(url.like(name), content=answer)
        return NOTHING
    return answer


def _with_scheme(url: Arg) -> Arg:
    return url.like(f"localhost{url}") if url.startswith((":", "/")) else url


def _items(call: Invocation, items: list[Arg]) -> tuple[int, bool, bool]:
    carried = 0
    sends = False
    known = True
    for item in items:
        separator = _separator(item)
        carried |= item.taint & SECRET if separator != ":" else 0
        if separator in ("==", ":", ""):
            continue
        sends = True
        if separator.endswith("@"):
            path = item.partition(separator)[2].partition(";")[0]
            carried |= call.reads(item.like(path)).taint
            known = known and UNKNOWN not in path
    return carried, sends, known


def _separator(item: str) -> str:
    """The first separator in an item, the longest where several begin together."""
    found = [(item.find(each), -len(each), each) for each in _ITEM_SEPARATORS if each in item]
    return min(found)[2] if found else ""


def fetcher(call: Invocation) -> Stream:
    """`aria2c`, `axel`: download into files, and hooks that run when done."""
    options = options_of(call)
    for name, value, _ in options.order:
        if name.startswith("--on-") and value is not None:
            call.fact(Effect.EXECUTES, tags=("flag", "arbitrary"), at=value.span)
            call.run_shell(value)
        elif name == "--enable-rpc":
            call.fact(Effect.NETWORK, tags=("listen",))
    for word in options.values("-i", "--input-file", "--conf-path"):
        call.reads(word)
        call.fact(Effect.UNKNOWN, tags=("subcommand",), at=word.span, detail=f"{call.name} -i")
    folder = options.value("-d", "--dir") if call.name == "aria2c" else None
    output = options.value("-o", "--out", "--output")
    for url in options.operands:
        call.host(url, "download")
        if "://" not in url and "." not in url:
            continue
        name = str(output) if output is not None else url.partition("?")[0].rpartition("/")[2]
        target = url.like((f"{folder}/" if folder is not None else "") + (name or "index.html"))
        call.writes(target, content=Stream(None, NETWORK, str(url)))
    return NOTHING


def browser(call: Invocation) -> Stream:
    """`lynx`, `w3m`, `links`: pages as text; local files as well."""
    options = options_of(call)
    for word in options.values("-editor", "-cfg", "-cmd_script", "-config"):
        call.fact(Effect.EXECUTES, tags=("flag", "arbitrary"), at=word.span)
    if options.has("-post_data", "-post-data"):
        call.sends(call.stdin.taint, call.word.like(UNKNOWN))
    taint = 0
    for word in options.operands:
        if "://" in word and not word.startswith("file:"):
            call.host(word, "download")
            taint |= NETWORK | (word.taint & SECRET)
            if word.taint & SECRET:
                call.sends(word.taint, word)
        elif word.startswith("file:"):
            taint |= call.reads(word.like("/" + word[5:].lstrip("/"))).taint
        else:
            taint |= NETWORK
            call.host(word, "download")
    interactive = not options.has("-dump", "-source", "--dump", "--source", "-dump_source", "-cols")
    if interactive and not call.walker.forks:
        call.fact(Effect.EXECUTES, tags=("desktop",))
    return Stream(None, taint, str(options.operands[0]) if options.operands else "")
