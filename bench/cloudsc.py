"""CloudSC, ECMWF's scheme of cloud physics, by gfortran and by way of Moonloop: both in one program, on the same columns.

FOLDER: a copy of https://github.com/ecmwf-ifs/dwarf-p-cloudsc, in which nothing is written. Its `cloudsc_fortran/cloudsc.F90`
is imported as it comes, with the modules that it uses; their constants are read from the `data` of the project. Random
columns of air are made of the project's own 100 columns: each takes some of the levels of one of them, with random changes.

Prints how long `moonloop gen` takes, how many of the results are the same to the last bit (-O1 without fused operations)
and how much they differ otherwise (-O3 -march=native), relative to each field's largest value, and medians of both times
of the process on the project's own columns. Then the same comparison for the code that docs/fortran.md's script makes,
columns on work-items, on the target `c`. Where there is `nvcc`, it compiles that script's CUDA too; `--gpu FOLDER` keeps
that program, to be run there as `./main fields.bin 0`: it prints how many values there are, how many differ, and by how
much. The exit status is 1 where results differ by more than rounding, and where
importing takes more than two seconds of the processor.
"""

import argparse
import json
import os
import pathlib
import re
import resource
import shutil
import subprocess
import tempfile
import time

import numpy

from lapack import Failed, run

HERE = pathlib.Path(__file__).resolve().parent
MOONLOOP = os.environ.get("MOONLOOP", HERE.parent / "build" / "moonloop")
NVCC = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
EXACT = ["-O1", "-ffp-contract=off"]
FAST = ["-O3", "-march=native"]
FLAGS_OF_C = ["-fno-math-errno", "-fopenmp-simd"]  # as `moonloop fc` has them
TOLERANCE = 1e-9  # of a field's largest value, where compilers fuse products and sums or take another `exp`
COLUMNS, LEVELS = 64, 60  # of the random fields
MODULES = ["parkind1", "yomphyder", "yoecldp", "yoephli", "yomcst", "yoethf"]


def read_data(folder):
    """The project's constants and fields; a field's first axis is of levels, its second one of columns."""
    meta = json.loads((folder / "data" / "MetaData-input.json").read_text())
    constants = {name: item["value"] for name, item in meta["global_meta_info"].items()}
    kinds = {"double": "<f8", "int": "<i4", "bool": "u1"}
    fields = {}
    for name, item in meta["field_map"].items():
        raw = numpy.fromfile(folder / "data" / f"input_{name}.dat", kinds[item["meta_info"]["__elementtype"]["value"]])
        fields[name] = raw.reshape(item["dims"][::-1])
    for name in [n for n in fields if n.startswith("YRECLDP")]:
        constants[name] = list(fields.pop(name))
    return constants, fields


def columns_of(fields, n):
    """The first `n` of the project's columns."""
    return {name: numpy.ascontiguousarray(x[..., :n]) for name, x in fields.items()}


def random_columns(fields, n, levels, rng):
    """Columns of `levels` levels, each of the levels of one of the project's columns, with random changes."""
    columns = rng.integers(fields["PT"].shape[1], size=n)
    half = numpy.linspace(0, fields["PT"].shape[0], levels + 1).astype(int)
    full = (half[:-1] + half[1:]) // 2
    out = {}
    for name, x in fields.items():
        x = x[..., columns]
        if x.ndim >= 2:
            x = x[..., half if x.shape[-2] == fields["PAPH"].shape[0] else full, :]
        if x.dtype.kind == "f" and not name.startswith("PAP"):
            x = x * (1 + (0.003 if name == "PT" else 0.2) * rng.uniform(-1, 1, x.shape))
        out[name] = numpy.ascontiguousarray(x)
    for name in ("PA", "PLSM"):  # fractions
        out[name] = out[name].clip(0, 1)
    out["PAP"] = (out["PAPH"][1:] + out["PAPH"][:-1]) / 2
    return out


def arguments(source):
    """Arguments of `cloudsc`, in order, and its arrays: their type, shape and intent."""
    text = re.sub(r"!.*", "", source.read_text())
    text = re.sub(r"&\s*&", " ", text)
    names = [n.strip().lower() for n in re.search(r"SUBROUTINE CLOUDSC\s*\(([^)]*)\)", text)[1].split(",")]
    arrays = {}
    for kind, intent, name, shape in re.findall(
            r"^(REAL|INTEGER|LOGICAL)[^\n]*?INTENT\((\w+)\)\s*::\s*(\w+)\(([^\n]*)\)\s*$", text, re.M):
        arrays[name.lower()] = ({"REAL": "real(8)"}.get(kind, kind.lower()), shape.lower(), intent.lower())
    return names, arrays


