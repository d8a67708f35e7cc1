"""Times generated CUDA kernels beside PyTorch and CuPy on one machine with an NVIDIA GPU.

Builds nothing: runs the binary that it is given (`--moonloop`, else build-static/moonloop or build/moonloop) with `run --time`,
which measures by events on the device, and the peers by CUDA events too, each after a warm-up; the
median of the runs counts. Prints a table, and writes it to the file `--output` or, without one, into
docs/performance.md. A peer that is not installed leaves its column empty.
"""
import argparse
import datetime
import json
import os
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.path.join(HERE, "gpu_kernels")
EXAMPLES = os.path.join(os.path.dirname(HERE), "examples", "gpu")
STREAM = 1 << 26  # float64 elements: 512 MiB an array
SUM = 1 << 28  # float32 elements
GRID = 8192


def moonloop(binary, file, kernel, target, **sizes):
    """Median seconds, or the reason there are none."""
    path = os.path.join(EXAMPLES if file == "gemm" else FOLDER, file)
    argv = [binary, "run", path + ".loop", "-t", path + ".lua", "--kernel", kernel, "--target", target,
            "--time", "--json", "--quiet"]
    for name, value in sizes.items():
        argv += ["-p", f"{name}={value}"]
    done = subprocess.run(argv, capture_output=True, text=True)
    if done.returncode != 0:
        print(f"{kernel} on {target}: {done.stderr.strip()[:2000]}", file=sys.stderr)
        return None
    return json.loads(done.stdout)["time"]["median"]


class Torch:
    def __init__(self):
        import torch
        self.torch = torch
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.backends.cudnn.allow_tf32 = False

    def seconds(self, work, runs=30):
        torch = self.torch
        for _ in range(3):
            work()
        times = []
        for _ in range(runs):
            start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            start.record()
            work()
            end.record()
            end.synchronize()
            times.append(start.elapsed_time(end) * 1e-3)
        return statistics.median(times)

    def arrays(self, count, shape, dtype):
        return [self.torch.rand(shape, dtype=dtype, device="cuda") for _ in range(count)]


def torch_times():
    try:
        t = Torch()
    except ImportError:
        return {}
    torch, out = t.torch, {}
    a, b, c = t.arrays(3, STREAM, torch.float64)
    out["copy"] = t.seconds(lambda: c.copy_(a))
    out["mul"] = t.seconds(lambda: torch.mul(c, 0.4, out=b))
    out["add"] = t.seconds(lambda: torch.add(a, b, out=c))
    out["triad"] = t.seconds(lambda: torch.add(b, c, alpha=0.4, out=a))
    out["dot"] = t.seconds(lambda: torch.dot(a, b))
    del a, b, c
    x, = t.arrays(1, SUM, torch.float32)
    out["sum"] = t.seconds(lambda: torch.sum(x))
    del x
    m, r = t.arrays(2, (GRID, GRID), torch.float32)
    out["transpose"] = t.seconds(lambda: r.copy_(m.t()))
    p, = t.arrays(1, (GRID, GRID), torch.float32)
    out["sgemm"] = t.seconds(lambda: torch.matmul(m, r, out=p), 10)
    del m, r, p
    m, r, p = t.arrays(3, (GRID, GRID), torch.float64)
    out["dgemm"] = t.seconds(lambda: torch.matmul(m, r, out=p), 10)
    x, y = t.arrays(2, GRID, torch.float64)
    v = torch.empty_like(x)
    out["bilinear"] = t.seconds(lambda: torch.dot(y, torch.mv(m, x, out=v)))
    return out


