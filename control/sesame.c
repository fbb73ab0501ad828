/* One connection to the daemon, kept for the life of the process, and HTTP on it. */
#define _GNU_SOURCE
#include "sesame.h"

#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define MOST_PHASES 64
#define MOST_NAME 128
#define MOST_ANSWER 4096
#define TIMEOUT_SECONDS 2

struct phase {
  char name[MOST_NAME];
  uint64_t begin_ns;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct phase phases[MOST_PHASES]; /* that have started and not ended, the latest last */
static unsigned phase_count;
static int connection = -1;
static pid_t owner;    /* a child must not use its parent's connection */
static bool is_unread; /* the answer to the last request is still to come */
static char token[256];
static char daemon_host[256] = "127.0.0.1";
static char daemon_port[8] = "7117";
static _Thread_local char error_text[256];

EXPORT const char* sesame_error(void) { return error_text; }

static int fail(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(error_text, sizeof error_text, format, arguments);
  va_end(arguments);
  return -1;
}

/* ---- The daemon's address ---- */

static void read_token(void) {
  const char* text = getenv("SESAME_TOKEN");
  if (text != NULL) snprintf(token, sizeof token, "%s", text);
  const char* path = getenv("SESAME_TOKEN_FILE");
  FILE* file = text == NULL && path != NULL ? fopen(path, "re") : NULL;
  if (file == NULL) return;
  if (fgets(token, sizeof token, file) == NULL) token[0] = 0;
  fclose(file);
  token[strcspn(token, "\r\n")] = 0;
}

static void read_environment(void) {
  read_token();
  const char* address = getenv("SESAME_DAEMON");
  if (address == NULL) return;
  const char* colon = strrchr(address, ':');
  const int length = colon != NULL ? (int)(colon - address) : (int)strlen(address);
  snprintf(daemon_host, sizeof daemon_host, "%.*s", length, address);
  if (colon != NULL) snprintf(daemon_port, sizeof daemon_port, "%s", colon + 1);
}

static void hang_up(void) {
  if (connection >= 0) close(connection);
  connection = -1;
  is_unread = false;
}

/* 0, or -1 with errno. */
static int connect_to(const struct addrinfo* address) {
  const struct timeval timeout = {.tv_sec = TIMEOUT_SECONDS};
  connection = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connection < 0) return -1;
  setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
  setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
  if (connect(connection, address->ai_addr, address->ai_addrlen) == 0) return 0;
  const int reason = errno;
  hang_up();
  errno = reason;
  return -1;
}

/* A name may have several addresses; the daemon listens at one of them. */
static int call_daemon(void) {
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
  struct addrinfo* found;
  const int result = getaddrinfo(daemon_host, daemon_port, &hints, &found);
  if (result != 0) return fail("%s:%s: %s", daemon_host, daemon_port, gai_strerror(result));
  for (const struct addrinfo* address = found; address != NULL; address = address->ai_next) {
    if (connect_to(address) == 0) break;
  }
  freeaddrinfo(found);
  if (connection >= 0) return owner = getpid(), 0;
  return fail("no daemon at %s:%s: %s", daemon_host, daemon_port, strerror(errno));
}

/* ---- Reading JSON ---- */

static const char* skip_space(const char* text) { return text + strspn(text, " \t\r\n"); }

/* What follows the string that begins at `text`; the end of the text if the string does not end. */
static const char* skip_string(const char* text) {
  for (++text; *text != 0 && *text != '"'; ++text) {
    if (*text == '\\' && text[1] != 0) ++text;
  }
  return *text == '"' ? text + 1 : text;
}

/* The value of a member of the outermost object of an answer's body, or NULL. */
static const char* find_member(const char* answer, const char* name) {
  const char* text = strstr(answer, "\r\n\r\n");
  const size_t length = strlen(name);
  int depth = 0;
  while (text != NULL && *(text = skip_space(text)) != 0) {
    if (*text != '"') {
      depth += (*text == '{' || *text == '[') - (*text == '}' || *text == ']');
      ++text;
      continue;
    }
    const char* key = text + 1;
    text = skip_space(skip_string(text));
    if (depth != 1 || *text != ':') continue;
    text = skip_space(text + 1);
    if (strncmp(key, name, length) == 0 && key[length] == '"') return text;
    if (*text == '"') text = skip_string(text);
  }
  return NULL;
}

