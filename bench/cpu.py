"""Generated code on this machine's cores beside OpenBLAS, NumPy and C by hand, all in one process by turns.

    cpu.py [--moonloop M] [--only dgemm,scan] [--threads 1,2] [--openblas LIBRARY] [--keep FOLDER] [-o F.json]
           [--update]

Kernels are those of bench/cpu/kernels.loop, with the script bench/cpu/KERNEL.lua or, where there is none, the one
that `moonloop auto` writes for the size; target `openmp`. Peers are OpenBLAS for products, NumPy (one thread) and
bench/cpu/peers.c; all C is compiled by gcc -O3 -march=native -fopenmp, with -mprefer-vector-width=512
where the processor has AVX-512. Each is called once before it is timed; the
median counts, and results are compared with NumPy's or with those of the C by hand. A ratio is the time of the
best peer over Moonloop's. OpenBLAS 0.3.21 takes processors that it does not know for old ones: where they have
AVX-512, its kernels for it are chosen (OPENBLAS_CORETYPE). Threads that wait do not spin. --update writes the tables
into docs/performance.md.
"""

import argparse
import ctypes
import datetime
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

CPU = pathlib.Path("/proc/cpuinfo").read_text() if os.path.exists("/proc/cpuinfo") else ""
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")
if " avx512f " in CPU:
    os.environ.setdefault("OPENBLAS_CORETYPE", "SKYLAKEX")

import numpy  # noqa: E402  after the settings for OpenBLAS, which it may load

HERE = pathlib.Path(__file__).resolve().parent / "cpu"
FLAGS = ["gcc", "-O3", "-march=native", "-fopenmp", "-shared", "-fPIC", "-w"]
if " avx512f " in CPU:  # for some such processors gcc takes half of a register otherwise
    FLAGS.append("-mprefer-vector-width=512")
OPENBLAS = ["/usr/lib/x86_64-linux-gnu/openblas-pthread/libopenblas.so.0", "libopenblas.so.0"]
POINTER, INT = ctypes.c_void_p, ctypes.c_int


def softmax(x):
    e = numpy.exp(x - x.max(1, keepdims=True))
    e /= e.sum(1, keepdims=True)
    return e


def layernorm(x, g, b):
    z = x - x.mean(1, keepdims=True)
    return z/numpy.sqrt((z*z).mean(1, keepdims=True) + numpy.float32(1e-5))*g + b


# kernel, sizes in the order of its arguments, shapes of its arrays, type, NumPy's answer for the last of them, if any
GEMM = [512, 1000, 1024, 2048]
ROWS = [(16384, 256), (4096, 1024), (128, 32768)]
LONG, GRID = 1 << 24, 4096
CASES = (
    [(k, {"n": n}, ["n,n"]*3, t, numpy.matmul) for k, t in (("dgemm", "float64"), ("sgemm", "float32")) for n in GEMM]
    + [("softmax", {"rows": r, "n": n}, ["rows,n"]*2, "float32", softmax) for r, n in ROWS]
    + [("layernorm", {"rows": r, "n": n}, ["rows,n", "n", "n", "rows,n"], "float32", layernorm) for r, n in ROWS]
    + [("total", {"n": n}, ["n", "1"], "float64", numpy.sum) for n in (1 << 18, LONG)]
    + [(k, {"rows": r, "n": n}, ["rows,n", y], "float64", lambda x, a=a: x.sum(a)) for r, n in ROWS
       for k, y, a in (("row_sums", "rows", 1), ("column_sums", "n", 0))]
    + [("scan", {"n": n}, ["n", "n"], "float64", numpy.cumsum) for n in (1 << 18, LONG)]
    + [("histogram", {"n": LONG, "bins": b}, ["n", "bins"], "int32", lambda x, b=b: numpy.bincount(x, minlength=b))
       for b in (16, 256, 4096)]
    + [("jacobi_2d", {"n": GRID, "m": 12}, ["n,n"]*2, "float64", None),
       ("jacobi_3d", {"n": 256, "m": 12}, ["n,n,n"]*2, "float64", None),
       ("transpose", {"n": GRID}, ["n,n"]*2, "float64", lambda x: numpy.ascontiguousarray(x.T)),
       ("nstream", {"n": LONG}, ["n"]*3, "float64", None),
       ("bilinear", {"n": GRID}, ["n", "n", "n,n", "1"], "float64", lambda x, y, a: y @ (a @ x))])
