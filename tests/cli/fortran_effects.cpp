// What calls that stay Fortran do to variables of modules is known from what they call.
#include "tests/cli/fortran_program.h"

using namespace moonloop::test;

namespace {

/// The kernel's text, which names what a call may change on its left.
std::string text_of(const Folder& f, const std::string& kernel) {
  const Outcome out = tool("show k.f90 --quiet --kernel " + kernel, f.str());
  CHECK_MESSAGE(out.status == 0, out.err);
  return out.out;
}

/// What `show --what imports` says about `source`.
std::string imports(const std::string& source) {
  const Folder f;
  f.write("k.f90", source);
  return tool("show k.f90 --what imports", f.str()).out;
}

}  // namespace

TEST_CASE("fortran effects: calls of what is no kernel, beside allocatable variables") {
  const Folder f;
  f.write("k.f90", R"(module state
  implicit none
  integer :: n = 0, calls = 0, code = 0, seen = 0
  real(8), allocatable :: u(:), v(:), w(:, :)
  real(8), allocatable, target :: t(:)
  real(8), pointer :: p(:)
contains
  subroutine note(k)  ! ends the program by a code that is no constant
    integer, intent(in) :: k
    calls = calls + 1
    if (k > 99) wait (k)
  end subroutine
  subroutine look()
    seen = seen + int(u(1))
    if (seen > 9999) wait (seen)
  end subroutine
  subroutine point(k)
    integer, intent(in) :: k
    p(1) = p(1) + k
    if (k > 99) wait (k)
  end subroutine
  subroutine enlarge(k)
    integer, intent(in) :: k
    real(8), allocatable :: more(:)
    call note(k)
    allocate (more(k))
    more = 0
    more(:size(v)) = v
    call move_alloc(more, v)
  end subroutine
  subroutine advance(m, x)  ! `u` stays where it is, `calls` and `seen` change
    integer, intent(in) :: m
    real(8), intent(inout) :: x(m)
    real(8) :: own(n)
    integer :: i
    own = 1
    do i = 1, m
      u(i) = u(i) + x(i)
    end do
    call note(m)
    code = calls + n
    call look()
    do i = 1, m
      x(i) = u(i) + own(min(i, n)) + code + seen
    end do
    calls = calls + 10
    call note(m)
    x(1) = x(1) + calls
  end subroutine
  subroutine targets(m)
    integer, intent(in) :: m
    integer :: i
    do i = 1, m
      t(i) = t(i) + i
      u(i) = u(i) + 2
    end do
    call point(m)
    do i = 2, m
      t(i) = t(i) + t(i - 1)
    end do
  end subroutine
  subroutine renew(m)  ! `v` has other memory after the first call
    integer, intent(in) :: m
    integer :: i
    do i = 1, size(v)
      v(i) = i + u(1)
    end do
    call enlarge(m)
    do i = 1, m
      v(i) = v(i) + u(i)
      u(i) = 2*u(i)
    end do
    call double()
    print '(a, 9f7.2)', 'renewed', v(1), v(m)
    write (*, '(9f7.2)') v
    forall (i = 1:m) v(i) = v(i) + 1
    call shift(v)
  end subroutine
  subroutine double()
    integer :: i
    do i = 1, size(v)
      v(i) = 2*v(i)
    end do
  end subroutine
  subroutine shift(a)
    real(8), intent(inout) :: a(:)
    a(2:) = a(:size(a) - 1)
  end subroutine
  subroutine through(m)  ! all of it by way of others
    integer, intent(in) :: m
    call make(m)
    call use_it(m)
  end subroutine
  subroutine make(m)
    integer, intent(in) :: m
    allocate (w(m, m))
    w = 0.5d0
  end subroutine
  subroutine use_it(m)
    integer, intent(in) :: m
    integer :: i
    do i = 1, m
      w(i, i) = w(i, i) + i
    end do
  end subroutine
end module
)");
  f.write("main.f90", R"(program main
  use state
  implicit none
  real(8) :: x(5)
  n = 3
  allocate (u(5), v(2), t(5))
  u = [1, 2, 3, 4, 5]
  x = 0.25d0
  t = 1
  p => t
  call advance(5, x)
  call targets(5)
  call renew(4)
  call advance(4, x)
  call through(3)
  print *, x
  print *, u, t
  print *, v, w
  print *, n, calls, code, seen
end program
)");
  same_program(f, {"advance", "targets", "renew", "through"});
  const std::string advance = text_of(f, "advance");
  CHECK_MESSAGE(has(advance, "calls, <int32> outside = call_in_advance"), advance);
  CHECK_MESSAGE(has(advance, "knows(u)"), advance);  // `look` reads it
  CHECK_MESSAGE(has(text_of(f, "targets"), "t, <int32> outside = call_in_targets"),
                text_of(f, "targets"));
}

