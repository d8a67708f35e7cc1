"""Kernels of whole programs in Fortran, by gfortran and by way of Moonloop: both in one program.

Each kernel of CloverLeaf and TeaLeaf is linked twice, and a call goes to the one or to the other by
turns. A second run of the program exchanges the two, so that each call is timed by both, on the
same values. Prints for each kernel the sums over its calls of the medians over all runs. What the
programs print, but for times, must be the same by gfortran's kernels, by Moonloop's and by turns.
"""

import argparse
import collections
import itertools
import math
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

import lapack

HERE = pathlib.Path(__file__).resolve().parent
MOONLOOP = HERE.parent / "build" / "moonloop"
FLAGS = ["-O3", "-march=native", "-ffree-line-length-none"]
FLAGS_OF_C = ["-O2", "-march=native"]
OF_MPI = ["-fallow-argument-mismatch"]  # calls without interfaces

CLOVERLEAF = """*clover
 state 1 density=0.2 energy=1.0
 state 2 density=1.0 energy=2.5 geometry=rectangle xmin=0.0 xmax=5.0 ymin=0.0 ymax=2.0
 x_cells={size}
 y_cells={size}
 xmin=0.0
 ymin=0.0
 xmax=10.0
 ymax=10.0
 initial_timestep=0.04
 timestep_rise=1.5
 max_timestep=0.04
 end_step=20
*endclover
"""
TEALEAF = """*tea
state 1 density=100.0 energy=0.0001
state 2 density=0.1 energy=25.0 geometry=rectangle xmin=0.0 xmax=1.0 ymin=1.0 ymax=2.0
state 3 density=0.1 energy=0.1 geometry=rectangle xmin=1.0 xmax=6.0 ymin=1.0 ymax=2.0
state 4 density=0.1 energy=0.1 geometry=rectangle xmin=5.0 xmax=6.0 ymin=1.0 ymax=8.0
x_cells={size}
y_cells={size}
xmin=0.0
ymin=0.0
xmax=10.0
ymax=10.0
initial_timestep=0.004
end_step=1
tl_max_iters={iterations}
tl_use_{solver}
tl_ppcg_inner_steps=10
tl_ch_cg_presteps=20
tl_ch_cg_epslim=1.0e30
tl_eps=1.0e-15
tl_preconditioner_type={preconditioner}
halo_depth=1
*endtea
"""
# A program: its name, kernels' folder, input and output files, inputs by name, options of Moonloop.
PROGRAMS = {
    "cloverleaf": ("CloverLeaf", "kernels", "clover.in", "clover.out",
                   {"20 steps": CLOVERLEAF.format(size=960)}, ["--directives", "check"]),
    "tealeaf": ("TeaLeaf", "kernels", "tea.in", "tea.out",
                {f"{solver}, {preconditioner}": TEALEAF.format(
                    size=700, iterations=iterations, solver=solver, preconditioner=preconditioner)
                 for solver, preconditioner, iterations in (
                     ("cg", "none", 60), ("cg", "jac_diag", 30), ("cg", "jac_block", 20),
                     ("chebyshev", "none", 60), ("ppcg", "none", 60), ("jacobi", "none", 60))},
                ["--directives", "use"]),
}

DISPATCH = """#define _POSIX_C_SOURCE 199309L
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#ifdef _OPENMP
#include <omp.h>
#define THREAD omp_get_thread_num()
#else
#define THREAD 0
#endif
enum {{ kKernels = {kernels}, kThreads = 64, kCalls = 8192 }};
static double *times[kThreads][kKernels];
static unsigned calls[kThreads][kKernels];
static int how = -1;  /* 0 and 1: by turns; 2: gfortran's, 3: Moonloop's */
static double now(void) {{
  struct timespec t;
  clock_gettime({clock}, &t);
  return t.tv_sec + 1e-9*t.tv_nsec;
}}
__attribute__((constructor)) static void start(void) {{ how = atoi(getenv("BENCH_HOW")); }}
__attribute__((destructor)) static void finish(void) {{
  FILE *f = fopen(getenv("BENCH_TIMES"), "w");
  for (int t = 0; t < kThreads; ++t)
    for (int k = 0; k < kKernels; ++k)
      for (unsigned c = 0; c < calls[t][k] && c < kCalls; ++c)
        fprintf(f, "%d %d %u %.9f\\n", k, t, c, times[t][k][c]);
  fclose(f);
}}
static int begin(int kernel, int thread) {{
  if (!times[thread][kernel]) times[thread][kernel] = calloc(kCalls, sizeof(double));
  return how >= 2 ? how == 3 : (calls[thread][kernel] + how) % 2;
}}
static void end(int kernel, int thread, double from) {{
  const double to = now();
  const unsigned c = calls[thread][kernel]++;
  if (c < kCalls) times[thread][kernel][c] = to - from;
}}
"""
DISPATCHED = """void {symbol}_by_gfortran({arguments});
void {symbol}_by_moonloop({arguments});
void {symbol}({arguments}) {{
  const int thread = THREAD, ours = begin({number}, thread);
  const double from = now();
  if (ours) {symbol}_by_moonloop({values});
  else {symbol}_by_gfortran({values});
  end({number}, thread, from);
}}
"""


