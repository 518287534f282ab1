"""`openssl`, `gpg`, `age`, `sops`, `pass`: keys shown, made, used, and text made readable."""

from __future__ import annotations

from redoma.judge.interpret.arg import DECODED, NETWORK, NOTHING, SECRET, UNKNOWN, Stream
from redoma.judge.programs.card_actions import do
from redoma.judge.programs.cards import card_words, options_of
from redoma.model.decision import Effect, Place, Target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.invocation import Invocation

_PUBLIC_INPUT = frozenset(
    "x509 req crl verify s_client pkcs7 cms ocsp version list help ciphers asn1parse "
    "speed errstr prime".split()
)
_PRINTS_ONLY = frozenset("version list help ciphers s_client verify errstr speed".split())
_MAKES_KEYS = frozenset("genrsa genpkey gendsa ecparam dsaparam dhparam genkey".split())
_KEY_TOOLS = frozenset("rsa ec dsa pkey pkcs8 pkcs12 pkeyutl rsautl".split())


def openssl(call: Invocation) -> Stream:
    """Certificates may be looked at; private keys, decryption and listening are said."""
    command = str(call.args[0]) if call.args else ""
    options = options_of(call, call.args[1:])
    for word in options.values("-engine", "-provider", "-provider-path"):
        call.fact(Effect.EXECUTES, tags=("library",), at=word.span)
    for word in options.values("-config", "-extfile"):
        call.reads(word)
    carried = call.stdin.taint
    source = options.value("-in")
    operands = [source] if source is not None else []
    if command in ("dgst", "md5", "sha1", "sha256", "sha512"):
        operands += options.operands
    for word in operands:
        if command not in _PUBLIC_INPUT:
            carried |= call.reads(word).taint
    for word in options.values(
        "-out", "-keyout", "-writerand", "-sess_out", "-CAserial", "-keylogfile"
    ):
        call.writes(word, content=Stream(None, carried | DECODED))
    if command == "s_client":
        return _client(call, options.value("-connect", "-host") or call.word.like(UNKNOWN))
    if (
        command in ("s_server", "ocsp") and options.has("-accept", "-port", "-www", "-WWW")
    ) or command == "s_server":
        do(call, "serve")
    elif command in _MAKES_KEYS or (command == "req" and options.has("-newkey", "-keyout")):
        if not options.has("-out", "-noout"):
            call.fact(Effect.SECRETS, tags=("credentials",))
    elif command in _KEY_TOOLS and not options.has("-noout", "-pubout", "-pubin"):
        call.fact(Effect.SECRETS, tags=("credentials",))
        carried |= SECRET
    elif not (command in _PRINTS_ONLY or (command in _PUBLIC_INPUT and options.has("-noout"))):
        do(call, "unknown", detail=f"openssl {command}")
    decodes = command in ("enc", "base64") or options.has("-d", "-decrypt")
    return Stream(None, carried | (DECODED if decodes else 0), "openssl")


def _client(call: Invocation, host: str) -> Stream:
    if call.stdin.taint & SECRET:
        call.sends(call.stdin.taint, host, "raw")
    elif call.stdin.source or call.stdin.text:
        call.sends(0, host)
    else:
        call.host(host, "query")
    return Stream(None, NETWORK, str(host))


def gpg(call: Invocation) -> Stream:
    """Lists and verifies freely; secret keys, decryption, signing and trust are said."""
    options = options_of(call)
    carried = call.stdin.taint
    for word in options.values("-o", "--output"):
        if word != "-":
            call.writes(word, content=Stream(None, carried | SECRET))
    if options.has("--export-secret-keys", "--export-secret-subkeys", "--export-secret-key"):
        call.fact(Effect.SECRETS, Target(text="secret keys", place=Place.SECRET), tags=("outside",))
        return Stream(None, SECRET, "secret keys")
    if options.has(
        "--delete-keys", "--delete-secret-keys", "--delete-secret-and-public-key", "--delete-key"
    ):
        call.fact(Effect.DELETES, Target(text="keys", place=Place.SECRET))
        return NOTHING
    if options.has("-d", "--decrypt"):
        call.fact(Effect.SECRETS, tags=("credentials",))
        for word in options.operands:
            carried |= call.reads(word).taint
        return Stream(None, carried | SECRET | DECODED, "gpg")
    if options.has(
        "--recv-keys",
        "--receive-keys",
        "--search-keys",
        "--refresh-keys",
        "--send-keys",
        "--locate-keys",
    ):
        call.host(options.value("--keyserver") or call.word.like("keys.openpgp.org"), "download")
        do(call, "publish" if options.has("--send-keys") else "config")
        return Stream(None)
    if options.has(*card_words(call, "changes")):
        for word in options.operands:
            call.reads(word)
        do(call, "config")
        return NOTHING
    if options.has(*card_words(call, "looks")):
        return Stream(None)
    for word in options.operands:
        carried |= call.reads(word).taint
    if options.has("-s", "--sign", "-b", "--detach-sign", "--clearsign", "--clear-sign"):
        call.fact(Effect.SECRETS, tags=("credentials",))
    if options.has(
        "--dearmor",
        "--enarmor",
        "--armor",
        "-a",
        "-e",
        "--encrypt",
        "-c",
        "--symmetric",
        "-s",
        "--sign",
    ):
        if not options.has("-o", "--output") and options.operands:
            do(call, "write")
        # Attack: whoever encrypts a secret for a key of their own has it all the same.
        return Stream(None, carried)
    do(call, "unknown", detail="gpg")
    return Stream(None, carried)


def opened(call: Invocation) -> Stream:
    """`age`, `sops`, `ansible-vault`: encrypting is a write, decrypting shows secrets."""
    options = options_of(call)
    words = [str(w) for w in options.operands]
    carried = call.stdin.taint
    decrypts = options.has("-d", "--decrypt") or words[:1] in (
        ["decrypt"],
        ["view"],
        ["unlock"],
        ["exec-env"],
        ["exec-file"],
        ["edit"],
    )
    for word in options.values("-i", "--identity"):
        call.fact(
            Effect.SECRETS,
            Target(text=word, place=Place.SECRET),
            tags=("credentials",),
            at=word.span,
        )
    output = options.value("-o", "--output")
    if output is not None:
        call.writes(output, content=Stream(None, carried | (SECRET if decrypts else 0)))
    if words[:1] in (["exec-env"], ["exec-file"]) and len(options.operands) > 2:
        call.run_shell(options.operands[2])
    if decrypts or (
        call.name == "sops" and words[:1] != ["encrypt"] and not options.has("-e", "--encrypt")
    ):
        call.fact(Effect.SECRETS, tags=("credentials",))
        return Stream(None, carried | SECRET, call.name)
    for word in options.operands:
        carried |= call.reads(word).taint
    do(call, "write")
    return Stream(None, carried)
