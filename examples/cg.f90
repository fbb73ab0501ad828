! Conjugate gradients for the Poisson equation on an n x n grid, rows shared out over the ranks:
! halo exchange of rows, and two MPI_Allreduce of one number in every iteration.
!
!   cg [n [iterations]]
program conjugate_gradients
  use mpi
  implicit none
  integer :: rank, ranks, ierr, n, iterations, first, rows, above, below, k
  double precision, allocatable :: x(:, :), r(:, :), p(:, :), q(:, :)
  double precision :: rr, rr_new, alpha, pq, begin
  character(len=32) :: argument

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  n = 256
  iterations = 100
  if (command_argument_count() > 0) then
    call get_command_argument(1, argument)
    read (argument, *) n
  end if
  if (command_argument_count() > 1) then
    call get_command_argument(2, argument)
    read (argument, *) iterations
  end if
  first = n * rank / ranks
  rows = n * (rank + 1) / ranks - first
  above = rank - 1
  below = rank + 1
  if (rank == 0) above = MPI_PROC_NULL
  if (rank == ranks - 1) below = MPI_PROC_NULL

  begin = MPI_Wtime()
  allocate (x(n, rows), r(n, rows), p(n, 0:rows + 1), q(n, rows))
  x = 0
  r = 1
  p = 0
  p(:, 1:rows) = r
  rr = total(sum(r * r))
  do k = 1, iterations
    call exchange()
    call apply()
    pq = total(sum(p(:, 1:rows) * q))
    alpha = rr / pq
    x = x + alpha * p(:, 1:rows)
    r = r - alpha * q
    rr_new = total(sum(r * r))
    p(:, 1:rows) = r + (rr_new / rr) * p(:, 1:rows)
    rr = rr_new
  end do
  pq = total(sum(x))
  if (rank == 0) print '(i0, a, i0, a, i0, a, es12.5, a, es13.6, a, f0.4, a)', n, ' x ', n, ', ', &
    iterations, ' iterations: residual ', sqrt(rr), ', sum ', pq, ', ', MPI_Wtime() - begin, ' s'
  call MPI_Finalize(ierr)

contains

  function total(part) result(all)
    double precision, intent(in) :: part
    double precision :: all
    call MPI_Allreduce(part, all, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierr)
  end function total

  subroutine exchange()
    integer :: status(MPI_STATUS_SIZE)
    call MPI_Sendrecv(p(1, 1), n, MPI_DOUBLE_PRECISION, above, 1, p(1, rows + 1), n, &
                      MPI_DOUBLE_PRECISION, below, 1, MPI_COMM_WORLD, status, ierr)
    call MPI_Sendrecv(p(1, rows), n, MPI_DOUBLE_PRECISION, below, 2, p(1, 0), n, &
                      MPI_DOUBLE_PRECISION, above, 2, MPI_COMM_WORLD, status, ierr)
  end subroutine exchange

  subroutine apply()
    integer :: i, j
    do j = 1, rows
      q(1, j) = 4 * p(1, j) - p(2, j) - p(1, j - 1) - p(1, j + 1)
      do i = 2, n - 1
        q(i, j) = 4 * p(i, j) - p(i - 1, j) - p(i + 1, j) - p(i, j - 1) - p(i, j + 1)
      end do
      q(n, j) = 4 * p(n, j) - p(n - 1, j) - p(n, j - 1) - p(n, j + 1)
    end do
  end subroutine apply

end program conjugate_gradients
