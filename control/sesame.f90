! libsesame for Fortran; sesame.h says what the functions do. Compile it with your program.
module sesame
  use, intrinsic :: iso_c_binding, only: c_char, c_int, c_int64_t, c_null_char, c_ptr, c_null_ptr, &
                                         c_loc
  implicit none
  private
  public :: sesame_counts, sesame_on, sesame_off, sesame_phase_begin, sesame_phase_end, sesame_read

  type, bind(c) :: sesame_counts
    integer(c_int64_t) :: count
    integer(c_int64_t) :: bytes
    integer(c_int64_t) :: timed
    integer(c_int64_t) :: duration_ns
  end type sesame_counts

  interface
    integer(c_int) function c_on(where) bind(c, name="sesame_on")
      import :: c_int, c_ptr
      type(c_ptr), value :: where
    end function c_on
    integer(c_int) function c_off(where) bind(c, name="sesame_off")
      import :: c_int, c_ptr
      type(c_ptr), value :: where
    end function c_off
    integer(c_int) function c_begin(name) bind(c, name="sesame_phase_begin")
      import :: c_char, c_int
      character(kind=c_char), intent(in) :: name(*)
    end function c_begin
    integer(c_int) function c_end(name) bind(c, name="sesame_phase_end")
      import :: c_char, c_int
      character(kind=c_char), intent(in) :: name(*)
    end function c_end
    integer(c_int) function c_read(point, counts) bind(c, name="sesame_read")
      import :: c_char, c_int, sesame_counts
      character(kind=c_char), intent(in) :: point(*)
      type(sesame_counts), intent(out) :: counts
    end function c_read
  end interface

contains

  integer function sesame_on(where)
    character(len=*), intent(in), optional :: where
    character(kind=c_char, len=:), allocatable, target :: text
    if (.not. present(where)) then
      sesame_on = c_on(c_null_ptr)
    else
      text = trim(where) // c_null_char
      sesame_on = c_on(c_loc(text))
    end if
  end function sesame_on

  integer function sesame_off(where)
    character(len=*), intent(in), optional :: where
    character(kind=c_char, len=:), allocatable, target :: text
    if (.not. present(where)) then
      sesame_off = c_off(c_null_ptr)
    else
      text = trim(where) // c_null_char
      sesame_off = c_off(c_loc(text))
    end if
  end function sesame_off

  integer function sesame_phase_begin(name)
    character(len=*), intent(in) :: name
    sesame_phase_begin = c_begin(trim(name) // c_null_char)
  end function sesame_phase_begin

  integer function sesame_phase_end(name)
    character(len=*), intent(in) :: name
    sesame_phase_end = c_end(trim(name) // c_null_char)
  end function sesame_phase_end

  integer function sesame_read(point, counts)
    character(len=*), intent(in) :: point
    type(sesame_counts), intent(out) :: counts
    sesame_read = c_read(trim(point) // c_null_char, counts)
  end function sesame_read

end module sesame
