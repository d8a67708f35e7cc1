"""LAPACK's own test programs, once as gfortran builds them and once with generated C in the place of its routines.

FOLDER: a copy of https://github.com/Reference-LAPACK/lapack, in which nothing is written. The programs `xlintstd` and
`xeigtstd` (`xlintsts`, `xeigtsts`) are built by LAPACK's own makefiles; `moonloop fc` then compiles all routines of
`SRC/d*.f` (`SRC/s*.f`) that are imported, and the programs are linked again. Both run on each input that
`TESTING/Makefile` names for them. Prints the files that stay gfortran's and why, those inputs of which the outputs
differ, but for times, and how many files are replaced. The exit status is 1 where an output differs, and where fewer
than `--least` files are replaced.
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time

from lapack import Failed, run

HERE = pathlib.Path(__file__).resolve().parent
MOONLOOP = os.environ.get("MOONLOOP", HERE.parent / "build" / "moonloop")
FLAGS = ["-O1"]  # without fused operations, and sums in their order: outputs are the same to the last digit
NAMES = {"d": "double", "s": "single"}
LIMIT = 600  # seconds for each command
MAKE_INC = """SHELL = /bin/sh
FC = gfortran
FFLAGS = {flags}
FFLAGS_DRV = {flags}
FFLAGS_NOOPT = -O0
AR = ar
ARFLAGS = cr
RANLIB = ranlib
TIMER = INT_ETIME
BLASLIB = {folder}/blas.a
LAPACKLIB = {folder}/lapack.a
TMGLIB = {folder}/tmg.a
"""


def build(precision, folder, jobs):
    """Builds the libraries and the test programs in `folder`, a copy, by LAPACK's own makefiles."""
    (folder / "make.inc").write_text(MAKE_INC.format(flags=" ".join(FLAGS), folder=folder))
    for part in ("BLAS/SRC", "SRC", "TESTING/MATGEN"):
        run(["make", "-s", f"-j{jobs}", "-C", folder / part, NAMES[precision]])
    link(precision, folder, "lapack.a", "by_gfortran", jobs)


def programs(precision):
    return [("LIN", f"xlintst{precision}"), ("EIG", f"xeigtst{precision}")]


def link(precision, folder, library, suffix, jobs):
    for part, program in programs(precision):
        there = folder / "TESTING" / part
        (there / program).unlink(missing_ok=True)
        # `LIN` has no parallel build of its own: its objects are made first.
        run(["make", "-s", f"-j{jobs}", "-C", there, program, f"LAPACKLIB={folder / library}"])
        (there / program).rename(there / f"{program}_{suffix}")


def replace(source, into):
    """Compiles a file by `moonloop fc`; what is replaced and a reason why others are not."""
    shown = subprocess.run([MOONLOOP, "show", source, "--what", "imports", "-I", source.parent],
                           capture_output=True, text=True, check=False, timeout=LIMIT)
    lines = shown.stdout.splitlines()[:-1]  # the last one is a sum
    names = [line.split()[0] for line in lines if line.endswith(" imported")]
    refused = [line.strip() for line in [*lines, *shown.stderr.splitlines()] if not line.endswith(" imported")]
    if not names:
        return [], "; ".join(refused[:3])
    try:
        run([MOONLOOP, "fc", "-I", source.parent, *[w for n in names for w in ("--kernel", n)], "--",
             "gfortran", *FLAGS, "-c", source, "-o", into / f"{source.stem}.o"], cwd=into, timeout=LIMIT)
        there = run(["nm", into / f"{source.stem}.o"])
        if missing := [n for n in names if not re.search(rf" [Tt] {n}_of_c$", there, re.M)]:
            raise Failed(f"error: no C of {', '.join(missing)} in the object")
    except (Failed, subprocess.TimeoutExpired) as e:
        (into / f"{source.stem}.o").unlink(missing_ok=True)
        return [], str(e).split("error: ")[-1].splitlines()[0]
    return names, "; ".join(refused[:3])


