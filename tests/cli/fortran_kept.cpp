// Statements that stay Fortran: files, memory of modules, and calls that only Fortran can make.
#include "tests/cli/fortran_program.h"

using namespace moonloop::test;

TEST_CASE("fortran kept: files are opened, asked for, read, and closed in order") {
  const Folder f;
  f.write("k.f90", R"(module files
  implicit none
  integer, parameter :: rows = 5
  character(len=*), parameter :: shape = '(f8.3)'
  integer :: last = 0
contains
  subroutine load(name, x, found, word)
    character(len=*), intent(in) :: name
    real(8), intent(inout) :: x(:)
    logical, intent(out) :: found
    character(len=8), intent(out) :: word
    integer :: ios, i, iu, j
    character(len=20) :: line, table(2)
    complex(8) :: z
    inquire(file=name, exist=found)
    if (.not. found) then
      word = 'none'
      return
    end if
    open(newunit=iu, file=name, status='old', iostat=ios)
    do i = 1, size(x)
      read(iu, '(a)', iostat=ios) line
      if (ios /= 0) exit
      read(line, *) x(i)
      if (i > 2) backspace(iu)
    end do
    last = i
    rewind(iu)
    read(iu, 100) word
100 format(1x, a3)
    do i = 1, 2
      write(table(i), shape, iostat=ios) x(i)
    end do
    read(table, *) (x(j), j = 2, 3)
    read(table(2)(3:), *) x(4)
    line = '(1, 2)'
    read(line, *) z
    x(5) = aimag(z) + j + rows
    close(iu)
    flush(6)
  end subroutine
end module
)");
  f.write("main.f90", R"(program main
  use files
  implicit none
  real(8) :: x(5)
  logical :: found
  character(len=8) :: word
  open(9, file='data.txt')
  write(9, '(a)') '1.5', '2.5', '7e1'
  close(9)
  x = 0
  call load('data.txt', x, found, word)
  print *, x, found, '[', word, ']', last
  call load('nothing.txt', x, found, word)
  print *, x, found, '[', word, ']', last
end program
)");
  same_program(f);
  CHECK(has(f.read("i.f90"), "subroutine read_in_load_3(iu, ios, line)\n"));
}

TEST_CASE("fortran kept: labels to go to, alternate returns, and namelists") {
  const Folder f;
  f.write("k.f90", R"(module files
  implicit none
  integer :: steps = 3, rows = 2
  real(8) :: dt = 0.5d0
  character(8) :: title = 'none'
  namelist /run/ steps, dt, title
contains
  subroutine load(name, x, n, code)
    character(len=*), intent(in) :: name
    real(8), intent(inout) :: x(:)
    integer, intent(out) :: n, code
    integer :: iu, i, c(4)
    real(8) :: width
    character(60) :: line
    namelist /local/ width, c
    code = 0
    n = 0
    width = 1
    c = [1, 2, 3, 4]
    open(newunit=iu, file=name, status='old', err=90)
10  read(iu, *, end=20, err=30) x(n + 1)
    n = n + 1
    if (n < size(x)) goto 10
20  continue
    rewind(iu, err=90)
    do i = 1, n
      read(iu, 100, err=40, end=50) x(i)
      x(i) = x(i) + i
      cycle
40    x(i) = -1
    end do
50  close(iu, err=90)
    line = '&run steps=5, dt=1.5, title="abc" /'
    read(line, nml=run, err=90)
    line = '&local c(2)=7 width=3 /'
    read(line, local)
    steps = steps + 1
    write(*, run)
    write(*, nml=local, err=90)
    x(1) = x(1) + width*sum(c)
    call may(n, *60, *70)
    return
60  code = 60
    call may(3, *60, *70)
    return
70  code = 70
    return
30  code = 30
    return
90  code = 90
100 format(f8.3)
  end subroutine
  subroutine may(n, *, *)
    integer, intent(in) :: n
    if (n > 3) return 1
    if (n > 2) return 2
  end subroutine
end module
)");
  f.write("main.f90", R"(program main
  use files
  implicit none
  real(8) :: x(5)
  integer :: n, code
  open(9, file='data.txt')
  write(9, '(a)') '1.5', '2.5', '7e1', '9'
  close(9)
  x = 0
  call load('data.txt', x, n, code)
  print *, x, n, code, steps, dt, title
  call load('nothing.txt', x, n, code)
  print *, x, n, code
  open(9, file='data.txt')
  write(9, '(a)') '1.5', 'x', '7e1'
  close(9)
  call load('data.txt', x, n, code)
  print *, x, n, code
end program
)");
  same_program(f, {"load"});
  CHECK(has(f.read("i.f90"), "20 way = 1\n  return\n30 way = 2\n"));
}

