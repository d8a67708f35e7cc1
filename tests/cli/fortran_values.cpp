// Values whose kinds, lengths and bounds are easy to lose.
#include "tests/cli/fortran_program.h"

using namespace moonloop::test;

TEST_CASE("fortran: constants keep their kinds where nothing beside them has one") {
  const Folder f;
  f.write("k.f90", R"(subroutine kinds(k, r, s)
  implicit none
  integer, intent(in) :: k
  integer(8), intent(out) :: r(12)
  integer(8), intent(inout) :: s
  integer(8), external :: weigh
  r(1) = leadz(merge(1_8, 2_8, k > 3))
  r(2) = sum([100000_8, 200000_8, int(k, 8)])*1000000
  r(3) = ishftc(5_8, k)
  r(4) = dshiftl(1_8, 2_8, k)
  r(5) = merge(1_8, 2_8, k > 3)*1000000000*k
  r(6) = ishft(1_8, k) + ibset(0_8, k)
  r(7) = popcnt(-1_8) + popcnt(merge(-1_1, -2_1, k > 3))
  r(8) = leadz(merge(1_2, 2_2, k > 3))
  r(9) = (-3_8)**k
  r(10) = max(100000_8, int(k, 8))*100000 - 7_8/2_8
  r(11) = weigh(-7_8, 3_2)
  r(12) = dshiftr(r(2), 5_8, 6)
  call one(-11_8)
  print *, -12_8, -13_1, -14_2, merge(-1_8, -2_8, k > 1), -1_8*k, [-3_8, -4_8], -1
  write (*, *) max(-1_8, -2_8), abs(-2_8)
contains
  subroutine one(n)
    integer(8), intent(in) :: n
    print *, 'one', n, n + 1
    s = s + weigh(n, -2_2)
  end subroutine
end subroutine
)");
  f.write("other.f90",
          "integer(8) function weigh(a, b)\n  integer(8) :: a\n  integer(2) :: b\n"
          "  weigh = a*1000 + b\nend function\n");
  f.write("main.f90",
          "program main\n  integer(8) :: r(12), s = 1\n  integer :: k\n  do k = 13, 40, 27\n"
          "    call kinds(k, r, s)\n    print '(4i22)', r, s\n  end do\nend program\n");
  same_program(f);
}

TEST_CASE("fortran: texts as long as another one, and parts of constant ones of modules") {
  const Folder f;
  f.write("k.f90", R"(module letters
  implicit none
  character(*), parameter :: abc = 'abcdefghijklmnopqrstuvwxyz'
  character, parameter :: star = '*'
contains
  subroutine turn(s, k)
    character(*), intent(inout) :: s
    integer, intent(in) :: k
    character(len=len(s)) :: t
    character(len=2*len(s) + 1) :: twice
    integer :: i, p
    twice = s // s // '|'
    t = twice(1 + k:len(s) + k)
    s = t
    do i = 1, len(s)
      p = index(abc, s(i:i))
      if (p > 0) s(i:i) = abc(27 - p:27 - p)
      if (s(i:i) == abc(1:1)) s(i:i) = star(1:1)
    end do
  end subroutine
  subroutine parts(s, q, k)
    character(*), intent(inout) :: s(0:)
    real(8), intent(inout) :: q(:, -1:)
    integer, intent(in) :: k
    associate (t => s(1), u => s(:)(2:3), first => s(0)(1:1), col => q(:, k), rest => q(2:, :))
      first = 'Z'
      t = u(2) // t(1:1)
      u = 'xy'
      u(1)(2:2) = '!'
      s(2)(1:1) = achar(48 + len(u) + len(t) + len(first) + ubound(u, 1))
      col(2:) = col(:size(col) - 1) + 1
      associate (corner => rest(1:1, 2:3))
        corner = corner + rest(1, 1)
        rest(1, 1) = 7
      end associate
    end associate
  end subroutine
end module
)");
  f.write("main.f90", R"(program main
  use letters
  implicit none
  character(6) :: s = 'abyz.q'
  character(4) :: w(3) = ['abcd', 'efgh', 'ijkl']
  real(8) :: q(3, 4)
  integer :: k = 0, i
  q = reshape([(i*1d0, i = 1, 12)], [3, 4])
  call turn(s, 2)
  call turn(s(2:4), 1)
  call turn(s(2:1), 0)
  print *, s
  call parts(w, q, k)
  print *, w, k, q
end program
)");
  same_program(f, {"turn", "parts"});
}

