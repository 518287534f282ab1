"""Every path that a patch touches is seen."""

from __future__ import annotations

import pytest

from redoma.hook.agents import paths_of
from tests.unit.hook.payloads import PATCH


def test_added_changed_moved_and_deleted_files_are_named_once_each() -> None:
    assert paths_of(PATCH) == ("src/app.py", "src/main.py", "README.md", "old.py")


@pytest.mark.parametrize(
    "patch",
    [
        "*** Add File: /etc/passwd",
        "<<'EOF'\n*** Begin Patch\n*** Add File: /etc/passwd\n+x\n*** End Patch\nEOF\n",
        "*** Begin Patch\r\n*** Add File: /etc/passwd\r\n+x\r\n*** End Patch\r\n",
        "  *** Begin Patch\n\t*** Add File:   /etc/passwd  \n+x\n*** End Patch",
    ],
    ids=["bare", "here-document", "carriage returns", "blanks"],
)
def test_a_header_counts_however_generously_codex_reads_it(patch: str) -> None:
    assert paths_of(patch) == ("/etc/passwd",)


def test_text_that_is_no_patch_names_nothing() -> None:
    assert paths_of("rm -rf /\n*** Add File:\n+*** Add File: x") == ()
