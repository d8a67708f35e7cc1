"""Reductions of all shapes, and rows that are read more than once, on a GPU: Moonloop's CUDA beside peers.

    reductions.py [--moonloop M] [--only sum,softmax] [--types float32,float64,float16] [--compile]
                  [--sizes 8192x1024,64x128x12x64] [--limit S] [--keep FOLDER] [-o F.json]

needs a machine with an NVIDIA GPU and Python with NumPy and PyTorch; CuPy if it is there; with --compile also
PyTorch's code by `torch.compile`. Kernels are written here, from a shape and the axes that are reduced; their
scripts are what `moonloop auto` writes for that size. Inputs and results are on the device; Moonloop's times are
those of `run --time`, the peers' by CUDA events, medians after a warm-up. Each result is compared with NumPy's in
double precision. The ratio is the time of the fastest peer over Moonloop's. The file is written anew after each
row; rows for which the time (`--limit`, seconds) does not suffice are named.
"""

import argparse
import json
import math
import pathlib
import subprocess
import sys

import numpy

from scans import Cupy, Torch, binary, table

# Shapes and reduced axes: PANAMERA's table 4, then all of a little array, rows, columns, axes between others.
SUMS = [((16226304,), (0,)), ((1024, 131072), (1,)), ((131072, 1024), (1,)), ((1048576, 512), (1,)),
        ((65536,), (0,)), ((1024, 1024), (0, 1)), ((768, 768), (0, 1)),
        ((1280, 21128), (1,)), ((8192, 1024), (1,)),
        ((8192, 768), (0,)), ((1280, 21128), (0,)), ((64, 128, 1024), (0, 1)), ((64, 128, 12, 64), (0, 1, 3))]
ROWS = [(8192, 1024), (524288, 512), (4096, 32768), (1048576, 128), (65536, 2048), (1024, 131072)]
TOLERANCE = {"float64": 1e-11, "float32": 2e-5, "float16": 2e-3}


def sum_kernel(shape, axes, kind):
    names = [f"i{a}" for a in range(len(shape))]
    sizes = [f"n{a}" for a in range(len(shape))]
    kept = [a for a in range(len(shape)) if a not in axes]
    element = f"x[{', '.join(names)}]"
    if kind == "float16":
        element = f"cast(float32, {element})"
    bounds = " and ".join(f"0 <= {i} < {n}" for i, n in zip(names, sizes))
    over = ", ".join(names[a] for a in axes)
    place = ", ".join(names[a] for a in kept) or "0"
    extents = ", ".join(sizes[a] for a in kept) or "1"
    return (f"kernel reduce({''.join(n + ': int32, ' for n in sizes)}x: in {kind}[{', '.join(sizes)}], "
            f"y: out {kind}[{extents}])\ndomain {{[{', '.join(names)}]: {bounds}}}\n"
            f"y[{place}] = sum(({over},), {element})\n".replace(",),", "),"), dict(zip(sizes, shape)))


