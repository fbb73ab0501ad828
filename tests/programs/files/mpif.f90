! Files by way of mpif.h: written together with a view, read alone, statuses and positions.
program files
  implicit none
  include 'mpif.h'
  integer, parameter :: n = 12
  integer :: error, rank, ranks, file, filetype, count, i, total
  integer :: status(MPI_STATUS_SIZE), statuses(MPI_STATUS_SIZE, 2), requests(2)
  integer(kind=MPI_OFFSET_KIND) :: offset, size
  integer(kind=MPI_ADDRESS_KIND) :: extent
  integer :: mine(n), back(n)
  character(len=256) :: path
  character(len=MPI_MAX_DATAREP_STRING) :: datarep
  integer :: etype, amode

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  call get_command_argument(1, path)
  do i = 1, n
    mine(i) = 100 * rank + i
  end do
  back = -1
  call MPI_File_open(MPI_COMM_WORLD, trim(path), MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, &
                     file, error)
  if (error /= MPI_SUCCESS) call MPI_Abort(MPI_COMM_WORLD, 2, error)
  call MPI_Type_vector(n / 3, 3, 3 * ranks, MPI_INTEGER, filetype, error)
  call MPI_Type_commit(filetype, error)
  offset = 12 * rank
  call MPI_File_set_view(file, offset, MPI_INTEGER, filetype, 'native', MPI_INFO_NULL, error)
  call MPI_File_write_all(file, mine, n, MPI_INTEGER, status, error)
  call MPI_Get_count(status, MPI_INTEGER, count, error)
  print '(a,i0,a,i0)', 'rank ', rank, ': written ', count
  call MPI_File_sync(file, error)
  call MPI_Barrier(MPI_COMM_WORLD, error)
  call MPI_File_sync(file, error)
  offset = 1
  call MPI_File_get_byte_offset(file, offset + 3, size, error)
  print '(a,i0,a,i0)', 'rank ', rank, ': byte offset ', size
  call MPI_File_get_view(file, offset, etype, filetype, datarep, error)
  print '(a,i0,a,i0,a,a)', 'rank ', rank, ': view ', offset, ' ', trim(datarep)
  call MPI_File_get_type_extent(file, MPI_INTEGER, extent, error)
  print '(a,i0,a,i0)', 'rank ', rank, ': extent ', extent
  offset = 0
  call MPI_File_set_view(file, offset, MPI_INTEGER, MPI_INTEGER, 'native', MPI_INFO_NULL, error)
  offset = mod(rank + 1, ranks) * n
  call MPI_File_iread_at(file, offset, back, n / 2, MPI_INTEGER, requests(1), error)
  call MPI_File_iread_at(file, offset + n / 2, back(n / 2 + 1), n / 2, MPI_INTEGER, requests(2), &
                         error)
  call MPI_Wait(requests(1), statuses(1, 1), error)
  call MPI_Wait(requests(2), statuses(1, 2), error)
  total = 0
  do i = 1, n
    total = total + i * back(i)
  end do
  print '(a,i0,a,i0)', 'rank ', rank, ': read ', total
  call MPI_File_seek(file, offset, MPI_SEEK_SET, error)
  call MPI_File_read_all_begin(file, back, n, MPI_INTEGER, error)
  call MPI_File_read_all_end(file, back, MPI_STATUS_IGNORE, error)
  call MPI_File_get_position(file, offset, error)
  print '(a,i0,a,i0,a,i0)', 'rank ', rank, ': position ', offset, ' last ', back(n)
  call MPI_File_get_size(file, size, error)
  call MPI_File_get_amode(file, amode, error)
  print '(a,i0,a,i0,a,l1)', 'rank ', rank, ': size ', size, ' mode ', &
      amode == MPI_MODE_CREATE + MPI_MODE_RDWR
  call MPI_File_close(file, error)
  print '(a,i0,a,l1)', 'rank ', rank, ': null ', file == MPI_FILE_NULL
  call MPI_File_open(MPI_COMM_WORLD, trim(path) // '.missing', MPI_MODE_RDONLY, MPI_INFO_NULL, &
                     file, error)
  call MPI_Error_class(error, count, i)
  print '(a,i0,a,l1)', 'rank ', rank, ': missing ', count == MPI_ERR_NO_SUCH_FILE
  call MPI_Barrier(MPI_COMM_WORLD, error)
  if (rank == 0) call MPI_File_delete(trim(path), MPI_INFO_NULL, error)
  call MPI_Finalize(error)
end program files
