"""APPy's 20 kernels on a GPU, at the sizes of NPBench's `paper`: Moonloop's `auto` for CUDA beside CuPy,
torch.compile, JAX and Numba.

    appy.py [--moonloop M] [--kernels a,b] [--peers cupy,torch] [--tuned] [-o F.json]

needs a machine with an NVIDIA GPU and Python with the peers that are to be run; one that is not there has no
figures. Times are of runs with all data on the device: Moonloop's by `run --time`, the peers' as
bench/appy_peers.py says. The ratio is the time of the fastest peer over Moonloop's. With --tuned,
`moonloop tune` looks for the knobs of each script first.
"""

import argparse
import datetime
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy

import polybench
import appy_peers as peers

KERNELS = polybench.HERE / "appy_kernels"
TOOLS = ("cupy", "torch", "jax", "numba")
SIZES = {
    "azimint_naive": {"n": 1000000, "npt": 1000},
    "cholesky": {"n": 2000},
    "covariance": {"m": 1200, "n": 1400},
    "fdtd-2d": {"tmax": 500, "nx": 1000, "ny": 1200},
    "floyd-warshall": {"n": 2800},
    "gemm": {"ni": 2000, "nj": 2300, "nk": 2600},
    "gemver": {"n": 8000},
    "gesummv": {"n": 11200},
    "go_fast": {"n": 12500},
    "gramschmidt": {"m": 240, "n": 200},
    "hdiff": {"ni": 256, "nj": 256, "nk": 160},
    "heat-3d": {"tsteps": 500, "n": 120},
    "jacobi-2d": {"tsteps": 1000, "n": 2800},
    "softmax": {"rows": 64*16*512, "n": 512},
    "spmv": {"n": 131072, "m": 131072, "nnz": 262144},
    "symm": {"m": 1000, "n": 1200},
    "syr2k": {"m": 1000, "n": 1200},
    "syrk": {"m": 1000, "n": 1200},
    "trisolv": {"n": 16000},
    "trmm": {"m": 1000, "n": 1200},
}


def source(kernel):
    own = KERNELS / f"{kernel}.loop"
    return own if own.exists() else polybench.KERNELS / f"{kernel}.loop"


def ours(o, kernel, folder):
    """Seconds of a run, and lines of the script."""
    loop, script = source(kernel), folder / f"{kernel}.lua"
    sizes = [w for n, v in SIZES[kernel].items() for w in ("-p", f"{n}={v}")]
    common, how = ["--target", "cuda", *sizes], ["--no-db"]
    given = peers.matrix(SIZES[kernel]) if kernel == "spmv" else peers.conditioned(kernel, SIZES[kernel])
    for name, values in given.items():
        numpy.save(folder / f"{name}.npy", values)
        how += ["--in", f"{name}={folder / name}.npy"]
    polybench.run("auto", [o.moonloop, "auto", loop, *common, "-o", script], o.limit)
    if o.tuned and "lp.knob" in script.read_text():
        how = ["--db", folder / "trials.db", *how[1:]]
        polybench.run("tune", [o.moonloop, "tune", loop, "-t", script, *common, *how, "--time", o.tune_time],
                      polybench.math.inf)
    out, _ = polybench.run("run", [o.moonloop, "run", loop, "-t", script, *common, "--time", "--json", "--quiet",
                                   *how], o.limit)
    lines = sum(1 for line in script.read_text().splitlines() if line.strip())
    return json.loads(out)["time"]["median"], lines


