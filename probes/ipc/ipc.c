#include "probes/ipc/ipc.h"

#include "probes/subsystem.h"

static const struct point points[POINTS] = {
    [IPC_SEND] = {"send", "data goes into a socket", {"send"}, DETAIL_COUNT},
    [IPC_RECEIVE] = {"receive", "data comes out of a socket", {"receive"}, DETAIL_COUNT},
    [IPC_TRANSMIT] = {"transmit",
                      "a network interface is given a packet",
                      {"transmit"},
                      DETAIL_COUNT},
};

static const char* const classes[CLASSES] = {"tcp", "udp", "unix", "other"};

DEFINE_SUBSYSTEM(ipc, "messages through sockets and out of network interfaces", "which socket",
                 "nothing");
