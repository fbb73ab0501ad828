// Host name and process id as a rank sees them. The host name is that of a node of the target
// machine. The process id is the same in every run, because programs seed random numbers with it.
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/loader/bindings.h"
#include "core/loader/dispositions.h"
#include "core/loader/process.h"
#include "core/loader/real.h"

namespace sesame::loader {

extern "C" {

int rank_gethostname(char* name, size_t size) {
  if (current() == nullptr) return REAL(gethostname)(name, size);
  const char* node = hooks().node_name();
  const size_t needed = strlen(node) + 1;
  memcpy(name, node, std::min(size, needed));
  if (needed <= size) return 0;
  errno = ENAMETOOLONG;
  return -1;
}
GLOBAL_NAME(gethostname);

int rank___gethostname_chk(char* name, size_t size, size_t) { return rank_gethostname(name, size); }

int rank_uname(utsname* result) {
  const int status = REAL(uname)(result);
  if (current() == nullptr || status != 0) return status;
  strncpy(result->nodename, hooks().node_name(), sizeof result->nodename - 1);
  result->nodename[sizeof result->nodename - 1] = '\0';
  return 0;
}

pid_t rank_getpid() {
  const RankProcess* process = current();
  return process == nullptr ? REAL(getpid)() : kFirstPid + process->rank;
}

}  // extern "C"

void bind_identity(BindingTable& table) {
  BIND(table, gethostname);
  BIND(table, __gethostname_chk);
  BIND(table, uname);
  BIND(table, getpid);
}

}  // namespace sesame::loader