TEST_CASE("fortran effects: what is called is not known, and so what it does") {
  const std::string begin = R"(module m
  use, intrinsic :: iso_c_binding, only: c_f_pointer, c_loc
  implicit none
  integer, target :: n
  integer, pointer :: target_of
  real(8), allocatable :: u(:)
  type t
    real(8), allocatable :: a(:)
  end type
  type named
    integer :: n
  contains
    procedure :: put
    generic :: write(formatted) => put
  end type
  type(t), target :: state
  type(t), pointer :: chosen
  type(named) :: name
  class(*), allocatable :: any
  interface
    subroutine named_by_c() bind(c)
    end subroutine
  end interface
contains
  subroutine put(dtv, unit, iotype, v_list, iostat, iomsg)
    class(named), intent(in) :: dtv
    integer, intent(in) :: unit, v_list(:)
    character(*), intent(in) :: iotype
    integer, intent(out) :: iostat
    character(*), intent(inout) :: iomsg
    deallocate (u)
  end subroutine
  subroutine own(a)
    real(8), allocatable :: a(:)
    allocate (a(3))
  end subroutine
  subroutine part(s)
    type(t) :: s
    allocate (s%a(3))
  end subroutine
  subroutine copied(s)
    type(t) :: s
    s = state
  end subroutine
  subroutine gives(s)
    type(t), intent(out) :: s
  end subroutine
  subroutine twice(s)
    type(t) :: s
    call part(s)
  end subroutine
  subroutine given(f)
    external :: f
    call f()
  end subroutine
  subroutine caller(k)
    integer, intent(in) :: k
    u(1) = k
    state%a(1) = k
    call callee(k)
  end subroutine
  subroutine callee(k)
    integer, intent(in) :: k
    procedure(), pointer :: f => null()
    real(8), pointer :: p(:)
    external :: elsewhere
    )";
  // Under a name of `associate`, C uses the variable; by itself, it is left to Fortran.
  const std::string use = "    state%a(1) = k\n",
                    named =
                        "    associate (part => state%a(1:1))\n      part(1) = k\n"
                        "    end associate\n";
  const auto says = [&](const std::string& body, bool by_name = false) {
    std::string text = begin + body + "\n    if (k > 7) wait (k)\n  end subroutine\nend module\n";
    if (by_name) text.replace(text.find(use), use.size(), named);
    const std::string out = imports(text);
    const std::size_t at = out.find("caller");
    return at == std::string::npos ? out : out.substr(at, out.find("\ncallee", at) - at);
  };
  for (const std::string body : {"call elsewhere(n)", "call f(n)", "call named_by_c()",
                                 "call given(elsewhere)", "chosen%a = [1, 2]", "chosen = state",
                                 "write (*, *) name", "any = 3", "deallocate (any)"}) {
    CHECK_MESSAGE(
        has(says(body, true), "`call`, which may give `state_a` other memory, is not supported"),
        (body + ": " + says(body, true)));
    CHECK_MESSAGE(has(says(body), "imported"), (body + ": " + says(body)));
  }
  // With what uses these in Fortran, or without.
  for (const std::string body :
       {"call own(u)", "call part(state)", "call gives(state)", "state = t()", "call twice(state)",
        "call copied(state)", "call c_f_pointer(c_loc(n), target_of)", "u = [1, 2]",
        "p => state%a\nallocate (p(3))", "read (*, *) state%a", "call mpi_send(u, n)"})
    CHECK_MESSAGE(has(says(body), "imported"), (body + ": " + says(body)));
}

