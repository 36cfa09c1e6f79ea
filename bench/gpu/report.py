#!/usr/bin/env python3
"""docs/gpu-benchmarks.md and its plot, from the JSON of run.py.

    python3 bench/gpu/report.py bench/results/h200-2026-12-01.json
"""

import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PREFIX = "tilecopy "


def by_case(results):
    cases = {}
    for entry in results:
        if "ms" in entry:
            cases.setdefault(entry["case"], []).append(entry)
    return cases


def best(entries, ours):
    fitting = [e for e in entries if e["ours"] is ours and e["right"] and "as much" not in e["contender"]]
    return min(fitting, key=lambda e: e["ms"], default=None)


def named(entries, name):
    return next((e for e in entries if e["contender"] == name), None)


def default_of(entries):
    return named(entries, PREFIX + "default") or best(entries, True)


def cell(entry, other):
    return f"{other['ms'] / entry['ms']:.3f}" if entry and other else ""


def copy_table(cases):
    yield "| case | TB/s | of the best peer | the best peer | tma | cp_async | sync | our best |"
    yield "|---|---|---|---|---|---|---|---|"
    for case, entries in cases.items():
        if case.startswith(("im2col", "transpose")):
            continue
        ours, peer, top = default_of(entries), best(entries, False), best(entries, True)
        ways = [cell(named(entries, PREFIX + way), peer) for way in ("tma", "cp_async", "sync")]
        yield (f"| {case} | {ours['TB/s']:.3f} | **{cell(ours, peer)}** | {peer['contender']}, {peer['TB/s']:.3f} "
               f"| {' | '.join(ways)} | {top['contender'].removeprefix(PREFIX)}, {cell(top, peer)} |")


def transpose_table(cases):
    yield "| case | TB/s | of our copy | of the best peer | the best peer | PyTorch |"
    yield "|---|---|---|---|---|---|"
    for case, entries in cases.items():
        if not case.startswith("transpose"):
            continue
        ours, peer = default_of(entries), best(entries, False)
        copy, torch = named(entries, PREFIX + "copy of as much"), named(entries, "torch copy_")
        yield (f"| {case} | {ours['TB/s']:.3f} | **{cell(ours, copy)}** | {cell(ours, peer)} | "
               f"{peer['contender']}, {peer['TB/s']:.3f} | {torch['TB/s']:.3f} |")


def im2col_table(cases):
    yield "| case | ms | TB/s | times F.unfold | of write + read alone | of TileLang | our best |"
    yield "|---|---|---|---|---|---|---|"
    for case, entries in cases.items():
        if not case.startswith("im2col"):
            continue
        ours, top = default_of(entries), best(entries, True)
        unfold, floor = named(entries, "torch unfold"), named(entries, "(write + read alone)")
        tilelang = min((e for e in entries if e["contender"].startswith("tilelang") and e["right"]),
                       key=lambda e: e["ms"], default=None)
        yield (f"| {case} | {ours['ms']:.4f} | {ours['TB/s']:.3f} | **{unfold['ms'] / ours['ms']:.1f}** | "
               f"{cell(ours, floor)} | {cell(ours, tilelang)} | {top['contender'].removeprefix(PREFIX)}, "
               f"{unfold['ms'] / top['ms']:.1f} |")


def host_table(results):
    yield "| cost | ours | beside it |"
    yield "|---|---|---|"
    tilelang = {e["contender"].removeprefix("tilelang "): e["cold_ms"] for e in results
                if e["case"] == "compile" and not e["ours"]}
    for e in results:
        if e["case"] == "launch":
            yield (f"| a launch, {e['contender']} | {e['us']:.2f} us | {e['bare_us']:.2f} us, the driver's own call |")
        elif e["case"] == "compile" and e["ours"]:
            other = tilelang.get(e["contender"])
            beside = [f"{e['empty_ms']:.1f} ms, NVRTC for a kernel that does nothing"] if "empty_ms" in e else []
            beside += [f"{other:.0f} ms, TileLang"] if other else []
            again = (f"{e['disk_ms']:.2f} ms from disk" if "disk_ms" in e
                     else f"{e['live_ms']:.2f} ms while a kernel of the same text lives")
            yield (f"| compiling {e['contender']} | {e['cold_ms']:.1f} ms, of which {e['own_ms']:.2f} ms are ours; "
                   f"{again} | {'; '.join(beside)} |")


