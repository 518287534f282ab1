"""What begins with `$` or a backtick is read down to the last command inside it."""

from __future__ import annotations

import pytest

from tests.unit.judge.shell.show import shown, unread

PARAMETERS = {
    "$x": "${x}",
    "$x_1.y": "${x_1}.y",
    "$10": "${1}0",
    "${10}": "${10}",
    '"$x y"': '"${x}« y»',
    "$@ $* $# $? $$ $! $-": "${@} ${*} ${#} ${?} ${$} ${!} ${-}",
    "${x}": "${x}",
    "${#}": "${#}",
    "${##}": "${##}",
    "${#x}": "${#x}",
    "${#x[@]}": "${#x[@]}",
    "${#:-y}": "${#:-y}",
    "${#-y}": "${#-y}",
    "${!x}": "${!x}",
    "${!x@}": "${!x@}",
    "${!x*}": "${!x*}",
    "${!x[@]}": "${!x[@]}",
    "${!}": "${!}",
    "${!#}": "${!#}",
    "${x:-a b}": "${x:-a b}",
    "${x-'a b'}": "${x-«a b»}",
    "${x:=$y}": "${x:=${y}}",
    "${x:?}": "${x:?}",
    "${x:+`y`}": "${x:+$(y)}",
    "${x#*/}": "${x#*/}",
    "${x%%.*}": "${x%%.*}",
    "${x/a/b}": "${x/a/b}",
    "${x//a/$(b)}": "${x//a/$(b)}",
    "${x/#a/b}": "${x/#a/b}",
    "${x^^}": "${x^^}",
    "${x,}": "${x,}",
    "${x:1:2}": "${x:1:2}",
    "${x: -1}": "${x: -1}",
    "${x:$(y)}": "${x:$(y)}",
    "${x@P}": "${x@P}",
    "${x[1]}": "${x[1]}",
    "${x[$(y)]:-z}": "${x[$(y)]:-z}",
    "${x[${y[1]}]}": "${x[${y[1]}]}",
    "${x['k l']}": "${x[k l]}",
    "${x:-${y:-$(z)}}": "${x:-${y:-$(z)}}",
    "${x:-}}": "${x:-}}",
    "${x:-{a}}": "${x:-{a}}",
    "${x:-\\}}": "${x:-«}»}",
    "${x:-<(y)}": "${x:-<(y)}",
    "${x:-'}'}": "${x:-«}»}",
    '${x:-"}"}': "${x:-«}»}",
    '"${x:-a b}"': '"${x:-«a b»}',
    '"${x:-"a $y"}"': '"${x:-«a »"${y}}',
    "\"${x#'a'}\"": '"${x#«a»}',
    "\"${x:-'a'}\"": "\"${x:-«'a'»}",
    '"${x:-\\}}"': '"${x:-«}»}',
    "${{ a.b }}": "${{ a.b }}",
    "${x y}": "${ y}",
    "${x[1}]": "${[1]}]",
    "${}": "${}",
    "${ x; }": "$(x)",
    "${|x; }": "$(x)",
}
COMMANDS = {
    "$(a)": "$(a)",
    '"$(a "b c")"': '"$(a «b c»)',
    "$(a; b | c)": "$(a; b | c)",
    "$(a $(b $(c)))": "$(a $(b $(c)))",
    "$()": "$()",
    "$(\na\n)": "$(a)",
    "$(<a)": "$(<a)",
    "$(case x in y) z;; esac)": "$(case x in y) z ;; esac)",
    "$(a ')' \")\" \\))": "$(a «)» «)» «)»)",
    "$(cat <<E\n)\nE\n)": "$(cat <<E«)\n»)",
    "$(cat <<E\nx\nE)": "$(cat <<E«x\n»)",
    "$( (a) )": "$(( a ))",
    "$((a) | b)": "$(( a ) | b)",
    "`a`": "$(a)",
    '"`a \\"b\\"`"': '"$(a «b»)',
    "`a \\`b\\``": "$(a $(b))",
    "`a \\`b \\\\\\`c\\\\\\`\\``": "$(a $(b $(c)))",
    "`a \\$b \\\\c '\\\\'`": "$(a ${b} «c» «\\»)",
    "<(a | b)": "<(a | b)",
    ">(a)": ">(a)",
    "x<(a)y": "x<(a)y",
}
ARITHMETIC = {
    "$((1 + 2))": "$((1 + 2))",
    "$(( (1) + ((2)) ))": "$(( (1) + ((2)) ))",
    '"$((x))"': '"$((x))',
    "$(($(a) + `b` + $c + ${d:-$(e)}))": '$(("$(a) + "$(b) + "${c} + "${d:-"$(e)}))',
    "$((a[$(b)]))": '$((a["$(b)]))',
    "$[1 + $[2]]": '$((1 + "$((2))))',
    '$(("1" + 1))': "$((1 + 1))",
    "$((16#ff))": "$((16#ff))",
}
# bash expands here, though it looks quoted.
LIVE = {
    "\"${x:-'$(id)'}\"": "\"${x:-«'»\"$(id)«'»}",
    r'''"${x:-$'\x24(id)'}"''': '"${x:-"$(id)}',
    "$(( '$(id)' ))": "$(( '\"$(id)' ))",
    r"$(( $'\x24(id)' ))": '$(( "$(id) ))',
    "${x['$(id)']}": "${x['\"$(id)']}",
    "${x:'$(id)'}": "${x:«'»\"$(id)«'»}",
    "${x:$'\\x24(id)'}": '${x:"$(id)}',
}
# bash does not, though it looks like the above.
DEAD = {
    "${x:-'$(id)'}": "${x:-«$(id)»}",
    r"${x:-$'\x24(id)'}": "${x:-«$(id)»}",
    "\"${x#'$(id)'}\"": '"${x#«$(id)»}',
    "\"${x//a/'$(id)'}\"": '"${x//a/«$(id)»}',
    r'"\$(id)"': "«$(id)»",
    "'$(id)'": "«$(id)»",
}


