"""`curl`: what it asks of other machines, what it sends them, and where their answers land."""

from __future__ import annotations

from redoma.judge.interpret.arg import EXACT, NETWORK, NOTHING, SECRET, UNKNOWN, Arg, Stream
from redoma.judge.interpret.hosts import web_request
from redoma.judge.interpret.variables import holds_secret
from redoma.judge.programs.cards import options_of
from redoma.model.decision import Effect, Place, Target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.arg import Arg, Stream
    from redoma.judge.interpret.invocation import Invocation
    from redoma.judge.programs.options import ProgramOptions

_DATA = ("-d", "--data", "--data-binary", "--data-ascii", "--json")
_PLAIN_DATA = ("--data-raw", "--form-string", "--url-query")
_WRITTEN = tuple(
    "-c --cookie-jar -D --dump-header --trace --trace-ascii --stderr --libcurl --etag-save "
    "--hsts --alt-svc".split()
)
_HARMLESS_QUOTES = frozenset(
    "PWD STAT SIZE NOOP HELP SYST TYPE PASV EPSV PORT CWD CDUP LIST NLST MLSD MLST FEAT "
    "OPTS MDTM XPWD REST ABOR QUIT MODE STRU ALLO ACCT USER PASS AUTH PBSZ PROT LANG "
    "CLNT HASH".split()
)
_OTHER_WAYS = frozenset(
    "-k --insecure -x --proxy --preproxy --socks4 --socks4a --socks5 --socks5-hostname --resolve "
    "--connect-to --unix-socket --abstract-unix-socket --doh-url --dns-servers --interface "
    "--cacert --capath -K --config --proxy-insecure --doh-insecure -H --header".split()
)
"""Options by which another answers than the address says."""
_DELETING_QUOTES = frozenset(("DELE", "RMD", "RMDA", "XRMD", "RM", "RMDIR"))


def curl(call: Invocation) -> Stream:
    """Every option that sends, writes, deletes or runs; a plain GET is only a read."""
    options = options_of(call)
    if options.has("-h", "--help", "-M", "--manual", "-V", "--version"):
        return Stream(None)
    urls = [*options.operands, *options.values("--url", "--expand-url")]
    sent, payload_known = _payload(call, options)
    carried = sent.taint if sent is not None else 0
    for word in options.values("--request-target", "-A", "--user-agent", "-e", "--referer"):
        carried |= word.taint & SECRET
    carried |= _headers(call, options)
    method = _method(options, sends=sent is not None)
    if options.has("-K", "--config") or any(UNKNOWN in str(u) and u.startswith("-") for u in urls):
        # Attack: a config file can name any upload, any output and any other option.
        call.fact(Effect.UNKNOWN, tags=("code",), detail="curl --config")
        for word in options.values("-K", "--config"):
            call.reads(word)
    if options.has("--engine"):
        call.fact(Effect.EXECUTES, tags=("library",))
    tags = _tags(options)
    taint = NETWORK
    for url in urls:
        taint |= _visit(call, url, method, carried | (url.taint & SECRET), tags, payload_known)
    _quotes(call, options, urls)
    _written(call, options, urls)
    if _to_files(options, urls):
        return NOTHING
    plain = len(urls) == 1 and urls[0].startswith("https://") and not options.has(*_OTHER_WAYS)
    if plain and not call.environment:
        taint |= EXACT
    return Stream(None, taint, str(urls[0]) if urls else "")


def _method(options: ProgramOptions, *, sends: bool) -> str:
    asked = options.value("-X", "--request")
    if asked is not None:
        return str(asked).upper() if asked.known else UNKNOWN
    if options.has("-T", "--upload-file"):
        return "PUT"
    if options.has("-G", "--get", "-I", "--head"):
        return "GET"
    if sends or options.has("--mail-from", "--mail-rcpt"):
        return "POST"
    return "GET"


def _tags(options: ProgramOptions) -> tuple[str, ...]:
    insecure = options.has("-k", "--insecure", "--proxy-insecure", "--doh-insecure")
    return ("download", "insecure") if insecure else ("download",)


def _visit(
    call: Invocation,
    url: Arg,
    method: str,
    carried: int,
    tags: tuple[str, ...],
    known: bool,  # noqa: FBT001
) -> int:
    lowered = url.lower()
    if lowered.startswith("file:"):
        return call.reads(url.like("/" + url[5:].lstrip("/"))).taint
    if lowered.startswith(("gopher:", "gophers:", "dict:", "telnet:")):
        call.sends(carried, url, *tags, "raw")
        return NETWORK
    web_request(call, url, method, carried, tags, known=known)
    return NETWORK


