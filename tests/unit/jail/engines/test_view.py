"""What a command sees of the machine: the toolchains of whoever the search path names, whole."""

from __future__ import annotations

from pathlib import Path

from redoma.jail.engines import view
from redoma.model.grant import Home


def test_a_shim_on_the_search_path_finds_what_it_starts_in_whoevers_home(tmp_path: Path) -> None:
    home, other = tmp_path / "home", tmp_path / "other"
    shims = other / ".pyenv/shims"
    for place in (home, shims, other / ".pyenv/libexec", other / ".ssh"):
        place.mkdir(parents=True)
    seen = view.build(Home.TOOLCHAINS, home=str(home), path=f"{shims}:/usr/bin")
    shown = [place for _, place in seen.binds if place.startswith(str(tmp_path))]
    assert (shown, seen.path.split(":")[0]) == ([str(other / ".pyenv")], str(shims))
