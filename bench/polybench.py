"""The kernels of PolyBench/C 4.2.1: its own C code, by gcc, beside Moonloop's code for bench/polybench/.

Each kernel is one program that holds PolyBench's function, Moonloop's and, with --pluto, the one that
Pluto makes. They run by turns on the data that PolyBench's own code fills; the least time of each counts
(of the process with one thread, of the clock with several). All arrays that a kernel takes are compared
with what PolyBench's function leaves: the largest difference over the largest value may be {double:g} in
double precision, {single:g} in single precision, and 0 in integers; BOUNDS_OF and CHANGES have the
exceptions. A kernel that fails is a row that says why.

FOLDER: a copy of https://github.com/MatthiasJReisinger/PolyBenchC-4.2.1.
"""

import argparse
import datetime
import json
import math
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
KERNELS = HERE / "polybench"
FLAGS = ["-O3", "-march=native"]
SIZES = ["MINI", "SMALL", "MEDIUM", "LARGE", "EXTRALARGE"]
BOUNDS = {"d": 1e-10, "f": 1e-4, "i": 0, "b": 0}
# A Toeplitz matrix that is nearly singular: another order of sums alone changes y by 1e-8 of 2000.
BOUNDS_OF = {"durbin": 1e-6}
WORST_RATIO = 0.95

# Where PolyBench's data leave a result to rounding errors, the data of the comparison get these
# changes, and the elements that are undetermined nevertheless become 0. Times are of PolyBench's data.
CHANGES = {"gramschmidt": (
    # half of the columns depend on the others, and there are more columns than rows
    "for (int i = 0; i < m; ++i) (*A)[i][i] += 100*m;",
    "for (int i = 0; i < m; ++i) for (int k = m; k < n; ++k) (*Q)[i][k] = 0;")}

# A version of a kernel: PolyBench's file with its main function put aside, and the steps of that
# function apart from one another. {call} calls its kernel, or code that is linked.
VERSION = """#include <stddef.h>
#include <stdint.h>
{declaration}
#define main __attribute__((unused)) static polybench_main
#define {kernel} {name}_{kernel}
#include "{source}"
#undef main

static struct {{
{members}
}} its;

void {name}_attach(void **arrays) {{
{attach}
}}

void {name}_init(void) {{
{locals}
  {init}
{save}
}}

void {name}_call(void) {{
{locals}
  {call}
}}
"""
CHANGE = """
void change(void) {{
{locals}
  {change}
}}

void forget(void) {{
{locals}
  {forget}
}}
"""
ARRAYS = """
#include "versions.h"
#define KIND(x) _Generic((x), double: 'd', float: 'f', int: 'i', char: 'b')
struct array const arrays[] = {{
{rows}
}};
"""
VERSIONS_H = """#include <stddef.h>
enum {{ THREADS = {threads}, ARRAYS = {arrays}, VERSIONS = {count} }};
struct array {{
  char const *name;
  char kind;  /* of the elements: d, f, i (32 bits) or b (8 bits) */
  size_t bytes;
}};
extern struct array const arrays[ARRAYS];
void change(void);  /* the data to compare with */
void forget(void);  /* what is undetermined of the results */
struct version {{
  char const *name;
  void (*attach)(void **), (*init)(void), (*call)(void);
}};
"""
VERSIONS_C = """#include "versions.h"
{prototypes}
struct version const versions[VERSIONS] = {{
{rows}
}};
"""


class Failed(Exception):
    """Why there is no figure for a kernel: the stage, and what was said."""


