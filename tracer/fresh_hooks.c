/* Calls that make descriptors of sockets, pipes and other objects without a path. They are not
 * recorded, nor are messages of sockets. The first read or write makes a record that says what the
 * descriptor is. */
#include <sys/socket.h>
#include <sys/types.h>

#include "hooks.h"

#define FRESH(name, parameters, arguments)  \
  SESAME_HOOK(int, name, parameters) {      \
    int file = SESAME_REAL(name) arguments; \
    if (file >= 0) sesame_forget(file);     \
    return file;                            \
  }
FRESH(socket, (int domain, int type, int protocol), (domain, type, protocol))
FRESH(accept, (int file_, struct sockaddr* address, socklen_t* length), (file_, address, length))
FRESH(accept4, (int file_, struct sockaddr* address, socklen_t* length, int flags),
      (file_, address, length, flags))
FRESH(eventfd, (unsigned value, int flags), (value, flags))
FRESH(epoll_create, (int size), (size))
FRESH(epoll_create1, (int flags), (flags))
FRESH(timerfd_create, (int clock, int flags), (clock, flags))
FRESH(signalfd, (int file_, const void* signals, int flags), (file_, signals, flags))
FRESH(inotify_init, (void), ())
FRESH(inotify_init1, (int flags), (flags))
FRESH(fanotify_init, (unsigned flags, unsigned event_flags), (flags, event_flags))
FRESH(pidfd_open, (pid_t process, unsigned flags), (process, flags))
FRESH(pidfd_getfd, (int process, int file_, unsigned flags), (process, file_, flags))

#define FRESH_PAIR(name, parameters, arguments) \
  SESAME_HOOK(int, name, parameters) {          \
    int result = SESAME_REAL(name) arguments;   \
    if (result == 0) {                          \
      sesame_forget(files[0]);                  \
      sesame_forget(files[1]);                  \
    }                                           \
    return result;                              \
  }
FRESH_PAIR(pipe, (int files[2]), (files))
FRESH_PAIR(__pipe, (int files[2]), (files))
FRESH_PAIR(pipe2, (int files[2], int flags), (files, flags))
FRESH_PAIR(socketpair, (int domain, int type, int protocol, int files[2]),
           (domain, type, protocol, files))
