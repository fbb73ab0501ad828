/* With "kept" a child writes to a file that it has inherited, by a descriptor and by a stream. Then
   the rank uses a file of the host. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int is_kept = argc > 1 && strcmp(argv[1], "kept") == 0;
  int file = open("inherited", O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  FILE* stream = fopen("stream", "we");
  write(file, "rank", 4);
  fflush(NULL);
  if (!is_kept) {
    close(file);
    fclose(stream);
  }
  if (fork() == 0) {
    if (!is_kept) _exit(0);
    write(file, "child", 5);
    fputs("by stream", stream);
    fclose(stream);
    _exit(0);
  }
  wait(NULL);
  if (!is_kept) file = open("inherited", O_RDONLY);
  char text[32] = "", streamed[32] = "";
  pread(file, text, 31, 0);
  const int other = open("stream", O_RDONLY);
  read(other, streamed, 31);
  close(other);
  printf("%s|%s\n", text, streamed);
  close(file);
  const double begin = MPI_Wtime();
  const int host = open("/etc/passwd", O_RDONLY);
  read(host, text, 10);
  close(host);
  printf("%s\n", MPI_Wtime() - begin < 1e-6 ? "no time" : "time passed");
  MPI_Finalize();
  return 0;
}
