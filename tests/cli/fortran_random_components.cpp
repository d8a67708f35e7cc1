// Random programs of records whose components have memory of their own, or are arrays in each
// element of an array: a routine's own, arguments, results, and in statements that stay Fortran.
#include <random>

#include "tests/cli/fortran_program.h"
#include "tests/cli/random_choice.h"

using namespace moonloop::test;

namespace {

constexpr const char* kComponentsHead = R"(module routines
  implicit none
  type inner
    real(8) :: y(2) = [0.5d0, 0.25d0]
    integer :: k = 1
  end type
  type cell
    real(8) :: one = 0.375d0, row(3) = 0.125d0
    integer :: two = 2
    type(inner) :: in
    logical :: l(2) = .true.
  end type
  type work
    integer :: n = 2
    real(8), allocatable :: a(:), b(:, :)
    type(inner) :: in
    real(8), pointer :: view(:) => null()
    character(4) :: name = 'name'
    logical :: f = .false.
  end type
  interface
    subroutine outside(c, k)
      import cell
      type(cell), intent(inout) :: c
      integer, intent(inout) :: k
    end subroutine
  end interface
contains
  subroutine scale(w, f)
    type(work), intent(inout) :: w
    real(8), intent(in) :: f
    integer :: i
    if (.not. allocated(w%a)) return
    do i = lbound(w%a, 1), ubound(w%a, 1)
      w%a(i) = f*w%a(i)/8 + w%in%y(1)
    end do
    w%n = mod(w%n + size(w%b, 2), 9)
    w%f = .not. w%f
  end subroutine
  subroutine keep(w)  ! no kernel
    type(work), intent(inout) :: w
    real(16) :: t
    t = 0.5
    w%a(2) = t*w%a(1) + w%n
    w%b(1, :) = t*w%b(2, :)
    w%name = w%name(2:4) // 'x'
    if (associated(w%view)) w%view(1) = t*w%view(1)
    w%in%k = mod(w%in%k + ichar(w%name(1:1)), 7)
  end subroutine
  subroutine stretch(w, n)
    type(work), intent(inout) :: w
    integer, intent(in) :: n
    real(8), allocatable :: t(:)
    integer :: i
    allocate (t(n))
    t = 0.25d0
    do i = 1, min(n, size(w%a))
      t(i) = w%a(i)
    end do
    deallocate (w%a)
    allocate (w%a(n))
    w%a = t/2
    if (.not. allocated(w%b)) allocate (w%b(n, 2), source=0.5d0)
  end subroutine
  function made(n) result(w)
    integer, intent(in) :: n
    type(work) :: w
    allocate (w%a(n), w%b(n, 2))
    w%a = 0.75d0
    w%b = n/8d0
  end function
  function ring(n, t) result(c)
    integer, intent(in) :: n
    real(8), intent(in) :: t
    type(cell) :: c(n)
    integer :: i
    do i = 1, n
      c(i)%one = 0.5d0*t + i/8d0
      c(i)%row(2) = t/4
      c(i)%two = mod(i, 3)
    end do
  end function
  pure real(8) function total(w)
    type(work), intent(in) :: w
    total = w%n + w%in%y(2)
    if (allocated(w%a)) total = total + sum(w%a)
  end function
)";

constexpr const char* kComponentsOutside = R"(subroutine outside(c, k)
  use routines, only: cell
  implicit none
  type(cell), intent(inout) :: c
  integer, intent(inout) :: k
  c%one = 0.5d0*c%one + c%row(3)/4
  c%row = c%row(3:1:-1)
  c%two = mod(c%two + k, 5)
  c%in%y(1) = c%in%y(2)/2 + 0.125d0
  c%l(1) = .not. c%l(2)
  k = mod(k + 1, 8)
end subroutine
)";

class ComponentRoutines : RandomChoice {
 public:
  explicit ComponentRoutines(unsigned seed) : RandomChoice(seed) {}

  std::string module(int routines) {
    std::string out = kComponentsHead;
    for (int i = 0; i < routines; ++i) out += routine(i);
    return out + "end module\n";
  }