TEST_CASE("fortran: letters that are components of arguments, and parts of complex numbers") {
  const Folder f;
  f.write("k.f90", R"(module records
  implicit none
  type one
    character(3) :: id
    character :: flag
    real(8) :: x
  end type
contains
  subroutine mark(r, c)
    type(one), intent(inout) :: r(:)
    type(one), intent(in) :: c
    integer :: i
    do i = 1, size(r)
      if (r(i)%flag == c%flag) r(i)%x = r(i)%x + c%x
      if (r(i)%id(1:1) == c%id(2:2)) r(i)%flag = 'y'
    end do
  end subroutine
  real(8) function sizes(z)
    complex(8), intent(in) :: z(:)
    integer :: i
    sizes = 0
    do i = 1, size(z)
      associate (re => z(i)%re, im => z(i)%im)
        sizes = sizes + re*re + im
      end associate
    end do
  end function
end module
)");
  f.write("main.f90", R"(program main
  use records
  implicit none
  type(one) :: r(3), c
  integer :: i
  r = [one('abc', 'n', 1d0), one('bcd', 'm', 2d0), one('xyz', 'y', 3d0)]
  do i = 1, 3
    c = r(i)
    call mark(r, c)
    call mark(r(3:1:-2), one('aab', 'q', 0.5d0))
    print *, r
  end do
  print *, sizes([(1d0, 2d0), (3d0, -4d0)])
end program
)");
  same_program(f, {"mark", "sizes"});
  f.write("p.f90",
          "subroutine p(z)\n  complex, intent(inout) :: z\n  associate (re => z%re)\n"
          "    re = re + 1\n  end associate\nend subroutine\n");
  CHECK(has(tool("gen p.f90", f.str()).err,
            "`re`, associated with `real(z)`, where the construct assigns `z`,"));
}

TEST_CASE("fortran: places of truth values, last places, and bits of arrays") {
  const Folder f;
  f.write("k.f90", R"(subroutine places(n, l, x, a, r, w)
  implicit none
  integer, intent(in) :: n
  logical(1), intent(in) :: l(-1:n - 2)
  real(8), intent(in) :: x(2, n)
  integer(8), intent(in) :: a(n)
  integer, intent(out) :: r(12)
  integer(8), intent(out) :: w(8)
  logical :: odd(n)
  odd = mod(a, 2_8) == 1
  r(1) = findloc(l, .true._1, dim=1)
  r(2) = findloc(l, .false._1, dim=1, back=.true.)
  r(3:4) = findloc(x > 2, .true.)
  r(5:6) = minloc(x, back=.true.)
  r(7:8) = maxloc(x, back=.true.)
  r(9:10) = findloc(x, 2d0, mask=x < 3, back=.true.)
  r(11) = maxloc([1, 3, 3, 2], dim=1, back=.true.)
  r(12) = merge(1, 0, parity(odd))
  w = [iall(a), iany(a), iparity(a), iall(a, mask=odd), iany(a, mask=a > 5), &
       iparity(a(n:1:-2), mask=.not. odd(n:1:-2)), iall([integer(8) :: ]), iany(ishft(a, 3))]
end subroutine
)");
  f.write("main.f90", R"(program main
  implicit none
  logical(1) :: l(4) = [.false., .true., .true., .false.]
  real(8) :: x(2, 4)
  integer(8) :: a(4) = [7_8, 3_8, 6_8, 9_8], w(8)
  integer :: r(12), n
  x = reshape([1d0, 2d0, 5d0, 1d0, 2d0, 5d0, 1d0, 3d0], [2, 4])
  do n = 0, 4
    call places(n, l, x, a, r, w)
    print *, r, w
  end do
end program
)");
  same_program(f);
}

