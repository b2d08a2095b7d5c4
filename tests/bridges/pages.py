"""What a page docs/bridges/NAME.md holds, and the table of what was seen to work. Standard library only."""

from __future__ import annotations

import json
import os
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs" / "bridges"
RESULTS = PAGES / "results.json"
README = ROOT / "docs" / "bridges" / "README.md"
BEGIN, END = "<!-- bridges: begin -->", "<!-- bridges: end -->"
KEYS = ("Extra", "Library", "Works", "Does not")
MAX_LINES = 60  # a program has fewer


class BridgeError(Exception):
    """Something in the pages or around them is not as it should be."""


@dataclass(frozen=True)
class Page:
    """One page.

    Attributes:
        name: its file's stem.
        title: its heading.
        extras: extras of pyproject.toml that its environment needs.
        libraries: distributions whose versions are told.
        works, does_not: what was shown to work, and what a user might expect and won't find.
        program: the first block of Python.
    """

    name: str
    title: str
    extras: tuple[str, ...]
    libraries: tuple[str, ...]
    works: str
    does_not: str
    program: str

    @property
    def environments(self) -> dict[str, Path]:
        """The environments by name, the page's own first, then those for other versions; each with its constraints."""
        files = [
            PAGES / "constraints" / f"{self.name}.txt",
            *sorted((PAGES / "constraints").glob(f"{self.name}-*.txt")),
        ]
        return {file.stem: file for file in files}

    @property
    def tests(self) -> Path:
        return ROOT / "tests" / "bridges" / f"test_{self.name}.py"


def read_page(path: Path) -> Page:
    """The page in a file.

    Raises:
        BridgeError: something that every page has is missing; the message names the page and what.
    """
    name = path.stem
    where = f"docs/bridges/{path.name}"
    if not re.fullmatch(r"[a-z0-9_]+", name):
        raise BridgeError(f"{where}: its name may have lower-case letters, digits and _ only")
    text = path.read_text("utf-8")
    head = re.match(r"# (.+)\n\n((?:- .+\n(?:  .+\n)*)+)", text)
    if head is None:
        raise BridgeError(f"{where}: expected '# Title', a blank line and a list of {', '.join(KEYS)}")
    items = [re.sub(r"\s*\n\s*", " ", item).strip() for item in re.split(r"^- ", head[2], flags=re.M) if item]
    values = dict(item.split(": ", 1) for item in items if ": " in item)
    if tuple(values) != KEYS or len(items) != len(KEYS):
        raise BridgeError(f"{where}: its list has {', '.join(values)}; expected {', '.join(KEYS)}, in this order")
    libraries = tuple(re.findall(r"`([^`]+)`", values["Library"]))
    if not libraries:
        raise BridgeError(f"{where}: 'Library' names no distribution in backticks")
    extras = tuple(re.findall(r"`([^`]+)`", values["Extra"]))
    if not extras and values["Extra"] != "none":
        raise BridgeError(f"{where}: 'Extra' is {values['Extra']!r}; expected an extra in backticks, or none")
    block = re.search(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    if block is None:
        raise BridgeError(f"{where}: there is no program (no block that begins with ```python)")
    lines = block[1].count("\n")
    if lines >= MAX_LINES:
        raise BridgeError(f"{where}: its program has {lines} lines; allowed: fewer than {MAX_LINES}")
    page = Page(name, head[1].strip(), extras, libraries, values["Works"], values["Does not"], block[1])
    if not page.environments[name].is_file():
        raise BridgeError(f"{where}: docs/bridges/constraints/{name}.txt is missing (the environment it was seen in)")
    return page


def all_names() -> list[str]:
    """The names of all pages; README.md, if there is one, only lists them."""
    return sorted(path.stem for path in PAGES.glob("*.md") if path.stem != "README")


def read_results() -> dict[str, Any]:
    """What was seen, by page; empty before the first run."""
    try:
        return dict(json.loads(RESULTS.read_text("utf-8")))
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise BridgeError(f"docs/bridges/results.json can't be read: {error}") from None


def write_whole(path: Path, text: str) -> None:
    """Writes a file whole or not at all."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def write_results(new: dict[str, Any]) -> None:
    """Puts new results in place of the old ones of the same pages; pages that are gone lose theirs."""
    results = {name: result for name, result in (read_results() | new).items() if name in all_names()}
    write_whole(RESULTS, json.dumps(dict(sorted(results.items())), indent=1, ensure_ascii=False) + "\n")


def table(results: dict[str, Any]) -> str:
    """The table of docs/bridges/README.md."""
    rows = [
        "| library | version tested | what works | what does not | programs | tests |",
        "|---|---|---|---|---|---|",
    ]
    for name, result in results.items():
        runs = result["environments"]
        programs = [run for environment in runs for run in environment["programs"]]
        failed = [f"{run['game']} with {run['players']}" for run in programs if run["failure"]]
        seen = f"{len(programs) - len(failed)} of {len(programs)}" + (f"; fails: {', '.join(failed)}" if failed else "")
        tests = [environment["tests"]["summary"] for environment in runs if environment["tests"] is not None]
        cells = [
            f"[{result['title']}]({name}.md)",
            versions([environment["libraries"] for environment in runs]),
            result["works"],
            result["does_not"],
            seen,
            "; ".join(dict.fromkeys(tests)) or "–",
        ]
        rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(rows)


def versions(environments: list[dict[str, str]]) -> str:
    """Libraries with their versions; those of further environments after those of the first."""
    told = []
    for library in environments[0]:
        of_library = dict.fromkeys(libraries[library] for libraries in environments)
        told.append(f"{library} {', '.join(of_library)}")
    return ", ".join(told)


def with_table(readme: str, results: dict[str, Any]) -> str:
    """The README's text with the table of these results."""
    before, begin, rest = readme.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise BridgeError(f"README.md has no place for the table: the lines {BEGIN} and {END} are missing")
    return f"{before}{BEGIN}\n{table(results)}\n{END}{after}"
