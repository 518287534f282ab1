"""`%%redoma`: a notebook cell's shell or Python, in a sandbox, with its diff to apply or undo.

`%load_ext redoma.integrations.jupyter` makes the magic known. A cell is shell; with `--python` it
is Python source. What it changes is shown as a diff and held: `%redoma apply` makes it real,
`%redoma undo` takes it back, `%redoma discard` lets it go. `--run` applies at once.
"""

from __future__ import annotations

from html import escape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from redoma import Preview, Sandbox

USAGE = "%%redoma [--python] [--run], or %redoma apply|undo|discard"
_COLOURS = {"+": "#1a7f37", "-": "#cf222e", "@": "#6639ba"}
_LONGEST = 64 << 10


class RedomaMagic:
    """One notebook's sandbox, and the changes that wait in it."""

    def __init__(self, sandbox: Sandbox | None = None) -> None:
        import redoma

        self._sandbox = sandbox or redoma.Sandbox()
        self._held: Preview | None = None

    def __call__(self, line: str, cell: str | None = None) -> CellReport:
        """Runs a cell, or does what the line says about the last one."""
        words = line.split()
        if cell is None:
            return self._settle(words)
        unknown = set(words) - {"--python", "--run"}
        if unknown:
            return CellReport(f"unknown: {', '.join(sorted(unknown))}", usage=True)
        command = ["python3", "-c", cell] if "--python" in words else cell
        from redoma.model.errors import RedomaError

        try:
            if "--run" in words:
                return CellReport.of(self._sandbox.run(command))
            self._let_go()
            self._held = self._sandbox.preview(command)
            diff = self._held.diff() if self._held.changes.items else ""
            return CellReport.of(self._held.result, diff)
        except RedomaError as error:
            return CellReport(f"{error}\n{error.hint}")

    def _settle(self, words: list[str]) -> CellReport:
        from redoma.model.errors import RedomaError

        try:
            match words:
                case ["apply"] if self._held is not None:
                    done = self._held.apply()
                    self._held = None
                    return CellReport(f"applied {done.id}: {len(done.changes)} changes")
                case ["discard"] if self._held is not None:
                    self._let_go()
                    return CellReport("let go; the workspace is as it was")
                case ["undo"]:
                    undone = self._sandbox.undo()
                    return CellReport(f"undid {undone.id}: {len(undone.paths)} paths")
                case ["apply" | "discard"]:
                    return CellReport("nothing waits", usage=True)
        except RedomaError as error:
            return CellReport(f"{error}\n{error.hint}")
        return CellReport("what to do?", usage=True)

    def _let_go(self) -> None:
        if self._held is not None:
            self._held.discard()
            self._held = None


class CellReport:
    """What a cell came to, as a notebook and as a terminal show it; nothing in it acts there."""

    def __init__(self, text: str, diff: str = "", *, usage: bool = False) -> None:
        self._text = f"{text}\nusage: {USAGE}" if usage else text
        self._diff = diff[:_LONGEST]

    @classmethod
    def of(cls, result: Any, diff: str = "") -> CellReport:
        """A result and what it would change."""
        from redoma.integrations.tools import result_text

        hint = "\n[held: %redoma apply, or %redoma discard]" if diff else ""
        return cls(result_text(result) + hint, diff)

    def __repr__(self) -> str:
        from redoma.base.text import harmless

        lines = f"{self._text}\n{self._diff}".strip("\n").split("\n")
        return "\n".join(map(harmless, lines))

    def _repr_html_(self) -> str:
        """The text, and the diff with its lines coloured; everything is escaped."""
        rows = "".join(
            f'<span style="color:{_COLOURS.get(line[:1], "inherit")}">{escape(line)}</span>\n'
            for line in self._diff.splitlines()
        )
        diff = f"<pre>{rows}</pre>" if rows else ""
        return f"<pre>{escape(self._text)}</pre>{diff}"


def load_ipython_extension(shell: Any) -> None:
    """Makes `%%redoma` and `%redoma` known to a notebook."""
    shell.register_magic_function(RedomaMagic(), magic_kind="line_cell", magic_name="redoma")
