// What Fortran files say to OpenMP beside their directives of loops: lines that count for it alone,
// macros of the preprocessor, and variables that each thread has of its own.
#include "tests/cli/harness.h"

using namespace moonloop::test;

namespace {

/// The same output with a compiler's command as it is and through `fc` with these words.
void same_by(const Folder& f, const std::string& fc, const std::string& command) {
  CAPTURE(command);
  const Outcome before = shell("mkdir -p b && cd b && cp ../*.f* ../*.F* . 2>/dev/null; " +
                                   command + " -o before && OMP_NUM_THREADS=2 ./before",
                               f.str());
  REQUIRE_MESSAGE(before.status == 0, before.err);
  REQUIRE(!before.out.empty());
  const Outcome made = tool("fc " + fc + " -- " + command + " -o after", f.str());
  REQUIRE_MESSAGE(made.status == 0, made.err);
  const Outcome after = shell("OMP_NUM_THREADS=2 ./after", f.str());
  CHECK(after.status == 0);
  CHECK(before.out == after.out);
}

constexpr const char* kFree = R"(subroutine s(x)
  integer, intent(inout) :: x(3)
  integer :: k
  k = 1
  !$ k = 10 + &
  !$   & 90
  x = x + k
!$ x(1) = x(1)*7
end subroutine
program p
  integer :: x(3) = [1, 2, 3]
  call s(x)
  print *, x
end program
)";
constexpr const char* kFixed = R"(      subroutine s(x)
      integer x(3), k
      k = 1
c$    k = 10 +
*$   &  90
!$ 20 x(1) = x(1)*7
      x(2) = x(2) + k
      end
      program p
      integer x(3)
      x = 5
      call s(x)
      print *, x
      end
)";
constexpr const char* kMacros = R"(subroutine s(x)
  integer, intent(inout) :: x(5)
#ifdef _OPENMP
  x(1) = x(1) + _OPENMP
#else
  x(1) = -1
#endif
#ifdef __GFORTRAN__
  x(2) = 2*x(2)
#endif
#if defined(__GNUC__) && __GNUC__ > 3
  x(3) = __GNUC__
#endif
#ifdef __OPTIMIZE__
  x(4) = 44
#endif
#ifdef OWN
  x(5) = OWN
#endif
end subroutine
program p
  integer :: x(5) = [1, 2, 3, 4, 5]
  call s(x)
  print *, x
end program
)";

}  // namespace

TEST_CASE("fortran threads: lines for OpenMP alone count as for the compiler") {
  for (const auto& [name, text] : {std::pair{"k.f90", kFree}, {"k.f", kFixed}}) {
    const Folder f;
    f.write(name, text);
    for (const char* options : {"", "-fopenmp ", "-fopenmp-simd "})
      same_by(f, "--kernel s", std::string("gfortran ") + options + name);

    const Outcome unsaid = tool(std::string("gen --kernel s ") + name, f.str());
    CHECK(unsaid.status == 0);
    CHECK(unsaid.err.find("[conditional-line]") != std::string::npos);
    CHECK(unsaid.err.find("(2 more in `s`)") != std::string::npos);
    const Outcome said = tool(std::string("gen --kernel s -fopenmp ") + name, f.str());
    CHECK(said.err.find("conditional-line") == std::string::npos);
    CHECK(said.out != unsaid.out);
  }
}

TEST_CASE("fortran threads: lines for OpenMP alone in a file that is included") {
  const Folder f;
  f.write("more.h", "  k = 3\n!$ k = 4\n");
  f.write("k.f90", R"(subroutine s(k)
  integer, intent(inout) :: k
  include 'more.h'
end subroutine
)");
  const Outcome without = tool("gen k.f90", f.str());
  CHECK(without.status == 1);
  CHECK(without.err.find("more.h:2:1") != std::string::npos);
  CHECK(without.err.find("`-fopenmp`") != std::string::npos);
  const Outcome with = tool("gen k.f90 -fopenmp", f.str());
  CHECK(with.status == 0);
  CHECK(with.out.find("4") != std::string::npos);
}

