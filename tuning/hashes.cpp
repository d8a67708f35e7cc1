#include "tuning/hashes.h"

#include <algorithm>

#include "core/infer/infer.h"
#include "core/model/print.h"
#include "core/rewrite/as_text.h"
#include "runtime/sha256.h"

namespace moonloop::tuning {
namespace {

/// With the types and shapes that follow; a kernel that lacks them is taken as it is written.
Kernel inferred(const Kernel& k) {
  try {
    return infer_shapes(infer_types(k));
  } catch (const Error&) {  // reported where they are needed
    return k;
  }
}

/// The texts of `k` and, by name, of all kernels that it calls, directly or not.
void collect_texts(const Kernel& k, std::map<std::string, std::string>& texts) {
  if (!texts.emplace(k.name, "").second) return;
  texts[k.name] = print_kernel(as_text(inferred(k)));
  for (const auto& [name, callee] : k.callees) collect_texts(*callee->meaning, texts);
}

bool is_word(char c) {
  return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// The length of `[==[ … ]==]` at `at`; 0 where there is none. An open one goes to the end.
std::size_t long_bracket(std::string_view text, std::size_t at) {
  std::size_t level = 0;
  while (at + 1 + level < text.size() && text[at + 1 + level] == '=') ++level;
  if (at + 1 + level >= text.size() || text[at + 1 + level] != '[') return 0;
  const std::string close = "]" + std::string(level, '=') + "]";
  const std::size_t end = text.find(close, at + 2 + level);
  return end == std::string_view::npos ? text.size() - at : end + close.size() - at;
}

/// The length of a string in quotes at `at`, or to the end of an open one.
std::size_t quoted_length(std::string_view text, std::size_t at) {
  std::size_t end = at + 1;
  while (end < text.size() && text[end] != text[at]) end += text[end] == '\\' ? 2 : 1;
  return std::min(end + 1, text.size()) - at;
}

/// A name or a number: `x1`, `0x1p4`, `1e-5`, `.5`.
std::size_t word_length(std::string_view text, std::size_t at) {
  const bool number = text[at] == '.' || (text[at] >= '0' && text[at] <= '9');
  std::size_t end = at;
  while (end < text.size()) {
    const char c = text[end];
    const bool sign = number && end > at && (c == '+' || c == '-') &&
                      std::string_view("eEpP").find(text[end - 1]) != std::string_view::npos;
    if (!is_word(c) && !(number && c == '.') && !sign) break;
    ++end;
  }
  return end - at;
}

}  // namespace

std::string kernel_hash(const Kernel& k) {
  std::map<std::string, std::string> texts;
  collect_texts(k, texts);
  std::string all = "kernel 1 " + k.name + "\n";
  for (const auto& [name, text] : texts) all += text;
  return sha256(all);
}

std::string lua_words(std::string_view text) {
  std::string out;
  std::size_t at = 0;
  if (text.starts_with("#")) at = std::min(text.find('\n'), text.size());
  while (at < text.size()) {
    const char c = text[at];
    std::size_t length = 1;
    if (c == ' ' || (c >= '\t' && c <= '\r')) {
      ++at;
      continue;
    }
    if (text.substr(at, 2) == "--") {
      const std::size_t bracket =
          at + 2 < text.size() && text[at + 2] == '[' ? long_bracket(text, at + 2) : 0;
      at = bracket ? at + 2 + bracket : std::min(text.find('\n', at), text.size());
      continue;
    }
    const bool digit_next = at + 1 < text.size() && text[at + 1] >= '0' && text[at + 1] <= '9';
    if (c == '"' || c == '\'')
      length = quoted_length(text, at);
    else if (c == '[' && long_bracket(text, at) > 0)
      length = long_bracket(text, at);
    else if (is_word(c) || (c == '.' && digit_next))
      length = word_length(text, at);
    else  // what is written together stays together: `a - -b` is not `a --b`
      for (const std::string_view sign :
           {"...", "..", "==", "~=", "<=", ">=", "//", "::", "<<", ">>"})
        if (text.substr(at, sign.size()) == sign) {
          length = sign.size();
          break;
        }
    out += fmt::format("{} ", length);  // so that a word may have line ends in it
    out += text.substr(at, length);
    out += '\n';
    at += length;
  }
  return out;
}

std::string script_hash(const std::vector<std::string_view>& texts,
                        std::vector<std::pair<std::string, std::string>> settings) {
  std::string all = "script 1\n";
  for (const std::string_view text : texts) {
    const std::string words = lua_words(text);
    all += fmt::format("text {}\n{}", words.size(), words);
  }
  std::sort(settings.begin(), settings.end());
  for (const auto& [name, value] : settings)
    all += fmt::format("setting {} {} {} {}\n", name.size(), name, value.size(), value);
  return sha256(all);
}

std::string made_kernel_hash(std::string_view text,
                             const std::vector<std::pair<std::string, std::string>>& settings) {
  return sha256("made " + script_hash({text}, settings));
}

}  // namespace moonloop::tuning
