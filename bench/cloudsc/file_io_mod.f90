! In the place of the project's module, which needs HDF5 or Serialbox: reads lines of names and values.
module file_io_mod
  implicit none
  interface load_scalar
    procedure load_real, load_integer, load_logical
  end interface
contains
  subroutine find(name, text)
    character(*), intent(in) :: name
    character(*), intent(out) :: text
    integer :: unit, status
    open(newunit=unit, file="constants", status="old", action="read")
    do
      read(unit, "(a)", iostat=status) text
      if (status /= 0) then
        write(*, *) "no constant ", name
        stop 2
      end if
      if (text(:index(text, " ") - 1) == name) exit
    end do
    text = text(index(text, " ") + 1:)
    close(unit)
  end subroutine
  subroutine load_real(name, x)
    character(*), intent(in) :: name
    real(8), intent(out) :: x
    character(4096) :: text
    call find(name, text)
    read(text, *) x
  end subroutine
  subroutine load_integer(name, x)
    character(*), intent(in) :: name
    integer, intent(out) :: x
    character(4096) :: text
    call find(name, text)
    read(text, *) x
  end subroutine
  subroutine load_logical(name, x)
    character(*), intent(in) :: name
    logical, intent(out) :: x
    character(4096) :: text
    call find(name, text)
    read(text, *) x
  end subroutine
  subroutine load_array(name, first, last, total, columns, x)
    character(*), intent(in) :: name
    integer, intent(in) :: first, last, total, columns
    real(8), intent(out) :: x(:)
    character(4096) :: text
    call find(name, text)
    read(text, *) x
  end subroutine
end module
