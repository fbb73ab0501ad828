! Output without a flush, input, clocks, a scratch file, an internal procedure passed as argument.
module counters
  implicit none
  integer, save :: count = 40
  real(8), save :: table(5000) = 1.0d0
end module

program main
  use mpi
  use counters
  implicit none
  integer :: rank, error, number, status, ticks, rate
  real :: seconds
  call mpi_init(error)
  call mpi_comm_rank(MPI_COMM_WORLD, rank, error)
  count = count + rank
  table(5000) = table(5000) + rank
  call mpi_barrier(MPI_COMM_WORLD, error)
  print *, 'count', count, table(5000)
  number = -1
  read (*, *, iostat=status) number
  write (*, '(a,i0,a,l1)') 'number ', number, ' end ', status < 0
  write (0, '(a,i0)') 'error unit ', rank
  call system_clock(ticks, rate)
  call cpu_time(seconds)
  write (*, '(a,i0,a,f6.4)') 'ticks ', ticks, ' cpu ', seconds
  open (unit=20, status='scratch')
  write (20, *) rank
  call mpi_barrier(MPI_COMM_WORLD, error)
  rewind (20)
  read (20, *) number
  write (*, '(a,i0)') 'scratch ', number
  call apply(show)
  call mpi_finalize(error)
  if (rank == 1) stop 3
contains
  subroutine show(value)
    integer, intent(in) :: value
    write (*, '(a,i0,a,i0)') 'inner ', value, ' of ', rank
  end subroutine
  subroutine apply(action)
    interface
      subroutine action(value)
        integer, intent(in) :: value
      end subroutine
    end interface
    call action(7)
  end subroutine
end program