def driver(source):
    names, arrays = arguments(source)
    other = {"kfdia": "klon", "ydcst": "yrcst", "ydthf": "yrthf", "ydecldp": "yrecldp"}
    read = [n for n in arrays if arrays[n][2] != "out"]
    written = [n for n in arrays if arrays[n][2] != "in"]
    join = "\n  ".join
    copies = [(n, s) for n in written for s in ("", "_ours") + (("_first",) if n in read else ())]
    actual = ", &\n      ".join(other.get(n, n) for n in names)
    return (HERE / "cloudsc" / "main.f90.in").read_text().format(
        declared=join([f"{kind}, allocatable :: {n}({', '.join(':' for _ in shape.split(','))})"
                       for n, (kind, shape, _) in arrays.items() if n not in written] +
                      [f"real(8), allocatable :: {n}{s}({', '.join(':' for _ in arrays[n][1].split(','))})"
                       for n, s in copies]),
        allocated=join([f"allocate({n}({arrays[n][1]}))" for n in arrays if n not in written] +
                       [f"allocate({n}{s}({arrays[n][1]}))" for n, s in copies] + [f"read(unit) {n}" for n in read] +
                       [f"{n}_first = {n}" for n in written if n in read]),
        prepared=join(f"{n} = {n}_first" if n in read else f"{n} = 0" for n in written),
        kept=join(f"{n}_ours = {n}" for n in written),
        compared=join(f'call compare("{n}", size({n}), {n}_ours, {n})' for n in written),
        arguments=f"(&\n      {actual})")


def write_fields(path, source, fields, top):
    _, arrays = arguments(source)
    levels, n = fields["PT"].shape
    with open(path, "wb") as file:
        numpy.array([n, levels, top], "<i4").tofile(file)
        for name, (kind, shape, intent) in arrays.items():
            if intent == "out":
                continue
            field = fields.get(name.upper(), fields.get(name.upper().removeprefix("P")))
            if field is None:
                if not name.startswith("ptendency_loc"):
                    raise Failed(f"the project's data has no `{name}`")
                field = numpy.zeros((5, levels, n) if "nclv" in shape else (levels, n))
            field.astype("<f8" if kind == "real(8)" else "<i4").tofile(file)


class Build:
    """CloudSC in `folder`: the project's modules and gfortran's code, and programs with Moonloop's."""

    def __init__(self, project, folder):
        self.folder, self.source = folder, project / "src" / "cloudsc_fortran" / "cloudsc.F90"
        self.common = project / "src" / "common"
        self.include = ["-I", self.common / "module", "-I", self.common / "include"]
        (folder / "main.f90").write_text(driver(self.source))

    def gen(self, *options):
        """Writes `k.c` or `k.cu`; seconds by the clock and of the processor."""
        before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        run([MOONLOOP, "gen", self.source, "--kernel", "cloudsc", *self.include, "--quiet",
             "--fortran-interface", self.folder / "i.F90", *options])
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return time.monotonic() - begin, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def link(self, flags, device=False):
        """`main`, with the code that is in `k.c` or `k.cu`."""
        fortran = ["gfortran", *flags, "-ffree-line-length-none", *self.include, "-c"]
        objects = []
        for s in [self.common / "module" / "parkind1.F90", HERE / "cloudsc" / "file_io_mod.f90",
                  *[self.common / "module" / f"{m}.F90" for m in MODULES[1:]], self.common / "module" / "abor1.F90",
                  self.source, self.folder / "i.F90", self.folder / "main.f90"]:
            objects.append(f"{s.stem}.o")
            run([*fortran, s, "-o", objects[-1]], cwd=self.folder)
        run(["objcopy", "--redefine-sym", "cloudsc_=cloudsc_by_gfortran_", "cloudsc.o"], cwd=self.folder)
        if device:
            run([NVCC, "-O3", "-arch=sm_90", "-fmad=false", "-c", "k.cu", "-o", "k.o"], cwd=self.folder)
            root = pathlib.Path(NVCC).resolve().parent.parent
            linker = ["g++", "-static-libgcc", "-static-libstdc++"]  # all that a machine with a GPU may lack is static
            libraries = [f"-L{root / 'lib64'}", "-Wl,-Bstatic", "-lcudart_static", "-lgfortran", "-lquadmath",
                         "-Wl,-Bdynamic", "-ldl", "-lrt", "-lpthread"]
        else:
            run(["gcc", *flags, *FLAGS_OF_C, "-c", "k.c", "-o", "k.o"], cwd=self.folder)
            linker, libraries = ["gfortran", *flags], []
        run([*linker, "-o", "main", *objects, "k.o", *libraries, "-lm"], cwd=self.folder)

    def run(self, calls):
        """Values, how many differ, by how much, and medians of both times."""
        done = run([self.folder / "main", "fields.bin", calls], cwd=self.folder).split()
        return int(done[0]), int(done[1]), *map(float, done[2:])


