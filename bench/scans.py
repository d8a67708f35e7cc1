"""Scans, segmented scans and histograms on a GPU: Moonloop's CUDA beside CuPy and PyTorch, in one run.

    scans.py [--moonloop M] [--sizes 16,20,24,28] [--only scan_float32,histogram] [--limit S]
             [--set KEY=VALUE]... [-o F.json]

needs a machine with an NVIDIA GPU and Python with NumPy; a peer that is not installed is named and has no
figures. Inputs and results are on the device; Moonloop's times are those of `run --time`, the peers' by CUDA
events, medians after a warm-up. Terms of scans are 1 and -1, so that all sums are exact, and each result is
compared with NumPy's. No peer has a segmented scan: `segments_*` are their sums of all beginnings less the sum
before each segment, for which they are given the segments' numbers and beginnings, which are not timed. The ratio is the time of the fastest peer over Moonloop's. The file is written anew after
each row; rows for which the time (`--limit`, seconds) does not suffice are named.
"""

import argparse
import datetime
import json
import math
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import numpy

HERE = pathlib.Path(__file__).resolve().parent
TYPES = ("float32", "float64", "int32")
BINS = (16, 256, 4096, 1 << 20)
COUNT = 1 << 26  # numbers in a histogram
RUNS, LEAST = 20, 3


class Peer:
    def times(self, work):
        for _ in range(LEAST):
            work()
        out = []
        for _ in range(RUNS):
            start, end = self.event(), self.event()
            start.record()
            work()
            end.record()
            end.synchronize()
            out.append(self.milliseconds(start, end)*1e-3)
        return statistics.median(out)


class Cupy(Peer):
    def __init__(self):
        import cupy
        self.xp = cupy

    def event(self):
        return self.xp.cuda.Event()

    def milliseconds(self, start, end):
        return self.xp.cuda.get_elapsed_time(start, end)

    def given(self, x):
        return self.xp.asarray(x)

    def back(self, y):
        return self.xp.asnumpy(y)

    def scan(self, x):
        y = self.xp.empty_like(x)
        return lambda: self.xp.cumsum(x, out=y)

    def segments(self, x, begins):
        first = self.xp.flatnonzero(begins)
        number = self.xp.cumsum(begins, dtype=self.xp.int64) - 1

        def work():
            y = self.xp.cumsum(x)
            y -= (y[first] - x[first])[number]
            return y
        return work

    def histogram(self, x, bins):
        return lambda: self.xp.bincount(x, minlength=bins)

    def done(self):
        self.xp.get_default_memory_pool().free_all_blocks()


class Torch(Peer):
    def __init__(self):
        import torch
        if not torch.cuda.is_available():
            raise ImportError("PyTorch finds no GPU")
        self.torch = torch

    def event(self):
        return self.torch.cuda.Event(enable_timing=True)

    def milliseconds(self, start, end):
        return start.elapsed_time(end)

    def given(self, x):
        return self.torch.from_numpy(x).cuda()

    def back(self, y):
        return y.cpu().numpy()

    def scan(self, x):
        y = self.torch.empty_like(x)
        return lambda: self.torch.cumsum(x, 0, dtype=x.dtype, out=y)

    def segments(self, x, begins):
        first = self.torch.nonzero(begins).flatten()
        number = self.torch.cumsum(begins, 0, dtype=self.torch.int64) - 1

        def work():
            y = self.torch.cumsum(x, 0, dtype=x.dtype)
            y -= (y[first] - x[first])[number]
            return y
        return work

    def histogram(self, x, bins):
        return lambda: self.torch.bincount(x, minlength=bins)

    def done(self):
        self.torch.cuda.empty_cache()


def ours(o, file, kernel, inputs, sizes, options, folder):
    """Seconds of a run and the result."""
    path = HERE / "gpu_kernels" / file
    argv = [o.moonloop, "run", f"{path}.loop", "-t", f"{path}.lua", "--kernel", kernel, "--target", "cuda",
            "--time", "--json", "--quiet", "--no-db", "--out", f"y={folder / 'y.npy'}"]
    for name, value in inputs.items():
        numpy.save(folder / f"{name}.npy", value)
        argv += ["--in", f"{name}={folder / f'{name}.npy'}"]
    for name, value in sizes.items():
        argv += ["-p", f"{name}={value}"]
    for setting in [*options, *o.set]:
        argv += ["--set", setting]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip()[:2000])
    return json.loads(done.stdout)["time"]["median"], numpy.load(folder / "y.npy")


def rows(o):
    random = numpy.random.default_rng(1)
    for kind in TYPES:
        for size in o.sizes:
            def terms(kind=kind, size=size):
                x = (random.integers(0, 2, 1 << size, dtype=numpy.int8)*2 - 1).astype(kind)
                return {"x": x}, numpy.cumsum(x, dtype=kind)
            moved = 2*(1 << size)*numpy.dtype(kind).itemsize
            yield {"kernel": f"scan_{kind}", "file": "scan", "size": f"2^{size}", "bytes": moved}, terms, 1 << size, 0
    for kind in TYPES:
        for size in o.sizes:
            def segments(kind=kind, size=size):
                x = (random.integers(0, 2, 1 << size, dtype=numpy.int8)*2 - 1).astype(kind)
                begins = (random.integers(0, 100, 1 << size, dtype=numpy.int8) == 0).astype(numpy.int8)
                begins[0] = 1
                y, first = numpy.cumsum(x, dtype=kind), numpy.flatnonzero(begins)
                y -= numpy.repeat(y[first] - x[first], numpy.diff(first, append=1 << size))
                return {"x": x, "begins": begins}, y
            moved = (1 << size)*(2*numpy.dtype(kind).itemsize + 1)
            yield {"kernel": f"segments_{kind}", "file": "segments", "size": f"2^{size}",
                   "bytes": moved}, segments, 1 << size, 0
    for bins in BINS:
        for equal in (False, True):
            def numbers(bins=bins, equal=equal):
                x = random.integers(0, bins, COUNT, dtype=numpy.int32)
                if equal:
                    x[:] = bins//2
                return {"x": x}, numpy.bincount(x, minlength=bins)
            what = f"{bins} bins, {'all equal' if equal else 'uniform'}"
            yield {"kernel": "histogram", "file": "histogram", "size": what, "bytes": 4*COUNT}, numbers, COUNT, bins


