"""Three Fortran routines, compiled by gfortran and by way of Moonloop, on the same data in one program."""

import argparse
import pathlib
import platform
import re
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
MOONLOOP = HERE.parent / "build" / "moonloop"
FLAGS = ["-O3", "-march=native"]

# A routine: its file, what it is, and its arrays and call in the program.
ROUTINES = {
    "multiply": (
        "dgemm.f90",
        "product of 1000*1000 matrices, tiled by a block",
        "real(8) :: a(1000, 1000), b(1000, 1000), c(1000, 1000)",
        "a, b, c",
        "call multiply(1000, 1000, 1000, 1d-3, a, b, c)",
    ),
    "ax": (
        "ax.f90",
        "spectral elements, 1000 of 10*10*10 points",
        "real(8) :: w(10, 10, 10, 1000), u(10, 10, 10, 1000), g(6, 10, 10, 10, 1000), d(10, 10), t(10, 10)",
        "w, u, g, d, t",
        "call ax(10, 1000, w, u, g, d, t)",
    ),
    "hydro": (
        "hydro.f90",
        "hydrodynamics on 2000*2000 points, three sweeps",
        "real(8), dimension(2000, 2000) :: p, q, m, r, z, u, v",
        "p, q, m, r, z, u, v",
        "call hydro(2000, 2000, p, q, m, r, z, u, v)",
    ),
}

DRIVER = """program main
  use omp_lib
  implicit none
  {declarations}
  real(8) :: t0, times(9)
  integer :: i
  {fill}
  {call}
  do i = 1, 9
    t0 = omp_get_wtime()
    {call}
    times(i) = omp_get_wtime() - t0
  end do
  print *, minval(times), maxval(times), median(times)
contains
  real(8) function median(x)
    real(8), intent(in) :: x(9)
    integer :: j
    do j = 1, 9
      if (count(x <= x(j)) >= 5 .and. count(x < x(j)) <= 4) median = x(j)
    end do
  end function
end program
"""


def run(words, **options):
    done = subprocess.run(words, capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, words))}: {done.stdout}{done.stderr}")
    return done.stdout


def measure(name, folder, threads):
    file, title, declarations, arrays, call = ROUTINES[name]
    source = HERE.parent / "examples" / "fortran" / file
    fill = "\n  ".join(f"call random_number({a})" for a in arrays.split(", "))
    (folder / "main.f90").write_text(
        DRIVER.format(declarations=declarations, fill=fill, call=call)
    )
    static = ["-fmax-stack-var-size=1000"]  # the program's arrays are no stack's
    row = []
    for how in ("gfortran", "gfortran -fopenmp", "moonloop"):
        objects = [folder / "main.o", folder / "routine.o"]
        run(["gfortran", *FLAGS, *static, "-fopenmp", "-c", "-o", objects[0], folder / "main.f90"], cwd=folder)
        if how == "moonloop":
            run([MOONLOOP, "gen", source, "--kernel", name, "--target", "openmp", "-o", folder / "k.c",
                 "--fortran-interface", folder / "interface.f90"])
            run(["gcc", *FLAGS, "-fopenmp", "-c", "-o", objects[1], folder / "k.c"], cwd=folder)
            run(["gfortran", "-O3", "-c", "-o", folder / "interface.o", folder / "interface.f90"], cwd=folder)
            objects.append(folder / "interface.o")
        else:
            openmp = ["-fopenmp"] if "openmp" in how else []
            run(["gfortran", *FLAGS, *openmp, "-c", "-o", objects[1], source], cwd=folder)
        run(["gfortran", "-fopenmp", "-o", folder / "main", *objects], cwd=folder)
        out = run([folder / "main"], env={"OMP_NUM_THREADS": str(threads), "PATH": "/usr/bin"})
        row.append(float(out.split()[2]))
    best = min(row[0], row[1])
    cells = " | ".join(f"{t * 1e3:.1f} ms" for t in row)
    print(f"| {title} | {cells} | {best / row[2]:.2f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=2)
    threads = parser.parse_args().threads
    cpu = re.search(r"model name\s*:\s*(.*)", pathlib.Path("/proc/cpuinfo").read_text())
    version = run(["gfortran", "-dumpfullversion"]).strip()
    print(f"{cpu.group(1) if cpu else platform.machine()}, {threads} threads; gfortran {version}, {' '.join(FLAGS)}; "
          "medians of nine calls\n")
    print("| routine | gfortran | gfortran -fopenmp | Moonloop, `openmp` | to the better gfortran |")
    print("|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name in ROUTINES:
            measure(name, pathlib.Path(folder), threads)


main()
