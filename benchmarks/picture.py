"""Pictures of ratios: one bar for each thing that was measured, where half and twice as long are equally far from 1."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def save(path: Path, title: str, ratios: Mapping[str, float], *, peer: str, note: str = "") -> None:
    """Writes an SVG of bars.

    ratios: our time divided by the peer's, by measurement
    peer: what a ratio of 1 stands for
    note: a line below, such as the machine and versions
    """
    import matplotlib

    matplotlib.use("svg")
    # the same figures make the same file
    matplotlib.rcParams["svg.hashsalt"] = "lance-sql"
    matplotlib.rcParams["font.family"] = "sans-serif"
    from matplotlib import pyplot

    names, values = list(ratios), list(ratios.values())
    figure, axes = pyplot.subplots(figsize=(8, 0.9 + 0.26 * len(names)), layout="constrained")
    colours = ["#2a7f62" if value <= 1 else "#b4552d" for value in values]
    bars = axes.barh(names, [value - 1 for value in values], left=1, color=colours, height=0.7)
    axes.set_xscale("log", base=2)
    axes.set_xlim(min(0.25, *values) / 1.3, max(2.0, *values) * 1.3)
    axes.xaxis.set_major_formatter(lambda value, _: f"x {value:g}")
    axes.bar_label(bars, [f"{value:.2f}" for value in values], padding=3, fontsize=8)
    axes.axvline(1, color="#444444", linewidth=1)
    axes.invert_yaxis()
    axes.tick_params(labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title(f"{title}: our time / {peer} (left of the line: we are faster)", fontsize=10, loc="left")
    if note:
        axes.set_xlabel(note, fontsize=7)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)