TEST_CASE("fortran threads: macros of the compiler that `fc` stands for") {
  const Folder f;
  f.write("k.F90", kMacros);
  for (const char* options : {"", "-fopenmp ", "-O2 ", "-DOWN=9 ", "-U__GFORTRAN__ "})
    same_by(f, "--kernel s", std::string("gfortran ") + options + "k.F90");

  f.write("compile_commands.json", "[{\"directory\": \"" + f.str() +
                                       "\", \"file\": \"k.F90\", \"command\": \"gfortran -O2 "
                                       "-fopenmp -c k.F90\"}]");
  const Outcome code = tool("gen k.F90 --kernel s --project .", f.str());
  REQUIRE_MESSAGE(code.status == 0, code.err);
  CHECK(code.out.find("2015") != std::string::npos);
  CHECK(code.out.find("44") != std::string::npos);

  // A compiler that does not say which.
  f.write("silent", "#!/bin/sh\ncase \"$*\" in *-dM*) exit 1;; esac\nexec gfortran \"$@\"\n");
  REQUIRE(shell("chmod +x silent", f.str()).status == 0);
  const Outcome silent = tool("fc --kernel s -- ./silent -c k.F90", f.str());
  CHECK(silent.status == 0);
  CHECK(silent.err.find("[unknown-macros]") != std::string::npos);
  CHECK(silent.err.find("`./silent`") != std::string::npos);
}

TEST_CASE("fortran threads: each thread has its own variables of `threadprivate`") {
  // Fixed form, where the interface's lines have sentinels in the first column.
  const Folder fixed;
  fixed.write("k.f", R"(      subroutine draw(n, x)
      integer n, x(n), i
      common /a_common_block_with_a_long_name_of_its_own_01/ state, step
      integer state, step
!$omp threadprivate(/a_common_block_with_a_long_name_of_its_own_01/)
      do i = 1, n
        state = mod(state*5 + step, 97)
        x(i) = state
      end do
      end
)");
  fixed.write("main.f", R"(      program p
      use omp_lib
      common /a_common_block_with_a_long_name_of_its_own_01/ state, step
      integer state, step, x(4,0:1), t
!$omp threadprivate(/a_common_block_with_a_long_name_of_its_own_01/)
      x = 0
!$omp parallel private(t) num_threads(2)
      t = omp_get_thread_num()
      state = 10 + t
      step = 3 + 4*t
      call draw(4, x(:,t))
!$omp end parallel
      print *, x
      end
)");
  same_by(fixed, "--kernel draw", "gfortran -fopenmp k.f main.f");

  // Variables of the routine itself and of a module; `copyin`, and a loop that changes one.
  const Folder f;
  f.write("k.f90", R"(module m
  integer :: base = 3
  !$omp threadprivate(base)
contains
  integer function count_up()
    integer, save :: calls = 0
    !$omp threadprivate(calls)
    calls = calls + base
    count_up = calls
  end function
  subroutine fill(n, x)
    integer, intent(in) :: n
    integer, intent(inout) :: x(n)
    integer :: i
    !$omp parallel do copyin(base)
    do i = 1, n
      x(i) = i*base
    end do
  end subroutine
  subroutine squares(n, x)
    integer, intent(in) :: n
    integer, intent(inout) :: x(n)
    integer :: i
    !$omp parallel do
    do i = 1, n
      base = i
      x(i) = x(i) + base*base
    end do
  end subroutine
  subroutine sums(n, x)
    integer, intent(in) :: n
    integer, intent(inout) :: x(n)
    integer :: i
    !$omp parallel do
    do i = 1, n
      base = base + i
      x(i) = base
    end do
  end subroutine
end module
)");
  f.write("main.f90", R"(program p
  use omp_lib
  use m
  integer :: x(5), y(0:1), t, i
  !$omp parallel private(t, i) num_threads(2)
  t = omp_get_thread_num()
  base = 5 + t
  do i = 1, 3 + t
    y(t) = count_up()
  end do
  !$omp end parallel
  call fill(5, x)
  print *, x, y
  call squares(5, x)
  print *, x
end program
)");
  for (const char* how : {"--target c", "--target openmp", "--target openmp --directives use"})
    same_by(f, std::string(how) + " --kernel count_up --kernel fill --kernel squares",
            "gfortran -fopenmp k.f90 main.f90");

  // Trusted or not, a variable that is carried from iteration to iteration is not shared.
  for (const char* how : {"check", "use"}) {
    const Outcome carried =
        tool(std::string("gen k.f90 --kernel sums --target openmp --directives ") + how, f.str());
    CHECK(carried.status == 1);
    CHECK(carried.err.find("base") != std::string::npos);
    CHECK(carried.err.find("at the same time") != std::string::npos);
  }
}