class Failed(Exception):
    """A command that fails, and what it says."""


def run(words, **options):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        raise Failed(f"{' '.join(map(str, words))}: {done.stdout}{done.stderr}")
    return done


def in_order(sources):
    """The files so that modules come before those that use them."""
    texts = {s: s.read_text(errors="replace") for s in sources}
    made = {m.lower(): s for s, t in texts.items()
            for m in re.findall(r"^\s*module\s+(?!procedure)(\w+)\s*$", t, re.M | re.I)}
    out = []

    def visit(source):
        if source in out:
            return
        for module in re.findall(r"^\s*use\s*(?:,[^:]*)?(?:::)?\s*(\w+)", texts[source], re.M | re.I):
            if made.get(module.lower(), source) != source:
                visit(made[module.lower()])
        out.append(source)

    for source in sources:
        visit(source)
    return out


def subroutines(source):
    """The names of a file's subroutines, each with how many arguments it has."""
    text = re.sub(r"&[ \t]*(?:![^\n]*)?\n(?:[ \t]*(?:![^\n]*)?\n)*[ \t]*&?", " ", source.read_text())
    return {name.lower(): len([a for a in arguments.split(",") if a.strip()])
            for name, arguments in re.findall(r"^\s*subroutine\s+(\w+)\s*\(([^)]*)\)", text, re.M | re.I)}


def symbols(path, kinds):
    return [words[-1] for words in map(str.split, run(["nm", path]).stdout.splitlines())
            if len(words) == 3 and words[1] in kinds]


def same(a, b):
    """Whether lines are equal; their numbers to rounding, as compilers fuse products and sums."""
    number = r"-?\d+\.\d*(?:[ed][-+]?\d+)?"
    x, y = ([float(t.lower().replace("d", "e")) for t in re.findall(number, s, re.I)] for s in (a, b))
    return (re.split(number, a, flags=re.I) == re.split(number, b, flags=re.I) and
            all(math.isclose(v, w, rel_tol=1e-9) for v, w in zip(x, y)))


class Program:
    """A program in `folder`, built with both codes of its kernels."""

    def __init__(self, name, source, folder, threads, options):
        self.title, kernels, self.input, self.output, self.inputs, extra = PROGRAMS[name]
        self.folder, self.threads = folder, threads
        shutil.copytree(source, folder)
        flags = FLAGS + (["-fopenmp"] if threads > 1 else [])
        target = "openmp" if threads > 1 else "c"
        sources = in_order(sorted([*folder.glob("*.f90"), *(folder / kernels).glob("*.f90")]))
        objects, self.kernels, own, theirs = [], [], [], []
        for s in sources:
            o = folder / f"{s.stem}.o"
            run(["mpif90", *flags, *OF_MPI, "-c", s, "-o", o], cwd=folder)
            objects.append(o)
        for s in [s for s in sources if s.parent.name == kernels]:
            shown = run([MOONLOOP, "show", s, "--what", "imports", *extra, "-I", folder], cwd=folder).stdout
            names = [line.split()[0] for line in shown.splitlines() if line.endswith(" imported")]
            names = [n for n in names if n in subroutines(s)]
            good = []
            for n in names:
                try:
                    run([MOONLOOP, "gen", s, "--kernel", n, "--target", target, *extra, "-I", folder,
                         "-o", folder / "k.c", "--fortran-interface", folder / "k.f90"], cwd=folder)
                    good.append(n)
                except Failed as e:
                    print(f"{s.name}: `{n}` stays gfortran's: {str(e).split('error: ')[-1].splitlines()[0]}",
                          file=sys.stderr)
            if not good:
                continue
            ours = folder / f"{s.stem}_ours.o"
            run([MOONLOOP, "fc", "--target", target, *extra, *options, "-I", folder,
                 *[w for n in good for w in ("--kernel", n)], "--",
                 "mpif90", *flags, "-c", s, "-o", ours], cwd=folder)
            by_name = {x.split("_MOD_")[1]: x for x in symbols(ours, "T") if "_MOD_" in x}
            self.kernels += [(n, by_name[n], subroutines(s)[n]) for n in good if n in by_name]
            own.append(ours)
            theirs.append(folder / f"{s.stem}.o")
        for group, how in ((own, "moonloop"), (theirs, "gfortran")):
            for o in group:
                words = [w for _, x, _ in self.kernels for w in ("--redefine-sym", f"{x}={x}_by_{how}")]
                if how == "moonloop":  # what is not dispatched, and variables of modules, are gfortran's
                    words.append("--weaken")
                run(["objcopy", *words, o])
        (folder / "dispatch.c").write_text(DISPATCH.format(
            kernels=len(self.kernels),
            clock="CLOCK_MONOTONIC" if threads > 1 else "CLOCK_PROCESS_CPUTIME_ID") + "".join(
            DISPATCHED.format(symbol=x, number=i, values=", ".join(f"a{j}" for j in range(n)),
                              arguments=", ".join(f"void *a{j}" for j in range(n)) or "void")
            for i, (_, x, n) in enumerate(self.kernels)))
        run(["gcc", *FLAGS_OF_C, *(["-fopenmp"] if threads > 1 else []), "-c", "dispatch.c"], cwd=folder)
        (folder / "dispatch.c").unlink()  # the others of the folder are the program's
        for c in sorted([*folder.glob("*.c"), *(folder / kernels).glob("*.c")]):
            objects.append(folder / f"{c.stem}_in_c.o")
            run(["gcc", *FLAGS_OF_C, "-c", c, "-o", objects[-1]], cwd=folder)
        run(["mpif90", *flags, "-o", "main", "dispatch.o", *objects, *own, "-lm"], cwd=folder)

    def call(self, how):
        """One run: times by kernel, thread and call, and what was printed, but for times."""
        environment = dict(os.environ, BENCH_HOW=str(how), BENCH_TIMES=str(self.folder / "times"),
                           OMP_NUM_THREADS=str(self.threads), OMP_PROC_BIND="true")
        run(["./main"], cwd=self.folder, env=environment)
        times = {}
        for line in (self.folder / "times").read_text().splitlines():
            *key, value = line.split()
            times[tuple(map(int, key))] = float(value)
        lines = (self.folder / self.output).read_text(errors="replace").splitlines()
        return times, [x for x in lines if not re.search(r"clock|time\s*per|step time|overhead|date|:\d\d", x, re.I)]

    def measure(self, runs):
        """Seconds of gfortran's and of Moonloop's code, and calls, by kernel."""
        seen = [collections.defaultdict(list), collections.defaultdict(list)]
        for name, text in self.inputs.items():
            (self.folder / self.input).write_text(text)
            first = self.call(2)[1]
            for how in [3] + [0, 1]*runs:
                times, printed = self.call(how)
                for a, b in itertools.zip_longest(first, printed, fillvalue=""):
                    if not same(a, b):
                        raise Failed(f"{self.title}, {name}: `{b.strip()}`, by gfortran `{a.strip()}`")
                if how < 2:
                    for (kernel, thread, call), t in times.items():
                        seen[(call + how) % 2][name, kernel, thread, call].append(t)
        sums = collections.defaultdict(lambda: [0.0, 0.0, 0])
        for (name, kernel, thread, call), values in seen[0].items():
            if ours := seen[1].get((name, kernel, thread, call)):
                s = sums[self.kernels[kernel][0]]
                s[0] += statistics.median(values)
                s[1] += statistics.median(ours)
                s[2] += 1
        return sums