HEAD = "kernel {name}(rows: int32, n: int32, x: in float32[rows, n], {more})\n"
ROW_KERNELS = {
    "softmax": HEAD.format(name="softmax", more="y: out float32[rows, n]") +
    "domain {[r, j, k, l]: 0 <= r < rows and 0 <= j, k, l < n}\ntemp most: float32\ntemp total: float32\n"
    "for r\n  most = max(j, x[r, j])\n  total = sum(k, exp(x[r, k] - most))\n"
    "  y[r, l] = exp(x[r, l] - most)/total\nend\n",
    "layernorm": HEAD.format(name="layernorm", more="g: in float32[n], b: in float32[n], y: out float32[rows, n]") +
    "domain {[r, j, l]: 0 <= r < rows and 0 <= j, l < n}\ntemp shift: float32\ntemp squares: float32\n"
    "temp mean: float32\ntemp scale: float32\nfor r\n  shift = sum(j, x[r, j] - x[r, 0])/n\n"
    "  squares = sum(j, (x[r, j] - x[r, 0])*(x[r, j] - x[r, 0]))/n\n  mean = x[r, 0] + shift\n"
    "  scale = 1/sqrt(squares - shift*shift + 1e-5)\n  y[r, l] = (x[r, l] - mean)*scale*g[l] + b[l]\nend\n",
    "statistics": HEAD.format(name="statistics", more="mean: out float32[n], y: out float32[n]") +
    "domain {[i, r]: 0 <= i < n and 0 <= r < rows}\ntemp shift: float32\ntemp squares: float32\n"
    "for i\n  shift = sum(r, x[r, i] - x[0, i])/rows\n"
    "  squares = sum(r, (x[r, i] - x[0, i])*(x[r, i] - x[0, i]))/rows\n"
    "  mean[i] = x[0, i] + shift\n  y[i] = squares - shift*shift\nend\n",
    "cross_entropy": HEAD.format(name="cross_entropy", more="at: in int32[rows], y: out float32[rows]") +
    "domain {[r, j, k]: 0 <= r < rows and 0 <= j, k < n}\ntemp most: float32\n"
    "for r\n  most = max(j, x[r, j])\n  y[r] = log(sum(k, exp(x[r, k] - most))) + most - x[r, at[r]]\nend\n",
}


def row_reference(name, x, given):
    z = x.astype("float64")
    if name == "statistics":
        return z.var(0)
    if name == "layernorm":
        m = z.mean(1, keepdims=True)
        return (z - m)/numpy.sqrt(((z - m)**2).mean(1, keepdims=True) + 1e-5)*given["g"] + given["b"]
    m = z.max(1, keepdims=True)
    e = numpy.exp(z - m)
    if name == "softmax":
        return e/e.sum(1, keepdims=True)
    return numpy.log(e.sum(1)) + m[:, 0] - z[numpy.arange(len(z)), given["at"]]


def peer_work(peer, name, axes, x, given):
    """What the peer does, or nothing where it has no such function."""
    if isinstance(peer, Cupy):
        return (lambda: peer.xp.sum(x, axis=axes)) if name == "sum" else None
    f = peer.torch.nn.functional
    n = x.shape[-1]
    if name == "sum":
        return lambda x=x: peer.torch.sum(x, dim=axes)
    if name == "softmax":
        return lambda x=x: f.softmax(x, 1)
    if name == "layernorm":
        return lambda x=x: f.layer_norm(x, (n,), given["g"], given["b"])
    if name == "statistics":
        return lambda x=x: peer.torch.var_mean(x, 0, correction=0)[0]
    at = given["at"].long()
    return lambda x=x: f.cross_entropy(x, at, reduction="none")


def ours(o, name, text, sizes, arrays, folder):
    kernel, script = folder / f"{name}.loop", folder / f"{name}.lua"
    kernel.write_text(text)
    params = [a for n, v in sizes.items() for a in ("-p", f"{n}={v}")]

    def call(*argv):
        done = subprocess.run([o.moonloop, *argv], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip()[:2000])
        return done.stdout
    call("auto", kernel, "--target", "cuda", *params, "--quiet", "-o", script)
    inputs = []
    for array, value in arrays.items():
        numpy.save(folder / f"{array}.npy", value)
        inputs += ["--in", f"{array}={folder / array}.npy"]
    out = call("run", kernel, "-t", script, "--target", "cuda", "--time", "--json", "--quiet", "--no-db", *params,
               *inputs, "--out", f"y={folder / 'y.npy'}")
    return json.loads(out)["time"]["median"], numpy.load(folder / "y.npy"), script.read_text()