def triton_times():
    try:
        import torch
        import triton
        import triton.language as tl
    except ImportError:
        return {}
    t = Torch()
    kernels = triton_kernels(triton, tl)
    out = {}
    a, b, c = t.arrays(3, STREAM, torch.float64)
    grid = (STREAM // 1024,)
    runs = {"copy": (a, c, c), "mul": (c, b, b), "add": (a, b, c), "triad": (b, c, a), "nstream": (b, c, a)}
    for name, arrays in runs.items():
        out[name] = t.seconds(lambda: kernels[name][grid](*arrays, STREAM, 1024))
    part = torch.empty(1056, dtype=torch.float64, device="cuda")

    def dot():
        kernels["dot"][(1056,)](a, b, part, STREAM, 1056, 4096)
        return part.sum()
    out["dot"] = t.seconds(dot)
    del a, b, c
    x, = t.arrays(1, SUM, torch.float32)
    parts = torch.empty(1056, dtype=torch.float32, device="cuda")

    def total():
        kernels["sum"][(1056,)](x, x, parts, SUM, 1056, 8192)
        return parts.sum()
    out["sum"] = t.seconds(total)
    del x
    m, r = t.arrays(2, (GRID, GRID), torch.float32)
    tiles = (GRID // 64, GRID // 64)
    out["transpose"] = t.seconds(lambda: kernels["transpose"][tiles](m, r, GRID, 64))
    del m, r
    for name, edge in (("five_point", 1), ("star", 2)):
        width = GRID + 2*edge
        u, v = t.arrays(2, (width, width), torch.float64)
        out[name] = t.seconds(lambda: kernels[name][(GRID // 512, GRID)](u, v, width, GRID, 512))
    return out


def triton_kernels(triton, tl):
    @triton.jit
    def copy(x, y, z, n, WIDTH: tl.constexpr):
        at = tl.program_id(0).to(tl.int64)*WIDTH + tl.arange(0, WIDTH)
        tl.store(z + at, tl.load(x + at, mask=at < n), mask=at < n)

    @triton.jit
    def mul(x, y, z, n, WIDTH: tl.constexpr):
        at = tl.program_id(0).to(tl.int64)*WIDTH + tl.arange(0, WIDTH)
        tl.store(z + at, 0.4*tl.load(x + at, mask=at < n), mask=at < n)

    @triton.jit
    def add(x, y, z, n, WIDTH: tl.constexpr):
        at = tl.program_id(0).to(tl.int64)*WIDTH + tl.arange(0, WIDTH)
        tl.store(z + at, tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n), mask=at < n)

    @triton.jit
    def triad(x, y, z, n, WIDTH: tl.constexpr):
        at = tl.program_id(0).to(tl.int64)*WIDTH + tl.arange(0, WIDTH)
        tl.store(z + at, tl.load(x + at, mask=at < n) + 0.4*tl.load(y + at, mask=at < n), mask=at < n)

    @triton.jit
    def nstream(x, y, z, n, WIDTH: tl.constexpr):
        at = tl.program_id(0).to(tl.int64)*WIDTH + tl.arange(0, WIDTH)
        old = tl.load(z + at, mask=at < n)
        tl.store(z + at, old + tl.load(x + at, mask=at < n) + 0.4*tl.load(y + at, mask=at < n), mask=at < n)

    @triton.jit
    def dot(x, y, part, n, GROUPS: tl.constexpr, WIDTH: tl.constexpr):
        at = tl.program_id(0).to(tl.int64)*WIDTH + tl.arange(0, WIDTH)
        so_far = tl.zeros((WIDTH,), dtype=tl.float64)
        for start in range(0, n, GROUPS*WIDTH):
            here = at + start
            so_far += tl.load(x + here, mask=here < n, other=0.0)*tl.load(y + here, mask=here < n, other=0.0)
        tl.store(part + tl.program_id(0), tl.sum(so_far, axis=0))

    @triton.jit
    def sum(x, y, part, n, GROUPS: tl.constexpr, WIDTH: tl.constexpr):
        at = tl.program_id(0).to(tl.int64)*WIDTH + tl.arange(0, WIDTH)
        so_far = tl.zeros((WIDTH,), dtype=tl.float32)
        for start in range(0, n, GROUPS*WIDTH):
            here = at + start
            so_far += tl.load(x + here, mask=here < n, other=0.0)
        tl.store(part + tl.program_id(0), tl.sum(so_far, axis=0))

    @triton.jit
    def transpose(x, y, n, TILE: tl.constexpr):
        rows = tl.program_id(1).to(tl.int64)*TILE + tl.arange(0, TILE)
        columns = tl.program_id(0).to(tl.int64)*TILE + tl.arange(0, TILE)
        tile = tl.load(x + rows[:, None]*n + columns[None, :])
        tl.store(y + columns[:, None]*n + rows[None, :], tl.trans(tile))

    @triton.jit
    def five_point(u, v, w, n, WIDTH: tl.constexpr):
        inner = tl.program_id(0)*WIDTH + tl.arange(0, WIDTH)
        at = (tl.program_id(1).to(tl.int64) + 1)*w + inner + 1
        m = inner < n
        around = tl.load(u + at - w, mask=m) + tl.load(u + at + w, mask=m) + tl.load(u + at - 1, mask=m) + tl.load(u + at + 1, mask=m)
        tl.store(v + at, 0.25*around - tl.load(u + at, mask=m), mask=m)

    @triton.jit
    def star(u, v, w, n, WIDTH: tl.constexpr):
        inner = tl.program_id(0)*WIDTH + tl.arange(0, WIDTH)
        at = (tl.program_id(1).to(tl.int64) + 2)*w + inner + 2
        m = inner < n
        near = tl.load(u + at - w, mask=m) + tl.load(u + at + w, mask=m) + tl.load(u + at - 1, mask=m) + tl.load(u + at + 1, mask=m)
        far = tl.load(u + at - 2*w, mask=m) + tl.load(u + at + 2*w, mask=m) + tl.load(u + at - 2, mask=m) + tl.load(u + at + 2, mask=m)
        tl.store(v + at, 0.25*near - 0.125*far - tl.load(u + at, mask=m), mask=m)

    return {k.fn.__name__: k for k in (copy, mul, add, triad, nstream, dot, sum, transpose, five_point, star)}


def cupy_times():
    try:
        import cupy as cp
    except ImportError:
        return {}

    def seconds(work, runs=30):
        for _ in range(3):
            work()
        times = []
        for _ in range(runs):
            start, end = cp.cuda.Event(), cp.cuda.Event()
            start.record()
            work()
            end.record()
            end.synchronize()
            times.append(cp.cuda.get_elapsed_time(start, end) * 1e-3)
        return statistics.median(times)

    out = {}
    a, b, c = (cp.random.rand(STREAM) for _ in range(3))
    fused = {
        "copy": cp.ElementwiseKernel("float64 a", "float64 c", "c = a", "b_copy"),
        "mul": cp.ElementwiseKernel("float64 a", "float64 c", "c = 0.4*a", "b_mul"),
    }
    for name, kernel in fused.items():
        out[name] = seconds(lambda: kernel(a, c))
    add = cp.ElementwiseKernel("float64 a, float64 b", "float64 c", "c = a + b", "b_add")
    out["add"] = seconds(lambda: add(a, b, c))
    triad = cp.ElementwiseKernel("float64 b, float64 c", "float64 a", "a = b + 0.4*c", "b_triad")
    out["triad"] = seconds(lambda: triad(b, c, a))
    nstream = cp.ElementwiseKernel("float64 b, float64 c", "float64 a", "a += b + 0.4*c", "b_nstream")
    out["nstream"] = seconds(lambda: nstream(b, c, a))
    out["dot"] = seconds(lambda: cp.dot(a, b))
    del a, b, c
    x = cp.random.rand(SUM, dtype=cp.float32)
    out["sum"] = seconds(lambda: cp.sum(x))
    del x
    m = cp.random.rand(GRID, GRID, dtype=cp.float32)
    r = cp.empty_like(m)
    out["transpose"] = seconds(lambda: cp.copyto(r, m.T))
    u = cp.random.rand(GRID + 2, GRID + 2)
    v = cp.zeros_like(u)
    five = cp.ElementwiseKernel(
        "raw float64 u, int64 w", "float64 v",
        """long long y = i / (w - 2) + 1, x = i % (w - 2) + 1, at = y*w + x;
           v = 0.25*(u[at - w] + u[at + w] + u[at - 1] + u[at + 1]) - u[at];""", "b_five")
    inner = v[1:-1, 1:-1]
    out["five_point"] = seconds(lambda: five(u, GRID + 2, inner))
    u = cp.random.rand(GRID + 4, GRID + 4)
    v = cp.zeros_like(u)
    star = cp.ElementwiseKernel(
        "raw float64 u, int64 w", "float64 v",
        """long long y = i / (w - 4) + 2, x = i % (w - 4) + 2, at = y*w + x;
           v = 0.25*(u[at - w] + u[at + w] + u[at - 1] + u[at + 1])
             - 0.125*(u[at - 2*w] + u[at + 2*w] + u[at - 2] + u[at + 2]) - u[at];""", "b_star")
    middle = v[2:-2, 2:-2]
    out["star"] = seconds(lambda: star(u, GRID + 4, middle))
    del u, v
    m = cp.random.rand(GRID, GRID)
    x, y = cp.random.rand(GRID), cp.random.rand(GRID)
    out["bilinear"] = seconds(lambda: cp.dot(y, cp.dot(m, x)))
    return out


# kernel, file, sizes, bytes that have to move
ROWS = [
    ("copy", "stream", {"n": STREAM}, 16 * STREAM),
    ("mul", "stream", {"n": STREAM}, 16 * STREAM),
    ("add", "stream", {"n": STREAM}, 24 * STREAM),
    ("triad", "stream", {"n": STREAM}, 24 * STREAM),
    ("nstream", "stream", {"n": STREAM}, 32 * STREAM),
    ("dot", "sum", {"n": STREAM}, 16 * STREAM),
    ("sum", "sum", {"n": SUM}, 4 * SUM),
    ("transpose", "grid", {"n": GRID}, 8 * GRID * GRID),
    ("five_point", "grid", {"n": GRID}, 16 * GRID * GRID),
    ("star", "grid", {"n": GRID}, 16 * GRID * GRID),
    ("bilinear", "sum", {"n": GRID}, 8 * GRID * GRID),
]
PRODUCTS = [("sgemm", "single precision, 8192 x 8192"), ("dgemm", "double precision, 8192 x 8192")]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    there = [p for p in ("build-static/moonloop", "build/moonloop") if os.path.exists(p)]
    parser.add_argument("--moonloop", default=there[0] if there else "moonloop")
    parser.add_argument("--output")
    parser.add_argument("--targets", default="cuda,opencl")
    options = parser.parse_args()
    targets = options.targets.split(",")
    binary = os.path.abspath(options.moonloop)
    ours = {(name, t): moonloop(binary, file, name, t, **sizes)
            for name, file, sizes, _ in ROWS for t in targets}
    peers = {"PyTorch": torch_times(), "CuPy": cupy_times(), "Triton": triton_times()}

    def rate(seconds, moved):
        return f"{moved / seconds / 1e12:.2f}" if seconds else ""

    columns = [f"Moonloop, {t}" for t in targets] + list(peers) + ["to the best peer"]
    lines = [f"Measured {datetime.date.today()} on {gpu()}; `./dev bench gpu`. TB/s of the bytes that "
             "have to move; the median of the runs, by events.", "",
             "| kernel | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for name, _, _, moved in ROWS:
        mine = [ours[name, t] for t in targets]
        others = [p.get(name) for p in peers.values()]
        best = min((s for s in others if s), default=None)
        own = min((s for s in mine if s), default=None)
        ratio = f"{best / own:.0%}" if best and own else ""
        lines.append(f"| {name} | " + " | ".join(rate(s, moved) for s in mine + others) + f" | {ratio} |")
    flops = 2 * GRID**3
    lines += ["", "| product | " + " | ".join(columns[:len(targets)]) + " | cuBLAS without TF32 | to cuBLAS |",
              "|---" * (len(targets) + 3) + "|"]
    for kernel, title in PRODUCTS:
        mine = [moonloop(binary, "gemm", kernel, t, n=GRID) for t in targets]
        cublas = peers["PyTorch"].get(kernel)
        own = min((s for s in mine if s), default=None)
        lines.append(f"| {title}, TFLOP/s | "
                     + " | ".join(f"{flops / s / 1e12:.1f}" if s else "" for s in mine + [cublas])
                     + f" | {cublas / own:.0%} |" if own and cublas else " | |")
    table = "\n".join(lines)
    print(table)
    if options.output:
        with open(options.output, "w") as f:
            f.write(table + "\n")
        return
    from tool import write_section
    write_section("docs/performance.md", "gpu", table)


def gpu():
    done = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"],
                          capture_output=True, text=True)
    return done.stdout.strip() or "an unknown GPU"


if __name__ == "__main__":
    main()
