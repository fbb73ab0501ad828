/* Messages through sockets and out of network interfaces, by protocol and size. */
#pragma once

#define POINTS 3
#define CLASSES 4
#define GROUPS 8

enum ipc_point { IPC_SEND, IPC_RECEIVE, IPC_TRANSMIT };
enum ipc_class { IPC_TCP, IPC_UDP, IPC_UNIX, IPC_OTHER };
