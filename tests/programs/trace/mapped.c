/* Writes a mebibyte of a mapped file: mapped shared|private unmapped|left|later. */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const size_t size = 1 << 20;
  const int is_later = strcmp(argv[2], "later") == 0;
  int file = open("mapped.data", O_RDWR | O_CREAT | O_TRUNC, 0644);
  if (file < 0 || ftruncate(file, size) != 0) return 1;
  char* data = mmap(NULL, size, is_later ? PROT_READ : PROT_READ | PROT_WRITE,
                    strcmp(argv[1], "shared") == 0 ? MAP_SHARED : MAP_PRIVATE, file, 0);
  if (data == MAP_FAILED) return 1;
  if (is_later && mprotect(data, size, PROT_READ | PROT_WRITE) != 0) return 1;
  memset(data, 1, size);
  return strcmp(argv[2], "left") == 0 ? 0 : munmap(data, size);
}
