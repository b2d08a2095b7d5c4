"""Pieces of a self-contained page: tables, intervals, heat maps, histograms, without scripts or files beside it.

Whatever these functions are given as `html` is put in as it is; `text` escapes what comes from outside. Plots place
everything by percentages, so that they are as wide as the page while letters keep their size.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from card_envs.arena.statistics import Estimate

STYLE = """
:root { color-scheme: light dark; --paper: #fff; --ink: #1c2430; --soft: #5b6675; --line: #d9dee5; --panel: #f5f7fa;
  --good: 31 111 191; --bad: 208 98 20; --sure: #14663f; --unsure: #8a5a00; --link: #1a5fb4 }
@media (prefers-color-scheme: dark) {
  :root { --paper: #14181d; --ink: #e4e9ef; --soft: #9aa6b4; --line: #353d47; --panel: #1c2229;
    --good: 92 163 240; --bad: 240 148 74; --sure: #6fd3a0; --unsure: #e5b567; --link: #8ab8f5 } }
* { box-sizing: border-box }
body { margin: 0 auto; padding: 1.2rem 1rem 4rem; max-width: 66rem; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, "Segoe UI", Roboto, "Liberation Sans", "DejaVu Sans", sans-serif; overflow-wrap: anywhere }
h1 { font-size: 1.15rem; margin: 0; font-weight: 600; color: var(--soft) }
h2 { font-size: 1.2rem; margin: 2.4rem 0 .3rem }
p { margin: .4rem 0; max-width: 48rem }
a { color: var(--link) }
.verdict { font-size: 1.5rem; line-height: 1.3; margin: .5rem 0 .6rem; font-weight: 600 }
.soft, small { color: var(--soft) }
.sure, .unsure { font-weight: 600; white-space: nowrap }
.sure { color: var(--sure) }
.unsure { color: var(--unsure) }
.scroll { overflow-x: auto; max-width: 100%; margin: .6rem 0 }
.tall { overflow-y: auto; max-height: 26rem; border-bottom: 1px solid var(--line) }
table { border-collapse: collapse; font-variant-numeric: tabular-nums }
th, td { padding: .35rem .7rem; text-align: left; border-bottom: 1px solid var(--line); vertical-align: top;
  white-space: nowrap }
th { font-weight: 600; vertical-align: bottom }
thead th { color: var(--soft); font-size: .9rem }
th:first-child { position: sticky; left: 0; background: var(--paper) }
tbody th { vertical-align: middle }
.wrap { display: inline-block; width: max-content; max-width: 11rem; white-space: normal }
thead .wrap { max-width: 7rem }
td.long { white-space: normal; min-width: 18rem }
.heats thead th + th { text-align: center }
td.heat { text-align: center; border: 2px solid var(--paper); padding: .4rem .6rem }
td.heat small { display: block }
td.none { text-align: center; vertical-align: middle; color: var(--soft) }
.good { background: rgb(var(--good) / var(--v)) }
.bad { background: rgb(var(--bad) / var(--v)) }
.firm { font-weight: 700 }
.rows { margin: .8rem 0; border-top: 1px solid var(--line) }
.row { display: grid; grid-template: "name plot figure" auto "note note note" auto / 11rem 1fr 8.5rem; gap: 0 1rem;
  align-items: center; border-bottom: 1px solid var(--line); padding: .35rem 0 }
.row > .name { grid-area: name; font-weight: 600 }
.row > .figure { grid-area: figure; text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums }
.row > .note { grid-area: note; color: var(--soft); font-size: .95rem; padding-left: 12rem }
.row > svg { grid-area: plot }
.axis { border: 0; padding: 0 }
svg { display: block; width: 100%; overflow: visible }
svg text { fill: var(--soft); font-size: 12px }
.grid { stroke: var(--line) }
.zero { stroke: var(--soft) }
.above { stroke: rgb(var(--good)); fill: rgb(var(--good)) }
.below { stroke: rgb(var(--bad)); fill: rgb(var(--bad)) }
.open { stroke: var(--soft); fill: var(--paper) }
.bar { fill: rgb(var(--good) / .75) }
.key { display: inline-block; width: .8rem; height: .8rem; border-radius: 50%; vertical-align: -.08rem }
dl { display: grid; grid-template-columns: 9rem 1fr; gap: .3rem 1rem; margin: .6rem 0 }
dt { color: var(--soft) }
dd { margin: 0 }
code, pre { font: 13px/1.45 ui-monospace, "Liberation Mono", "DejaVu Sans Mono", monospace }
pre { overflow-x: auto; background: var(--panel); padding: .7rem .9rem; margin: .6rem 0; border-radius: 4px }
summary { cursor: pointer; color: var(--link) }
@media (max-width: 640px) {
  .row { grid-template: "name figure" auto "plot plot" auto "note note" auto / 1fr auto }
  .row > .note { padding-left: 0 }
  .axis > .name, .axis > .figure { display: none }
  .verdict { font-size: 1.25rem }
  .wrap { max-width: 7.5rem }
  .rest { display: none }
  th, td { padding: .3rem .4rem }
  td.heat { padding: .3rem .1rem; font-size: .9rem }
  dl { grid-template-columns: 1fr; gap: 0 }
  dd { margin-bottom: .5rem }
}
""".strip()


class Row(NamedTuple):
    """A line of `intervals`.

    Attributes:
        name: whose.
        estimate: what is drawn.
        figure: the same in figures.
        note: html beneath it.
    """

    name: str
    estimate: Estimate
    figure: str
    note: str = ""


def text(value: object) -> str:
    """Anything as html that shows it as it is."""
    return escape(str(value))


def page(title: str, body: str) -> str:
    """A whole page; `body` is html."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{text(title)}</title>\n<style>\n{STYLE}\n</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def link(address: str, label: str) -> str:
    return f'<a href="{text(address)}">{text(label)}</a>'


def td(html: str, css: str = "") -> str:
    return f'<td class="{css}">{html}</td>' if css else f"<td>{html}</td>"


def wrap(html: str) -> str:
    """A name in a table: on one line if it is short, else wrapped."""
    return f'<span class="wrap">{html}</span>'


def table(head: Sequence[str], rows: Sequence[Sequence[str]], css: str = "") -> str:
    """A table in a box of its own that scrolls.

    Args:
        head: the columns' names as html; the first column names the rows.
        rows: for each the name as html, then its cells, made by `td` or `heat`.
        css: of the box.
    """
    columns = "".join(f'<th scope="col">{wrap(name)}</th>' for name in head)
    lines = [f'<tr><th scope="row">{wrap(name)}</th>{"".join(cells)}</tr>' for name, *cells in rows]
    body = "\n".join(lines)
    box = f"scroll {css}".strip()
    return f'<div class="{box}"><table>\n<thead><tr>{columns}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table></div>'


def heat(estimate: Estimate, bound: float) -> str:
    """A cell whose colour is the mean, full at ± `bound`; bold where its interval leaves out 0."""
    strength = 0.6 * min(1.0, abs(estimate.mean) / bound)
    css = "good" if estimate.mean > 0 else "bad"
    firm = " firm" if firmly(estimate) != "open" else ""
    return (
        f'<td class="heat {css}{firm}" style="--v:{strength:.2f}">{estimate.mean:+.3f}'
        f"<small>± {estimate.half_width:.3f}</small></td>"
    )


def firmly(estimate: Estimate) -> str:
    """Whether the whole interval lies "above" 0, "below" it, or neither ("open")."""
    return "above" if estimate.is_above_zero else "below" if estimate.is_below_zero else "open"


def intervals(rows: Sequence[Row], label: str) -> str:
    """Means as dots on one scale, their intervals as lines; `label` says in a few words what they are."""
    low = min(0.0, *(row.estimate.low for row in rows))
    high = max(0.0, *(row.estimate.high for row in rows))
    margin = 0.05 * (high - low) or 1.0
    low, high = low - margin, high + margin

    def at(value: float) -> str:
        return f"{100 * (value - low) / (high - low):.2f}%"

    ticks = _ticks(low, high)
    grid = "".join(
        f'<line class="{"grid" if tick else "zero"}" x1="{at(tick)}" x2="{at(tick)}" y1="0" y2="100%"/>'
        for tick in ticks
    )
    lines = []
    for row in rows:
        css, mean, half = firmly(row.estimate), row.estimate.mean, row.estimate.half_width
        ends = "".join(
            f'<line class="{css}" x1="{at(x)}" x2="{at(x)}" y1="9" y2="19" stroke-width="2"/>'
            for x in (mean - half, mean + half)
        )
        note = f'<div class="note">{row.note}</div>' if row.note else ""
        lines.append(
            f'<div class="row"><div class="name">{text(row.name)}</div>'
            f'<svg height="28" role="img" aria-label="{text(f"{row.name}: {row.figure}")}">{grid}'
            f'<line class="{css}" x1="{at(mean - half)}" x2="{at(mean + half)}" y1="14" y2="14" stroke-width="3"/>'
            f'{ends}<circle class="{css}" cx="{at(mean)}" cy="14" r="6" stroke-width="2"/></svg>'
            f'<div class="figure">{text(row.figure)}</div>{note}</div>'
        )
    names = "".join(
        f'<text x="{at(tick)}" y="14" text-anchor="middle">{f"{tick:+g}" if tick else "0"}</text>' for tick in ticks
    )
    axis = (
        f'<div class="row axis"><div class="name"></div><svg height="36" aria-hidden="true">{names}'
        f'<text x="50%" y="31" text-anchor="middle">{text(label)}</text></svg><div class="figure"></div></div>'
    )
    return '<div class="rows">\n' + "\n".join([*lines, axis]) + "\n</div>"


def _ticks(low: float, high: float) -> list[float]:
    """Four to nine round numbers between two others, 0 among them."""
    rough = (high - low) / 5
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough)
    return [round(k * step, 12) for k in range(math.ceil(low / step), math.floor(high / step) + 1)]


def bars(rows: Sequence[tuple[str, float]], label: str) -> str:
    """Shares of 1 as bars."""
    lines = [
        f'<div class="row"><div class="name">{text(name)}</div><svg height="28" aria-hidden="true">'
        f'<rect class="bar" x="0" y="6" width="{100 * min(1.0, max(0.0, share)):.2f}%" height="16"/></svg>'
        f'<div class="figure">{share:.1%}</div></div>'
        for name, share in rows
    ]
    axis = (
        '<div class="row axis"><div class="name"></div><svg height="20" aria-hidden="true"><text x="0" y="14">'
        f'{text(label)}</text></svg><div class="figure"></div></div>'
    )
    return '<div class="rows">\n' + "\n".join([*lines, axis]) + "\n</div>"


def histogram(values: npt.NDArray[np.int64], label: str, most: int = 40) -> str:
    """How often whole numbers occur, in up to `most` groups of equal width."""
    first, last = int(values.min()), int(values.max())
    width = -(-(last - first + 1) // most)
    groups = (last - first) // width + 1
    counts = np.bincount((values - first) // width, minlength=groups)
    top, height = int(counts.max()), 130

    def at(value: float) -> str:
        return f"{100 * (value - first) / (groups * width):.2f}%"

    rects = "".join(
        f'<rect class="bar" x="{at(first + k * width + 0.06 * width)}" width="{88 / groups:.2f}%" '
        f'y="{24 + height * (1 - count / top):.1f}" height="{height * count / top:.1f}">'
        f"<title>{_range(first + k * width, width)}: {count:,}</title></rect>"
        for k, count in enumerate(counts.tolist())
        if count
    )
    shown = [k for k in range(groups) if k % max(1, -(-groups // 6)) == 0]
    names = "".join(
        f'<text x="{at(first + (k + 0.5) * width)}" y="{height + 40}" text-anchor="middle">'
        f"{_range(first + k * width, width)}</text>"
        for k in shown
    )
    return (
        f'<svg height="{height + 66}" role="img" aria-label="{text(label)}">{rects}'
        f'<line class="zero" x1="0" x2="100%" y1="{height + 24}" y2="{height + 24}"/>{names}'
        f'<text x="0" y="12">the highest bar: {top:,} games</text>'
        f'<text x="50%" y="{height + 60}" text-anchor="middle">{text(label)}</text></svg>'
    )


def _range(first: int, width: int) -> str:
    return str(first) if width == 1 else f"{first}-{first + width - 1}"
