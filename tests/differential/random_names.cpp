#include "tests/differential/random_names.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "codegen/reserved.h"
#include "core/base/diagnostic.h"
#include "core/infer/infer.h"
#include "frontends/text/parse.h"
#include "tests/differential/random.h"

namespace moonloop::differential {
namespace {

bool begins_name(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }

/// Names of arrays `a b c p q`, of loops `i` to `n` but for `n` itself, and of temporaries `t1`.
bool is_variable(const std::string& name) {
  if (name.size() == 1) return std::string("abcpqijklm").find(name) != std::string::npos;
  return (name[0] == 't' || name[0] == 'i') &&
         std::all_of(name.begin() + 1, name.end(),
                     [](char c) { return std::isdigit(static_cast<unsigned char>(c)); });
}

/// All words of the table that are not words of the kernel language.
const std::vector<std::string>& words() {
  static const std::vector<std::string> all = [] {
    std::set<std::string> out;
    for (const Surroundings around :
         {Surroundings::C, Surroundings::OpenCL, Surroundings::Cuda, Surroundings::Ispc})
      for (std::string& w : reserved_names(around, NameUse::Global)) out.insert(std::move(w));
    for (const std::string& f : function_names()) out.erase(f);
    for (const char* own : {"and", "or", "not", "if", "else", "for", "in", "all", "any", "exists",
                            "mod", "true", "false", "do", "id", "dep", "inames", "main"})
      out.erase(own);
    return std::vector<std::string>(out.begin(), out.end());
  }();
  return all;
}

}  // namespace

std::string with_reserved_names(std::uint64_t seed, const std::string& text) {
  Random random(seed ^ 0x6e616d6573u);
  if (!random.chance(20)) return text;
  std::map<std::string, std::string> by;
  std::set<std::string> taken;
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    if (!begins_name(text[at])) {
      out += text[at++];
      continue;
    }
    std::size_t end = at;
    while (end < text.size() && in_name(text[end])) ++end;
    const std::string name = text.substr(at, end - at);
    // `2*n` is a number and a name, `0x1f` is not; an id is not a variable.
    const bool behind_digit = at > 0 && in_name(text[at - 1]);
    at = end;
    if (behind_digit || !is_variable(name)) {
      out += name;
      continue;
    }
    auto it = by.find(name);
    if (it == by.end()) {
      std::string word = random.pick(words());
      while (!taken.insert(word).second) word = random.pick(words());
      it = by.emplace(name, word).first;
    }
    out += it->second;
  }
  try {
    parse_kernels(add_source("names", out));
  } catch (const Error&) {
    return text;  // isl takes the word for one of its own
  }
  return out;
}

}  // namespace moonloop::differential