TEST_CASE("fortran: a function of a module that calls itself, and `associated` with a target") {
  const Folder f;
  f.write("k.f90", R"(module again
  implicit none
contains
  recursive function power(x, n) result(p)
    real(8), intent(in) :: x
    integer, intent(in) :: n
    real(8) :: p
    p = 1
    if (n > 1) p = power(x, n/2)**2
    if (mod(n, 2) == 1) p = p*x
  end function
  subroutine swap(n, a, b, steps)
    integer, intent(in) :: n, steps
    real(8), target, intent(inout) :: a(n), b(n)
    real(8), pointer :: now(:), next(:), other(:)
    integer :: i, t
    now => a
    next => b
    nullify (other)
    do t = 1, steps
      do i = 2, n
        next(i) = now(i) + 0.5d0*now(i - 1)
      end do
      other => now
      now => next
      next => other
    end do
    if (associated(now, a)) a = -a
    if (associated(next, other)) b = b + 1
    if (associated(now, next)) b = 0
    nullify (next)
    if (.not. associated(next, b)) b = 2*b
  end subroutine
end module
)");
  f.write("main.f90", R"(program main
  use again
  implicit none
  real(8) :: a(4) = [1, 2, 3, 4], b(4) = 0
  integer :: n
  print *, (power(1.5d0, n), n = 0, 7)
  do n = 0, 3
    call swap(4, a, b, n)
    print *, a, b
  end do
end program
)");
  same_program(f, {"power", "swap"});
  const Outcome parts = tool("gen p.f90", [&] {
    f.write("p.f90",
            "subroutine p(n, a)\n  integer, intent(in) :: n\n"
            "  real(8), target, intent(inout) :: a(n)\n  real(8), pointer :: q(:)\n"
            "  q => a(2:)\n  if (associated(q, a(n:))) q(1) = 0\nend subroutine\n");
    return f.str();
  }());
  CHECK(has(parts.err, "`associated` of two different parts of one array is not supported"));
}

TEST_CASE("cli: --check-claims says nothing of programs that keep them") {
  const Folder f;
  f.write("k.f90", R"(subroutine ends(n, m, a, out, u)
  implicit none
  integer, intent(in) :: n, m, u
  real(8), intent(inout) :: a(n)
  real(8), intent(out) :: out(*)
  real(8), allocatable :: t(:)
  integer :: i, at, last
  last = m
  do i = last, 1, -2
    out(i) = a(min(i, n))
  end do
  allocate (t(n))
  t = a
  t = [t, 1d0]
  do i = 1, size(t)
    t(i) = t(i) + i
  end do
  open (unit=u, file='t.dat', access='stream', form='unformatted')
  write (u) 5
  inquire (unit=u, pos=at)
  close (u)
  a(1) = a(1) + t(n) + at + leadz(n)
end subroutine
)");
  f.write("main.f90", R"(program main
  implicit none
  interface
    subroutine ends(n, m, a, out, u)
      integer, intent(in) :: n, m, u
      real(8), intent(inout) :: a(n)
      real(8), intent(out) :: out(*)
    end subroutine
  end interface
  real(8) :: both(7) = 0
  both(5:) = [1, 2, 3]
  call ends(3, 4, both(5:), both, 15)
  print *, both
end program
)");
  const std::string build = "gfortran k.f90 main.f90 -o ";
  REQUIRE(shell(build + "before", f.str()).status == 0);
  const Outcome made = tool("fc --check-claims --kernel ends -- " + build + "after", f.str());
  REQUIRE_MESSAGE(made.status == 0, made.err);
  const Outcome before = shell("./before", f.str()), after = shell("./after", f.str());
  CHECK(after.err.empty());
  CHECK(before.out == after.out);
}

