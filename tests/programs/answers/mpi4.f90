! Sessions, from Fortran. Prints how many checks failed.
program mpi4
  use mpi_f08
  implicit none
  type(MPI_Session) :: session
  type(MPI_Group) :: group
  type(MPI_Comm) :: comm
  type(MPI_Errhandler) :: handler
  integer :: failed, sets, rank
  failed = 0
  call MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, session)
  call check(session%MPI_VAL /= MPI_SESSION_NULL%MPI_VAL)
  call MPI_Session_get_num_psets(session, MPI_INFO_NULL, sets)
  call check(sets >= 2)
  call MPI_Group_from_session_pset(session, "mpi://WORLD", group)
  call MPI_Comm_create_from_group(group, "sesame", MPI_INFO_NULL, MPI_ERRORS_ABORT, comm)
  call MPI_Comm_get_errhandler(comm, handler)
  call check(handler == MPI_ERRORS_ABORT)
  call MPI_Comm_rank(comm, rank)
  call MPI_Group_free(group)
  call MPI_Comm_disconnect(comm)
  call MPI_Session_finalize(session)
  call check(session%MPI_VAL == MPI_SESSION_NULL%MPI_VAL)
  if (rank == 0) print '(i0, a)', failed, ' checks failed'
contains
  subroutine check(good)
    logical, intent(in) :: good
    if (.not. good) failed = failed + 1
  end subroutine
end program
