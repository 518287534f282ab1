"""The console's page refuses whatever is not ours, and says everything in two languages."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import pytest

from redoma.server import pages
from redoma.server.pages import console_page

ASSETS = Path(pages.__file__).parent / "assets"
VENDOR = ASSETS / "vendor"
ROOT = Path(pages.__file__).parents[3]
MANIFEST = json.loads((VENDOR / "manifest.json").read_text(encoding="utf-8"))["packages"]
OURS = sorted(p for p in [*ASSETS.glob("*.html"), *(ASSETS / "app").rglob("*")] if p.is_file())
SCRIPTS = {
    p.relative_to(ASSETS / "app"): p.read_text(encoding="utf-8") for p in OURS if p.suffix == ".js"
}
CATALOGUE = ASSETS / "app" / "language" / "pt-BR.js"
TEXT = r'"((?:[^"\\]|\\.)*)"'


def said() -> set[str]:
    """Every text that the scripts hand to the translation."""
    call = re.compile(r"(?<![\w.])(?:t|word)\(\s*" + TEXT)
    return {found for text in SCRIPTS.values() for found in call.findall(text)}


def portuguese() -> dict[str, str]:
    rows = re.findall(
        rf"^  {TEXT}:\s+{TEXT},$", CATALOGUE.read_text(encoding="utf-8"), re.MULTILINE
    )
    assert len({english for english, _ in rows}) == len(rows), "a text stands there twice"
    return dict(rows)


@pytest.mark.parametrize("package", MANIFEST, ids=lambda package: package["package"])
def test_a_third_party_file_is_the_very_one_that_was_published(package: dict) -> None:
    folder = VENDOR / package["folder"]
    found = {
        name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in package["files"]
    }
    assert found == {name: file["sha256"] for name, file in package["files"].items()}


def test_no_third_party_file_is_there_without_its_row_its_licence_and_its_notice() -> None:
    listed = {f"{p['folder']}/{name}" for p in MANIFEST for name in p["files"]}
    there = {str(p.relative_to(VENDOR)) for p in VENDOR.rglob("*") if p.is_file()}
    assert there == listed | {"manifest.json"}
    notice = (ROOT / "NOTICE").read_text(encoding="utf-8")
    for package in MANIFEST:
        assert any("LICENSE" in name for name in package["files"]), package["package"]
        assert package["package"] in notice
        assert re.fullmatch(r"sha512-[A-Za-z0-9+/]{86}==", package["integrity"])


def test_none_of_our_files_names_another_host_or_writes_markup() -> None:
    hosts = re.compile(
        r"(?:https?:)?//(?!www\.w3\.org/2000/svg)[a-z0-9-]+(?:\.[a-z0-9-]+)+", re.IGNORECASE
    )
    markup = re.compile(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|dangerouslySet|\beval\("
    )
    for path in OURS:
        text = path.read_text(encoding="utf-8")
        assert hosts.findall(text) == [], path.name
        assert markup.findall(text) == [], path.name


def test_every_text_of_the_pages_has_its_portuguese_and_nothing_else_is_there() -> None:
    assert said() == set(portuguese())


def test_a_portuguese_text_has_the_holes_of_its_english() -> None:
    holes = re.compile(r"\{\w+\}")
    wrong = [
        e for e, f in portuguese().items() if sorted(holes.findall(e)) != sorted(holes.findall(f))
    ]
    assert wrong == []


@pytest.mark.requirement("S7")
def test_the_documents_texts_stand_in_the_page_as_they_are() -> None:
    texts = set(portuguese().values())
    assert {
        "⚠️ ATENÇÃO",
        "Dar acesso de escrita permite que o convidado controle seu terminal.",
        "Só faça isso com pessoas de confiança.",
        "Cancelar",
        "Conceder Acesso",
        "Tornar Editável",
        "Agora você pode digitar",
        "Seu acesso de escrita foi revogado.",
        "Ver Logs",
    } <= texts


def test_only_what_carries_this_answers_nonce_runs_and_nothing_goes_elsewhere() -> None:
    page = console_page()
    policy = dict(
        rule.split(" ", 1) for rule in page.headers("N0nce")["Content-Security-Policy"].split("; ")
    )
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == "'self' 'nonce-N0nce'"
    assert policy["style-src"] == "'self' 'nonce-N0nce'"
    assert policy["connect-src"] == "'self'"
    assert policy["frame-ancestors"] == "'none'"
    assert policy["trusted-types"] == "'none'"
    assert "unsafe-eval" not in str(policy)
    assert b'nonce="N0nce"' in page.html("N0nce")
    assert b"{{" not in page.html("N0nce")


def test_everything_that_the_page_and_its_files_name_is_there() -> None:
    page = console_page()
    html = page.html("n").decode()
    named = re.findall(rf'(?:src|href)="/assets/({page.digest}/[^"]+)"', html)
    assert len(named) >= 7
    assert [path for path in named if page.asset(path) is None] == []
    for path, text in SCRIPTS.items():
        for imported in re.findall(r'from "(\.[^"]+)"', text):
            place = (ASSETS / "app" / path).parent.joinpath(imported).resolve()
            assert place.is_file(), f"{path}: {imported}"


def test_a_file_is_only_found_below_the_digest_of_all() -> None:
    page = console_page()
    assert page.asset(f"{page.digest}/app/main.js") is not None
    for path in (
        "0" * 16 + "/app/main.js",
        "app/main.js",
        f"{page.digest}/index.html",
        f"{page.digest}/../pages.py",
        f"{page.digest}/app/../app/main.js",
        f"{page.digest}//etc/passwd",
        f"{page.digest}/vendor/manifest.json",
        page.digest,
        "",
    ):
        assert page.asset(path) is None, path