# Bytes that have to move, of what is compared with a copy.
MOVED = {"transpose": 16*GRID*GRID, "nstream": 32*LONG, "bilinear": 8*GRID*GRID}


def library(source, into):
    subprocess.run([*FLAGS, str(source), "-o", str(into), "-lm"], check=True)
    return ctypes.CDLL(str(into))


def generated(o, kernel, sizes, folder):
    """The library of the kernel's code, and how many lines its script has."""
    def call(*argv):
        done = subprocess.run([o.moonloop, *argv, "--quiet"], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(done.stderr)
    name = "_".join([kernel, *map(str, sizes.values())])
    script, source = HERE / f"{kernel}.lua", folder / f"{name}.c"
    what = [str(HERE / "kernels.loop"), "--kernel", kernel, "--target", "openmp"]
    if not script.exists():
        script = folder / f"{name}.lua"
        call("auto", *what, *(a for n, v in sizes.items() for a in ("-p", f"{n}={v}")), "-o", str(script))
    call("gen", *what, "-t", str(script), "-o", str(source))
    lines = [x for x in script.read_text().splitlines() if x.strip() and not x.startswith("--")]
    return library(source, folder / f"{name}.so"), len(lines)


def blas_call(blas, kind, n):
    f, real = (blas.cblas_dgemm, ctypes.c_double) if kind == "float64" else (blas.cblas_sgemm, ctypes.c_float)

    def work(a, b, c):
        f(101, 111, 111, INT(n), INT(n), INT(n), real(1), POINTER(a.ctypes.data), INT(n), POINTER(b.ctypes.data),
          INT(n), real(0), POINTER(c.ctypes.data), INT(n))
    return work


def c_call(function, sizes):
    def work(*arrays):
        function(*map(INT, sizes.values()), *(POINTER(a.ctypes.data) for a in arrays))
    return work


def by_turns(works, arrays):
    """Median seconds of each; long ones are called less often."""
    times = {name: [] for name in works}
    for turn in range(31):
        for name, work in works.items():
            work(*arrays)  # finds its threads and caches as in a row of calls
            start = time.perf_counter()
            work(*arrays)
            times[name].append(time.perf_counter() - start)
        if turn >= 4 and sum(map(sum, times.values())) > 1:
            break
    return {name: statistics.median(t) for name, t in times.items()}


def measure(o, case, threads, known, folder):
    kernel, sizes, shapes, kind, answer = case
    random = numpy.random.default_rng(1)
    arrays = [random.random([sizes.get(d, 1) for d in s.split(",")]).astype(kind) for s in shapes]
    if kernel == "histogram":
        arrays[0][:] = random.integers(0, sizes["bins"], sizes["n"], dtype="int32")
    key = (kernel, *sizes.values())
    if key not in known:
        known[key] = generated(o, kernel, sizes, folder)
    code, lines = known[key]
    product = kernel.endswith("gemm")
    works = {"Moonloop": c_call(getattr(code, kernel), sizes)}
    if product:
        works["OpenBLAS"] = blas_call(o.blas, kind, sizes["n"])
    else:
        works["C by hand"] = c_call(getattr(o.peers, kernel), sizes)
    results = {}
    for name, work in works.items():
        own = [a.copy() for a in arrays]
        work(*own)
        results[name] = own[0] if kernel == "nstream" else own[-1]
    if answer:
        results["NumPy"] = answer(*arrays[:-1])
        if not product:  # its own memory for results, as one calls it
            works["NumPy"] = lambda *a: answer(*a[:-1])
    wanted = numpy.asarray(results["NumPy" if answer else "C by hand"], dtype="float64").ravel()
    wrong = [name for name, r in results.items() if not numpy.allclose(
        numpy.asarray(r, dtype="float64").ravel(), wanted, rtol=0,
        atol=abs(wanted).max()*(1e-10 if kind == "float64" else 1e-4 if kind == "float32" else 0))]
    times = by_turns(works, arrays)
    row = {"kernel": kernel, "size": " x ".join(map(str, sizes.values())), "threads": threads, "lines": lines,
           **times, "ratio": min(t for name, t in times.items() if name != "Moonloop")/times["Moonloop"]}
    if kernel in MOVED:
        row["to copy"] = MOVED[kernel]/times["Moonloop"]/o.copy[threads]
    return {**row, "wrong": wrong} if wrong else row


def shown(seconds):
    return "" if seconds is None else f"{seconds*1e3:.3g} ms"


def tables(rows, o):
    out = [f"Measured {datetime.date.today()}, {processor()}; `./dev bench cpu`. A copy moves "
           + " and ".join(f"{rate/1e9:.1f} GB/s on {n} thread{'s'*(n > 1)}" for n, rate in o.copy.items()) + "."]
    products = [r for r in rows if "OpenBLAS" in r]
    if products:
        out += ["", "| product | threads | Moonloop, GFLOP/s | OpenBLAS | ratio |", "|---|---|---|---|---|"]
    for r in products:
        flops = 2e-9*int(r["size"])**3
        out.append(f"| `{r['kernel']}` {r['size']} | {r['threads']} | {flops/r['Moonloop']:.1f} | "
                   f"{flops/r['OpenBLAS']:.1f} | {r['ratio']:.2f} |")
    others = [r for r in rows if "OpenBLAS" not in r]
    if others:
        out += ["", "| kernel | size | threads | Moonloop | C by hand | NumPy | ratio | to the copy |", "|---"*8 + "|"]
    for r in others:
        copy = f"{r['to copy']:.2f}" if "to copy" in r else ""
        out.append(f"| `{r['kernel']}` | {r['size']} | {r['threads']} | {shown(r['Moonloop'])} | "
                   f"{shown(r.get('C by hand'))} | {shown(r.get('NumPy'))} | {r['ratio']:.2f} | {copy} |")
    return "\n".join(out)


def processor():
    name = next((x.split(":")[1].strip() for x in CPU.splitlines() if x.startswith("model name")), "this processor")
    return f"{len(os.sched_getaffinity(0))} cores of {name}"


def find_openblas(path):
    for each in [path] if path else OPENBLAS:
        try:
            return ctypes.CDLL(each)
        except OSError:
            continue
    sys.exit("no OpenBLAS; give its library with --openblas")


def copy_rate(o):
    x, y = numpy.ones(LONG), numpy.ones(LONG)
    return 16*LONG/by_turns({"copy": c_call(o.peers.copy, {"n": LONG})}, [x, y])["copy"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--moonloop", type=pathlib.Path, default=pathlib.Path("build/moonloop"))
    parser.add_argument("--only", help="kernels, with commas between them")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--openblas", help="its library")
    parser.add_argument("--keep", type=pathlib.Path, help="a folder for scripts and code")
    parser.add_argument("-o", "--output", type=pathlib.Path, help="a file for the figures, as JSON")
    parser.add_argument("--update", action="store_true", help="write the tables into docs/performance.md")
    o = parser.parse_args()
    o.moonloop = str(o.moonloop.resolve())
    wanted = [c for c in CASES if not o.only or c[0] in o.only.split(",")]
    with tempfile.TemporaryDirectory() as temporary:
        folder = o.keep or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        o.peers, o.blas, o.copy = library(HERE / "peers.c", folder / "peers.so"), find_openblas(o.openblas), {}
        openmp = ctypes.CDLL("libgomp.so.1")
        rows, known = [], {}
        for threads in map(int, o.threads.split(",")):
            openmp.omp_set_num_threads(threads)
            o.blas.openblas_set_num_threads(threads)
            o.copy[threads] = copy_rate(o)
            for case in wanted:
                rows.append(measure(o, case, threads, known, folder))
                print({k: float(f"{v:.4g}") if isinstance(v, float) else v for k, v in rows[-1].items()},
                      file=sys.stderr, flush=True)
    if o.output:
        o.output.write_text(json.dumps({"copy": o.copy, "rows": rows}, indent=1) + "\n")
    print(tables(rows, o))
    if o.update:
        from tool import write_section
        write_section("docs/performance.md", "cpu", tables(rows, o))
    return any("wrong" in r for r in rows)


if __name__ == "__main__":
    sys.exit(main())
