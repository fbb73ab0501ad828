! MPI_Comm_spawn and MPI_Comm_spawn_multiple of Fortran: commands and arguments are blank-padded.
program spawn
  use mpi
  implicit none
  integer :: rank, size, parent, children, error, remote, total, i
  integer :: codes(3), counts(2), infos(2)
  character(len=256) :: program_name, argument
  character(len=12) :: arguments(3)
  character(len=256) :: commands(2)
  character(len=12) :: of_each(2, 2)

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, size, error)
  call MPI_Comm_get_parent(parent, error)
  if (parent /= MPI_COMM_NULL) then
    call MPI_Comm_remote_size(parent, remote, error)
    do i = 1, command_argument_count()
      call get_command_argument(i, argument)
      print '(a,i0,a,i0,a,i0,3a)', 'child ', rank, ' of ', size, ' argument ', i, ' "', trim(argument), '"'
    end do
    call MPI_Allreduce(rank + 1, total, 1, MPI_INTEGER, MPI_SUM, parent, error)
    print '(a,i0,a,i0,a,i0)', 'child ', rank, ' remote ', remote, ' total ', total
    call MPI_Comm_disconnect(parent, error)
  else
    call get_command_argument(0, program_name)
    arguments = [character(len=12) :: 'one', 'two words', ' ']
    call MPI_Comm_spawn(program_name, arguments, 3, MPI_INFO_NULL, 0, MPI_COMM_WORLD, children, codes, error)
    call MPI_Allreduce(rank + 1, total, 1, MPI_INTEGER, MPI_SUM, children, error)
    print '(a,i0,a,l1,a,i0)', 'parent ', rank, ' codes ', all(codes == MPI_SUCCESS), ' total ', total
    call MPI_Comm_disconnect(children, error)
    call MPI_Comm_spawn(program_name, MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, children, &
                        MPI_ERRCODES_IGNORE, error)
    call MPI_Allreduce(rank + 1, total, 1, MPI_INTEGER, MPI_SUM, children, error)
    call MPI_Comm_disconnect(children, error)
    commands = program_name
    of_each(1, :) = [character(len=12) :: 'first', ' ']
    of_each(2, :) = [character(len=12) :: 'second', ' ']
    counts = [1, 2]
    infos = MPI_INFO_NULL
    call MPI_Comm_spawn_multiple(2, commands, of_each, counts, infos, 0, MPI_COMM_WORLD, children, codes, error)
    call MPI_Allreduce(rank + 1, total, 1, MPI_INTEGER, MPI_SUM, children, error)
    print '(a,i0,a,l1,a,i0)', 'parent ', rank, ' codes ', all(codes == MPI_SUCCESS), ' total ', total
    call MPI_Comm_disconnect(children, error)
  end if
  call MPI_Finalize(error)
end program
