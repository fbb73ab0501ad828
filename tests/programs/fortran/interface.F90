! Checks what Fortran programs need from an MPI library, through mpif.h (with -DMPIF_H) or the module
! mpi: each kind of argument and each constant that is an address. Any number of ranks. Rank 0
! prints what it found and how many checks failed; the output does not depend on the library.
module functions
#ifdef MPIF_H
  implicit none
  include 'mpif.h'
#else
  use mpi
  implicit none
#endif
  integer :: handled_class = 0, deleted = 0, queried = 0, freed = 0

contains

  subroutine multiply(in, inout, length, datatype)
    integer :: length, datatype, in(length), inout(length)
    if (datatype == MPI_INTEGER) inout = in * inout
  end subroutine

  ! Keeps the rank's last digit only where it stands first: not commutative.
  subroutine append(in, inout, length, datatype)
    integer :: length, datatype, in(length), inout(length)
    inout = in * 10 + inout
    if (datatype == MPI_DATATYPE_NULL) inout = 0
  end subroutine

  subroutine handle(object, code)
    integer :: object, code, ierr
    call MPI_Error_class(code, handled_class, ierr)
    if (object == -1) handled_class = 0
  end subroutine

  subroutine copy_attribute(object, keyval, extra, in, out, flag, ierr)
    integer :: object, keyval, ierr
    integer(MPI_ADDRESS_KIND) :: extra, in, out
    logical :: flag
    out = in + extra
    flag = object >= 0 .or. keyval /= MPI_KEYVAL_INVALID
    ierr = MPI_SUCCESS
  end subroutine

  subroutine delete_attribute(object, keyval, value, extra, ierr)
    integer :: object, keyval, ierr
    integer(MPI_ADDRESS_KIND) :: extra, value
    deleted = deleted + int(value)
    ierr = MPI_SUCCESS
    if (object == -1 .and. keyval == -1 .and. extra == -1) ierr = MPI_ERR_OTHER
  end subroutine

  subroutine copy_integer(object, keyval, extra, in, out, flag, ierr)
    integer :: object, keyval, ierr, extra, in, out
    logical :: flag
    out = in - extra
    flag = .true.
    ierr = MPI_SUCCESS
    if (object == -1 .and. keyval == -1) ierr = MPI_ERR_OTHER
  end subroutine

  subroutine delete_integer(object, keyval, value, extra, ierr)
    integer :: object, keyval, ierr, extra, value
    deleted = deleted + value + extra
    ierr = MPI_SUCCESS
    if (object == -1 .and. keyval == -1) ierr = MPI_ERR_OTHER
  end subroutine

  subroutine query(extra, status, ierr)
    integer(MPI_ADDRESS_KIND) :: extra
    integer :: status(MPI_STATUS_SIZE), ierr
    queried = queried + int(extra)
    call MPI_Status_set_elements(status, MPI_INTEGER, 7, ierr)
    call MPI_Status_set_cancelled(status, .false., ierr)
    status(MPI_SOURCE) = MPI_UNDEFINED
    status(MPI_TAG) = 5
    ierr = MPI_SUCCESS
  end subroutine

  subroutine release(extra, ierr)
    integer(MPI_ADDRESS_KIND) :: extra
    integer :: ierr
    freed = freed + int(extra)
    ierr = MPI_SUCCESS
  end subroutine

  subroutine cancel(extra, complete, ierr)
    integer(MPI_ADDRESS_KIND) :: extra
    logical :: complete
    integer :: ierr
    if (.not. complete) freed = freed + 100 * int(extra)
    ierr = MPI_SUCCESS
  end subroutine
end module

