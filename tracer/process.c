#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "clock.h"
#include "counters.h"
#include "metadata.h"
#include "system_call.h"

SesameSettings sesame_settings;

static SesameProcessState* state;
static char name[PATH_MAX + 128]; /* a node's name has at most 64 characters */
static char state_path[sizeof name + 8];
static char host[65];
static uint64_t started_ns;
static struct stat first_stderr; /* what it was when the program began */

void sesame_say(const char* what, const char* which, int error) {
  char line[PATH_MAX + 256];
  struct stat now;
  /* The program may have opened a file of its own as this descriptor. */
  if (sesame_system_call(SYS_fstat, STDERR_FILENO, &now) != 0 ||
      now.st_ino != first_stderr.st_ino || now.st_dev != first_stderr.st_dev) {
    return;
  }
  int length = snprintf(line, sizeof line, "sesame %s: %s%s%s%s%s (process %d)\n",
                        sesame_settings.kinds != 0 ? "trace" : "measure", what,
                        which != NULL ? ": " : "", which != NULL ? which : "",
                        error != 0 ? ": " : "", error != 0 ? strerror(error) : "", getpid());
  if (length <= 0) return;
  sesame_unrecorded(true,
                    sesame_system_call(SYS_write, STDERR_FILENO, line, strnlen(line, sizeof line)));
}

SesameProcessState* sesame_process_state(void) { return state; }
const char* sesame_process_name(void) { return name; }

/* --- Beginning ---------------------------------------------------------------------------- */

/* Where several MPIs are installed, names of launchers have a suffix, as in mpiexec.hydra. */
static bool is_called(const char* const* names, size_t count) {
  const char* called = program_invocation_short_name;
  const size_t length = strcspn(called, ".");
  for (size_t i = 0; i < count; ++i) {
    if (strlen(names[i]) == length && strncmp(called, names[i], length) == 0) return true;
  }
  return false;
}

/* Launchers that start an MPI program, and give their environment to its ranks. */
static bool starts_program(void) {
  static const char* const names[] = {"mpiexec", "mpirun", "orterun", "prterun", "srun"};
  return is_called(names, sizeof names / sizeof *names);
}

/* Launchers are not recorded: they are no part of the run. */
static bool is_launcher(void) {
  static const char* const names[] = {"hydra_pmi_proxy",
                                      "hydra_bstrap_proxy",
                                      "hydra_persist",
                                      "hydra_nameserver",
                                      "orted",
                                      "prted",
                                      "ssh"};
  return starts_program() || is_called(names, sizeof names / sizeof *names);
}

static const char* const job_variable = "SESAME_TRACE_JOB";
static const char* const outer_variable = "SESAME_TRACE_OUTER_JOB";

/* In the launcher: names the MPI program for its ranks. Launchers name it only for some of their
 * ranks, or not at all (MPICH's). */
static void name_job(void) {
  char job[SESAME_JOB_BYTES];
  struct utsname node;
  uname(&node);
  snprintf(job, sizeof job, "%s.%d.%llu", node.nodename, getpid(),
           (unsigned long long)sesame_system_ns());
  setenv(job_variable, job, 1);
  /* A launcher without PMIx passes on the name of the program that it was started by. */
  const char* outer = getenv("PMIX_NAMESPACE");
  if (outer != NULL) setenv(outer_variable, outer, 1);
}

/* PMIx names also what MPI_Comm_spawn starts. Slurm's step is last: programs that a batch script
 * starts without srun have the same one. */
void sesame_process_job(char job[SESAME_JOB_BYTES]) {
  const char* name = getenv("PMIX_NAMESPACE");
  const char* outer = getenv(outer_variable);
  if (name == NULL || (outer != NULL && strcmp(name, outer) == 0)) name = getenv(job_variable);
  const char* slurm = getenv("SLURM_JOB_ID");
  const char* step = getenv("SLURM_STEP_ID");
  job[0] = '\0';
  if (name != NULL) {
    snprintf(job, SESAME_JOB_BYTES, "%s", name);
  } else if (slurm != NULL && step != NULL) {
    snprintf(job, SESAME_JOB_BYTES, "slurm %s.%s", slurm, step);
  }
}

