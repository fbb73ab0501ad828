! Calls by the module mpi_f08.
program mpi_new
  use mpi_f08
  implicit none
  double precision :: given(4) = 1, taken(4)
  integer :: rank, other, ierr
  type(MPI_Request) :: request
  type(MPI_Comm) :: copy
  type(MPI_File) :: file
  integer(kind=MPI_OFFSET_KIND) :: offset
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  other = 1 - rank
  call MPI_Irecv(taken, 4, MPI_DOUBLE_PRECISION, other, 3, MPI_COMM_WORLD, request, ierr)
  call MPI_Send(given, 4, MPI_DOUBLE_PRECISION, other, 3, MPI_COMM_WORLD, ierr)
  call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
  call MPI_Sendrecv(given, 1, MPI_INTEGER, other, 4, taken, 1, MPI_INTEGER, other, 4, &
                    MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
  call MPI_Allreduce(MPI_IN_PLACE, taken, 2, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierr)
  call MPI_Comm_dup(MPI_COMM_WORLD, copy, ierr)
  call MPI_Barrier(copy, ierr)
  call MPI_File_open(copy, "file.out", MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, file, ierr)
  offset = 32 * rank
  call MPI_File_write_at(file, offset, given, 4, MPI_DOUBLE_PRECISION, MPI_STATUS_IGNORE, ierr)
  call MPI_File_close(file, ierr)
  call MPI_Comm_free(copy, ierr)
  if (rank == 0) print *, "done"
  call MPI_Finalize(ierr)
end program

