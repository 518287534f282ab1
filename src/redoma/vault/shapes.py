"""Tokens that are known by their looks: who issues them, what must stand in them, their shape.

A row is `kind, needles, pattern`. A pattern is tried only on text that holds one of its needles,
and is compiled when that happens first. Group 1 is the secret; without a group it is the whole
match.

Every pattern takes linear time, whatever it is given: what follows a prefix is one run of one set
of characters, or the run is entered only where it begins. None can match across the end of a line.
A run has no upper end: what is longer than expected is a secret as well.
"""

from __future__ import annotations

import re

from redoma.vault.spans import Span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

Row = tuple[str, tuple[bytes, ...], bytes]

SHORTEST = 16
# What can stand in a token; all else ends a word.
_TOKEN_CHARACTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.~+/="
_WORDS = bytes(char if char in _TOKEN_CHARACTERS else 0x20 for char in range(256))

# A short prefix counts only where a word begins. Attack: an escape (`\n` in JSON, `%3D` in an URL,
# a colour) ends in a letter, so that the token after it would pass for the inside of a word.
_AFTER_ESCAPE = (
    rb"(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=[\[;][0-9]m)|(?<=[\[;][0-9]{2}m)|(?<=\\u00[0-9a-f]{2})"
)


def _at_begin(pattern: bytes, inside: bytes = rb"A-Za-z0-9") -> bytes:
    """The pattern where a word begins: not after a character that stands inside of words."""
    return rb"(?:(?<![" + inside + rb"])|" + _AFTER_ESCAPE + rb")" + pattern


def _plain(kind: str, prefix: bytes, run: bytes) -> Row:
    """A prefix that nothing else has, and a run."""
    return kind, (prefix,), prefix.replace(b"-", rb"\-").replace(b".", rb"\.") + run


