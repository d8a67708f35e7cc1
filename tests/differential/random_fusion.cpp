#include "tests/differential/random_fusion.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/diagnostic.h"
#include "frontends/text/parse.h"
#include "tests/differential/random_kernel.h"
#include "transforms/fuse_kernels.h"

namespace moonloop::differential {
namespace {

/// The type of all arrays of a kernel of random_kernel(); empty where they differ.
std::string type_of_arrays(const std::string& text) {
  const std::string head = text.substr(0, text.find('\n'));
  std::string out;
  for (const char* array : {", a: ", ", b: ", ", c: ", ", p: ", ", q: "}) {
    const std::size_t at = head.find(array) + 5, end = head.find('[', at);
    const std::string type = head.substr(at, end - at);
    if (!out.empty() && type != out) return {};
    out = type;
  }
  return out;
}

/// The clauses about loops that kernels share, in the order in which loops nest.
std::vector<std::pair<std::string, std::string>> shared_loops(const std::string& text) {
  try {
    return fuse_kernels(parse_kernels(add_source("fusion", text))).shared;
  } catch (const Error&) { return {}; }
}

}  // namespace

bool is_fusion(const Call& step) { return step.name == "fuse_kernels"; }

Kernel fused(const std::vector<Kernel>& kernels, const std::vector<Call>& steps) {
  FuseOptions options;
  for (const Call& c : steps)
    if (is_fusion(c) && c.options.size() == 1 && kernels.size() > 1)
      for (const Value& v : *c.options[0].second.as<ValueList>())
        if (options.suffixes.size() < kernels.size())
          options.suffixes.push_back(*v.as<std::string>());
  if (options.suffixes.size() != kernels.size()) options.suffixes.clear();
  return fuse_kernels(kernels, options).kernel;
}

Opening random_fusion(Random& random, const std::string& name) {
  const int wanted = random.chance(75) ? 2 : 3;
  Opening out;
  std::string type;
  int made = 0;
  for (int tries = 0; tries < 200 && made < wanted; ++tries) {
    const std::string text = random_kernel(random, fmt::format("{}_{}", name, made));
    const std::string own = type_of_arrays(text);
    const bool small = std::count(text.begin(), text.end(), '\n') < 10;
    if (own.empty() || !small || (made > 0 && own != type)) continue;
    type = own;
    out.text += text;
    ++made;
  }
  Call fuse{"fuse_kernels", {}, {}};
  if (random.chance(50)) {
    ValueList suffixes;
    for (int k = 0; k < made; ++k) suffixes.push_back(Value{fmt::format("_{}", k)});
    fuse.options.emplace_back("suffixes", Value{suffixes});
  }
  out.steps.push_back(fuse);
  if (random.chance(75))
    for (const auto& [own, first] : shared_loops(out.text))
      if (random.chance(80)) {
        ValueDict options{{"existing_ok", Value{true}}};
        if (random.chance(25)) options.emplace_back("raise_on_domain_mismatch", Value{false});
        out.steps.push_back({"rename_iname", {Value{own}, Value{first}}, std::move(options)});
      }
  return out;
}

}  // namespace moonloop::differential
