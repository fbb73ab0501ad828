// While one of these exists, the thread that made it shares its processor with one that computes.
#pragma once

#include <sched.h>

#include <atomic>
#include <thread>

#include "core/base/check.h"

namespace sesame {

class BusyProcessor {
 public:
  BusyProcessor() {
    CHECK(sched_getaffinity(0, sizeof before_, &before_) == 0);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    CHECK(sched_setaffinity(0, sizeof one, &one) == 0);  // the other thread inherits it
    other_ = std::thread([this] {
      while (!ends_) {
      }
    });
  }
  ~BusyProcessor() {
    ends_ = true;
    other_.join();
    sched_setaffinity(0, sizeof before_, &before_);
  }
  BusyProcessor(const BusyProcessor&) = delete;
  BusyProcessor& operator=(const BusyProcessor&) = delete;

 private:
  cpu_set_t before_;
  std::atomic<bool> ends_ = false;
  std::thread other_;
};

}  // namespace sesame
