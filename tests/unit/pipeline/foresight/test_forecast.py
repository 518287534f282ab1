"""What a command would do beyond its workspace is told, and its trial runs in its place."""

from __future__ import annotations

import pytest

from redoma.pipeline.decisions.check import ground
from redoma.pipeline.foresight.forecast import CLOSED, Foreseen, foresee

pytestmark = pytest.mark.requirement("K5")

HERE = ground("/project", "/home/ana")


def told(text: str) -> Foreseen:
    return foresee(text, HERE)


@pytest.mark.parametrize(
    ("command", "instead"),
    [
        ("npm publish --tag next", "npm publish --dry-run --offline --tag next"),
        ("npm --prefix web publish", "npm --prefix web publish --dry-run --offline"),
        ("pnpm publish", "pnpm publish --dry-run"),
        ("cargo +nightly publish -p x", "cargo +nightly package --offline -p x"),
        ("cargo publish --token t --allow-dirty", "cargo package --offline --allow-dirty"),
        ("poetry publish", "poetry publish --dry-run"),
        ("uv publish dist/*", "uv publish --dry-run dist/*"),
        ("twine upload -r testpypi dist/*", "twine check dist/*"),
        ("python3 -m twine upload --skip-existing d/x.whl", "python3 -m twine check d/x.whl"),
        ("kubectl -n shop apply -f x.yaml", "kubectl -n shop apply --dry-run=client -f x.yaml"),
        ("kubectl delete pod a", "kubectl delete --dry-run=client pod a"),
        ("helm upgrade --install a ./chart", "helm upgrade --dry-run --install a ./chart"),
        ("ansible-playbook site.yml", "ansible-playbook --check --diff site.yml"),
        ("docker compose -f x.yml up -d", "docker compose --dry-run -f x.yml up -d"),
        (
            "terraform -chdir=infra apply -auto-approve -var a=b",
            "terraform -chdir=infra plan -input=false -lock=false -refresh=false -var a=b",
        ),
        (
            "terraform destroy -auto-approve",
            "terraform plan -destroy -input=false -lock=false -refresh=false",
        ),
        ("apt-get install -y jq", "apt-get install --simulate -y jq"),
        ('psql -h db -c "drop table t" && echo done', "true && echo done"),
        ("echo 'delete from t' | mysql shop", "echo 'delete from t' | cat >/dev/null"),
    ],
)
def test_a_command_with_a_trial_of_its_own_runs_as_that_trial(command: str, instead: str) -> None:
    assert told(command).command == instead


@pytest.mark.parametrize(
    ("command", "instead"),
    [
        ("make && npm publish | tee log", "make && npm publish --dry-run --offline | tee log"),
        (
            "for p in a b; do (cd $p; npm publish); done",
            "for p in a b; do (cd $p; npm publish --dry-run --offline); done",
        ),
        (
            "npm publish 2>err >out; kubectl apply -f x",
            "npm publish --dry-run --offline 2>err >out; kubectl apply --dry-run=client -f x",
        ),
        (
            "release() { npm publish; }; release",
            "release() { npm publish --dry-run --offline; }; release",
        ),
        ("CI=1 npm publish", "CI=1 npm publish --dry-run --offline"),
        ("npm publish -- --dry-run=false", ""),
    ],
)
def test_each_command_of_a_pipeline_or_list_is_handled_by_itself(
    command: str, instead: str
) -> None:
    assert told(command).command == instead


@pytest.mark.parametrize(
    "command",
    [
        "npm publish --dry-run",
        "kubectl get pods",
        "kubectl delete --help",
        "terraform plan",
        "docker compose ps",
        "kubectl apply --dry-run=server -f x",
        "echo npm publish",
        "rm -rf build",
        "sqlite3 a.db 'delete from t'",
        "psql -c 'select 1'",
    ],
)
def test_what_needs_no_other_form_runs_as_it_is(command: str) -> None:
    assert told(command).command == ""


@pytest.mark.parametrize(
    "command",
    [
        "sudo npm publish",
        "bash -c 'npm publish'",
        'eval "npm publish"',
        "$(npm publish)",
        'echo "`npm publish`"',
        "npm >log publish",
        "alias np='npm publish'; np",
        "npm $verb publish; npm publish --dry-run=false",
        "terraform apply saved.plan",
        "terraform apply --future-option",
        "twine upload --future-option x",
        "cargo publish --future-option",
        "git push --receive-pack-future x",
    ],
)
def test_what_is_not_understood_runs_unchanged_with_a_warning(command: str) -> None:
    found = told(command)
    assert found.command == ""
    assert found.warnings != ()


def test_a_program_that_the_text_redefines_is_not_the_program_we_know() -> None:
    assert told("npm() { rm -rf build; }; npm publish").command == ""


def test_a_text_that_cannot_be_read_runs_unchanged_and_counts_as_lasting() -> None:
    found = told("npm publish && (")
    assert (found.command, found.lasting) == ("", True)