def plot(cases):
    """Bars of our default against the best peer, which is 1."""
    rows = [(case, best(entries, False)["ms"] / default_of(entries)["ms"]) for case, entries in cases.items()
            if best(entries, False)]
    left, unit, high, top = 210, 300, 16, 24
    most = 1.35
    height = top + high * len(rows) + 10
    width = left + int(unit * most) + 60
    text = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            'font-family="sans-serif" font-size="11">',
            f'<rect width="{width}" height="{height}" fill="white"/>',
            f'<text x="{left}" y="14">speed of the default, the best peer is 1</text>']
    for i, (case, ratio) in enumerate(rows):
        y = top + high * i
        fill = "#2a7" if ratio >= 0.995 else "#c83"
        text.append(f'<text x="{left - 6}" y="{y + 11}" text-anchor="end">{case}</text>')
        text.append(f'<rect x="{left}" y="{y + 2}" width="{unit * min(ratio, most):.0f}" height="11" fill="{fill}"/>')
        text.append(f'<text x="{left + unit * min(ratio, most) + 4:.0f}" y="{y + 11}">{ratio:.2f}</text>')
    text.append(f'<line x1="{left + unit}" y1="{top - 4}" x2="{left + unit}" y2="{height - 6}" stroke="black"/>')
    return "\n".join(text + ["</svg>", ""])


def main():
    data = json.loads(pathlib.Path(sys.argv[1]).read_text())
    about, results = data["about"], data["results"]
    cases = by_case(results)
    wrong = [f"{e['case']}, {e['contender']}" for e in results if e.get("right") is False]
    versions = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    lines = [
        "# Benchmarks on a GPU", "",
        f"{about['device']}, driver {about['driver']}, {about['date']}, commit {about['commit']}; {versions}; clocks "
        f"{about['sm_clock']} and {about['memory_clock']} (memory). Command: `scripts/gpu-bench`.", "",
        "Each case runs all contenders in one process on the same arrays: random data, sets of arrays that together",
        f"exceed the L2 several times, CUDA graphs timed by events, in turn, {about['rounds']} rounds, medians. Rates",
        "count each byte read once and written once. Results were compared byte by byte with PyTorch's, "
        + ("all equal." if not wrong else "wrong: " + "; ".join(wrong) + "."),
        "A peer is taken with the best of its settings for each case (bench/gpu/peers.py); ours is the built-in with the",
        "tile that it chooses, or, where there is none, the best of the variants in bench/gpu/run.py. The same kernel",
        "measured twice in a run differs by up to 0.01. What the figures mean is in [performance notes]"
        "(performance-notes.md).", "",
        "![ratios to the best peer](gpu-benchmarks.svg)", "", "## Copies", "", *copy_table(cases), "",
        "## Transposes", "", *transpose_table(cases), "", "## im2col", "",
        "`F.unfold` reads and writes NCHW, ours NHWC. \"write + read alone\": the matrix written and the image read by",
        "two kernels that do nothing else.", "", *im2col_table(cases), "", "## On the host", "", *host_table(results), ""]
    if "host_costs" in about:
        lines += [f"Measured by {about['host_costs']}.", ""]
    if data["not_run"]:
        lines += ["Not run: " + "; ".join(data["not_run"]) + ".", ""]
    (ROOT / "docs/gpu-benchmarks.md").write_text("\n".join(lines))
    (ROOT / "docs/gpu-benchmarks.svg").write_text(plot(cases))


if __name__ == "__main__":
    main()
