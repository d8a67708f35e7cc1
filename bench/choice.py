"""How well the cost model chooses between targets, on the 12 benchmarks of ALPyNA (DLS 2019).

Each kernel of bench/choice/ has the schedule of `lp.auto` on each target. For sizes that double, from
where nothing pays to where one run takes `--longest` seconds, each target is measured (the least
time of `--repeats` times `run --time`), and the model, which knows the machine's profile alone, chooses
one. A device counts twice, as two choices: with copies of the arrays to it and back, and with arrays
that are there already. Printed are the geometric mean of what the choices take by what the best ones
take, the worst one, and the share of wrong choices: of all, and of those that cost more than
`--near`. Always taking one target is there to compare with.

On a machine with a GPU: copy `moonloop` (`./dev static` makes one binary that needs libc alone) and the
folder bench/, leave the machine alone, and run

    python3 bench/choice.py --moonloop ./moonloop --targets openmp,cuda --json choice.json

It needs a C compiler for `c` and `openmp`, and NVIDIA's driver and NVRTC for `cuda`. It calibrates
first (`devices --measure`, into the cache's folder, $XDG_CACHE_HOME/moonloop); `--no-measure` keeps the
profiles that are there, `--asked FILE` asks the model again about the times in a file of before.
"""

import argparse
import datetime
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
KERNELS = HERE / "choice"
# The first size and the last one, in powers of two.
SIZES = {"vadd": (8, 26), "saxpy": (8, 26), "black-scholes": (6, 24), "conv-2d": (3, 13), "conway": (3, 13),
         "fbcorr": (1, 10), "gemm": (3, 12), "gemver": (3, 13), "hilbert": (3, 13), "jacobi": (3, 13),
         "mandelbrot": (2, 12), "syr2k": (3, 12)}
DEVICES = ("opencl", "cuda")

ASK = """
local schedules = {{}}
local kernel = {kernel}
for _, target in ipairs{{{targets}}} do schedules[target] = lp.auto(kernel, {{target = target, prefix = target .. "_"}}) end
local function nameless(target)  -- code, with names by the order in which they come
  local known, count = {{}}, 0
  return (schedules[target]:code(target):gsub("[%a_][%w_]*", function(name)
    if not known[name] then known[name], count = count, count + 1 end
    return known[name] .. "_"
  end))
end
for i, target in ipairs{{{targets}}} do
  for j, other in ipairs{{{targets}}} do
    if i < j and nameless(target) == nameless(other) then print("same", target, other) end
  end
end
for _, resident in ipairs{{false, true}} do
  for _, n in ipairs{{{sizes}}} do
    local chosen, costs = lp.choose_target(schedules, {{params = {{n = n}}, resident = resident, targets = {{{targets}}}, device = {{{device}}}}})
    local line = {{"choice", tostring(resident), n, chosen}}
    for _, target in ipairs{{{targets}}} do line[#line + 1] = ("%.6g"):format(costs[target].seconds) end
    print(table.concat(line, " "))
  end
end
"""


