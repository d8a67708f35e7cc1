#pragma once
#include <string>
#include <vector>

/// What random routines do with parts of derived types and with pointers of modules: statements in
/// which `@i` is a subscript from 1 to n, `@r` a real and `@k` an integer value.
namespace moonloop::test::parts {

using Lines = std::vector<std::string>;

// ---- Variables of a routine's own.

inline constexpr const char* kTypes = R"(  type cell
    real(8) :: one, row(3)
    integer :: two
  end type
  type shelf
    type(cell) :: top, cells(40)
    real(8) :: rows(40, 2)
    real(8), pointer :: view(:)
  end type
  type mark
    real(8) :: x = 0.375d0
    integer :: k(2) = [2, 1]
  end type
  type desk
    integer :: used = 1
    real(8), allocatable :: level(:), grid(:, :)
    type(mark) :: in
  end type
  type(shelf) :: box
  type(desk) :: dk
  type(mark) :: marks(40)
  type(cell), target :: many(40), spare
  type(cell), pointer :: chosen
)";

inline constexpr const char* kStart = R"(  spare = cell(0.25d0, [0.5d0, 0.125d0, 0.75d0], 2)
  many = spare
  box%top = spare
  box%cells = many
  box%rows = 0.375d0
  box%view => x
  chosen => spare
  allocate (dk%level(0:n), dk%grid(n, 2))
  dk%level = 0.25d0
  dk%grid = 0.125d0
)";

inline constexpr const char* kEnd =
    "s(4) = s(4) + sum(box%rows(:n, 2)) + box%top%one + sum(box%cells(:n)%one) + "
    "sum(many%row(2)) + spare%row(3) + box%cells(n)%two + chosen%two + box%view(n) + "
    "sum(dk%level) + sum(dk%grid) + dk%used + sum(marks(:n)%x) + marks(1)%k(2)";

/// Next to what each routine contains.
inline constexpr const char* kContained = R"(  subroutine lift(c, e, v)
    type(cell), intent(inout) :: c
    integer, intent(in) :: e
    real(8), intent(inout), optional :: v(:)
    integer :: o
    c%two = mod(abs(c%two + e), 9)
    if (e > 6) return
    do o = 1, 3
      c%row(o) = 0.5d0*c%row(o) + c%one/8
    end do
    if (present(v)) v(1) = 0.5d0*v(1) + c%row(2)
  end subroutine
  subroutine renew(c)
    type(mark), intent(out) :: c
    c%k(1) = c%k(2) + m
  end subroutine
  subroutine stack(c, e)
    type(desk), intent(inout) :: c
    integer, intent(in) :: e
    integer :: o
    if (.not. allocated(c%grid) .or. e > 6) return
    do o = 1, ubound(c%level, 1)
      c%level(o) = 0.5d0*c%level(o - 1) + c%grid(o, 1)/8
    end do
    c%used = mod(c%used + size(c%grid, 2), 9)
  end subroutine
  function ring(e) result(v)
    integer, intent(in) :: e
    type(mark) :: v(n)
    integer :: o
    do o = 1, n
      v(o)%x = 0.5d0*o/(n + 1)
      v(o)%k(2) = mod(abs(e) + o, 5)
    end do
  end function
  type(mark) function grown(c, e)
    type(mark), intent(in) :: c
    integer, intent(in) :: e
    grown%x = 0.5d0*c%x + e/8d0
    if (e > 4) return
    grown%k(1) = mod(abs(c%k(2) + e), 7)
  end function
  subroutine maybe(c, d, e, v)
    type(cell), intent(inout), optional :: c, d(:)
    integer, value, optional :: e
    real(8), value, optional :: v
    integer :: o
    if (present(e)) then
      e = mod(abs(e), 4)
      if (present(c)) c%two = mod(abs(c%two) + e, 9)
    end if
    if (present(v)) v = 0.5d0*v
    if (present(d)) then
      do o = 1, size(d)
        if (present(v)) d(o)%one = 0.5d0*d(o)%one + v/8
        if (present(c)) d(o)%row(2) = 0.5d0*c%one
      end do
    end if
  end subroutine
  subroutine onward(c, d, v)
    type(cell), intent(inout), optional :: c, d(:)
    real(8), value, optional :: v
    call maybe(c, d, v=v)
    call maybe(d=d, e=3)
  end subroutine
  pure real(8) function heap(c)
    type(cell), intent(in) :: c
    heap = 0.5d0*c%one + sum(c%row)/8
  end function
)";

