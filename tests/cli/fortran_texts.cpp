// Texts of any length: programs with the generated code print what gfortran's print.
#include "tests/cli/fortran_program.h"

using namespace moonloop::test;

TEST_CASE("fortran: texts are assigned, compared, searched and passed as in gfortran") {
  const Folder f;
  f.write("k.f90", R"(module m
contains
subroutine words(n, name, kind, codes, list, got)
  implicit none
  integer, intent(in) :: n
  character(len=*), intent(in) :: name
  character(len=8), intent(inout) :: kind
  integer, intent(out) :: codes(22)
  character(len=4), intent(inout) :: list(n)
  character(len=12), intent(out) :: got
  character(len=6) :: local, other
  character(len=*), parameter :: units(3) = ['cm  ', 'inch', 'mile']
  character :: c
  integer :: i, k
  codes = 0
  local = 'abc'
  if (name == 'solver') codes(1) = 1
  if (trim(name) == 'solver  ') codes(2) = 1
  if (name(1:3) == 'sol') codes(3) = 1
  if (local < name) codes(4) = 1
  codes(5) = len_trim(name)
  codes(6) = len(name)
  codes(7) = index(name, 'lv')
  codes(8) = ichar(name(2:2))
  other = local(2:3) // name
  kind = trim(local) // '-' // other(2:)
  local = local(2:)
  do i = 1, n
    k = mod(i, 3) + 1
    if (list(i) == units(k)) codes(9) = codes(9) + 1
    list(i) = units(k)(2:3) // char(48 + mod(i, 10))
  end do
  c = other(1:1)
  if (c == 'b') codes(10) = 7
  select case (name)
  case ('solver'); codes(11) = 1
  case ('other', 'more'); codes(11) = 2
  case ('t':'x'); codes(11) = 3
  case default; codes(11) = 4
  end select
  got = adjustr(other) // repeat('x', 2) // adjustl('  q' // c)
  codes(12) = scan(name, 'xyzv')
  codes(13) = verify(name, 'sole')
  codes(14) = index('abcabc', local(1:1), .true.)
  call inner(name, local, codes(15))
  call inner('yes', 'no', codes(16))
  call inner(name(2:4) // 'k', other(3:), codes(17))
  local(2:4) = local(1:3)
  codes(18) = ichar(local(4:4))
  if (lge(local, other)) codes(19) = 1
  call first_of(name, c)
  codes(20) = ichar(c)
  local(3:2) = 'nothing'
  codes(9) = codes(9) + 100*index(name, '') + 1000*index('', local) + 10*index('xolvx', 'olv')
  if (repeat('x', 0) < name(1:2) .and. len(repeat('ab', 0)) == 0) codes(9) = -codes(9)
  other = local(3:2)
  if (other == '') codes(21) = len(local(3:2)) + 5
  if ('a~' > 'aé') codes(22) = 1
  list(2:n) = list(1:n - 1)
  if (n > 2) list(n) = list(n - 2)
  where_blank: if (len_trim(other) == 0) then
    list(1) = trim(other) // adjustl(list(n))
  end if where_blank
contains
  subroutine inner(a, b, m)
    character(*), intent(in) :: a
    character(len=*), intent(in) :: b
    integer, intent(out) :: m
    m = len(a)*100 + len(b)*10
    if (a > b) m = m + 1
  end subroutine
  subroutine first_of(a, b)
    character(3), intent(in) :: a
    character, intent(out) :: b
    b = a(3:)
  end subroutine
end subroutine
end module
)");
  f.write("main.f90", R"(program main
  use m
  implicit none
  character(4) :: list(7)
  character(8) :: kind
  character(12) :: got
  integer :: codes(22), i
  character(9) :: names(5) = ['solver   ', 'other    ', 'abcxyz   ', '  lvq    ', 'true     ']
  list = 'inch'
  do i = 1, 5
    kind = '????????'
    call words(7, trim(names(i)) // '  ', kind, codes, list, got)
    print *, codes, '[', kind, '][', list, '][', got, ']'
    call words(7, names(i), kind, codes, list, got)
    print *, codes, '[', kind, '][', list, '][', got, ']'
  end do
end program
)");
  same_program(f, {"words"});
}

TEST_CASE("fortran: texts of modules, types and arrays, in calls of other files and in output") {
  const Folder f;
  f.write("k.f90", R"(module state
  implicit none
  character(len=8) :: title = 'start'
  type entry
    character(len=5) :: name
    real(8) :: value
  end type
  interface
    subroutine note(where, n, what)
      character(*), intent(inout) :: where
      integer, intent(in) :: n
      character(len=*), intent(in) :: what
    end subroutine
    integer function rate(what)
      character(len=*), intent(in) :: what
    end function
  end interface
contains
  subroutine report(n, x, line, e, list, flags)
    integer, intent(in) :: n
    real(8), intent(in) :: x(n)
    character(len=20), intent(inout) :: line
    type(entry), intent(inout) :: e
    character(len=3), intent(inout) :: list(:)
    character, intent(inout) :: flags(3)
    character(len=10) :: form
    character(len=6) :: buf
    integer :: i
    call note(title, n, 'abc')
    title(3:4) = '**'
    form = '(a,i4)'
    write (line, form) trim(e%name), n
    write (buf, '(i3.3)') n
    line(18:) = buf(1:3)
    e%name = buf // 'x'
    e%value = x(1)
    do i = 1, size(list)
      call note(list(i), i, buf // '!')
      call note(line(i:i+1), 7*i, e%name)
      if (list(i)(1:1) == 'Z') print *, 'found ', list(i), e%name
    end do
    if (rate(title // list(1)) > 100) then
      write (*, '(3a)') title, '|', list(2)
    end if
    write (*, '(a)') list
    call note(flags(2), 3, flags(1))
    title = padded(list(1)) // flags(2)
  end subroutine
  function padded(s) result(t)
    character(len=*), intent(in) :: s
    character(len=6) :: t
    t = '<' // s // '>'
  end function
end module
)");
  f.write("other.f90", R"(subroutine note(where, n, what)
  character(*), intent(inout) :: where
  integer, intent(in) :: n
  character(len=*), intent(in) :: what
  where(1:1) = char(64 + n)
  if (len(where) > 1) where(2:) = what
end subroutine
integer function rate(what)
  character(len=*), intent(in) :: what
  integer i
  rate = 0
  do i = 1, len(what)
    rate = rate + ichar(what(i:i))
  end do
end function
)");
  f.write("main.f90", R"(program main
  use state
  implicit none
  character(20) :: line = 'nothing'
  character(3) :: list(4) = ['uvw', 'xyz', 'qqq', '   ']
  character :: flags(3) = ['p', 'q', 'r']
  type(entry) :: e
  real(8) :: x(26)
  e%name = 'nm'
  x = 3
  call report(26, x, line, e, list, flags)
  print *, '[', line, '][', list, '][', title, '][', e%name, ']', e%value, flags
  call report(5, x, line, e, list(1:4:2), flags)
  print *, '[', line, '][', list, '][', title, '][', e%name, ']', e%value, flags
end program
)");
  same_program(f, {"report"});
  // What is written into a text is no output.
  const Outcome made = tool(
      "gen k.f90 --quiet --kernel report --skip-output --fortran-interface i.f90 -o k.c", f.str());
  REQUIRE_MESSAGE(made.status == 0, made.err);
  CHECK(f.read("i.f90").find("write (a1, a2) a3, a4") != std::string::npos);
  CHECK(f.read("i.f90").find("found") == std::string::npos);
}

TEST_CASE("fortran: texts whose lengths are known at run time, and in loops with directives") {
  const Folder f;
  f.write("k.f90", R"(module m
  implicit none
  character(len=3), parameter :: days(2) = ['mon', 'tue']
contains
  function framed(s, n) result(t)
    character(len=*), intent(in) :: s
    integer, intent(in) :: n
    character(len=len(s) + 2*n) :: t
    t = repeat('*', n) // s // repeat('*', n)
  end function
  logical function ok(s)
    character(*), intent(in) :: s
    ok = s == 'yes' .or. s(1:1) == 'Y'
  end function
  subroutine work(n, names, w, out)
    integer, intent(in) :: n
    character(len=*), intent(in) :: names(:)
    real(8), intent(inout) :: w(n)
    character(len=n), intent(out) :: out
    character(len=n) :: auto
    character(len=7) :: own(3)
    integer :: i, j
    auto = 'q'
    do i = 1, n
      auto(i:i) = achar(iachar('a') + mod(i, 26))
    end do
    out = auto(n:n) // auto
    own(1) = framed(names(1), 1)
    own(2) = days(2) // framed('x', 1)
    own(3) = ' '
    !$omp parallel do private(j)
    do i = 1, n
      do j = 1, size(names)
        if (names(j) == 'tue') w(i) = w(i) + j
        if (names(j)(1:2) == days(1)(1:2)) w(i) = w(i)*2
        if (ok(names(j))) w(i) = w(i) + 100
      end do
    end do
    do while (len_trim(own(3)) < 5)
      own(3) = trim(own(3)) // 'z'
    end do
    out(2:) = own(3) // own(1) // own(2)
  end subroutine
end module
)");
  f.write("main.f90", R"(program p
  use m
  real(8) :: w(30) = 1
  character(4) :: names(5) = ['tue ', 'yes ', 'Yo  ', 'mond', 'tues']
  character(30) :: out
  call work(30, names, w, out)
  print *, w, '[', out, ']'
  call work(30, names(1:5:2), w, out)
  print *, w, '[', out, ']'
end program
)");
  same_program(f, {"work"});
}

TEST_CASE("fortran: a letter is adjusted to where it is") {
  const Folder f;
  f.write("k.f90", R"(subroutine find(k, c, n)
  implicit none
  integer, intent(in) :: k
  character, intent(in) :: c
  integer, intent(inout) :: n
  if (trim('b') == adjustl(char(97 + mod(k, 9)))) n = n + 1
  if (adjustr(c) == 'c') n = n + 10
  if (adjustl(c) // 'x' == adjustr(achar(99)) // 'x') n = n + 100
end subroutine
)");
  f.write("main.f90", R"(program main
  implicit none
  integer :: n, k
  n = 0
  do k = 0, 4
    call find(k, achar(97 + k), n)
  end do
  print *, n
end program
)");
  same_program(f, {"find"});
}