def run(stage, words, limit, **options):
    """Standard output of a command, and the processor time that it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        done = subprocess.run([str(w) for w in words], capture_output=True, text=True, check=False,
                              timeout=None if limit == math.inf else limit, **options)
    except subprocess.TimeoutExpired:
        raise Failed(f"{stage}: more than {limit:g} s") from None
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        said = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]
        errors = [line for line in said if "error" in line] or said
        raise Failed(f"{stage}: {errors[0] if errors else f'status {done.returncode}'}")
    return done.stdout, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def lines(statements):
    return "\n".join(f"  {s};" for s in statements)


def declared(array, element, rank, extents):
    """An array as PolyBench declares it: a pointer to an array of arrays."""
    return f"{element} POLYBENCH_{rank}D_F(POLYBENCH_DECL_VAR({array}), {extents})"


class Benchmark:
    """What PolyBench's file says: sizes, scalars, arrays, and the calls of its main function."""

    def __init__(self, name, folder, size, cc):
        found = [p for p in folder.glob(f"*/**/{name}.c") if p.parent.name == name]
        if not found:
            raise Failed(f"no {name}.c in {folder}")
        self.name, self.source, self.size = name, found[0], size
        self.include = ["-I", folder / "utilities", "-I", self.source.parent, f"-D{size}_DATASET"]
        text = re.sub(r"/\*.*?\*/|//[^\n]*", "", self.source.read_text(), flags=re.S)
        main = text[re.search(r"^int main", text, re.M).start():]
        self.sizes = re.findall(r"\bint (\w+) = (\w+);", main)
        self.scalars = re.findall(r"^\s*DATA_TYPE (\w+);", main, re.M)
        # name, type, and "A,NI,NJ,ni,nj" without the type
        self.arrays = []
        for rank, inside in re.findall(r"POLYBENCH_(\d)D_ARRAY_DECL\(([^)]*)\)", main):
            array, element, *extents = [w.strip() for w in inside.split(",")]
            self.arrays.append((array, element, int(rank), ", ".join(extents)))
        call = lambda what: re.sub(r"\s+", " ", re.search(rf"\b{what}\s*\([^;]*;", main)[0])
        self.init, self.kernel = call("init_array"), call(r"kernel_\w+")
        self.function = re.match(r"\w+", self.kernel)[0]
        macros, _ = run("preprocessor", [*cc, "-E", "-dM", *self.include, self.source], 60)
        values = dict(re.findall(r"^#define (\w+) (\d+)$", macros, re.M))
        self.values = {small: int(values[large]) for small, large in self.sizes}

    def version(self, name, call, declaration="", source=None):
        return VERSION.format(
            name=name, kernel=self.function, source=source or self.source, declaration=declaration, call=call,
            init=self.init,
            members=lines([f"DATA_TYPE {s}" for s in self.scalars] + [declared(*a) for a in self.arrays]),
            locals=self.locals(),
            attach=lines(f"its.{a[0]} = arrays[{i}]" for i, a in enumerate(self.arrays)),
            save=lines(f"its.{s} = {s}" for s in self.scalars))

    def locals(self):
        return lines([f"int {s} = {v}" for s, v in self.sizes] +
                     [f"DATA_TYPE {s} = its.{s}" for s in self.scalars] +
                     [f"{declared(*a)} = its.{a[0]}" for a in self.arrays])

    def original(self):
        """The version that others are compared with, which describes the arrays as well."""
        rows = "\n".join(f'  {{"{a}", KIND((*its.{a}){"[0]" * r}), sizeof *its.{a}}},' for a, _, r, _ in self.arrays)
        change, forget = CHANGES.get(self.name, ("", ""))
        return (self.version("original", self.kernel) + ARRAYS.format(rows=rows) +
                CHANGE.format(locals=self.locals(), change=change, forget=forget))


def arguments(path):
    """Names of a kernel's arguments in their order."""
    head = re.search(r"^kernel \w+\((.*?)\)\s*$", path.read_text(), re.M | re.S)[1]
    return re.findall(r"(\w+):", re.sub(r"\[[^\]]*\]", "", head))


def call_of_ours(header, names):
    """The call of a generated function by the names that PolyBench's main function uses."""
    function, inside = re.search(r"^void (\w+)\((.*?)\);", header, re.M | re.S).groups()
    parameters = inside.split(",")
    if len(parameters) != len(names):
        raise Failed(f"call: the code takes {len(parameters)} arguments, the kernel has {len(names)}")
    given = (f"(void *){n}" if "*" in p else n for p, n in zip(parameters, names))
    return f"{function}({', '.join(given)});"