inline const Lines kOwn{
    "box%top%one = @r",
    "box%cells(@i)%one = 0.5d0*box%top%row(2) + @r",
    "box%rows(@i, 1 + mod(abs(@k), 2)) = @r",
    "box%rows(:n, 2) = 0.5d0*box%rows(:n, 1) + x",
    "box%top = box%cells(@i)",
    "box%cells(@i) = spare",
    "many(@i) = box%cells(@i)",
    "many(:n)%one = 0.5d0*many(n:1:-1)%one + x/4",
    "many(@i)%row = 0.5d0*spare%row(3:1:-1) + @r/8",
    "box%cells(@i)%two = mod(abs(@k), 9)",
    "box%view(@i) = 0.5d0*box%view(@i) + @r/8",
    "box%view => a(:, @i)",
    "box%view => x",
    "chosen => many(@i)",
    "chosen => spare",
    "chosen%one = 0.5d0*chosen%one + @r",
    "chosen%two = mod(abs(@k), 7)",
    "where (many(:n)%one > @r) many(:n)%one = 0.5d0*box%cells(:n)%one",
    "call lift(box%top, k(@i))",
    "call lift(many(@i), c)",
    "call lift(box%cells(@i), many(@i)%two, x)",
    "call lift(chosen, 3, a(:, @i))",
    "call maybe(many(@i), e=k(@i))",
    "call maybe(d=many(:n), v=@r)",
    "call maybe(spare, many(2:), @k, x(@i))",
    "call onward(box%top, many, @r)",
    "call onward(v=t)",
    "call onward(d=box%cells)",
    "t = 0.5d0*t + heap(box%cells(@i))/4",
    "dk%level(@i - 1) = 0.5d0*dk%level(@i) + @r/4",
    "dk%grid(@i, 2) = 0.5d0*dk%grid(@i, 1) + dk%in%x/8",
    "dk%grid(:, 1) = 0.5d0*dk%grid(n:1:-1, 2) + x/8",
    "dk%used = mod(abs(@k), 9)",
    "call stack(dk, @k)",
    "if (allocated(dk%level)) t = 0.5d0*t + dk%level(@i)/4",
    "x = 0.5d0*x + dk%grid(:, 2)/8",
    "c = mod(lbound(dk%level, 1) + ubound(dk%grid, 2) + size(dk%level), 9)",
    "marks(:n) = ring(@k)",
    "marks(@i) = grown(marks(@i), @k)",
    "dk%in = marks(@i)",
    "call bump(many(@i)%two)",
    "call touch(box%rows(:n, 1), x)",
    "call mix(box%rows(:n, 2), (box%rows(:n, 1)))",
    "x = 0.5d0*x + many(:n)%row(2)",
    "if (sum(box%top%row) > @r) box%top%row(1) = 0.125d0",
};

/// Values of the same.
inline const Lines kOwnReal{"box%top%one",    "box%cells(@i)%row(2)", "box%rows(@i, 2)",
                            "many(@i)%one",   "spare%row(3)",         "chosen%one",
                            "box%view(@i)",   "many(@i)%row(1)",      "dk%level(@i)",
                            "dk%grid(@i, 1)", "marks(@i)%x"};
inline const Lines kOwnInteger{
    "box%top%two",       "many(@i)%two",       "box%cells(@i)%two",    "spare%two",
    "size(many)/16",     "ubound(many, 1)/20", "lbound(box%cells, 1)", "dk%used",
    "size(dk%level)/16", "marks(@i)%k(2)"};

/// Names for the parts, `it` a record, `row` an array of at least 3, `one` a real, `half` a value.
inline const Lines kOwnNames{
    "it => box%top, row => box%rows(:, 2), one => spare%row(2), half => box%top%one/2",
    "it => box%cells(@i), row => spare%row, one => box%rows(@i, 1), half => @r/2",
    "it => many(@i), row => box%top%row, one => box%cells(@i)%one, half => many(@i)%one",
    "it => spare, row => many(:)%one, one => box%rows(1, 1), half => heap(box%top)",
    "it => box%cells(1), row => box%rows(40:1:-1, 1), one => many(@i)%row(3), half => sum(x)/n",
    "it => many(2), row => box%cells(3)%row, one => box%top%one, half => dble(many(@i)%two)/8",
};

