/* The functions that have a large-count twin: included twice, where C(Send) is MPI_Send and where
 * it is MPI_Send_c, with the types of counts and displacements that go with it. */

static void NAME(blocking)(void) {
  MPI_Request request;
  MPI_Status status;
  MPI_Message message;
  COUNT size;
  void* taken;
  C(Buffer_attach)(attached, sizeof attached);
#define SEND_TO_SELF(send)                              \
  MPI_Irecv(in, 1, MPI_DOUBLE, me, 1, world, &request); \
  C(send)(out, 1, MPI_DOUBLE, me, 1, world);            \
  MPI_Wait(&request, MPI_STATUS_IGNORE)
  SEND_TO_SELF(Send);
  SEND_TO_SELF(Bsend);
  SEND_TO_SELF(Ssend);
  SEND_TO_SELF(Rsend);
  MPI_Isend(out, 1, MPI_DOUBLE, me, 2, world, &request);
  C(Recv)(in, 4, MPI_DOUBLE, MPI_ANY_SOURCE, 2, world, &status);
  MPI_Wait(&request, &status);
  MPI_Isend(out, 1, MPI_DOUBLE, me, 3, world, &request);
  MPI_Mprobe(MPI_ANY_SOURCE, 3, world, &message, &status);
  C(Mrecv)(in, 4, MPI_DOUBLE, &message, MPI_STATUS_IGNORE);
  MPI_Wait(&request, &status);
  C(Sendrecv)(out, 1, MPI_DOUBLE, other, 4, in, 1, MPI_DOUBLE, other, 4, world, &status);
  C(Sendrecv_replace)(in, 1, MPI_DOUBLE, other, 4, other, 4, world, MPI_STATUS_IGNORE);
  C(Buffer_detach)(&taken, &size);
}

static void NAME(non_blocking)(void) {
  MPI_Request requests[2];
  MPI_Message message;
#if MPI_VERSION >= 4
  C(Isendrecv)(out, 1, MPI_DOUBLE, other, 4, in, 1, MPI_DOUBLE, other, 4, world, requests);
  MPI_Wait(requests, MPI_STATUS_IGNORE);
  C(Isendrecv_replace)(in, 1, MPI_DOUBLE, other, 5, other, 5, world, requests);
  MPI_Wait(requests, MPI_STATUS_IGNORE);
#endif
  C(Buffer_attach)(attached, sizeof attached);
#define START_TO_SELF(send)                                \
  C(Irecv)(in, 1, MPI_DOUBLE, me, 1, world, &requests[0]); \
  C(send)(out, 1, MPI_DOUBLE, me, 1, world, &requests[1]); \
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
  START_TO_SELF(Isend);
  START_TO_SELF(Ibsend);
  START_TO_SELF(Issend);
  START_TO_SELF(Irsend);
  MPI_Isend(out, 1, MPI_DOUBLE, me, 3, world, &requests[0]);
  MPI_Mprobe(me, 3, world, &message, MPI_STATUS_IGNORE);
  C(Imrecv)(in, 4, MPI_DOUBLE, &message, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
#define PREPARE_TO_SELF(send)                                  \
  C(Recv_init)(in, 1, MPI_DOUBLE, me, 1, world, &requests[0]); \
  C(send)(out, 1, MPI_DOUBLE, me, 1, world, &requests[1]);     \
  MPI_Startall(2, requests);                                   \
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);               \
  MPI_Request_free(&requests[0]);                              \
  MPI_Request_free(&requests[1])
  PREPARE_TO_SELF(Send_init);
  PREPARE_TO_SELF(Bsend_init);
  PREPARE_TO_SELF(Ssend_init);
  PREPARE_TO_SELF(Rsend_init);
  COUNT size;
  void* taken;
  C(Buffer_detach)(&taken, &size);
}