def theirs(tool, kernels, folder):
    """Lines of appy_peers.py by kernel. Where the process ends early, another one goes on behind that kernel."""
    sizes, out, rest = folder / "sizes.json", {}, list(kernels)
    sizes.write_text(json.dumps(SIZES))
    while rest:
        argv = [sys.executable, polybench.HERE / "appy_peers.py", tool, sizes, *rest]
        try:
            done = subprocess.run(argv, capture_output=True, text=True, check=False,
                                  timeout=2*peers.LIMIT*len(rest) + 60)
            text, why = done.stdout, done.stderr.strip().splitlines()[-1:]
        except subprocess.TimeoutExpired as e:
            text, why = (e.stdout or b"").decode(), ["it did not end"]
        for line in text.splitlines():
            if line.startswith("{"):
                line = json.loads(line)
                out[line["kernel"]] = line
        rest = [k for k in rest if k not in out]
        if rest:
            out[rest[0]] = {"failure": "".join(why) or "the process ended"}
            if "No module" in out[rest[0]]["failure"]:
                return {k: out[rest[0]] for k in kernels}
            rest = rest[1:]
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--moonloop", type=pathlib.Path, default=polybench.HERE.parent / "build" / "moonloop")
    parser.add_argument("--kernels", help="names with commas between them; all where none is named")
    parser.add_argument("--peers", default=",".join(TOOLS))
    parser.add_argument("--limit", type=float, default=100, help="seconds that a step of Moonloop's may take")
    parser.add_argument("--tuned", action="store_true", help="tune the knobs first")
    parser.add_argument("--tune-time", default="10s", help="for each kernel")
    parser.add_argument("-o", "--output", type=pathlib.Path, help="a file for the figures, as JSON")
    o = parser.parse_args()
    o.moonloop = o.moonloop.resolve()
    kernels = o.kernels.split(",") if o.kernels else list(SIZES)
    for k in kernels:
        if k not in SIZES:
            parser.error(f"no kernel `{k}`; there are {', '.join(SIZES)}")
    tools = [t for t in o.peers.split(",") if t]
    for t in tools:
        if t not in TOOLS:
            parser.error(f"no peer `{t}`; there are {', '.join(TOOLS)}")
    device = subprocess.run(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"], capture_output=True,
                            text=True, check=False).stdout.strip()
    result = {"date": str(datetime.date.today()), "device": device, "tuned": o.tuned, "kernels": []}
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        rows = {k: {"kernel": k} for k in kernels}
        for k in kernels:
            try:
                rows[k]["moonloop"], rows[k]["lines"] = ours(o, k, folder)
            except polybench.Failed as e:
                rows[k]["failure"], failed = str(e), True
            print(k, rows[k].get("moonloop") or rows[k].get("failure"), file=sys.stderr, flush=True)
        for t in tools:
            for k, line in theirs(t, kernels, folder).items():
                rows[k][t] = line.get("seconds") or line["failure"]
                print(t, k, rows[k][t], file=sys.stderr, flush=True)
    print(f"{result['date']}, {device}{', tuned' * o.tuned}\n\n| kernel | Moonloop, s | " +
          "".join(f"{t}, s | " for t in tools) + "ratio | lines |\n" + "|---"*(len(tools) + 4) + "|")
    ratios = {}
    for k, row in rows.items():
        result["kernels"].append(row)
        known = [row[t] for t in tools if isinstance(row.get(t), float)]
        if known and "moonloop" in row:
            ratios[k] = row["ratio"] = min(known)/row["moonloop"]
        cell = lambda v: f"{v:.4g}" if isinstance(v, float) else ""
        print(f"| `{k}` | {cell(row.get('moonloop')) or row['failure']} | " +
              "".join(f"{cell(row.get(t))} | " for t in tools) +
              f"{row.get('ratio', 0):.2f} | {row.get('lines', '')} |")
    if ratios:
        result["mean"] = polybench.geometric(list(ratios.values()))
        print(f"\ngeometric mean {result['mean']:.2f} of {len(ratios)} kernels; below 1: " +
              (", ".join(f"{k} ({v:.2f})" for k, v in sorted(ratios.items(), key=lambda x: x[1]) if v < 1) or "none"))
    if o.output:
        o.output.write_text(json.dumps(result, indent=1) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
