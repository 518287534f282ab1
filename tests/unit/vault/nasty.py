"""Pieces of text that are slow to read, over and over, for a reader that goes back."""

from __future__ import annotations

from redoma.vault.contexts import NAME_PIECES
from redoma.vault.contexts import ROWS as CONTEXTS
from redoma.vault.shapes import ROWS as SHAPES

UNITS = (
    *(
        "a",
        "=",
        '"',
        "'",
        "\\",
        "-",
        ":",
        "$",
        "@",
        " ",
        "\t",
        "/",
        "{",
        "[",
        "A",
        "1",
        "_",
        ".",
        "%",
    ),
    *("password=", "password: ", "--password ", '"password": "', "password='", "token: a ", "key="),
    *(
        "api key: ",
        "a.b-c_d",
        "pass",
        "pass ",
        '="',
        '\\"',
        '\\\\\\"',
        'password=\\"',
        "://a:",
        "://a:b@",
    ),
    *(
        "://",
        "a:b@",
        "postgres://a:b",
        "Authorization: ",
        "Authorization: Bearer ",
        "Cookie: a",
        "bearer ",
    ),
    *(
        "mysql -u ",
        "mysql ",
        "curl -u ",
        "curl ",
        "docker login ",
        "zip ",
        "7z ",
        "echo a:b",
        "htpasswd -b ",
    ),
    *(
        "eyJ",
        "eyJ.",
        "eyJaaaaaaaaaaaa.",
        "eyJaaaaaaaaaaaa-",
        "sk-",
        "sk-a-",
        "xoxb-",
        "gh",
        "ghp_",
        "glpat-",
    ),
    *(
        "SG.",
        "SG.aaaaaaaaaaaaaaaa",
        "AKIA",
        "dp.pt.",
        "$6$",
        "$1$a",
        ".atlasv1.",
        "Q~",
        "AZDO",
        "-us1",
    ),
    *(
        "-----BEGIN RSA PRIVATE KEY-----",
        "-----BEGIN ",
        "PRIVATE KEY",
        "-----END RSA PRIVATE KEY-----",
    ),
    *(
        "-----BEGIN PRIVATE KEY-----\n",
        "Private-Lines: 1",
        "Private-Lines: 1\n",
        "é",
        "\x00",
        "\xff",
    ),
    *(
        "password=a;b=c,d=e&f=g",
        "with password ",
        "identified by ",
        "login a password ",
        "set a password '",
    ),
)


def units() -> list[bytes]:
    """Every unit, and every needle of every rule."""
    made = [unit.encode("latin-1") for unit in UNITS]
    made += [needle for _, needles, _ in SHAPES for needle in needles]
    made += [needle for _, rows in CONTEXTS for _, needles, _ in rows for needle in needles]
    return list(dict.fromkeys((*made, *NAME_PIECES)))


def repeated(unit: bytes, size: int) -> bytes:
    """The unit over and over, in one line."""
    return (unit * (size // len(unit) + 1))[:size]


def in_lines(unit: bytes, size: int) -> bytes:
    """The unit over and over, in lines of a hundred."""
    return repeated(repeated(unit, 100) + b"\n", size)