program interface
  use, intrinsic :: iso_c_binding
  use functions
  implicit none
  integer :: ierr, rank, ranks, next, previous, failures, total, color

  interface
    function seen_by_c(comm, datatype, op, request, info, group, file, status) bind(c) result(good)
      import
      integer(c_int), value :: comm, datatype, op, request, info, group, file
      integer(c_int) :: status(*)
      integer(c_int) :: good
    end function
    function made_by_c() bind(c) result(comm)
      import
      integer(c_int) :: comm
    end function
  end interface

  failures = 0
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  next = mod(rank + 1, ranks)
  previous = mod(rank + ranks - 1, ranks)
  color = mod(rank, 2)
  call check_environment
  call check_messages
  call check_several_requests
  call check_bottom
  call check_collectives
  call check_types
  call check_operations
  call check_attributes
  call check_old_attributes
  call check_communicators
  call check_topologies
  call check_errors
  call check_windows
  call check_files
  call check_generalized_requests
  call check_info
  call check_c
  total = failures
  call MPI_Allreduce(MPI_IN_PLACE, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  if (rank == 0) print '(i0, a)', total, ' checks failed'
  call MPI_Finalize(ierr)

contains

  subroutine check(condition, what)
    logical, intent(in) :: condition
    character(*), intent(in) :: what
    if (condition) return
    print *, 'rank', rank, 'not so: ', what
    failures = failures + 1
  end subroutine

  subroutine check_environment
    logical :: flag
    integer :: provided, version, subversion, length, size
    character(MPI_MAX_LIBRARY_VERSION_STRING) :: library
    character(MPI_MAX_PROCESSOR_NAME) :: name
    double precision :: number
    complex :: pair
    character :: letter
    integer :: vector(3)
    call MPI_Initialized(flag, ierr)
    call check(flag, 'initialized')
    call MPI_Finalized(flag, ierr)
    call check(.not. flag, 'not finalized')
    call MPI_Is_thread_main(flag, ierr)
    call check(flag, 'the main thread')
    call MPI_Query_thread(provided, ierr)
    call check(provided >= MPI_THREAD_SINGLE .and. provided <= MPI_THREAD_MULTIPLE, 'a level')
    call MPI_Get_version(version, subversion, ierr)
    call check(version == MPI_VERSION .and. subversion == MPI_SUBVERSION, 'the version')
    call MPI_Get_library_version(library, length, ierr)
    call check(index(library(1:length), 'Open MPI') > 0, 'the library')
    call MPI_Get_processor_name(name, length, ierr)
    call check(length > 0 .and. len_trim(name) == length, 'the processor''s name')
    call check(MPI_Wtime() >= 0 .and. MPI_Wtick() > 0 .and. PMPI_Wtime() >= 0, 'the clock')
    call MPI_Sizeof(number, size, ierr)
    call check(size == 8, 'the size of double precision')
    call MPI_Sizeof(vector, size, ierr)
    call check(size == 4, 'the size of integers')
    call MPI_Sizeof(pair, size, ierr)
    call check(size == 8, 'the size of complex')
    call MPI_Sizeof(letter, size, ierr)
    call check(size == 1, 'the size of character')
    call MPI_Pcontrol(1)
  end subroutine

  subroutine check_messages
    integer :: status(MPI_STATUS_SIZE), out(4), in(4), count, request, requests(2), message
    integer :: bytes
    logical :: flag
    character(40) :: text
    character :: buffer(1000)
    out = rank
    in = -1
    call MPI_Sendrecv(out, 3, MPI_INTEGER, next, 17, in, 4, MPI_INTEGER, MPI_ANY_SOURCE, &
                      MPI_ANY_TAG, MPI_COMM_WORLD, status, ierr)
    call check(ierr == MPI_SUCCESS .and. all(in(1:3) == previous) .and. in(4) == -1, 'sendrecv')
    call check(status(MPI_SOURCE) == previous .and. status(MPI_TAG) == 17, 'source and tag')
    call MPI_Get_count(status, MPI_INTEGER, count, ierr)
    call check(count == 3, 'count')
    call MPI_Get_elements(status, MPI_INTEGER, count, ierr)
    call check(count == 3, 'elements')
    call MPI_Test_cancelled(status, flag, ierr)
    call check(.not. flag, 'not cancelled')
    call MPI_Isend('hello from Fortran', 18, MPI_CHARACTER, next, 1, MPI_COMM_WORLD, request, ierr)
    call MPI_Probe(previous, 1, MPI_COMM_WORLD, status, ierr)
    call MPI_Get_count(status, MPI_CHARACTER, count, ierr)
    text = ' '
    call MPI_Recv(text, count, MPI_CHARACTER, previous, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    call check(text == 'hello from Fortran', 'text')
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
    call check(request == MPI_REQUEST_NULL, 'a completed request is null')
    call MPI_Send_init(out, 1, MPI_INTEGER, next, 2, MPI_COMM_WORLD, requests(1), ierr)
    call MPI_Recv_init(in, 1, MPI_INTEGER, previous, 2, MPI_COMM_WORLD, requests(2), ierr)
    call MPI_Startall(2, requests, ierr)
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierr)
    call check(all(requests /= MPI_REQUEST_NULL), 'persistent requests stay')
    call MPI_Request_free(requests(1), ierr)
    call MPI_Request_free(requests(2), ierr)
    call check(all(requests == MPI_REQUEST_NULL) .and. in(1) == previous, 'freed requests')
    call MPI_Buffer_attach(buffer, 1000, ierr)
    call MPI_Bsend(out, 1, MPI_INTEGER, next, 3, MPI_COMM_WORLD, ierr)
    call MPI_Mprobe(previous, 3, MPI_COMM_WORLD, message, status, ierr)
    call MPI_Mrecv(in(2), 1, MPI_INTEGER, message, status, ierr)
    call check(in(2) == previous .and. message == MPI_MESSAGE_NULL, 'a matched message')
    call MPI_Buffer_detach(buffer, bytes, ierr)
    call check(bytes == 1000, 'the attached buffer')
    call MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, flag, status, ierr)
    call check(.not. flag, 'no message')
    call MPI_Recv(in, 1, MPI_INTEGER, MPI_PROC_NULL, 1, MPI_COMM_WORLD, status, ierr)
    call check(status(MPI_SOURCE) == MPI_PROC_NULL, 'from nowhere')
    call MPI_Irecv(in, 1, MPI_INTEGER, rank, 98, MPI_COMM_WORLD, request, ierr)
    call MPI_Cancel(request, ierr)
    call MPI_Wait(request, status, ierr)
    call MPI_Test_cancelled(status, flag, ierr)
    call check(flag, 'cancelled')
  end subroutine

  subroutine check_several_requests
    integer, parameter :: n = 6
    integer :: out(n), in(n), requests(n), sends(n), statuses(MPI_STATUS_SIZE, n), i, k, found
    integer :: indices(n), status(MPI_STATUS_SIZE)
    logical :: flag, seen(n)
    seen = .false.
    do i = 1, n
      out(i) = 10 * rank + i
      call MPI_Irecv(in(i), 1, MPI_INTEGER, previous, i, MPI_COMM_WORLD, requests(i), ierr)
    end do
    call MPI_Testany(n, requests, k, flag, status, ierr)
    call check(.not. flag, 'nothing yet')
    call MPI_Barrier(MPI_COMM_WORLD, ierr)  ! no rank sends before all have looked
    do i = n, 1, -1
      call MPI_Isend(out(i), 1, MPI_INTEGER, next, i, MPI_COMM_WORLD, sends(i), ierr)
    end do
    call MPI_Waitany(n, requests, k, status, ierr)
    call check(k >= 1 .and. k <= n, 'an index from 1')
    call check(status(MPI_TAG) == k .and. requests(k) == MPI_REQUEST_NULL, 'that of the message')
    seen(k) = .true.
    do while (count(seen) < n)
      call MPI_Waitsome(n, requests, found, indices, statuses, ierr)
      do i = 1, found
        call check(.not. seen(indices(i)) .and. statuses(MPI_TAG, i) == indices(i), 'some')
        seen(indices(i)) = .true.
      end do
    end do
    call check(all(in == [(10 * previous + i, i = 1, n)]), 'all arrived')
    call MPI_Waitany(n, requests, k, MPI_STATUS_IGNORE, ierr)
    call check(k == MPI_UNDEFINED, 'no active request')
    call MPI_Waitsome(n, requests, found, indices, MPI_STATUSES_IGNORE, ierr)
    call check(found == MPI_UNDEFINED, 'no active requests')
    call MPI_Waitall(n, sends, statuses, ierr)
    flag = .false.
    call MPI_Testall(n, requests, flag, MPI_STATUSES_IGNORE, ierr)
    call check(flag, 'all complete')
    call MPI_Test(requests(1), flag, MPI_STATUS_IGNORE, ierr)
    call check(flag, 'null is complete')
    call MPI_Testsome(n, requests, found, indices, statuses, ierr)
    call check(found == MPI_UNDEFINED, 'none of them active')
  end subroutine

  subroutine check_bottom
    integer :: in, out, lengths(1), out_type, in_type
    integer(MPI_ADDRESS_KIND) :: address(1), base
    out = 100 + rank
    lengths = 1
    call MPI_Get_address(out, address(1), ierr)
    call MPI_Type_create_hindexed(1, lengths, address, MPI_INTEGER, out_type, ierr)
    call MPI_Type_commit(out_type, ierr)
    call MPI_Get_address(in, address(1), ierr)
    call MPI_Type_create_hindexed(1, lengths, address, MPI_INTEGER, in_type, ierr)
    call MPI_Type_commit(in_type, ierr)
    call MPI_Sendrecv(MPI_BOTTOM, 1, out_type, next, 4, MPI_BOTTOM, 1, in_type, previous, 4, &
                      MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    call check(in == 100 + previous, 'from bottom to bottom')
    call MPI_Get_address(MPI_BOTTOM, base, ierr)
    call check(base == 0 .and. MPI_Aint_diff(address(1), base) == address(1), 'bottom')
    call check(MPI_Aint_add(base, address(1)) == address(1), 'the sum of addresses')
    call MPI_Type_free(out_type, ierr)
    call MPI_Type_free(in_type, ierr)
    call check(in_type == MPI_DATATYPE_NULL, 'a freed type')
  end subroutine

  subroutine check_collectives
    integer :: values(ranks), counts(ranks), places(ranks), types(ranks), i, sum, request
    integer :: part(2), many(2 * ranks), scanned
    character(10) :: word
    values = -1
    values(rank + 1) = rank
    call MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, values, 1, MPI_INTEGER, &
                       MPI_COMM_WORLD, ierr)
    call check(all(values == [(i, i = 0, ranks - 1)]), 'allgather in place')
    word = ' '
    if (rank == 0) word = 'broadcast'
    call MPI_Bcast(word, 10, MPI_CHARACTER, 0, MPI_COMM_WORLD, ierr)
    call check(word == 'broadcast', 'broadcast')
    counts = 2
    places = [(2 * (ranks - i), i = 1, ranks)]
    part = [rank, -rank]
    call MPI_Gatherv(part, 2, MPI_INTEGER, many, counts, places, MPI_INTEGER, 0, MPI_COMM_WORLD, &
                     ierr)
    if (rank == 0) call check(many(1) == ranks - 1 .and. many(2 * ranks) == 0, 'gatherv')
    call MPI_Scatterv(many, counts, places, MPI_INTEGER, part, 2, MPI_INTEGER, 0, MPI_COMM_WORLD, &
                      ierr)
    call check(part(1) == rank .and. part(2) == -rank, 'scatterv')
    if (rank == 0) then
      call MPI_Reduce(MPI_IN_PLACE, part, 2, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, ierr)
      call check(part(1) == ranks * (ranks - 1) / 2, 'reduce in place')
    else
      call MPI_Reduce(part, many, 2, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, ierr)
    end if
    sum = rank + 1
    call MPI_Iallreduce(MPI_IN_PLACE, sum, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request, ierr)
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
    call check(sum == ranks * (ranks + 1) / 2, 'iallreduce in place')
    call MPI_Scan(rank, scanned, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
    call check(scanned == rank * (rank + 1) / 2, 'scan')
    values = rank
    counts = 1
    places = [(4 * i, i = 0, ranks - 1)]
    types = MPI_INTEGER
    call MPI_Alltoallw(values, counts, places, types, many, counts, places, types, MPI_COMM_WORLD, &
                       ierr)
    call check(all(many(1:ranks) == [(i, i = 0, ranks - 1)]), 'alltoallw')
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
  end subroutine

  subroutine check_types
    integer :: vector, sub, struct, real_type, sizes(2), subsizes(2), starts(2), matrix(4, 5), i
    integer :: integers, addresses, datatypes, combiner, lengths(2), types(2), length, position
    integer :: contents(20), inner(5), status(MPI_STATUS_SIZE), packed_size, size
    integer(MPI_ADDRESS_KIND) :: places(2), lower, extent, where(5)
    integer(MPI_COUNT_KIND) :: large
    character(MPI_MAX_OBJECT_NAME) :: name
    character :: packed(200)
    double precision :: value
    call MPI_Type_vector(3, 1, 4, MPI_INTEGER, vector, ierr)
    call MPI_Type_get_extent(vector, lower, extent, ierr)
    call check(lower == 0 .and. extent == 36, 'the extent of a vector')
    call MPI_Type_size_x(vector, large, ierr)
    call check(large == 12, 'its size')
    sizes = [4, 5]
    subsizes = [2, 3]
    starts = [1, 1]
    call MPI_Type_create_subarray(2, sizes, subsizes, starts, MPI_ORDER_FORTRAN, MPI_INTEGER, sub, &
                                  ierr)
    call MPI_Type_commit(sub, ierr)
    matrix = 0
    if (rank == 0) matrix = reshape([(i, i = 1, 20)], [4, 5])
    call MPI_Bcast(matrix, 1, sub, 0, MPI_COMM_WORLD, ierr)
    call check(matrix(2, 2) == 6 .and. matrix(3, 4) == 15, 'a part of a matrix')
    if (rank /= 0) call check(matrix(1, 1) == 0 .and. sum(matrix) == 63, 'that part only')
    call MPI_Type_get_envelope(sub, integers, addresses, datatypes, combiner, ierr)
    call check(combiner == MPI_COMBINER_SUBARRAY .and. integers == 8 .and. datatypes == 1, &
               'the envelope')
    call MPI_Type_get_contents(sub, 8, 0, 1, contents, where, inner, ierr)
    call check(contents(8) == MPI_ORDER_FORTRAN .and. inner(1) == MPI_INTEGER, 'the contents')
    lengths = [1, 2]
    types = [MPI_DOUBLE_PRECISION, MPI_INTEGER]
    places = [0_MPI_ADDRESS_KIND, 8_MPI_ADDRESS_KIND]
    call MPI_Type_create_struct(2, lengths, places, types, struct, ierr)
    call MPI_Type_commit(struct, ierr)
    call MPI_Type_set_name(struct, 'pair of things ', ierr)
    call MPI_Type_get_name(struct, name, length, ierr)
    call check(name == 'pair of things' .and. length == 14, 'a name without blanks around it')
    call MPI_Type_get_name(MPI_DOUBLE_PRECISION, name, length, ierr)
    call check(name == 'MPI_DOUBLE_PRECISION', 'a predefined name')
    position = 0
    call MPI_Pack(rank, 1, MPI_INTEGER, packed, 200, position, MPI_COMM_WORLD, ierr)
    call MPI_Pack(2.5d0, 1, MPI_DOUBLE_PRECISION, packed, 200, position, MPI_COMM_WORLD, ierr)
    call MPI_Pack_size(1, MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, packed_size, ierr)
    call check(packed_size >= 8, 'the size of what is packed')
    call MPI_Sendrecv_replace(packed, position, MPI_PACKED, next, 5, previous, 5, MPI_COMM_WORLD, &
                              status, ierr)
    position = 0
    call MPI_Unpack(packed, 200, position, i, 1, MPI_INTEGER, MPI_COMM_WORLD, ierr)
    call MPI_Unpack(packed, 200, position, value, 1, MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, ierr)
    call check(i == previous .and. value == 2.5d0, 'unpacked')
    position = 0
    call MPI_Pack_external_size('external32', 2, MPI_INTEGER, extent, ierr)
    call check(extent == 8, 'the size in external32')
    call MPI_Type_create_f90_real(15, 307, real_type, ierr)
    call MPI_Type_size(real_type, size, ierr)
    call check(size == 8, 'a real type by precision')
    call MPI_Type_match_size(MPI_TYPECLASS_REAL, 4, real_type, ierr)
    call check(ierr == MPI_SUCCESS .and. real_type /= MPI_DATATYPE_NULL, 'a real type by size')
    call MPI_Type_free(vector, ierr)
    call MPI_Type_free(sub, ierr)
    call MPI_Type_free(struct, ierr)
  end subroutine

  subroutine check_operations
    integer :: op, value, product, i, digits, pair(2), least(2)
    logical :: commutes, all_true
    call MPI_Op_create(multiply, .true., op, ierr)
    value = 2
    call MPI_Allreduce(value, product, 1, MPI_INTEGER, op, MPI_COMM_WORLD, ierr)
    call check(product == 2**ranks, 'the program''s operation')
    call MPI_Op_commutative(op, commutes, ierr)
    call check(commutes, 'commutative')
    call MPI_Op_free(op, ierr)
    call check(op == MPI_OP_NULL, 'a freed operation')
    call MPI_Op_create(append, .false., op, ierr)
    value = mod(rank, 10)
    call MPI_Reduce(value, digits, 1, MPI_INTEGER, op, 0, MPI_COMM_SELF, ierr)
    call check(digits == value, 'of one rank')
    call MPI_Op_commutative(op, commutes, ierr)
    call check(.not. commutes, 'not commutative')
    i = 3
    call MPI_Reduce_local(4, i, 1, MPI_INTEGER, op, ierr)
    call check(i == 43, 'on one rank')
    call MPI_Op_free(op, ierr)
    pair = [mod(rank + 1, ranks), rank]
    call MPI_Allreduce(pair, least, 1, MPI_2INTEGER, MPI_MINLOC, MPI_COMM_WORLD, ierr)
    call check(least(1) == 0 .and. least(2) == ranks - 1, 'where the least is')
    call MPI_Allreduce(rank >= 0, all_true, 1, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD, ierr)
    call check(all_true, 'all true')
  end subroutine

  subroutine check_attributes
    integer :: keyval, other, comm, type_keyval, double
    integer(MPI_ADDRESS_KIND) :: value, extra
    logical :: flag
    extra = 3
    deleted = 0
    call MPI_Comm_create_keyval(copy_attribute, delete_attribute, keyval, extra, ierr)
    value = 2_MPI_ADDRESS_KIND**40
    call MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, value, ierr)
    call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierr)
    value = 0
    call MPI_Comm_get_attr(comm, keyval, value, flag, ierr)
    call check(flag .and. value == 2_MPI_ADDRESS_KIND**40 + 3, 'a copied attribute')
    value = 10
    call MPI_Comm_set_attr(comm, keyval, value, ierr)
    deleted = 0
    call MPI_Comm_delete_attr(comm, keyval, ierr)
    call check(deleted == 10, 'a deleted attribute')
    call MPI_Comm_get_attr(comm, keyval, value, flag, ierr)
    call check(.not. flag, 'no attribute')
    value = 5
    call MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, value, ierr)
    call MPI_Comm_delete_attr(MPI_COMM_WORLD, keyval, ierr)
    call MPI_Comm_free_keyval(keyval, ierr)
    call check(keyval == MPI_KEYVAL_INVALID, 'a freed keyval')
    call MPI_Comm_free(comm, ierr)
    call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, keyval, extra, ierr)
    call MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, other, extra, ierr)
    call MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, value, ierr)
    call MPI_Comm_set_attr(MPI_COMM_WORLD, other, value, ierr)
    call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierr)
    value = 0
    call MPI_Comm_get_attr(comm, keyval, value, flag, ierr)
    call check(flag .and. value == 5, 'a duplicated attribute')
    call MPI_Comm_get_attr(comm, other, value, flag, ierr)
    call check(.not. flag, 'an attribute that is not copied')
    call MPI_Comm_free(comm, ierr)
    call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, value, flag, ierr)
    call check(flag .and. value >= 32767, 'the largest tag')
    call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, value, flag, ierr)
    call check(flag .and. (value == 0 .or. value == 1), 'whether clocks agree')
    call MPI_Type_create_keyval(MPI_TYPE_DUP_FN, MPI_TYPE_NULL_DELETE_FN, type_keyval, extra, ierr)
    call MPI_Type_dup(MPI_INTEGER, double, ierr)
    value = 9
    call MPI_Type_set_attr(double, type_keyval, value, ierr)
    value = 0
    call MPI_Type_get_attr(double, type_keyval, value, flag, ierr)
    call check(flag .and. value == 9, 'a type''s attribute')
    call MPI_Type_free(double, ierr)
  end subroutine

  subroutine check_old_attributes
    integer :: keyval, comm, value
    logical :: flag
    deleted = 0
    call MPI_Keyval_create(copy_integer, delete_integer, keyval, 4, ierr)
    call MPI_Attr_put(MPI_COMM_SELF, keyval, 44, ierr)
    call MPI_Comm_dup(MPI_COMM_SELF, comm, ierr)
    call MPI_Attr_get(comm, keyval, value, flag, ierr)
    call check(flag .and. value == 40, 'a copied attribute of MPI-1')
    call MPI_Comm_free(comm, ierr)
    call check(deleted == 44, 'an attribute of MPI-1 at its end')
    call MPI_Attr_delete(MPI_COMM_SELF, keyval, ierr)
    call MPI_Keyval_free(keyval, ierr)
    call MPI_Attr_get(MPI_COMM_WORLD, MPI_TAG_UB, value, flag, ierr)
    call check(flag .and. value >= 32767, 'the largest tag as in MPI-1')
    call MPI_Attr_get(MPI_COMM_WORLD, MPI_HOST, value, flag, ierr)
    call check(flag .and. value == MPI_PROC_NULL, 'no host')
  end subroutine

  subroutine check_communicators
    integer :: half, group, odd, result, members, list(1), translated(1), inter, merged
    integer :: size, node, range(3, 1)
    character(MPI_MAX_OBJECT_NAME) :: name
    integer :: length
    logical :: flag
    call MPI_Comm_split(MPI_COMM_WORLD, color, -rank, half, ierr)
    call MPI_Comm_compare(MPI_COMM_WORLD, half, result, ierr)
    call check(result /= MPI_IDENT, 'other communicators')
    call MPI_Comm_set_name(half, '  half of them', ierr)
    call MPI_Comm_get_name(half, name, length, ierr)
    call check(name == 'half of them' .and. length == 12, 'a communicator''s name')
    call MPI_Comm_get_name(MPI_COMM_WORLD, name, length, ierr)
    call check(name(1:length) == 'MPI_COMM_WORLD', 'the world''s name')
    call MPI_Comm_group(MPI_COMM_WORLD, group, ierr)
    list = ranks - 1
    call MPI_Group_excl(group, 1, list, odd, ierr)
    call MPI_Group_size(odd, members, ierr)
    call check(members == ranks - 1, 'without the last')
    list = 0
    call MPI_Group_translate_ranks(group, 1, list, odd, translated, ierr)
    call check(translated(1) == merge(MPI_UNDEFINED, 0, ranks == 1), 'the first one''s rank')
    call MPI_Group_free(odd, ierr)
    call check(odd == MPI_GROUP_NULL, 'a freed group')
    range(:, 1) = [0, ranks - 1, 2]
    call MPI_Group_range_incl(group, 1, range, odd, ierr)
    call MPI_Group_size(odd, members, ierr)
    call check(members == (ranks + 1) / 2, 'each second one')
    call MPI_Group_free(odd, ierr)
    call MPI_Group_free(group, ierr)
    if (ranks > 1) then
      ! The leaders have the last rank of their halves.
      call MPI_Comm_size(half, size, ierr)
      call MPI_Intercomm_create(half, size - 1, MPI_COMM_WORLD, 1 - color, 6, inter, ierr)
      call MPI_Comm_test_inter(inter, flag, ierr)
      call check(flag, 'an intercommunicator')
      call MPI_Comm_remote_size(inter, members, ierr)
      call check(members + size == ranks, 'the other side')
      call MPI_Intercomm_merge(inter, color == 1, merged, ierr)
      call MPI_Comm_size(merged, size, ierr)
      call check(size == ranks, 'both sides')
      call MPI_Comm_free(merged, ierr)
      call MPI_Comm_free(inter, ierr)
    end if
    call MPI_Comm_free(half, ierr)
    call check(half == MPI_COMM_NULL, 'a freed communicator')
    call MPI_Comm_split(MPI_COMM_WORLD, MPI_UNDEFINED, 0, half, ierr)
    call check(half == MPI_COMM_NULL, 'a part of none')
    call MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, node, ierr)
    call MPI_Comm_size(node, size, ierr)
    call check(size >= 1, 'those that share memory')
    call MPI_Comm_free(node, ierr)
    call MPI_Comm_get_parent(inter, ierr)
    call check(inter == MPI_COMM_NULL, 'not spawned')
  end subroutine

  subroutine check_topologies
    integer :: dims(2), coords(2), comm, down, up, topology, graph, sources(1), targets(1)
    integer :: weights(1), in_degree, out_degree, got_sources(1), got_targets(1), out_weights(1)
    logical :: periods(2), weighted, got_periods(2), keep(2)
    dims = 0
    call MPI_Dims_create(ranks, 2, dims, ierr)
    call check(product(dims) == ranks, 'dimensions')
    periods = [.true., .false.]
    call MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, .false., comm, ierr)
    call MPI_Cart_get(comm, 2, dims, got_periods, coords, ierr)
    call check(got_periods(1) .and. .not. got_periods(2), 'periodic in one dimension')
    call MPI_Cart_shift(comm, 1, 1, down, up, ierr)
    if (coords(2) == 0) call check(down == MPI_PROC_NULL, 'no neighbour')
    call MPI_Topo_test(comm, topology, ierr)
    call check(topology == MPI_CART, 'Cartesian')
    keep = [.true., .false.]
    call MPI_Cart_sub(comm, keep, graph, ierr)
    call MPI_Comm_size(graph, in_degree, ierr)
    call check(in_degree == dims(1), 'a column')
    call MPI_Comm_free(graph, ierr)
    call MPI_Comm_free(comm, ierr)
    sources = previous
    targets = next
    weights = 3
    call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, sources, MPI_UNWEIGHTED, 1, targets, &
                                        MPI_UNWEIGHTED, MPI_INFO_NULL, .false., graph, ierr)
    call MPI_Dist_graph_neighbors_count(graph, in_degree, out_degree, weighted, ierr)
    call check(in_degree == 1 .and. out_degree == 1 .and. .not. weighted, 'without weights')
    call MPI_Neighbor_allgather(rank, 1, MPI_INTEGER, got_sources, 1, MPI_INTEGER, graph, ierr)
    call check(got_sources(1) == previous, 'from the neighbour')
    call MPI_Comm_free(graph, ierr)
    call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, sources, weights, 1, targets, weights, &
                                        MPI_INFO_NULL, .false., graph, ierr)
    call MPI_Dist_graph_neighbors(graph, 1, got_sources, weights, 1, got_targets, out_weights, ierr)
    call check(got_targets(1) == next .and. out_weights(1) == 3, 'with weights')
    call MPI_Comm_free(graph, ierr)
  end subroutine

  subroutine check_errors
    integer :: handler, old, class, code, length, kind
    character(MPI_MAX_ERROR_STRING) :: text
    call MPI_Comm_create_errhandler(handle, handler, ierr)
    call MPI_Comm_get_errhandler(MPI_COMM_WORLD, old, ierr)
    call check(old == MPI_ERRORS_ARE_FATAL, 'the first handler')
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler, ierr)
    call MPI_Send(rank, 1, MPI_INTEGER, ranks + 5, 1, MPI_COMM_WORLD, code)
    call check(handled_class == MPI_ERR_RANK, 'the program''s handler')
    call MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_TAG, ierr)
    call check(handled_class == MPI_ERR_TAG, 'called by the program')
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierr)
    call MPI_Errhandler_free(handler, ierr)
    call check(handler == MPI_ERRHANDLER_NULL, 'a freed handler')
    call MPI_Send(rank, -1, MPI_INTEGER, 0, 1, MPI_COMM_WORLD, code)
    call MPI_Error_class(code, class, ierr)
    call check(class == MPI_ERR_COUNT, 'a returned error')
    call MPI_Error_string(code, text, length, ierr)
    call check(length > 5 .and. len_trim(text) == length, 'its text')
    call MPI_Add_error_class(class, ierr)
    call MPI_Add_error_code(class, code, ierr)
    call MPI_Add_error_string(code, 'a sad thing', ierr)
    call MPI_Error_string(code, text, length, ierr)
    call check(text == 'a sad thing', 'the program''s own text')
    call MPI_Error_class(code, kind, ierr)
    call check(kind == class .and. class > MPI_ERR_LASTCODE, 'the program''s own class')
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, old, ierr)
  end subroutine

  subroutine check_windows
    integer :: memory(4), win, origin, got(2), old, disp_unit
    integer(MPI_ADDRESS_KIND) :: size, place, value
    integer(MPI_ADDRESS_KIND) :: address
    integer, pointer :: shared(:)
    logical :: flag
    type(c_ptr) :: pointer
    memory = rank
    size = 16
    call MPI_Win_create(memory, size, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win, ierr)
    call MPI_Win_fence(0, win, ierr)
    origin = 100 + rank
    place = 2
    call MPI_Put(origin, 1, MPI_INTEGER, next, place, 1, MPI_INTEGER, win, ierr)
    call MPI_Win_fence(MPI_MODE_NOSUCCEED, win, ierr)
    call check(memory(3) == 100 + previous .and. memory(1) == rank, 'put')
    call MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win, ierr)
    place = 0
    call MPI_Get(got, 2, MPI_INTEGER, next, place, 2, MPI_INTEGER, win, ierr)
    call MPI_Win_unlock(next, win, ierr)
    call check(all(got == next), 'get')
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
    place = 1
    call MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win, ierr)
    call MPI_Accumulate(1, 1, MPI_INTEGER, 0, place, 1, MPI_INTEGER, MPI_SUM, win, ierr)
    call MPI_Win_unlock(0, win, ierr)
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
    if (rank == 0) call check(memory(2) == ranks, 'accumulate')
    place = 3
    call MPI_Win_lock_all(0, win, ierr)
    call MPI_Fetch_and_op(5, old, MPI_INTEGER, next, place, MPI_SUM, win, ierr)
    call MPI_Win_flush(next, win, ierr)
    call MPI_Win_unlock_all(win, ierr)
    call check(old == next, 'fetch and op')
    call MPI_Win_get_attr(win, MPI_WIN_SIZE, value, flag, ierr)
    call check(flag .and. value == 16, 'the window''s size')
    call MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, value, flag, ierr)
    call check(flag .and. value == MPI_WIN_FLAVOR_CREATE, 'how it was made')
    call MPI_Win_get_attr(win, MPI_WIN_BASE, value, flag, ierr)
    call MPI_Get_address(memory, address, ierr)
    call check(flag .and. value == address, 'where it is')
    call MPI_Win_free(win, ierr)
    call check(win == MPI_WIN_NULL, 'a freed window')
    size = 8