/* ---- Requests ---- */

static int send_all(const char* text, size_t bytes) {
  while (bytes > 0) {
    const ssize_t sent = send(connection, text, bytes, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return fail("the daemon does not listen: %s", strerror(errno));
    text += sent;
    bytes -= (size_t)sent;
  }
  return 0;
}

/* The length of a whole answer, or 0 when its end is still to come. */
static size_t whole_answer(const char* text, size_t bytes) {
  const char* body = strstr(text, "\r\n\r\n");
  if (body == NULL) return 0;
  const char* length = strcasestr(text, "\r\ncontent-length:");
  const size_t head = (size_t)(body + 4 - text);
  if (length == NULL || length > body) return head;
  const size_t whole = head + strtoul(length + strlen("\r\ncontent-length:"), NULL, 10);
  return bytes >= whole ? whole : 0;
}

/* Reads one answer into `answer`. Fails if there is none, or with the daemon's own message. */
static int read_answer(char* answer) {
  size_t bytes = 0;
  is_unread = false;
  do {
    const ssize_t got = recv(connection, answer + bytes, MOST_ANSWER - 1 - bytes, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return fail("the daemon does not answer"), hang_up(), -1;
    bytes += (size_t)got;
    answer[bytes] = 0;
  } while (whole_answer(answer, bytes) == 0 && bytes < MOST_ANSWER - 1);
  if (whole_answer(answer, bytes) == 0) hang_up(); /* longer than the buffer */
  int status = 0;
  if (sscanf(answer, "HTTP/1.1 %d", &status) == 1 && status < 300) return 0;
  const char* error = find_member(answer, "error");
  if (error == NULL || *error != '"') return fail("the daemon answers with status %d", status);
  char text[sizeof error_text];
  size_t length = 0;
  for (++error; *error != 0 && *error != '"' && length + 1 < sizeof text; ++error) {
    if (*error == '\\' && (error[1] == '"' || error[1] == '\\')) ++error;
    text[length++] = *error;
  }
  text[length] = 0;
  return fail("%s", text);
}

static int send_request(const char* method, const char* path, const char* body) {
  char request[2048];
  const int bytes = snprintf(request, sizeof request,
                             "%s %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n"
                             "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                             method, path, daemon_host, token, strlen(body), body);
  if (bytes < 0 || (size_t)bytes >= sizeof request) return fail("the request is too long");
  return send_all(request, (size_t)bytes);
}

/* Sends a request on the open connection; on a new one if there is none or the daemon closed it. */
static int deliver(const char* method, const char* path, const char* body) {
  char answer[MOST_ANSWER];
  if (connection >= 0 && owner != getpid()) hang_up();
  if (connection >= 0 && is_unread) read_answer(answer);
  char left;
  if (connection >= 0 && recv(connection, &left, 1, MSG_PEEK | MSG_DONTWAIT) == 0) hang_up();
  if (connection < 0 && call_daemon() != 0) return -1;
  if (send_request(method, path, body) == 0) return is_unread = true, 0;
  hang_up();
  return -1;
}

static int prepare(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, read_environment);
  return token[0] != 0 ? 0 : fail("SESAME_TOKEN and SESAME_TOKEN_FILE give no token");
}

static int ask(const char* method, const char* path, const char* body, char* answer) {
  pthread_mutex_lock(&lock);
  int result = deliver(method, path, body);
  if (result == 0) result = read_answer(answer);
  pthread_mutex_unlock(&lock);
  return result;
}

/* The path for `fs`, `fs.read` or everything. Other characters are refused, as it is part of a
 * request. */
static int path_of(const char* where, const char* what, char* path, size_t size) {
  if (where == NULL) return snprintf(path, size, "/v1%s", what), 0;
  const char* allowed = "abcdefghijklmnopqrstuvwxyz0123456789-_";
  const size_t subsystem = strspn(where, allowed);
  const char* point = where[subsystem] == '.' ? where + subsystem + 1 : "";
  const size_t length = strspn(point, allowed);
  const size_t whole = subsystem + (where[subsystem] == '.' ? 1 + length : 0);
  if (subsystem == 0 || where[whole] != 0 || whole > MOST_NAME) {
    return fail("there is no point %.100s", where);
  }
  const bool is_point = length > 0;
  snprintf(path, size, "/v1/subsystems/%.*s%s%s%s", (int)subsystem, where,
           is_point ? "/points/" : "", point, what);
  return 0;
}

/* ---- Interface ---- */

static int set_level(const char* where, const char* body) {
  char path[3 * MOST_NAME], answer[MOST_ANSWER];
  if (prepare() != 0 || path_of(where, "/level", path, sizeof path) != 0) return -1;
  return ask("PUT", path, body, answer);
}

EXPORT int sesame_on(const char* where) { return set_level(where, "{\"level\": \"summary\"}"); }

EXPORT int sesame_off(const char* where) { return set_level(where, "{\"level\": \"off\"}"); }

static uint64_t value_of(const char* answer, const char* name) {
  const char* value = find_member(answer, name);
  return value != NULL ? strtoull(value, NULL, 10) : 0;
}

EXPORT int sesame_read(const char* point, struct sesame_counts* counts) {
  char path[3 * MOST_NAME], answer[MOST_ANSWER];
  memset(counts, 0, sizeof *counts);
  if (prepare() != 0) return -1;
  if (point == NULL || strchr(point, '.') == NULL) return fail("expected subsystem.point");
  if (path_of(point, "/total", path, sizeof path) != 0) return -1;
  if (ask("GET", path, "", answer) != 0) return -1;
  counts->count = value_of(answer, "count");
  counts->bytes = value_of(answer, "bytes");
  counts->timed = value_of(answer, "timed");
  counts->duration_ns = value_of(answer, "duration_ns");
  return 0;
}

static uint64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return 1000000000u * (uint64_t)now.tv_sec + (uint64_t)now.tv_nsec;
}

EXPORT int sesame_phase_begin(const char* name) {
  if (prepare() != 0) return -1;
  if (name == NULL || name[0] == 0 || strlen(name) >= MOST_NAME) {
    return fail("a phase's name has 1 to %d bytes", MOST_NAME - 1);
  }
  pthread_mutex_lock(&lock);
  const bool has_space = phase_count < MOST_PHASES;
  if (has_space) {
    struct phase* phase = &phases[phase_count++];
    snprintf(phase->name, sizeof phase->name, "%s", name);
    phase->begin_ns = now_ns();
  }
  pthread_mutex_unlock(&lock);
  return has_space ? 0 : fail("%d phases have started already, the maximum", MOST_PHASES);
}

/* Removes the phase from the list; returns when it began, or 0. */
static uint64_t end_phase(const char* name) {
  for (unsigned i = phase_count; i-- > 0;) {
    if (strcmp(phases[i].name, name) != 0) continue;
    const uint64_t begin_ns = phases[i].begin_ns;
    memmove(&phases[i], &phases[i + 1], (--phase_count - i) * sizeof phases[0]);
    return begin_ns;
  }
  return 0;
}

/* Escapes the name for a JSON string. */
static void quote(const char* name, char* out) {
  for (; *name != 0; ++name) {
    const unsigned char letter = (unsigned char)*name;
    if (letter < 0x20) {
      out += sprintf(out, "\\u%04x", letter);
    } else {
      if (letter == '"' || letter == '\\') *out++ = '\\';
      *out++ = (char)letter;
    }
  }
  *out = 0;
}

/* Does not wait for the answer, which the next request reads, so as not to delay the program. */
EXPORT int sesame_phase_end(const char* name) {
  const uint64_t end_ns = now_ns();
  if (prepare() != 0) return -1;
  char quoted[6 * MOST_NAME], body[7 * MOST_NAME];
  pthread_mutex_lock(&lock);
  const uint64_t begin_ns = name != NULL ? end_phase(name) : 0;
  int result = -1;
  if (begin_ns != 0) {
    quote(name, quoted);
    snprintf(body, sizeof body,
             "{\"name\": \"%s\", \"begin_ns\": %llu, \"end_ns\": %llu, \"pid\": %d}", quoted,
             (unsigned long long)begin_ns, (unsigned long long)end_ns, (int)getpid());
    result = deliver("POST", "/v1/phases", body);
  }
  pthread_mutex_unlock(&lock);
  return begin_ns != 0 ? result : fail("no phase %.100s has started", name != NULL ? name : "");
}
