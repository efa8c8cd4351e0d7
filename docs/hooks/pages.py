"""Pages of the site that are made of something else: the benchmarks' tables, the records' fields, the stages' names."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import jaxsim
from jaxsim import mjx
from jaxsim.hulls import Hulls
from jaxsim.options import Statistic
from jaxsim.pipeline import per_world
from jaxsim.visual import Global, Headlight, Map, Quality, Rgba, Scale, Visual

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"
COPIES = {
    "benchmarks.md": "cpu.md",
    **{
        x: x
        for x in ("cpu.png", "scenes.md", "scenes.png", "h100.md", "h200.md", "notes.md", "identify.json")
    },
}
"""Files of results that the site has, by their names there."""

LOOKS = (Visual, Global, Quality, Headlight, Map, Scale, Rgba)
RECORDS = (jaxsim.Data, jaxsim.Contact, jaxsim.Model, jaxsim.Option, Statistic, Hulls, *LOOKS)


def on_files(files: Any, config: Any) -> Any:
    """Adds the pages that nav names and docs/ does not hold."""
    from mkdocs.structure.files import File  # pyright: ignore

    for page, source in COPIES.items():
        files.append(File.generated(config, page, abs_src_path=str(RESULTS / source)))
    files.append(File.generated(config, "api/fields.md", content=fields()))
    files.append(File.generated(config, "api/stages.md", content=stages()))
    files.append(File.generated(config, "api/mjx.md", content=of_mjx()))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Links to results lead to the site's own pages; in a clone to the files."""
    for name, source in COPIES.items():
        markdown = markdown.replace(f"](../benchmarks/results/{source})", f"]({name})")
    return markdown.replace("](../../docs/", "](")


def fields() -> str:
    """Every field of the records, as they declare them."""
    lines = ["# Fields", "", "Shapes are those of one world; dimensions have mjModel's names."]
    for record in RECORDS:
        lines += ["", f"## {record.__name__}", "", _first_line(record), ""]
        lines += ["| field | shape | kind | meaning |", "|---|---|---|---|"]
        for field in dataclasses.fields(record):  # pyright: ignore
            about = field.metadata
            cells = (f"`{field.name}`", about["shape"], about["kind"], about["doc"].replace("|", "\\|"))
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def stages() -> str:
    """The stages of a step."""
    about = (per_world.__doc__ or "").strip()
    lines = ["# Stages", "", about, "", *_table("jaxsim.", per_world, per_world.__all__)]
    return "\n".join(lines) + "\n"


def of_mjx() -> str:
    """The package of MJX's names: what is made of the engine's as a table, what is written there in full."""
    about = (
        (mjx.__doc__ or "").strip().replace("docs/coming-from-mjx.md", "[its page](../coming-from-mjx.md)")
    )
    names = [name for name in mjx.__all__ if name not in ("enums", "math")]
    places = {name: getattr(mjx, name).__module__ for name in names}
    written = [name for name, place in places.items() if place.startswith("jaxsim.mjx.")]
    enums = [name for name, place in places.items() if place == "jaxsim.enums"]
    engine = [name for name in names if name not in (*written, *enums)]
    lines = ["# jaxsim.mjx", "", about, "", "## Stages of the engine", "", *_table("mjx.", mjx, engine)]
    lines += ["", "## Functions and records"]
    lines += [f"\n::: {places[name]}.{name}" for name in written]
    lines += ["", "## Enumerations", "", "Those of the [engine](enums.md): "]
    lines[-1] += ", ".join(f"`{name}`" for name in enums) + "."
    lines += ["", "## mjx.math", "", (mjx.math.__doc__ or "").strip()]
    lines += [f"\n::: jaxsim.mjx.math.{name}" for name in mjx.math.__all__]
    return "\n".join(lines) + "\n"


def _table(before: str, module: Any, names: Iterable[str]) -> list[str]:
    """Functions and what each does, in a line."""
    rows = [f"| `{name}` | {_first_line(getattr(module, name))} |" for name in names]
    return [f"| `{before}` | does |", "|---|---|", *rows]


def _first_line(item: Any) -> str:
    return (item.__doc__ or "").strip().split("\n\n")[0].replace("\n", " ")
