"""Runs a script over things that are not the workspace's own, applies it, and prints what came.

`unshare -m python foreign.py SCENARIO BASE UID SCRIPT`: as root, which makes them; the script is
run, applied and taken back as that user.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[4]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from redoma.model.errors import RedomaError  # noqa: E402
from redoma.pipeline import stored_changes  # noqa: E402
from redoma.pipeline.stored_changes import store  # noqa: E402
from tests.unit.jail.overlay.applied import populate, tree  # noqa: E402
from tests.unit.jail.overlay.elsewhere import mount, open_the_way, tmpfs  # noqa: E402
from tests.unit.jail.overlay.held import sandbox  # noqa: E402


def made(scenario: str, base: Path, user: int) -> Path:
    """The workspace: whose it is, and what is mounted in it."""
    work = populate(base / "work")
    if user:
        subprocess.run(["chown", "-R", f"{user}:{user}", str(base)], check=True)
    if scenario == "mounted":
        (work / "m/deeper").mkdir(parents=True)
        tmpfs(work / "m")
        (work / "m/inside").write_text("on another file system\n")
        os.chown(work / "m", user, user)
        os.chown(work / "m/inside", user, user)
    elif scenario == "mounted-proc":
        (work / "m").mkdir()
        mount("-t", "proc", "proc", str(work / "m"))
    elif scenario == "mounted-deep":
        (work / "p/m").mkdir(parents=True)
        (work / "p/text").write_text("long enough to be found again\n")
        if user:
            subprocess.run(["chown", "-R", f"{user}:{user}", str(work / "p")], check=True)
        tmpfs(work / "p/m")
    elif scenario == "mounted-file":
        (base / "other").write_text("of another place\n")
        mount("--bind", str(base / "other"), str(work / "notes"))
    elif scenario == "others-open":
        subprocess.run(["chown", "-R", "0:0", str(work)], check=True)
        subprocess.run(["chmod", "-R", "a+rwX", str(work)], check=True)
        (work / "src").chmod(0o777)
        work.chmod(0o777)
    elif scenario == "others-sticky":
        subprocess.run(["chown", "-R", "0:0", str(work)], check=True)
        subprocess.run(["chmod", "-R", "a+rwX", str(work)], check=True)
        work.chmod(0o1777)
    elif scenario == "others-closed":
        subprocess.run(["chown", "-R", "0:0", str(work)], check=True)
    elif scenario == "others-inside":
        os.chown(work / "src", 0, 0)
        (work / "src").chmod(0o777)
    return work


def seen(work: Path) -> dict[str, object]:
    """The workspace without its times; what is mounted in it, without what it holds."""
    if (work / "m").is_mount():
        return {name: os.lstat(work / name).st_mode for name in os.listdir(work)}
    return tree(work, times=False)


def main() -> None:
    """Runs the scenario."""
    scenario, base, user, script = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    work = made(scenario, base, user)
    if user:
        open_the_way(base, *map(os.path.realpath, {str(ROOT), sys.prefix, sys.base_prefix}))
        os.environ["XDG_CACHE_HOME"] = str(base / "cache")
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    told: dict[str, object] = {}
    try:
        before = seen(work)
        result = sandbox(work).run(script)
        told["status"] = result.exit_code
        told["output"] = result.stdout.decode()
        told["said"] = result.stderr.decode()
        assert result.changes is not None
        told["notes"] = [*result.notes, *result.changes.warnings]
        told["changes"] = {item.path: item.did.value for item in result.changes.items}
        assert seen(work) == before
        if result.changes.items:
            store(result.changes, script)
            try:
                stored_changes.apply(result.changes.id)
                told["applied"] = sorted(
                    os.path.relpath(os.path.join(place, name), work)
                    for place, names, files in os.walk(work)
                    if not place.startswith(f"{work}/m")
                    for name in (*names, *files)
                )
                stored_changes.undo(result.changes.id)
            finally:
                told["as_before"] = seen(work) == before
    except RedomaError as error:
        told["refused"] = str(error)
        told["hint"] = error.hint
    print(json.dumps(told).replace(str(base), "BASE"))


if __name__ == "__main__":
    main()