/* Every collective function, its name in non-blocking form, and its arguments. */
#ifndef COLLECTIVES
#define COLLECTIVES(X)                                                                            \
  X(Allgather, allgather, out, 1, MPI_DOUBLE, in, 1, MPI_DOUBLE, world)                           \
  X(Allgatherv, allgatherv, out, 1, MPI_DOUBLE, in, counts, places, MPI_DOUBLE, world)            \
  X(Allreduce, allreduce, out, in, 2, MPI_DOUBLE, MPI_SUM, world)                                 \
  X(Alltoall, alltoall, out, 1, MPI_DOUBLE, in, 1, MPI_DOUBLE, world)                             \
  X(Alltoallv, alltoallv, out, counts, places, MPI_DOUBLE, in, counts, places, MPI_DOUBLE, world) \
  X(Alltoallw, alltoallw, out, counts, bytes, types, in, counts, bytes, types, world)             \
  X(Bcast, bcast, out, 3, MPI_DOUBLE, 0, world)                                                   \
  X(Exscan, exscan, out, in, 1, MPI_DOUBLE, MPI_SUM, world)                                       \
  X(Gather, gather, out, 1, MPI_DOUBLE, in, 1, MPI_DOUBLE, 0, world)                              \
  X(Gatherv, gatherv, out, 1, MPI_DOUBLE, in, counts, places, MPI_DOUBLE, 0, world)               \
  X(Neighbor_allgather, neighbor_allgather, out, 1, MPI_DOUBLE, in, 1, MPI_DOUBLE, ring)          \
  X(Neighbor_allgatherv, neighbor_allgatherv, out, 1, MPI_DOUBLE, in, counts, places, MPI_DOUBLE, \
    ring)                                                                                         \
  X(Neighbor_alltoall, neighbor_alltoall, out, 1, MPI_DOUBLE, in, 1, MPI_DOUBLE, ring)            \
  X(Neighbor_alltoallv, neighbor_alltoallv, out, counts, places, MPI_DOUBLE, in, counts, places,  \
    MPI_DOUBLE, ring)                                                                             \
  X(Neighbor_alltoallw, neighbor_alltoallw, out, counts, steps, types, in, counts, steps, types,  \
    ring)                                                                                         \
  X(Reduce, reduce, out, in, 1, MPI_DOUBLE, MPI_SUM, 0, world)                                    \
  X(Reduce_scatter, reduce_scatter, out, in, counts, MPI_DOUBLE, MPI_SUM, world)                  \
  X(Reduce_scatter_block, reduce_scatter_block, out, in, 1, MPI_DOUBLE, MPI_SUM, world)           \
  X(Scan, scan, out, in, 1, MPI_DOUBLE, MPI_SUM, world)                                           \
  X(Scatter, scatter, out, 1, MPI_DOUBLE, in, 1, MPI_DOUBLE, 0, world)                            \
  X(Scatterv, scatterv, out, counts, places, MPI_DOUBLE, in, 1, MPI_DOUBLE, 0, world)