TEST_CASE("fortran effects: an assignment to what a function points at is named") {
  const std::string out = imports(R"(module m
  implicit none
  real(8), target :: w(3)
contains
  function place() result(r)
    real(8), pointer :: r
    r => w(2)
  end function
  subroutine s()
    place() = 3
  end subroutine
end module
)");
  CHECK_MESSAGE(has(out, "k.f90:10:5: an assignment to what `place` points at is not supported"),
                out);
}

TEST_CASE("fortran effects: Fortran calls procedures of no module with what C cannot pass") {
  const Folder f;
  f.write("k.f90", R"(module chunks
  implicit none
  type tile
    integer :: m
    real(8), allocatable :: a(:)
  end type
  type(tile), allocatable :: tiles(:)
  logical :: ours = .true.
  integer :: tile_count = 3
contains
  subroutine each(factor, total)
    real(8), intent(in) :: factor
    real(8), intent(inout) :: total
    real(8), external :: norm
    interface
      subroutine scaled(m, a, factor)
        integer, intent(in) :: m
        real(8), intent(inout) :: a(m)
        real(8), intent(in) :: factor
      end subroutine
    end interface
    integer :: i
    do i = 1, tile_count
      if (ours) call added(tiles(i)%m, tiles(i)%a, factor)
      call scaled(tiles(i)%m, tiles(i)%a, factor)
      call summed(tiles(i)%m, tiles(i)%a, norm, total)
    end do
  end subroutine
end module
)");
  f.write("main.f90", R"(program main
  use chunks
  implicit none
  integer :: i
  real(8) :: total
  allocate (tiles(3))
  do i = 1, 3
    tiles(i)%m = i
    allocate (tiles(i)%a(i))
    tiles(i)%a = i
  end do
  total = 0
  call each(1.5d0, total)
  print *, total
  do i = 1, 3
    print *, tiles(i)%a
  end do
end program
subroutine added(m, a, factor)
  integer :: m
  real(8) :: a(m), factor
  a = a + factor
end subroutine
subroutine scaled(m, a, factor)
  integer, intent(in) :: m
  real(8), intent(inout) :: a(m)
  real(8), intent(in) :: factor
  a = a*factor
end subroutine
subroutine summed(m, a, f, total)
  integer :: m
  real(8) :: a(m), total
  real(8), external :: f
  total = total + f(m, a)
end subroutine
real(8) function norm(m, a)
  integer :: m
  real(8) :: a(m)
  norm = sum(a*a)
end function
)");
  same_program(f);
  const Outcome made = tool("gen k.f90 --fortran-interface i.f90 -o k.c", f.str());
  CHECK_MESSAGE(has(made.err,
                    "k.f90:24:17: warning: a loop of `each` calls Fortran for this in "
                    "each iteration (2 more) [fortran-in-loop]"),
                made.err);
  CHECK(tool("gen k.f90 --quiet --fortran-interface i.f90 -o k.c", f.str()).err.empty());
}

TEST_CASE("fortran effects: `stop` changes no variable of a module that bounds a loop") {
  const Folder f;
  f.write("k.f90", R"(module boxes
  implicit none
  integer, parameter :: tile_left = 4
  type box
    integer :: left = 3
  end type
  type(box) :: tile
  integer :: n = 3
contains
  subroutine s(x)
    integer, intent(inout) :: x(:)
    integer :: i
    do i = 1, n
      x(i) = x(i) + tile%left*tile_left
    end do
    if (x(1) < 0) then
      write (*, *) 'none', n
      stop 3
    end if
    do i = 1, n
      x(i) = x(i) + x(1)
    end do
  end subroutine
  subroutine computed(k, x)  ! the array of what is called has a length that is no argument
    integer, intent(in) :: k
    integer, intent(inout) :: x(:)
    integer :: m
    m = 0
    do while (m*m < k)
      m = m + 1
    end do
    call with_array(m, x)
  end subroutine
  subroutine with_array(m, x)
    integer, intent(in) :: m
    integer, intent(inout) :: x(:)
    integer :: own(m)
    own = x(:m)
    x(:m) = 2*own(m:1:-1)
  end subroutine
end module
)");
  f.write("main.f90", R"(program main
  use boxes
  implicit none
  integer :: x(5)
  x = [1, 2, 3, 4, 5]
  call s(x)
  call computed(10, x)
  print *, x
end program
)");
  same_program(f, {"s", "computed"});
}
