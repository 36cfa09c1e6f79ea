"""What a user would run instead: PyTorch, cudaMemcpy, Triton and TileLang, each at its best settings."""

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

try:
    import tilelang
    import tilelang.language as T
except ImportError:
    tilelang = None


# ---- Triton ----

@triton.jit
def _copy_flat(A, B, n, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(B + at, tl.load(A + at, mask=at < n).to(B.dtype.element_ty), mask=at < n)


@triton.jit
def _copy_rows(A, B, m, n, sa, sb, BM: tl.constexpr, BN: tl.constexpr):
    columns = tl.cdiv(n, BN)
    row = (tl.program_id(0) // columns).to(tl.int64) * BM + tl.arange(0, BM)[:, None]
    column = (tl.program_id(0) % columns) * BN + tl.arange(0, BN)[None, :]
    inside = (row < m) & (column < n)
    value = tl.load(A + row * sa + column, mask=inside)
    tl.store(B + row * sb + column, value.to(B.dtype.element_ty), mask=inside)


@triton.jit
def _copy_descriptor(a, b, n, BM: tl.constexpr, BN: tl.constexpr):
    columns = tl.cdiv(n, BN)
    row = (tl.program_id(0) // columns) * BM
    column = (tl.program_id(0) % columns) * BN
    b.store([row, column], a.load([row, column]))


@triton.jit
def _add(A, B, C, n, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(C + at, tl.load(A + at, mask=inside) + tl.load(B + at, mask=inside), mask=inside)


@triton.jit
def _transpose(A, B, m, n, BM: tl.constexpr, BN: tl.constexpr):
    columns = tl.cdiv(n, BN)
    row = (tl.program_id(0) // columns).to(tl.int64) * BM + tl.arange(0, BM)
    column = (tl.program_id(0) % columns).to(tl.int64) * BN + tl.arange(0, BN)
    value = tl.load(A + row[:, None] * n + column[None, :],
                    mask=(row[:, None] < m) & (column[None, :] < n))
    tl.store(B + column[:, None] * m + row[None, :], tl.trans(value),
             mask=(column[:, None] < n) & (row[None, :] < m))


@triton.jit
def _read(A, B, n, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    total = tl.sum(tl.load(A + at, mask=at < n, other=0))
    if total == 0x12345678:  # never, but the compiler does not know
        tl.store(B, total)


@triton.jit
def _zero(A, n, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(A + at, tl.zeros([BLOCK], tl.int32), mask=at < n)


def triton_copies(a, b):
    """Name and launch of each Triton copy of `a` to `b`."""
    m, n = a.shape
    flat = a.is_contiguous() and b.is_contiguous()
    size = a.numel()
    if flat:
        for block, warps in ((1024, 4), (2048, 4), (4096, 8)):
            yield (f"triton flat {block}",
                   lambda a, b, block=block, warps=warps: _copy_flat[(triton.cdiv(size, block),)](
                       a, b, size, block, num_warps=warps))
    for bm, bn in ((1, 1024), (16, 1024), (64, 64), (4, 2048)):
        yield (f"triton {bm}x{bn}",
               lambda a, b, bm=bm, bn=bn: _copy_rows[(triton.cdiv(m, bm) * triton.cdiv(n, bn),)](
                   a, b, m, n, a.stride(0), b.stride(0), bm, bn))
    aligned = all(t.data_ptr() % 16 == 0 and t.stride(0) * t.element_size() % 16 == 0 for t in (a, b))
    if aligned and a.dtype == b.dtype:
        for bm, bn in ((64, 64), (128, 64)):
            if bn * a.element_size() > 256:
                continue

            def launch(a, b, bm=bm, bn=bn):
                box = [bm, bn]
                _copy_descriptor[(triton.cdiv(m, bm) * triton.cdiv(n, bn),)](
                    TensorDescriptor.from_tensor(a, box), TensorDescriptor.from_tensor(b, box), n, bm, bn)
            yield f"triton descriptors {bm}x{bn}", launch


def triton_adds(size):
    for block, warps in ((1024, 4), (2048, 8), (4096, 8)):
        yield (f"triton {block}",
               lambda a, b, c, block=block, warps=warps: _add[(triton.cdiv(size, block),)](
                   a, b, c, size, block, num_warps=warps))


def triton_transposes(m, n):
    for bm, bn, warps in ((64, 64, 4), (128, 64, 8), (64, 128, 8), (128, 128, 8)):
        yield (f"triton {bm}x{bn}",
               lambda a, b, bm=bm, bn=bn, warps=warps: _transpose[(triton.cdiv(m, bm) * triton.cdiv(n, bn),)](
                   a, b, m, n, bm, bn, num_warps=warps))


def fill_zero(a):
    """Writes every byte of `a`: quicker than cudaMemset, which is a floor's purpose."""
    words = a.view(-1).view(torch.int32)
    _zero[(triton.cdiv(words.numel(), 1024),)](words, words.numel(), 1024, num_warps=4)


def read_all(a, sink):
    """Reads every byte of `a`."""
    words = a.view(-1).view(torch.int32)
    _read[(triton.cdiv(words.numel(), 2048),)](words, sink, words.numel(), 2048, num_warps=4)


# ---- TileLang: the kernels of its documentation ----

def _build(function):
    return tilelang.compile(function, target="cuda")


def tilelang_copy(shape, tile, dtype, out_dtype=None, threads=128):
    (m, n), (bm, bn) = shape, tile

    @T.prim_func
    def main(A: T.Tensor((m, n), dtype), B: T.Tensor((m, n), out_dtype or dtype)):
        with T.Kernel(T.ceildiv(n, bn), T.ceildiv(m, bm), threads=threads) as (bx, by):
            held = T.alloc_shared((bm, bn), dtype)
            T.copy(A[by * bm, bx * bn], held)
            T.copy(held, B[by * bm, bx * bn])
    return _build(main)


def tilelang_copy_fragment(shape, tile, dtype, out_dtype=None, threads=128):
    (m, n), (bm, bn) = shape, tile

    @T.prim_func
    def main(A: T.Tensor((m, n), dtype), B: T.Tensor((m, n), out_dtype or dtype)):
        with T.Kernel(T.ceildiv(n, bn), T.ceildiv(m, bm), threads=threads) as (bx, by):
            held = T.alloc_fragment((bm, bn), dtype)
            T.copy(A[by * bm, bx * bn], held)
            T.copy(held, B[by * bm, bx * bn])
    return _build(main)


def tilelang_add(shape, tile, dtype, threads=128):
    (m, n), (bm, bn) = shape, tile

    @T.prim_func
    def main(A: T.Tensor((m, n), dtype), B: T.Tensor((m, n), dtype), C: T.Tensor((m, n), dtype)):
        with T.Kernel(T.ceildiv(n, bn), T.ceildiv(m, bm), threads=threads) as (bx, by):
            a = T.alloc_fragment((bm, bn), dtype)
            b = T.alloc_fragment((bm, bn), dtype)
            T.copy(A[by * bm, bx * bn], a)
            T.copy(B[by * bm, bx * bn], b)
            for i, j in T.Parallel(bm, bn):
                a[i, j] = a[i, j] + b[i, j]
            T.copy(a, C[by * bm, bx * bn])
    return _build(main)


def tilelang_transpose(shape, tile, dtype, threads=128):
    (m, n), (bm, bn) = shape, tile

    @T.prim_func
    def main(A: T.Tensor((m, n), dtype), B: T.Tensor((n, m), dtype)):
        with T.Kernel(T.ceildiv(n, bn), T.ceildiv(m, bm), threads=threads) as (bx, by):
            held = T.alloc_shared((bm, bn), dtype)
            turned = T.alloc_shared((bn, bm), dtype)
            T.copy(A[by * bm, bx * bn], held)
            for i, j in T.Parallel(bn, bm):
                turned[i, j] = held[j, i]
            T.copy(turned, B[bx * bn, by * bm])
    return _build(main)


def tilelang_im2col(image, window, tile, dtype, threads=128):
    n, h, w, c = image
    kernel, stride, dilation, pad = window
    oh, ow = ((x + 2 * pad - dilation * (kernel - 1) - 1) // stride + 1 for x in (h, w))
    m, k = n * oh * ow, kernel * kernel * c
    bm, bk = tile

    @T.prim_func
    def main(img: T.Tensor((n, h, w, c), dtype), col: T.Tensor((m, k), dtype)):
        with T.Kernel(T.ceildiv(k, bk), T.ceildiv(m, bm), threads=threads) as (bx, by):
            held = T.alloc_shared((bm, bk), dtype)
            T.im2col(img, held, by, bx, kernel, stride, dilation, pad)
            T.copy(held, col[by * bm, bx * bk])
    return _build(main)