ROWS: tuple[Row, ...] = (
    # Clouds
    (
        "aws-access-key",
        (b"AKIA", b"ASIA", b"ABIA", b"ACCA"),
        _at_begin(rb"A(?:KIA|SIA|BIA|CCA)[A-Z0-9]{16}(?![A-Za-z0-9])"),
    ),
    (
        "aws-session-token",
        (b"IQoJb3JpZ2lu", b"FwoGZXIvYXdz"),
        rb"(?:IQoJb3JpZ2lu|FwoGZXIvYXdz)[A-Za-z0-9+/=%]{20,}+",
    ),
    _plain("aws-bedrock-key", b"ABSK", rb"[A-Za-z0-9+/]{60,}+=*+"),
    _plain("aws-bedrock-key", b"bedrock-api-key-", rb"[A-Za-z0-9+/=]{20,}+"),
    ("google-api-key", (b"AIza",), _at_begin(rb"AIza[\w-]{35,}+")),
    ("google-api-key", (b"AQ.Ab",), _at_begin(rb"AQ\.Ab[\w-]{30,}+")),
    ("google-oauth-token", (b"ya29.",), _at_begin(rb"ya29\.[\w.-]{20,}+")),
    ("google-oauth-token", (b"1//0",), _at_begin(rb"1//0[\w-]{30,}+")),
    _plain("google-client-secret", b"GOCSPX-", rb"[\w-]{20,}+"),
    (
        "azure-client-secret",
        (b"Q~",),
        _at_begin(rb"[\w.~]{3}[0-9]Q~[\w.~-]{31,}+", rb"\w.~-"),
    ),
    (
        "azure-devops-token",
        (b"AZDO",),
        _at_begin(rb"[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}(?![A-Za-z0-9])"),
    ),
    ("alibaba-access-key", (b"LTAI",), _at_begin(rb"LTAI[A-Za-z0-9]{12,}+")),
    ("tencent-secret-id", (b"AKID",), _at_begin(rb"AKID[A-Za-z0-9]{32}(?![A-Za-z0-9])")),
    ("digitalocean-token", (b"_v1_",), rb"do[opr]_v1_[0-9a-f]{32,}+"),
    _plain("heroku-token", b"HRKU-", rb"[\w-]{30,}+"),
    ("fly-token", (b"fo1_", b"fm1", b"fm2_"), rb"f(?:o1|m1[ar]|m2)_[\w+/=-]{40,}+"),
    ("supabase-token", (b"sbp_",), _at_begin(rb"sbp_[0-9a-f]{40,}+")),
    _plain("supabase-token", b"sb_secret_", rb"[\w-]{20,}+"),
    ("planetscale-token", (b"pscale_",), rb"pscale_(?:tkn|oauth|pw)_[\w.=-]{32,}+"),
    ("databricks-token", (b"dapi",), _at_begin(rb"dapi[0-9a-f]{32}(?:-[0-9])?")),
    ("netlify-token", (b"nfp_",), _at_begin(rb"nfp_[A-Za-z0-9]{30,}+")),
    ("cloudflare-key", (b"v1.0-",), rb"v1\.0-[0-9a-f]{24}-[0-9a-f]{100,}+"),
    # Places that keep code and packages
    ("github-token", (b"gh",), rb"gh[pousr]_[A-Za-z0-9_]{36,}+"),
    _plain("github-token", b"github_pat_", rb"\w{22,}+"),
    (
        "gitlab-token",
        (b"gl",),
        _at_begin(rb"gl(?:pat|dt|ft|soat|rt|rtr|cbt|ptt|imt|agent|oas|ffct|wt)-[\w.-]{20,}+"),
    ),
    _plain("gitlab-token", b"GR1348941", rb"[\w-]{20,}+"),
    ("bitbucket-token", (b"ATBB",), _at_begin(rb"ATBB[A-Za-z0-9]{24,}+")),
    _plain("bitbucket-token", b"BBDC-", rb"[A-Za-z0-9+/]{32,}+"),
    ("atlassian-token", (b"ATATT3", b"ATCTT3"), rb"AT[AC]TT3[\w=-]{50,}+"),
    ("npm-token", (b"npm_",), _at_begin(rb"npm_[A-Za-z0-9]{36,}+")),
    _plain("pypi-token", b"pypi-Ag", rb"[\w-]{50,}+"),
    ("docker-hub-token", (b"dckr_",), rb"dckr_[po]at_[\w-]{20,}+"),
    _plain("docker-swarm-token", b"SWMTKN-", rb"[\w-]{40,}+"),
    _plain("rubygems-token", b"rubygems_", rb"[0-9a-f]{40,}+"),
    (
        "crates-token",
        (b"cio",),
        _at_begin(rb"cio(?=[a-zA-Z]{0,30}[0-9])[A-Za-z0-9]{32}(?!\w)", rb"\w/+.-"),
    ),
    ("nuget-key", (b"oy2",), _at_begin(rb"oy2[a-z0-9]{43}(?![A-Za-z0-9])")),
    _plain("clojars-token", b"CLOJARS_", rb"[0-9a-f]{40,}+"),
    ("artifactory-token", (b"AKCp",), _at_begin(rb"AKCp[A-Za-z0-9]{60,}+")),
    ("artifactory-token", (b"cmVmdGtu",), _at_begin(rb"cmVmdGtu[A-Za-z0-9]{50,}+")),
    # Models
    ("anthropic-key", (b"sk-ant-",), rb"sk-ant-[\w-]{20,}+"),
    ("openrouter-key", (b"sk-or-",), rb"sk-or-(?:v1-)?[\w-]{32,}+"),
    (
        "openai-key",
        (b"sk-",),
        _at_begin(rb"sk-(?:proj|svcacct|admin|None|live)-[\w-]{20,}+"),
    ),
    ("openai-key", (b"T3BlbkFJ",), _at_begin(rb"sk-[\w-]{16,}+")),
    (
        "model-provider-key",
        (b"sk-", b"sk_"),
        _at_begin(rb"sk[-_](?=[A-Za-z]{0,31}[0-9])[A-Za-z0-9]{32,}+"),
    ),
    ("huggingface-token", (b"hf_",), _at_begin(rb"hf_[A-Za-z0-9]{30,}+")),
    _plain("huggingface-token", b"api_org_", rb"[A-Za-z0-9]{30,}+"),
    ("groq-key", (b"gsk_",), _at_begin(rb"gsk_[A-Za-z0-9]{40,}+")),
    _plain("perplexity-key", b"pplx-", rb"[A-Za-z0-9]{40,}+"),
    ("replicate-token", (b"r8_",), _at_begin(rb"r8_[A-Za-z0-9]{37,}+")),
    ("xai-key", (b"xai-",), _at_begin(rb"xai-[A-Za-z0-9]{60,}+")),
    _plain("together-key", b"tgp_v1_", rb"[\w-]{40,}+"),
    ("cerebras-key", (b"csk-",), _at_begin(rb"csk-[a-z0-9]{40,}+")),
    _plain("nvidia-key", b"nvapi-", rb"[\w-]{50,}+"),
    _plain("pinecone-key", b"pcsk_", rb"\w{40,}+"),
    ("langsmith-key", (b"lsv2_",), rb"lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}"),
    _plain("tavily-key", b"tvly-", rb"[\w-]{20,}+"),
    # Money and messages
    (
        "stripe-key",
        (b"k_live_", b"k_test_", b"k_prod_"),
        _at_begin(rb"[sr]k_(?:live|test|prod)_\w{16,}+"),
    ),
    ("stripe-webhook-secret", (b"whsec_",), _at_begin(rb"whsec_[A-Za-z0-9+/=]{24,}+")),
    (
        "slack-token",
        (b"xox", b"xapp-"),
        rb"(?:xox[abceoprs]-|xoxe\.xox[bp]-|xapp-)(?=[\w-]{0,60}[0-9])[\w-]{10,}+",
    ),
    ("twilio-key", (b"SK",), _at_begin(rb"SK[0-9a-f]{32}(?![\w/+])", rb"\w/+-")),
    ("sendgrid-key", (b"SG.",), _at_begin(rb"SG\.[\w-]{16,64}\.[\w-]{16,}+")),
    _plain("brevo-key", b"xkeysib-", rb"[\w-]{60,}+"),
    ("mailgun-key", (b"key-",), _at_begin(rb"key-[0-9a-f]{32}(?![\w-])")),
    ("mailchimp-key", (b"-us",), _at_begin(rb"[0-9a-f]{32}-us[0-9]{1,2}(?!\w)")),
    ("resend-key", (b"re_",), _at_begin(rb"re_[A-Za-z0-9]{8}_[A-Za-z0-9]{24}(?!\w)")),
    ("shopify-token", (b"shp",), rb"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32,}+"),
    ("square-token", (b"sq0",), rb"sq0(?:atp|csp|idp)-[\w-]{22,}+"),
    ("facebook-token", (b"EAAC", b"EAAM"), _at_begin(rb"EAA[CM][A-Za-z0-9]{100,}+", rb"\w/+")),
    ("plaid-token", (b"access-",), rb"access-(?:sandbox|development|production)-[0-9a-f-]{36}"),
    # Those who build, watch and write
    ("grafana-token", (b"glc_",), _at_begin(rb"glc_[A-Za-z0-9+/=]{32,}+")),
    ("grafana-token", (b"glsa_",), _at_begin(rb"glsa_[A-Za-z0-9]{32}_[0-9a-f]{8}")),
    ("sentry-token", (b"sntry",), rb"sntry[us]_[\w+/=-]{40,}+"),
    ("newrelic-key", (b"NRAK-", b"NRII-", b"NRJS-"), rb"NR(?:AK|II|JS)-[\w-]{19,}+"),
    ("terraform-token", (b".atlasv1.",), _at_begin(rb"[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{40,}+")),
    ("vault-token", (b"hvs.", b"hvb.", b"hvr."), _at_begin(rb"hv[sbr]\.[\w-]{20,}+")),
    ("doppler-token", (b"dp.",), _at_begin(rb"dp\.(?:pt|st|ct|sa|scim|audit)\.[\w.-]{40,}+")),
    _plain("age-key", b"AGE-SECRET-KEY-1", rb"[A-Z0-9]{40,}+"),
    ("1password-token", (b"ops_eyJ",), rb"ops_eyJ[A-Za-z0-9+/=_-]{60,}+"),
    ("pulumi-token", (b"pul-",), _at_begin(rb"pul-[0-9a-f]{40}(?!\w)")),
    ("postman-key", (b"PMAK-",), rb"PMAK-[0-9a-f]{24}-[0-9a-f]{34}"),
    ("linear-key", (b"lin_",), _at_begin(rb"lin_(?:api|oauth)_[A-Za-z0-9]{32,}+")),
    ("notion-token", (b"ntn_",), _at_begin(rb"ntn_[A-Za-z0-9]{40,}+")),
    ("notion-token", (b"secret_",), _at_begin(rb"secret_[A-Za-z0-9]{43}(?!\w)")),
    ("figma-token", (b"figd_",), _at_begin(rb"figd_[\w-]{40,}+")),
    ("dropbox-token", (b"sl.",), _at_begin(rb"sl\.[\w-]{100,}+")),
    ("hubspot-token", (b"pat-",), rb"pat-[a-z]{2}[0-9]-[0-9a-f]{8}-[0-9a-f-]{27}"),
    ("tailscale-key", (b"tskey-",), rb"tskey-(?:auth|api|client|scim|webhook)-[\w-]{16,}+"),
    ("openshift-token", (b"sha256~",), rb"sha256~[\w-]{43}(?![\w-])"),
    ("buildkite-token", (b"bkua_",), _at_begin(rb"bkua_[0-9a-f]{40}(?!\w)")),
    ("circleci-token", (b"CCIPAT_",), rb"CCIPAT_\w{40,}+"),
    ("sonar-token", (b"squ_", b"sqp_", b"sqa_"), _at_begin(rb"sq[upa]_[0-9a-f]{40}(?!\w)")),
    ("dynatrace-token", (b"dt0c01.",), rb"dt0c01\.[A-Z0-9]{24}\.[A-Z0-9]{40,}+"),
    ("telegram-token", (b"AA",), _at_begin(rb"[0-9]{8,10}:AA[\w-]{33}(?![\w-])", rb"\w:")),
    # Of no single issuer
    (
        "jwt",
        (b"eyJ",),
        _at_begin(rb"eyJ(?:[\w-]{2000,}+|[\w-]{10,}+\.[\w-]{10,}+)(?:\.[\w-]*+){0,3}", rb"\w.-"),
    ),
)

