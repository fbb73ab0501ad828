// getopt, getopt_long and getopt_long_only with a state for each rank: glibc's own functions keep
// one state for the whole process. They behave like glibc's. Operands are moved behind the options
// unless the option string or POSIXLY_CORRECT forbids it. Long options may be abbreviated. Messages
// have the same words.
#include <getopt.h>
#include <string.h>

#include <algorithm>
#include <cstdio>

#include "core/loader/bindings.h"
#include "core/loader/process.h"
#include "core/loader/real.h"

namespace sesame::loader {

extern "C" char* rank_getenv(const char* name);

namespace {

enum class Order { kPermute, kStopAtOperand, kReturnOperands };

bool is_operand(const char* word) { return word[0] != '-' || word[1] == '\0'; }

class OptionParser {
 public:
  OptionParser(RankProcess& process, int argc, char** argv, const char* options,
               const option* long_options, int* long_index, bool long_only, bool posix)
      : scan_(process.options),
        argc_(argc),
        argv_(argv),
        options_(options),
        long_options_(long_options),
        long_index_(long_index),
        long_only_(long_only),
        argument_(process.variable<char*>(Variable::kOptarg)),
        index_(process.variable<int>(Variable::kOptind)),
        bad_(process.variable<int>(Variable::kOptopt)),
        verbose_(process.variable<int>(Variable::kOpterr) != 0) {
    if (*options_ == '-' || *options_ == '+') {
      order_ = *options_++ == '-' ? Order::kReturnOperands : Order::kStopAtOperand;
    } else if (posix || rank_getenv("POSIXLY_CORRECT") != nullptr) {
      order_ = Order::kStopAtOperand;
    }
    if (*options_ == ':') verbose_ = false;
  }

  int next() {
    if (argc_ < 1) return -1;
    argument_ = nullptr;
    if (index_ == 0 || !scan_.started) {
      if (index_ == 0) index_ = 1;
      if (!scan_.started) bad_ = 0;  // as glibc's, whose variable holds '?' until the first call
      scan_ = {nullptr, index_, index_, true};
    }
    if (scan_.next == nullptr || *scan_.next == '\0') {
      int result;
      if (start_word(&result)) return result;
    }
    return short_option();
  }

 private:
  // Moves to the next word that holds options. True when that already gives the result.
  bool start_word(int* result) {
    scan_.last_operand = std::min(scan_.last_operand, index_);
    scan_.first_operand = std::min(scan_.first_operand, index_);
    if (order_ == Order::kPermute) {
      move_operands();
      while (index_ < argc_ && is_operand(argv_[index_])) ++index_;
      scan_.last_operand = index_;
    }
    if (index_ < argc_ && strcmp(argv_[index_], "--") == 0) {
      ++index_;
      move_operands();
      scan_.last_operand = index_ = argc_;
    }
    *result = -1;
    if (index_ >= argc_) {
      // The operands that were passed over come next for the caller.
      if (scan_.first_operand != scan_.last_operand) index_ = scan_.first_operand;
      return true;
    }
    char* word = argv_[index_];
    if (is_operand(word)) {
      if (order_ == Order::kStopAtOperand) return true;
      argument_ = word;
      ++index_;
      *result = 1;
      return true;
    }
    if (long_options_ != nullptr && word[1] == '-') {
      *result = long_option(word + 2, "--");
      return true;
    }
    // -abc may be one long option, or the short ones a, b, c; a lone known letter is short.
    if (long_options_ != nullptr && long_only_ &&
        (word[2] != '\0' || strchr(options_, word[1]) == nullptr)) {
      *result = long_option(word + 1, "-");
      if (*result != -1) return true;
    }
    scan_.next = word + 1;
    return false;
  }

  // Puts the options read since the last operands before those operands.
  void move_operands() {
    if (scan_.first_operand == scan_.last_operand) {
      scan_.first_operand = index_;
    } else if (scan_.last_operand != index_) {
      std::rotate(argv_ + scan_.first_operand, argv_ + scan_.last_operand, argv_ + index_);
      scan_.first_operand += index_ - scan_.last_operand;
    }
    scan_.last_operand = index_;
  }

  int short_option() {
    const char letter = *scan_.next++;
    const char* known = letter == ':' || letter == ';' ? nullptr : strchr(options_, letter);
    if (*scan_.next == '\0') ++index_;
    if (known == nullptr) {
      if (verbose_) fprintf(stderr, "%s: invalid option -- '%c'\n", argv_[0], letter);
      bad_ = letter;
      return '?';
    }
    if (known[0] == 'W' && known[1] == ';' && long_options_ != nullptr) return long_after_w();
    if (known[1] != ':') return letter;
    const bool optional = known[2] == ':';
    if (*scan_.next != '\0') {
      argument_ = const_cast<char*>(scan_.next);
      ++index_;
    } else if (!optional) {
      if (index_ >= argc_) return missing_argument(letter);
      argument_ = argv_[index_++];
    }
    scan_.next = nullptr;
    return letter;
  }

  int missing_argument(char letter) {
    if (verbose_) fprintf(stderr, "%s: option requires an argument -- '%c'\n", argv_[0], letter);
    bad_ = letter;
    scan_.next = nullptr;
    return *options_ == ':' ? ':' : '?';
  }

