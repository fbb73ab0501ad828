! Checks what programs with the module mpi_f08 need from an MPI library. Any number of ranks. Rank 0
! prints how many checks failed; the output does not depend on the library.
module functions
  use, intrinsic :: iso_c_binding
  use mpi_f08
  implicit none
  integer :: handled_class = 0, deleted = 0, queried = 0

contains

  subroutine multiply(in, inout, length, datatype)
    type(c_ptr), value :: in, inout
    integer :: length
    type(MPI_Datatype) :: datatype
    integer, pointer :: a(:), b(:)
    call c_f_pointer(in, a, [length])
    call c_f_pointer(inout, b, [length])
    if (datatype == MPI_INTEGER) b = a * b
  end subroutine

  subroutine handle(comm, code)
    type(MPI_Comm) :: comm
    integer :: code
    if (comm == MPI_COMM_WORLD) call MPI_Error_class(code, handled_class)
  end subroutine

  subroutine copy_attribute(comm, keyval, extra, in, out, flag, ierror)
    type(MPI_Comm) :: comm
    integer :: keyval, ierror
    integer(MPI_ADDRESS_KIND) :: extra, in, out
    logical :: flag
    out = in + extra
    flag = comm /= MPI_COMM_NULL .and. keyval /= MPI_KEYVAL_INVALID
    ierror = MPI_SUCCESS
  end subroutine

  subroutine delete_attribute(comm, keyval, value, extra, ierror)
    type(MPI_Comm) :: comm
    integer :: keyval, ierror
    integer(MPI_ADDRESS_KIND) :: value, extra
    ! Open MPI 4.1 passes a wrong communicator here.
    if (comm == comm .and. keyval /= MPI_KEYVAL_INVALID) deleted = deleted + int(value)
    ierror = MPI_SUCCESS
    if (extra == -1) ierror = MPI_ERR_OTHER
  end subroutine

  subroutine query(extra, status, ierror)
    integer(MPI_ADDRESS_KIND) :: extra
    type(MPI_Status) :: status
    integer :: ierror
    queried = queried + int(extra)
    call MPI_Status_set_elements(status, MPI_INTEGER, 7)
    call MPI_Status_set_cancelled(status, .false.)
    status%MPI_SOURCE = MPI_UNDEFINED
    status%MPI_TAG = 5
    ierror = MPI_SUCCESS
  end subroutine

  subroutine release(extra, ierror)
    integer(MPI_ADDRESS_KIND) :: extra
    integer :: ierror
    queried = queried + 10 * int(extra)
    ierror = MPI_SUCCESS
  end subroutine

  subroutine cancel(extra, complete, ierror)
    integer(MPI_ADDRESS_KIND) :: extra
    logical :: complete
    integer :: ierror
    if (.not. complete) queried = queried + 100 * int(extra)
    ierror = MPI_SUCCESS
  end subroutine
end module

