! Files by way of the module mpi_f08: handles are types there.
program files
  use mpi_f08
  implicit none
  integer, parameter :: n = 8
  integer :: rank, ranks, i, count
  type(MPI_File) :: file
  type(MPI_Status) :: status
  type(MPI_Request) :: request
  type(MPI_Datatype) :: filetype
  type(MPI_Group) :: group
  type(MPI_Info) :: info
  integer(kind=MPI_OFFSET_KIND) :: size
  integer :: mine(n), back(n)
  character(len=256) :: path

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call get_command_argument(1, path)
  mine = [(1000 * rank + i, i = 1, n)]
  call MPI_File_open(MPI_COMM_WORLD, trim(path), MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, &
                     file)
  call MPI_Type_create_subarray(2, [2, 4 * ranks], [2, 4], [0, 4 * rank], MPI_ORDER_FORTRAN, &
                                MPI_INTEGER, filetype)
  call MPI_Type_commit(filetype)
  call MPI_File_set_view(file, 0_MPI_OFFSET_KIND, MPI_INTEGER, filetype, 'native', MPI_INFO_NULL)
  call MPI_File_iwrite_all(file, mine, n, MPI_INTEGER, request)
  call MPI_Wait(request, status)
  call MPI_Get_count(status, MPI_INTEGER, count)
  print '(a,i0,a,i0)', 'rank ', rank, ': written ', count
  back = -1
  call MPI_File_read_at_all(file, 0_MPI_OFFSET_KIND, back, n, MPI_INTEGER, status)
  print '(a,i0,a,l1)', 'rank ', rank, ': the same ', all(back == mine)
  call MPI_File_get_group(file, group)
  call MPI_Group_size(group, count)
  print '(a,i0,a,i0)', 'rank ', rank, ': group ', count
  call MPI_Group_free(group)
  call MPI_File_get_info(file, info)
  call MPI_Info_free(info)
  call MPI_File_get_size(file, size)
  print '(a,i0,a,i0)', 'rank ', rank, ': size ', size
  call MPI_File_close(file)
  print '(a,i0,a,l1)', 'rank ', rank, ': null ', file == MPI_FILE_NULL
  call MPI_Barrier(MPI_COMM_WORLD)
  if (rank == 0) call MPI_File_delete(trim(path), MPI_INFO_NULL)
  call MPI_Finalize()
end program files
