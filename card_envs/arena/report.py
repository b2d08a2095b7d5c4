"""A tournament as text, as tables for code, and as a picture."""

from __future__ import annotations

import csv
import itertools
import json
import math
import textwrap
import warnings
from pathlib import Path
from typing import Any

from card_envs.arena.statistics import MIN_DEALS, Estimate
from card_envs.arena.tournament import Tournament
from card_envs.errors import CardEnvsError
from card_envs.files import atomic_write

ABOVE, BELOW, OPEN = "#1f6fbf", "#d06214", "#5b6675"  # surely above 0, surely below it, neither


def is_surely_better(tournament: Tournament, a: int, b: int) -> tuple[bool, Estimate]:
    """Whether A is surely better than B (the 95% interval of its lead leaves out 0), and the lead."""
    difference = tournament.difference(a, b)
    return difference.is_above_zero, difference


def verdict(tournament: Tournament) -> str:
    """Who is best, by how much, and how surely, in a sentence or two."""
    names, (first, *others) = tournament.names, tournament.order()
    near = [b for b in others if not is_surely_better(tournament, first, b)[0]]
    lead = tournament.difference(first, others[0])
    if lead.samples < MIN_DEALS:
        n = tournament.game.num_players
        return (
            f"No verdict: {lead.samples} deals are too few to tell anybody apart; at least {MIN_DEALS} are needed, "
            f"{MIN_DEALS * n} games of every line-up."
        )
    by = f"by {lead.mean:.3f} ± {lead.half_width:.3f}"
    if len(others) == 1 and not near:
        return f"{names[first]} is surely better than {names[others[0]]}: ahead {by}."
    if not near:
        return f"{names[first]} is best, surely: it is ahead of {names[others[0]]}, the next, {by}."
    if len(others) == 1:
        return f"Not told apart yet: {names[first]} is ahead of {names[others[0]]} {by}."
    return f"Not told apart yet: {names[first]} is in front {by}, but {_and([names[b] for b in near])} may be as good."


def _short(name: str) -> str:
    """A name for a picture; of a long one beginning and end."""
    return _literal(name if len(name) <= 28 else f"{name[:12]}…{name[-15:]}")


def _literal(words: str) -> str:
    """As it is in a picture, where $ would begin a formula and half a surrogate pair can't be drawn."""
    return words.replace("$", r"\$").encode("utf-8", "backslashreplace").decode()


def _cell(name: str) -> str:
    """A name that no spreadsheet takes for a formula."""
    return f"'{name}" if name.startswith(("=", "+", "-", "@", "\t", "\r")) else name


def _and(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def text_table(tournament: Tournament) -> str:
    """The result as a table for a terminal, best policy first."""
    game, names, order = tournament.game, tournament.names, tournament.order()
    width = max(18, *(len(name) for name in names))
    deals = len(tournament.lineups[0].seats) // game.num_players
    lines = [
        f"{game.title} · {game!r} · {tournament.num_games:,} games: "
        f"{deals:,} deals, each from {game.num_players} seats, in {len(tournament.lineups)} line-ups",
        "",
        *_standing(tournament, width),
    ]
    lines += ["", "mean return of the row's policy alone among the column's, with 95% intervals"]
    column = max(16, *(len(name) for name in names))
    lines.append(" " * width + "".join(f"  {names[b]:>{column}}" for b in order))
    for a in order:
        cells = [str(tournament.payoff(a, b)) if a != b else "-" for b in order]
        lines.append(f"{names[a]:<{width}}" + "".join(f"  {cell:>{column}}" for cell in cells))
    means = [lineup.decisions.mean() for lineup in tournament.lineups]
    least, most = f"{min(means):.0f}", f"{max(means):.0f}"
    lines += ["", f"a game took {least if least == most else f'{least}-{most}'} decisions on average"]
    truncated = max(lineup.truncated.mean() for lineup in tournament.lineups)
    if truncated:
        lines[-1] += f"; up to {truncated:.2%} of a line-up's games were truncated"
    for name, kinds in tournament.faults.items():
        for kind, count in kinds.items():
            lines.append(f"{name} lost {count:,} games by its {kind}; the first: {tournament.messages[name, kind]}")
    lines += ["", verdict(tournament)]
    return "\n".join(lines)


def _standing(tournament: Tournament, width: int) -> list[str]:
    """A line of headings and one a policy, best first. What counts wins stands there only if these are what is paid."""
    game, order = tournament.game, tournament.order()
    leads = [str(tournament.difference(a, b)) for a, b in itertools.pairwise(order)]
    mixed = [tournament.in_mixed(a) for a in order]
    columns = [
        ("mean return", 16, [str(tournament.overall(a)) for a in order]),
        ("ahead of the next", 17, [*leads, ""]),
        ("at mixed tables", 16, ["" if mean is None else str(mean) for mean in mixed]),
    ]
    note = f"a game pays {game.min_return:g} to {game.max_return:g}"
    if game.pays_winners:
        wins, ratings = [tournament.win_share(a) for a in order], tournament.ratings()
        columns.insert(2, ("win share", 14, [f"{win.mean:.1%} ± {win.half_width:.1%}" for win in wins]))
        columns.append(("rating", 10, [f"{ratings[a].mean:+.0f} ± {ratings[a].half_width:.0f}" for a in order]))
        note = f"fair share {1 / game.num_players:.1%}"
    lines = [f"{name:<{width}}" for name in ("alone among others", *(tournament.names[a] for a in order))]
    for heading, room, cells in columns:
        lines = [f"{line}  {cell:>{room}}" for line, cell in zip(lines, [heading, *cells], strict=True)]
    return [f"{lines[0]}  ({note})", *lines[1:]]


def as_json(tournament: Tournament) -> dict[str, Any]:
    """All figures, for code: intervals are `mean` ± `half_width` over `samples` deals."""
    names, ratings, places = tournament.names, tournament.ratings(), tournament.order()
    return {
        "tournament": tournament.plan.describe(),
        "games": tournament.num_games,
        "policies": [
            {
                "name": names[a],
                "place": places.index(a) + 1,
                "mean_return": _figures(tournament.overall(a)),
                "win_share": _figures(tournament.win_share(a)),
                "mixed_return": _figures(tournament.in_mixed(a)),
                "rating": _figures(ratings[a]),
                "seat_returns": [_figures(seat) for seat in tournament.seat_returns(a)],
                "alpha_rank": None if tournament.alpha_rank is None else float(tournament.alpha_rank[a]),
                "faults": dict(tournament.faults[names[a]]),
            }
            for a in range(len(names))
        ],
        "differences": [
            {"policy": names[a], "minus": names[b], **_figures(tournament.difference(a, b))}
            for a in range(len(names))
            for b in range(a + 1, len(names))
        ],
        "line_ups": [
            {
                "policy": names[a],
                "among": names[b],
                "mean_return": _figures(tournament.payoff(a, b)),
                "decisions": float(lineup.decisions.mean()),
                "truncated": float(lineup.truncated.mean()),
            }
            for (a, b), lineup in tournament.pairings.items()
        ],
    }


def _figures(estimate: Estimate | None) -> Any:
    if estimate is None:
        return None
    half_width = estimate.half_width if math.isfinite(estimate.half_width) else None
    return {"mean": estimate.mean, "half_width": half_width, "samples": estimate.samples}


def write_json(tournament: Tournament, path: Path) -> None:
    """See `as_json`."""
    with atomic_write(path) as file:
        json.dump(as_json(tournament), file, indent=2, ensure_ascii=False)


def write_csv(tournament: Tournament, path: Path) -> None:
    """One row for each ordered pair: A alone among B's."""
    n = tournament.game.num_players
    columns = ("policy", "among", "deals", "games", "mean_return", "return_ci95", "win_share", "win_share_ci95")
    with atomic_write(path) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*columns, "decisions", *(f"return_seat_{seat}" for seat in range(n))])
        for (a, b), lineup in tournament.pairings.items():
            payoff, win = tournament.payoff(a, b), tournament.win_share_among(a, b)
            figures = (payoff.mean, payoff.half_width, win.mean, win.half_width)
            writer.writerow(
                [
                    _cell(tournament.names[a]),
                    _cell(tournament.names[b]),
                    payoff.samples,
                    len(lineup.seats),
                    *(f"{value:.6f}" for value in figures),
                    f"{lineup.decisions.mean():.2f}",
                    *(f"{value:.6f}" for value in lineup.by_deal_and_seat(a).mean(axis=0)),
                ]
            )


