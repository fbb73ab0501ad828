// Point-to-point calls. Data is sent from the buffer that it is received into: the simulator then
// has nothing to copy.
#include "core/player/player.h"

namespace sesame::player {
namespace {

using namespace sesame::mpi;

using SendFunction = int (*)(const void*, Count, Datatype, int, int, Comm);
using StartFunction = int (*)(const void*, Count, Datatype, int, int, Comm, Request*);

template <SendFunction send>
void play_send(const Operation& op) {
  send(player.buffers.receive, op.bytes, MPI_BYTE, op.peer, op.tag, comm_of(op));
}

template <StartFunction start>
void play_isend(const Operation& op) {
  start(player.buffers.receive, op.bytes, MPI_BYTE, op.peer, op.tag, comm_of(op), request_of(op));
}

void play_recv(const Operation& op) {
  MPI_Recv_c(player.buffers.receive, op.bytes, MPI_BYTE, op.peer, op.tag, comm_of(op),
             MPI_STATUS_IGNORE);
}

void play_irecv(const Operation& op) {
  MPI_Irecv_c(player.buffers.receive, op.bytes, MPI_BYTE, op.peer, op.tag, comm_of(op),
              request_of(op));
}

// The fields are those of the send; the list has those of the receive: peer, tag, bytes.
void play_sendrecv(const Operation& op) {
  const int64_t* const receive = list_of(op);
  MPI_Sendrecv_c(player.buffers.send, op.bytes, MPI_BYTE, op.peer, op.tag, player.buffers.receive,
                 receive[2], MPI_BYTE, static_cast<int>(receive[0]), static_cast<int>(receive[1]),
                 comm_of(op), MPI_STATUS_IGNORE);
}

void play_probe(const Operation& op) { MPI_Probe(op.peer, op.tag, comm_of(op), MPI_STATUS_IGNORE); }

// `bytes` is the number of requests to wait for.
void play_wait(const Operation& op) {
  if (op.bytes == 1) {
    MPI_Wait(request_of(op), MPI_STATUS_IGNORE);
  } else {
    MPI_Waitall(static_cast<int>(op.bytes), request_of(op), MPI_STATUSES_IGNORE);
  }
}

// Attaches a buffer of unlimited size, for buffered sends.
void play_buffer(const Operation&) { MPI_Buffer_attach_c(MPI_BUFFER_AUTOMATIC, 0); }

}  // namespace

const PlayedCall kMessageCalls[] = {
    {"MPI_Send", play_send<MPI_Send_c>},
    {"MPI_Bsend", play_send<MPI_Bsend_c>},
    {"MPI_Ssend", play_send<MPI_Ssend_c>},
    {"MPI_Isend", play_isend<MPI_Isend_c>},
    {"MPI_Ibsend", play_isend<MPI_Ibsend_c>},
    {"MPI_Issend", play_isend<MPI_Issend_c>},
    {"MPI_Recv", play_recv},
    {"MPI_Irecv", play_irecv},
    {"MPI_Sendrecv", play_sendrecv},
    {"MPI_Probe", play_probe},
    {"MPI_Wait", play_wait},
    {"buffer", play_buffer},
    {nullptr, nullptr},
};

}  // namespace sesame::player
