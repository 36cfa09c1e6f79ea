#!/usr/bin/env python3
"""Our copies, transposes and im2col on this GPU, in turn with what a user would run instead.

    python3 bench/gpu/run.py --library libtilecopy_bench_gpu.so --tool tilecopy [--only REGEX] [--json FILE]

Every contender of a case runs in one process on the same arrays: random data, rotating sets of arrays
that are larger than the L2 together, CUDA graphs timed by events, in turn for `--rounds` rounds. What
counts is the median. Results are compared with the reference byte by byte; a contender whose result
differs is shown as wrong and never as best.
"""

import argparse
import dataclasses
import json
import re
import statistics
import subprocess
import sys
import time
import traceback
from datetime import datetime, timezone

import torch
import torch.nn.functional as F
import triton

import kernels
import peers
from tilecopy_library import DTYPES, Library

LEAST_BYTES = 512 << 20  # of all sets of a case: several times the L2
torch_dtype = {name: dtype for dtype, name in DTYPES.items()}


@dataclasses.dataclass
class Contender:
    name: str
    ours: bool  # None for what is neither ours nor a peer
    launch: object  # of a list of arrays
    note: str = ""
    compared: bool = True  # with the reference


@dataclasses.dataclass
class Case:
    name: str
    bytes: int  # read and written
    sets: list  # of lists of arrays, the outputs last
    contenders: list
    reference: object = None  # the output of the first set
    outputs: int = 1
    compared_with: str = "the best peer"


def random_array(shape, dtype, strides=None):
    """Random bytes that are finite numbers."""
    if strides is not None:
        whole = random_array((shape[0], strides[0]), dtype)
        return whole.as_strided(shape, strides)
    if dtype.is_floating_point:
        size = 1
        for extent in shape:
            size *= extent
        result = torch.empty(size, dtype=dtype, device="cuda")
        for at in range(0, size, 1 << 28):  # a float32 of all would not fit beside it
            part = result[at : at + (1 << 28)]
            part.copy_(torch.empty(part.shape, dtype=torch.float32, device="cuda").uniform_(-1, 1))
        return result.view(shape)
    return torch.randint(-100, 100, shape, dtype=dtype, device="cuda")