class Script:
    """Where the script of a kernel comes from, what it took, and its number of lines."""

    def __init__(self, options):
        self.options, self.source = options, options.script_from
        text = subprocess.run([options.moonloop, "auto", "--help"], capture_output=True, text=True, check=False).stdout
        self.has_auto = "Usage: moonloop auto " in text
        if self.source == "auto" and not self.has_auto:
            raise SystemExit(f"{options.moonloop} has no command `auto`; --script-from none or a folder")
        if self.source is None:
            self.source = "auto" if self.has_auto else "none"

    def make(self, loop, sizes, folder, row):
        """Options of `moonloop gen`."""
        o = self.options
        if self.source == "none":
            return ["--no-db"]
        given = [w for n, v in sizes.items() for w in ("-p", f"{n}={v}")]
        script = folder / f"{loop.stem}.lua"
        if self.source == "auto":
            command = [o.moonloop, "auto", loop, "--target", o.target, *given, "-o"]
            _, row["auto"] = run("auto", [*command, script], o.limit)
            run("auto", [*command, folder / "again.lua"], o.limit)
            if script.read_text() != (folder / "again.lua").read_text():
                raise Failed("auto: two calls wrote two scripts")
        else:
            written = pathlib.Path(self.source) / script.name
            if not written.exists():
                return ["--no-db"]
            shutil.copy(written, script)
        row["lines"] = sum(1 for line in script.read_text().splitlines() if line.strip())
        run("check", [o.moonloop, "check", loop, "-t", script, "--target", o.target, "--no-db"], o.limit)
        if not o.tuned or "lp.knob" not in script.read_text():
            return ["-t", script, "--no-db"]
        database = ["--db", o.db]
        run("tune", [o.moonloop, "tune", loop, "-t", script, "--target", o.target, *given, *database,
                     "--time", o.tune_time, "--trials", o.trials], math.inf if o.limit == 0 else 10 * o.limit)
        knobs, _ = run("knobs", [o.moonloop, "show", loop, "-t", script, "--target", o.target, *given, *database,
                                 "--what", "knobs", "--format", "json"], o.limit)
        chosen = {k["name"]: k["chosen"] for k in json.loads(knobs)["knobs"]}
        row["knobs"] = chosen
        plain = lambda v: str(v).lower() if isinstance(v, bool) else v
        return ["-t", script, *(w for n, v in chosen.items() for w in ("--knob", f"{n}={plain(v)}"))]


def ascending(text):
    """C text with each loop `for (i = a; i >= b; i--)` counted upwards: i is a + b - i in its body."""
    loop = re.compile(r"for\s*\(\s*(\w+)\s*=\s*([^;]+);\s*\1\s*>=\s*([^;]+);\s*\1--\s*\)")
    while found := loop.search(text):
        i, first, last = found[1], found[2].strip(), found[3].strip()
        end, depth = found.end(), 0
        while True:  # to the end of the statement or block
            depth += {"(": 1, "{": 1, ")": -1, "}": -1}.get(text[end], 0)
            end += 1
            if depth == 0 and text[end - 1] in ";}":
                break
        body = re.sub(rf"\b{i}\b", f"({first} + {last} - {i})", text[found.end():end])
        text = f"{text[:found.start()]}for ({i} = {last}; {i} <= {first}; {i}++){body}{text[end:]}"
    return text


def by_pluto(benchmark, o, folder):
    """The file that Pluto makes of PolyBench's. Two things that its front end cannot take are changed
    before: its results are wrong for some loops that count downwards, and casts are syntax errors, which
    occur only ahead of the loops."""
    text = benchmark.source.read_text()
    begin = text.index("#pragma scop")
    loops = re.compile(r"\bfor\s*\(").search(text, begin).start()
    given, made = folder / "for_pluto.c", folder / "pluto.c"
    ahead = text[:begin] + text[begin + len("#pragma scop"):loops]
    given.write_text(ascending(f"{ahead}\n#pragma scop\n{text[loops:]}"))
    run("Pluto", [o.pluto, given, "--tile", *(["--parallel"] if o.threads > 1 else []), "--silent", "-o", made],
        o.limit, cwd=folder)
    return made


