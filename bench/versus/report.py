"""Tables of medians and ratios, from the lines that the rounds have left."""

import json
import pathlib
import statistics

HIGHER_IS_BETTER = {"TTFT p50, s": False, "ITL p50, ms": False, "ITL p99, ms": False}


def median_by_side(rounds: list[dict]) -> dict[str, dict[str, list[float]]]:
    """side -> figure -> its values."""
    found: dict[str, dict[str, list[float]]] = {}
    for one in rounds:
        for figure, value in one["figures"].items():
            found.setdefault(one["side"], {}).setdefault(figure, []).append(value)
    return found


def shown(values: list[float]) -> str:
    return f"{statistics.median(values):.4g}" if values else "–"


def table(mode: str, weights: str, rounds: list[dict]) -> str:
    sides = median_by_side(rounds)
    dure, peer = sides.get("Dure", {}), sides.get("llama.cpp", {})
    lines = [f"{mode}, {weights}: medians of {len(rounds)} runs that alternated", "",
             "| | Dure | llama.cpp | Dure is better by |", "| --- | --- | --- | --- |"]
    for figure in dict.fromkeys([*peer, *dure]):
        ours, theirs = dure.get(figure, []), peer.get(figure, [])
        ratio = "–"
        if ours and theirs:
            a, b = statistics.median(ours), statistics.median(theirs)
            ratio = f"{a / b if HIGHER_IS_BETTER.get(figure, True) else b / a:.2f} ×"
        lines.append(f"| {figure} | {shown(ours)} | {shown(theirs)} | {ratio} |")
    limits: dict[str, list[float]] = {}
    for one in rounds:
        for limit, value in one["limits"].items():
            limits.setdefault(limit, []).append(value)
    spans = ", ".join(f"{min(values):.1f} to {max(values):.1f} {limit}"
                      for limit, values in limits.items())
    return "\n".join(lines) + f"\n\nThe machine's limits, measured in between: {spans}.\n"


def report(results: pathlib.Path) -> str:
    groups: dict[tuple[str, str], list[dict]] = {}
    for line in results.read_text(encoding="utf-8").splitlines():
        one = json.loads(line)
        groups.setdefault((one["mode"], one["weights"]), []).append(one)
    return "\n".join(table(*key, rounds) for key, rounds in groups.items())
