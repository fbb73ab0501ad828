#include "system/ipc/channel.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

#include <mpi.h>

namespace sesame::workload {
namespace {

// An order to the child; a count of 0 ends it. With `echo` it sends every message back, else one
// byte after the last.
struct Order {
  std::int32_t size, count, echo;
};

struct Ends {
  int parent_in, parent_out, child_in, child_out;
};

int checked(int result, const char* what) {
  if (result < 0) throw std::system_error(errno, std::generic_category(), what);
  return result;
}

// Transfers all bytes or throws; false at the end of the input.
template <typename Move, typename Byte>
bool move_all(Move move, int descriptor, Byte* data, size_t size, const char* what) {
  while (size > 0) {
    const ssize_t moved = move(descriptor, data, size);
    if (moved < 0 && errno == EINTR) continue;
    if (moved == 0) return false;
    checked(static_cast<int>(moved < 0 ? -1 : 0), what);
    data += moved;
    size -= static_cast<size_t>(moved);
  }
  return true;
}

bool receive(int descriptor, char* data, size_t size) {
  return move_all(::read, descriptor, data, size, "cannot receive");
}

void send_all(int descriptor, const char* data, size_t size) {
  move_all(::write, descriptor, data, size, "cannot send");
}

void send_order(int descriptor, Order order) {
  send_all(descriptor, reinterpret_cast<const char*>(&order), sizeof order);
}

Ends pipes() {
  int down[2], up[2];
  checked(pipe(down), "cannot make a pipe");
  checked(pipe(up), "cannot make a pipe");
  return {up[0], down[1], down[0], up[1]};
}

Ends unix_sockets() {
  int pair[2];
  checked(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), "cannot make a pair of Unix sockets");
  return {pair[0], pair[0], pair[1], pair[1]};
}

// Over the loopback interface. Small messages leave at once.
Ends tcp_sockets() {
  const int listener = checked(socket(AF_INET, SOCK_STREAM, 0), "cannot make a TCP socket");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  checked(bind(listener, generic, length), "cannot bind to the loopback interface");
  checked(listen(listener, 1), "cannot listen on the loopback interface");
  checked(getsockname(listener, generic, &length), "cannot ask for the port");
  const int parent = checked(socket(AF_INET, SOCK_STREAM, 0), "cannot make a TCP socket");
  checked(connect(parent, generic, length), "cannot connect over the loopback interface");
  const int child = checked(accept(listener, nullptr, nullptr), "cannot accept a connection");
  close(listener);
  const int on = 1;
  for (int end : {parent, child}) {
    checked(setsockopt(end, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on), "cannot set TCP_NODELAY");
  }
  return {parent, parent, child, child};
}

Ends open_ends(Transport transport) {
  switch (transport) {
    case Transport::kPipe:
      return pipes();
    case Transport::kUnix:
      return unix_sockets();
    case Transport::kTcp:
      break;
  }
  return tcp_sockets();
}

void serve(int in, int out, std::vector<char>& data) {
  Order order;
  while (receive(in, reinterpret_cast<char*>(&order), sizeof order) && order.count > 0) {
    for (int i = 0; i < order.count; ++i) {
      if (!receive(in, data.data(), static_cast<size_t>(order.size))) return;
      if (order.echo != 0) send_all(out, data.data(), static_cast<size_t>(order.size));
    }
    if (order.echo == 0) send_all(out, data.data(), 1);
  }
}

// Never returns: the child must not finalise the parent's MPI or flush its output again.
[[noreturn]] void run_child(const Ends& ends, std::vector<char>& data) {
  close(ends.parent_in);
  if (ends.parent_out != ends.parent_in) close(ends.parent_out);
  try {
    serve(ends.child_in, ends.child_out, data);
  } catch (const std::system_error&) {
    _exit(1);  // the parent finds out when it sends or receives
  }
  _exit(0);
}

}  // namespace

Channel::Channel(Transport transport, int most) : data_(most), answer_(most) {
  for (int i = 0; i < most; ++i) data_[i] = static_cast<char>(i * 13 + 5);
  const Ends ends = open_ends(transport);
  child_ = checked(fork(), "cannot fork");
  if (child_ == 0) run_child(ends, answer_);
  close(ends.child_in);
  if (ends.child_out != ends.child_in) close(ends.child_out);
  in_ = ends.parent_in;
  out_ = ends.parent_out;
}

Channel::~Channel() {
  close(out_);
  if (in_ != out_) close(in_);
  waitpid(child_, nullptr, 0);
}

double Channel::stream(int size, int count) {
  const double began = MPI_Wtime();
  send_order(out_, {size, count, 0});
  for (int i = 0; i < count; ++i) send_all(out_, data_.data(), static_cast<size_t>(size));
  if (!receive(in_, answer_.data(), 1)) throw std::runtime_error("the other process has ended");
  const double spent = MPI_Wtime() - began;
  damaged_ += answer_[0] != data_[0];
  return spent;
}

double Channel::half_round_trip(int size, int count) {
  send_order(out_, {size, count, 1});
  const double began = MPI_Wtime();
  for (int i = 0; i < count; ++i) {
    send_all(out_, data_.data(), static_cast<size_t>(size));
    if (!receive(in_, answer_.data(), static_cast<size_t>(size))) {
      throw std::runtime_error("the other process has ended");
    }
  }
  const double spent = MPI_Wtime() - began;
  for (int i = 0; i < size; ++i) damaged_ += answer_[i] != data_[i];
  return spent / count / 2;
}

}  // namespace sesame::workload
