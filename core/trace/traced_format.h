/* The format of the raw trace of a traced run, shared by the tracer and the reader: types of
 * fields, packets, the state of a process. Plain C11 and C++. The record types are in
 * traced_records.def.
 *
 * A raw trace is a directory with the text file `metadata` (CTF 1.8) and, for every thread that
 * produced records, a stream file: packets, each a SesamePacketStart and records without alignment.
 * A record is a SesameRecordStart and its fields. */
#ifndef SESAME_CORE_TRACE_TRACED_FORMAT_H
#define SESAME_CORE_TRACE_TRACED_FORMAT_H

#include <stdint.h>

/* Increases whenever record types change; readers refuse other versions. */
#define SESAME_TRACED_FORMAT 8

/* `written` of the record `pages` is 0 for pages that were read, 1 for pages that were written.
 * Where that cannot be seen it is SHARED if a file may have been written, else OTHER. */
enum { SESAME_PAGES_OTHER = 2, SESAME_PAGES_SHARED = 3 };

#define SESAME_PACKET_MAGIC 0xC1FC1FC1u /* fixed by CTF 1.8, section 5.1 */
#define SESAME_TRACED_STREAM 1u         /* the class of these streams: a thread */
#define SESAME_WIDE 0x80u               /* set in the id of a record in its wide form */

/* The C types that hold the integers of fields. In a stream an s40 has five bytes. */
typedef uint8_t sesame_u8;
typedef uint16_t sesame_u16;
typedef uint32_t sesame_u32;
typedef uint64_t sesame_u64;
typedef int16_t sesame_s16;
typedef int32_t sesame_s32;
typedef int64_t sesame_s40;
typedef int64_t sesame_s64;
typedef uint16_t sesame_call;

enum {
  SESAME_BYTES_u8 = 1,
  SESAME_BYTES_u16 = 2,
  SESAME_BYTES_u32 = 4,
  SESAME_BYTES_u64 = 8,
  SESAME_BYTES_s16 = 2,
  SESAME_BYTES_s32 = 4,
  SESAME_BYTES_s40 = 5,
  SESAME_BYTES_s64 = 8,
  SESAME_BYTES_call = 2
};

#define SESAME_TRACED_BEGIN(record, id, meaning) SESAME_TRACED_##record = id,
enum sesame_traced_record {
#include "traced_records.def"
};

#pragma pack(push, 1)
typedef struct {
  uint32_t magic;
  uint32_t stream_id;
  uint32_t pid;
  uint32_t thread;           /* its number in the process; 0: the first that made records */
  uint64_t timestamp_begin;  /* CLOCK_MONOTONIC of the node, ns */
  uint64_t timestamp_end;    /* ns */
  uint64_t content_bits;     /* from the start of the packet, with this struct */
  uint64_t packet_bits;      /* the same: the writer does not pad */
  uint64_t packet_number;    /* counts from 0 in the stream */
  uint64_t events_discarded; /* since the stream began */
} SesamePacketStart;

typedef struct {
  uint8_t id;    /* enum sesame_traced_record, perhaps with SESAME_WIDE */
  uint32_t time; /* the low 32 bits of the time; grows by less than 2^32 ns in a packet */
} SesameRecordStart;
#pragma pack(pop)

/* The file state/NAME of a process with the streams NAME.0.stream, …: mapped into the process, so
 * it survives however the process ends. It has what the streams lack: how many records were
 * produced and lost, and how the process ended. */
#define SESAME_STATE_MAGIC 0x45544154534d5353ull /* "SSMSTATE" */
#define SESAME_STATE_THREADS 1023

typedef struct {
  uint64_t records; /* produced, written or not */
  uint64_t
      discarded; /* produced and known to be lost: full disk, limit of size, a signal handler */
  uint64_t stream_read;    /* bytes that streams of stdio have read for it */
  uint64_t stream_written; /* and written */
  uint64_t unused[4];      /* each thread has a cache line of its own */
} SesameThreadState;

typedef struct {
  uint64_t magic;
  uint32_t format;
  uint32_t pid;
  uint32_t threads; /* that made records; those beyond SESAME_STATE_THREADS share the last entry */
  uint32_t ended;   /* 0 while it runs, then as in the record `ended` */
  int32_t error;    /* errno of the write that ended the recording; 0 when none did */
  uint32_t unused[9];
  SesameThreadState thread[SESAME_STATE_THREADS];
} SesameProcessState;

#endif
