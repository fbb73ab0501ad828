// C library functions with state between calls: strtok, localtime, setlocale; and lgamma, which
// sets signgam.
#include <langinfo.h>
#include <locale.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "core/loader/bindings.h"
#include "core/loader/process.h"
#include "core/loader/real.h"

namespace sesame::loader {
namespace {

tm* broken_down_time_of(RankProcess& process) {
  if (process.broken_down_time == nullptr) process.broken_down_time = std::make_unique<tm>();
  return process.broken_down_time.get();
}

constexpr std::pair<int, const char*> kCategories[] = {{LC_CTYPE, "LC_CTYPE"},
                                                       {LC_NUMERIC, "LC_NUMERIC"},
                                                       {LC_TIME, "LC_TIME"},
                                                       {LC_COLLATE, "LC_COLLATE"},
                                                       {LC_MONETARY, "LC_MONETARY"},
                                                       {LC_MESSAGES, "LC_MESSAGES"},
                                                       {LC_PAPER, "LC_PAPER"},
                                                       {LC_NAME, "LC_NAME"},
                                                       {LC_ADDRESS, "LC_ADDRESS"},
                                                       {LC_TELEPHONE, "LC_TELEPHONE"},
                                                       {LC_MEASUREMENT, "LC_MEASUREMENT"},
                                                       {LC_IDENTIFICATION, "LC_IDENTIFICATION"}};

// LC_ALL: one name when all categories agree, else "LC_CTYPE=…;LC_NUMERIC=…;…".
std::string describe_locale(locale_t locale) {
  const std::string first = nl_langinfo_l(NL_LOCALE_NAME(LC_CTYPE), locale);
  bool same = true;
  std::string all;
  for (const auto& [category, label] : kCategories) {
    const char* name = nl_langinfo_l(NL_LOCALE_NAME(category), locale);
    same &= first == name;
    all += (all.empty() ? "" : ";") + std::string(label) + "=" + name;
  }
  return same ? first : all;
}

// The caller keeps the pointer, so that names stay until the rank is unloaded.
char* keep_name(RankProcess& process, const std::string& name) {
  for (std::string& known : process.locale_names)
    if (known == name) return known.data();
  return process.locale_names.emplace_back(name).data();
}

char* locale_name(RankProcess& process, int category) {
  if (process.locale == nullptr) return REAL(setlocale)(category, nullptr);
  if (category == LC_ALL) return keep_name(process, describe_locale(process.locale));
  return keep_name(process, nl_langinfo_l(NL_LOCALE_NAME(category), process.locale));
}

}  // namespace

extern "C" {

char* rank_strtok(char* text, const char* separators) {
  RankProcess* process = current();
  if (process == nullptr) return REAL(strtok)(text, separators);
  return strtok_r(text, separators, &process->token);
}

tm* rank_localtime(const time_t* time) {
  RankProcess* process = current();
  if (process == nullptr) return REAL(localtime)(time);
  tzset();
  return localtime_r(time, broken_down_time_of(*process));
}

tm* rank_gmtime(const time_t* time) {
  RankProcess* process = current();
  if (process == nullptr) return REAL(gmtime)(time);
  return gmtime_r(time, broken_down_time_of(*process));
}

// A rank's locale is that of the thread (uselocale). After the first call every switch sets it.
char* rank_setlocale(int category, const char* name) {
  RankProcess* process = current();
  if (process == nullptr) return REAL(setlocale)(category, name);
  if (name == nullptr) return locale_name(*process, category);
  if (category < 0 || category > LC_IDENTIFICATION) return nullptr;
  const int mask = category == LC_ALL ? LC_ALL_MASK : 1 << category;
  const locale_t base = process->locale != nullptr ? duplocale(process->locale)
                                                   : newlocale(LC_ALL_MASK, "C", nullptr);
  const locale_t made = newlocale(mask, name, base);
  if (made == nullptr) {
    freelocale(base);
    return nullptr;
  }
  swap_locales_from_now_on();
  const locale_t previous = process->locale;
  process->locale = made;
  uselocale(made);
  if (previous != nullptr) freelocale(previous);
  return locale_name(*process, category);
}
GLOBAL_NAME(setlocale);

#define LEAVE_SIGN(name, type)                                                                   \
  type rank_##name(type x) {                                                                     \
    int sign = 0;                                                                                \
    const type result = name##_r(x, &sign);                                                      \
    if (RankProcess* process = current()) process->variable<int>(Variable::kSignOfGamma) = sign; \
    return result;                                                                               \
  }
LEAVE_SIGN(lgamma, double)
LEAVE_SIGN(lgammaf, float)
LEAVE_SIGN(lgammal, long double)
#undef LEAVE_SIGN

}  // extern "C"

void bind_text(BindingTable& table) {
  BIND(table, strtok);
  BIND(table, localtime);
  BIND(table, gmtime);
  BIND(table, setlocale);
  BIND(table, lgamma);
  BIND_AS(table, "gamma", lgamma);
  BIND(table, lgammaf);
  BIND(table, lgammal);
}

}  // namespace sesame::loader
