"""What a policy says of paths and limits is what a command meets in its sandbox."""

from __future__ import annotations

from pathlib import Path

import pytest

from redoma.jail.engines.choice import plan
from redoma.jail.profiles.profile import load
from redoma.model.errors import NoEngine
from redoma.model.result import Result
from redoma.pipeline.decisions.policies import tightened
from redoma.pipeline.execute import execute
from redoma.pipeline.requests import request_for
from redoma.pipeline.this_host import this_host
from tests.unit.judge.policy.asked import policy

LEVEL = load("standard")


@pytest.fixture(autouse=True)
def _enclosure(tmp_path: Path) -> None:
    try:
        plan(request_for(["true"]), LEVEL.grant(str(tmp_path)), this_host())
    except NoEngine as error:
        pytest.skip(f"SKIPPED (no engine for the default level here): {error}")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name in ("project/src", "project/private", "shared"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "project/private/key").write_text("hush")
    for path in (tmp_path, *tmp_path.rglob("*")):
        path.chmod(0o777 if path.is_dir() else 0o666)  # whoever the command runs as
    tmp_path.chmod(0o755)
    return tmp_path / "project"


def run(project: Path, command: str, text: str, *projects: str) -> Result:
    grant = LEVEL.grant(str(project))
    made = tightened(grant, policy(text, *projects), None, "/home/user")
    host = this_host()
    return execute(plan(request_for(command), made, host), host, stdin=b"", sink=None, control=None)


@pytest.mark.requirement("K8")
def test_a_blocked_path_cannot_be_read_by_any_name(project: Path) -> None:
    text = "filesystem: {blocked_paths: ['${PROJECT_ROOT}/private']}\n"
    for command in ("cat private/key", "cd src; cat ../private/key", "cat pri*/k*"):
        result = run(project, command, text)
        assert (result.exit_code != 0, b"hush" in result.stdout) == (True, False)
    assert run(project, "cat private/key", "version: 1\n").stdout == b"hush"


@pytest.mark.requirement("K8")
def test_only_allowed_paths_can_be_written(project: Path) -> None:
    text = f"filesystem: {{allowed_paths: ['${{PROJECT_ROOT}}/src', '{project.parent}/shared']}}\n"
    assert run(project, "echo x > src/a", text).exit_code == 0
    assert run(project, "echo x > ../shared/a", text).exit_code == 0
    assert run(project, "echo x > a", text).exit_code != 0
    assert (project / "src/a").read_text() == (project.parent / "shared/a").read_text() == "x\n"
    assert not (project / "a").exists()


@pytest.mark.requirement("K8")
def test_a_limit_of_the_policy_ends_the_run(project: Path) -> None:
    slow = run(project, "sleep 20", "", "resources: {max_execution_time_seconds: 1}\n")
    assert slow.outcome.value == "timed-out"
    big = run(project, "head -c 4000000 /dev/zero > big", "", "filesystem: {max_file_size_mb: 1}\n")
    assert big.exit_code != 0 and big.changes is not None
    sizes = [change.after.size for change in big.changes.items if change.after]
    assert (max(sizes) <= 1 << 20, (project / "big").exists()) == (True, False)
    files = run(project, "ulimit -n", "", "resources: {max_open_files: 50}\n")
    assert files.stdout == b"50\n"


def test_an_open_network_with_a_list_is_refused_where_nobody_keeps_to_it(project: Path) -> None:
    grant = load("minimal").grant(str(project))
    made = tightened(grant, policy("network: {allowed_hosts: [github.com]}\n"), None, "/home/user")
    report = this_host().report("bubblewrap").guarantees
    from redoma.model.grant import Guarantee

    if Guarantee.NETWORK_ALLOW_LISTED in report:
        plan(request_for("true"), made, this_host())
        return
    with pytest.raises(NoEngine) as raised:
        plan(request_for("true"), made, this_host())
    assert "network-allow-listed" in raised.value.required
