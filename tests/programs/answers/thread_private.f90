! Threadprivate variables of Fortran are each rank's own, and receive messages.
module state
  implicit none
  integer :: counter = 5
  real(8) :: values(100)
  !$omp threadprivate(counter, values)
end module state

program thread_private
  use mpi
  use state
  implicit none
  integer :: rank, size, error, total
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, size, error)
  counter = counter + rank
  values = real(rank, 8)
  call MPI_Barrier(MPI_COMM_WORLD, error)
  call MPI_Sendrecv_replace(values, 100, MPI_DOUBLE_PRECISION, mod(rank + 1, size), 0, &
                            mod(rank + size - 1, size), 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
  total = 0
  !$omp parallel num_threads(2) reduction(+:total)
  total = total + counter
  !$omp end parallel
  print '(i0,": ",i0,f8.1,i4)', rank, counter, sum(values), total
  call MPI_Finalize(error)
end program thread_private