#ifdef MPIF_H
    call MPI_Win_allocate(size, 4, MPI_INFO_NULL, MPI_COMM_WORLD, address, win, ierr)
    pointer = transfer(address, pointer)
#else
    call MPI_Win_allocate(size, 4, MPI_INFO_NULL, MPI_COMM_WORLD, pointer, win, ierr)
#endif
    call c_f_pointer(pointer, shared, [2])
    shared = 0
    call MPI_Win_fence(0, win, ierr)
    place = 1
    call MPI_Put(origin, 1, MPI_INTEGER, next, place, 1, MPI_INTEGER, win, ierr)
    call MPI_Win_fence(0, win, ierr)
    call check(shared(2) == 100 + previous, 'allocated memory')
    call MPI_Win_free(win, ierr)
    call MPI_Win_allocate_shared(size, 4, MPI_INFO_NULL, MPI_COMM_SELF, address, win, ierr)
    call MPI_Win_shared_query(win, 0, size, disp_unit, value, ierr)
    call check(size == 8 .and. disp_unit == 4 .and. value == address, 'shared memory')
    call MPI_Win_free(win, ierr)
    call MPI_Alloc_mem(size, MPI_INFO_NULL, address, ierr)
    call c_f_pointer(transfer(address, pointer), shared, [2])
    shared = 7
    call check(sum(shared) == 14, 'memory')
    call MPI_Free_mem(shared, ierr)
  end subroutine

  subroutine check_files
    integer :: file, mode, group, in(4), count, status(MPI_STATUS_SIZE), request, type, file_type
    integer(MPI_OFFSET_KIND) :: offset, size
    integer(MPI_ADDRESS_KIND) :: extent
    character(MPI_MAX_DATAREP_STRING) :: representation
    logical :: flag
    call MPI_File_open(MPI_COMM_WORLD, 'fortran-interface.data   ', &
                       MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, file, ierr)
    call check(ierr == MPI_SUCCESS, 'open')
    size = 0
    call MPI_File_set_size(file, size, ierr)
    offset = 4 * rank
    call MPI_File_write_at_all(file, offset, rank + 1, 1, MPI_INTEGER, status, ierr)
    call MPI_Get_count(status, MPI_INTEGER, count, ierr)
    call check(count == 1, 'written')
    call MPI_File_sync(file, ierr)
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
    offset = 4 * next
    call MPI_File_read_at(file, offset, in, 1, MPI_INTEGER, MPI_STATUS_IGNORE, ierr)
    call check(in(1) == next + 1, 'read')
    call MPI_File_get_size(file, size, ierr)
    call check(size == 4 * ranks, 'the file''s size')
    offset = 4 * rank
    call MPI_File_set_view(file, offset, MPI_INTEGER, MPI_INTEGER, 'native', MPI_INFO_NULL, ierr)
    call MPI_File_get_view(file, offset, type, file_type, representation, ierr)
    call check(offset == 4 * rank .and. representation == 'native', 'the view')
    offset = 0
    call MPI_File_iread_at(file, offset, in, 1, MPI_INTEGER, request, ierr)
    call MPI_Wait(request, status, ierr)
    call check(in(1) == rank + 1, 'read later')
    call MPI_File_seek(file, 1_MPI_OFFSET_KIND, MPI_SEEK_SET, ierr)
    call MPI_File_get_position(file, offset, ierr)
    call check(offset == 1, 'the position')
    call MPI_File_get_byte_offset(file, offset, size, ierr)
    call check(size == 4 * rank + 4, 'the position in bytes')
    call MPI_File_get_amode(file, mode, ierr)
    call check(mode == MPI_MODE_CREATE + MPI_MODE_RDWR, 'the mode')
    call MPI_File_get_group(file, group, ierr)
    call MPI_Group_size(group, count, ierr)
    call check(count == ranks, 'the file''s group')
    call MPI_Group_free(group, ierr)
    call MPI_File_get_type_extent(file, MPI_INTEGER, extent, ierr)
    call check(extent == 4, 'the extent in the file')
    call MPI_File_set_atomicity(file, .false., ierr)
    call MPI_File_get_atomicity(file, flag, ierr)
    call check(.not. flag, 'not atomic')
    call MPI_File_close(file, ierr)
    call check(file == MPI_FILE_NULL, 'closed')
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
    if (rank == 0) call MPI_File_delete('fortran-interface.data', MPI_INFO_NULL, ierr)
    call MPI_File_open(MPI_COMM_SELF, 'no/such/file', MPI_MODE_RDONLY, MPI_INFO_NULL, file, ierr)
    call MPI_Error_class(ierr, count, mode)
    call check(count == MPI_ERR_NO_SUCH_FILE, 'files'' errors are returned')
  end subroutine

  subroutine check_generalized_requests
    integer(MPI_ADDRESS_KIND) :: extra
    integer :: request, status(MPI_STATUS_SIZE), count
    logical :: flag
    extra = 2
    call MPI_Grequest_start(query, release, cancel, extra, request, ierr)
    call MPI_Test(request, flag, status, ierr)
    call check(.not. flag, 'not complete')
    call MPI_Cancel(request, ierr)
    call MPI_Grequest_complete(request, ierr)
    call MPI_Wait(request, status, ierr)
    call MPI_Get_count(status, MPI_INTEGER, count, ierr)
    call check(count == 7 .and. status(MPI_TAG) == 5, 'the status of a generalized request')
    call check(queried == 2 .and. freed == 202, 'its functions')
  end subroutine

  subroutine check_info
    integer :: info, copy, keys, length
    character(30) :: value
    character(MPI_MAX_INFO_KEY) :: key
    logical :: flag
    call MPI_Info_create(info, ierr)
    call MPI_Info_set(info, ' some key  ', '  its value ', ierr)
    value = 'unchanged'
    call MPI_Info_get(info, 'another', 30, value, flag, ierr)
    call check(.not. flag .and. value == 'unchanged', 'no such key')
    call MPI_Info_get(info, 'some key', 30, value, flag, ierr)
    call check(flag .and. value == 'its value', 'a value without blanks around it')
    call MPI_Info_get_valuelen(info, 'some key', length, flag, ierr)
    call check(flag .and. length == 9, 'its length')
    call MPI_Info_get_nkeys(info, keys, ierr)
    call check(keys == 1, 'one key')
    key = 'x'
    call MPI_Info_get_nthkey(info, 0, key, ierr)
    call check(key == 'some key', 'its name')
    call MPI_Info_dup(info, copy, ierr)
    call MPI_Info_delete(info, 'some key', ierr)
    call MPI_Info_get(copy, 'some key', 3, value(1:3), flag, ierr)
    call check(flag .and. value(1:3) == 'its', 'a value that is cut')
    call MPI_Info_free(info, ierr)
    call MPI_Info_free(copy, ierr)
    call check(copy == MPI_INFO_NULL, 'a freed info')
  end subroutine

  subroutine check_c
    integer :: status(MPI_STATUS_SIZE), comm, size, type, info, group, good
    call MPI_Sendrecv(rank, 1, MPI_INTEGER, next, 21, size, 1, MPI_INTEGER, previous, 21, &
                      MPI_COMM_WORLD, status, ierr)
    call MPI_Type_contiguous(3, MPI_DOUBLE_PRECISION, type, ierr)
    call MPI_Info_create(info, ierr)
    call MPI_Comm_group(MPI_COMM_WORLD, group, ierr)
    good = seen_by_c(MPI_COMM_WORLD, type, MPI_SUM, MPI_REQUEST_NULL, info, group, MPI_FILE_NULL, &
                     status)
    call check(good == 1, 'handles and a status in C')
    comm = made_by_c()
    call MPI_Comm_size(comm, size, ierr)
    call check(size == ranks, 'a communicator of C')
    call MPI_Comm_free(comm, ierr)
    call MPI_Type_free(type, ierr)
    call MPI_Info_free(info, ierr)
    call MPI_Group_free(group, ierr)
  end subroutine
end program
