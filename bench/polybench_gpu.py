"""The kernels of PolyBench/C 4.2.1 on a GPU: Moonloop's `auto` for CUDA beside what PPCG makes.

In two parts, since PPCG is seldom where the GPU is:

    polybench_gpu.py prepare FOLDER --polybench P --ppcg PPCG     writes programs, kernels and sizes
    polybench_gpu.py measure FOLDER [--moonloop M] [-o F.json]    builds and runs them: nvcc, Python

Times are of launches and kernels, with all data on the device: Moonloop's by `run --time`, PPCG's by
the clock around the part that PolyBench times, without allocations and copies, the least of {turns}.
PPCG gets its default options. With --tuned, `moonloop tune` looks for the knobs of each script first.
"""

import argparse
import concurrent.futures
import datetime
import json
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys

import polybench

TURNS = 3
TIMING = polybench.KERNELS / "cuda_timing.h"


def geometric(values):
    return polybench.geometric(list(values))


# ---- Preparing -------------------------------------------------------------------------------------


def timed(text):
    """PPCG's host code with the times of polybench's loops taken by cuda_timing.h."""
    text = re.sub(r"polybench_start_instruments;",
                  f"for (int turn_ = 0; turn_ < {TURNS}; ++turn_) {{ timing::start();", text)
    text = re.sub(r"polybench_stop_instruments;", "timing::stop(); }", text)
    text = re.sub(r"polybench_print_instruments;", "timing::print();", text)
    for old, new in (("Malloc", "allocate"), ("Memcpy", "copy"), ("Free", "release")):
        text = re.sub(rf"\bcuda{old}\(", f"timing::{new}(", text)
    return '#include "cuda_timing.h"\n' + text


def prepare(o):
    for name in o.kernels:
        folder = o.folder / name
        folder.mkdir(parents=True, exist_ok=True)
        benchmark = polybench.Benchmark(name, o.polybench, o.size, ["gcc"])
        loop = polybench.KERNELS / f"{name}.loop"
        names = polybench.arguments(loop)
        shutil.copy(loop, folder)
        facts = {"size": o.size, "params": {n: v for n, v in benchmark.values.items() if n in names}}
        for file in (benchmark.source.parent / f"{name}.h", o.polybench / "utilities" / "polybench.h",
                     o.polybench / "utilities" / "polybench.c", TIMING):
            shutil.copy(file, folder)
        try:
            polybench.run("PPCG", [o.ppcg, "--target=cuda", "-I", o.polybench / "utilities", "-I",
                                   benchmark.source.parent, f"-D{o.size}_DATASET", "-o", f"{name}.c",
                                   benchmark.source], o.limit, cwd=folder)
            host = folder / f"{name}_host.cu"
            host.write_text(timed(host.read_text()))
        except polybench.Failed as e:
            facts["ppcg_failure"] = str(e)
        (folder / "facts.json").write_text(json.dumps(facts, indent=1) + "\n")
        print(name, facts.get("ppcg_failure", ""), flush=True)
    return 0


# ---- Measuring -------------------------------------------------------------------------------------


def build(o, name):
    """The program of PPCG, or why there is none."""
    folder = o.folder / name
    facts = json.loads((folder / "facts.json").read_text())
    if "ppcg_failure" in facts:
        return None, facts["ppcg_failure"]
    flags = ["-O3", f"-arch={o.arch}", "-Drestrict=__restrict__", f"-D{facts['size']}_DATASET", "-I", ".", "-w"]
    try:
        polybench.run("nvcc", [o.nvcc, *flags, "-o", "main", f"{name}_host.cu", f"{name}_kernel.cu", "-x", "cu",
                               "polybench.c"], o.limit, cwd=folder)
    except polybench.Failed as e:
        return None, str(e)
    return folder / "main", None


def ours(o, name, row):
    folder = o.folder / name
    facts = json.loads((folder / "facts.json").read_text())
    given = [w for n, v in facts["params"].items() for w in ("-p", f"{n}={v}")]
    loop, script = folder / f"{name}.loop", folder / f"{name}.lua"
    common = ["--target", "cuda", *given]
    _, row["auto"] = polybench.run("auto", [o.moonloop, "auto", loop, *common, "-o", script], o.limit)
    row["lines"] = sum(1 for line in script.read_text().splitlines() if line.strip())
    small = [w for n, v in facts["params"].items() for w in ("-p", f"{n}={min(v, 37)}")]
    polybench.run("verify", [o.moonloop, "run", loop, "-t", script, "--target", "cuda", *small, "--verify",
                             "--quiet", "--no-db"], o.limit)
    how = ["--no-db"]
    if o.tuned and "lp.knob" in script.read_text():
        how = ["--db", o.folder / "trials.db"]
        polybench.run("tune", [o.moonloop, "tune", loop, "-t", script, *common, *how, "--time", o.tune_time],
                      math.inf)
    out, _ = polybench.run("run", [o.moonloop, "run", loop, "-t", script, *common, "--time", "--json", "--quiet",
                                   *how], o.limit)
    row["moonloop"] = json.loads(out)["time"]["median"]