def mean(ratios):
    return math.exp(sum(map(math.log, ratios))/len(ratios)) if ratios else float("nan")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cloverleaf", type=pathlib.Path, help="a copy of github.com/UK-MAC/CloverLeaf_ref")
    parser.add_argument("--tealeaf", type=pathlib.Path, help="a copy of github.com/UK-MAC/TeaLeaf_ref")
    parser.add_argument("--lapack", type=pathlib.Path, help="a copy of github.com/Reference-LAPACK/lapack")
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2], help="1 is C, more are OpenMP")
    parser.add_argument("--runs", type=int, default=3, help="pairs of runs of each input")
    parser.add_argument("--auto", action="store_true", help="with the schedules of `moonloop auto`")
    parser.add_argument("--keep", type=pathlib.Path, help="builds in this folder, which stays")
    given = parser.parse_args()
    options, ratios, failed = ["--auto"] if given.auto else [], [], False
    with tempfile.TemporaryDirectory() as folder:
        folder = given.keep.resolve() if given.keep else pathlib.Path(folder)
        for name in PROGRAMS:
            source = getattr(given, name)
            for threads in given.threads if source else []:
                try:
                    there = folder / f"{name}-{threads}"
                    shutil.rmtree(there, ignore_errors=True)
                    program = Program(name, source.resolve(), there, threads, options)
                    sums = program.measure(given.runs)
                except Failed as e:
                    failed = True
                    print(f"{name} on {threads} threads failed: {e}", flush=True)
                    continue
                print(f"\n| {program.title}, {threads} thread{'s'[:threads - 1]} | calls | gfortran | Moonloop | ratio |")
                print("|---|---|---|---|---|")
                for kernel, (theirs, ours, calls) in sorted(sums.items()):
                    print(f"| `{kernel}` | {calls} | {theirs * 1e3:.3f} ms | {ours * 1e3:.3f} ms | {theirs / ours:.2f} |")
                own = [t/o for t, o, _ in sums.values()]
                ratios += own
                whole = [sum(s[i] for s in sums.values()) for i in (0, 1)]
                print(f"\ngeometric mean {mean(own):.2f}, of all time {whole[0] / whole[1]:.2f}", flush=True)
        if given.lapack:
            print()
            own, lost = lapack.table(given.lapack.resolve(), list(lapack.ROUTINES), given.auto)
            ratios += own
            failed = failed or bool(lost)
    if ratios:
        print(f"\nall {len(ratios)}: geometric mean {mean(ratios):.3f}, lowest {min(ratios):.2f}")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
