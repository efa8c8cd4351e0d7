"""Pages of the site that are made of something else: the benchmarks' tables, the records' fields, the stages' names."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import jaxsim
from jaxsim.hulls import Hulls
from jaxsim.options import Statistic
from jaxsim.pipeline import per_world
from jaxsim.visual import Global, Headlight, Map, Quality, Rgba, Scale, Visual

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"
COPIES = {
    "benchmarks.md": "cpu.md",
    **{x: x for x in ("cpu.png", "scenes.md", "scenes.png", "h100.md", "h200.md", "identify.json")},
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
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Links to results lead to the site's own pages; in a clone to the files."""
    for name, source in COPIES.items():
        markdown = markdown.replace(f"](../benchmarks/results/{source})", f"]({name})")
    return markdown


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
    lines = ["# Stages", "", about, "", "| `jaxsim.` | does |", "|---|---|"]
    lines += [f"| `{name}` | {_first_line(getattr(per_world, name))} |" for name in per_world.__all__]
    return "\n".join(lines) + "\n"


def _first_line(item: Any) -> str:
    return (item.__doc__ or "").strip().split("\n\n")[0].replace("\n", " ")