@pytest.mark.parametrize(
    ("written", "expected"),
    [*PARAMETERS.items(), *COMMANDS.items(), *ARITHMETIC.items(), *LIVE.items()],
)
def test_an_expansion_is_read_with_all_that_stands_in_it(written: str, expected: str) -> None:
    assert shown(f"echo {written}") == f"echo {expected}"


@pytest.mark.parametrize(("written", "expected"), DEAD.items())
def test_what_bash_takes_as_text_is_text(written: str, expected: str) -> None:
    assert shown(f"echo {written}") == f"echo {expected}"


@pytest.mark.parametrize(
    "command",
    [
        "{0}",
        '"{0}"',
        "x={0}",
        "x=({0})",
        "x[{0}]=1",
        "x=([{0}]=1)",
        "declare x=({0})",
        "echo >{0}",
        "echo <<<{0}",
        "cat <<E\n{0}\nE",
        "cat <<-E\n\t{0}\nE",
        "case {0} in a) ;; esac",
        "case a in {0}) ;; esac",
        "for a in {0}; do b; done",
        "for (({0};;)); do a; done",
        "(({0}))",
        "[[ {0} == a ]]",
        "[[ a =~ x({0}) ]]",
        "[[ a == @({0}) ]]",
        "echo @({0})",
        "echo ${{x:-{0}}}",
        "echo ${{x//{0}}}",
        "echo ${{x[{0}]}}",
        "echo $(({0}))",
        "echo $[{0}]",
        'echo "${{x:-"{0}"}}"',
        "a <({0})",
        "f() {{ {0}; }}",
        "! time {0}",
        "coproc {0}",
        "if {0}; then a; fi",
        "if a; then b; elif {0}; then c; else {0}; fi",
        "while {0}; do {0}; done",
        "a | {0} && {0} &",
    ],
)
@pytest.mark.parametrize("substitution", ["$(hidden)", "`hidden`", "${x:-$(hidden)}"])
def test_no_place_hides_a_command(command: str, substitution: str) -> None:
    text = command.format(substitution)
    assert "$(hidden)" in shown(text)
    assert unread(text) == []
