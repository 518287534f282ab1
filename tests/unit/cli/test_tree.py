"""The tree of changes says everything once, and large directories in a line."""

from __future__ import annotations

from redoma.cli.prose import Screen
from redoma.cli.tree import counted, size, summary, summed_up, tree
from redoma.model.change import Change, Did, FileDiff, FileKind, Shows
from tests.unit.cli.changed import (
    DIRECTORY,
    created,
    deleted,
    file,
    modified,
    new_directory,
)

PLAIN = Screen()


def test_each_path_stands_under_its_directory_with_its_sign() -> None:
    renamed = Change(
        path="src/new.py",
        did=Did.RENAMED,
        before=file(9),
        after=file(9),
        renamed_from="src/old.py",
    )
    mode = Change(path="run.sh", did=Did.ATTRIBUTES, before=file(5), after=file(5, mode=0o755))
    items = [
        created("README", 340),
        deleted("old.log", 12_000),
        mode,
        modified("src/app.py", 100, 120),
        renamed,
    ]
    assert tree(items, PLAIN) == (
        "+ README    340 B\n"
        "- old.log   12 kB\n"
        "* run.sh    mode 0644 -> 0755\n"
        "  src/\n"
        "~   app.py  100 B -> 120 B\n"
        ">   new.py  from src/old.py, 9 B\n"
    )


def test_a_large_new_directory_is_one_line_with_its_count_and_size() -> None:
    items = [new_directory("node_modules")]
    items += [created(f"node_modules/p{n}/index.js", 14_934) for n in range(3214)]
    assert tree(items, PLAIN) == "+ node_modules/  +3 214 files, 48 MB\n"


def test_a_small_new_directory_is_shown_in_full() -> None:
    items = [new_directory("d"), created("d/a", 1), created("d/b", 2)]
    assert tree(items, PLAIN) == "+ d/\n+   a  1 B\n+   b  2 B\n"


def test_many_changes_of_several_kinds_are_one_line_with_each_count() -> None:
    items = [modified(f"d/m{n}") for n in range(150)] + [deleted(f"d/x{n}") for n in range(60)]
    assert tree(items, PLAIN) == "~ d/  ~150 -60 files, 300 B\n"


def test_a_lone_way_down_is_one_line() -> None:
    assert tree([created("a/b/c/x", 1), created("a/b/c/y", 1)], PLAIN) == (
        "  a/b/c/\n+   x     1 B\n+   y     1 B\n"
    )


def test_a_single_change_far_down_is_one_line() -> None:
    assert tree([modified("a/b/x", 1, 2), modified("z")], PLAIN).splitlines()[0] == (
        "~ a/b/x  1 B -> 2 B"
    )


def test_lines_that_came_and_went_are_counted_where_they_are_known() -> None:
    change = modified("a")
    diff = FileDiff(change=change, shows=Shows.TEXT, added=3, removed=1)
    assert tree([change], PLAIN, {"a": diff}) == "~ a  +3 -1\n"


def test_links_and_special_files_are_named() -> None:
    link = Change(
        path="l", did=Did.CREATED, after=file(kind=FileKind.SYMLINK, target="/etc/passwd")
    )
    pipe = Change(path="p", did=Did.CREATED, after=file(kind=FileKind.FIFO))
    swapped = Change(
        path="s",
        did=Did.MODIFIED,
        before=file(3),
        after=file(kind=FileKind.SYMLINK, target="x"),
    )
    assert tree([link, pipe, swapped], PLAIN) == (
        "+ l  link to /etc/passwd\n+ p  fifo\n~ s  link to x, file -> symlink\n"
    )


def test_a_renamed_directory_says_what_moved_along() -> None:
    change = Change(
        path="new",
        did=Did.RENAMED,
        before=DIRECTORY,
        after=DIRECTORY,
        renamed_from="old",
        moved_along=1200,
    )
    assert tree([change], PLAIN) == "> new/  from old, 1 200 paths moved along\n"


def test_owners_attributes_and_times_are_said() -> None:
    before = file(1, xattrs=(("user.a", b"1"),), mtime_ns=1)
    owner = Change(
        path="o", did=Did.ATTRIBUTES, before=before, after=file(1, xattrs=(), mtime_ns=2)
    )
    time = Change(path="t", did=Did.ATTRIBUTES, before=file(1), after=file(1, mtime_ns=2))
    assert tree([owner, time], PLAIN) == "* o  attribute user.a\n* t  time\n"


def test_a_hostile_name_does_not_act_on_the_terminal() -> None:
    shown = tree([created("a\x1b[2J\n+ fake\u202e", 1)], Screen(colour=True))
    assert shown == "\x1b[32m+ a\\x1b[2J\\n+ fake\\u202e  1 B\x1b[0m\n"


def test_the_summary_counts_each_kind() -> None:
    items = [created("a"), created("b"), modified("c"), deleted("d")]
    assert summary(items) == "2 created, 1 modified, 1 deleted"
    assert summary([]) == "nothing changed"


def test_sizes_and_counts_are_read_at_a_glance() -> None:
    assert [size(n) for n in (0, 999, 1_500, 48_000_000, 7_200_000_000)] == [
        "0 B",
        "999 B",
        "1.5 kB",
        "48 MB",
        "7.2 GB",
    ]
    assert counted(1234567) == "1 234 567"


def test_a_hundred_thousand_changes_are_a_screenful() -> None:
    items = [created(f"d{n % 100}/f{n}") for n in range(100_000)]
    assert len(tree(items, PLAIN).splitlines()) == 100


def test_a_directory_thousands_deep_is_shown() -> None:
    shown = tree([created("d/" * 3000 + "x", 1)], PLAIN)
    assert shown == f"+ {'d/' * 3000}x  1 B\n"


def test_what_git_keeps_for_itself_is_one_line_and_its_hooks_are_not() -> None:
    items = [
        created(".git/hooks/pre-commit", 20),
        created(".git/index", 104),
        created(".git/objects/81/4f4a", 23),
        created(".git/objects/a0/99ff", 30),
    ]
    assert tree(items, PLAIN) == (
        "  .git/\n"
        "+   hooks/pre-commit  20 B\n"
        "+   index             104 B\n"
        "+   objects/          +2 files, 53 B\n"
    )


def test_the_directories_in_one_line_are_known_by_their_paths() -> None:
    items = [new_directory("a/big"), created("a/small")]
    items += [created(f"a/big/{n}") for n in range(30)]
    assert summed_up(items) == ("a/big/",)