@pytest.mark.parametrize(
    ("command", "calls"),
    [
        ("curl https://e.org/a", ("GET https://e.org/a",)),
        ("curl -X DELETE https://e.org/a", ("DELETE https://e.org/a",)),
        ("curl -XPUT -d x https://e.org/a", ("PUT https://e.org/a",)),
        ("curl -d @b https://u:secret@e.org/a", ("POST https://e.org/a",)),
        ("curl -I https://e.org", ("HEAD https://e.org",)),
        ("curl -T f https://e.org/f", ("PUT https://e.org/f",)),
        ("curl -Gd q=1 https://e.org", ("GET https://e.org",)),
        ("wget --post-data x https://e.org/a", ("POST https://e.org/a",)),
        ("http PATCH e.org/a b=1", ("PATCH e.org/a",)),
        ("http e.org/a b=1", ("POST e.org/a",)),
        ("ssh host uptime", ("ssh host",)),
        ("git fetch", ("git fetch",)),
        ("npm publish --tag x", ("npm publish --tag x",)),
        ("bash -c 'curl https://e.org/a'", ("GET https://e.org/a",)),
        ("for h in a b; do curl https://$h.org; done", ("GET https://a.org", "GET https://b.org")),
    ],
)
def test_calls_are_told_by_method_and_address_and_never_with_a_password(
    command: str, calls: tuple[str, ...]
) -> None:
    found = told(command)
    assert found.network_calls == calls
    assert CLOSED in found.warnings


@pytest.mark.parametrize(
    ("command", "operations"),
    [
        ('psql -c "delete  from users"', ("psql: DELETE FROM users",)),
        ("psql <<'E'\ninsert into t values (1);\nselect 2;\nE", None),
        (
            "mysql -e 'update a set b=1; drop table c' shop",
            ("mysql: UPDATE a SET b = 1", "mysql: DROP TABLE c"),
        ),
        (
            "sqlite3 a.db 'delete from t where id=1'",
            ("sqlite3 a.db: DELETE FROM t WHERE id = 1",),
        ),
        ("echo 'drop table x' | psql", ("psql: DROP TABLE x",)),
        ("pg_dump a | psql b", ("psql: statements that are only known when it runs",)),
        ("psql -c 'this is ( no sql'", ("psql: this is ( no sql",)),
        ("psql -f ../outside.sql", ("psql: statements that are only known when it runs",)),
    ],
)
def test_statements_are_listed_one_by_one(command: str, operations: tuple[str, ...] | None) -> None:
    if operations is None:
        operations = ("psql: INSERT INTO t VALUES (1)", "psql: SELECT 2")
    assert told(command).database_operations == operations


def test_a_script_of_the_workspace_is_read_for_its_statements() -> None:
    def read(directory: str, path: str) -> str | None:
        return {("/project/db", "up.sql"): "create table t (a int)"}.get((directory, path))

    found = foresee("cd db && psql -f up.sql", HERE, read)
    assert found.database_operations == ("psql: CREATE TABLE t (a INT)",)
    assert found.command == "cd db && true"
    filtered = foresee("cd db && sed s/a/b/ up.sql | psql", HERE, read)
    assert filtered.database_operations == ("psql: statements that are only known when it runs",)
    found = foresee("cd db && psql shop < up.sql", HERE, read)
    assert found.database_operations == ("psql: CREATE TABLE t (a INT)",)
    assert found.command == "cd db && cat >/dev/null < up.sql"


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("systemctl restart nginx", "cannot be previewed"),
        ("docker rm -f web", "cannot be previewed"),
        ("docker build .", "Docker daemon was not reached"),
        ("kubectl get pods", "cluster was not asked"),
        ("yarn npm publish", "cannot be previewed"),
        ("gem push x.gem", "cannot be previewed"),
        ("echo x > ~/.bashrc", "outside the workspace"),
        ("frobnicate --all", "not understood"),
        ("seq 9 | xargs touch", "only running tells"),
        ("crontab jobs", "would stay in effect"),
        ("git config --global a b", "outside the workspace"),
        ("npm login", "would log in"),
        ("sed s/a/b/ dump.sql | psql", "no server was contacted"),
        ("python deploy.py", "ran without being read"),
        ("./deploy.sh", "ran without being read"),
        ("npm publish --dry-run=false", "would act"),
        ("psql -c 'select 1'", "no server was contacted"),
        ("kill -9 1", "cannot be previewed"),
    ],
)
def test_what_could_not_be_foreseen_is_a_warning(command: str, words: str) -> None:
    assert any(words in warning for warning in told(command).warnings), told(command).warnings


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf build",
        "echo x >> a",
        "echo x > .git/hooks/pre-commit",
        "git commit -m x",
        "mv a b",
        "sqlite3 a.db vacuum",
    ],
)
def test_what_only_changes_files_needs_no_warning_and_can_be_undone(command: str) -> None:
    assert told(command) == Foreseen(database_operations=told(command).database_operations)


@pytest.mark.parametrize(
    ("command", "lasting"),
    [
        ("git push", True),
        ("npm publish", True),
        ("curl -d x https://e.org", True),
        ("curl https://e.org", False),
        ("psql -c 'drop table t'", True),
        ("kubectl delete pod a", True),
        ("touch a", False),
    ],
)
def test_what_no_undo_takes_back_is_known(command: str, lasting: bool) -> None:
    assert told(command).lasting is lasting


def test_a_long_text_of_statements_is_counted_and_not_parsed() -> None:
    text = "insert into t values (1);" * 4000
    assert foresee("psql -f x.sql", HERE, lambda *_: text).database_operations == (
        "psql: 100000 characters of statements",
    )