namespace {

constexpr const char* kTeam = R"(module team
  real(8) :: total
contains
  subroutine bump(n, x)
    integer, intent(in) :: n
    integer, intent(inout) :: x(n)
    integer :: i, twice
    twice = 2*n
    !$omp do
    do i = 1, n
      x(i) = x(i) + twice
    end do
    !$omp end do
    !$omp do
    do i = 1, n
      x(n + 1 - i) = x(n + 1 - i) - i
    end do
    !$omp end do
  end subroutine
  subroutine steps(n, x, s)
    integer, intent(in) :: n
    integer, intent(inout) :: x(n), s
    integer :: i
    !$omp single
    s = s + 1
    !$omp end single
    !$omp do
    do i = 1, n
      x(i) = x(i) + s
    end do
    !$omp barrier
    !$omp sections
    !$omp section
    x(1) = x(1)*2
    !$omp section
    x(n) = x(n)*3
    !$omp end sections
  end subroutine
  real(8) function length(n, x)
    integer, intent(in) :: n
    integer, intent(in) :: x(n)
    integer :: i
    !$omp single
    total = 0
    !$omp end single
    !$omp do reduction(+: total)
    do i = 1, n
      total = total + x(i)
    end do
    length = total
    !$omp barrier
  end function
  subroutine both(n, x, far)
    integer, intent(in) :: n
    integer, intent(inout) :: x(n)
    integer, intent(out) :: far
    call bump(n, x)
    far = x(n)
  end subroutine
  subroutine count_one(k, h)
    integer, intent(in) :: k
    integer, intent(inout) :: h(:)
    !$omp atomic
    h(k) = h(k) + 1
  end subroutine
  subroutine add_pair(k, h)
    integer, intent(in) :: k
    integer, intent(inout) :: h(:)
    !$omp critical (pair)
    h(1) = h(1) + k
    h(2) = h(1)
    !$omp end critical (pair)
  end subroutine
end module
)";
constexpr const char* kCalls = R"(program p
  use team
  integer, parameter :: n = 3001
  integer :: x(n) = 1, s = 0, h(3) = 0, i, far, fars
  real(8) :: r, lengths
  lengths = 0
  fars = 0
  !$omp parallel private(i, r, far) num_threads(4)
  do i = 1, 20
    call bump(n, x)
    call steps(n, x, s)
  end do
  r = length(n, x)
  !$omp critical
  lengths = lengths + r
  !$omp end critical
  call both(n, x, far)
  !$omp atomic
  fars = fars + far
  do i = 1, 20000
    call count_one(3, h)
    !$omp atomic
    h(3) = h(3) + 1
    call add_pair(1, h)
  end do
  !$omp end parallel
  print *, sum(x*[(i, i = 1, n)]), x(1:3), x(n), s, lengths/4, fars, h
  call bump(n, x)
  print *, length(n, x)
end program
)";

}  // namespace

TEST_CASE("fortran threads: routines whose work is shared by the threads that call them") {
  const Folder f;
  f.write("k.f90", kTeam);
  f.write("main.f90", kCalls);
  const std::string all =
      " --kernel bump --kernel steps --kernel length --kernel both --kernel count_one"
      " --kernel add_pair";
  for (const char* how : {"--target c", "--target openmp", "--target openmp --directives use"})
    for (const char* options : {"-fopenmp ", ""})
      same_by(f, how + all, std::string("gfortran -O1 ") + options + "k.f90 main.f90");

  // Loops alone are shared by the same threads, which do the rest for themselves.
  const Outcome loops = tool("gen k.f90 -fopenmp --target openmp --kernel bump", f.str());
  REQUIRE_MESSAGE(loops.status == 0, loops.err);
  CHECK(loops.out.find("#pragma omp for") != std::string::npos);
  CHECK(loops.out.find("parallel") == std::string::npos);
  CHECK(loops.err.find("one-thread") == std::string::npos);
  const Outcome alone = tool("gen k.f90 --target openmp --kernel steps", f.str());
  CHECK(alone.err.find("k.f90:24") != std::string::npos);
  CHECK(alone.err.find("[one-thread]") != std::string::npos);
}