# A pattern begins with its needle, but for these, which stand further in.
_INSIDE = frozenset(
    (b"Q~", b"AZDO", b"_v1_", b"T3BlbkFJ", b"k_live_", b"k_test_", b"k_prod_", b"-us", b".atlasv1.")
) | {b"AA"}
_compiled: dict[bytes, re.Pattern[bytes]] = {}


def spans(block: bytes) -> Iterator[Span]:
    """Where the block holds a token of a known shape."""
    # Few words are as long as a token: only those are searched for needles.
    words = block.translate(_WORDS).split()
    long = b" ".join([word for word in words if len(word) >= SHORTEST])
    if not long:
        return
    for kind, needles, pattern in ROWS:
        for needle in needles:
            if needle in long:
                if needle in _INSIDE:
                    yield from in_lines(kind, needle, pattern, block, block)
                else:
                    yield from _at_needles(kind, needle, pattern, block)


def in_lines(
    kind: str, needle: bytes, pattern: bytes, block: bytes, haystack: bytes
) -> Iterator[Span]:
    """Every match in those lines that hold the needle, as `haystack` shows them."""
    ready = _ready(pattern)
    at = haystack.find(needle)
    while at >= 0:
        start = haystack.rfind(b"\n", 0, at) + 1
        end = haystack.find(b"\n", at)
        end = len(haystack) if end < 0 else end
        for match in ready.finditer(block, start, end):
            yield _span(match, kind)
        at = haystack.find(needle, end)


def _at_needles(kind: str, needle: bytes, pattern: bytes, block: bytes) -> Iterator[Span]:
    """Every match that begins with the needle: nothing else of the text is read."""
    match_at = _ready(pattern).match
    at = block.find(needle)
    while at >= 0:
        match = match_at(block, at)
        if match:
            yield _span(match, kind)
        at = block.find(needle, match.end() if match else at + 1)


def _ready(pattern: bytes) -> re.Pattern[bytes]:
    """Compiled at the first use, and kept."""
    ready = _compiled.get(pattern)
    if ready is None:
        ready = _compiled[pattern] = re.compile(pattern)
    return ready


def _span(match: re.Match[bytes], kind: str) -> Span:
    start, end = match.span(1 if match.re.groups else 0)
    return Span(match.start(), match.end(), start, end, kind)
