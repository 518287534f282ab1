"""A catalogue is a `.po` file that every translator's tool reads, and we read the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redoma.i18n.po_file import PoEntry, read, written
from redoma.model.errors import CatalogueError

TEXTS = st.text(alphabet=st.sampled_from("aé {}0~\"\\\n\t'#:"), min_size=1, max_size=30)


@given(st.lists(st.tuples(TEXTS, TEXTS), max_size=5, unique_by=lambda pair: pair[0]))
def test_what_is_written_is_read_again(pairs: list[tuple[str, str]]) -> None:
    entries = [PoEntry(english=e, foreign=f, places=("a.py",)) for e, f in pairs]
    assert list(read(written("pt_BR", entries))) == entries


def test_a_fuzzy_message_counts_as_not_translated() -> None:
    text = '#, fuzzy\nmsgid "a"\nmsgstr "b"\n\nmsgid "c"\nmsgstr "d"\n'
    assert [entry.english for entry in read(text)] == ["c"]


def test_an_obsolete_message_is_passed_over() -> None:
    assert list(read('#~ msgid "a"\n#~ msgstr "b"\n')) == []


@pytest.mark.parametrize("line", ["msgid a", 'msgstr "open', "nothing of this", '"alone"'])
def test_a_line_that_is_no_message_is_named(line: str) -> None:
    with pytest.raises(CatalogueError, match="line 3"):
        list(read(f'msgid "x"\n\n{line}\n'))
