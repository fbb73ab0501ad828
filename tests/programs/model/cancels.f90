! Rank 0 cancels receives 200 ns before and after a message arrives, and prints what happened, as
! `cancels times` does in C. Defined where the program is built: F08: with the module mpi_f08.
module times
  use, intrinsic :: iso_c_binding
  implicit none
  type, bind(C) :: timespec
    integer(c_long) :: seconds, nanoseconds
  end type
  interface
    integer(c_int) function nanosleep(time, rest) bind(C)
      import :: c_int, c_ptr, timespec
      type(timespec), intent(in) :: time
      type(c_ptr), value :: rest
    end function
  end interface
contains
  subroutine sleep_for(seconds)
    double precision, intent(in) :: seconds
    integer(c_long) :: ns
    ns = nint(seconds * 1d9, c_long)
    if (ns > 0) ns = nanosleep(timespec(ns / 1000000000, mod(ns, 1000000000_c_long)), c_null_ptr)
  end subroutine
end module

program cancels
  use times
#ifdef F08
  use mpi_f08
  implicit none
  type(MPI_Status) :: status
  type(MPI_Request) :: request
#else
  use mpi
  implicit none
  integer :: status(MPI_STATUS_SIZE), request
#endif
  integer, parameter :: sizes(2) = [100, 200000], after(4) = [-200, 200, 200, -200]
  character, allocatable :: data(:)
  integer :: rank, i, k, error
  double precision :: start, arrival
  logical :: cancelled

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  start = 1
  do i = 1, 2
    allocate(data(sizes(i)))
    do k = 0, 4
      if (rank == 1) then
        call sleep_for(start - MPI_Wtime())
        call MPI_Send(data, sizes(i), MPI_CHARACTER, 0, 1, MPI_COMM_WORLD, error)
      else if (k == 0) then
        call MPI_Probe(1, 1, MPI_COMM_WORLD, status, error)
        arrival = MPI_Wtime() - start
        call MPI_Recv(data, sizes(i), MPI_CHARACTER, 1, 1, MPI_COMM_WORLD, status, error)
      else
        call MPI_Irecv(data, sizes(i), MPI_CHARACTER, 1, 1, MPI_COMM_WORLD, request, error)
        call sleep_for(start + arrival + after(k) * 1d-9 - MPI_Wtime())
        call MPI_Cancel(request, error)
        call MPI_Wait(request, status, error)
        call MPI_Test_cancelled(status, cancelled, error)
        print '(i0,a,sp,i0,a,a)', sizes(i), ' bytes, ', after(k), ' ns: ', &
          merge('cancelled', 'received ', cancelled)
        if (cancelled) &
          call MPI_Recv(data, sizes(i), MPI_CHARACTER, 1, 1, MPI_COMM_WORLD, status, error)
      end if
      start = start + 1
    end do
    start = start + 1
    deallocate(data)
  end do
  call MPI_Finalize(error)
end program
