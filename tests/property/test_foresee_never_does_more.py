"""Whatever the text, looking ahead ends, and what runs instead is never judged worse."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from redoma.pipeline.decisions.check import check, ground
from redoma.pipeline.foresight.forecast import foresee

HERE = ground("/home/user/project", "/home/user")
WORDS = """npm publish git push -C origin main --force +main :old kubectl apply delete -f x --dry-run=none --dry-run -- -n
    terraform apply destroy -auto-approve -var a=b saved.plan twine upload dist/* psql -c 'drop_table_t' mysql -e sqlite3
    a.db helm upgrade docker compose up ansible-playbook site.yml cargo $x "$x" $(x) `x` > >> 2>&1 <<EOF | && || ; & ( ) { }
    ! time sudo env bash -c eval for in do done if then fi function f() alias g=git ' " \\ {a,b} * ~""".split()
PIECES = st.sampled_from([*WORDS, "\n", "\nEOF\n", "\x1b[2J", "\u202e", "é", "\udcff", "\\\n"])
TEXTS = st.one_of(st.text(max_size=100), st.lists(PIECES, max_size=24).map(" ".join))


@given(TEXTS)
@settings(max_examples=1200, deadline=None, suppress_health_check=list(HealthCheck))
def test_any_text_is_looked_at_and_its_other_form_is_no_worse(text: str) -> None:
    found = foresee(text, HERE)
    if not found.command:
        assert (found.runs, found.awaited) == ((), ())
        return
    assert found.runs != ()
    told = found.command.split("sh -c '# What ")
    if len(told) == 1:  # our own script is judged by its tests
        before, after = (
            check(one, cwd="/home/user/project", home="/home/user").assessment.risk
            for one in (text, found.command)
        )
        assert after <= before