def rows(o):
    random = numpy.random.default_rng(1)
    for kind in o.types:
        for shape, axes in SUMS:
            def data(kind=kind, shape=shape, axes=axes):
                x = random.random(shape, dtype="float32").astype(kind)
                if kind == "float16":
                    x = x*numpy.float16(1024.0/math.prod(shape[a] for a in axes))
                text, sizes = sum_kernel(shape, axes, kind)
                return text, sizes, {"x": x}, x.sum(axis=axes, dtype="float64")
            what = "x".join(map(str, shape)) + " over " + ",".join(map(str, axes))
            moved = math.prod(shape)*numpy.dtype(kind).itemsize
            yield {"kernel": "sum", "type": kind, "size": what, "bytes": moved}, axes, data
    for name, text in ROW_KERNELS.items():
        for shape in ROWS:
            def data(name=name, text=text, shape=shape):
                x = random.standard_normal(shape, dtype="float32")
                given = {}
                if name == "layernorm":
                    given = {k: random.standard_normal(shape[1], dtype="float32") for k in ("g", "b")}
                if name == "cross_entropy":
                    given = {"at": random.integers(0, shape[1], shape[0], dtype=numpy.int32)}
                return text, {"rows": shape[0], "n": shape[1]}, {"x": x, **given}, row_reference(name, x, given)
            moved = math.prod(shape)*4*(2 if name in ("softmax", "layernorm") else 1)
            yield {"kernel": name, "type": "float32", "size": "x".join(map(str, shape)), "bytes": moved}, (1,), data


def measure(o, row, axes, data, peers, folder):
    text, sizes, arrays, wanted = data()
    within = TOLERANCE[row["type"]]*max(1.0, float(numpy.abs(wanted).max()))
    wrong = []

    def check(who, y):
        if not numpy.allclose(numpy.asarray(y, dtype="float64").ravel(), wanted.ravel(), rtol=0, atol=within):
            wrong.append(who)
    try:
        row["moonloop"], y, row["script"] = ours(o, row["kernel"], text, sizes, arrays, folder)
        check("moonloop", y)
    except (RuntimeError, OSError) as e:
        row["failure"] = str(e)
    for name, peer in peers.items():
        try:
            given = {k: peer.given(v) for k, v in arrays.items()}
            x = given.pop("x")
            work = peer_work(peer, row["kernel"], axes, x, given)
            if work is None:
                continue
            check(name, peer.back(work()))
            row[name] = peer.times(work)
            if o.compile and isinstance(peer, Torch):
                peer.torch._dynamo.reset()
                compiled = peer.torch.compile(work, dynamic=False)
                check("compiled", peer.back(compiled(x)))
                row["compiled"] = peer.times(lambda: compiled(x))
            del work, given, x
            peer.done()
        except Exception as e:  # of any kind that a peer has
            row[name] = f"{type(e).__name__}: {e}"[:300]
    if wrong:
        row["wrong"] = wrong
    known = [row[p] for p in (*peers, "compiled") if isinstance(row.get(p), float)]
    if known and "moonloop" in row:
        row["ratio"] = min(known)/row["moonloop"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--moonloop", type=pathlib.Path, default=binary())
    parser.add_argument("--only", help="kernels, with commas between them")
    parser.add_argument("--types", default="float32,float64,float16", help="of sums")
    parser.add_argument("--sizes", help="rows whose sizes contain one of these, with commas between them")
    parser.add_argument("--compile", action="store_true", help="PyTorch's compiled code, too")
    parser.add_argument("--limit", type=float, default=280, help="seconds for all rows")
    parser.add_argument("-o", "--output", type=pathlib.Path, help="a file for the figures and scripts, as JSON")
    o = parser.parse_args()
    if not o.moonloop:
        parser.error("no binary; give one with --moonloop")
    o.moonloop, o.types = o.moonloop.resolve(), o.types.split(",")
    wanted = [r for r in rows(o) if not o.sizes or any(s in r[0]["size"] for s in o.sizes.split(","))]
    return table(o, "reductions", ("kernel", "type", "size"), wanted, measure, ["compiled"]*o.compile)

if __name__ == "__main__":
    sys.exit(main())
