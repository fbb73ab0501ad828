// Connections and data that another rank may send: see waiting.cc.
#include <sys/socket.h>

#include "core/loader/bindings.h"
#include "core/loader/real.h"
#include "core/loader/waiting.h"

namespace sesame::loader {

extern "C" {

int rank_accept(int fd, sockaddr* address, socklen_t* length) {
  wait_for_input(fd);
  return REAL(accept)(fd, address, length);
}

int rank_accept4(int fd, sockaddr* address, socklen_t* length, int flags) {
  wait_for_input(fd);
  return REAL(accept4)(fd, address, length, flags);
}

ssize_t rank_recv(int fd, void* data, size_t size, int flags) {
  wait_for_input(fd, flags);
  return REAL(recv)(fd, data, size, flags);
}

ssize_t rank_recvfrom(int fd, void* data, size_t size, int flags, sockaddr* address,
                      socklen_t* length) {
  wait_for_input(fd, flags);
  return REAL(recvfrom)(fd, data, size, flags, address, length);
}

ssize_t rank_recvmsg(int fd, msghdr* message, int flags) {
  wait_for_input(fd, flags);
  return REAL(recvmsg)(fd, message, flags);
}

// What programs call that were compiled with _FORTIFY_SOURCE.
ssize_t rank___recv_chk(int fd, void* data, size_t size, size_t, int flags) {
  return rank_recv(fd, data, size, flags);
}

ssize_t rank___recvfrom_chk(int fd, void* data, size_t size, size_t, int flags, sockaddr* address,
                            socklen_t* length) {
  return rank_recvfrom(fd, data, size, flags, address, length);
}

}  // extern "C"

void bind_sockets(BindingTable& table) {
  BIND(table, accept);
  BIND(table, accept4);
  BIND(table, recv);
  BIND(table, recvfrom);
  BIND(table, recvmsg);
  BIND(table, __recv_chk);
  BIND(table, __recvfrom_chk);
}

}  // namespace sesame::loader
