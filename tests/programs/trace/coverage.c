/* Calls every function of the C library that does I/O on files, in an empty directory, and prints
 * what each returned: the same with a tracer and without. */
#define _GNU_SOURCE
#include "coverage.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

long last;
void* found;
static char* report;
static size_t report_size;
static FILE* reporter; /* a stream in memory: what is reported is no I/O itself */

int has(const char* name) {
  void* library = dlopen("libc.so.6", RTLD_LAZY);
  return dlsym(library, name) != NULL || dlvsym(library, name, "GLIBC_2.2.5") != NULL;
}

void mark(const char* name) {
  char path[128];
  snprintf(path, sizeof path, "/mark/%s", name);
  access(path, F_OK);
}

void report_number(const char* name, long result, int error) {
  fprintf(reporter, "%s %ld %d\n", name, result, error);
}

void report_pointer(const char* name, const void* result, int error) {
  int is_address = result != NULL && result != (void*)-1;
  fprintf(reporter, "%s %s %d\n", name, is_address ? "pointer" : "none", error);
}

int fresh_file(const char* name, const char* bytes) {
  int file = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
  if (file < 0 || write(file, bytes, strlen(bytes)) < 0) abort();
  lseek(file, 0, SEEK_SET);
  return file;
}

FILE* fresh_stream(const char* name, const char* bytes, const char* mode) {
  close(fresh_file(name, bytes));
  FILE* stream = fopen(name, mode);
  if (stream == NULL) abort();
  return stream;
}

int main(int argc, char** argv) {
  if (argc != 2 || chdir(argv[1]) != 0) return 2;
  reporter = open_memstream(&report, &report_size);
  int out = dup(STDOUT_FILENO);
  cover_data();
  cover_files();
  cover_descriptors();
  cover_names();
  cover_directories();
  cover_streams();
  cover_characters();
  cover_formats();
  cover_wide();
  cover_tables();
  cover_asynchronous();
  cover_mapped();
  cover_processes();
  mark("end");
  fflush(reporter);
  return write(out, report, report_size) == (ssize_t)report_size ? 0 : 1;
}