/// In a loop of `q` with parallel iterations.
inline const Lines kOwnParallel{
    "dk%level(q) = 0.5d0*dk%level(q) + x(q)/4",
    "dk%grid(q, 1) = 0.5d0*dk%level(q) + many(q)%one/8",
    "many(q)%one = 0.5d0*many(q)%one + x(q)",
    "box%cells(q)%row(2) = 0.5d0*many(q)%row(1) + box%top%one/8",
    "box%rows(q, 1) = 0.5d0*box%rows(q, 2) + many(q)%one",
    "many(q)%two = mod(k(q) + 3, 7)",
    "box%cells(q) = many(q)",
    "many(q)%row = 0.5d0*box%cells(q)%row(3:1:-1)",
    "call lift(many(q), k(q))",
    "x(q) = 0.5d0*x(q) + heap(box%cells(q))/4",
    "if (many(q)%one > 0.5d0) box%rows(q, 2) = many(q)%row(3)",
};

// ---- Variables of the module `state`.

inline constexpr const char* kStateTypes = R"(  type tank
    integer :: count
    real(8) :: row(3)
    type(pair) :: inner, pairs(4)
    real(8), allocatable :: level(:), grid(:, :)
    type(pair), allocatable :: queue(:)
    real(8), pointer :: view(:)
  end type
  type(tank) :: tk
  real(8), pointer :: hp(:), hq(:, :), hr(:)
  real(8), target :: pool(80), field(12, 12), aside(80)
  real(8), allocatable :: rows(:, :)
)";

/// Within a routine of the main program that gives all a value, at `n` and `turn`. No two pointers
/// share memory.
inline constexpr const char* kStateFill = R"(    pool = [(mod(7*e + turn, 23)/23d0, e = 1, 80)]
    aside = 0.5d0*pool
    field = reshape([(mod(13*e + g, 89)/89d0, e = 1, 144)], [12, 12])
    if (mod(turn, 2) == 0) then
      hp(0:) => pool(:n + 1); hq => field(2:n + 1, 3:n + 2); tk%view => pool(41:40 + n)
    else
      hp(0:) => pool(2*n + 2:2:-2); hq => field(n:1:-1, :n); tk%view(-1:) => pool(40:39 + 3*n:3)
    end if
    hr => aside(:n)
    tk%count = 3; tk%row = [0.25d0, 0.5d0, 0.125d0]
    tk%inner = pair(0.625d0, 5); tk%pairs = pair(0.25d0, 1)
    tk%level = [(mod(3*e + turn, 29)/29d0, e = 0, n)]
    tk%grid = 0.5d0*field(:n, :n)
    if (allocated(tk%queue)) deallocate (tk%queue)
    allocate (tk%queue(-1:n + turn))
    tk%queue%one = 0.375d0; tk%queue%two = 2
    rows = field(:n, 2:n + 1)
)";

inline constexpr const char* kStateShow =
    "    write (*, '(9es24.15)') sum(pool), sum(field), sum(aside), tk%row, tk%inner%one, "
    "sum(tk%level), sum(tk%grid), sum(rows), sum(tk%pairs%one), sum(hr), "
    "sum(tk%queue%one)\n"
    "    print *, tk%count, tk%inner%two, tk%pairs%two, size(hr), size(tk%level), "
    "sum(tk%queue%two)\n";

inline const Lines kState{
    "hp(@i) = 0.5d0*hp(@i) + @r/4",
    "hp(@i - 1) = @r",
    "hp(1:n) = 0.5d0*x + hp(0:n - 1)/4",
    "hp = 0.5d0*hp(n:0:-1)",
    "hq(@i, @i) = @r",
    "hq(:, @i) = 0.5d0*x + hq(@i, :)/8",
    "hq = 0.5d0*transpose(hq)",
    "x = 0.5d0*x + hp(1:)/4 + hq(:, @i)/8",
    "tk%level(@i) = 0.5d0*tk%level(1) + @r/4",
    "tk%level(2:n) = 0.5d0*tk%level(1:n - 1) + @r/4",
    "tk%grid(@i, @i) = @r",
    "tk%grid(@i, :) = 0.5d0*tk%grid(:, @i) + x/4",
    "c = mod(lbound(tk%view, 1) + ubound(hq, 2) + size(tk%grid, 2) + lbound(hp, 1), 9)",
    "tk%view(lbound(tk%view, 1) + @i - 1) = @r",
    "tk%view = 0.5d0*tk%view + x/8",
    "tk%count = mod(abs(@k), 8)",
    "tk%row = 0.5d0*tk%row(3:1:-1) + @r/8",
    "tk%inner = p",
    "tk%pairs(1 + mod(abs(@k), 4)) = tk%inner",
    "tk%pairs(2:)%one = 0.5d0*tk%pairs(:3)%one + @r/8",
    "tk%inner%two = mod(abs(@k), 9)",
    "rows(@i, :) = 0.5d0*rows(:, @i) + hp(1:)/8",
    "rows(:, :) = 0.5d0*rows + hq/4",
    "rows = 0.5d0*rows + hq/4",
    "tk%level = 0.5d0*abs(tk%level) + @r/8",
    "tk%queue(@i)%one = 0.5d0*tk%queue(@i - 2)%one + @r/4",
    "tk%queue(ubound(tk%queue, 1))%two = mod(abs(@k), 6)",
    "tk%queue%one = 0.5d0*tk%queue%one + tk%queue(lbound(tk%queue, 1))%one/8",
    "c = mod(lbound(tk%queue, 1) + ubound(tk%queue, 1) + size(tk%queue), 9)",
    "where (tk%level > @r) tk%level = 0.5d0*tk%level",
    "where (hq > rows) rows = 0.5d0*hq",
    "t = sum(hp)/(2*n) + maxval(hq)/4",
    "u = 0.5d0*u + dot_product(tk%level(1:n), tk%view)/(4*n)",
    "if (size(hp) > 3 .and. hp(1) > @r) hp(1) = 0.125d0",
};