def theirs(o, name, program, row):
    out, _ = polybench.run("PPCG's program", [program], o.limit,
                           env={**os.environ, "CUDA_MODULE_LOADING": "EAGER"}, cwd=o.folder / name)
    row["ppcg"] = float(out.split()[-1])
    if row["ppcg"] > 1e20:
        del row["ppcg"]
        raise polybench.Failed("PPCG's program: its kernels failed")


def measure(o):
    device = subprocess.run(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"], capture_output=True,
                            text=True, check=False).stdout.strip()
    result = {"date": str(datetime.date.today()), "device": device, "tuned": o.tuned, "kernels": []}
    print(f"{result['date']}, {device}{', tuned' * o.tuned}\n\n| kernel | PPCG, s | Moonloop, s | ratio | lines |\n"
          "|---|---|---|---|---|", flush=True)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        programs = dict(zip(o.kernels, pool.map(lambda n: build(o, n), o.kernels)))
    for name in o.kernels:
        row = {"kernel": name}
        try:
            ours(o, name, row)
        except polybench.Failed as e:
            row["failure"] = str(e)
        program, why = programs[name]
        try:
            if not program:
                raise polybench.Failed(why)
            theirs(o, name, program, row)
        except polybench.Failed as e:
            row["ppcg_failure"] = str(e)
        if "ppcg" in row and "moonloop" in row:
            row["ratio"] = row["ppcg"] / row["moonloop"]
        result["kernels"].append(row)
        cell = lambda key, form: format(row[key], form) if key in row else ""
        print(f"| `{name}` | {row.get('ppcg_failure') or cell('ppcg', '.4g')} | "
              f"{row.get('failure') or cell('moonloop', '.4g')} | {cell('ratio', '.2f')} | {cell('lines', 'd')} |",
              flush=True)
        if o.output:
            o.output.write_text(json.dumps(result, indent=1) + "\n")
    ratios = {r["kernel"]: r["ratio"] for r in result["kernels"] if "ratio" in r}
    result["mean"] = geometric(ratios.values())
    print(f"\ngeometric mean {result['mean']:.2f} of {len(ratios)} kernels; below 1: " +
          (", ".join(f"{k} ({v:.2f})" for k, v in sorted(ratios.items(), key=lambda x: x[1]) if v < 1) or "none"))
    if o.output:
        o.output.write_text(json.dumps(result, indent=1) + "\n")
    return 1 if any("failure" in r for r in result["kernels"]) else 0


def parse():
    parser = argparse.ArgumentParser(description=__doc__.format(turns=TURNS),
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=["prepare", "measure"])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--kernels", help="names with commas between them; all where none is named")
    parser.add_argument("--limit", type=float, default=100, help="seconds that a step may take")
    parser.add_argument("--polybench", type=pathlib.Path, help="to prepare: PolyBench/C 4.2.1")
    parser.add_argument("--ppcg", type=pathlib.Path, help="to prepare: the program")
    parser.add_argument("--size", choices=polybench.SIZES, default="LARGE", help="to prepare")
    parser.add_argument("--moonloop", type=pathlib.Path,
                        default=polybench.HERE.parent / "build" / "moonloop", help="to measure")
    parser.add_argument("--nvcc", default="nvcc", help="to measure: compiles PPCG's code")
    parser.add_argument("--arch", default="sm_90", help="to measure: of the GPU, for PPCG's code")
    parser.add_argument("--tuned", action="store_true", help="to measure: tune the knobs first")
    parser.add_argument("--tune-time", default="10s", help="to measure: for each kernel")
    parser.add_argument("-o", "--output", type=pathlib.Path, help="to measure: a file for the figures, as JSON")
    o = parser.parse_args()
    if o.part == "prepare" and not (o.polybench and o.ppcg):
        parser.error("prepare needs --polybench and --ppcg")
    o.folder, o.moonloop = o.folder.resolve(), o.moonloop.resolve()
    there = sorted(p.stem for p in polybench.KERNELS.glob("*.loop"))
    o.kernels = o.kernels.split(",") if o.kernels else there
    for name in o.kernels:
        if name not in there:
            parser.error(f"no kernel `{name}`; there are {', '.join(there)}")
    return o


if __name__ == "__main__":
    options = parse()
    sys.exit(prepare(options) if options.part == "prepare" else measure(options))