def measure(name, script, o, folder, row):
    loop = KERNELS / f"{name}.loop"
    if not loop.exists():
        raise Failed(f"no kernel text {loop}")
    benchmark = Benchmark(name, o.folder, o.size, o.cc)
    names = arguments(loop)
    given = script.make(loop, {n: v for n, v in benchmark.values.items() if n in names}, folder, row)
    run("gen", [o.moonloop, "gen", loop, *given, "--target", o.target, "--quiet", "-o", folder / "ours.c",
                "--header", folder / "ours.h"], o.limit)
    call = call_of_ours((folder / "ours.h").read_text(), names)
    versions = {"original": benchmark.original(),
                "moonloop": benchmark.version("moonloop", call, '#include "ours.h"')}
    if o.pluto:
        try:
            versions["pluto"] = benchmark.version("pluto", benchmark.kernel, source=by_pluto(benchmark, o, folder))
        except Failed as e:
            row["pluto_failure"] = str(e)

    flags = [*o.flags, "-fopenmp" if o.threads > 1 else "-fopenmp-simd", "-w"]
    objects = []
    rows = ",\n".join(f'  {{"{v}", {v}_attach, {v}_init, {v}_call}}' for v in versions)
    prototypes = "\n".join(f"void {v}_attach(void **);\nvoid {v}_init(void);\nvoid {v}_call(void);"
                           for v in versions)
    (folder / "versions.h").write_text(
        VERSIONS_H.format(threads=o.threads, arrays=len(benchmark.arrays), count=len(versions)) +
        "extern struct version const versions[VERSIONS];\n")
    (folder / "versions.c").write_text(VERSIONS_C.format(prototypes=prototypes, rows=rows))
    sources = [folder / "ours.c", folder / "versions.c", KERNELS / "harness.c",
               o.folder / "utilities" / "polybench.c"]
    for version, text in versions.items():
        sources.append(folder / f"{version}_version.c")
        sources[-1].write_text(text)
    for source in sources:
        objects.append(folder / f"{source.stem}.o")
        run(f"compiler, {source.name}", [*o.cc, *flags, *benchmark.include, "-I", folder, "-c", "-o", objects[-1],
                                         source], o.limit)
    run("linker", [*o.cc, *flags, "-o", folder / "main", *objects, "-lm"], o.limit)
    out, _ = run("run", [folder / "main", o.budget], o.limit,
                 env={**os.environ, "OMP_NUM_THREADS": str(o.threads), "OMP_PROC_BIND": "true"})
    row["difference"], off = 0.0, []
    for line in out.splitlines():
        what, version, *rest = line.split()
        if what == "times":
            row[version] = min(map(float, rest))
            row.setdefault("turns", len(rest))
            continue
        array, kind, difference = rest[0], rest[1], float(rest[2])
        if version == "moonloop" and array not in names:
            continue  # a temporary of the kernel here
        if version == "moonloop":
            row["difference"] = max(row["difference"], difference)
        if not difference <= (BOUNDS_OF.get(name, BOUNDS[kind]) if kind == "d" else BOUNDS[kind]):
            off.append((version, f"{array} differs by {difference:.2g}"))
    for version, text in off:
        if version == "pluto":
            row["pluto_failure"] = f"run: {text}"
            row.pop("pluto", None)
    ours = [text for version, text in off if version == "moonloop"]
    if ours:
        raise Failed(f"run: {', '.join(ours)}")
    row["ratio"] = row["original"] / row["moonloop"]
    if "pluto" in row:
        row["to_pluto"] = row["pluto"] / row["moonloop"]