def script():
    """The script of docs/fortran.md."""
    text = (HERE.parent / "docs" / "fortran.md").read_text()
    return next(b for b in re.findall(r"^```lua fragment\n(.*?)^```", text, re.M | re.S) if "ydecldp_nssopt" in b)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=1, help="of the random columns")
    parser.add_argument("--calls", type=int, default=201, help="that are timed")
    parser.add_argument("--gpu", type=pathlib.Path, help="keeps the program for CUDA in this folder")
    given = parser.parse_args()
    if not (given.folder / "data" / "MetaData-input.json").exists():
        parser.error(f"`{given.folder}` is no copy of CloudSC: it has no data/MetaData-input.json")
    constants, fields = read_data(given.folder)
    few = random_columns(fields, COLUMNS, LEVELS, numpy.random.default_rng(given.seed))
    good = True

    def report(text, fine):
        nonlocal good
        good = good and fine
        print(text + ("" if fine else ": WRONG"), flush=True)

    with tempfile.TemporaryDirectory() as folder:
        build = Build(given.folder.resolve(), pathlib.Path(folder))
        lines = [f"{n} {' '.join(map(str, v)) if isinstance(v, list) else f'.{v}.' if isinstance(v, bool) else v}\n"
                 for n, v in constants.items()]
        (build.folder / "constants").write_text("".join(lines))
        (build.folder / "scc.lua").write_text(script())

        top = constants["YRECLDP_NCLDTOP"]

        def check(what, flags):
            build.link(flags)
            write_fields(build.folder / "fields.bin", build.source, few, top * LEVELS // len(fields["PT"]))
            seen, different, largest, *_ = build.run(0)
            report(f"{what}{' '.join(flags)}: {different} of {seen} values differ, by {largest:.1e} at most",
                   different == 0 if flags == EXACT else largest < TOLERANCE)

        clock, cpu = build.gen("--target", "c", "-o", build.folder / "k.c")
        report(f"gen: {clock:.2f} s, {cpu:.2f} s of the processor", cpu <= 2)
        check("", EXACT)
        check("", FAST)
        print("| columns | gfortran | Moonloop | ratio |\n|---|---|---|---|")
        for n in (16, 32, 64, 100):
            write_fields(build.folder / "fields.bin", build.source, columns_of(fields, n), top)
            *_, ours, theirs = build.run(given.calls)
            print(f"| {n} | {theirs * 1e3:.3f} ms | {ours * 1e3:.3f} ms | {theirs / ours:.2f} |", flush=True)
        # The project's own directives ask for lanes on some loops over columns: the script maps these loops.
        scc = ["-t", build.folder / "scc.lua", "--directives", "ignore"]
        build.gen("--target", "c", *scc, "-o", build.folder / "k.c")
        check("columns on work-items, on c, ", EXACT)
        clock, cpu = build.gen("--target", "cuda", *scc, "-o", build.folder / "k.cu")
        report(f"columns on work-items, on cuda, by a script of {len(script().splitlines())} lines: gen {clock:.2f} s, "
               f"{cpu:.2f} s of the processor", len(script().splitlines()) <= 30)
        if pathlib.Path(NVCC).exists():
            build.link(EXACT, device=True)
            print("compiled by nvcc", flush=True)
            if given.gpu:
                write_fields(build.folder / "fields.bin", build.source, few, top * LEVELS // len(fields["PT"]))
                given.gpu.mkdir(parents=True, exist_ok=True)
                for name in ("main", "constants", "fields.bin"):
                    shutil.copy(build.folder / name, given.gpu / name)
        else:
            print("no nvcc: not compiled")
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main())