def run(arguments, limit=120):
    """Standard output, standard error and the exit status; no status where it took too long."""
    try:
        done = subprocess.run(arguments, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return "", f"took more than {limit} s", None
    return done.stdout, done.stderr, done.returncode


class Bench:
    def __init__(self, options):
        self.o = options
        self.moonloop = str(pathlib.Path(options.moonloop).resolve())
        self.targets = options.targets.split(",")
        self.residents = (False, True) if set(self.targets) & set(DEVICES) else (False,)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="choice-"))

    def sizes(self, kernel):
        first, last = SIZES[kernel]
        steps = range(first * self.o.steps, last * self.o.steps + 1)
        return sorted({round(2 ** (s / self.o.steps)) for s in steps})

    def name_in(self, kernel):
        for line in (KERNELS / f"{kernel}.loop").read_text().splitlines():
            if line.startswith("kernel "):
                return line.split()[1].split("(")[0]
        raise SystemExit(f"{kernel}.loop has no kernel")

    def profiles(self):
        """The profiles that `--profiles` names, as members of a table of Lua."""
        named = dict(p.split("=", 1) for p in self.o.profiles.split(",")) if self.o.profiles else {}
        return ", ".join(f'{t} = "{pathlib.Path(f).resolve()}"' for t, f in named.items())

    def ask(self, kernel, sizes):
        """The model's choice by (resident, size): the target, and the predicted seconds of all; and the pairs of
        targets whose code is the same but for names."""
        targets = ", ".join(f'"{t}"' for t in self.targets)
        script = self.folder / "ask.lua"
        script.write_text(ASK.format(kernel=self.name_in(kernel), targets=targets, device=self.profiles(),
                                     sizes=", ".join(map(str, sizes))))
        _, err, status = run([self.moonloop, "check", str(KERNELS / f"{kernel}.loop"), "-t", str(script), "--quiet"])
        out, same = {}, []
        for line in err.splitlines():
            words = line.replace("\t", " ").split()
            if words[:1] == ["same"]:
                same.append(words[1:])
            if words[:1] == ["choice"]:
                out[words[1] == "true", int(words[2])] = words[3], dict(zip(self.targets, map(float, words[4:])))
        if len(out) < 2 * len(sizes):
            raise SystemExit(f"{kernel}: the model gave no answer: {err.strip()[:1000]}")
        return out, same

    def schedule(self, kernel, target):
        path = self.folder / f"{kernel}-{target}.lua"
        if not path.exists():
            _, err, status = run([self.moonloop, "auto", str(KERNELS / f"{kernel}.loop"), "--target", target,
                                  "-o", str(path)])
            if status != 0:
                raise SystemExit(f"auto {kernel} --target {target}: {err.strip()[:1000]}")
        return str(path)

    def seconds(self, kernel, target, n, copies):
        """The least of all runs; nothing where it failed or took too long."""
        best = None
        arguments = [self.moonloop, "run", str(KERNELS / f"{kernel}.loop"), "-t", self.schedule(kernel, target),
                     "--target", target, "-p", f"n={n}", "--time", "--json", "--quiet"]
        for _ in range(self.o.repeats):
            out, err, status = run(arguments + (["--transfers"] if copies else []), 60 + 40 * self.o.longest)
            if status != 0:
                print(f"{kernel} n={n} on {target}: {err.strip()[:300]}", file=sys.stderr)
                return None
            least = json.loads(out)["time"]["least"]
            best = least if best is None else min(best, least)
            if least > self.o.longest:
                break
        return best

    def measure(self, kernel):
        """Points `{kernel, n, resident, seconds}`."""
        points = []
        for n in self.sizes(kernel):
            host = {}
            there = {False: {}, True: {}}
            for target in self.targets:
                if target not in DEVICES:
                    host[target] = self.seconds(kernel, target, n, False)
                    continue
                for resident in self.residents:
                    there[resident][target] = self.seconds(kernel, target, n, not resident)
            for resident in self.residents:
                seconds = {t: s for t, s in {**host, **there[resident]}.items() if s is not None}
                if len(seconds) < len(self.targets):
                    return points
                points.append({"kernel": kernel, "n": n, "resident": resident, "seconds": seconds})
            if max(host.values()) > self.o.longest or max(there[True].values(), default=0) > self.o.longest:
                return points
        return points


def judge(points, near):
    """What the choices cost."""
    if not points:
        return {}
    logs, worst, wrong, clearly = 0, (1, None), 0, 0
    always = {}
    for p in points:
        best = min(p["seconds"].values())
        penalty = p["seconds"][p["chosen"]] / best
        p["penalty"] = penalty
        logs += math.log(penalty)
        wrong += penalty > 1
        clearly += penalty > near
        if penalty > worst[0]:
            worst = (penalty, f"{p['kernel']} n={p['n']}{' resident' if p['resident'] else ''}: {p['chosen']}")
        for target, seconds in p["seconds"].items():
            always.setdefault(target, []).append(math.log(seconds / best))
    n = len(points)
    return {"points": n, "penalty": math.exp(logs / n), "worst": worst[0], "worst_at": worst[1],
            "wrong": wrong / n, "clearly_wrong": clearly / n,
            "always": {t: math.exp(sum(x) / len(x)) for t, x in always.items()}}


