! The oldest Fortran interface: mpif.h, status arrays, persistent requests, ignored statuses.
program old_fortran
  implicit none
  include 'mpif.h'
  integer :: rank, ranks, ierr, next, previous, k, requests(2)
  ! MPI changes these behind the compiler's back.
  integer, volatile :: token, got
  integer :: status(MPI_STATUS_SIZE), statuses(MPI_STATUS_SIZE, 2)
  real :: part, whole
  call MPI_INIT(ierr)
  call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
  call MPI_COMM_SIZE(MPI_COMM_WORLD, ranks, ierr)
  next = mod(rank + 1, ranks)
  previous = mod(rank + ranks - 1, ranks)
  call MPI_SEND_INIT(token, 1, MPI_INTEGER, next, 5, MPI_COMM_WORLD, requests(1), ierr)
  call MPI_RECV_INIT(got, 1, MPI_INTEGER, previous, 5, MPI_COMM_WORLD, requests(2), ierr)
  token = rank
  do k = 1, ranks
    call MPI_STARTALL(2, requests, ierr)
    if (mod(k, 2) == 0) then
      call MPI_WAITALL(2, requests, statuses, ierr)
    else
      call MPI_WAITALL(2, requests, MPI_STATUSES_IGNORE, ierr)
    end if
    token = got
  end do
  call MPI_REQUEST_FREE(requests(1), ierr)
  call MPI_REQUEST_FREE(requests(2), ierr)
  part = 1.5 * rank
  call MPI_REDUCE(part, whole, 1, MPI_REAL, MPI_SUM, 0, MPI_COMM_WORLD, ierr)
  call MPI_SENDRECV_REPLACE(token, 1, MPI_INTEGER, next, 1, previous, 1, MPI_COMM_WORLD, status, &
                            ierr)
  print '(a, i0, a, i0, a, i0)', 'rank ', rank, ' ends with ', token, ' from ', status(MPI_SOURCE)
  if (rank == 0) print '(a, f8.2)', 'sum ', whole
  call MPI_FINALIZE(ierr)
end program old_fortran
