"""Pieces of a YAML tree with their place in the file: scalars, lists and mappings."""

from __future__ import annotations

from redoma.model.errors import PolicySyntax

TYPE_CHECKING = False
if TYPE_CHECKING:
    import yaml


def location(path: str, node: yaml.Node, offset: int = 0) -> str:
    """`file:line:column` of a node, or of a character in it where it stands on one line."""
    mark = node.start_mark
    column = mark.column + 1
    if offset and node.end_mark.line == mark.line:
        quoted = getattr(node, "style", None) in ("'", '"')
        column += offset + quoted
    return f"{path}:{mark.line + 1}:{column}"


def scalar(path: str, name: str, node: yaml.Node) -> str:
    """The text of a single value."""
    import yaml

    if not isinstance(node, yaml.ScalarNode):
        raise PolicySyntax(f"{name} is a single value", location=location(path, node))
    if node.tag == "tag:yaml.org,2002:null":
        hint = 'a home directory alone is written "~", in quotes' if node.value == "~" else ""
        raise PolicySyntax(f"{name} has no value", location=location(path, node), hint=hint)
    return str(node.value)


def plain(path: str, name: str, node: yaml.Node) -> str:
    """A single value that is no text: a number, true or false; in quotes it would be one."""
    found = scalar(path, name, node)
    if getattr(node, "style", None) is not None:
        raise PolicySyntax(
            f"{name}: {found!r} in quotes is a text", location=location(path, node), hint=found[:40]
        )
    return found


def items(path: str, name: str, node: yaml.Node) -> list[yaml.Node]:
    """The entries of a list."""
    import yaml

    if not isinstance(node, yaml.SequenceNode):
        hint = f"{name.rpartition('.')[2]}:\n  - …"
        raise PolicySyntax(f"{name} is a list", location=location(path, node), hint=hint)
    return list(node.value)


def pairs(path: str, node: yaml.Node, name: str) -> list[tuple[str, yaml.Node, yaml.Node]]:
    """The keys of a mapping with their values; a key that comes twice is an error."""
    import yaml

    if not isinstance(node, yaml.MappingNode):
        told = (
            f"{name} is made of keys with values"
            if name
            else "a policy is made of keys with values"
        )
        raise PolicySyntax(told, location=location(path, node))
    found: dict[str, tuple[str, yaml.Node, yaml.Node]] = {}
    for key, value in node.value:
        text = scalar(path, f"a key of {name}", key)
        if text in found:
            # Which of two values counts is a guess, and a guess can be the milder one.
            first = location(path, found[text][1])
            raise PolicySyntax(
                f"the key {text} is given twice, also at {first}", location=location(path, key)
            )
        found[text] = (text, key, value)
    return list(found.values())
