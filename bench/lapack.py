"""Routines of LAPACK with loops of their own, by gfortran and by way of Moonloop: both in one program, in turn.

FOLDER: a copy of https://github.com/Reference-LAPACK/lapack. Prints medians of both in time of the process, their ratio,
and the largest difference of their results relative to the largest result.
"""

import argparse
import math
import pathlib
import re
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
MOONLOOP = HERE.parent / "build" / "moonloop"
FLAGS = ["-O3", "-march=native"]
FLAGS_OF_C = ["-fno-math-errno", "-fopenmp-simd"]  # as `moonloop fc` has them
CALLS = 31

SQUARE = "real(8) :: a(n, n)"
BANDS = "real(8) :: d(n), e(n), l(n), u(n), v(n)"
# A routine: the size, what is declared, prepared (`random_number` has filled the arrays), what it
# changes, and its arguments.
ROUTINES = {
    "dlaset": (1500, SQUARE, "", "a", "'U', n, n, 1d0, 2d0, a, n"),
    "dlacpy": (1500, SQUARE + ", b(n, n)", "", "b", "'L', n, n, a, n, b, n"),
    "dlange": (1500, SQUARE + ", w(n)", "", "r", "'I', n, n, a, n, w"),
    "dlansy": (1500, SQUARE + ", w(n)", "", "r", "'1', 'L', n, a, n, w"),
    "dlantr": (1500, SQUARE + ", w(n)", "", "r", "'1', 'U', 'N', n, n, a, n, w"),
    "dlanst": (1000000, BANDS, "", "r", "'1', n, d, e"),
    "dlascl": (1500, SQUARE, "", "a", "'G', 0, 0, 1d0, 3d0, n, n, a, n, info"),
    "dlaswp": (1500, SQUARE + "\ninteger :: p(n)", "p = [(i + mod(7*i, n - i + 1), i = 1, n)]", "a",
               "n, a, n, 1, n, p, 1"),
    "dlapmt": (1500, SQUARE + "\ninteger :: p(n)", "p = [(1 + mod(7*i, n), i = 1, n)]", "a, p",
               ".true., n, n, a, n, p"),
    "dlag2s": (1500, SQUARE + "\nreal(4) :: b(n, n)", "", "b", "n, n, a, n, b, n, info"),
    "dlat2s": (1500, SQUARE + "\nreal(4) :: b(n, n)", "", "b", "'U', n, a, n, b, n, info"),
    "dlagtm": (1000, BANDS + ", x(n, n), b(n, n)", "", "b", "'N', n, n, 1d0, l, d, u, x, n, -1d0, b, n"),
    "dlaqge": (1500, SQUARE + ", s(n), t(n)\ncharacter :: how", "", "a",
               "n, n, a, n, s, t, 0.01d0, 0.01d0, 1d0, how"),
    "dlaqsy": (1500, SQUARE + ", s(n)\ncharacter :: how", "", "a", "'U', n, a, n, s, 0.01d0, 1d0, how"),
    "dgeequ": (1500, SQUARE + ", s(n), t(n), x, y, z", "", "s, t", "n, n, a, n, s, t, x, y, z, info"),
    "dpoequ": (4000, SQUARE + ", s(n), x, y", "", "s", "n, a, n, s, x, y, info"),
    "dlartv": (500000, BANDS, "", "d, e", "n, d, 1, e, 1, u, v, 1"),
    "dlar2v": (500000, BANDS, "", "d, e, l", "n, d, e, l, 1, u, v, 1"),
    "dlargv": (500000, BANDS, "", "d, e, u", "n, d, 1, e, 1, u, 1"),
    "dlasr": (1000, SQUARE + ", c(n), s(n)", "", "a", "'R', 'V', 'F', n, n, c, s, a, n"),
    "dpttrf": (500000, BANDS, "d = d + 3", "d, e", "n, d, e, info"),
    "dptts2": (1000, BANDS + ", b(n, n)", "d = d + 3", "b", "n, n, d, e, b, n"),
    "dgttrf": (500000, BANDS + "\ninteger :: p(n)", "", "l, d, u, v, p", "n, l, d, u, v, p, info"),
    "dgtts2": (1000, BANDS + ", b(n, n)\ninteger :: p(n)", "d = d + 3\np = [(i, i = 1, n)]", "b",
               "0, n, n, l, d, u, v, p, b, n"),
    "dlaneg": (500000, BANDS, "", "r", "n, d, e, 0.1d0, 1d-300, n/2"),
    "dtrttp": (1500, SQUARE + ", b(n*(n + 1)/2)", "", "b", "'U', n, a, n, b, info"),
    "dtpttr": (1500, SQUARE + ", b(n*(n + 1)/2)", "", "a", "'L', n, b, a, n, info"),
}