TEST_CASE("fortran threads: what one thread of a team does that begins elsewhere") {
  const Folder f;
  f.write("k.f90", R"(subroutine first(s)
  integer, intent(inout) :: s
  !$omp master
  s = s + 1
  !$omp end master
end subroutine
subroutine wait(done)
  integer, intent(in) :: done
  do while (done == 0)
    !$omp flush
  end do
end subroutine
subroutine through(s)
  integer, intent(inout) :: s
  call first(s)
end subroutine
subroutine own(s)
  integer, intent(inout) :: s
  !$omp parallel
  call first(s)
  !$omp end parallel
end subroutine
)");
  for (const auto& [kernel, what] :
       {std::pair{"first", "`master`"}, {"wait", "`flush`"}, {"through", "`master`"}}) {
    const Outcome refused = tool(std::string("gen k.f90 -fopenmp --kernel ") + kernel, f.str());
    CHECK(refused.status == 1);
    CHECK_MESSAGE(refused.err.find(what) != std::string::npos, refused.err);
  }
  CHECK(tool("gen k.f90 -fopenmp --kernel own", f.str()).status == 0);
  CHECK(tool("fc --kernel first -- gfortran -c k.f90", f.str()).status == 0);
}

TEST_CASE(
    "fortran threads: what each thread has for itself is no input of one that works for all") {
  const Folder f;
  f.write("k.f90", R"(subroutine part(n, x)
  integer, intent(in) :: n
  integer, intent(inout) :: x(n)
  common /range/ low, high
  integer :: low, high, i
  !$omp threadprivate(/range/)
  do i = low, high
    x(i) = x(i) + 1
  end do
  !$omp barrier
end subroutine
)");
  const Outcome refused = tool("gen k.f90 -fopenmp --fortran-interface i.f90 -o k.c", f.str());
  CHECK(refused.status == 1);
  CHECK_MESSAGE(refused.err.find("`high`, which each thread has for itself") != std::string::npos,
                refused.err);
}

TEST_CASE("fortran threads: private arrays and a loop's own variable beside calls of other files") {
  const Folder f;
  f.write("k.f90", R"(subroutine s(n, x)
  integer, intent(in) :: n
  integer, intent(inout) :: x(n)
  integer :: i, j, p(4), w, from
  do i = 1, n
    x(i) = i
  end do
  !$omp parallel private(i, j, p, w, from)
  from = 2
  !$omp do
  do i = 1, n
    do j = 1, 2
      call fill(i + j, p(2*j - 1))
    end do
    x(i) = x(i) + p(1) + p(2)*p(3) - p(4)
  end do
  !$omp do
  do i = 1, n
    call fill(x(i), p)
    call add(from, x(i))
    x(i) = x(i) + p(2)
  end do
  !$omp end parallel
  !$omp parallel do private(i, w)
  do i = 1, n
    w = 3*i
    call add(w, x(i))
  end do
end subroutine
)");
  f.write("main.f90", R"(subroutine fill(i, p)
  integer, intent(in) :: i
  integer, intent(out) :: p(2)
  p = [i, mod(i*i, 101)]
end subroutine
subroutine add(w, x)
  integer :: w, x
  x = x + mod(w, 7)
end subroutine
program p
  integer, parameter :: n = 20000
  integer :: x(n), k
  do k = 1, 5
    call s(n, x)
  end do
  print *, sum(x), x(::997)
end program
)");
  for (const char* how : {"--target c", "--target openmp"})
    same_by(f, std::string("--kernel s --directives use ") + how,
            "gfortran -O1 -fopenmp k.f90 main.f90");
}
