"""Secrets that are known by what stands around them: headers, URLs, options of known programs.

A row is `kind, needles, pattern`, as in `shapes`; here the needles are in lower case, and are
looked for in the whole text in lower case. Group 1 is the secret. Rows stand under a sign that all
of them need, so that an ordinary text is asked for few needles. Time is linear here as well.
"""

from __future__ import annotations

from redoma.vault.placeholders import is_placeholder
from redoma.vault.shapes import in_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from redoma.vault.shapes import Row
    from redoma.vault.spans import Span

# The rest of one shell command, as far as an option may stand from its program.
_ON = rb"(?:[ \t][^\r\n|;&]{0,200}?)?[ \t]"
_WORD = rb"""(?:"[^"\r\n]+"|'[^'\r\n]+'|[^\s"';|&<>]+)"""
_AUTHORIZATION = rb"(?i:authorization)[\"']?[ \t]{0,4}[:=][ \t]{0,4}[\"']?[ \t]{0,4}"

# One of these stands in every name that tells; `names` reads on from there.
NAME_PIECES = (
    *(b"pass", b"pw", b"secret", b"token", b"key", b"auth", b"cred", b"senha", b"contrase"),
    *(b"mnemonic", b"dsn", b"_pat", b"kennwort"),
)

ROWS: tuple[tuple[bytes, tuple[Row, ...]], ...] = (
    # Headers, URLs, `user:password`
    (
        b":",
        (
            (
                "authorization",
                (b"authorization",),
                _AUTHORIZATION
                + rb"(?i:(?:bearer|basic|token|negotiate|ntlm|api-?key)(?:[ \t]{1,4}|%20|\+))"
                rb"((?=[^\s\"']{0,64}[0-9=]|[^\s\"']{16})[^\s\"'\\<>]{6,}+)",
            ),
            (
                "authorization",
                (b"authorization",),
                _AUTHORIZATION + rb"(?i:digest|aws4-hmac-sha256)[ \t]([^\r\n]++)",
            ),
            (
                "authorization",
                (b"authorization",),
                _AUTHORIZATION + rb"((?=[^\s\"']{0,64}[0-9])[^\s\"'\\<>]{16,}+)",
            ),
            (
                "cookie",
                (b"cookie",),
                rb"(?<![\w-])(?i:cookie)[\"']?[ \t]{0,4}:[ \t]{0,4}[\"']?"
                rb"((?=[^\s=;:\"']{1,64}=)[^\r\n\"']++)",
            ),
            (
                "cookie",
                (b"set-cookie",),
                rb"(?i:set-cookie2?)[\"']?[ \t]{0,4}:[ \t]{0,4}[\"']?"
                rb"[^\s=;\"']{1,64}=([^\s;\"']{4,}+)",
            ),
            (
                "url-password",
                (b"://",),
                rb"://[^\s:/?#@\"'`<>]{0,128}:([^\s/@\"'`<>]{1,512})@(?=[\w\[$%{])",
            ),
            # A password may hold what an URL should not: then the last @ before the host counts.
            (
                "url-password",
                (b"://",),
                rb"(?:postgres(?:ql)?|mysql|mariadb|mongodb(?:\+srv)?|redis|rediss|amqps?|mssql|sqlserver|"
                rb"clickhouse|cockroachdb|oracle|ldaps?|smtps?|imaps?|ftps?|sftp|nats|kafka)(?:\+\w{1,16})?"
                rb"://[^\s:/?#@\"'`<>]{0,128}:([^\s\"'`<>]{1,256})@(?=[\w\[$%{])",
            ),
            (
                "url-token",
                (b"://",),
                rb"://([A-Za-z0-9_~.-]{20,}+)@(?=[\w\[])",
            ),
            (
                "url-password",
                (b"@tcp(", b"@unix("),
                rb"(?<!\w)\w[\w.-]{0,64}:([^\s:/@]{1,128})@(?:tcp|unix)\(",
            ),
            (
                "oracle-password",
                (b"jdbc:oracle",),
                rb"(?i:jdbc:oracle):\w{2,6}:[^\s/:@]{1,64}/([^\s/@]{1,128})@",
            ),
            (
                "password",
                (b"curl",),
                rb"(?<!\w)curl"
                + _ON
                + rb"(?:-[a-zA-Z]{0,6}u[ \t]{0,4}|--(?:proxy-)?user(?:=|[ \t]{1,4}))"
                rb"[\"']?[^\s:\"'/]{0,128}:(?!//)((?:(?<=:)[^\s\"']++))",
            ),
            (
                "password",
                (b"pass:",),
                rb"-(?:pass|passin|passout)[ \t]{1,4}[\"']?pass:([^\s\"']++)",
            ),
            (
                "password",
                (b"chpasswd",),
                rb"echo[ \t]{1,4}(?:-[ne]{1,2}[ \t]{1,4})?[\"']?[\w.-]{1,32}:([^\s\"'|]++)"
                rb"[\"']?[ \t]{0,4}\|[ \t]{0,4}(?:sudo[ \t]{1,4})?chpasswd",
            ),
        ),
    ),
    # Programs that take a password as a word of the command line
    (
        b" -",
        (
            ("password", (b"sshpass",), rb"sshpass[ \t]{1,4}-p[ \t]{0,4}(" + _WORD + rb")"),
            (
                "password",
                (b"mysql", b"mariadb"),
                rb"(?:mysql(?:dump|admin|import|show|check)?|mariadb(?:-dump|-admin)?)"
                + _ON
                + rb"-p((?![ \t]|rint|ath|erm|rune)"
                + _WORD
                + rb")",
            ),
            ("password", (b"redis-cli",), rb"redis-cli" + _ON + rb"-a[ \t]{1,4}(" + _WORD + rb")"),
            (
                "password",
                (b" login", b" -p"),
                rb"(?<!\w)(?:docker|podman|buildah|skopeo|helm|nerdctl|az|oc|heroku|crane)[ \t]"
                rb"(?:[a-z]{1,12}[ \t]){0,2}login" + _ON + rb"-p[ \t]{1,4}(" + _WORD + rb")",
            ),
            (
                "password",
                (b"smbclient", b"rpcclient", b"smbmap"),
                rb"(?:smbclient|rpcclient)"
                + _ON
                + rb"-U[ \t]{0,4}[\"']?[^\s%\"']{1,64}%([^\s\"']++)",
            ),
            (
                "password",
                (b"ldap",),
                rb"ldap(?:search|modify|add|delete|passwd|whoami|compare)"
                + _ON
                + rb"-w[ \t]{1,4}("
                + _WORD
                + rb")",
            ),
            (
                "password",
                (b"zip",),
                rb"(?<!\w)(?:zip|unzip|zipcloak)" + _ON + rb"-P[ \t]{0,4}(" + _WORD + rb")",
            ),
            ("password", (b"7z",), rb"(?<!\w)7z[arz]?" + _ON + rb"-p((?![ \t])" + _WORD + rb")"),
            (
                "password",
                (b"htpasswd",),
                rb"htpasswd[ \t]{1,4}-[a-zA-Z]{0,6}b[a-zA-Z]{0,6}[ \t]{1,4}"
                rb"(?:[^\s-]\S{0,200}[ \t]{1,4})?\S{1,64}[ \t]{1,4}("
                + _WORD
                + rb")[ \t]{0,4}(?=[\r\n;|&]|\Z)",
            ),
        ),
    ),
    # Addresses that are secrets by themselves
    (
        b"/",
        (
            (
                "webhook",
                (b"hooks.slack.com",),
                rb"hooks\.slack\.com/(?:services|workflows|triggers)/([\w/+-]{20,}+)",
            ),
            ("webhook", (b"/api/webhooks/",), rb"/api/webhooks/[0-9]{5,}/([\w-]{20,}+)"),
            ("webhook", (b"webhook.office.com",), rb"webhook\.office\.com/([\w@/-]{40,}+)"),
        ),
    ),
    # Words that stand before a secret
    (
        b" ",
        (
            (
                "bearer-token",
                (b"bearer",),
                rb"(?i:bearer)(?:[ \t]{1,4}|%20|\+|[ \t]{0,2}[:=][ \t]{0,2})[\"']?"
                rb"([A-Za-z0-9._~+/=-]{16,}+)",
            ),
            (
                "password",
                (b"password",),
                rb"(?<!\w)login[ \t]{1,4}\S{1,128}[ \t]{1,4}password[ \t]{1,4}([^\s]++)",
            ),
            (
                "password",
                (b"identified",),
                rb"(?i:identified[ \t]{1,4}(?:with[ \t]{1,4}\w{1,32}[ \t]{1,4})?by[ \t]{1,4}"
                rb"(?:password[ \t]{1,4})?)['\"]([^'\"\r\n]++)",
            ),
            (
                "password",
                (b"password '", b'password "'),
                rb"(?i:(?<!\w)(?:with|encrypted|set|user|role)[ \t]"
                rb"[^\r\n;]{0,80}?password[ \t]{1,4})"
                rb"['\"]([^'\"\r\n]++)",
            ),
        ),
    ),
    # Signed addresses
    (
        b"=",
        (
            (
                "signature",
                (b"sig=", b"signature="),
                rb"(?i:[?&;](?:sig|x-amz-signature|x-goog-signature|signature)=)([\w%+/=-]{20,}+)",
            ),
        ),
    ),
    # What is left of a password in a list of users
    (
        b"$",
        (
            (
                "password-hash",
                (b"$",),
                rb"(?<![\w$])(\$(?:1|5|6|7|y|gy|apr1|2[abxy]|argon2id?)\$[\w./$=,+-]{20,}+)",
            ),
        ),
    ),
)


def spans(block: bytes, low: bytes) -> Iterator[Span]:
    """Where a header, an URL or a command line gives a secret away; `low` is the lower case."""
    for sign, rows in ROWS:
        if sign not in low:
            continue
        for kind, needles, pattern in rows:
            for needle in needles:
                if needle in low:
                    for span in in_lines(kind, needle, pattern, block, low):
                        if not is_placeholder(block[span.start : span.end]):
                            yield span