/* The limit is for the whole run; each rank gets an equal share. */
static uint64_t share_of(uint64_t bytes) {
  const char* ranks = getenv("PMI_SIZE");
  if (ranks == NULL) ranks = getenv("OMPI_COMM_WORLD_SIZE");
  long count = ranks != NULL ? atol(ranks) : 1;
  return count > 1 ? bytes / (uint64_t)count : bytes;
}

static void read_settings(void) {
  const char* cells = getenv("SESAME_COUNTERS_DIRECTORY");
  if (cells != NULL && strlen(cells) < sizeof sesame_settings.cells) {
    strcpy(sesame_settings.cells, cells);
  }
  const char* directory = getenv("SESAME_TRACE_DIRECTORY");
  const char* only = getenv("SESAME_TRACE_ONLY");
  const char* most = getenv("SESAME_TRACE_MOST_BYTES");
  if (directory == NULL || *directory == '\0') return;
  if (starts_program()) name_job();
  if (is_launcher()) return;
  if (strlen(directory) >= sizeof sesame_settings.directory) return;
  strcpy(sesame_settings.directory, directory);
  sesame_settings.kinds = SESAME_IO | SESAME_MPI;
  if (only != NULL && strcmp(only, "io") == 0) sesame_settings.kinds = SESAME_IO;
  if (only != NULL && strcmp(only, "mpi") == 0) sesame_settings.kinds = SESAME_MPI;
  sesame_settings.most_bytes = most != NULL ? share_of(strtoull(most, NULL, 10)) : UINT64_MAX;
}

static int new_file(const char* path) {
  return (int)sesame_system_call(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC,
                                 0666);
}

static void write_text(int file, const char* text) {
  sesame_unrecorded(true, sesame_system_call(SYS_write, file, text, strlen(text)));
}

/* The first process writes the metadata; all would write the same. */
static void write_metadata(void) {
  char path[sizeof name];
  snprintf(path, sizeof path, "%s/metadata", sesame_settings.directory);
  int file = new_file(path);
  if (file < 0) return;
  sesame_metadata_write(write_text, file);
  sesame_system_call(SYS_close, file);
}

static int new_state_file(void) {
  const char* directory = sesame_settings.directory;
  char* path = state_path;
  snprintf(path, sizeof state_path, "%s/state", directory);
  sesame_system_call(SYS_mkdirat, AT_FDCWD, path, 0777);
  for (int i = 0;; ++i) {
    snprintf(path, sizeof state_path, "%s/state/%s.%d.%d", directory, host, getpid(), i);
    snprintf(name, sizeof name, "%s/%s.%d.%d", directory, host, getpid(), i);
    int file = new_file(path);
    if (file >= 0 || errno != EEXIST) return file;
  }
}

bool sesame_file_may_have(uint64_t bytes) {
  struct rlimit limit;
  return sesame_system_call(SYS_prlimit64, 0, RLIMIT_FSIZE, NULL, &limit) != 0 ||
         bytes <= limit.rlim_cur;
}

bool sesame_reserve(int file, uint64_t bytes) {
  static const char zeros[4096];
  if (sesame_system_call(SYS_fallocate, file, 0, 0ll, bytes) == 0) return true;
  if (errno != EOPNOTSUPP) return false;
  for (uint64_t at = 0; at < bytes; at += sizeof zeros) {
    long written =
        sesame_unrecorded(true, sesame_system_call(SYS_pwrite64, file, zeros, sizeof zeros, at));
    if (written != sizeof zeros) return false;
  }
  return true;
}

