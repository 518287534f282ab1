"""Our server's entry in the settings of MCP clients: put in, brought up to date, taken out."""

from __future__ import annotations

import json
import os
import re

from redoma.hook import json_text
from redoma.hook import settings_file as files
from redoma.hook.entry import JsonSettings, TomlSettings, launcher
from redoma.hook.settings_change import SettingsChange
from redoma.model.errors import UsageError
from redoma.model.message import Message
from redoma.model.value import Value

NAME = "redoma"
BEGIN = "# >>> redoma mcp: `redoma mcp uninstall codex` takes this block out >>>"
END = "# <<< redoma mcp <<<"
_BLOCK = re.compile(rf"\n?{re.escape(BEGIN)}.*?{re.escape(END)}\n?", re.DOTALL)


class McpClient(Value):
    """One client: its files, below the home and below a project, and the key of its servers."""

    title: str
    user: str
    project: str = ""
    key: str = "mcpServers"
    # A variable by which the client's own folder is moved, and the file's name in it then.
    variable: str = ""
    # Whether an entry says how its server is spoken to.
    typed: bool = False

    @property
    def is_toml(self) -> bool:
        return self.user.endswith(".toml")


CLIENTS = {
    "claude-code": McpClient(
        title="Claude Code",
        user=".claude.json",
        project=".mcp.json",
        variable="CLAUDE_CONFIG_DIR",
        typed=True,
    ),
    "codex": McpClient(
        title="Codex CLI", user=".codex/config.toml", key="mcp_servers", variable="CODEX_HOME"
    ),
    "gemini": McpClient(
        title="Gemini CLI", user=".gemini/settings.json", project=".gemini/settings.json"
    ),
    "cursor": McpClient(title="Cursor", user=".cursor/mcp.json", project=".cursor/mcp.json"),
    "vscode": McpClient(
        title="VS Code",
        user=".config/Code/User/mcp.json",
        project=".vscode/mcp.json",
        key="servers",
        typed=True,
    ),
}


def place_of(name: str, scope: str) -> files.SettingsPlace:
    """The file that an entry goes to."""
    client = CLIENTS[name]
    if scope == "project":
        if not client.project:
            raise UsageError(
                "{client} has no settings of a project",
                client=client.title,
                hint="redoma mcp install --user",
            )
        here = os.getcwd()
        path = os.path.join(here, client.project)
        return files.SettingsPlace(agent=name, scope=scope, path=path, within=here)
    moved = os.environ.get(client.variable, "") if client.variable else ""
    home = os.environ.get("HOME", "")
    if moved:
        path = os.path.join(os.path.abspath(moved), os.path.basename(client.user))
    elif os.path.isabs(home):
        path = os.path.join(home, client.user)
    else:
        raise UsageError("HOME is not set, so the user's settings cannot be found")
    return files.SettingsPlace(agent=name, scope=scope, path=path)


def entry(client: McpClient, options: list[str]) -> dict[str, object]:
    """How the client starts our server, by absolute path."""
    words = [*launcher(), "mcp", "serve", *options]
    made: dict[str, object] = {"type": "stdio"} if client.typed else {}
    return {**made, "command": words[0], "args": words[1:]}


def install(name: str, scope: str, options: list[str]) -> SettingsChange:
    """The change that puts our server in, or brings it up to date."""
    client = CLIENTS[name]
    kept = files.read_place(place_of(name, scope))
    wanted = entry(client, options)
    text = kept.text or ""
    try:
        before = _servers(client, text)
        if before.get(NAME) == wanted:
            return SettingsChange(kept=kept, after=kept.text)
        after = _toml(client, text, wanted) if client.is_toml else _json(client, text, wanted)
    except UsageError as error:
        shown = json.dumps({client.key: {NAME: wanted}}, indent=2)
        hint = Message("add this by hand:\n{entry}", entry=shown)
        raise UsageError(_said_of(kept, error), hint=hint) from error
    backed = kept.text is not None and NAME not in before
    return SettingsChange(kept=kept, after=after, keeps_backup=backed)


def uninstall(name: str, scope: str) -> SettingsChange:
    """The change that takes our server out, and with it all that was added for it."""
    client = CLIENTS[name]
    kept = files.read_place(place_of(name, scope))
    text = kept.text or ""
    try:
        servers = _servers(client, text)
    except UsageError as error:
        raise UsageError(_said_of(kept, error)) from error
    if NAME not in servers:
        return SettingsChange(kept=kept, after=kept.text)
    if client.is_toml:
        after = _BLOCK.sub("", text, count=1)
        if NAME in _servers(client, after):
            raise UsageError(
                "{file} has our server outside our block; take it out by hand", file=kept.real
            )
    else:
        whole = (client.key,) if len(servers) == 1 else (client.key, NAME)
        after = json_text.drop(text, whole)
    was = files.read_backup(kept)
    if was is not None and _meaning(client, was) == _meaning(client, after):
        return SettingsChange(kept=kept, after=was, exact=True)
    emptied = was is None and after.strip() in ("", "{}")
    return SettingsChange(kept=kept, after=None if emptied else after)


def _said_of(kept: files.Kept, error: UsageError) -> Message:
    return Message("{file} {what}", file=kept.real, what=error)


def _parsed(client: McpClient, text: str) -> dict[str, object]:
    if not text.strip():
        return {}
    return TomlSettings.parse(text) if client.is_toml else JsonSettings.parse(text)


def _servers(client: McpClient, text: str) -> dict[str, object]:
    found = _parsed(client, text).get(client.key, {})
    if not isinstance(found, dict):
        raise UsageError("has `{key}` of a shape that the client does not know", key=client.key)
    return found


def _meaning(client: McpClient, text: str) -> object:
    try:
        return _parsed(client, text)
    except UsageError:
        return None


def _json(client: McpClient, text: str, wanted: dict[str, object]) -> str:
    if not text.strip():
        return json.dumps({client.key: {NAME: wanted}}, indent=2) + "\n"
    return json_text.put(text, (client.key, NAME), wanted)


def _toml(client: McpClient, text: str, wanted: dict[str, object]) -> str:
    """One marked block at the end, so that comments stay; refused where it would not be read."""
    rest = _BLOCK.sub("", text, count=1)
    gap = "" if not rest else "\n" if rest.endswith("\n") else "\n\n"
    lines = [BEGIN, f"[{client.key}.{NAME}]"]
    # JSON's strings and lists of strings are TOML's too, but JSON leaves DEL bare.
    lines += [
        f"{key} = {json.dumps(value)}".replace("\x7f", "\\u007f") for key, value in wanted.items()
    ]
    after = rest + gap + "\n".join([*lines, END, ""])
    try:
        understood = _servers(client, after).get(NAME) == wanted
    except UsageError:
        understood = False
    if not understood:
        raise UsageError(
            "defines `{key}` in a way that a block at its end cannot add to", key=client.key
        )
    return after
