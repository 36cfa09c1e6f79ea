#!/usr/bin/env python3
"""What `explain` predicts of the built-in kernels beside what the hardware counts.

    python3 bench/gpu/counters.py --library libtilecopy_bench_gpu.so --tool tilecopy

It runs itself under ncu, once, and prints a table: sectors of global memory for each request of a
warp, passes of shared memory for each access (1.00 is without conflicts), bytes of DRAM.
"""

import argparse
import csv
import io
import os
import subprocess
import sys

KERNELS = {
    "copy": ("copy", "--shape", "8192x8192"),
    "copy by cp_async": ("copy", "--shape", "8192x8192", "--prefer-instruction", "cp_async"),
    "copy by sync": ("copy", "--shape", "8192x8192", "--through", "shared", "--prefer-instruction", "sync"),
    "copy of odd rows": ("copy", "--shape", "8191x8191"),
    "transpose float16": ("transpose", "--shape", "8192x8192"),
    "transpose float32": ("transpose", "--shape", "8192x8192", "--dtype", "float32"),
    "im2col": ("im2col", "--shape", "32x56x56x64", "--pad", "1"),
}
GLOBAL = {way: f"l1tex__t_{{}}_pipe_lsu_mem_global_op_{way}.sum" for way in ("ld", "st")}
SHARED = {way: f"smsp__inst_executed_op_shared_{way}.sum" for way in ("ld", "st")}
WAVES = {way: f"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{way}.sum" for way in ("ld", "st")}
CONFLICTS = {way: f"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{way}.sum" for way in ("ld", "st")}
METRICS = ([name.format(what) for name in GLOBAL.values() for what in ("sectors", "requests")]
           + [*SHARED.values(), *WAVES.values(), *CONFLICTS.values(), "dram__bytes_read.sum",
              "dram__bytes_write.sum"])


def compiled(options):
    """Name, kernel and arrays of each."""
    import torch
    from tilecopy_library import Library
    library = Library(options.library)
    for name, (kind, *flags) in KERNELS.items():
        command = [options.tool, "ir", kind, "--target", "cuda -arch=sm_90a", *flags]
        text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        params = [part.strip(" ,") for part in text.split("(", 1)[1].split(") {", 1)[0].split("],")]
        arrays = []
        for param in params:
            dtype, shape = param.split(":")[1].strip(" ]").split("[")
            extents = [int(extent) for extent in shape.split(",")]
            arrays.append(torch.rand(extents, device="cuda").to(getattr(torch, dtype)))
        yield name, library.compile(text), arrays


def measure(options):
    import torch
    for _, kernel, arrays in compiled(options):
        kernel.bind(*arrays)()
        torch.cuda.synchronize()


def report(options):
    own = [sys.executable, os.path.abspath(__file__), "--measure", "--library", options.library,
           "--tool", options.tool]
    command = ["ncu", "--clock-control", "none", "--csv", "--print-units", "base", "--kernel-name",
               "regex:^(copy|transpose|im2col)_kernel$", "--metrics", ",".join(METRICS), *own]
    output = subprocess.run(command, capture_output=True, text=True)
    begin = output.stdout.find('"ID"')
    if begin < 0:
        sys.exit(output.stdout[-2000:] + output.stderr[-2000:])
    counted = {}
    for row in csv.DictReader(io.StringIO(output.stdout[begin:])):
        try:
            value = float(row["Metric Value"].replace(",", ""))
        except ValueError:
            value = float("nan")
        counted.setdefault(int(row["ID"]), {})[row["Metric Name"]] = value

    def ratio(values, above, below):
        return f"{values[above] / values[below]:.2f}" if values.get(below) else "-"

    print("| kernel | predicted sectors | counted ld, st | predicted bank ways | wavefronts and conflicts, ld | st "
          "| bytes of the arrays | DRAM read + written |")
    print("|---|---|---|---|---|---|---|---|")
    for (name, kernel, arrays), values in zip(compiled(options), counted.values()):
        plans = kernel.explain()["operations"]
        says = lambda what: "; ".join(f"{p['method']}: {p['parameters'][what]}" for p in plans
                                      if what in p["parameters"])
        sectors = ", ".join(ratio(values, GLOBAL[w].format("sectors"), GLOBAL[w].format("requests")) for w in GLOBAL)
        waves = [f"{values.get(WAVES[w], 0):.3g}, {values.get(CONFLICTS[w], 0):.3g}" for w in WAVES]
        size = sum(a.numel() * a.element_size() for a in arrays)
        dram = values["dram__bytes_read.sum"], values["dram__bytes_write.sum"]
        print(f"| {name} | {says('sectors')} | {sectors} | {says('bank_ways')} | {waves[0]} | {waves[1]} "
              f"| {size / 1e6:.1f} MB | {dram[0] / 1e6:.1f} + {dram[1] / 1e6:.1f} MB |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--library", required=True)
    parser.add_argument("--tool", required=True)
    parser.add_argument("--measure", action="store_true", help="run the kernels, for ncu")
    options = parser.parse_args()
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    measure(options) if options.measure else report(options)


if __name__ == "__main__":
    main()
