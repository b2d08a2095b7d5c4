"""A tournament as text, as CSV and as a picture."""

from __future__ import annotations

import csv
from pathlib import Path

from card_envs.arena.statistics import estimate
from card_envs.arena.tournament import Tournament, ordered_pairs
from card_envs.errors import CardEnvsError
from card_envs.files import whole_file

_COLUMNS = (
    "policy",
    "among",
    "deals",
    "games",
    "mean_return",
    "return_ci95",
    "win_share",
    "win_share_ci95",
    "decisions",
)


def text_table(tournament: Tournament) -> str:
    """The result as a table for a terminal, best policy first."""
    game, names = tournament.game, tournament.names
    order = sorted(range(len(names)), key=lambda a: -tournament.overall(a).mean)
    width = max(8, *(len(name) for name in names))
    deals = len(next(iter(tournament.pairings.values())).returns)
    lines = [
        f"{game.title} · {game!r} · {tournament.num_games:,} games: "
        f"{deals:,} deals, each from {game.num_players} seats, for every ordered pair",
        "",
        f"{'alone among others':<{width}}  {'mean return':>16}  {'win share':>14}  (fair: {1 / game.num_players:.1%})",
    ]
    for a in order:
        win = tournament.win_share(a)
        lines.append(
            f"{names[a]:<{width}}  {tournament.overall(a)!s:>16}  {f'{win.mean:.1%} ± {win.half_width:.1%}':>14}"
        )
    lines += ["", "mean return of the row's policy alone among the column's, with 95% intervals"]
    column = max(16, *(len(name) for name in names))
    lines.append(" " * width + "".join(f"  {names[b]:>{column}}" for b in order))
    for a in order:
        cells = [str(tournament.payoff(a, b)) if a != b else "-" for b in order]
        lines.append(f"{names[a]:<{width}}" + "".join(f"  {cell:>{column}}" for cell in cells))
    decisions = [pairing.decisions for pairing in tournament.pairings.values()]
    lines += ["", f"a game took {min(decisions):.0f}-{max(decisions):.0f} decisions on average"]
    truncated = max(pairing.truncated for pairing in tournament.pairings.values())
    if truncated:
        lines[-1] += f"; up to {truncated:.2%} of a pair's games were truncated"
    return "\n".join(lines)


def write_csv(tournament: Tournament, path: Path) -> None:
    """One row for each ordered pair: A alone among B's."""
    with whole_file(path) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*_COLUMNS, *(f"return_seat_{seat}" for seat in range(tournament.game.num_players))])
        for a, b in ordered_pairs(len(tournament.names)):
            pairing, payoff = tournament.pairings[a, b], tournament.payoff(a, b)
            win = estimate(pairing.wins)
            writer.writerow(
                [
                    tournament.names[a],
                    tournament.names[b],
                    payoff.samples,
                    payoff.samples * tournament.game.num_players,
                    f"{payoff.mean:.6f}",
                    f"{payoff.half_width:.6f}",
                    f"{win.mean:.6f}",
                    f"{win.half_width:.6f}",
                    f"{pairing.decisions:.2f}",
                    *(f"{value:.6f}" for value in pairing.seat_returns),
                ]
            )


def write_picture(tournament: Tournament, path: Path) -> None:
    """The standings with their intervals, and the payoff matrix as a heat map, as a PNG."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise CardEnvsError(f"pictures need the extra 'train': pip install 'card-envs[train]' ({error})") from error
    names = tournament.names
    order = sorted(range(len(names)), key=lambda a: -tournament.overall(a).mean)
    shown = [names[a] for a in order]
    height = 1.8 + 0.5 * len(names)
    figure = Figure(figsize=(11, max(3.4, height)), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=[1.15, 1])
    for y, a in enumerate(order):
        result = tournament.overall(a)
        colour = "#1a7f5a" if result.low > 0 else "#b3423a" if result.high < 0 else "#6b7280"
        left.errorbar(result.mean, y, xerr=result.half_width, fmt="o", color=colour, capsize=4, markersize=6)
        left.annotate(str(result), (result.mean, y), (0, 8), textcoords="offset points", ha="center", fontsize=8)
    left.axvline(0, color="#9ca3af", linewidth=1)
    left.set_yticks(range(len(order)), shown)
    left.set_ylim(len(order) - 0.5, -0.6)
    left.margins(x=0.2)
    left.set_xlabel("mean return, one seat among others (0 = fair share), 95% interval")
    left.spines[["top", "right"]].set_visible(False)
    matrix = [[tournament.payoff(a, b).mean if a != b else float("nan") for b in order] for a in order]
    bound = max(0.1, *(abs(value) for row in matrix for value in row if value == value))
    right.imshow(matrix, cmap="RdYlGn", vmin=-bound, vmax=bound)
    for y, row in enumerate(matrix):
        for x, value in enumerate(row):
            right.text(x, y, f"{value:+.3f}" if value == value else "–", ha="center", va="center", fontsize=9)
    right.set_xticks(range(len(order)), shown, rotation=25, ha="right")
    right.set_yticks(range(len(order)), shown)
    right.set_title("row alone among column's: mean return", fontsize=10)
    figure.suptitle(f"{tournament.game.title}, {tournament.game.num_players} players, {tournament.num_games:,} games")
    with whole_file(path, "wb") as file:
        figure.savefig(file, format="png", dpi=130)