static SesameProcessState* map_state(int file) {
  if (!sesame_file_may_have(sizeof(SesameProcessState))) {
    errno = EFBIG;
    return NULL;
  }
  if (!sesame_reserve(file, sizeof(SesameProcessState))) return NULL;
  void* memory =
      mmap(NULL, sizeof(SesameProcessState), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  return memory == MAP_FAILED ? NULL : memory;
}

bool sesame_process_begin(void) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&lock);
  if (state == NULL) {
    int file = new_state_file();
    SesameProcessState* made = file < 0 ? NULL : map_state(file);
    if (made == NULL) {
      sesame_say("nothing is recorded, cannot write in", sesame_settings.directory, errno);
      if (file >= 0) sesame_system_call(SYS_unlinkat, AT_FDCWD, state_path, 0);
    } else {
      write_metadata();
      made->magic = SESAME_STATE_MAGIC;
      made->format = SESAME_TRACED_FORMAT;
      made->pid = (uint32_t)getpid();
      state = made;
    }
    if (file >= 0) sesame_system_call(SYS_close, file);
  }
  pthread_mutex_unlock(&lock);
  return state != NULL;
}

/* Reads up to `size` bytes; 0 when the file cannot be read. */
static long read_start(const char* path, char* bytes, size_t size) {
  int file = (int)sesame_system_call(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
  long length = file < 0 ? 0 : sesame_system_call(SYS_read, file, bytes, size);
  sesame_unrecorded(false, length);
  if (file >= 0) sesame_system_call(SYS_close, file);
  return length < 0 ? 0 : length;
}

/* The number of this process's namespace of a kind; 0 when it is unknown. */
static uint64_t namespace_number(const char* kind) {
  char path[32];
  struct stat found;
  snprintf(path, sizeof path, "/proc/self/ns/%s", kind);
  if (sesame_system_call(SYS_newfstatat, AT_FDCWD, path, &found, 0) != 0) return 0;
  return found.st_ino;
}

static void read_kernel(char* kernel, size_t size) {
  char boot[64];
  long length = read_start("/proc/sys/kernel/random/boot_id", boot, sizeof boot);
  while (length > 0 && boot[length - 1] == '\n') --length;
  kernel[0] = '\0';
  if (length > 0) {
    snprintf(kernel, size, "%.*s %llu", (int)length, boot,
             (unsigned long long)namespace_number("time"));
  }
}

/* The words of the command line, separated by the character 31. */
static void read_command(char* command) {
  long length = read_start("/proc/self/cmdline", command, SESAME_COMMAND_BYTES - 1);
  while (length > 0 && command[length - 1] == '\0') --length;
  command[length] = '\0';
  for (long i = 0; i < length; ++i) {
    if (command[i] == '\0') command[i] = 31;
  }
}

/* CLOCK_REALTIME - CLOCK_MONOTONIC. A thread that is interrupted between reading the first and the
 * second gets too small a difference, so the largest of several counts. */
static int64_t realtime_offset(void) {
  int64_t largest = INT64_MIN;
  for (int i = 0; i < 8; ++i) {
    struct timespec real;
    clock_gettime(CLOCK_REALTIME, &real);
    const int64_t realtime = (int64_t)real.tv_sec * 1000000000 + real.tv_nsec;
    const int64_t difference = realtime - (int64_t)sesame_system_ns();
    if (difference > largest) largest = difference;
  }
  return largest;
}

void sesame_process_look_up(SesameProcessFacts* facts) {
  read_command(facts->command);
  if (sesame_system_call(SYS_getcwd, facts->directory, sizeof facts->directory) < 0) {
    strcpy(facts->directory, "/");
  }
  read_kernel(facts->kernel, sizeof facts->kernel);
  facts->pid_namespace = namespace_number("pid");
  facts->realtime_offset = realtime_offset();
  facts->host = host;
}

bool sesame_process_prepare(void) {
  read_settings();
  if (sesame_settings.kinds == 0 && sesame_settings.cells[0] == '\0') return false;
  sesame_system_call(SYS_fstat, STDERR_FILENO, &first_stderr);
  if (sesame_settings.kinds == 0) return false;
  started_ns = sesame_system_ns();
  struct utsname node;
  uname(&node);
  snprintf(host, sizeof host, "%s", node.nodename);
  return true;
}

uint64_t sesame_process_ready(uint64_t since_ns) {
  return __atomic_add_fetch(&started_ns, sesame_system_ns() - since_ns, __ATOMIC_RELAXED);
}

void sesame_process_forget(void) {
  if (state != NULL) munmap(state, sizeof *state);
  state = NULL;
  started_ns = sesame_system_ns();
}