def replace_all(precision, folder, jobs):
    """A second library with generated C; how many files are replaced, of all, and of those of the library."""
    into = folder / "ours"
    into.mkdir()
    sources = sorted((folder / "SRC").glob(f"{precision}*.f"))
    members = set(run(["ar", "t", folder / "lapack.a"]).split())
    replaced, routines, linked = [], 0, 0
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for source, (names, why) in zip(sources, pool.map(lambda s: replace(s, into), sources)):
            if why:
                print(f"{source.name}: {'a part' if names else 'all of it'} stays gfortran's: {why}", flush=True)
            if names:
                replaced.append(into / f"{source.stem}.o")
                routines += len(names)
                linked += f"{source.stem}.o" in members
    shutil.copy(folder / "lapack.a", folder / "ours.a")
    # A file that the library leaves out, as its routine needs another library, stays out.
    run(["ar", "r", folder / "ours.a", *[o for o in replaced if o.name in members]])
    run(["ranlib", folder / "ours.a"])
    return len(sources), len(replaced), routines, linked


def inputs(precision, folder):
    """Each test program, with its inputs, as LAPACK's makefile has them."""
    text = (folder / "TESTING" / "Makefile").read_text()
    for part, program in programs(precision):
        for name in re.findall(rf"^\w+\.out: (\w+\.in) {part}/{program}$", text, re.M):
            yield folder / "TESTING" / part / program, folder / "TESTING" / name


def printed(program, given):
    """What a program prints on an input, but for times, and its status."""
    with open(given, encoding="ascii") as file:
        done = subprocess.run([program], stdin=file, capture_output=True, text=True, check=False,
                              errors="replace", timeout=LIMIT)
    lines = [line for line in done.stdout.splitlines() if not re.search(r"total time|seconds", line, re.I)]
    return lines + done.stderr.splitlines() + [f"exit status {done.returncode}"]


def compare(program, given):
    """A line of a report on one input, and whether both outputs are the same."""
    begin = time.monotonic()
    try:
        theirs, ours = (printed(f"{program}_{how}", given) for how in ("by_gfortran", "by_moonloop"))
    except subprocess.TimeoutExpired as e:
        return f"{program.name} < {given.name}: {e}", False
    passed = sum("passed" in line for line in theirs)
    failed = sum("failed" in line for line in theirs)
    text = (f"{program.name} < {given.name}: {len(theirs)} lines, {passed} of them say passed, {failed} failed, "
            f"{time.monotonic() - begin:.0f} s")
    if theirs == ours:
        return text + ": the same", True
    first = next((i for i, (a, b) in enumerate(zip(theirs, ours)) if a != b), min(len(theirs), len(ours)))
    a, b = (lines[first].strip() if first < len(lines) else "no line" for lines in (theirs, ours))
    return text + f": DIFFERS at line {first + 1}: `{b}`, by gfortran `{a}`", False


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--precision", nargs="+", choices=sorted(NAMES), default=["d", "s"])
    parser.add_argument("--least", type=int, default=490, help="files that are to be replaced, of each precision")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--keep", type=pathlib.Path, help="builds in this folder, which stays")
    given = parser.parse_args()
    if not (given.folder / "TESTING" / "MATGEN").is_dir():
        parser.error(f"`{given.folder}` is no copy of LAPACK: it has no TESTING/MATGEN")
    good = True
    with tempfile.TemporaryDirectory() as folder:
        above = (given.keep or pathlib.Path(folder)).resolve()
        for precision in given.precision:
            folder = above / NAMES[precision]
            shutil.rmtree(folder, ignore_errors=True)
            for part in ("BLAS/SRC", "SRC", "INSTALL", "TESTING"):
                shutil.copytree(given.folder / part, folder / part)
            build(precision, folder, given.jobs)
            files, replaced, routines, linked = replace_all(precision, folder, given.jobs)
            link(precision, folder, "ours.a", "by_moonloop", given.jobs)
            cases = list(inputs(precision, folder))
            with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
                results = list(pool.map(lambda case: compare(*case), cases))
            print("\n".join(text for text, _ in results))
            same = sum(s for _, s in results)
            print(f"SRC/{precision}*.f: {replaced} of {files} files replaced, {routines} routines; {linked} files are in "
                  f"the library; {same} of {len(results)} outputs are the same", flush=True)
            good = good and same == len(results) and len(results) > 1 and replaced >= given.least
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main())