/// Calls of what each routine contains; not where calls are unknown.
inline const Lines kStateCalls{
    "call mix(x, hp(1:))",
    "call mix(hp(1:), tk%level(1:n))",
    "call touch(hq(:, @i), rows(@i, :))",
    "call touch(tk%level, g=tk%row(2))",
    "call bump(tk%count)",
    "x = 0.5d0*turned(hp(1:)) + 0.25d0*turned(hq(@i, :))",
};

/// A pointer that is moved: all that uses it is left to Fortran.
inline const Lines kStateMoved{
    "hr => aside(2:n + 1)",
    "hr => aside(20 + 2*n:21:-2)",
    "if (tk%count > @k) hr => aside(41:40 + n)",
    "hr(1) = 0.5d0*hr(1) + @r",
    "hr = 0.5d0*hr + x/4",
    "x(@i) = 0.5d0*x(@i) + hr(1)/8",
    "if (associated(hr, aside(2:n + 1))) hr(n) = 0.25d0",
};

inline const Lines kStateReal{
    "hp(@i)",    "hq(@i, @i)",  "tk%level(@i)",   "tk%inner%one",   "tk%view(ubound(tk%view, 1))",
    "tk%row(2)", "rows(@i, 1)", "tk%grid(@i, 1)", "tk%pairs(2)%one"};
/// Of what no procedure gives other memory: others cannot be beside calls of what routines contain.
inline const Lines kStateRealFixed{"tk%inner%one", "tk%row(2)", "tk%pairs(2)%one"};
inline const Lines kStateInteger{"tk%count", "tk%inner%two", "size(tk%level)", "tk%pairs(1)%two",
                                 "tk%queue(@i)%two"};
inline const Lines kStateIntegerFixed{"tk%count", "tk%inner%two", "tk%pairs(1)%two"};

inline const Lines kStateNames{
    "it => tk%inner, row => tk%level(1:), one => tk%row(2), half => tk%inner%one/2",
    "it => tk%pairs(2), row => hp(0:), one => tk%level(@i), half => @r/2",
    "it => tk%pairs(1 + mod(n, 4)), row => tk%row, one => hq(@i, @i), half => tk%row(1)",
    "it => p, row => hq(:, @i), one => tk%grid(@i, @i), half => sum(hp)/(n + 1)",
    "it => tk%inner, row => tk%grid(@i, :), one => tk%inner%one, half => dble(tk%count)/8",
};

/// Of what no procedure gives other memory.
inline const Lines kStateNamesFixed{
    "it => tk%inner, row => tk%row, one => p%one, half => tk%inner%one/2",
    "it => tk%pairs(2), row => tk%pairs(:)%one, one => tk%row(2), half => @r/2",
    "it => tk%pairs(1 + mod(n, 4)), row => x, one => tk%inner%one, half => tk%row(1)",
    "it => p, row => tk%row(3:1:-1), one => tk%pairs(3)%one, half => sum(x)/n",
};

inline const Lines kStateParallel{
    "hp(q) = 0.5d0*hp(q) + x(q)/4",
    "hq(q, 1) = 0.5d0*hq(q, 1) + tk%row(2)/8",
    "tk%level(q) = 0.5d0*tk%level(q) + hp(q)/8",
    "tk%grid(:, q) = 0.5d0*tk%grid(:, q) + hq(q, 1)",
    "rows(q, :) = 0.5d0*rows(q, :) + tk%inner%one/8",
    "x(q) = 0.5d0*x(q) + tk%level(q)/4",
    "if (tk%level(q) > 0.5d0) rows(q, 1) = x(q)",
};

}  // namespace moonloop::test::parts
