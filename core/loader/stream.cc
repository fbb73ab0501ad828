// Standard streams. A copy's stdin, stdout and stderr are FILEs of its own. The host's variables
// of these names point to them while the rank is active, so the C library's own functions need no
// replacement. Only libstdc++ remembers the host's FILEs: the functions that it calls translate
// them.
#include "core/loader/stream.h"

#include <stdio_ext.h>
#include <unistd.h>
#include <wchar.h>

#include <cerrno>

#include "core/base/check.h"
#include "core/loader/bindings.h"
#include "core/loader/files.h"
#include "core/loader/real.h"

namespace sesame::loader {
namespace {

FILE* g_host_in = nullptr;
FILE* g_host_out = nullptr;
FILE* g_host_err = nullptr;

RankProcess* owner(void* cookie) { return static_cast<RankProcess*>(cookie); }

ssize_t write_out(void* cookie, const char* data, size_t size) {
  hooks().write_output(owner(cookie)->rank, 1, data, size);
  return static_cast<ssize_t>(size);
}

ssize_t write_err(void* cookie, const char* data, size_t size) {
  hooks().write_output(owner(cookie)->rank, 2, data, size);
  return static_cast<ssize_t>(size);
}

ssize_t read_in(void* cookie, char* data, size_t size) {
  return owner(cookie)->rank == 0 ? REAL(read)(0, data, size) : 0;
}

FILE* open_stream(RankProcess& process, const char* mode, cookie_io_functions_t functions) {
  FILE* file = fopencookie(&process, mode, functions);
  CHECK(file != nullptr);
  return file;
}

// The rank's stream for one that libstdc++ got from the host.
FILE* translate(FILE* file) {
  const RankProcess* process = current();
  if (process == nullptr) return file;
  if (file == g_host_out) return process->variable<FILE*>(Variable::kStdout);
  if (file == g_host_err) return process->variable<FILE*>(Variable::kStderr);
  if (file == g_host_in) return process->variable<FILE*>(Variable::kStdin);
  return file;
}

}  // namespace

void remember_host_streams() {
  if (g_host_out != nullptr) return;
  g_host_in = stdin;
  g_host_out = stdout;
  g_host_err = stderr;
}

void open_streams(RankProcess& process) {
  process.in = open_stream(process, "r", {read_in, nullptr, nullptr, nullptr});
  process.out = open_stream(process, "w", {nullptr, write_out, nullptr, nullptr});
  process.err = open_stream(process, "w", {nullptr, write_err, nullptr, nullptr});
  setvbuf(process.err, nullptr, _IONBF, 0);
}

void flush_streams(RankProcess& process) {
  for (const Variable variable : {Variable::kStdout, Variable::kStderr})
    if (FILE* file = process.variable<FILE*>(variable)) REAL(fflush)(file);
}

// Data not flushed at the rank's end is lost, as after _exit() in a process.
void close_streams(RankProcess& process) {
  for (FILE* file : {process.in, process.out, process.err}) {
    if (file == nullptr) continue;
    __fpurge(file);
    REAL(fclose)(file);
  }
  process.in = process.out = process.err = nullptr;
}

extern "C" {

int rank_fflush(FILE* file) {
  if (file == nullptr && current() != nullptr && file_hooks() != nullptr) {
    flush_streams(*current());
    flush_file_streams(*current());
    return 0;
  }
  return REAL(fflush)(translate(file));
}
GLOBAL_NAME(fflush);

int rank_getc(FILE* file) { return REAL(getc)(translate(file)); }
GLOBAL_NAME(getc);
int rank_fgetc(FILE* file) { return REAL(fgetc)(translate(file)); }
GLOBAL_NAME(fgetc);
int rank_ungetc(int c, FILE* file) { return REAL(ungetc)(c, translate(file)); }
GLOBAL_NAME(ungetc);
int rank_putc(int c, FILE* file) { return REAL(putc)(c, translate(file)); }
GLOBAL_NAME(putc);
int rank_fputc(int c, FILE* file) { return REAL(fputc)(c, translate(file)); }
GLOBAL_NAME(fputc);
int rank_fputs(const char* text, FILE* file) { return REAL(fputs)(text, translate(file)); }
GLOBAL_NAME(fputs);

size_t rank_fread(void* data, size_t size, size_t count, FILE* file) {
  return REAL(fread)(data, size, count, translate(file));
}
GLOBAL_NAME(fread);

size_t rank_fwrite(const void* data, size_t size, size_t count, FILE* file) {
  return REAL(fwrite)(data, size, count, translate(file));
}
GLOBAL_NAME(fwrite);

wint_t rank_getwc(FILE* file) { return REAL(getwc)(translate(file)); }
GLOBAL_NAME(getwc);
wint_t rank_putwc(wchar_t c, FILE* file) { return REAL(putwc)(c, translate(file)); }
GLOBAL_NAME(putwc);
wint_t rank_ungetwc(wint_t c, FILE* file) { return REAL(ungetwc)(c, translate(file)); }
GLOBAL_NAME(ungetwc);

int rank_fileno(FILE* file) {
  if (const RankProcess* process = current()) {
    if (file == process->in || file == g_host_in) return STDIN_FILENO;
    if (file == process->out || file == g_host_out) return STDOUT_FILENO;
    if (file == process->err || file == g_host_err) return STDERR_FILENO;
  }
  if (const int fd = descriptor_of_stream(file); fd >= 0) return fd;
  return REAL(fileno)(file);
}
GLOBAL_NAME(fileno);

int rank_fclose(FILE* file) {
  RankProcess* process = current();
  if (process == nullptr) return REAL(fclose)(file);
  for (FILE* stream : {process->in, process->out, process->err})
    if (file == stream) return REAL(fflush)(file);  // closed when the copy is unloaded
  return file_hooks() != nullptr ? close_file_stream(file) : REAL(fclose)(file);
}
GLOBAL_NAME(fclose);

// A standard stream becomes a file: the variable of that name points to another FILE from then on.
FILE* rank_freopen(const char* path, const char* mode, FILE* file) {
  RankProcess* process = current();
  const bool is_standard =
      process != nullptr && (file == process->in || file == process->out || file == process->err);
  if (!is_standard) {
    return process != nullptr && file_hooks() != nullptr ? reopen_file_stream(path, mode, file)
                                                         : REAL(freopen)(path, mode, file);
  }
  REAL(fflush)(file);
  FILE* opened = path == nullptr           ? nullptr
                 : file_hooks() != nullptr ? open_file_stream("freopen", path, mode)
                                           : REAL(fopen)(path, mode);
  if (opened == nullptr) return nullptr;
  if (file == process->in) set_stream(*process, Variable::kStdin, opened);
  if (file == process->out) set_stream(*process, Variable::kStdout, opened);
  if (file == process->err) set_stream(*process, Variable::kStderr, opened);
  return opened;
}

// std::ios_base::sync_with_stdio(bool) does nothing: it would replace the buffers of all ranks'
// streams.
bool rank_sync_with_stdio(bool) { return true; }

}  // extern "C"

void bind_streams(BindingTable& table) {
  BIND(table, fileno);
  BIND_AS(table, "fileno_unlocked", fileno);
  BIND(table, fclose);
  BIND(table, freopen);
  BIND_AS(table, "freopen64", freopen);
  BIND_AS(table, "_ZNSt8ios_base15sync_with_stdioEb", sync_with_stdio);
}

}  // namespace sesame::loader