program interface_f08
  use functions
  implicit none
  integer :: rank, ranks, next, previous, failures, total, i

  failures = 0
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  next = mod(rank + 1, ranks)
  previous = mod(rank + ranks - 1, ranks)
  call check_messages
  call check_collectives
  call check_types
  call check_functions
  call check_communicators
  call check_windows
  call check_files
  call check_info
  total = failures
  call MPI_Allreduce(MPI_IN_PLACE, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  if (rank == 0) print '(i0, a)', total, ' checks failed'
  call MPI_Finalize()

contains

  subroutine check(condition, what)
    logical, intent(in) :: condition
    character(*), intent(in) :: what
    if (condition) return
    print *, 'rank', rank, 'not so: ', what
    failures = failures + 1
  end subroutine

  subroutine check_messages
    integer, parameter :: n = 20
    type(MPI_Request) :: requests(2 * n), request
    type(MPI_Status) :: statuses(2 * n), status
    type(MPI_Message) :: message
    integer :: in(n), out(n), count, k, indices(n), ierror, size
    logical :: flag
    type(c_ptr) :: detached
    character, target :: buffer(1000)
    do i = 1, n
      out(i) = 100 * rank + i
      call MPI_Irecv(in(i), 1, MPI_INTEGER, previous, i, MPI_COMM_WORLD, requests(i))
      call MPI_Isend(out(i), 1, MPI_INTEGER, next, i, MPI_COMM_WORLD, requests(n + i))
    end do
    call MPI_Waitall(2 * n, requests, statuses, ierror)
    call check(ierror == MPI_SUCCESS .and. all(in == [(100 * previous + i, i = 1, n)]), 'messages')
    call check(all(statuses(1:n)%MPI_TAG == [(i, i = 1, n)]), 'statuses')
    call check(all([(requests(i) == MPI_REQUEST_NULL, i = 1, 2 * n)]), 'null requests')
    call MPI_Get_count(statuses(2), MPI_INTEGER, count)
    call check(count == 1, 'a count')
    call check(statuses(2)%MPI_SOURCE == previous, 'a source')
    call MPI_Irecv(in, 1, MPI_INTEGER, previous, 1, MPI_COMM_WORLD, request)
    call MPI_Send(out, 1, MPI_INTEGER, next, 1, MPI_COMM_WORLD)
    requests(1) = request
    requests(2) = MPI_REQUEST_NULL
    call MPI_Waitany(2, requests, k, MPI_STATUS_IGNORE)
    call check(k == 1, 'an index from 1')
    call MPI_Testsome(2, requests, count, indices, MPI_STATUSES_IGNORE)
    call check(count == MPI_UNDEFINED, 'no active request')
    call MPI_Testall(2, requests, flag, MPI_STATUSES_IGNORE)
    call check(flag, 'all complete')
    call MPI_Buffer_attach(buffer, 1000)
    call MPI_Bsend('some text', 9, MPI_CHARACTER, next, 3, MPI_COMM_WORLD)
    call MPI_Mprobe(MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, message, status)
    call MPI_Get_count(status, MPI_CHARACTER, count)
    call check(count == 9 .and. status%MPI_SOURCE == previous, 'a probed message')
    call MPI_Mrecv(in, 9, MPI_CHARACTER, message, MPI_STATUS_IGNORE)
    call check(message == MPI_MESSAGE_NULL, 'a received message')
    call MPI_Buffer_detach(detached, size)
    call check(size == 1000 .and. c_associated(detached, c_loc(buffer)), 'the attached buffer')
    call MPI_Sizeof(1d0, size)
    call check(size == 8, 'the size of double precision')
  end subroutine

  subroutine check_collectives
    integer :: values(ranks), sum, scanned
    type(MPI_Request) :: request
    type(MPI_Datatype) :: types(ranks)
    values = -1
    values(rank + 1) = rank
    call MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, values, 1, MPI_INTEGER, MPI_COMM_WORLD)
    call check(all(values == [(i, i = 0, ranks - 1)]), 'allgather in place')
    call MPI_Iallreduce(rank, sum, 1, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check(sum == ranks - 1, 'the largest')
    call MPI_Exscan(rank, scanned, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    if (rank > 0) call check(scanned == rank * (rank - 1) / 2, 'exscan')
    types = MPI_INTEGER
    call MPI_Alltoallw(MPI_IN_PLACE, [0], [0], [MPI_DATATYPE_NULL], values, [(1, i = 1, ranks)], &
                       [(4 * i, i = 0, ranks - 1)], types, MPI_COMM_WORLD)
    call check(all(values == rank), 'alltoallw in place')
  end subroutine

  subroutine check_types
    integer :: in, out, integers, addresses, datatypes, combiner, length, contents(3)
    integer(MPI_ADDRESS_KIND) :: address(1), lower, extent, where(1)
    type(MPI_Datatype) :: out_type, in_type, inner(1)
    character(MPI_MAX_OBJECT_NAME) :: name
    out = 100 + rank
    call MPI_Get_address(out, address(1))
    call MPI_Type_create_struct(1, [1], address, [MPI_INTEGER], out_type)
    call MPI_Type_commit(out_type)
    call MPI_Get_address(in, address(1))
    call MPI_Type_create_struct(1, [1], address, [MPI_INTEGER], in_type)
    call MPI_Type_commit(in_type)
    call MPI_Sendrecv(MPI_BOTTOM, 1, out_type, next, 4, MPI_BOTTOM, 1, in_type, previous, 4, &
                      MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call check(in == 100 + previous, 'from bottom to bottom')
    call MPI_Type_get_envelope(in_type, integers, addresses, datatypes, combiner)
    call check(combiner == MPI_COMBINER_STRUCT .and. datatypes == 1, 'the envelope')
    call MPI_Type_get_contents(in_type, integers, addresses, datatypes, contents, where, inner)
    call check(inner(1) == MPI_INTEGER .and. where(1) == address(1), 'the contents')
    call MPI_Type_free(in_type)
    call check(in_type == MPI_DATATYPE_NULL, 'a freed type')
    call MPI_Type_create_resized(MPI_INTEGER, 0_MPI_ADDRESS_KIND, 16_MPI_ADDRESS_KIND, in_type)
    call MPI_Type_get_extent(in_type, lower, extent)
    call check(lower == 0 .and. extent == 16, 'the extent')
    call MPI_Type_set_name(in_type, 'wide')
    call MPI_Type_get_name(in_type, name, length)
    call check(name == 'wide' .and. length == 4, 'a name')
    call MPI_Type_free(in_type)
    call MPI_Type_free(out_type)
  end subroutine

  subroutine check_functions
    type(MPI_Op) :: op
    type(MPI_Comm) :: comm
    type(MPI_Errhandler) :: handler
    type(MPI_Request) :: request
    type(MPI_Status) :: status
    integer :: product, keyval, code, class, length, count
    integer(MPI_ADDRESS_KIND) :: value, extra
    character(MPI_MAX_ERROR_STRING) :: text
    logical :: flag
    call MPI_Op_create(multiply, .true., op)
    call MPI_Allreduce(2, product, 1, MPI_INTEGER, op, MPI_COMM_WORLD)
    call check(product == 2**ranks, 'the program''s operation')
    call MPI_Op_commutative(op, flag)
    call check(flag, 'commutative')
    call MPI_Op_free(op)
    extra = 3
    call MPI_Comm_create_keyval(copy_attribute, delete_attribute, keyval, extra)
    value = 2_MPI_ADDRESS_KIND**40
    call MPI_Comm_set_attr(MPI_COMM_SELF, keyval, value)
    call MPI_Comm_dup(MPI_COMM_SELF, comm)
    call MPI_Comm_get_attr(comm, keyval, value, flag)
    call check(flag .and. value == 2_MPI_ADDRESS_KIND**40 + 3, 'a copied attribute')
    value = 8
    call MPI_Comm_set_attr(comm, keyval, value)
    deleted = 0
    call MPI_Comm_free(comm)
    call check(deleted == 8, 'an attribute at its end')
    value = 0
    call MPI_Comm_set_attr(MPI_COMM_SELF, keyval, value)
    call MPI_Comm_delete_attr(MPI_COMM_SELF, keyval)
    call MPI_Comm_free_keyval(keyval)
    call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, keyval, extra)
    value = 6
    call MPI_Comm_set_attr(MPI_COMM_SELF, keyval, value)
    call MPI_Comm_dup(MPI_COMM_SELF, comm)
    call MPI_Comm_get_attr(comm, keyval, value, flag)
    call check(flag .and. value == 6, 'a duplicated attribute')
    call MPI_Comm_free(comm)
    call MPI_Comm_create_errhandler(handle, handler)
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler)
    call MPI_Send(rank, 1, MPI_INTEGER, ranks + 5, 1, MPI_COMM_WORLD)
    call check(handled_class == MPI_ERR_RANK, 'the program''s handler')
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
    call MPI_Send(rank, -1, MPI_INTEGER, 0, 1, MPI_COMM_WORLD, code)
    call MPI_Error_class(code, class)
    call MPI_Error_string(code, text, length)
    call check(class == MPI_ERR_COUNT .and. len_trim(text) == length, 'a returned error')
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL)
    call MPI_Errhandler_free(handler)
    extra = 1
    call MPI_Grequest_start(query, release, cancel, extra, request)
    call MPI_Grequest_complete(request)
    call MPI_Wait(request, status)
    call MPI_Get_count(status, MPI_INTEGER, count)
    call check(count == 7 .and. status%MPI_TAG == 5 .and. queried == 11, 'a generalized request')
  end subroutine

  subroutine check_communicators
    type(MPI_Comm) :: half, graph, cart
    type(MPI_Group) :: group, first
    integer :: size, length, neighbours(1), degree_in, degree_out, dims(1), coords(1), down, up
    character(MPI_MAX_OBJECT_NAME) :: name
    logical :: weighted, periods(1)
    call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), rank, half)
    call check(half /= MPI_COMM_WORLD, 'other communicators')
    call MPI_Comm_set_name(half, 'half')
    call MPI_Comm_get_name(half, name, length)
    call check(name == 'half' .and. length == 4, 'a communicator''s name')
    call MPI_Comm_free(half)
    call check(half == MPI_COMM_NULL, 'a freed communicator')
    call MPI_Comm_group(MPI_COMM_WORLD, group)
    call MPI_Group_incl(group, 1, [0], first)
    call MPI_Group_size(first, size)
    call check(size == 1, 'the first rank')
    call MPI_Group_free(first)
    call MPI_Group_free(group)
    call MPI_Cart_create(MPI_COMM_WORLD, 1, [ranks], [.true.], .false., cart)
    call MPI_Cart_get(cart, 1, dims, periods, coords)
    call MPI_Cart_shift(cart, 0, 1, down, up)
    call check(periods(1) .and. dims(1) == ranks .and. down == previous .and. up == next, 'a ring')
    call MPI_Comm_free(cart)
    call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, [previous], MPI_UNWEIGHTED, 1, [next], &
                                        MPI_UNWEIGHTED, MPI_INFO_NULL, .false., graph)
    call MPI_Dist_graph_neighbors_count(graph, degree_in, degree_out, weighted)
    call check(degree_in == 1 .and. degree_out == 1 .and. .not. weighted, 'without weights')
    call MPI_Neighbor_alltoall(rank, 1, MPI_INTEGER, neighbours, 1, MPI_INTEGER, graph)
    call check(neighbours(1) == previous, 'from the neighbour')
    call MPI_Comm_free(graph)
  end subroutine

  subroutine check_windows
    type(MPI_Win) :: win
    type(c_ptr) :: base
    integer, pointer :: memory(:)
    integer(MPI_ADDRESS_KIND) :: value
    logical :: flag
    call MPI_Win_allocate(8_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, base, win)
    call c_f_pointer(base, memory, [2])
    memory = 0
    call MPI_Win_fence(0, win)
    call MPI_Put(rank + 1, 1, MPI_INTEGER, next, 1_MPI_ADDRESS_KIND, 1, MPI_INTEGER, win)
    call MPI_Win_fence(0, win)
    call check(memory(1) == 0 .and. memory(2) == previous + 1, 'put')
    call MPI_Win_get_attr(win, MPI_WIN_SIZE, value, flag)
    call check(flag .and. value == 8, 'the window''s size')
    call MPI_Win_free(win)
    call check(win == MPI_WIN_NULL, 'a freed window')
  end subroutine

  subroutine check_files
    type(MPI_File) :: file
    type(MPI_Status) :: status
    type(MPI_Datatype) :: type, file_type
    integer :: value, count, code, class
    integer(MPI_OFFSET_KIND) :: offset
    character(MPI_MAX_DATAREP_STRING) :: representation
    call MPI_File_open(MPI_COMM_WORLD, 'fortran-f08.data', MPI_MODE_CREATE + MPI_MODE_RDWR, &
                       MPI_INFO_NULL, file)
    call MPI_File_set_view(file, 4_MPI_OFFSET_KIND * rank, MPI_INTEGER, MPI_INTEGER, 'native', &
                           MPI_INFO_NULL)
    call MPI_File_write_all(file, rank + 1, 1, MPI_INTEGER, status)
    call MPI_Get_count(status, MPI_INTEGER, count)
    call check(count == 1, 'written')
    call MPI_File_get_view(file, offset, type, file_type, representation)
    call check(offset == 4 * rank .and. type == MPI_INTEGER .and. representation == 'native', 'view')
    call MPI_File_sync(file)
    call MPI_Barrier(MPI_COMM_WORLD)
    call MPI_File_set_view(file, 0_MPI_OFFSET_KIND, MPI_INTEGER, MPI_INTEGER, 'native', &
                           MPI_INFO_NULL)
    call MPI_File_read_at(file, int(next, MPI_OFFSET_KIND), value, 1, MPI_INTEGER, &
                          MPI_STATUS_IGNORE)
    call check(value == next + 1, 'read')
    call MPI_File_close(file)
    call check(file == MPI_FILE_NULL, 'closed')
    call MPI_Barrier(MPI_COMM_WORLD)
    if (rank == 0) call MPI_File_delete('fortran-f08.data', MPI_INFO_NULL)
    call MPI_File_open(MPI_COMM_SELF, 'no/such/file', MPI_MODE_RDONLY, MPI_INFO_NULL, file, code)
    call MPI_Error_class(code, class)
    call check(class == MPI_ERR_NO_SUCH_FILE, 'files'' errors are returned')
  end subroutine

  subroutine check_info
    type(MPI_Info) :: info
    integer :: length
    character(20) :: value
    logical :: flag
    call MPI_Info_create(info)
    call MPI_Info_set(info, 'key', 'its value')
    call MPI_Info_get(info, 'key', 20, value, flag)
    call check(flag .and. value == 'its value', 'a value')
    call MPI_Info_get_valuelen(info, 'key', length, flag)
    call check(flag .and. length == 9, 'its length')
    call MPI_Info_free(info)
    call check(info == MPI_INFO_NULL, 'a freed info')
  end subroutine
end program