def table(points, o):
    lines = ["| kernel | points | penalty | worst | wrong | by more than {:.0%} |".format(o.near - 1),
             "|---|---|---|---|---|---|"]
    kernels = list(dict.fromkeys(p["kernel"] for p in points))
    for kernel in [*kernels, None]:
        all_of = [p for p in points if kernel in (None, p["kernel"])]
        j = judge(all_of, o.near)
        lines.append(f"| {f'`{kernel}`' if kernel else 'all'} | {j['points']} | {j['penalty']:.3f} | {j['worst']:.2f} | "
                     f"{j['wrong']:.1%} | {j['clearly_wrong']:.1%} |")
    return "\n".join(lines)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--moonloop", default="build/moonloop")
    p.add_argument("--targets", default="c,openmp,opencl", help="of which the model chooses one")
    p.add_argument("--kernels", default=",".join(sorted(SIZES)))
    p.add_argument("--steps", type=int, default=1, help="sizes for each doubling")
    p.add_argument("--longest", type=float, default=0.3, help="seconds of a run, at which a kernel's sizes end")
    p.add_argument("--repeats", type=int, default=1)
    p.add_argument("--near", type=float, default=1.05, help="a wrong choice within this factor is near the best one")
    p.add_argument("--no-measure", action="store_true", help="keep the profiles of the machine that are there")
    p.add_argument("--asked", help="times of a file of before; only the model is asked")
    p.add_argument("--profiles", help="files of another machine's profiles, for --asked: c=FILE,openmp=FILE,...")
    p.add_argument("--json", help="a file for all points, written after each kernel")
    o = p.parse_args()
    bench = Bench(o)
    if not o.no_measure and not o.asked:
        start = time.time()
        for target in dict.fromkeys("openmp" if t == "c" else t for t in bench.targets):
            _, err, status = run([bench.moonloop, "devices", "--measure", "--target", target], 300)
            if status != 0:
                raise SystemExit(f"devices --measure --target {target}: {err.strip()[:1000]}")
        print(f"calibrated in {time.time() - start:.0f} s", file=sys.stderr)
    before = json.loads(pathlib.Path(o.asked).read_text())["points"] if o.asked else None
    devices, _, _ = run([bench.moonloop, "devices"])
    result = {"date": datetime.date.today().isoformat(), "cores": os.cpu_count(), "targets": bench.targets,
              "devices": devices}
    points = []
    for kernel in o.kernels.split(","):
        mine = [q for q in before if q["kernel"] == kernel] if before else bench.measure(kernel)
        if not mine:
            print(f"{kernel}: no size was measured", file=sys.stderr)
            continue
        answers, same = bench.ask(kernel, sorted({q["n"] for q in mine}))
        for q in mine:
            for one, other in same:  # one program, of whose runs the least counts
                if one in q["seconds"] and other in q["seconds"]:
                    q["seconds"][one] = q["seconds"][other] = min(q["seconds"][one], q["seconds"][other])
            q["chosen"], q["predicted"] = answers[q["resident"], q["n"]]
        points += mine
        j = judge(mine, o.near)
        print(f"{kernel}: {j['points']} points, penalty {j['penalty']:.3f}, worst {j['worst']:.2f} ({j['worst_at']}), "
              f"wrong {j['wrong']:.1%}", file=sys.stderr)
        whole = judge(points, o.near)
        result |= {"summary": whole, "points": points}
        if o.json:
            pathlib.Path(o.json).write_text(json.dumps(result, indent=1) + "\n")
    if not points:
        raise SystemExit("no points")
    print(f"{result['date']}, {os.cpu_count()} cores, targets {', '.join(bench.targets)}\n")
    print(table(points, o))
    always = ", ".join(f"`{t}` {x:.2f}" for t, x in sorted(whole["always"].items()))
    print(f"\nworst: {whole['worst_at']}; always one target: {always}")


if __name__ == "__main__":
    main()