TEST_CASE("fortran kept: of fixed form, where blanks mean nothing") {
  const Folder f;
  f.write("k.f", R"(      subroutine s(n, x)
      implicit none
      integer n, iu, ios
      real*8 x(n)
      iu = 17
      open (unit = iu, file = 'a b.txt',
     &      status = 'old', iostat = ios)
      if (ios .ne. 0) return
      read (iu, 100) x(1)
  100 format (f 8.3)
      rewind iu
      read (iu, *) x(2)
      backspace iu
      read (iu, *, iostat = ios) x(3)
      end file iu
      close (iu)
      call flush (6)
      end
)");
  f.write("a b.txt", "1.5\n2.5\n");
  f.write("main.f90", R"(program main
  real(8) :: x(4)
  x = 0
  call s(4, x)
  print *, x
end program
)");
  const Outcome made = tool("gen k.f --quiet -o k.c --fortran-interface i.f90", f.str());
  REQUIRE_MESSAGE(made.status == 0, made.err);
  CHECK(has(f.read("i.f90"), "  rewind iu\n"));
  CHECK(has(f.read("i.f90"), "  endfile iu\n"));
  const Outcome built = shell(
      "(gcc -O1 -c k.c && gfortran main.f90 i.f90 k.o && ./a.out && gfortran main.f90 k.f && "
      "printf '1.5\\n2.5\\n' > 'a b.txt' && ./a.out)",
      f.str());
  REQUIRE_MESSAGE(built.status == 0, built.err);
  const std::size_t half = built.out.size() / 2;
  CHECK(built.out.substr(0, half) == built.out.substr(half));
}

TEST_CASE("fortran kept: variables of modules get and lose memory, private ones too") {
  const Folder f;
  f.write("k.f90", R"(module state
  implicit none
  private
  public :: setup, finish, u, w, n
  integer :: n = 0
  real(8), allocatable :: u(:), w(:,:)
  type pair
    real(8), allocatable :: a(:)
    integer :: m = 4
  end type
  type(pair) :: p, q(3)
contains
  subroutine setup(k, ierr)
    integer, intent(in) :: k
    integer, intent(out) :: ierr
    integer :: i
    n = k
    do i = 1, 3
      n = n + 1
      allocate(q(i)%a(i*k))
    end do
    p%m = 7
    allocate(u(0:k), w(k, 2*k), stat=ierr, source=0.25d0)
    allocate(p%a(k + p%m))
    n = n + ierr + p%m
  end subroutine
  subroutine finish(k)
    integer, intent(inout) :: k
    if (.not. allocated(u)) deallocate(w)
    deallocate(u, w)
    if (allocated(p%a) .and. k < 9) deallocate(p%a)
    if (.not. allocated(p%a)) allocate(p%a(k + 2))
    k = k + 1
    deallocate(p%a, q(1)%a, q(3)%a)
  end subroutine
end module
)");
  f.write("main.f90", R"(program main
  use state
  implicit none
  integer :: ierr
  call setup(5, ierr)
  print *, n, ierr, lbound(u), ubound(u), shape(w), sum(u)
  call finish(ierr)
  print *, ierr, allocated(u), allocated(w)
end program
)");
  same_program(f, {"setup", "finish"});
}

