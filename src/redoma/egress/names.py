"""Host names as they are compared: one spelling, ASCII, no trailing dot."""

from __future__ import annotations

import re

_LONGEST = 253
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\Z")
# 127.1, 0x7f.1 and 2130706433 are addresses to a C library and names to nobody.
_LIKE_AN_ADDRESS = re.compile(r"(?:\d+|0x[0-9a-f]*)\Z")

# Below these everybody may have a name of their own: what is granted there is granted to anyone.
# Two-letter countries sell names below such words.
_SOLD_BELOW_COUNTRIES = frozenset(
    "ac co com edu firm gen gob gouv gov go gv id ind info ltd me mil ne net nic nom or org plc "
    "sch school web".split()
)
_HOSTING = frozenset(
    """
    amazonaws.com s3.amazonaws.com elasticbeanstalk.com awsapprunner.com cloudfront.net
    appspot.com run.app web.app firebaseapp.com cloudfunctions.net googleusercontent.com
    storage.googleapis.com azurewebsites.net azureedge.net azurefd.net cloudapp.net
    cloudapp.azure.com windows.net core.windows.net blob.core.windows.net azurestaticapps.net
    trafficmanager.net github.io githubpreview.dev gitlab.io bitbucket.io pages.dev workers.dev
    r2.dev trycloudflare.com netlify.app netlify.com vercel.app now.sh herokuapp.com fly.dev
    onrender.com railway.app up.railway.app deno.dev surge.sh glitch.me repl.co replit.app
    replit.dev stackblitz.io webcontainer.io codesandbox.io csb.app ngrok.io ngrok.app ngrok.dev
    ngrok-free.app ngrok-free.dev loca.lt localhost.run serveo.net supabase.co blogspot.com
    wordpress.com weebly.com wixsite.com webflow.io squarespace.com myshopify.com tumblr.com
    neocities.org readthedocs.io hf.space streamlit.app fastly.net fastlylb.net akamaized.net
    akamaiedge.net edgekey.net edgesuite.net b-cdn.net digitaloceanspaces.com
    ondigitalocean.app linodeobjects.com backblazeb2.com wasabisys.com r2.cloudflarestorage.com
    duckdns.org no-ip.org no-ip.com ddns.net dyndns.org nip.io sslip.io xip.io requestbin.com
    oast.fun oast.pro oast.live oast.site oast.online oast.me interact.sh burpcollaborator.net
    """.split()
)


def normal(text: str) -> str:
    """The one spelling of a host name, or nothing where it is not a name."""
    name = text.strip().removesuffix(".").lower()
    if not name.isascii():
        try:
            name = name.encode("idna").decode("ascii").lower()
        except (UnicodeError, ValueError):
            return ""
    if not name or len(name) > _LONGEST:
        return ""
    labels = name.split(".")
    if not all(_LABEL.match(label) for label in labels) or _LIKE_AN_ADDRESS.match(labels[-1]):
        return ""
    return name


def too_broad(parent: str) -> bool:
    """Whether everybody may have a name below this one."""
    labels = parent.split(".")
    if len(labels) < 2 or parent in _HOSTING:
        return True
    country = len(labels[-1]) == 2
    if country and len(labels) == 2 and (len(labels[0]) == 2 or labels[0] in _SOLD_BELOW_COUNTRIES):
        return True
    # Every bucket and every machine there is a customer's own.
    return parent.endswith((".in-addr.arpa", ".ip6.arpa", ".amazonaws.com"))
