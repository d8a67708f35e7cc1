"""miniWeather's variants, as gfortran builds them and with generated C in the place of all routines that are imported.

FOLDER: a copy of https://github.com/mrnorman/miniWeather, in which nothing is written. Each variant of its folder `fortran`
is built with the sizes of the project's own tests (100*50 cells, 400 seconds, a rising thermal), by `mpif90` and by
`moonloop fc -- mpif90`; what uses the module `pnetcdf`, and the main program, stay gfortran's. Prints the changes of mass
and of energy of both programs, the largest difference of the fields that they write, relative to each record's largest
value, and how many routines are replaced. The exit status is 1 where the changes miss the bounds of the project's tests,
or energy or a field differs by more than rounding.
"""

import argparse
import array
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from lapack import Failed, run

HERE = pathlib.Path(__file__).resolve().parent
MOONLOOP = os.environ.get("MOONLOOP", HERE.parent / "build" / "moonloop")
FLAGS = ["-O2", "-ffree-line-length-none", "-D_NX=100", "-D_NZ=50", "-D_SIM_TIME=400", "-D_OUT_FREQ=400",
         "-D_DATA_SPEC=DATA_SPEC_THERMAL"]
TRUST = ["--directives", "use"]  # nothing in the sources says that `nx` is no less than 0, where halos would overlap
# A variant: its file, what gfortran is told, Moonloop's options, processes.
VARIANTS = {
    "serial": ("miniWeather_serial.F90", [], ["--target", "c"], 1),
    "mpi": ("miniWeather_mpi.F90", [], ["--target", "c"], 2),
    "openmp": ("miniWeather_mpi_openmp.F90", ["-fopenmp"], ["--target", "openmp", *TRUST], 1),
    "openmp45": ("miniWeather_mpi_openmp45.F90", ["-fopenmp"], ["--target", "openmp", *TRUST], 1),
    "openacc": ("miniWeather_mpi_openacc.F90", ["-fopenacc"], ["--target", "c", *TRUST], 1),
}  # not that with `do concurrent`, whose `local` gfortran has since version 15
MASS, ENERGY = 1e-13, 4.5e-5  # bounds of the project's tests on the changes
TOLERANCE = 1e-9
RECORDS, FIELDS, CELLS = 2, 4, 100*50  # at the begin and at the end


def fields(path):
    """The fields of each record of a classic NetCDF file, whose last bytes they are, each after the record's time."""
    values = array.array("d", path.read_bytes()[-8*RECORDS*(1 + FIELDS*CELLS):])
    if sys.byteorder == "little":
        values.byteswap()
    if len(values) != RECORDS*(1 + FIELDS*CELLS):
        raise Failed(f"{path} is too short")
    return [list(values[r*(1 + FIELDS*CELLS) + 1:][f*CELLS:(f + 1)*CELLS]) for r in range(RECORDS) for f in range(FIELDS)]


def execute(folder, processes):
    """The changes of mass and energy that a program prints, and the fields that it writes."""
    environment = dict(os.environ, OMP_NUM_THREADS="2", OMP_WAIT_POLICY="passive", OMPI_ALLOW_RUN_AS_ROOT="1",
                       OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    printed = run(["mpirun", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1", "-n", processes, folder / "main"], cwd=folder, env=environment)
    changes = [float(re.search(rf"{name}:\s*(\S+)", printed)[1]) for name in ("d_mass", "d_te")]
    return *changes, fields(folder / "output.nc")


def build(source, folder, flags, options):
    """Both programs, and the names of the routines that are replaced."""
    defines = [w for w in FLAGS if w.startswith("-D")]
    # Debian has the module in a folder that compilers are told of by pkg-config alone.
    flags = [*flags, *[f"-I{p.parent}" for p in sorted(pathlib.Path("/usr/lib").glob("*/fortran/*/pnetcdf.mod"))]]
    headers = [w for folder in run(["mpif90", "--showme:incdirs"]).split() for w in ("-I", folder)]
    shown = run([MOONLOOP, "show", source, "--what", "imports", *defines, *headers]).splitlines()[:-1]
    names = [line.split()[0] for line in shown if line.endswith(" imported")]
    for how in ("gfortran", "moonloop"):
        (folder / how).mkdir(parents=True)
        run([*([MOONLOOP, "fc", *options, *headers, *[w for n in names for w in ("--kernel", n)], "--"] if how == "moonloop"
               else []), "mpif90", *FLAGS, *flags, "-c", source, "-o", "main.o"], cwd=folder / how)
        run(["mpif90", *flags, "main.o", "-o", "main", "-lpnetcdf", "-lm"], cwd=folder / how)
    there = run(["nm", folder / "moonloop" / "main.o"])
    if missing := [n for n in names if not re.search(rf" [Tt] {n}_of_c$", there, re.M)]:
        raise Failed(f"no C of {', '.join(missing)} in the object")
    return names, len(shown) - sum(line.startswith("  ") for line in shown)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=list(VARIANTS))
    given = parser.parse_args()
    if not (given.folder / "fortran" / "miniWeather_serial.F90").exists():
        parser.error(f"`{given.folder}` is no copy of miniWeather: it has no fortran/miniWeather_serial.F90")
    good = True
    print("| variant | routines replaced | mass, gfortran | mass, Moonloop | energy, gfortran | energy, Moonloop | fields differ by |")
    print("|---|---|---|---|---|---|---|")
    for variant in given.variants:
        file, flags, options, processes = VARIANTS[variant]
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            try:
                names, of = build(given.folder.resolve() / "fortran" / file, folder, flags, options)
                mass, energy, theirs = execute(folder / "gfortran", processes)
                our_mass, our_energy, ours = execute(folder / "moonloop", processes)
            except (Failed, subprocess.SubprocessError) as e:
                print(f"| {variant} | failed: {e} |", flush=True)
                good = False
                continue
        difference = max(max(map(abs, (x - y for x, y in zip(a, b))))/max(max(map(abs, b)), 1e-300)
                         for a, b in zip(ours, theirs))
        fine = (all(abs(m) < MASS for m in (mass, our_mass)) and all(-ENERGY < e < 0 for e in (energy, our_energy)) and
                abs(our_energy - energy) <= TOLERANCE*abs(energy) and difference <= TOLERANCE)
        good = good and fine
        print(f"| {variant} | {len(names)} of {of} | {mass:.2e} | {our_mass:.2e} | {energy:.12e} | {our_energy:.12e} | "
              f"{difference:.1e} |{'' if fine else ' WRONG'}", flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main())