def measure(o, row, data, n, bins, peers, folder):
    inputs, wanted = data()
    wrong = []
    try:
        options = [f"bins={bins}"] if bins else []
        row["moonloop"], y = ours(o, row["file"], row["kernel"], inputs, {"n": n}, options, folder)
        if not numpy.array_equal(y, wanted):
            wrong.append("moonloop")
    except (RuntimeError, OSError) as e:
        row["failure"] = str(e)
    for name, peer in peers.items():
        try:
            given = [peer.given(x) for x in inputs.values()]
            work = (peer.histogram(*given, bins) if bins else
                    peer.segments(*given) if len(given) > 1 else peer.scan(*given))
            if not numpy.array_equal(peer.back(work()), wanted):
                wrong.append(name)
            row[name] = peer.times(work)
            del work, given
            peer.done()
        except Exception as e:  # of any kind that a peer has
            row[name] = f"{type(e).__name__}: {e}"[:300]
    if wrong:
        row["wrong"] = wrong
    known = [row[p] for p in peers if isinstance(row.get(p), float)]
    if known and "moonloop" in row:
        row["ratio"] = min(known)/row["moonloop"]


def binary():
    """The program that is there, or nothing."""
    there = [p for p in (HERE.parent / "build-static" / "moonloop", HERE.parent / "build" / "moonloop") if p.exists()]
    return there[0] if there else None


def table(o, name, keys, rows, measure, more=()):
    """Measures rows and prints each, with the columns `keys` of its own and those of the peers and of `more`; writes
    all of them to o.output. `rows`: of a row and what `measure` takes with it. Gives the exit status."""
    if not shutil.which("nvidia-smi"):
        print(f"{name}: needs a machine with an NVIDIA GPU; `nvidia-smi` is not there", file=sys.stderr)
        return 2
    begin = time.monotonic()
    device = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"],
                            capture_output=True, text=True, check=False).stdout.strip()
    result, peers = {"date": str(datetime.date.today()), "device": device, "peers": {}, "rows": []}, {}
    for peer, make in (("cupy", Cupy), ("torch", Torch)):
        try:
            peers[peer] = make()
            result["peers"][peer] = (peers[peer].xp if peer == "cupy" else peers[peer].torch).__version__
        except ImportError as e:
            result["peers"][peer] = f"not there: {e}"
        print(f"{peer}: {result['peers'][peer]}", file=sys.stderr, flush=True)
    columns = [*peers, *more]
    print(f"{result['date']}, {device}; `./dev bench {name}`\n\n| {' | '.join(keys)} | Moonloop, us | " +
          "".join(f"{p}, us | " for p in columns) + "ratio | Moonloop, TB/s |\n" +
          "|---"*(len(keys) + len(columns) + 3) + "|", flush=True)
    shared = pathlib.Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=shared if shared.is_dir() else None) as folder:
        for row, *given in rows:
            if o.only and row["kernel"] not in o.only.split(","):
                continue
            if time.monotonic() - begin > o.limit:
                row["failure"] = "no time was left"
            else:
                measure(o, row, *given, peers, pathlib.Path(folder))
            result["rows"].append(row)
            cell = lambda v: f"{v*1e6:.1f}" if isinstance(v, float) else ""
            rate = f"{row['bytes']/row['moonloop']/1e12:.2f}" if "moonloop" in row else ""
            print("| " + " | ".join(f"`{row[k]}`" if k == "kernel" else row[k] for k in keys) +
                  f" | {cell(row.get('moonloop'))} | " + "".join(f"{cell(row.get(p))} | " for p in columns) +
                  f"{row.get('ratio', math.nan):.2f} | {rate} |", flush=True)
            for what in ("failure", "wrong"):
                if what in row:
                    print(f"{row['kernel']}, {row['size']}: {what}: {row[what]}", file=sys.stderr, flush=True)
            if o.output:
                o.output.write_text(json.dumps(result, indent=1) + "\n")
    return 1 if any("failure" in r or "wrong" in r for r in result["rows"]) else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--moonloop", type=pathlib.Path, default=binary())
    parser.add_argument("--sizes", default="16,18,20,22,24,26,28", help="of scans, as powers of two")
    parser.add_argument("--only", help="kernels, with commas between them")
    parser.add_argument("--limit", type=float, default=280, help="seconds for all rows")
    parser.add_argument("--set", action="append", default=[], help="KEY=VALUE for the scripts: items, each, share")
    parser.add_argument("-o", "--output", type=pathlib.Path, help="a file for the figures, as JSON")
    o = parser.parse_args()
    if not o.moonloop:
        parser.error("no binary; give one with --moonloop")
    o.moonloop, o.sizes = o.moonloop.resolve(), [int(s) for s in o.sizes.split(",")]
    return table(o, "scans", ("kernel", "size"), rows(o), measure)

if __name__ == "__main__":
    sys.exit(main())
