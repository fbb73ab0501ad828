! Transposes a distributed matrix twice, with the mpi_f08 module: derived datatypes,
! MPI_Alltoall, non-blocking collectives and a Cartesian communicator.
!
!   transpose [columns per rank]
program transpose_twice
  use mpi_f08
  implicit none
  integer :: rank, ranks, m, i, j, differences, all_differences
  integer, allocatable :: a(:, :), b(:, :), c(:, :)
  type(MPI_Comm) :: line
  type(MPI_Request) :: request
  type(MPI_Status) :: status
  character(len=32) :: argument

  call MPI_Init()
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call MPI_Cart_create(MPI_COMM_WORLD, 1, [ranks], [.true.], .false., line)
  call MPI_Comm_rank(line, rank)
  m = 50
  if (command_argument_count() > 0) then
    call get_command_argument(1, argument)
    read (argument, *) m
  end if
  allocate (a(m * ranks, m), b(m * ranks, m), c(m * ranks, m))
  do j = 1, m
    do i = 1, m * ranks
      a(i, j) = i + 1000 * (rank * m + j)
    end do
  end do
  call turn(a, b)
  differences = 0
  do j = 1, m
    do i = 1, m * ranks
      if (b(i, j) /= rank * m + j + 1000 * i) differences = differences + 1
    end do
  end do
  call turn(b, c)
  differences = differences + count(c /= a)
  call MPI_Iallreduce(differences, all_differences, 1, MPI_INTEGER, MPI_SUM, line, request)
  call MPI_Wait(request, status)
  if (rank == 0) print '(a, i0, a, i0, a, i0, a)', 'transposed ', m * ranks, ' x ', m * ranks, &
    ' twice: ', all_differences, ' differences'
  call MPI_Comm_free(line)
  call MPI_Finalize()

contains

  subroutine turn(from, to)
    integer, intent(in) :: from(m * ranks, m)
    integer, intent(out) :: to(m * ranks, m)
    integer :: out(m, m, ranks), in(m, m, ranks), k
    do k = 1, ranks
      out(:, :, k) = transpose(from((k - 1) * m + 1:k * m, :))
    end do
    call MPI_Alltoall(out, m * m, MPI_INTEGER, in, m * m, MPI_INTEGER, line)
    do k = 1, ranks
      to((k - 1) * m + 1:k * m, :) = in(:, :, k)
    end do
  end subroutine turn

end program transpose_twice
