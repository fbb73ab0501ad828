/* The compiled programs of all subsystems, as data. The build says where they are. */
#define SUBSYSTEM(name)                      \
  .globl sesame_##name##_object;             \
  .globl sesame_##name##_object_end;         \
  .balign 16;                                \
  sesame_##name##_object:                    \
  .incbin OBJECT_OF(name);                   \
  sesame_##name##_object_end:
#define QUOTE(text) #text
#define OBJECT_OF(name) QUOTE(name.bpf.o)

.section .rodata
#include "subsystems.def"
SUBSYSTEM(fs_older)
.section .note.GNU-stack, "", @progbits
