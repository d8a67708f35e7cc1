#include "tests/differential/random_storage.h"

#include <algorithm>

#include "core/model/lookup.h"
#include "tests/differential/values.h"

namespace moonloop::differential {
namespace {

/// Mostly one that shares a variable with `insn`: only then the order counts.
InsnPtr other_than(Random& r, const Kernel& k, const Instruction& insn) {
  const auto variables = [&](const Instruction& i) {
    std::set<std::string> all = writes(i);
    for (const std::string& n : reads(k, i))
      if (k.find_arg(n) || k.find_temporary(n)) all.insert(n);
    return all;
  };
  const std::set<std::string> own = variables(insn);
  std::vector<InsnPtr> meeting;
  for (const InsnPtr& i : k.instructions) {
    const std::set<std::string> theirs = variables(*i);
    if (i->id != insn.id && std::any_of(theirs.begin(), theirs.end(),
                                        [&](const std::string& n) { return own.contains(n); }))
      meeting.push_back(i);
  }
  return meeting.empty() || r.chance(30) ? r.pick(k.instructions) : r.pick(meeting);
}

Call barrier(Random& r, const Kernel& k, Flavour flavour) {
  const Instruction& first = *r.pick(k.instructions);
  const InsnPtr other = other_than(r, k, first);
  const Instruction& second = *other;
  ValueDict options;
  if (r.chance(flavour == Flavour::Device ? 50 : 30))
    options.emplace_back("synchronization_kind", text("local"));
  if (r.chance(15)) options.emplace_back("mem_kind", text(r.pick({"local", "global"})));
  if (r.chance(40)) {
    std::vector<std::string> shared;
    for (const std::string& i : first.inames)
      if (second.inames.contains(i) && r.chance(60)) shared.push_back(i);
    options.emplace_back("within_inames", list(shared));
  }
  return {"add_barrier", {text("id:" + first.id), text("id:" + second.id)}, options};
}

}  // namespace

Call storage_step(Random& r, const Kernel& k, Flavour flavour) {
  std::vector<std::string> temporaries;
  for (const auto& [name, t] : k.temporaries) temporaries.push_back(name);
  const int choice = r.below(10);
  if (choice < 4 && !temporaries.empty()) {
    const std::string& space = r.pick({"private", "local", "global", "auto"});
    return {"set_temporary_address_space", {list({r.pick(temporaries)}), text(space)}, {}};
  }
  if (choice < 5 && r.chance(30))
    return {"share_local_memory", {}, {{"in_loops", Value{r.chance(50)}}}};
  if (choice < 5 && temporaries.size() > 1) {
    const std::size_t at = std::size_t(r.below(int(temporaries.size()) - 1));
    return {"alias_temporaries", {list({temporaries[at], temporaries[at + 1]})}, {}};
  }
  if (choice < 6) return {"save_and_reload_temporaries", {}, {}};
  if (choice < 7) {
    const std::vector<std::int64_t> sizes{5, 8, 12};
    const ValueDict values{{"n", Value{r.pick(sizes)}}};
    return {
        "fix_parameters", {Value{values}}, {{"within", text("id:" + r.pick(k.instructions)->id)}}};
  }
  return barrier(r, k, flavour);
}

}  // namespace moonloop::differential
