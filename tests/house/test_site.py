"""The documentation's site: every public name is on a page, every page is in the menu."""

import importlib
import re

import pytest

import jaxsim
from tests.house.hooks import ROOT, generator

API = ROOT / "docs" / "api"


def shown(*pages: str) -> set[str]:
    """Names that pages of the reference show, which must exist."""
    return set().union(*(named((API / f"{page}.md").read_text()) for page in pages))


def named(text: str) -> set[str]:
    """Names that a page's text shows, which must exist."""
    found = set()
    for path in re.findall(r"^::: (\S+)$", text, re.M):
        module, name = path.rsplit(".", 1)
        assert hasattr(importlib.import_module(module), name), path
        found.add(name)
    return found


@pytest.mark.parametrize(
    "name", ["optimise", "identify", "envs", "sdf", "train", "viewer", "models", "envs.gymnasium"]
)
def test_packages_are_documented(name):
    page = name.rsplit(".", 1)[-1]
    assert shown(page) == set(importlib.import_module(f"jaxsim.{name}").__all__)


def test_the_package_of_mjx_is_documented():
    from jaxsim import mjx

    text = generator("pages").of_mjx()
    there = named(text) | set(re.findall(r"`(\w+)`", text))
    assert set(mjx.__all__) - {"enums", "math"} | set(mjx.math.__all__) <= there
    assert "|  |" not in text  # each says what it does


def test_everything_at_the_top_is_documented():
    from jaxsim.pipeline import per_world

    records = {"Contact", "Data", "Model", "Option"}  # on the page of fields, which the site makes
    assert shown("simulation", "state") | records | set(per_world.__all__) == set(jaxsim.__all__)


@pytest.mark.parametrize(
    "page", sorted(ROOT.glob("*.md")) + sorted((ROOT / "docs").rglob("*.md")), ids=lambda p: p.name
)
def test_links_lead_somewhere_in_a_clone(page):
    for link, anchor in re.findall(r"\]\((?!http)([^)#\s]*)#?([^)\s]*)\)", page.read_text()):
        file = page.parent / link if link else page
        assert file.is_file(), link
        heads = re.findall(r"^#+ (.*)$", file.read_text(), re.M) if anchor else []
        assert not anchor or anchor in [
            re.sub(r"[^\w ]", "", head).lower().replace(" ", "-") for head in heads
        ]


def test_every_page_is_in_the_menu():
    menu = (ROOT / "mkdocs.yml").read_text()
    for page in (ROOT / "docs").rglob("*.md"):
        assert f": {page.relative_to(ROOT / 'docs')}\n" in menu
