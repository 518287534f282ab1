"""An error is noted, and hides neither what stands before it nor what stands behind it."""

from __future__ import annotations

import pytest

from redoma.judge.shell.parser import parse
from redoma.model.script import Node, Script, Sequence, Unread
from tests.unit.judge.shell.samples import ACCEPTED, EXTENDED, REFUSED
from tests.unit.judge.shell.show import shown, unread
from tests.unit.judge.shell.walk import nodes

RECOVERED = {
    "git push -f origin main 'unterminated": (
        "git push -f origin main; <a single quote that never ends>"
    ),
    'rm -rf / "x': "rm -rf /; <a double quote that never ends>",
    "rm -rf /'": "rm -rf /; <a single quote that never ends>",
    'rm "$(a)': 'rm "$(a); <a double quote that never ends>',
    "rm -rf / &&": "rm -rf / && <nothing after &&>",
    "rm -rf / |": "rm -rf /; <nothing after |>",
    "|& git reset --hard": "<unexpected |&>; git reset --hard",
    "&& a": "<unexpected &&>; a",
    "; a": "<unexpected ;>; a",
    ") a": "<unexpected )>; a",
    "a) b": "a; <unexpected )>; b",
    "fi; a": "<unexpected fi>; <unexpected ;>; a",
    "a; done; b": "a; <unexpected done>; <unexpected ;>; b",
    "a ;; b": "a; <unexpected ;;>; b",
    "a\n)\nb": "a; <unexpected )>; b",
    "a\nif b; then c": "a; if b then c fi; <if without fi>",
    "if a; then b; } ; c; fi": "if a then b; <unexpected }>; <unexpected ;>; c fi",
    "{ a; b": "{ a; b }; <{ without }>",
    "(a; b": "( a; b ); <( without )>",
    "while a; b; c": "while a; b; c do  done; <a loop without do>; <nothing after do>;"
    " <a loop without done>",
    "for x in a; b; done; c": "for x in a do b done; <a loop without do>; c",
    "case x in a b) c;; esac; d": (
        "case x in a) b; <unexpected )>; c ;; esac; <a case pattern without )>; d"
    ),
    "f() a": "f() ; <function f without a body>; <something after the end of a command>; a",
    "echo $(a; b": "echo $(a; b); <no ) to end a substitution>",
    "echo $(a; fi; b)": "echo $(a; <unexpected fi>; <unexpected ;>; b)",
    "echo `a; b": "echo $(a; b); <a backtick that never ends>",
    "echo ${x:-$(a)": "echo ${x:-$(a)}; <no } to end a parameter>",
    "echo $((a": "echo $(( a ); <( without )>); <no ) to end a substitution>",
    "a > ; b": "a; <a redirection to nothing>; b",
    "a > | b": "a | b; <a redirection to nothing>",
    "{ a; } b": "{ a }; <something after the end of a command>; b",
    "a (b; c)": "a; <something after the end of a command>; ( b; c )",
    "a=(b; c)": "a=(b); <no ) to end an array>; c; <unexpected )>",
    "[[ a; b ]]": "[[ a ]]; <[[ without ]]>; b ]]",
    "[[ a $(b": "[[ a $(b) ]]; <no ) to end a substitution>;"
    " <a condition that does not hold together>; <[[ without ]]>",
    "coproc; a": "coproc : ; <coproc without a command>; a",
    "! && a": "!  && <no command after ! or time>; a",
}


@pytest.mark.parametrize(("text", "expected"), RECOVERED.items())
def test_what_stands_around_an_error_is_still_read(text: str, expected: str) -> None:
    assert shown(text) == expected


@pytest.mark.parametrize("text", ACCEPTED)
def test_what_bash_accepts_is_read_without_a_gap(text: str) -> None:
    assert unread(text, extglob=False) == []


@pytest.mark.parametrize("text", [*ACCEPTED, *EXTENDED])
def test_what_bash_accepts_with_extended_globs_is_read_without_a_gap(text: str) -> None:
    assert unread(text, extglob=True) == []


@pytest.mark.parametrize("text", REFUSED)
def test_what_bash_refuses_is_noted_as_unread(text: str) -> None:
    assert unread(text) != []


@pytest.mark.parametrize("text", REFUSED)
@pytest.mark.parametrize("frame", ["{0}", "$({0}\n)", '"$({0}\n)"', "`{0}\n`", "f() {{\n{0}\n}}"])
def test_an_unread_stretch_stands_in_its_sequence_and_in_every_script_around(
    text: str, frame: str
) -> None:
    script = parse(frame.format(text.replace("`", "")))
    in_sequences = {
        id(command)
        for node in nodes(script)
        if isinstance(node, Sequence)
        for command in node.commands
        if isinstance(command, Unread)
    }
    assert in_sequences == {id(item) for item in script.unread}
    for node in nodes(script):
        if isinstance(node, Script):
            below = {id(item) for item in nodes(node) if isinstance(item, Unread)}
            assert below == {id(item) for item in node.unread}


@pytest.mark.parametrize("text", REFUSED)
def test_commands_before_an_error_are_kept_and_commands_after_it_too(text: str) -> None:
    if any(quote in text for quote in "'\"`"):
        # An open quote takes in the rest: bash never runs that either.
        read = shown(f"first --one\n{text}\n")
        assert read.startswith("first --one")
        return
    read = shown(f"first --one\n{text}\nlast --two")
    assert read.startswith("first --one")
    assert "last" in read
    assert "--two" in read


def test_walking_finds_every_kind_of_node() -> None:
    assert all(isinstance(node, Node) for node in nodes(parse("a $(b) | { c; }")))
