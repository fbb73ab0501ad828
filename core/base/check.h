// CHECK states what must hold if Sesame itself is right. It stays on in release builds: a
// prediction from a broken state is worse than none.
#pragma once

namespace sesame {

[[noreturn, gnu::cold]] void check_failed(const char* file, int line, const char* condition);

}  // namespace sesame

#define CHECK(condition)                                      \
  do {                                                        \
    if (!(condition)) [[unlikely]]                            \
      ::sesame::check_failed(__FILE__, __LINE__, #condition); \
  } while (0)
