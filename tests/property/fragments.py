"""Fragments of commands to put together at random: words, brackets, and what is no text."""

from __future__ import annotations

PIECES = """rm -rf / ~ $HOME "$x" '$(' $( ) ` ${ } ${x:- ${x// # ; & && || | |& < > << <<- <<< >( <( { } ( ) (( )) [[ ]] if
then fi else elif for in do done while until case esac function f() select time ! coproc \\ ' " $' $" * ? [ ] {a,b} {1..9} = += a=(
== =~ eval bash -c sh -s xargs -I{} find -exec {} + -delete env -S sudo -u curl -d @- -o git -c core.pager= python3 ssh docker run
exec awk sed EOF -- @ % ^ psql tar --use-compress-program make -f - tee /dev/sda /etc/passwd .env ~/.ssh/id_rsa base64 -d kubectl
aws s3 rm --recursive npm publish ;; ;& esac $((  )) a[ ] printf -v read mapfile declare -A trap alias set -- shift $@ $* $# $1""".split()
GLUE = [
    "\n",
    " ",
    "\t",
    "<<EOF\n",
    "\nEOF\n",
    "\r",
    "\x1b[31m",
    "\u202e",
    "é",
    "\U0001f600",
    "\\\n",
    "\0",
    "\udc80",
    "",
]