def write_picture(tournament: Tournament, path: Path) -> None:
    """The standings with their intervals, and the payoff matrix as a heat map, as a PNG."""
    try:
        from matplotlib.colors import LinearSegmentedColormap
        from matplotlib.figure import Figure
    except ImportError as error:
        raise CardEnvsError(f"pictures need the extra 'train': pip install 'card-envs[train]' ({error})") from error
    game, order, count = tournament.game, tournament.order(), len(tournament.names)
    shown = [_short(tournament.names[a]) for a in order]
    width = max(2.6, 0.85 * count)
    figure = Figure(figsize=(7.5 + width, 2.6 + 0.55 * count), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=[6, width], sharey=True)
    for y, a in enumerate(order):
        result = tournament.overall(a)
        colour = ABOVE if result.is_above_zero else BELOW if result.is_below_zero else OPEN
        left.errorbar(result.mean, y, xerr=result.half_width, fmt="o", color=colour, capsize=4, markersize=6)
        left.annotate(str(result), (result.mean, y), (0, 7), textcoords="offset points", ha="center", fontsize=8)
    left.axvline(0, color="#9ca3af", linewidth=1)
    left.set_yticks(range(count), shown)
    left.set_ylim(count - 0.5, -0.6)
    left.margins(x=0.2)
    left.set_xlabel(f"mean return alone among others, 95% interval{' (0: a fair share)' if game.pays_winners else ''}")
    left.spines[["top", "right"]].set_visible(False)
    matrix = [[tournament.payoff(a, b).mean if a != b else float("nan") for b in order] for a in order]
    bound = max(0.1, *(abs(value) for row in matrix for value in row if value == value))
    colours = LinearSegmentedColormap.from_list("", [BELOW, "white", ABOVE])
    right.imshow(matrix, cmap=colours, vmin=-1.6 * bound, vmax=1.6 * bound, aspect="auto")  # pale: black figures on it
    for y, row in enumerate(matrix):
        for x, value in enumerate(row):
            right.text(x, y, f"{value:+.3f}" if value == value else "–", ha="center", va="center", fontsize=9)
    right.set_xticks(range(count), shown, rotation=40, ha="left", rotation_mode="anchor")
    right.tick_params(length=0, labeltop=True, labelbottom=False)
    right.set_xlabel("mean return of the row alone\namong the column's")
    right.spines[:].set_visible(False)
    about = f"{game.title}, {game.num_players} players, {tournament.num_games:,} games"
    figure.suptitle("\n".join([about, *textwrap.wrap(_literal(verdict(tournament)), 85 + 6 * count)]), fontsize=11)
    with atomic_write(path, "wb") as file, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")  # a box stands in for what the font lacks
        figure.savefig(file, format="png", dpi=130)