DRIVER = """program main
  implicit none
  integer, parameter :: n = {size}
  {declarations}
  {saved}
  integer :: i, info, turn
  real(8) :: t0, t1
  real(8) :: times({calls}), other({calls}), difference
  {externals}
  {fill}
  {prepare}
  {save}
  difference = 0
  do i = 1, {calls}
    do turn = 0, 1
      {restore}
      call cpu_time(t0)
      if (mod(i + turn, 2) == 0) then
        {call}
      else
        {other}
      end if
      call cpu_time(t1)
      if (mod(i + turn, 2) == 0) then
        times(i) = t1 - t0
        {keep}
      else
        other(i) = t1 - t0
      end if
      if (mod(i + turn, 2) == 1 .and. (i > 1 .or. turn == 1)) then
        {compare}
      end if
    end do
  end do
  print *, median(times), median(other), difference
contains
  real(8) function median(x)
    real(8), intent(in) :: x({calls})
    integer :: j
    do j = 1, {calls}
      if (count(x <= x(j)) >= {half} .and. count(x < x(j)) < {half}) median = x(j)
    end do
  end function
end program
"""


class Failed(Exception):
    """A command that fails, and what it says."""


def run(words, **options):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        raise Failed(f"{' '.join(map(str, words))}: {done.stdout}{done.stderr}")
    return done.stdout


def driver(name, types):
    size, declarations, prepare, changed, arguments = ROUTINES[name]
    changed = changed.split(", ")
    declared = {}
    for line in declarations.split("\n"):
        kind, names = line.split(" :: ")
        for m in re.finditer(r"(\w+)(\((?:[^()]|\([^()]*\))*\))?(?:, |$)", names):
            declared[m[1]] = (kind, m[2] or "")
    if types:
        declared["r"] = (types, "")
    each = lambda text: "\n  ".join(text.format(v) for v in changed)
    copies = [f"{declared[v][0]} :: {v}{w}{declared[v][1]}" for v in changed for w in ("_first", "_result")]
    call = f"r = {{}}({arguments})" if types else f"call {{}}({arguments})"
    reals = [v for v, (kind, _) in declared.items() if kind.startswith("real") and v != "r"]
    compare = ("difference = max(difference, real({0}{1}, 8))")
    compared = [
        "difference = max(difference, " + (
            f"maxval(abs({v} - {v}_result))/max(1d-300, real(maxval(abs({v}_result)), 8))" if declared[v][1] and
            declared[v][0].startswith("real") else
            f"real(maxval(abs({v} - {v}_result)), 8)" if declared[v][1] else
            f"abs({v} - {v}_result)/max(1d-300, abs(real({v}_result, 8)))") + ")"
        for v in changed]
    return DRIVER.format(
        size=size, calls=CALLS, half=CALLS // 2 + 1,
        declarations=declarations.replace("\n", "\n  ") + (f"\n  {types} :: r" if types else ""),
        saved="\n  ".join(copies),
        externals=f"{types}, external :: {name}, {name}_by_gfortran" if types else "",
        fill="\n  ".join(f"call random_number({v})" for v in reals),
        prepare=prepare.replace("\n", "\n  "),
        save=each("{0}_first = {0}") if not types else "r = 0; r_first = 0; r_result = 0",
        restore=each("{0} = {0}_first"), keep=each("{0}_result = {0}"), compare="\n        ".join(compared),
        call=call.format(name), other=call.format(name + "_by_gfortran"))


