! Files by way of the module mpi: ordered writes and an error handler of the program.
program files
  use mpi
  implicit none
  integer, parameter :: n = 5
  integer :: error, rank, ranks, file, handler, i
  integer :: status(MPI_STATUS_SIZE), count
  integer(kind=MPI_OFFSET_KIND) :: offset
  double precision :: mine(n), back(n)
  character(len=256) :: path
  integer :: seen
  common /noted/ seen
  external :: note

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  call get_command_argument(1, path)
  do i = 1, n
    mine(i) = rank + i / 8.0d0
  end do
  call MPI_File_open(MPI_COMM_WORLD, trim(path), MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, &
                     file, error)
  offset = 0
  call MPI_File_set_view(file, offset, MPI_DOUBLE_PRECISION, MPI_DOUBLE_PRECISION, 'native', &
                         MPI_INFO_NULL, error)
  call MPI_File_write_ordered(file, mine, n, MPI_DOUBLE_PRECISION, status, error)
  call MPI_Get_count(status, MPI_DOUBLE_PRECISION, count, error)
  print '(a,i0,a,i0)', 'rank ', rank, ': written ', count
  call MPI_File_sync(file, error)
  call MPI_Barrier(MPI_COMM_WORLD, error)
  call MPI_File_sync(file, error)
  offset = mod(rank + 1, ranks) * n
  call MPI_File_read_at(file, offset, back, n, MPI_DOUBLE_PRECISION, status, error)
  print '(a,i0,a,f8.3)', 'rank ', rank, ': sum ', sum(back)
  seen = 0
  call MPI_File_create_errhandler(note, handler, error)
  call MPI_File_set_errhandler(file, handler, error)
  offset = -1
  call MPI_File_read_at(file, offset, back, n, MPI_DOUBLE_PRECISION, status, error)
  print '(a,i0,a,i0)', 'rank ', rank, ': handler called ', seen
  call MPI_Errhandler_free(handler, error)
  call MPI_File_close(file, error)
  call MPI_Barrier(MPI_COMM_WORLD, error)
  if (rank == 0) call MPI_File_delete(trim(path), MPI_INFO_NULL, error)
  call MPI_Finalize(error)
end program files

subroutine note(file, error)
  integer :: file, error, seen
  common /noted/ seen
  if (file /= 0 .and. error /= 0) seen = seen + 1
end subroutine note
