"""The learning curve of a run: `curve.csv`, and as a picture `curve.png`.

A line holds where the run stood (`steps` of self-play or the `round` of a recipe), the `seconds` spent up to there, and
for each opponent the mean return alone among such (`among_NAME`) with half the width of its 95 % interval (`±_NAME`).
"""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping
from pathlib import Path

from card_envs.arena.statistics import Estimate
from card_envs.errors import CardEnvsError
from card_envs.files import atomic_write

FILE, PICTURE = "curve.csv", "curve.png"
AMONG, HALF_WIDTH = "among_", "±_"


def columns_of(results: Mapping[str, Estimate]) -> dict[str, float]:
    """What a line says of evaluations, by opponent."""
    columns: dict[str, float] = {}
    for name, result in results.items():
        columns |= {f"{AMONG}{name}": result.mean, f"{HALF_WIDTH}{name}": result.half_width}
    return columns


def read_curve(folder: Path) -> list[dict[str, float]]:
    """The lines of a run's curve; none if it has none yet.

    Raises:
        CardEnvsError: something else than numbers stands in the file.
    """
    path = folder / FILE
    if not path.exists():
        return []
    try:
        rows = list(csv.DictReader(path.read_text("utf-8").splitlines(), strict=True))
        lines = [{name: float(value) for name, value in row.items() if value != ""} for row in rows]
        if not all(line.keys() >= {next(iter(rows[0])), "seconds"} for line in lines):
            raise ValueError("a line lacks its place or its seconds")
    except (ValueError, TypeError, csv.Error) as error:
        raise CardEnvsError(f"{path} is broken ({error}); a curve without it begins anew") from None
    return lines


def add_to_curve(folder: Path, line: Mapping[str, float]) -> None:
    """Adds a line and draws the curve anew; what a run that went back wrote at this place or later is dropped."""
    place = next(iter(line))
    rows: list[Mapping[str, float]] = [row for row in read_curve(folder) if row[place] < line[place]]
    rows.append(line)
    with atomic_write(folder / FILE) as file:
        writer = csv.DictWriter(file, list(dict.fromkeys(name for row in rows for name in row)), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    draw_curve(folder)


def seconds_before(folder: Path, place: str, here: float) -> float:
    """The seconds that a run had spent when it last stood before `here`."""
    return max((row["seconds"] for row in read_curve(folder) if row[place] < here), default=0.0)


def draw_curve(folder: Path) -> None:
    """Draws what is in `curve.csv`, with intervals."""
    from matplotlib.figure import Figure

    rows = read_curve(folder)
    place = next(iter(rows[0]))
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    for column in rows[0]:
        if column.startswith(AMONG) and (width := f"{HALF_WIDTH}{column.removeprefix(AMONG)}") in rows[0]:
            known = [row for row in rows if math.isfinite(row.get(width, math.inf))]  # too few deals have no interval
            x, y, half = ([row[name] for row in known] for name in (place, column, width))
            axes.errorbar(x, y, yerr=half, marker="o", capsize=3, label=f"among {column.removeprefix(AMONG)}")
    axes.axhline(0.0, color="#9ca3af", linewidth=1)
    axes.set_xlabel(f"{place} ({rows[-1]['seconds'] / 3600:.2f} hours in all)")
    axes.set_ylabel("mean return, 95 % intervals")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend()
    with atomic_write(folder / PICTURE, "wb") as file:
        figure.savefig(file, format="png", dpi=110)