def _payload(call: Invocation, options: ProgramOptions) -> tuple[Stream | None, bool]:
    """What the request carries, and whether the files among it are named in the command."""
    taint = 0
    any_sent = False
    known = True
    for name, value, _ in options.order:
        if value is None:
            continue
        read: Stream | None = None
        if name in _DATA:
            any_sent = True
            if value.startswith("@"):
                read = file_of(call, value.like(value[1:]))
        elif name == "--data-urlencode":
            any_sent = True
            before, at, path = value.partition("@")
            if at and "=" not in before:
                read = file_of(call, value.like(path))
        elif name in ("-F", "--form"):
            any_sent = True
            for path in _form_files(value):
                stream = file_of(call, value.like(path))
                taint |= stream.taint
                known = known and UNKNOWN not in path
        elif name in ("-T", "--upload-file"):
            any_sent = True
            read = file_of(call, value if value != "." else value.like("-"))
        elif name in _PLAIN_DATA:
            any_sent = True
        else:
            continue
        taint |= value.taint
        if read is not None:
            taint |= read.taint
            known = known and UNKNOWN not in value
    return (Stream(None, taint) if any_sent else None), known


def _form_files(value: Arg) -> list[str]:
    """`name=@a;type=x`, `name=<a` and `name=@a,b` name files whose content goes along."""
    _, _, content = value.partition("=")
    if content[:1] not in ("@", "<"):
        return []
    out = []
    for each in content[1:].split(","):
        path = each.partition(";")[0].strip('"')
        if path:
            out.append(path)
    return out


def _headers(call: Invocation, options: ProgramOptions) -> int:
    """A secret in a header that logs in is what it is for; in any other it is carried away."""
    carried = 0
    for word in options.values("-H", "--header", "--proxy-header", "-b", "--cookie"):
        taint = word.taint
        if holds_secret(word):
            shown = Target(text=word.partition(":")[0], place=Place.SECRET)
            call.fact(Effect.SECRETS, shown, tags=("literal",), at=word.span)
        if word.startswith("@"):
            taint |= file_of(call, word.like(word[1:])).taint
        if taint & SECRET:
            carried |= _login(call, word) if is_login_header(word) else SECRET
    for word in options.values("-u", "--user", "--oauth2-bearer", "-U", "--proxy-user"):
        if word.taint & SECRET:
            carried |= _login(call, word)
    return carried


def _login(call: Invocation, word: Arg) -> int:
    read_from_file = any(fact.effect is Effect.SECRETS for fact in call.walker.facts)
    if read_from_file:
        return SECRET
    target = Target(text=word, place=Place.SECRET)
    call.fact(Effect.SECRETS, target, tags=("credentials",), at=word.span)
    return 0


def _quotes(call: Invocation, options: ProgramOptions, urls: list[Arg]) -> None:
    """FTP and SFTP commands that change or delete on the other side."""
    for word in options.values("-Q", "--quote"):
        verb = word.lstrip("-+*").partition(" ")[0].upper()
        if verb in _DELETING_QUOTES:
            call.fact(Effect.REMOTE, tags=("destroy",), at=word.span, detail=str(word))
        elif verb not in _HARMLESS_QUOTES:
            call.fact(Effect.REMOTE, at=word.span, detail=str(word))
    if options.has("--ftp-create-dirs"):
        call.fact(Effect.REMOTE, detail="--ftp-create-dirs")


def _to_files(options: ProgramOptions, urls: list[Arg]) -> bool:
    if options.has("-O", "--remote-name", "--remote-name-all"):
        return len(options.values("-o", "--output")) == 0 or len(urls) <= 1
    outputs = options.values("-o", "--output")
    return bool(outputs) and len(outputs) >= len(urls) and all(o != "-" for o in outputs)


def _written(call: Invocation, options: ProgramOptions, urls: list[Arg]) -> None:
    source = str(urls[0]) if urls else ""
    answer = Stream(None, NETWORK, source)
    folder = options.value("--output-dir")
    for word in options.values("-o", "--output"):
        if word != "-":
            target = word if folder is None else word.like(f"{folder}/{word}")
            call.writes(target, "overwrite", content=answer)
    if options.has("-O", "--remote-name", "--remote-name-all"):
        for url in urls:
            name = url.partition("?")[0].rstrip("/").rpartition("/")[2] or UNKNOWN
            target = url.like(name if folder is None else f"{folder}/{name}")
            call.writes(target, "overwrite", content=answer)
    for word in options.values(*_WRITTEN):
        if word not in ("-", "%"):
            call.writes(word)


_LOGIN_HEADERS = (
    "authorization",
    "private-token",
    "x-api-key",
    "api-key",
    "apikey",
    "cookie",
    "proxy-authorization",
)
_LOGIN_ENDS = ("-token", "-key", "-auth", "-secret", "_token", "_key", "token", "-session")


def file_of(call: Invocation, word: Arg) -> Stream:
    """The content of a file that a request carries; `-` is what flows in."""
    call.walker.step()
    if word in ("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"):
        return call.stdin
    return call.reads(word)


def is_login_header(header: str) -> bool:
    """Whether a header's purpose is to say who asks, so that a secret in it is expected."""
    name = header.partition(":")[0].strip().lower()
    return name in _LOGIN_HEADERS or name.endswith(_LOGIN_ENDS)
