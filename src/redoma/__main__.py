"""Enters the command that a command line names, loading nothing that it does not need.

`bin/redoma` starts this file without `site`: Python compiles it at every start and finds no
package but the standard library, so it is short, and puts the places of ours on the path itself.
"""

import gc
import sys

COULD_NOT_WORK = 125
STOP = 2


def main(argv: list[str] | None = None) -> int:
    """Runs `redoma ARGV…` and returns its exit status; no failure of ours lets a hook through."""
    # Most commands live too short to have garbage; those that stay collect it again.
    gc.disable()
    arguments = sys.argv[1:] if argv is None else argv
    language = None
    hook = "hook" in arguments[:3]  # as far as anyone can tell before the options are read
    if sys.platform != "linux":
        sys.stderr.write(
            f"redoma: runs on Linux, and this is {sys.platform}: nothing ran\n"
            "hint: a Linux virtual machine, or WSL 2; see docs/guides/install.md\n"
        )
        return STOP if hook else COULD_NOT_WORK
    try:
        if None in (sys.stdin, sys.stdout, sys.stderr):
            from redoma.cli.streams import open_closed

            open_closed()
        if any(argument.startswith("--language") for argument in arguments):
            from redoma.i18n.choice import taken

            language, arguments = taken(arguments)
        import os

        from redoma.base.import_cache import begin

        level = os.environ.get("REDOMA_LOG", "")
        if level or arguments[:1] in (["-v"], ["-vv"], ["--verbose"]):
            from redoma.base.log import level_of

            level, arguments = level_of(arguments, level)
        hook = "hook" in arguments[:1]
        import_cache = begin(arguments)
        try:
            if level:
                from redoma.cli.streams import print_log

                print_log(level)
            if hook:
                from redoma.hook import main as open_hook

                return open_hook(arguments[1:], language)
            from redoma.cli import main as open_cli

            return open_cli(arguments, language)
        finally:
            if import_cache is not None:
                import_cache.end()
    except (Exception, KeyboardInterrupt) as error:
        sys.stderr.write(f"redoma: could not do its work: {type(error).__name__}: {error}\n")
        status: int = getattr(error, "exit_status", COULD_NOT_WORK)
        # Attack: agents take a hook's failure as leave to go on, save for this one status.
        return STOP if hook else status


def find_own_packages() -> None:
    """Puts this source tree and the environment's packages on the path, as `site` would."""
    # After the standard library, which nothing that is installed may stand in for.
    sys.path.append(__file__.rsplit("/", 2)[0])
    if sys.flags.no_site:
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        environment = sys.executable.rsplit("/", 2)[0]
        sys.path.append(f"{environment}/lib/{version}/site-packages")


def leave(status: int) -> None:
    """Ends the process without taking the interpreter apart, which nobody is left to see."""
    import atexit
    import os

    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        status = status or COULD_NOT_WORK
    os._exit(status)


if __name__ == "__main__":
    if not __package__:
        find_own_packages()
    leave(main())
