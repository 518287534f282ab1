"""Made-up secrets of every shape: valid in form, random in content, and never anyone's."""

from __future__ import annotations

import base64
import json
from random import Random

UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
LOWER = UPPER.lower()
DIGITS = "0123456789"
HEX = DIGITS + "abcdef"
ALNUM = UPPER + LOWER + DIGITS
WORD = ALNUM + "_"
URLSAFE = ALNUM + "_-"
BASE64 = ALNUM + "+/"


def run(random: Random, alphabet: str, length: int) -> str:
    return "".join(random.choice(alphabet) for _ in range(length))


def uuid(random: Random) -> str:
    return "-".join(run(random, HEX, size) for size in (8, 4, 4, 4, 12))


def jwt(random: Random) -> str:
    def part(fields: dict[str, str]) -> str:
        return base64.urlsafe_b64encode(json.dumps(fields).encode()).decode().rstrip("=")

    head = part({"alg": "HS256", "typ": "JWT"})
    return f"{head}.{part({'sub': run(random, DIGITS, 10)})}.{run(random, URLSAFE, 43)}"


# kind: what it is made of, as literal text and (alphabet, length).
PARTS: dict[str, tuple[str | tuple[str, int], ...]] = {
    "aws-access-key": ("AKIA", (UPPER + "234567", 16)),
    "aws-session-key": ("ASIA", (UPPER + "234567", 16)),
    "aws-session-token": ("IQoJb3JpZ2lu", (BASE64, 300)),
    "aws-bedrock-key": ("ABSK", (BASE64, 109)),
    "google-api-key": ("AIza", (URLSAFE, 35)),
    "google-oauth-token": ("ya29.a0", (URLSAFE, 120)),
    "google-refresh-token": ("1//0", (URLSAFE, 60)),
    "google-client-secret": ("GOCSPX-", (URLSAFE, 28)),
    "azure-client-secret": ((ALNUM, 3), "8Q~", (ALNUM, 34)),
    "azure-devops-token": ((ALNUM, 76), "AZDO", (ALNUM, 4)),
    "alibaba-access-key": ("LTAI", (ALNUM, 20)),
    "tencent-secret-id": ("AKID", (ALNUM, 32)),
    "digitalocean-token": ("dop_v1_", (HEX, 64)),
    "heroku-token": (
        "HRKU-",
        (HEX, 8),
        "-",
        (HEX, 4),
        "-",
        (HEX, 4),
        "-",
        (HEX, 4),
        "-",
        (HEX, 12),
    ),
    "fly-token": ("fo1_", (URLSAFE, 43)),
    "supabase-token": ("sbp_", (HEX, 40)),
    "supabase-secret": ("sb_secret_", (URLSAFE, 31)),
    "planetscale-token": ("pscale_tkn_", (URLSAFE, 43)),
    "databricks-token": ("dapi", (HEX, 32)),
    "netlify-token": ("nfp_", (ALNUM, 36)),
    "cloudflare-key": ("v1.0-", (HEX, 24), "-", (HEX, 146)),
    "github-token": ("ghp_", (ALNUM, 36)),
    "github-app-token": ("ghs_", (ALNUM, 36)),
    "github-fine-grained": ("github_pat_", (ALNUM, 22), "_", (ALNUM, 59)),
    "gitlab-token": ("glpat-", (URLSAFE, 20)),
    "gitlab-runner": ("glrt-", (URLSAFE, 20)),
    "gitlab-registration": ("GR1348941", (URLSAFE, 20)),
    "bitbucket-token": ("ATBB", (ALNUM, 32)),
    "bitbucket-server": ("BBDC-", (BASE64, 44)),
    "atlassian-token": ("ATATT3xFfGF0", (URLSAFE, 180)),
    "npm-token": ("npm_", (ALNUM, 36)),
    "pypi-token": ("pypi-AgEIcHlwaS5vcmc", (URLSAFE, 150)),
    "docker-hub-token": ("dckr_pat_", (URLSAFE, 27)),
    "docker-swarm-token": ("SWMTKN-1-", (LOWER + DIGITS, 50), "-", (LOWER + DIGITS, 25)),
    "rubygems-token": ("rubygems_", (HEX, 48)),
    "nuget-key": ("oy2", (LOWER + DIGITS, 43)),
    "crates-token": ("cio", (ALNUM, 32)),
    "clojars-token": ("CLOJARS_", (HEX, 60)),
    "artifactory-key": ("AKCp", (ALNUM, 69)),
    "artifactory-reference": ("cmVmdGtu", (ALNUM, 56)),
    "anthropic-key": ("sk-ant-api03-", (URLSAFE, 93), "AA"),
    "openrouter-key": ("sk-or-v1-", (HEX, 64)),
    "openai-project-key": ("sk-proj-", (URLSAFE, 74), "T3BlbkFJ", (URLSAFE, 74)),
    "openai-key": ("sk-", (ALNUM, 20), "T3BlbkFJ", (ALNUM, 20)),
    "deepseek-key": ("sk-", (HEX, 32)),
    "elevenlabs-key": ("sk_", (HEX, 48)),
    "huggingface-token": ("hf_", (ALNUM, 34)),
    "groq-key": ("gsk_", (ALNUM, 52)),
    "perplexity-key": ("pplx-", (ALNUM, 48)),
    "replicate-token": ("r8_", (ALNUM, 37)),
    "xai-key": ("xai-", (ALNUM, 80)),
    "together-key": ("tgp_v1_", (URLSAFE, 43)),
    "cerebras-key": ("csk-", (LOWER + DIGITS, 48)),
    "nvidia-key": ("nvapi-", (URLSAFE, 64)),
    "pinecone-key": ("pcsk_", (WORD, 70)),
    "langsmith-key": ("lsv2_pt_", (HEX, 32), "_", (HEX, 10)),
    "tavily-key": ("tvly-", (ALNUM, 32)),
    "stripe-key": ("sk_live_", (ALNUM, 24)),
    "stripe-restricted": ("rk_test_", (ALNUM, 24)),
    "stripe-webhook-secret": ("whsec_", (ALNUM, 32)),
    "slack-bot-token": ("xoxb-", (DIGITS, 12), "-", (DIGITS, 12), "-", (ALNUM, 24)),
    "slack-user-token": (
        "xoxp-",
        (DIGITS, 12),
        "-",
        (DIGITS, 12),
        "-",
        (DIGITS, 12),
        "-",
        (HEX, 32),
    ),
    "slack-app-token": ("xapp-1-A", (UPPER + DIGITS, 10), "-", (DIGITS, 13), "-", (HEX, 64)),
    "twilio-key": ("SK", (HEX, 32)),
    "sendgrid-key": ("SG.", (URLSAFE, 22), ".", (URLSAFE, 43)),
    "brevo-key": ("xkeysib-", (HEX, 64), "-", (ALNUM, 16)),
    "mailgun-key": ("key-", (HEX, 32)),
    "mailchimp-key": ((HEX, 32), "-us12"),
    "resend-key": ("re_", (ALNUM, 8), "_", (ALNUM, 24)),
    "shopify-token": ("shpat_", (HEX, 32)),
    "square-token": ("sq0atp-", (URLSAFE, 22)),
    "facebook-token": ("EAAC", (ALNUM, 160)),
    "grafana-token": ("glsa_", (ALNUM, 32), "_", (HEX, 8)),
    "grafana-cloud": ("glc_", (BASE64, 80)),
    "sentry-token": ("sntryu_", (HEX, 64)),
    "newrelic-key": ("NRAK-", (UPPER + DIGITS, 27)),
    "terraform-token": ((ALNUM, 14), ".atlasv1.", (URLSAFE, 67)),
    "vault-token": ("hvs.", (URLSAFE, 90)),
    "doppler-token": ("dp.pt.", (ALNUM, 43)),
    "age-key": ("AGE-SECRET-KEY-1", (UPPER + DIGITS, 58)),
    "1password-token": ("ops_eyJ", (ALNUM, 260)),
    "pulumi-token": ("pul-", (HEX, 40)),
    "postman-key": ("PMAK-", (HEX, 24), "-", (HEX, 34)),
    "linear-key": ("lin_api_", (ALNUM, 40)),
    "notion-token": ("ntn_", (DIGITS, 11), (ALNUM, 35)),
    "figma-token": ("figd_", (URLSAFE, 43)),
    "dropbox-token": ("sl.", (URLSAFE, 135)),
    "hubspot-token": (
        "pat-na1-",
        (HEX, 8),
        "-",
        (HEX, 4),
        "-",
        (HEX, 4),
        "-",
        (HEX, 4),
        "-",
        (HEX, 12),
    ),
    "tailscale-key": ("tskey-auth-", (ALNUM, 11), "-", (ALNUM, 32)),
    "openshift-token": ("sha256~", (URLSAFE, 43)),
    "buildkite-token": ("bkua_", (HEX, 40)),
    "circleci-token": ("CCIPAT_", (ALNUM, 22), "_", (HEX, 40)),
    "sonar-token": ("squ_", (HEX, 40)),
    "dynatrace-token": ("dt0c01.", (UPPER + DIGITS, 24), ".", (UPPER + DIGITS, 64)),
    "telegram-token": ((DIGITS[1:], 9), ":AA", (URLSAFE, 33)),
}


def token(random: Random, kind: str) -> str:
    """A token of one kind."""
    if kind == "jwt":
        return jwt(random)
    return "".join(part if isinstance(part, str) else run(random, *part) for part in PARTS[kind])


def private_key(random: Random, title: str, lines: int = 12) -> tuple[str, list[str]]:
    """A key in its frame, and the lines of it that nobody may see."""
    body = [run(random, BASE64, 64) for _ in range(lines)] + [run(random, BASE64, 18) + "=="]
    return "\n".join([f"-----BEGIN {title}-----", *body, f"-----END {title}-----"]), body
