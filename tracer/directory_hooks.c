/* Reading directories, and functions of the C library that walk through directory trees. */
#include <dirent.h>
#include <fcntl.h>
#include <fts.h>
#include <ftw.h>
#include <glob.h>

#include "hooks.h"

/* --- Read --------------------------------------------------------------------------------- */

SESAME_HOOK(DIR*, opendir, (const char* path)) {
  if (!sesame_watches(SESAME_IO)) return SESAME_REAL(opendir)(path);
  uint64_t begin = sesame_enter();
  DIR* directory = SESAME_REAL(opendir)(path);
  sesame_record_open(begin, SESAME_CALL_opendir, directory == NULL ? -1 : dirfd(directory),
                     AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  return directory;
}

SESAME_HOOK(DIR*, fdopendir, (int file)) {
  if (!sesame_watches_file(file)) return SESAME_REAL(fdopendir)(file);
  uint64_t begin = sesame_enter();
  DIR* directory = SESAME_REAL(fdopendir)(file);
  SESAME_RECORD_HANDLE(begin, fdopendir, file, directory == NULL);
  return directory;
}

SESAME_HOOK(int, closedir, (DIR * directory)) {
  int file = directory == NULL ? -1 : dirfd(directory);
  sesame_forget(file);
  if (!sesame_watches(SESAME_IO)) return SESAME_REAL(closedir)(directory);
  uint64_t begin = sesame_enter();
  int result = SESAME_REAL(closedir)(directory);
  SESAME_RECORD_HANDLE(begin, closedir, file, result < 0);
  return result;
}

/* Only errno tells an error from the end of a directory. */
#define READ(type, name)                                                 \
  SESAME_HOOK(type*, name, (DIR * directory)) {                          \
    int file = directory == NULL ? -1 : dirfd(directory);                \
    if (!sesame_watches_file(file)) return SESAME_REAL(name)(directory); \
    int saved = errno;                                                   \
    errno = 0;                                                           \
    uint64_t begin = sesame_enter();                                     \
    type* entry = SESAME_REAL(name)(directory);                          \
    SESAME_RECORD_HANDLE(begin, readdir, file, entry == NULL);           \
    if (errno == 0) errno = saved;                                       \
    return entry;                                                        \
  }
READ(struct dirent, readdir)
READ(struct dirent64, readdir64)

#define READ_INTO(type, name)                                                           \
  SESAME_HOOK(int, name, (DIR * directory, type * entry, type * *result)) {             \
    int file = dirfd(directory);                                                        \
    if (!sesame_watches_file(file)) return SESAME_REAL(name)(directory, entry, result); \
    uint64_t begin = sesame_enter();                                                    \
    int error = SESAME_REAL(name)(directory, entry, result);                            \
    SESAME_RECORD(handle, begin, .call = SESAME_CALL_readdir, .file = file,             \
                  .error = (uint16_t)error);                                            \
    return error;                                                                       \
  }
READ_INTO(struct dirent, readdir_r)
READ_INTO(struct dirent64, readdir64_r)

#define POSITION(name, parameters, arguments)   \
  SESAME_HOOK(void, name, parameters) {         \
    int file = dirfd(directory);                \
    if (!sesame_watches_file(file)) {           \
      SESAME_REAL(name) arguments;              \
      return;                                   \
    }                                           \
    uint64_t begin = sesame_enter();            \
    SESAME_REAL(name) arguments;                \
    SESAME_RECORD_HANDLE(begin, name, file, 0); \
  }
POSITION(rewinddir, (DIR * directory), (directory))
POSITION(seekdir, (DIR * directory, long position), (directory, position))

/* --- Walked ------------------------------------------------------------------------------- */

/* These call functions of the program. Calls made there have records of their own. */
#define WALK(name, call_, parameters, arguments, directory_)                           \
  SESAME_HOOK(int, name, parameters) {                                                 \
    if (!sesame_watches_path(directory_)) return SESAME_REAL(name) arguments;          \
    uint64_t begin = sesame_enter();                                                   \
    int result = SESAME_REAL(name) arguments;                                          \
    sesame_record_path(begin, SESAME_CALL_##call_, result == -1, directory_, path, 0); \
    return result;                                                                     \
  }
#define FILTER int (*filter)(const void*)
#define COMPARE int (*compare)(const void*, const void*)
#define VISIT int (*visit)(const char*, const void*, int)
#define VISIT_DEEP int (*visit)(const char*, const void*, int, struct FTW*)
WALK(scandir, scandir, (const char* path, void* names, FILTER, COMPARE),
     (path, names, filter, compare), AT_FDCWD)
WALK(scandir64, scandir, (const char* path, void* names, FILTER, COMPARE),
     (path, names, filter, compare), AT_FDCWD)
WALK(scandirat, scandirat, (int directory, const char* path, void* names, FILTER, COMPARE),
     (directory, path, names, filter, compare), directory)
WALK(scandirat64, scandirat, (int directory, const char* path, void* names, FILTER, COMPARE),
     (directory, path, names, filter, compare), directory)
WALK(ftw, ftw, (const char* path, VISIT, int files), (path, visit, files), AT_FDCWD)
WALK(ftw64, ftw, (const char* path, VISIT, int files), (path, visit, files), AT_FDCWD)
WALK(nftw, nftw, (const char* path, VISIT_DEEP, int files, int flags), (path, visit, files, flags),
     AT_FDCWD)
WALK(nftw64, nftw, (const char* path, VISIT_DEEP, int files, int flags),
     (path, visit, files, flags), AT_FDCWD)

/* glob returns error numbers of its own, which are not recorded. */
#define GLOB(name)                                                                         \
  SESAME_HOOK(int, name,                                                                   \
              (const char* path, int flags, int (*fail)(const char*, int), void* found)) { \
    if (!sesame_watches(SESAME_IO)) return SESAME_REAL(name)(path, flags, fail, found);    \
    uint64_t begin = sesame_enter();                                                       \
    int result = SESAME_REAL(name)(path, flags, fail, found);                              \
    sesame_record_path(begin, SESAME_CALL_glob, 0, AT_FDCWD, path, 0);                     \
    return result;                                                                         \
  }
GLOB(glob)
GLOB(glob64)

/* A walk of fts opens and closes many directories, so its records name none. */
#define STEP(type, name, call_, parameters, arguments)                  \
  SESAME_HOOK(type, name, parameters) {                                 \
    if (!sesame_watches(SESAME_IO)) return SESAME_REAL(name) arguments; \
    uint64_t begin = sesame_enter();                                    \
    type result = SESAME_REAL(name) arguments;                          \
    SESAME_RECORD(plain, begin, .call = SESAME_CALL_##call_);           \
    return result;                                                      \
  }
STEP(void*, fts_open, fts_open, (char* const* paths, int flags, COMPARE), (paths, flags, compare))
STEP(void*, fts64_open, fts_open, (char* const* paths, int flags, COMPARE), (paths, flags, compare))
STEP(void*, fts_read, fts_read, (void* walk), (walk))
STEP(void*, fts64_read, fts_read, (void* walk), (walk))
STEP(void*, fts_children, fts_children, (void* walk, int flags), (walk, flags))
STEP(void*, fts64_children, fts_children, (void* walk, int flags), (walk, flags))
STEP(int, fts_close, fts_close, (void* walk), (walk))
STEP(int, fts64_close, fts_close, (void* walk), (walk))
