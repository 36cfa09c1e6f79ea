"""The text of our kernels. Shapes are constants, as in a kernel that is compiled for its tensors."""


def _tensor(name, dtype, shape, strides=None):
    text = f"{name}: {dtype}[{', '.join(map(str, shape))}]"
    return text + (f" strides [{', '.join(map(str, strides))}]" if strides else "")


def _hints(**hints):
    given = [f"{name}: {value}" for name, value in hints.items() if value]
    return " {" + ", ".join(given) + "}" if given else ""


def copy(shape, tile, threads=128, dtype="float16", out_dtype=None, strides=None, out_strides=None,
         through="shared", load=None, store=None, eviction=None, pad_bytes=0):
    """A to B by tiles, through shared memory, a fragment, or directly. Casts where dtypes differ."""
    (m, n), (bm, bn) = shape, tile
    out_dtype = out_dtype or dtype
    a, b = _tensor("A", dtype, shape, strides), _tensor("B", out_dtype, shape, out_strides)
    lines = [f"function copy({a}, {b}) {{",
             f"  kernel (bx: {-(-n // bn)}, by: {-(-m // bm)}) threads {threads} {{"]
    at = f"[by * {bm} : +{bm}, bx * {bn} : +{bn}]"
    if through == "nothing":
        lines.append(f"    copy A{at} -> B{at}{_hints(eviction_policy=eviction)}")
    else:
        scope = {"shared": "alloc_shared", "fragment": "alloc_fragment"}[through]
        if pad_bytes:
            lines.append(f"    pad = alloc_shared uint8[{pad_bytes}]")
        lines += [f"    tile = {scope} {dtype}[{bm}, {bn}]",
                  f"    copy A{at} -> tile{_hints(prefer_instruction=load, eviction_policy=eviction)}",
                  f"    copy tile -> B{at}{_hints(prefer_instruction=store, eviction_policy=eviction)}"]
    return "\n".join(lines + ["  }", "}"])


def add(shape, tile, threads=128, dtype="float16", prefer=None):
    """C = A + B, element by element, through fragments."""
    (m, n), (bm, bn) = shape, tile
    at = f"[by * {bm} : +{bm}, bx * {bn} : +{bn}]"
    params = ", ".join(_tensor(name, dtype, shape) for name in "ABC")
    return f"""function add({params}) {{
  kernel (bx: {-(-n // bn)}, by: {-(-m // bm)}) threads {threads} {{
    a = alloc_fragment {dtype}[{bm}, {bn}]
    b = alloc_fragment {dtype}[{bm}, {bn}]
    copy A{at} -> a
    copy B{at} -> b
    parallel (i: {bm}, j: {bn}) {{
      a[i, j] = a[i, j] + b[i, j]
    }}
    copy a -> C{at}
  }}
}}"""


def transpose(shape, tile, threads=128, dtype="float16", load=None):
    """B = A transposed, each tile through shared memory."""
    (m, n), (bm, bn) = shape, tile
    a, b = _tensor("A", dtype, shape), _tensor("B", dtype, (n, m))
    return f"""function transpose({a}, {b}) {{
  kernel (bx: {-(-n // bn)}, by: {-(-m // bm)}) threads {threads} {{
    tile = alloc_shared {dtype}[{bm}, {bn}]
    copy A[by * {bm} : +{bm}, bx * {bn} : +{bn}] -> tile{_hints(prefer_instruction=load)}
    transpose tile -> B[bx * {bn} : +{bn}, by * {bm} : +{bm}]
  }}
}}"""


def im2col(image, window, tile, threads=128, dtype="float16", pad_bytes=0):
    """The im2col matrix of an NHWC image, tile by tile. `window`: kernel, stride, dilation, pad."""
    n, h, w, c = image
    kernel, stride, dilation, pad = window
    oh, ow = ((x + 2 * pad - dilation * (kernel - 1) - 1) // stride + 1 for x in (h, w))
    m, k = n * oh * ow, kernel * kernel * c
    bm, bk = tile
    a, b = _tensor("img", dtype, image), _tensor("col", dtype, (m, k))
    room = f"    pad = alloc_shared uint8[{pad_bytes}]\n" if pad_bytes else ""
    return f"""function im2col({a}, {b}) {{
  kernel (bk: {-(-k // bk)}, bm: {-(-m // bm)}) threads {threads} {{
{room}    tile = alloc_shared {dtype}[{bm}, {bk}]
    im2col img -> tile step (bm, bk) kernel {kernel} stride {stride} dilation {dilation} pad {pad}
    copy tile -> col[bm * {bm} : +{bm}, bk * {bk} : +{bk}]
  }}
}}""", (m, k)


def nothing(tensors):
    """A kernel of so many arguments that moves one element: what a launch costs."""
    params = ", ".join(_tensor(f"A{i}", "int32", [32]) for i in range(tensors))
    lines = "\n".join(f"    A{i}[bx] = 1" for i in range(tensors))
    return f"function nothing({params}) {{\n  kernel (bx: 1) threads 32 {{\n{lines}\n  }}\n}}"