 private:
  /// `@` is a subscript.
  std::string filled(std::string s) {
    for (std::size_t at = 0; (at = s.find('@', at)) != std::string::npos;)
      s.replace(at, 1,
                pick(loops_ > 0 ? std::vector<std::string>{"j", "1", "n + 1 - j", "n"}
                                : std::vector<std::string>{"1", "2", "n", "3", "n - 1"}));
    return s;
  }

  std::string simple() {
    std::vector<std::string> all{
        "v%a(@) = 0.5d0*v%a(@) + x(@)/4",
        "v%b(@, 1) = v%b(@, 2)/2 + w%a(@)/4",
        "v%b(:, 2) = 0.5d0*v%b(:, 1) + x/8",
        "v%in%y(1) = 0.5d0*v%in%y(2) + v%a(@)/4",
        "w%a(@) = 0.5d0*w%a(@) + g%row(2)/4",
        "w%b(:, 1) = 0.5d0*w%b(:, 2) + x/8",
        "w%n = mod(w%n + v%n + k, 7)",
        "p(@)%row = 0.5d0*p(@)%row(3:1:-1) + g%one/8",
        "p(@)%in%y(2) = p(@)%in%y(1)/2",
        "p%one = 0.5d0*p%one + x/8",
        "p(@)%two = mod(p(@)%two + k, 7)",
        "p(@)%l(2) = p(@)%l(1) .neqv. k > 3",
        "if (p(@)%l(1)) q(@)%row(1) = p(@)%row(2)/2",
        "q(@)%row(3) = 0.5d0*q(@)%row(2) + v%a(@)/8",
        "g = p(@)",
        "p(@) = g",
        "c = q(@)",
        "q = p",
        "call outside(g, k)",
        "call outside(p(@), k)",
        "call outside(c, k)",
        "call outside(q(@), k)",
        "write (line, '(i4, 3f8.3)') k, x(1:3)\n    read (line, *) g%two, g%row",
        "write (line, '(i4)') k\n    read (line, *) v%n",
        "write (line, '(2f8.3)') x(1:2)\n    read (line, *) p(@)%in%y",
        "call keep(v)",
        "call keep(w)",
        "call scale(v, x(@))",
        "call scale(w, 0.5d0)",
        "q = ring(n, x(@)/4)",
        "p = ring(n, v%a(@)/4)",
        "q(2:4) = ring(3, 0.5d0)",
        "if (allocated(v%a)) x(@) = 0.5d0*x(@) + v%a(@)/4",
        "k = mod(k + size(v%a) + ubound(w%b, 1) + v%n, 9)",
        "write (*, '(a, 3f9.4)') v%name, v%in%y, g%one",
        "where (v%a > 0.5d0) v%a = 0.5d0*v%a",
        "w%in = v%in",
        "v%in = p(@)%in",
    };
    if (boxed_) {
      for (const char* s :
           {"call stretch(v, n + 2)", "v = made(n)", "v = w", "w = v", "call stretch(w, n + 1)"})
        for (int i = 0; i < 3; ++i) all.emplace_back(s);
      std::erase_if(all, [](const std::string& s) { return s.starts_with("where"); });
    } else {
      for (const char* s : {"v%view(@) = 0.5d0*v%view(@) + v%a(@)/8", "v%view => x", "v%view => y",
                            "x(@) = 0.5d0*x(@) + v%view(@)/8"})
        all.emplace_back(s);
    }
    return filled(pick(all));
  }

  std::string statement(int depth) {
    // gcc does not see that its value is there under one condition as under the other.
    if (depth == 0 && upto(8) == 0)
      return filled(
          pick({"    x(@) = 0.5d0*x(@) + total(v)/16\n", "    x(@) = 0.5d0*x(@) + total(w)/16\n"}));
    switch (depth > 2 ? 0 : upto(7)) {
      case 1:
        return "if (" +
               filled(pick({"x(@) > 0.5d0", "k > 3", "p(@)%two == 1", "v%a(@) > w%a(@)"})) +
               ") then\n    " + statement(depth + 1) + "    end if\n";
      case 2: {
        if (loops_ > 0) break;
        ++loops_;
        const std::string out =
            "do j = 1, n\n    " + statement(depth + 1) + statement(depth + 1) + "    end do\n";
        --loops_;
        return out;
      }
      default: break;
    }
    return "    " + simple() + "\n";
  }