#define BLOCKING(name, lower, ...) C(name)(__VA_ARGS__);
#define STARTED(name, lower, ...)     \
  C(I##lower)(__VA_ARGS__, &request); \
  MPI_Wait(&request, MPI_STATUS_IGNORE);
#define PREPARED(name, lower, ...)                      \
  C(name##_init)(__VA_ARGS__, MPI_INFO_NULL, &request); \
  MPI_Start(&request);                                  \
  MPI_Wait(&request, MPI_STATUS_IGNORE);                \
  MPI_Request_free(&request);
#endif

static void NAME(collectives)(void) {
  COUNT counts[4] = {1, 1, 1, 1};
  DISPLACEMENT places[4] = {0, 1, 2, 3};
  DISPLACEMENT bytes[4] = {0, 8, 16, 24};
  MPI_Aint steps[4] = {0, 8, 16, 24};
  MPI_Datatype types[4] = {MPI_DOUBLE, MPI_DOUBLE, MPI_DOUBLE, MPI_DOUBLE};
  MPI_Request request;
  COLLECTIVES(BLOCKING)
  COLLECTIVES(STARTED)
#if MPI_VERSION >= 4
  COLLECTIVES(PREPARED)
#endif
}

static void NAME(one_sided)(void) {
  MPI_Win window;
  MPI_Request request;
  void* memory;
  double result[4];
  C(Win_allocate_shared)(64, 8, MPI_INFO_NULL, world, &memory, &window);
  MPI_Win_free(&window);
  C(Win_allocate)(64, 8, MPI_INFO_NULL, world, &memory, &window);
  MPI_Win_free(&window);
  C(Win_create)(in, sizeof in, 8, MPI_INFO_NULL, world, &window);
  MPI_Win_lock(MPI_LOCK_SHARED, other, 0, window);
  C(Put)(out, 1, MPI_DOUBLE, other, 0, 1, MPI_DOUBLE, window);
  MPI_Win_flush(other, window);
  C(Get)(result, 2, MPI_DOUBLE, other, 0, 2, MPI_DOUBLE, window);
  C(Accumulate)(out, 1, MPI_DOUBLE, other, 1, 1, MPI_DOUBLE, MPI_SUM, window);
  MPI_Win_flush(other, window);
  C(Get_accumulate)
  (out, 1, MPI_DOUBLE, result, 1, MPI_DOUBLE, other, 1, 1, MPI_DOUBLE, MPI_SUM, window);
  C(Rput)(out, 1, MPI_DOUBLE, other, 3, 1, MPI_DOUBLE, window, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  C(Rget)(result, 1, MPI_DOUBLE, other, 4, 1, MPI_DOUBLE, window, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  C(Raccumulate)(out, 1, MPI_DOUBLE, other, 5, 1, MPI_DOUBLE, MPI_SUM, window, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  C(Rget_accumulate)
  (out, 1, MPI_DOUBLE, result, 1, MPI_DOUBLE, other, 6, 1, MPI_DOUBLE, MPI_SUM, window, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Win_unlock(other, window);
  MPI_Win_free(&window);
}

static void NAME(files)(MPI_File file) {
  MPI_Request request;
  MPI_Status status;
#define READ_AND_WRITE(X) X(write, out) X(read, in)
#define PLAIN(verb, memory)                                                   \
  C(File_##verb)(file, memory, 1, MPI_DOUBLE, &status);                       \
  C(File_##verb##_all)(file, memory, 1, MPI_DOUBLE, &status);                 \
  C(File_##verb##_at)(file, 8 * me, memory, 1, MPI_DOUBLE, &status);          \
  C(File_##verb##_at_all)(file, 0, memory, 1, MPI_DOUBLE, MPI_STATUS_IGNORE); \
  C(File_##verb##_shared)(file, memory, 1, MPI_DOUBLE, &status);              \
  C(File_##verb##_ordered)(file, memory, 1, MPI_DOUBLE, &status);
#define SPLIT(verb, memory)                                      \
  C(File_##verb##_all_begin)(file, memory, 1, MPI_DOUBLE);       \
  MPI_File_##verb##_all_end(file, memory, &status);              \
  C(File_##verb##_at_all_begin)(file, 0, memory, 1, MPI_DOUBLE); \
  MPI_File_##verb##_at_all_end(file, memory, &status);           \
  C(File_##verb##_ordered_begin)(file, memory, 1, MPI_DOUBLE);   \
  MPI_File_##verb##_ordered_end(file, memory, &status);
#define AT_LEISURE(verb, memory)                                      \
  C(File_i##verb)(file, memory, 1, MPI_DOUBLE, &request);             \
  MPI_Wait(&request, &status);                                        \
  C(File_i##verb##_all)(file, memory, 1, MPI_DOUBLE, &request);       \
  MPI_Wait(&request, &status);                                        \
  C(File_i##verb##_at)(file, 0, memory, 1, MPI_DOUBLE, &request);     \
  MPI_Wait(&request, &status);                                        \
  C(File_i##verb##_at_all)(file, 0, memory, 1, MPI_DOUBLE, &request); \
  MPI_Wait(&request, &status);                                        \
  C(File_i##verb##_shared)(file, memory, 1, MPI_DOUBLE, &request);    \
  MPI_Wait(&request, &status);
  READ_AND_WRITE(PLAIN)
  READ_AND_WRITE(SPLIT)
  READ_AND_WRITE(AT_LEISURE)
}

static void NAME(all)(MPI_File file) {
  NAME(blocking)();
  NAME(non_blocking)();
  NAME(collectives)();
  NAME(one_sided)();
  NAME(files)(file);
}
