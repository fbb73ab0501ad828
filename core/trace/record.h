/* The records of a simulation's raw trace as C structs, made from records.def: sesame_call_record,
 * sesame_message_record, … Plain C11 without dependencies. Times are picoseconds. A record is
 * copied into a stream byte by byte: little-endian, without padding. */
#ifndef SESAME_CORE_TRACE_RECORD_H
#define SESAME_CORE_TRACE_RECORD_H

#ifndef SESAME_NO_STDINT /* eBPF code brings its own integer types */
#include <stdint.h>
#endif

/* Changes whenever a record type does; readers refuse what they do not know. */
#define SESAME_TRACE_FORMAT 2

#define SESAME_RECORD_BEGIN(name, id, timestamp_field, meaning) struct sesame_##name##_record {
#define SESAME_FIELD(record, type, field, unit, meaning) type field;
#define SESAME_NAMED_FIELD(record, type, field, names, meaning) type field;
#define SESAME_RECORD_END(name) \
  }                             \
  ;
#include "records.def"

#define SESAME_RECORD_BEGIN(name, id, timestamp_field, meaning) SESAME_RECORD_##name = id,
enum sesame_record_id {
#include "records.def"
};

enum sesame_protocol {
  SESAME_PROTOCOL_EAGER = 0,
  SESAME_PROTOCOL_RENDEZVOUS = 1,
  SESAME_PROTOCOL_PUT = 2,
  SESAME_PROTOCOL_GET = 3
};

enum sesame_call_flags { SESAME_CALL_POLL = 1 };

enum sesame_message_flags { SESAME_MESSAGE_IN_NODE = 1, SESAME_MESSAGE_OF_COLLECTIVE = 2 };

/* The same values as in column `flags` of table io. */
enum sesame_file_call_flags {
  SESAME_FILE_CALL_NESTED = 1,
  SESAME_FILE_CALL_ASYNCHRONOUS = 4,
  SESAME_FILE_CALL_COLLECTIVE = 8
};

#endif
