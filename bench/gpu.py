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
    path = os.path.join(EXAMPLES if file == "sgemm" else FOLDER, file)
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
    return out


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
]


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
    peers = {"PyTorch": torch_times(), "CuPy": cupy_times()}

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
    product = {t: moonloop(binary, "sgemm", "sgemm", t, n=GRID) for t in targets}
    cublas = peers["PyTorch"].get("sgemm")
    lines += ["", "| single-precision product of 8192 x 8192 | TFLOP/s | to cuBLAS |", "|---|---|---|"]
    for name, s in [(f"Moonloop, {t}", product[t]) for t in targets] + [("cuBLAS without TF32", cublas)]:
        lines.append(f"| {name} | {flops / s / 1e12 if s else 0:.1f} | "
                     + (f"{cublas / s:.0%} |" if s and cublas else "|"))
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
