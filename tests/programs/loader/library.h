extern int library_value; /* the program gets its own storage for it (a COPY relocation) */
extern const char* library_names[2]; /* relocated inside the library */
int library_count(void);
int* library_thread_count(void);
int program_answer(void); /* the program's; the library calls it */
int library_ask(void);