def measure(name, lapack, folder, options):
    source = lapack / "SRC" / f"{name}.f"
    text = source.read_text()
    function = re.search(rf"^\s+(DOUBLE PRECISION|INTEGER) FUNCTION {name.upper()}\b", text, re.M)
    types = {None: "", "INTEGER": "integer", "DOUBLE PRECISION": "real(8)"}[function and function[1]]
    (folder / "main.f90").write_text(driver(name, types))
    run([MOONLOOP, "gen", source, "--kernel", name, "--target", "c", "-o", folder / "k.c",
         "--fortran-interface", folder / "i.f90", *options])
    run(["gcc", *FLAGS, *FLAGS_OF_C, "-c", "-o", folder / "k.o", folder / "k.c"])
    run(["gfortran", *FLAGS, "-c", "-o", folder / "i.o", folder / "i.f90"], cwd=folder)
    run(["gfortran", *FLAGS, "-c", "-o", folder / "o.o", source])
    run(["objcopy", "--redefine-sym", f"{name}_={name}_by_gfortran_", folder / "o.o"])
    run(["gfortran", *FLAGS, "-fmax-stack-var-size=1000", "-o", folder / "main", folder / "main.f90",
         folder / "k.o", folder / "i.o", folder / "o.o", folder / "lapack.a", "-lm"], cwd=folder)
    ours, theirs, difference = map(float, run([folder / "main"]).split())
    print(f"| `{name}` | {theirs * 1e3:.3f} ms | {ours * 1e3:.3f} ms | {theirs / ours:.2f} | {difference:.1g} |",
          flush=True)
    return theirs / ours


def table(lapack, names, auto):
    """Prints the table; ratios of the routines, and those that failed."""
    print("| routine | gfortran | Moonloop, `c` | ratio | difference |\n|---|---|---|---|---|")
    ratios, failed = [], []
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        parts = [lapack / "SRC" / f"{s}.f" for s in ("dlaisnan", "disnan", "dlassq", "dcombssq")]
        parts += [lapack / "INSTALL" / f"{s}.f" for s in ("lsame", "dlamch", "slamch")]
        parts += [lapack / "BLAS" / "SRC" / "dscal.f"]
        parts += [lapack / "SRC" / "xerbla.f", lapack / "SRC" / "dlassq.f90"]
        parts += [lapack / "SRC" / "la_constants.f90", lapack / "SRC" / "la_xisnan.F90"]
        objects = []
        for p in sorted((p for p in parts if p.exists()), key=lambda p: (p.suffix == ".f", "la_" not in p.name, p.name)):
            objects.append(folder / f"{p.stem}.o")
            run(["gfortran", *FLAGS, "-c", "-o", objects[-1], p], cwd=folder)
        run(["ar", "rcs", folder / "lapack.a", *objects])
        for name in names:
            try:
                ratios.append(measure(name, lapack, folder, ["--auto"] if auto else []))
            except Failed as e:
                failed.append(name)
                print(f"| `{name}` | failed: {str(e).splitlines()[0]} |", flush=True)
    if ratios:
        print(f"\ngeometric mean {math.prod(ratios) ** (1 / len(ratios)):.2f}", flush=True)
    return ratios, failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("routines", nargs="*", help=f"of {', '.join(ROUTINES)}; all where none is named")
    parser.add_argument("--auto", action="store_true", help="with the schedules of `moonloop auto`")
    given = parser.parse_args()
    for name in given.routines:
        if name not in ROUTINES:
            parser.error(f"no routine `{name}` is measured; there are {', '.join(ROUTINES)}")
    if not (given.folder / "SRC" / "dlaset.f").exists():
        parser.error(f"`{given.folder}` is no copy of LAPACK: it has no SRC/dlaset.f")
    _, failed = table(given.folder.resolve(), given.routines or list(ROUTINES), given.auto)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