TEST_CASE("fc: files of one command have modules for those behind them") {
  const Folder f;
  REQUIRE(shell("mkdir a b", f.str()).status == 0);
  f.write("a/part.f90", "module base\n  real(8) :: scale = 3\nend module\n");
  f.write("b/part.f90",
          "module work\n  use base\ncontains\n  subroutine double(x)\n"
          "    real(8), intent(inout) :: x\n    x = scale*x\n  end subroutine\nend module\n");
  f.write("main.f90",
          "program main\n  use work\n  real(8) :: x = 2\n  call double(x)\n  print *, x\n"
          "end program\n");
  const Outcome made = tool(
      "fc --kernel Double --kernel nothing -I a -- gfortran a/part.f90 b/part.f90 main.f90 -o p",
      f.str());
  REQUIRE_MESSAGE(made.status == 0, made.err);
  CHECK(has(made.err, "moonloop: b/part.f90: double\n"));
  CHECK(has(made.err, "moonloop: no file of the command has the routine `nothing`\n"));
  CHECK(has(shell("./p", f.str()).out, "6.0"));
}

TEST_CASE("fortran: a kind of 16 bytes is in the way of those that compute with it alone") {
  const Folder f;
  f.write("k.f90", R"(module kinds
  use, intrinsic :: iso_fortran_env
  integer, parameter :: qp = real128, dp = real64
  real(qp), parameter :: half = 0.5_qp
end module
module both
  use kinds
  implicit none
contains
  subroutine plain(x)
    real(dp), intent(inout) :: x
    x = 2*x
  end subroutine
  subroutine wide(x)
    real(qp), intent(inout) :: x
    x = half*x
  end subroutine
end module
)");
  const Outcome o = tool("show k.f90 --what imports", f.str());
  CHECK_MESSAGE(has(o.out, "plain  k.f90:10:14  imported\nwide   k.f90:14:14  left out\n"), o.out);
  CHECK(has(o.out, "`x` of type REAL(16) is not supported"));
  CHECK(has(tool("gen k.f90 --kernel plain --target c", f.str()).out, "x[0] *= 2.0;"));
}

TEST_CASE("fortran: a main program is no error where a routine is asked for") {
  const Folder f;
  f.write("k.f90",
          "subroutine s(x)\n  real(16) :: x\n  x = 1\nend subroutine\n"
          "program main\nend program\n");
  const Outcome o = tool("gen k.f90 --kernel s", f.str());
  CHECK(has(o.err, "REAL(16)"));
  CHECK(!has(o.err, "main program"));
  f.write("m.f90", "program main\nend program\n");
  CHECK(has(tool("gen m.f90", f.str()).err, "a main program is not supported"));
}

TEST_CASE("fortran programs: powers by whole numbers have the digits of gfortran's") {
  const Folder f;
  f.write("k.f90", R"(subroutine powers(n, x, s, z, k, l, out, sout, zout)
  implicit none
  integer, intent(in) :: n, k(n)
  integer(8), intent(in) :: l(n)
  real(8), intent(in) :: x
  real(4), intent(in) :: s
  complex(8), intent(in) :: z
  real(8), intent(out) :: out(n, 2)
  real(4), intent(out) :: sout(n)
  complex(8), intent(out) :: zout(n)
  integer :: i
  do i = 1, n
    out(i, 1) = x**k(i)
    out(i, 2) = x**l(i)
    sout(i) = s**k(i)
    zout(i) = z**k(i)
  end do
end subroutine
)");
  f.write("main.f90", R"(program main
  implicit none
  integer, parameter :: n = 90, bases = 6
  integer :: k(n), i
  integer(8) :: l(n)
  real(8) :: x(bases), out(n, 2)
  real(4) :: sout(n)
  complex(8) :: z, zout(n)
  x = [1.1d0, -0.7d0, 3d0, 1d-160, -1d200, 0.9999999d0]
  k = [(i - 42, i = 1, n)]
  k(n - 1) = huge(k); k(n) = -huge(k) - 1
  l = k
  do i = 1, bases
    z = cmplx(x(min(i, 3)), 0.3d0, 8)
    call powers(n, x(i), real(x(i), 4), z, k, l, out, sout, zout)
    print '(4z17.16)', out
    print '(4z9.8)', sout
    print '(4z17.16)', zout(:n - 2)
  end do
end program
)");
  same_program(f);
}