  // "-W name" stands for "--name".
  int long_after_w() {
    const char* text = scan_.next;
    if (*text == '\0') {
      if (index_ >= argc_) return missing_argument('W');
      text = argv_[index_];
    }
    argument_ = nullptr;
    return long_option(text, "-W ");
  }

  bool same_effect(const option& a, const option& b) const {
    return a.has_arg == b.has_arg && a.flag == b.flag && a.val == b.val;
  }

  // The option that the text names or abbreviates; null when there is none, or several.
  const option* find_long(const char* text, size_t length, bool* ambiguous) const {
    const option* found = nullptr;
    *ambiguous = false;
    for (const option* known = long_options_; known->name != nullptr; ++known) {
      if (strncmp(known->name, text, length) != 0) continue;
      if (strlen(known->name) == length) {
        *ambiguous = false;
        return known;
      }
      if (found == nullptr) {
        found = known;
      } else if (long_only_ || !same_effect(*found, *known)) {
        *ambiguous = true;
      }
    }
    return found;
  }

  int long_option(const char* text, const char* prefix) {
    const size_t length = strcspn(text, "=");
    bool ambiguous;
    const option* found = find_long(text, length, &ambiguous);
    if (ambiguous) return ambiguous_option(text, length, prefix);
    if (found == nullptr) {
      const bool may_be_short =
          long_only_ && argv_[index_][1] != '-' && strchr(options_, *text) != nullptr;
      if (may_be_short) return -1;
      if (verbose_) fprintf(stderr, "%s: unrecognized option '%s%s'\n", argv_[0], prefix, text);
      return end_long('?', 0);
    }
    ++index_;
    scan_.next = nullptr;
    if (text[length] == '=') {
      if (found->has_arg == no_argument) {
        if (verbose_)
          fprintf(stderr, "%s: option '%s%s' doesn't allow an argument\n", argv_[0], prefix,
                  found->name);
        bad_ = found->val;
        return '?';
      }
      argument_ = const_cast<char*>(text + length + 1);
    } else if (found->has_arg == required_argument) {
      if (index_ >= argc_) {
        if (verbose_)
          fprintf(stderr, "%s: option '%s%s' requires an argument\n", argv_[0], prefix,
                  found->name);
        bad_ = found->val;
        return *options_ == ':' ? ':' : '?';
      }
      argument_ = argv_[index_++];
    }
    if (long_index_ != nullptr) *long_index_ = static_cast<int>(found - long_options_);
    if (found->flag == nullptr) return found->val;
    *found->flag = found->val;
    return 0;
  }

  int ambiguous_option(const char* text, size_t length, const char* prefix) {
    if (verbose_) {
      std::string message =
          std::string(argv_[0]) + ": option '" + prefix + text + "' is ambiguous; possibilities:";
      for (const option* known = long_options_; known->name != nullptr; ++known)
        if (strncmp(known->name, text, length) == 0)
          message += std::string(" '") + prefix + known->name + "'";
      fprintf(stderr, "%s\n", message.c_str());
    }
    return end_long('?', 0);
  }

  int end_long(int result, int bad) {
    scan_.next = nullptr;
    ++index_;
    bad_ = bad;
    return result;
  }

  OptionScan& scan_;
  int argc_;
  char** argv_;
  const char* options_;
  const option* long_options_;
  int* long_index_;
  bool long_only_;
  char*& argument_;
  int& index_;
  int& bad_;
  bool verbose_;
  Order order_ = Order::kPermute;
};

}  // namespace

extern "C" {

int rank_getopt(int argc, char* const* argv, const char* options) {
  RankProcess* process = current();
  if (process == nullptr) return REAL(getopt)(argc, argv, options);
  return OptionParser(*process, argc, const_cast<char**>(argv), options, nullptr, nullptr, false,
                      false)
      .next();
}

int rank___posix_getopt(int argc, char* const* argv, const char* options) {
  RankProcess* process = current();
  if (process == nullptr) return REAL(getopt)(argc, argv, options);
  return OptionParser(*process, argc, const_cast<char**>(argv), options, nullptr, nullptr, false,
                      true)
      .next();
}

int rank_getopt_long(int argc, char* const* argv, const char* options, const option* long_options,
                     int* long_index) {
  RankProcess* process = current();
  if (process == nullptr) return REAL(getopt_long)(argc, argv, options, long_options, long_index);
  return OptionParser(*process, argc, const_cast<char**>(argv), options, long_options, long_index,
                      false, false)
      .next();
}

int rank_getopt_long_only(int argc, char* const* argv, const char* options,
                          const option* long_options, int* long_index) {
  RankProcess* process = current();
  if (process == nullptr)
    return REAL(getopt_long_only)(argc, argv, options, long_options, long_index);
  return OptionParser(*process, argc, const_cast<char**>(argv), options, long_options, long_index,
                      true, false)
      .next();
}

}  // extern "C"

void bind_getopt(BindingTable& table) {
  BIND(table, getopt);
  BIND(table, __posix_getopt);
  BIND(table, getopt_long);
  BIND(table, getopt_long_only);
}

}  // namespace sesame::loader