def geometric(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def cpu():
    text = pathlib.Path("/proc/cpuinfo").read_text()
    model = re.search(r"model name\s*:\s*(.*)", text)
    return f"{os.cpu_count()} cores of {model[1] if model else 'an unknown processor'}"


def printed(row, pluto):
    number = lambda key, form: format(row[key], form) if key in row else ""
    cells = [f"`{row['kernel']}`", number("original", ".4g"), number("moonloop", ".4g"),
             row.get("failure", "").replace("|", "\\|") or number("ratio", ".2f"), number("difference", ".1g"),
             number("auto", ".2f"), number("lines", "d")]
    if pluto:
        cells += [row.get("pluto_failure") or number("pluto", ".4g"), number("to_pluto", ".2f")]
    return "| " + " | ".join(cells) + " |"


def parse():
    parser = argparse.ArgumentParser(description=__doc__.format(double=BOUNDS["d"], single=BOUNDS["f"]),
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=pathlib.Path, required=True, help="PolyBench/C 4.2.1")
    parser.add_argument("--size", choices=SIZES, default="LARGE")
    parser.add_argument("--kernels", help="names with commas between them; all where none is named")
    parser.add_argument("--threads", type=int, default=1, help="more than 1: target openmp")
    parser.add_argument("--script-from", metavar="auto|none|FOLDER",
                        help="scripts by `moonloop auto` (if this build has it), none, or FOLDER/KERNEL.lua")
    parser.add_argument("--tuned", action="store_true", help="tune the knobs of the scripts first")
    parser.add_argument("--tune-time", default="2m", help="for each kernel")
    parser.add_argument("--trials", type=int, default=100, help="for each kernel")
    parser.add_argument("--db", type=pathlib.Path, help="the database of --tuned; a temporary one if not told")
    parser.add_argument("--pluto", type=pathlib.Path, metavar="POLYCC", help="measure Pluto's code, too")
    parser.add_argument("--moonloop", type=pathlib.Path, default=HERE.parent / "build" / "moonloop")
    parser.add_argument("--cc", default="gcc", help="the compiler of all versions")
    parser.add_argument("--flags", default=" ".join(FLAGS), help="of all versions")
    parser.add_argument("--budget", type=float, default=2, help="seconds for each version of a kernel")
    parser.add_argument("--limit", type=float, default=600, help="seconds that a step may take")
    parser.add_argument("--keep", type=pathlib.Path, help="a folder for what is generated; a temporary one if not told")
    parser.add_argument("-o", "--output", type=pathlib.Path, help="a file for the figures, as JSON")
    o = parser.parse_args()
    if not (o.folder / "utilities" / "polybench.h").exists():
        parser.error(f"`{o.folder}` is not a copy of PolyBench: it has no utilities/polybench.h")
    if o.threads < 1:
        parser.error("--threads is at least 1")
    o.folder, o.moonloop = o.folder.resolve(), o.moonloop.resolve()
    o.cc, o.flags = o.cc.split(), o.flags.split()
    o.target = "openmp" if o.threads > 1 else "c"
    there = sorted(p.stem for p in KERNELS.glob("*.loop"))
    o.kernels = o.kernels.split(",") if o.kernels else there
    for name in o.kernels:
        if name not in there:
            parser.error(f"no kernel `{name}`; there are {', '.join(there)}")
    return o


def main():
    o = parse()
    script = Script(o)
    result = {"date": str(datetime.date.today()), "cpu": cpu(), "size": o.size, "threads": o.threads,
              "target": o.target, "script": script.source, "tuned": o.tuned, "flags": o.flags,
              "compiler": run("compiler", [*o.cc, "--version"], 60)[0].splitlines()[0],
              "load": os.getloadavg()[0], "kernels": []}
    print(f"{result['date']}, {result['cpu']} (load {result['load']:.1f}), {result['compiler']}, "
          f"{' '.join(o.flags)}, {o.size}, {o.threads} thread{'s' * (o.threads > 1)}, script: {script.source}"
          f"{', tuned' * o.tuned}\n")
    columns = ["kernel", "original, s", "Moonloop, s", "ratio", "difference", "`auto`, s", "lines"]
    columns += ["Pluto, s", "to Pluto"] * bool(o.pluto)
    print("| " + " | ".join(columns) + " |\n" + "|---" * len(columns) + "|", flush=True)
    with tempfile.TemporaryDirectory() as temporary:
        base = (o.keep or pathlib.Path(temporary)).resolve()
        o.db = (o.db or base / "trials.db").resolve()
        for name in o.kernels:
            row = {"kernel": name}
            folder = base / name
            folder.mkdir(parents=True, exist_ok=True)
            start = time.monotonic()
            try:
                measure(name, script, o, folder, row)
            except Failed as e:
                row["failure"] = str(e)
            row["took"] = time.monotonic() - start
            result["kernels"].append(row)
            print(printed(row, o.pluto), flush=True)
            if o.output:
                o.output.write_text(json.dumps(result, indent=1) + "\n")
    rows = result["kernels"]
    for key, title in (("ratio", "gcc"), ("to_pluto", "Pluto")):
        values = {r["kernel"]: r[key] for r in rows if key in r}
        if not values:
            continue
        least = WORST_RATIO if key == "ratio" else 1
        below = {k: v for k, v in values.items() if v < least}
        result[f"{key}_mean"], result[f"{key}_below"] = geometric(list(values.values())), sorted(below)
        print(f"\nto {title}: geometric mean {result[f'{key}_mean']:.2f} of {len(values)} kernels; below {least}: " +
              (", ".join(f"{k} ({v:.2f})" for k, v in sorted(below.items(), key=lambda x: x[1])) or "none"))
    failed = [r["kernel"] for r in rows if "failure" in r]
    print(f"failed: {', '.join(failed) or 'none'}")
    if o.output:
        o.output.write_text(json.dumps(result, indent=1) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
