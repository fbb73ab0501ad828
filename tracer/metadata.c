#include "metadata.h"

#include <stdio.h>

#include "calls.h"
#include "core/trace/traced_format.h"

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)
#define STREAM 1
_Static_assert(STREAM == SESAME_TRACED_STREAM, "it is written out in the text");

static const char preamble[] =
    "/* CTF 1.8 */\n"
    "typealias integer { size = 8; align = 8; signed = false; } := u8_t;\n"
    "typealias integer { size = 16; align = 8; signed = false; } := u16_t;\n"
    "typealias integer { size = 32; align = 8; signed = false; } := u32_t;\n"
    "typealias integer { size = 64; align = 8; signed = false; } := u64_t;\n"
    "typealias integer { size = 16; align = 8; signed = true; } := s16_t;\n"
    "typealias integer { size = 32; align = 8; signed = true; } := s32_t;\n"
    "typealias integer { size = 40; align = 8; signed = true; } := s40_t;\n"
    "typealias integer { size = 64; align = 8; signed = true; } := s64_t;\n\n"
    "trace {\n  major = 1;\n  minor = 8;\n  byte_order = le;\n"
    "  packet.header := struct {\n    u32_t magic;\n    u32_t stream_id;\n  };\n};\n\n"
    "env {\n  sesame_traced_format = " TEXT(SESAME_TRACED_FORMAT) ";\n};\n\n"
    "clock {\n  name = monotonic;\n  freq = 1000000000;\n"
    "  description = \"CLOCK_MONOTONIC of the node, in ns\";\n};\n"
    "typealias integer {\n  size = 64; align = 8; signed = false;"
    " map = clock.monotonic.value;\n} := time_t;\n"
    "typealias integer {\n  size = 32; align = 8; signed = false;"
    " map = clock.monotonic.value;\n} := short_time_t;\n\n"
    "stream {\n  id = " TEXT(STREAM) ";\n"
    "  packet.context := struct {\n    u32_t pid;\n    u32_t thread;\n"
    "    time_t timestamp_begin;\n    time_t timestamp_end;\n    u64_t content_size;\n"
    "    u64_t packet_size;\n    u64_t packet_seq_num;\n    u64_t events_discarded;\n  };\n"
    "  event.header := struct {\n    u8_t id;\n    short_time_t timestamp;\n  };\n};\n\n";

static const char call_names[] =
    "typealias integer { size = 16; align = 8; signed = false; } := call_number_t;\n"
    "typealias enum : call_number_t {\n"
#define SESAME_CALL(name) "  \"" #name "\",\n"
#include "calls.def"
    "} := call_t;\n\n";

typedef struct {
  const char* name;
  unsigned id;
  const char* meaning;
  const char* fields;
} EventText;

static const EventText events[] = {
#define SESAME_TRACED_BEGIN(shape, id, meaning) \
  {                                             \
#shape, id, meaning, ""
#define SESAME_TRACED_FIELD(shape, field, narrow, wide, meaning) "    " #narrow "_t " #field ";\n"
#define SESAME_TRACED_TEXT(shape, field, meaning) "    string " #field ";\n"
#define SESAME_TRACED_LIST(shape, field, meaning) \
  "    u32_t " #field "_length;\n    s32_t " #field "[" #field "_length];\n"
#define SESAME_TRACED_END(shape) \
  }                              \
  ,
#include "core/trace/traced_records.def"
#define SESAME_TRACED_BEGIN(shape, id, meaning) \
  {                                             \
#shape, id | SESAME_WIDE, meaning, ""
#define SESAME_TRACED_FIELD(shape, field, narrow, wide, meaning) "    " #wide "_t " #field ";\n"
#define SESAME_TRACED_TEXT(shape, field, meaning) "    string " #field ";\n"
#define SESAME_TRACED_LIST(shape, field, meaning) \
  "    u32_t " #field "_length;\n    s32_t " #field "[" #field "_length];\n"
#define SESAME_TRACED_END(shape) \
  }                              \
  ,
#include "core/trace/traced_records.def"
};

void sesame_metadata_write(void (*write)(int file, const char* text), int file) {
  write(file, preamble);
  write(file, call_names);
  for (size_t i = 0; i < sizeof events / sizeof *events; ++i) {
    const EventText* event = &events[i];
    char text[4096];
    snprintf(text, sizeof text,
             "/* %s */\nevent {\n  name = \"%s\";\n  id = %u;\n  stream_id = " TEXT(
                 STREAM) ";\n  fields := struct {\n%s  };\n};\n\n",
             event->meaning, event->name, event->id, event->fields);
    write(file, text);
  }
}