TEST_CASE("fortran kept: calls of module procedures that are no kernels, and of oneself") {
  const Folder f;
  f.write("k.f90", R"(module work
  implicit none
  private
  public :: drive, factorial, n, total
  integer :: n = 0
  type pair
    integer :: i = 0
    real(8) :: x = 0.5d0
  end type
  type(pair) :: p
  interface total
    module procedure total_of
  end interface
contains
  recursive subroutine factorial(k, f)
    integer, intent(in) :: k
    integer, intent(inout) :: f
    if (k < 2) return
    f = f*k
    call factorial(k - 1, f)
  end subroutine
  subroutine total_of(x, s, twice)
    real(8), intent(in) :: x(:)
    real(8), intent(out) :: s
    logical, optional, intent(in) :: twice
    if (size(x) > 100) wait (n)
    s = sum(x)
    if (present(twice)) s = s*merge(2, 1, twice)
  end subroutine
  subroutine drive(x, y, s, l)
    real(8), intent(inout) :: x(:), y(:)
    real(8), intent(out) :: s
    logical, intent(inout) :: l
    real(8) :: t
    integer :: c
    n = 7
    p%i = 3
    call helper(x, 3, l)
    call helper(y(2:4), k=n)
    call total(x, s)
    call total(x + y(1), t, twice=l)
    call advance(p)
    call system_clock(count_rate=c)
    if (c < 0) s = -1
    x(1) = t + n + p%i + p%x
  end subroutine
  subroutine advance(q)
    type(pair), intent(inout) :: q
    if (q%i > 99) wait (n)
    q%i = q%i + 1
    q%x = 2*q%x
  end subroutine
  subroutine helper(x, k, l)
    real(8), intent(inout) :: x(:)
    integer, intent(in) :: k
    logical, optional :: l
    if (k > 99) wait (k)
    x = x + k
    n = n + 1
    if (present(l)) l = .not. l
  end subroutine
end module
)");
  f.write("main.f90", R"(program main
  use work
  implicit none
  integer :: f
  real(8) :: x(4), y(5), s
  logical :: l
  f = 1
  call factorial(5, f)
  print *, f
  x = [1, 2, 3, 4]
  y = 2
  l = .false.
  call drive(x, y, s, l)
  print *, x, y, s, n, l
end program
)");
  same_program(f, {"drive", "factorial"});
  const Outcome code = tool("gen k.f90 --kernel drive", f.str());
  CHECK(has(code.err,
            "k.f90:38:5: warning: the call of `work::helper` in `drive` stays a call of what the "
            "file has [kept-call]"));
}

TEST_CASE("fortran kept: what cannot stay is named") {
  const Folder f;
  f.write("k.f90", R"(module state
  implicit none
  real(8), allocatable :: u(:)
  integer, private :: hidden = 1
  integer, allocatable, private :: store(:)
  type pair
    integer :: i
  end type
contains
  subroutine uses(n)
    integer, intent(in) :: n
    u(1) = n
    call somewhere(n)
  end subroutine
  subroutine through(n)
    integer, intent(in) :: n
    u(1) = n
    call twice(n)
  end subroutine
  subroutine twice(n)
    integer, intent(in) :: n
    call somewhere(n)
    wait (n)
  end subroutine
  subroutine fills(n)
    integer, intent(in) :: n
    allocate(store(n))
  end subroutine
  subroutine local(n)
    integer, intent(in) :: n
    type(pair) :: p
    p%i = n
    call ends(p)
  end subroutine
  subroutine maybe(n, k)
    integer, intent(in) :: n
    character(len=4), optional, intent(out) :: k
    read(*, *) k
  end subroutine
  subroutine ends(p)
    type(pair) :: p
    wait (p%i)
  end subroutine
  subroutine shape_of(x, n)
    class(*), intent(in) :: x(:)
    integer, intent(out) :: n
    n = 0
  end subroutine
  subroutine kinds(p, n)
    class(pair), intent(in) :: p
    integer, intent(out) :: n
    n = 0
    select type (p)
    type is (pair)
      n = 1
    end select
  end subroutine
  subroutine moves(a, b)
    integer, allocatable :: a(:), b(:)
    call move_alloc(a, b)
  end subroutine
end module
subroutine elsewhere(n)
  use state
  implicit none
  integer, intent(in) :: n
  call fills(n)
end subroutine
)");
  const Outcome out = tool("show k.f90 --what imports", f.str());
  const auto says = [&](const std::string& text) { CHECK_MESSAGE(has(out.out, text), out.out); };
  says("uses       k.f90:10:14  imported");  // `u` stays Fortran
  says("through    k.f90:15:14  imported");
  says("local      k.f90:29:14  imported");  // with a record of its own, and back
  says("k.f90:38:5: the optional argument `k` in `read` is not supported");
  says("k.f90:53:5: `select type` is not supported");
  says("moves      k.f90:58:14  imported");  // arguments that Fortran keeps
  CHECK(has(out.out, "fills      k.f90:25:14  imported"));
  CHECK(has(out.out, "elsewhere  k.f90:63:12  imported"));  // as a call
  CHECK(
      has(tool("gen k.f90 --kernel elsewhere", f.str()).err,
          "k.f90:67:3: note: the call of `fills`, which has a statement with private names of the "
          "module `state`, is not supported outside of that module"));
}

