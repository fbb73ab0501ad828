! The kit for programs in Fortran: options, report, exit status. Thin: kit/fortran.cc has the code.
!
!   call kit_start('nbody', 'gravity')
!   call kit_option('--bodies', bodies, 'how many')    ! bodies: integer(c_int), target, save
!   call kit_run(body)                                 ! MPI is started and ended in there
module kit
  use, intrinsic :: iso_c_binding
  implicit none
  private
  public :: kit_start, kit_option, kit_text_option, kit_text, kit_run, kit_refuse
  public :: kit_parameter, kit_time, kit_figure, kit_check, kit_column, kit_random

  abstract interface
    subroutine body_interface() bind(c)
    end subroutine
  end interface

  interface kit_option
    procedure option_integer, option_real
  end interface

  interface
    subroutine c_start(name, purpose) bind(c, name='sesame_kit_start')
      import :: c_char
      character(kind=c_char), intent(in) :: name(*), purpose(*)
    end subroutine
    subroutine c_option_integer(option, value, meaning) bind(c, name='sesame_kit_option_integer')
      import :: c_char, c_ptr
      character(kind=c_char), intent(in) :: option(*), meaning(*)
      type(c_ptr), value :: value
    end subroutine
    subroutine c_option_real(option, value, meaning) bind(c, name='sesame_kit_option_real')
      import :: c_char, c_ptr
      character(kind=c_char), intent(in) :: option(*), meaning(*)
      type(c_ptr), value :: value
    end subroutine
    subroutine c_option_text(option, meaning) bind(c, name='sesame_kit_option_text')
      import :: c_char
      character(kind=c_char), intent(in) :: option(*), meaning(*)
    end subroutine
    function c_text(option) bind(c, name='sesame_kit_text')
      import :: c_char, c_ptr
      character(kind=c_char), intent(in) :: option(*)
      type(c_ptr) :: c_text
    end function
    subroutine c_argument(text) bind(c, name='sesame_kit_argument')
      import :: c_char
      character(kind=c_char), intent(in) :: text(*)
    end subroutine
    function c_run(body) bind(c, name='sesame_kit_run')
      import :: c_funptr, c_int
      type(c_funptr), value :: body
      integer(c_int) :: c_run
    end function
    subroutine c_refuse(text) bind(c, name='sesame_kit_refuse')
      import :: c_char
      character(kind=c_char), intent(in) :: text(*)
    end subroutine
    subroutine c_parameter(name, value) bind(c, name='sesame_kit_parameter')
      import :: c_char, c_double
      character(kind=c_char), intent(in) :: name(*)
      real(c_double), value :: value
    end subroutine
    subroutine kit_time(seconds) bind(c, name='sesame_kit_time')
      import :: c_double
      real(c_double), value :: seconds
    end subroutine
    subroutine c_figure(name, value, unit) bind(c, name='sesame_kit_figure')
      import :: c_char, c_double
      character(kind=c_char), intent(in) :: name(*), unit(*)
      real(c_double), value :: value
    end subroutine
    subroutine c_check(name, value, expected, tolerance) bind(c, name='sesame_kit_check')
      import :: c_char, c_double
      character(kind=c_char), intent(in) :: name(*)
      real(c_double), value :: value, expected, tolerance
    end subroutine
    subroutine c_column(table, column, unit, count, values) bind(c, name='sesame_kit_column')
      import :: c_char, c_double, c_int
      character(kind=c_char), intent(in) :: table(*), column(*), unit(*)
      integer(c_int), value :: count
      real(c_double), intent(in) :: values(*)
    end subroutine
    subroutine c_random(start, count, values) bind(c, name='sesame_kit_random')
      import :: c_long, c_int, c_double
      integer(c_long), value :: start
      integer(c_int), value :: count
      real(c_double), intent(out) :: values(*)
    end subroutine
    function c_strlen(text) bind(c, name='strlen')
      import :: c_ptr, c_size_t
      type(c_ptr), value :: text
      integer(c_size_t) :: c_strlen
    end function
  end interface

contains

  pure function c(text)
    character(*), intent(in) :: text
    character(len(text) + 1, kind=c_char) :: c
    c = text//c_null_char
  end function

  subroutine kit_start(name, purpose)
    character(*), intent(in) :: name, purpose
    call c_start(c(name), c(purpose))
  end subroutine

  subroutine option_integer(option, value, meaning)
    character(*), intent(in) :: option, meaning
    integer(c_int), target, intent(in) :: value
    call c_option_integer(c(option), c_loc(value), c(meaning))
  end subroutine

  subroutine option_real(option, value, meaning)
    character(*), intent(in) :: option, meaning
    real(c_double), target, intent(in) :: value
    call c_option_real(c(option), c_loc(value), c(meaning))
  end subroutine

  subroutine kit_text_option(option, meaning)
    character(*), intent(in) :: option, meaning
    call c_option_text(c(option), c(meaning))
  end subroutine

  ! The value of a text option; empty if it was not given.
  function kit_text(option) result(text)
    character(*), intent(in) :: option
    character(:), allocatable :: text
    character(kind=c_char), pointer :: letters(:)
    type(c_ptr) :: place
    integer :: i
    place = c_text(c(option))
    call c_f_pointer(place, letters, [c_strlen(place)])
    allocate (character(size(letters)) :: text)
    do i = 1, size(letters)
      text(i:i) = letters(i)
    end do
  end function

  ! Ends the program with the exit status of the verification.
  subroutine kit_run(body)
    procedure(body_interface) :: body
    character(4096) :: text
    integer :: i, length, status
    do i = 0, command_argument_count()
      call get_command_argument(i, text, length)
      call c_argument(c(text(:length)))
    end do
    status = c_run(c_funloc(body))
    stop status, quiet=.true.
  end subroutine

  ! Wrong usage, found by all ranks alike. The caller then returns.
  subroutine kit_refuse(text)
    character(*), intent(in) :: text
    call c_refuse(c(text))
  end subroutine

  subroutine kit_parameter(name, value)
    character(*), intent(in) :: name
    real(c_double), intent(in) :: value
    call c_parameter(c(name), value)
  end subroutine

  subroutine kit_figure(name, value, unit)
    character(*), intent(in) :: name, unit
    real(c_double), intent(in) :: value
    call c_figure(c(name), value, c(unit))
  end subroutine

  subroutine kit_check(name, value, expected, tolerance)
    character(*), intent(in) :: name
    real(c_double), intent(in) :: value, expected, tolerance
    call c_check(c(name), value, expected, tolerance)
  end subroutine

  subroutine kit_column(table, column, unit, values)
    character(*), intent(in) :: table, column, unit
    real(c_double), intent(in) :: values(:)
    call c_column(c(table), c(column), c(unit), int(size(values), c_int), values)
  end subroutine

  subroutine kit_random(start, values)
    integer, intent(in) :: start
    real(c_double), intent(out) :: values(:)
    call c_random(int(start, c_long), int(size(values), c_int), values)
  end subroutine

end module kit