def number_of_sets(bytes_of_a_set):
    return max(1, min(64, -(-LEAST_BYTES // bytes_of_a_set)))


def rows(m, n):
    """A matrix as one row of 16384 elements after another, if that is what it is."""
    return (m * n // 16384, 16384) if m * n % 16384 == 0 else (m, n)


class Bench:
    def __init__(self, options):
        self.options = options
        self.library = Library(options.library)
        self.results = []
        self.failures = []

    # ---- Contenders ----

    def built_in(self, kind, *flags):
        command = [self.options.tool, "ir", kind, "--target", "cuda -arch=sm_90a", *flags]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def ours(self, name, text, sets, method="", views=None):
        """A kernel of ours, bound to every set, or to views of it."""
        kernel = self.library.compile(text, method)
        bound = [kernel.bind(*arrays) for arrays in views or sets]
        launches = {id(arrays): launch for arrays, launch in zip(sets, bound)}
        return Contender(name, True, lambda arrays: launches[id(arrays)](), kernel.ways())

    def try_all(self, makers):
        """Contenders that can be made here; what cannot is told at the end."""
        made = []
        for name, make in makers:
            try:
                made.append(make())
            except Exception as error:  # a peer's compiler may fail in any way
                self.failures.append(f"{name}: {type(error).__name__}: {str(error).strip()[:160]}")
        return made

    # ---- Measuring ----

    def graph(self, case, contender):
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            contender.launch(case.sets[0])
        torch.cuda.current_stream().wait_stream(stream)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for arrays in case.sets:
                contender.launch(arrays)
        return graph

    def is_right(self, case, contender):
        if case.reference is None or not contender.compared:
            return True
        output = case.sets[0][-1]
        output.fill_(3)
        contender.launch(case.sets[0])
        torch.cuda.synchronize()
        return torch.equal(output, case.reference)

    def run(self, case):
        graphs = []
        for contender in case.contenders:
            try:
                right = self.is_right(case, contender)
                graphs.append((contender, right, self.graph(case, contender)))
            except Exception as error:
                self.failures.append(f"{case.name}, {contender.name}: {str(error).strip()[:160]}")
        times = {contender.name: [] for contender, _, _ in graphs}
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        for number in range(self.options.rounds + 2):
            turn = number % max(len(graphs), 1)
            for contender, _, graph in graphs[turn:] + graphs[:turn]:
                begin.record()
                graph.replay()
                end.record()
                end.synchronize()
                if number >= 2:
                    times[contender.name].append(begin.elapsed_time(end) / len(case.sets))
        entries = []
        for contender, right, _ in graphs:
            spent = times[contender.name]
            median = statistics.median(spent)
            entries.append({"case": case.name, "contender": contender.name, "ours": contender.ours,
                            "right": right, "note": contender.note, "ms": median, "least_ms": min(spent),
                            "bytes": case.bytes, "TB/s": case.bytes / median / 1e9})
        self.show(case, entries)
        self.results += entries

    def show(self, case, entries):
        # What is no peer but a floor has None for `ours`.
        best = min((e["ms"] for e in entries if e["ours"] is False and e["right"]), default=None)
        print(f"{case.name}  ({case.bytes / 2**20:.0f} MiB moved)")
        for e in sorted(entries, key=lambda e: e["ms"]):
            e["of_best_peer"] = best / e["ms"] if best else None
            ratio = f"{e['of_best_peer']:.3f}" if best else "-"
            print(f"  {'*' if e['ours'] else ' '} {e['contender']:<28} {e['ms']:9.4f} ms {e['TB/s']:7.3f} TB/s "
                  f"{ratio:>6} {'' if e['right'] else 'WRONG '}{e['note'] if e['ours'] else ''}")
        sys.stdout.flush()

    # ---- Cases ----

    def copy_case(self, name, shape, dtype, out_dtype=None, strides=None, out_strides=None, offset=0,
                  variants=(), tilelang=((64, 128), (32, 256))):
        """`variants`: name, arguments of kernels.copy, and a method or nothing."""
        out_dtype = out_dtype or dtype
        wide = (shape[0], shape[1] + offset)
        make = lambda d, s: random_array(wide, torch_dtype[d], s)
        moved = shape[0] * shape[1] * sum(torch_dtype[d].itemsize for d in (dtype, out_dtype))
        sets = [[make(dtype, strides), make(out_dtype, out_strides)] for _ in range(number_of_sets(moved))]
        if offset:
            sets = [[a[:, offset:], b[:, :-offset].contiguous()] for a, b in sets]
        a, b = sets[0]
        reference = a.to(b.dtype).clone()
        plain = strides is None and out_strides is None and not offset
        fixed = dict(dtype=dtype, out_dtype=out_dtype, strides=strides, out_strides=out_strides)
        makers = []
        if plain and dtype == out_dtype:
            for way, flags in BUILT_IN_WAYS:
                def built(way=way, flags=flags):
                    text = self.built_in("copy", "--shape", f"{shape[0]}x{shape[1]}", "--dtype", dtype, *flags)
                    return self.ours(f"tilecopy {way}", text, sets)
                makers.append((f"{name}: {way}", built))
        for variant, arguments, method in variants:
            def ours(variant=variant, arguments=arguments, method=method):
                return self.ours(f"tilecopy {variant}", kernels.copy(shape, **fixed, **arguments), sets, method)
            makers.append((f"{name}: {variant}", ours))
        torch_copy = lambda arrays: arrays[1].copy_(arrays[0])
        label = "cudaMemcpyAsync" if plain and dtype == out_dtype else "torch copy_"
        makers.append((label, lambda: Contender(label, False, torch_copy)))
        for peer, launch in peers.triton_copies(a, b):
            makers.append((peer, lambda peer=peer, launch=launch: Contender(
                peer, False, lambda arrays: launch(*arrays))))
        if peers.tilelang and plain:
            for tile in tilelang:
                for build in (peers.tilelang_copy, peers.tilelang_copy_fragment):
                    def made(tile=tile, build=build):
                        kernel = build(shape, tile, dtype, out_dtype)
                        kind = "shared" if build is peers.tilelang_copy else "fragment"
                        return Contender(f"tilelang {kind} {tile[0]}x{tile[1]}", False,
                                         lambda arrays: kernel(*arrays))
                    makers.append((f"{name}: tilelang {tile}", made))
        return Case(name, moved, sets, self.try_all(makers), reference)

    def add_case(self, name, shape, dtype, tiles):
        arrays = lambda: [random_array(shape, torch_dtype[dtype]) for _ in range(3)]
        moved = 3 * shape[0] * shape[1] * torch_dtype[dtype].itemsize
        sets = [arrays() for _ in range(number_of_sets(moved))]
        a, b, c = sets[0]
        makers = [(f"{tile}", lambda tile=tile, threads=threads: self.ours(
            f"tilecopy {tile[0]}x{tile[1]}/{threads}", kernels.add(shape, tile, threads, dtype), sets))
            for tile, threads in tiles]
        makers.append(("torch", lambda: Contender(
            "torch add", False, lambda s: torch.add(s[0], s[1], out=s[2]))))
        for peer, launch in peers.triton_adds(shape[0] * shape[1]):
            makers.append((peer, lambda peer=peer, launch=launch: Contender(
                peer, False, lambda s: launch(*s))))
        if peers.tilelang:
            for tile in ((1, 1024), (64, 128)):
                def made(tile=tile):
                    kernel = peers.tilelang_add(shape, tile, dtype)
                    return Contender(f"tilelang {tile[0]}x{tile[1]}", False, lambda s: kernel(*s))
                makers.append((f"{name}: tilelang {tile}", made))
        return Case(name, moved, sets, self.try_all(makers), a + b)

    def transpose_case(self, name, shape, dtype, variants):
        m, n = shape
        moved = 2 * m * n * torch_dtype[dtype].itemsize
        sets = [[random_array(shape, torch_dtype[dtype]), random_array((n, m), torch_dtype[dtype])]
                for _ in range(number_of_sets(moved))]
        text = self.built_in("transpose", "--shape", f"{m}x{n}", "--dtype", dtype)
        makers = [("default", lambda: self.ours("tilecopy default", text, sets)),
                  ("copy", lambda: self.ours("tilecopy copy of as much", kernels.copy(
                      rows(m, n), (1, 1024), through="nothing", dtype=dtype), sets, views=[
                          [a.view(rows(m, n)), b.view(rows(m, n))] for a, b in sets]))]
        for variant, arguments in variants:
            makers.append((variant, lambda variant=variant, arguments=arguments: self.ours(
                f"tilecopy {variant}", kernels.transpose(shape, dtype=dtype, **arguments), sets)))
        makers.append(("torch", lambda: Contender("torch copy_", False, lambda s: s[1].copy_(s[0].t()))))
        for peer, launch in peers.triton_transposes(m, n):
            makers.append((peer, lambda peer=peer, launch=launch: Contender(
                peer, False, lambda s: launch(*s))))
        if peers.tilelang:
            for tile in ((64, 64), (128, 64)):
                def made(tile=tile):
                    kernel = peers.tilelang_transpose(shape, tile, dtype)
                    return Contender(f"tilelang {tile[0]}x{tile[1]}", False, lambda s: kernel(*s))
                makers.append((f"{name}: tilelang {tile}", made))
        contenders = self.try_all(makers)
        for contender in contenders:
            if contender.name == "tilecopy copy of as much":
                contender.compared = False
        return Case(name, moved, sets, contenders, sets[0][0].t().contiguous())

    def im2col_case(self, name, image, window, tiles, dtype="float16"):
        n, h, w, c = image
        kernel, stride, dilation, pad = window
        _, (m, k) = kernels.im2col(image, window, (64, 64), dtype=dtype)
        kind = torch_dtype[dtype]
        moved = (n * h * w * c + m * k) * kind.itemsize
        sets = [[random_array(image, kind), torch.empty((m, k), dtype=kind, device="cuda")]
                for _ in range(number_of_sets(moved))]
        unfold = lambda x: F.unfold(x, kernel, dilation, pad, stride)
        planes = {id(s): s[0].permute(0, 3, 1, 2).contiguous() for s in sets}
        columns = unfold(planes[id(sets[0])])
        reference = columns.view(n, c, kernel * kernel, -1).permute(0, 3, 2, 1).reshape(m, k).contiguous()
        del columns
        flags = ["--shape", "x".join(map(str, image)), "--dtype", dtype, "--kernel", kernel, "--stride", stride,
                 "--dilation", dilation, "--pad", pad]
        text = self.built_in("im2col", *map(str, flags))
        sink = torch.zeros(1, dtype=torch.int32, device="cuda")

        def ends(arrays):
            peers.fill_zero(arrays[1])
            peers.read_all(arrays[0], sink)
        makers = [("default", lambda: self.ours("tilecopy default", text, sets)),
                  ("unfold", lambda: Contender("torch unfold", False, lambda s: unfold(planes[id(s)]),
                                               compared=False)),
                  ("floor", lambda: Contender("(write + read alone)", None, ends, compared=False))]
        for tile, extra in tiles:
            makers.append((f"{tile}", lambda tile=tile, extra=extra: self.ours(
                f"tilecopy {tile[0]}x{tile[1]}", kernels.im2col(
                    image, window, tile, dtype=dtype, **extra)[0], sets)))
        if peers.tilelang:
            for tile in ((64, 64), (128, 64)):
                if c % tile[1]:
                    continue

                def made(tile=tile):
                    built = peers.tilelang_im2col(image, window, tile, dtype)
                    return Contender(f"tilelang {tile[0]}x{tile[1]}", False, lambda s: built(*s))
                makers.append((f"{name}: tilelang {tile}", made))
        return Case(name, moved, sets, self.try_all(makers), reference)

    # ---- Costs of the host: ours are in host_costs.py ----

    def tilelang_compile_costs(self):
        makers = {"copy": lambda t: peers.tilelang_copy((8192, 8192), (t, 128), "float16"),
                  "im2col": lambda t: peers.tilelang_im2col((32, 56, 56, 64), (3, 1, 1, 1), (t, 64), "float16")}
        for name, make in makers.items():
            spent = []
            for tile in (16, 48, 96):  # which no case has compiled
                begin = time.perf_counter()
                try:
                    make(tile)
                except Exception as error:
                    self.failures.append(f"tilelang {name} {tile}: {str(error)[:160]}")
                    continue
                spent.append((time.perf_counter() - begin) * 1e3)
            if spent:
                self.results.append({"case": "compile", "contender": f"tilelang {name}", "ours": False,
                                     "cold_ms": statistics.median(spent)})
                print(f"compile tilelang {name}: cold {statistics.median(spent):.0f} ms")


# The built-in copy by each way, with the tiles that it chooses.
BUILT_IN_WAYS = (("default", ()),
                 ("tma", ("--prefer-instruction", "tma")),
                 ("cp_async", ("--prefer-instruction", "cp_async")),
                 ("sync", ("--through", "shared", "--prefer-instruction", "sync")),
                 ("fragment", ("--through", "fragment")))
# Tiles that a user may have for other reasons.
WAYS = (("tma 64x128", dict(tile=(64, 128), load="tma", store="tma"), ""),
        ("cp_async 64x128", dict(tile=(64, 128), load="cp_async"), ""),
        ("bulk 8x2048", dict(tile=(8, 2048)), "bulk"),
        ("global to global", dict(tile=(1, 1024), through="nothing"), ""))


def cases(bench):
    copy = bench.copy_case
    big = (16384, 8192)
    yield "copy 256 MiB float16", lambda n: copy(n, big, "float16", variants=WAYS)
    yield "copy 1 GiB float16", lambda n: copy(n, (32768, 16384), "float16", variants=WAYS)
    yield "copy 4 GiB float16", lambda n: copy(n, (65536, 32768), "float16", variants=WAYS)
    for mib in (1, 4, 16, 64):
        yield f"copy {mib} MiB float16", lambda n, mib=mib: copy(n, (mib * 64, 8192), "float16", variants=WAYS)
    yield "copy 512 MiB int8", lambda n: copy(n, (32768, 16384), "int8", variants=WAYS[:2])
    yield "copy 512 MiB float32", lambda n: copy(n, (16384, 8192), "float32", variants=WAYS[:2])
    yield "copy 512 MiB int64", lambda n: copy(n, (8192, 8192), "int64", variants=(
        ("tma 64x32", dict(tile=(64, 32), load="tma", store="tma"), ""),), tilelang=((64, 32),))
    yield "copy evict_first", lambda n: copy(n, big, "float16", variants=tuple(
        (f"{way} {eviction}", dict(arguments, eviction=eviction), method)
        for way, arguments, method in (WAYS[0], WAYS[3]) for eviction in (None, "evict_first", "evict_last")))
    pitched = dict(strides=(8256, 1), out_strides=(8320, 1))
    loose = (("tma 64x128", dict(tile=(64, 128), load="tma", store="tma"), ""),
             ("64x128", dict(tile=(64, 128)), ""),
             ("global to global", dict(tile=(1, 1024), through="nothing"), ""),
             ("global to global 1x2048", dict(tile=(1, 2048), threads=256, through="nothing"), ""),
             ("global to global 4x256", dict(tile=(4, 256), through="nothing"), ""))
    yield "copy pitched", lambda n: copy(n, big, "float16", **pitched, variants=loose)
    yield "copy pitched by 1", lambda n: copy(n, big, "float16", strides=(8193, 1), out_strides=(8195, 1),
                                              variants=loose[1:])
    yield "copy column slice", lambda n: copy(n, (16384, 8192), "float16", strides=(16384, 1), offset=64,
                                              variants=loose)
    yield "copy ragged 10007x10009", lambda n: copy(n, (10007, 10009), "float16", variants=loose[1:])
    yield "cast float32 to float16", lambda n: copy(n, big, "float32", "float16", variants=(
        ("through a fragment", dict(tile=(4, 256), through="fragment"), ""),
        ("global to global", dict(tile=(1, 1024), through="nothing"), ""),
        ("64x128", dict(tile=(64, 128)), "")))
    yield "cast float16 to float32", lambda n: copy(n, big, "float16", "float32", variants=(
        ("through a fragment", dict(tile=(4, 256), through="fragment"), ""),
        ("global to global", dict(tile=(1, 1024), through="nothing"), ""),
        ("64x128", dict(tile=(64, 128)), "")))
    yield "add float32", lambda n: bench.add_case(n, (16384, 8192), "float32", (
        ((1, 512), 128), ((1, 1024), 128), ((1, 1024), 256)))
    yield "transpose float16", lambda n: bench.transpose_case(n, (16384, 16384), "float16", (
        ("64x64", dict(tile=(64, 64))), ("128x64", dict(tile=(128, 64))), ("64x128", dict(tile=(64, 128))),
        ("128x128", dict(tile=(128, 128), threads=256))))
    yield "transpose float32", lambda n: bench.transpose_case(n, (16384, 8192), "float32", (
        ("32x32", dict(tile=(32, 32))), ("64x64", dict(tile=(64, 64))), ("128x32", dict(tile=(128, 32)))))
    tiles = [((m, k), {}) for m, k in ((64, 64), (128, 64), (128, 128), (64, 128), (256, 64))]
    images = {"128x128x64x64": (128, 64, 64, 128), "32x64x56x56": (32, 56, 56, 64),
              "32x128x28x28": (32, 28, 28, 128), "32x256x14x14": (32, 14, 14, 256)}
    for label, image in images.items():
        yield f"im2col {label}", lambda n, image=image: bench.im2col_case(n, image, (3, 1, 1, 1), tiles)
    image = (32, 56, 56, 64)
    for label, window in {"stride 2": (3, 2, 1, 1), "dilation 2": (3, 1, 2, 2), "kernel 1": (1, 1, 1, 0),
                          "kernel 5": (5, 1, 1, 2), "kernel 7": (7, 1, 1, 3)}.items():
        yield f"im2col {label}", lambda n, window=window: bench.im2col_case(n, image, window, tiles[:3])
    for channels in (3, 32, 256):
        yield f"im2col {channels} channels", lambda n, c=channels: bench.im2col_case(
            n, (32, 56, 56, c), (3, 1, 1, 1), tiles[:3])


def about(options):
    properties = torch.cuda.get_device_properties(0)
    query = subprocess.run(["nvidia-smi", "--query-gpu=driver_version,clocks.sm,clocks.mem,clocks.max.sm",
                            "--format=csv,noheader"], capture_output=True, text=True).stdout.split("\n")[0]
    driver, sm, memory, most = (word.strip() for word in query.split(","))
    versions = {"torch": torch.__version__, "triton": triton.__version__, "cuda": torch.version.cuda}
    if peers.tilelang:
        versions["tilelang"] = peers.tilelang.__version__
    return {"device": properties.name, "driver": driver, "sm_clock": sm, "memory_clock": memory,
            "most_sm_clock": most, "commit": options.commit, "versions": versions,
            "date": datetime.now(timezone.utc).strftime("%Y-%m-%d"), "rounds": options.rounds}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--library", required=True, help="libtilecopy_bench_gpu.so")
    parser.add_argument("--tool", required=True, help="the tilecopy command")
    parser.add_argument("--only", default="", help="cases whose name matches")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--host", help="results of host_costs.py to put beside")
    parser.add_argument("--json", help="where the results go")
    options = parser.parse_args()
    bench = Bench(options)
    begin = time.perf_counter()
    for name, make in cases(bench):
        if not re.search(options.only, name):
            continue
        try:
            bench.run(make(name))
        except Exception:
            bench.failures.append(f"{name}: {traceback.format_exc(limit=-2)}")
        torch.cuda.empty_cache()
    if peers.tilelang and not options.only:
        bench.tilelang_compile_costs()
    for failure in bench.failures:
        print("not run:", failure)
    print(f"{time.perf_counter() - begin:.0f} s")
    if options.host:
        with open(options.host) as file:
            bench.results += json.load(file)
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"about": about(options), "results": bench.results, "not_run": bench.failures}, file, indent=1)


if __name__ == "__main__":
    main()
