! Uses what depends on how the module mpi_f08 reaches the MPI library: ignored statuses,
! MPI_IN_PLACE, graph weights, and a status that comes back. Any number of ranks.
program interface_f08
  use mpi_f08
  implicit none
  integer, parameter :: messages = 50
  integer :: rank, ranks, next, previous, total, i
  integer :: in(messages), out(messages), source(1), target(1), degree_in, degree_out
  logical :: weighted
  type(MPI_Request) :: requests(2 * messages)
  type(MPI_Status) :: status
  type(MPI_Comm) :: graph

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  next = mod(rank + 1, ranks)
  previous = mod(rank + ranks - 1, ranks)
  total = 0
  call MPI_Barrier(MPI_COMM_WORLD)
  do i = 1, messages
    out(i) = rank + i
    call MPI_Irecv(in(i), 1, MPI_INTEGER, previous, i, MPI_COMM_WORLD, requests(i))
    call MPI_Isend(out(i), 1, MPI_INTEGER, next, i, MPI_COMM_WORLD, requests(messages + i))
  end do
  call MPI_Waitall(2 * messages, requests, MPI_STATUSES_IGNORE)
  call check(all(in == [(previous + i, i = 1, messages)]), 'the messages arrived')
  call check(MPI_STATUSES_IGNORE(1)%MPI_TAG == 0, 'MPI_STATUSES_IGNORE is not written to')
  call MPI_Sendrecv(out, 1, MPI_INTEGER, next, 2, in, 1, MPI_INTEGER, previous, 2, &
                    MPI_COMM_WORLD, status)
  call check(status%MPI_SOURCE == previous .and. status%MPI_TAG == 2, 'a status')
  source = previous
  target = next
  call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, source, MPI_UNWEIGHTED, 1, target, &
                                      MPI_UNWEIGHTED, MPI_INFO_NULL, .false., graph)
  call MPI_Dist_graph_neighbors_count(graph, degree_in, degree_out, weighted)
  call check(degree_in == 1 .and. degree_out == 1 .and. .not. weighted, 'a graph without weights')
  call MPI_Comm_free(graph)
  call MPI_Allreduce(MPI_IN_PLACE, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  if (rank == 0) print '(i0, a)', total, ' checks failed'
  call MPI_Finalize()

contains

  subroutine check(condition, what)
    logical, intent(in) :: condition
    character(*), intent(in) :: what
    if (condition) return
    print *, 'rank', rank, 'not so: ', what
    total = total + 1
  end subroutine
end program
