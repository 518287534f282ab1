"""The tree of a YAML file: bounded before it is built, each piece with its place in the file."""

from __future__ import annotations

from redoma.judge.text.spelling import did_you_mean, nearest
from redoma.model.errors import PolicySyntax, UnknownKey

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    import yaml

LARGEST = 256 * 1024
DEEPEST = 12
MOST_NODES = 20_000


def tree(text: str | bytes, path: str) -> Piece:
    """The tree of a file's text, or an error that says what to change and where."""
    import yaml

    text = _decoded(text, path)
    try:
        _bound(text, path)
        node: yaml.Node | None = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        place = f"{path}:{mark.line + 1}:{mark.column + 1}" if mark else path
        what = str(getattr(error, "problem", None) or getattr(error, "reason", None) or error)
        hint = "indent with spaces" if "\\t" in what else ""
        raise PolicySyntax(f"this is not YAML: {what}", location=place, hint=hint) from None
    if node is None:
        raise _empty(path)
    return Piece(path, "", node)


def _decoded(text: str | bytes, path: str) -> str:
    if len(text) > LARGEST:
        raise PolicySyntax(f"a policy has at most {LARGEST} bytes", location=path)
    if isinstance(text, bytes):
        raw = text
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            line = raw.count(b"\n", 0, error.start) + 1
            column = error.start - (raw.rfind(b"\n", 0, error.start) + 1) + 1
            raise PolicySyntax("this is not UTF-8", location=f"{path}:{line}:{column}") from None
    text = text.removeprefix("\ufeff")
    if not text.strip():
        raise _empty(path)
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise PolicySyntax("a NUL byte has no place here", location=f"{path}:{line}:1")
    return text


def _empty(path: str) -> PolicySyntax:
    hint = "redoma policy init writes one that says all there is; an empty policy is `{}`"
    return PolicySyntax("the file is empty, as if half written", location=path, hint=hint)


def _bound(text: str, path: str) -> None:
    """Refuses what YAML can do and a policy never needs.

    Attack: nested aliases that unfold into gigabytes; tags that would make objects; a second
    document that a reader of the first never sees.
    """
    import yaml

    depth = nodes = documents = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        what = ""
        if isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            what = "one file holds one policy" if documents > 1 else ""
        elif isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            what = "anchors and aliases are not used in a policy"
        elif isinstance(event, yaml.NodeEvent):
            nodes += 1
            if nodes > MOST_NODES:
                what = "this is too much for a policy"
            elif getattr(event, "tag", None) is not None:
                what = "tags are not used in a policy"
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            what = what or ("this is nested too deeply" if depth > DEEPEST else "")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if what:
            mark = event.start_mark
            assert mark is not None  # what was read from a text stands somewhere in it
            raise PolicySyntax(what, location=f"{path}:{mark.line + 1}:{mark.column + 1}")


class Piece:
    """A piece of a file: the key that it belongs to, its YAML node, and where that stands."""

    __slots__ = ("name", "node", "path")

    def __init__(self, path: str, name: str, node: yaml.Node) -> None:
        self.path = path
        self.name = name
        self.node = node

    def called(self, name: str) -> Piece:
        """The same piece under another name."""
        return Piece(self.path, name, self.node)

    def place(self, offset: int = 0) -> str:
        """`file:line:column`, or of a character in it where it stands on one line."""
        mark = self.node.start_mark
        column = mark.column + 1
        if offset and self.node.end_mark.line == mark.line:
            quoted = getattr(self.node, "style", None) in ("'", '"')
            column += offset + quoted
        return f"{self.path}:{mark.line + 1}:{column}"

    def wrong(self, what: str, hint: str = "", offset: int = 0) -> PolicySyntax:
        """The error of a value that cannot stand here."""
        return PolicySyntax(what, location=self.place(offset), hint=hint)

    def scalar(self) -> str:
        """The text of a single value."""
        import yaml

        if not isinstance(self.node, yaml.ScalarNode):
            raise self.wrong(f"{self.name} is a single value")
        if self.node.tag == "tag:yaml.org,2002:null":
            tilde = self.node.value == "~"
            hint = 'a home directory alone is written "~", in quotes' if tilde else ""
            raise self.wrong(f"{self.name} has no value", hint)
        return str(self.node.value)

    def plain(self) -> str:
        """A single value that is no text: a number, true or false; in quotes it would be one."""
        found = self.scalar()
        if getattr(self.node, "style", None) is not None:
            raise self.wrong(f"{self.name}: {found!r} in quotes is a text", found[:40])
        return found

    def one_of(self, known: tuple[str, ...], what: str = "") -> str:
        """A single value that is one of these; else an error that names the nearest."""
        found = self.scalar()
        if found not in known:
            raise self.wrong(what or f"{self.name} cannot be {found!r}", hint_at(found, known))
        return found

    def items(self) -> list[Piece]:
        """The entries of a list."""
        import yaml

        if not isinstance(self.node, yaml.SequenceNode):
            raise self.wrong(f"{self.name} is a list", f"{self.name.rpartition('.')[2]}:\n  - …")
        return [Piece(self.path, self.name, node) for node in self.node.value]

    @property
    def is_mapping(self) -> bool:
        """Whether it is made of keys with values."""
        import yaml

        return isinstance(self.node, yaml.MappingNode)

    def pairs(self) -> dict[str, tuple[Piece, Piece]]:
        """The keys of a mapping, as written, with their values; a key given twice is an error."""
        if not self.is_mapping:
            whole = "a policy is made of keys with values"
            raise self.wrong(f"{self.name} is made of keys with values" if self.name else whole)
        found: dict[str, tuple[Piece, Piece]] = {}
        for node, value in self.node.value:
            key = Piece(self.path, f"a key of {self.name}", node)
            text = key.scalar()
            if text in found:
                # Which of two values counts is a guess, and a guess can be the milder one.
                first = found[text][0].place()
                raise key.wrong(f"the key {text} is given twice, also at {first}")
            found[text] = (key, Piece(self.path, text, value))
        return found

    def fields(
        self, known: tuple[str, ...], unknown: Callable[[str], str], hint: str = ""
    ) -> dict[str, Piece]:
        """The values of a mapping whose keys are all among these; else the error `unknown`."""
        found = {}
        for text, (key, value) in self.pairs().items():
            if text not in known:
                raise UnknownKey(
                    unknown(text), location=key.place(), hint=hint or hint_at(text, known)
                )
            found[text] = value
        return found


def hint_at(word: str, known: tuple[str, ...]) -> str:
    """A hint at what was meant: the likest of the known words, or all of them."""
    near = nearest(word, known)
    near = near or next((each for each in known if word and each.startswith(word)), "")
    return did_you_mean(near, "one of: " + ", ".join(known))