  std::string routine(int number) {
    boxed_ = upto(3) == 0;
    const std::string name = "r" + std::to_string(number);
    std::string out =
        "  subroutine " + name +
        "(n, x, y, g, p, w, k)\n    integer, intent(in) :: n\n"
        "    real(8), intent(inout), target :: x(n), y(n)\n    type(cell), intent(inout) :: g, p" +
        pick({"(:)", "(n)"}) +
        "\n    type(work), intent(inout) :: w\n    integer, intent(inout) :: k\n"
        "    type(work) :: v\n    type(cell) :: c, q(n)\n    integer :: j, m\n"
        "    character(80) :: line\n" +
        (boxed_ ? "    m = max(n, k/100)\n    allocate (v%a(m), v%b(m, 2), stat=j)\n    m = m + j\n"
                : pick({"    m = n\n    allocate (v%a(n), v%b(n, 2))\n",
                        "    m = n + 1\n    allocate (v%a(m - 1))\n    allocate (v%b(n, m - 5 - (n "
                        "- 6)))\n"})) +
        "    v%a = 0.5d0\n    v%b = 0.25d0\n    line = ' '\n";
    out += boxed_ ? "    v = made(n)\n" : "    v%view => y\n";
    for (int n = 4 + upto(7); n > 0; --n) out += "    " + statement(0);
    out +=
        "    x(1) = mod(x(1) + sum(v%a) + sum(v%b) + v%n + sum(q%row(2)) + c%one + q(2)%two, 3d0)\n"
        "    do j = 1, n\n      x(j) = mod(x(j), 3d0)\n    end do\n";
    return out +
           "    write (*, '(2a, 4l2, 5i4, 4f9.4)') v%name, line(1:4), v%f, c%l, q(1)%l(1), v%in%k, "
           "q(1)%in%k, "
           "&\n"
           "      c%in%k, m, c%two, c%row(1), c%in%y(2), v%in%y, q(2)%in%y(2)\n  end subroutine\n";
  }
  bool boxed_ = false;
  int loops_ = 0;
};

void same_components(unsigned seed) {
  constexpr int kRoutines = 6;
  const Folder f;
  f.write("k.f90", ComponentRoutines(seed).module(kRoutines));
  f.write("other.f90", kComponentsOutside);
  std::string calls;
  std::vector<std::string> kernels{"scale", "stretch", "made", "ring", "total"};
  for (int i = 0; i < kRoutines; ++i) {
    const std::string n = std::to_string(i);
    kernels.push_back("r" + n);
    calls += "    call r" + n + "(6, x, y, g, p(" + (i % 2 ? "2:12:2" : ":6") +
             "), w, k)\n    print '(i0, 1x, i0, 1x, 12f10.4)', " + n + ", k, x, y\n" +
             "    call show\n";
  }
  f.write("main.f90", R"(program main
  use routines
  implicit none
  real(8) :: x(6), y(6)
  integer :: k, turn, i
  type(cell) :: g, p(12)
  type(work) :: w
  x = [1, 2, 3, 4, 5, 6]/4d0
  y = x/2
  k = 1
  do i = 1, 12
    p(i)%one = i/8d0
    p(i)%two = mod(i, 4)
  end do
  do turn = 1, 3
    if (allocated(w%a)) deallocate (w%a, w%b)
    allocate (w%a(6), w%b(6, 2))
    w%a = 0.5d0
    w%b = turn
)" + calls + R"(  end do
contains
  subroutine show
    print '(4f10.4, i4, 2f10.4, i4, 2l2)', g
    print '(4f10.4, i4, 2f10.4, i4, 2l2)', p
    print '(i4, 1x, a, 2f10.4, i4, l2, 20f10.4)', w%n, w%name, w%in, w%f, w%a, sum(w%b)
  end subroutine
end program
)");
  INFO("seed " << seed << "\n" << f.read("k.f90"));
  same_program(f, kernels);
}

}  // namespace

TEST_CASE("fortran programs: random records of components with memory, and arrays in arrays") {
  const unsigned seed = first_seed();
  const int programs = seed ? 12 : 4;
  for (int i = 0; i < programs; ++i) same_components(seed + static_cast<unsigned>(i));
}
