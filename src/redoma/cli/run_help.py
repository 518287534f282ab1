"""What `redoma run --help` and `redoma shell --help` say."""

from __future__ import annotations

RUN = """\
usage: redoma run [OPTION]... 'COMMAND'
       redoma run [OPTION]... -- PROGRAM [ARGUMENT]...
       redoma shell [OPTION]...

Runs a shell command, or a program without a shell, inside an enclosure. The workspace is the
current directory; the command can write there and nowhere else.

"""
SHELL = """\
usage: redoma shell [OPTION]...

Opens a shell inside an enclosure. The workspace is the current directory; what is done in the
shell can write there and nowhere else.

"""
OPTIONS = """\
where:
  --workspace DIR      the directory the command works in
  --level LEVEL        minimal, standard (default), strict or maximum
  --profile FILE       a profile of your own instead of a level
  --engine NAME        one engine: forkserver, bubblewrap, systemd, landlock, direct
what it may touch:
  --allow-write PATH   also writable (may be repeated); lifts the protection of that path
  --allow-read PATH    also readable (may be repeated)
  --allow-host HOST    a host that may be reached: HOST, HOST:PORT, *.example.com, localhost:PORT
                       (may be repeated)
                       GET HOST/PATH/** (with --inspect): such requests only
  --inspect            reads each request, in TLS as well, and notes its method, path and status
  --credential HOST=NAME
                       adds the secret in a variable of yours to requests to that host, which the
                       command never sees; HOST=vault:NAME takes it from `redoma vault`
  --cache-host HOST    keeps what this host answers, and asks it for the same every 30 s at most
  --mock[=FILE]        answers every request itself, so that nothing leaves; with what FILE says
  --publish PORT       makes a port of the command's own reachable on this machine's loopback
  --env NAME[=VALUE]   passes a variable (may be repeated)
how much it may use (a size as 512M, a time as 90s; none for no limit):
  --timeout TIME  --memory SIZE  --cpu PERCENT  --cpu-time SECONDS  --processes NUMBER
  --open-files NUMBER  --file-size SIZE  --total-written SIZE  --keep-free SIZE  --tmp SIZE
  --output SIZE  --output-total SIZE   (redoma doctor shows the usual ones)
what becomes of what it writes (in standard it is held, applied when the command succeeds, and
can be taken back: redoma undo):
  --no-undo            keeps nothing to take it back: it is applied for good, and room is free
  --direct             writes straight into the workspace, for servers and what an overlay cannot do
who is asked, where the policy wants that:
  --ask HOW            auto (default): you, if this is a terminal; else the question is kept for
                       `redoma answer`, and the command can be run again when it is approved.
                       wait: waits for `redoma answer`. nobody: a question is a no
  --phase NAME         the phase of a workflow this belongs to; policies can hold it tighter
  --session NAME       the session this belongs to (default: $REDOMA_SESSION, or this terminal)
how it is shown:
  -t, --tty            gives the command a terminal
  --json               one JSON object at the end instead of the command's own output
  --trace-files        notes which files the command opens (slower); in --json, or at the end
  -q, --quiet          no line about what was enforced

The command is judged first, by your policy (redoma policy explain 'COMMAND'), and everything is
written down (redoma audit list).

exit status: the command's own; 124 timed out, 125 Redoma could not do its work, 126 refused or
not executable, 127 not found, 2 usage
"""
