#include "probes/ipc/ipc.h"

#include "probes/subsystem.h"

static const struct point points[POINTS] = {
    [IPC_SEND] = {"send", "data is sent to a socket", {"send"}, DETAIL_COUNT},
    [IPC_RECEIVE] = {"receive", "data is received from a socket", {"receive"}, DETAIL_COUNT},
    [IPC_TRANSMIT] = {"transmit",
                      "a network interface is given a packet",
                      {"transmit"},
                      DETAIL_COUNT},
};

static const struct substitute substitutes[] = {
    {"send", "end_of_call",
     "counted at the ends of system calls, without sendmmsg, sendfile and io_uring"},
    {"receive", "end_of_call",
     "counted at the ends of system calls, without recvmmsg and io_uring, with MSG_PEEK"},
    {NULL}};

static const char* const classes[CLASSES] = {"tcp", "udp", "unix", "other"};

static const struct absence absent[] = {
    {"rdma", "a message goes by RDMA",
     "programs give it to the adapter past the kernel; /sys/class/infiniband/*/ports/*/counters "
     "has the sums"},
    {0},
};

DEFINE_SUBSYSTEM(ipc, "messages through sockets and out of network interfaces",
                 "the conversation: the same number at both ends, 0 when that is not known",
                 "nothing", .absent = absent, .substitutes = substitutes);
