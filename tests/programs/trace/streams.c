/* Streams used in all the ways in which their buffers hide what is really read and written. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <wchar.h>

static char block[100000];

static void write_all(void) {
  FILE* file = fopen("streamed", "w+");
  for (int i = 0; i < 20000; ++i) fprintf(file, "%d\n", i);
  for (int i = 0; i < 20000; ++i) putc_unlocked('a', file);
  fwrite(block, 1, sizeof block, file);
  fputs("line\n", file);
  rewind(file);
  for (int i = 0; i < 300; ++i) fgetc(file);
  fseek(file, 0, SEEK_CUR);
  fputs("in between\n", file);
  fclose(file);
}

static void read_all(void) {
  FILE* file = fopen("streamed", "r");
  int number;
  char* line = NULL;
  size_t capacity = 0;
  for (int i = 0; i < 5000; ++i) {
    if (fscanf(file, "%d", &number) != 1) break;
  }
  for (int i = 0; i < 5000 && getline(&line, &capacity, file) > 0; ++i) {
  }
  for (int i = 0; i < 50; ++i) {
    fseek(file, 977L * i, SEEK_SET);
    ungetc(fgetc(file), file);
    if (fread(block, 1, 100, file) != 100) break;
    fseek(file, -50, SEEK_CUR);
    fgets(block, 40, file);
  }
  fseek(file, 0, SEEK_END);
  fseek(file, -10, SEEK_END);
  while (getc_unlocked(file) != EOF) {
  }
  rewind(file);
  fread(block, 1, sizeof block, file);
  free(line);
  fclose(file);
}

int main(void) {
  setvbuf(stdout, NULL, _IOLBF, 100);
  puts("a line");
  write_all();
  read_all();
  FILE* left = fopen("left", "w");
  fputs("written when the program ends", left);
  fprintf(stderr, "unbuffered %d\n", 1);
  return 0;
}
