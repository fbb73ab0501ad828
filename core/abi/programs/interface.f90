! Uses what depends on how Fortran reaches the MPI library: ignored statuses, MPI_IN_PLACE, attributes,
! operations, graph weights. Any number of ranks.
program interface
  use mpi
  implicit none
  integer, parameter :: messages = 50
  integer :: ierror, rank, ranks, next, previous, failures, total
  external :: multiply

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  next = mod(rank + 1, ranks)
  previous = mod(rank + ranks - 1, ranks)
  failures = 0
  ! From here on every rank's MPI_Init is done.
  call MPI_Barrier(MPI_COMM_WORLD, ierror)
  call check_statuses
  call check_operations
  call check_attributes
  call check_graph
  total = failures
  call MPI_Allreduce(MPI_IN_PLACE, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
  if (rank == 0) print '(i0, a)', total, ' checks failed'
  call MPI_Finalize(ierror)

contains

  subroutine check(condition, what)
    logical, intent(in) :: condition
    character(*), intent(in) :: what
    if (condition) return
    print *, 'rank', rank, 'not so: ', what
    failures = failures + 1
  end subroutine

  subroutine check_statuses
    integer :: requests(2 * messages), in(messages), out(messages), i
    do i = 1, messages
      out(i) = rank + i
      call MPI_Irecv(in(i), 1, MPI_INTEGER, previous, i, MPI_COMM_WORLD, requests(i), ierror)
      call MPI_Isend(out(i), 1, MPI_INTEGER, next, i, MPI_COMM_WORLD, &
                     requests(messages + i), ierror)
    end do
    call MPI_Waitall(2 * messages, requests, MPI_STATUSES_IGNORE, ierror)
    call check(all(in == [(previous + i, i = 1, messages)]), 'the messages arrived')
    call check(all(MPI_STATUSES_IGNORE == 0), 'MPI_STATUSES_IGNORE is not written to')
    call MPI_Sendrecv(out, 1, MPI_INTEGER, next, 2, in, 1, MPI_INTEGER, previous, 2, &
                      MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
    call check(all(MPI_STATUS_IGNORE == 0), 'MPI_STATUS_IGNORE is not written to')
  end subroutine

  subroutine check_operations
    integer :: op, two(1), product(1)
    call MPI_Op_create(multiply, .true., op, ierror)
    two = 2
    call MPI_Allreduce(two(1), product(1), 1, MPI_INTEGER, op, MPI_COMM_WORLD, ierror)
    call check(product(1) == 2**ranks, 'the program''s operation')
    call MPI_Op_free(op, ierror)
    call check(op == MPI_OP_NULL, 'a freed operation is null')
  end subroutine

  subroutine check_attributes
    integer :: keyval, comm
    integer(MPI_ADDRESS_KIND) :: value, extra
    logical :: flag
    extra = 0
    call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, keyval, extra, ierror)
    value = 4711
    call MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, value, ierror)
    call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierror)
    value = 0
    call MPI_Comm_get_attr(comm, keyval, value, flag, ierror)
    call check(flag .and. value == 4711, 'an attribute is copied')
    call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, value, flag, ierror)
    call check(flag .and. value >= 32767, 'MPI_TAG_UB')
    call MPI_Comm_free(comm, ierror)
  end subroutine

  subroutine check_graph
    integer :: comm, source(1), target(1), in, out
    logical :: weighted
    source = previous
    target = next
    call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, source, MPI_UNWEIGHTED, 1, target, &
                                        MPI_UNWEIGHTED, MPI_INFO_NULL, .false., comm, ierror)
    call MPI_Dist_graph_neighbors_count(comm, in, out, weighted, ierror)
    call check(in == 1 .and. out == 1 .and. .not. weighted, 'a graph without weights')
    call MPI_Comm_free(comm, ierror)
  end subroutine
end program

subroutine multiply(in, inout, count, type)
  integer :: count, type, in(count), inout(count)
  inout = in * inout
end subroutine
