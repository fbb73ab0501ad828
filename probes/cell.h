/* Memory shared by the eBPF programs of a subsystem and the user side: settings, and for each CPU
 * an account of costs and a table of counter cells (points x classes x size groups). Counters only
 * grow; readers take differences. Durations in ns, sizes in bytes. */
#pragma once

#include <linux/types.h>

#define SESAME_MAX_GROUPS 8

struct cell {
  __u64 count;
  __u64 bytes;
  __u64 timed;     /* events whose duration was measured: all, some or none (enum detail) */
  __u64 total_ns;  /* of these */
  __u64 max_ns[2]; /* of these; the reader clears the one that is not in use (settings.epoch) */
};

/* The account of a CPU: the calibrated costs of the subsystem's programs there. It precedes the
 * CPU's cells. */
struct account {
  __u64 charged_ns;
  __u64 quota_ns; /* set by the user side; a CPU whose charged_ns reaches it sends
                     SESAME_QUOTA_REACHED, once; 0: never */
  __u64 runs;     /* of programs, also those that found nothing to count */
  __u64 scratch;  /* for the program that runs */
};

/* The level of detail of a point; each costs more than the one before. */
enum detail {
  DETAIL_OFF,
  DETAIL_COUNT,    /* events and bytes by size group; in class 0 if finding the class is costly */
  DETAIL_SAMPLED,  /* and all classes; one event in SESAME_SAMPLING is timed */
  DETAIL_DURATION, /* every event is timed */
};

#define SESAME_SAMPLING 16
#define SESAME_RING (8 << 20)      /* bytes of trace records that wait to be read */
#define SESAME_MESSAGES (64 << 10) /* bytes of messages that wait; they have a ring */
#define SESAME_RING_WAKE (1 << 20) /* so many wake the reader */
#define SESAME_RING_STEP (1 << 12) /* more than all CPUs write at once */
#define SESAME_MAX_POINTS 16

/* Mapped by the user side, which writes all but the last two while the programs run. Members that
 * every run reads come first, in one cache line of 64 bytes: between distant events other programs
 * use the cache, and a cache miss takes longer than the rest of a run. */
struct settings {
  __u8 detail[SESAME_MAX_POINTS];
  __u8 tracing[SESAME_MAX_POINTS];
  __u32 run_ns;                     /* cost of a run at the present level of detail */
  __u32 epoch;                      /* 0 or 1: which maximum is in use */
  __u32 finest;                     /* the finest level of detail of all points */
  __u32 paused;                     /* nothing is counted, whatever points are set to */
  __u64 since_ns;                   /* when points were set last: what began before is not timed */
  __u32 classless;                  /* this kernel cannot find classes */
  __u32 reader;                     /* the process whose own events are not traced */
  __u64 limits[SESAME_MAX_GROUPS];  /* a size belongs to the first group whose limit it is below */
  __u32 cost_ns[SESAME_MAX_POINTS]; /* of an event, on top of run_ns */
  __u32 subsystem;
  __u64 presented; /* events that should be traced */
  __u64 lost;      /* of these, those lost with a full ring buffer */
};

/* An event with this point is a message: a CPU has reached its subsystem's quota. */
#define SESAME_QUOTA_REACHED 0xffff
/* Likewise: a class was assigned to something new. Its name must be found at once, since the object
 * may soon be gone. */
#define SESAME_CLASS_ASSIGNED 0xfffe

/* One event of a trace. The subsystem's description says what `where` and `what` are. The thread is
 * the one that was running; in sched it is the one that waited or ran. */
struct event {
  __u64 time_ns; /* at its end; clock monotonic */
  __u64 duration_ns;
  __u64 where;
  __u64 bytes;
  __u32 what;
  __u32 pid; /* the thread's number */
  __u16 point;
  __u16 class_;
  __u16 cpu;
  __u16 subsystem;
  char command[16]; /* the thread's name */
  __u32 process;
  __u32 unused;
};
