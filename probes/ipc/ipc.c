#include "probes/ipc/ipc.h"

#include "probes/subsystem.h"

extern const unsigned char sesame_ipc_object[], sesame_ipc_object_end[];

static const struct point points[POINTS] = {
    [IPC_SEND] = {"send", "data goes into a socket", {"send"}, DETAIL_COUNT},
    [IPC_RECEIVE] = {"receive", "data comes out of a socket", {"receive"}, DETAIL_COUNT},
    [IPC_TRANSMIT] = {"transmit",
                      "a network interface is given a packet",
                      {"transmit"},
                      DETAIL_COUNT},
};

static const char* const classes[CLASSES] = {"tcp", "udp", "unix", "other"};

const struct subsystem sesame_ipc = {
    .name = "ipc",
    .meaning = "messages through sockets and out of network interfaces",
    .points = points,
    .point_count = POINTS,
    .classes = classes,
    .class_count = CLASSES,
    .group_count = GROUPS,
    .where = "which socket",
    .what = "nothing",
    .object = sesame_ipc_object,
    .object_end = sesame_ipc_object_end,
};
