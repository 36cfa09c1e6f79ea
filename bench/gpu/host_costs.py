#!/usr/bin/env python3
"""What our kernels cost the host: a launch, and compiling them.

    python3 bench/gpu/host_costs.py --library libtilecopy_bench_gpu.so [--json FILE]

A program of its own: the libraries of the peers, once loaded, slow down compiling.
"""

import argparse
import json
import statistics
import time

import torch

import kernels
from tilecopy_library import Library


def launch_costs(library):
    for tensors in (2, 10):
        arrays = [torch.zeros(32, dtype=torch.int32, device="cuda") for _ in range(tensors)]
        ours, bare = library.compile(kernels.nothing(tensors)).bind(*arrays).launch_cost(tensors)
        print(f"launch, {tensors} arguments: {ours:.2f} us, bare driver {bare:.2f} us")
        yield {"case": "launch", "contender": f"{tensors} arguments", "ours": True, "us": ours, "bare_us": bare}


def compile_costs(library):
    texts = {"copy": kernels.copy((8192, 8192), (64, 128), load="tma", store="tma"),
             "transpose": kernels.transpose((8192, 8192), (64, 64)),
             "im2col": kernels.im2col((32, 56, 56, 64), (3, 1, 1, 1), (128, 64))[0]}
    for name, text in texts.items():
        cold, empty = [], []
        for number in range(9):  # each with a name of its own, which nothing has compiled before
            fresh = text.replace(f"function {name}(", f"function {name}{number}{time.time_ns()}(")
            kernel = library.compile(fresh, cache=True)
            kernel.release()
            hit = library.compile(fresh, cache=True)
            empty.append(library.empty_compile_ms())
            cold.append((kernel.own_ms + kernel.build_ms, kernel.own_ms, hit.own_ms + hit.build_ms, hit.from_cache))
        total, own, disk = (statistics.median(c[i] for c in cold) for i in range(3))
        print(f"compile {name}: cold {total:.1f} ms of which ours {own:.2f}, from disk {disk:.2f} ms; "
              f"an empty kernel {statistics.median(empty):.1f} ms")
        yield {"case": "compile", "contender": name, "ours": True, "cold_ms": total, "own_ms": own, "disk_ms": disk,
               "hits": all(c[3] for c in cold), "empty_ms": statistics.median(empty)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--library", required=True)
    parser.add_argument("--json")
    options = parser.parse_args()
    library = Library(options.library)
    results = [*launch_costs(library), *compile_costs(library)]
    if options.json:
        with open(options.json, "w") as file:
            json.dump(results, file)


if __name__ == "__main__":
    main()
