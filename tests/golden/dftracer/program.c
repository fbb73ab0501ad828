/* The program that first.pfw.gz and second.pfw are traces of: DFTracer 2.2.0, preloaded, with
   DFTRACER_INC_METADATA=1 DFTRACER_DATA_DIR=all, compressed and not. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(void) {
  char b[4096];
  memset(b, 1, sizeof b);
  FILE* f = fopen("/data/s.txt", "w");
  for (int i = 0; i < 4; i++) fwrite(b, 10, 7, f);
  fseek(f, 0, SEEK_SET);
  fwrite(b, 1, 5, f);
  fclose(f);
  f = fopen("/data/s.txt", "a+");
  fwrite(b, 1, 5, f);
  fclose(f);
  int fd = open("/data/p.bin", O_CREAT | O_RDWR | O_TRUNC, 0644);
  write(fd, b, 4096);
  lseek(fd, -96, SEEK_END);
  read(fd, b, 4096);
  int other = dup(fd);
  pwrite(other, b, 10, 7); /* the tracer does not see it, nor the close */
  close(other);
  close(fd);
  fd = open("/data/p.bin", O_WRONLY | O_APPEND);
  write(fd, b, 8);
  close(fd);
  if (fork() == 0) {
    fd = open("/data/p.bin", O_RDONLY);
    read(fd, b, 100);
    close(fd);
  }
  rename("/data/p.bin", "/data/q.bin");
  return 0;
}