TEST_CASE("fortran kept: move_alloc of variables of modules, beside optional characters") {
  const Folder f;
  f.write("k.f90", R"(module grow
  implicit none
  integer :: n = 0
  real(8), allocatable :: u(:), spare(:)
  type pair
    real(8), allocatable :: a(:)
  end type
  type(pair) :: p
contains
  subroutine enlarge(k)
    integer, intent(in) :: k
    integer :: ierr
    allocate(spare(k), source=2.5d0, stat=ierr)
    if (ierr /= 0) return
    if (allocated(u)) deallocate(u)
    call move_alloc(spare, u)
    call move_alloc(from=u, to=p%a)
    allocate(u(k + 1))
    n = k
  end subroutine
  subroutine say(x, name, unit, flag, word)
    real(8), intent(inout) :: x(:)
    character(len=*), intent(in), optional :: name
    integer, intent(in), optional :: unit
    character, intent(in), optional :: flag
    character(len=4), intent(inout), optional :: word
    integer :: i
    do i = 1, size(x)
      x(i) = x(i) + i
    end do
    if (present(name)) then
      x(1) = x(1) + len(name)
      if (name == 'ab') x(2) = -1
      if (len_trim(name) > 3) x(2) = ichar(name(2:2))
    end if
    if (present(flag)) then
      if (flag == 'y') x(3) = 100
    end if
    if (present(word)) then
      word(2:3) = 'xy'
      if (present(name)) word(1:1) = name(1:1)
    end if
    if (present(unit)) x(1) = x(1)*unit
  end subroutine
  subroutine calls(x, name, word)
    real(8), intent(inout) :: x(:)
    character(len=*), intent(in), optional :: name
    character(len=4), intent(inout), optional :: word
    call say(x)
    call say(x, 'ab')
    call say(x, flag='y', unit=2)
    call say(x, name=name, word=word)
    if (present(name)) call say(x, name // '!')
  end subroutine
end module
)");
  f.write("main.f90", R"(program main
  use grow
  implicit none
  real(8) :: x(4)
  character(4) :: w
  call enlarge(3)
  print *, n, size(u), size(p%a), p%a, allocated(spare)
  call enlarge(5)
  print *, n, size(u), size(p%a), p%a, allocated(spare)
  x = 0
  w = 'abcd'
  call say(x)
  print *, x
  call say(x, 'ab')
  print *, x
  call say(x, 'hello', 3, 'y', w)
  print *, x, w
  call say(x, flag='n', word=w)
  print *, x, w
  call calls(x)
  print *, x
  call calls(x, 'quite long', w)
  print *, x, w
end program
)");
  same_program(f, {"enlarge", "say", "calls"});
}
