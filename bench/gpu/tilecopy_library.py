"""Our kernels in this process: libtilecopy_bench_gpu.so (library.cpp) through ctypes."""

import ctypes
import json

import torch

DTYPES = {
    torch.float16: "float16", torch.bfloat16: "bfloat16", torch.float32: "float32",
    torch.float64: "float64", torch.int8: "int8", torch.uint8: "uint8", torch.int16: "int16",
    torch.int32: "int32", torch.int64: "int64",
}


class _Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("dtype", ctypes.c_char_p), ("rank", ctypes.c_int),
                ("shape", ctypes.c_int64 * 8), ("strides", ctypes.c_int64 * 8)]


class Library:
    def __init__(self, path):
        self._lib = ctypes.CDLL(path)
        for name in ("bench_error", "bench_ways", "bench_explain_json"):
            getattr(self._lib, name).restype = ctypes.c_char_p
        self._lib.bench_empty_compile.restype = ctypes.c_double
        for name in ("bench_compile", "bench_bind"):
            getattr(self._lib, name).restype = ctypes.c_void_p

    def _raise(self):
        raise RuntimeError(self._lib.bench_error().decode())

    def empty_compile_ms(self):
        """What NVRTC takes for a kernel that does nothing."""
        return self._lib.bench_empty_compile()

    def compile(self, text, method="", cache=False):
        own, build, hit = ctypes.c_double(), ctypes.c_double(), ctypes.c_int()
        handle = self._lib.bench_compile(text.encode(), method.encode(), int(cache),
                                         ctypes.byref(own), ctypes.byref(build), ctypes.byref(hit))
        if not handle:
            self._raise()
        return Kernel(self._lib, handle, own.value, build.value, bool(hit.value))


class Kernel:
    """A compiled kernel. `own_ms` is our stages' time, `build_ms` the CUDA compiler's or the cache's."""

    def __init__(self, lib, handle, own_ms, build_ms, from_cache):
        self._lib, self._handle = lib, ctypes.c_void_p(handle)
        self.own_ms, self.build_ms, self.from_cache = own_ms, build_ms, from_cache

    def release(self):
        """Forgets it, so that compiling the same text again asks the cache on disk."""
        self._lib.bench_release(self._handle)
        self._handle = None

    def ways(self):
        return self._lib.bench_ways(self._handle).decode()

    def explain(self):
        return json.loads(self._lib.bench_explain_json(self._handle).decode())

    def bind(self, *tensors):
        structs = (_Tensor * len(tensors))()
        for struct, t in zip(structs, tensors):
            struct.data, struct.dtype, struct.rank = t.data_ptr(), DTYPES[t.dtype].encode(), t.dim()
            struct.shape[: t.dim()] = t.shape
            struct.strides[: t.dim()] = t.stride()
        bound = self._lib.bench_bind(self._handle, len(tensors), structs)
        if not bound:
            raise RuntimeError(self._lib.bench_error().decode())
        return Bound(self._lib, bound, tensors)


class Bound:
    """A kernel with its arrays, which it keeps alive."""

    def __init__(self, lib, handle, tensors):
        self._lib, self._handle, self.tensors = lib, ctypes.c_void_p(handle), tensors

    def __call__(self):
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        if self._lib.bench_launch(self._handle, stream):
            raise RuntimeError(self._lib.bench_error().decode())

    def launch_cost(self, parameters):
        """Microseconds of a call, and of a bare launch with as many parameters."""
        ours, bare = ctypes.c_double(), ctypes.c_double()
        if self._lib.bench_launch_cost(self._handle, parameters, ctypes.byref(ours), ctypes.byref(bare)):
            raise RuntimeError(self._lib.bench_error().decode())
        return ours.value, bare.value
