#include "transforms/set_instruction_priority.h"

#include <algorithm>

#include "core/base/graph.h"
#include "core/model/lookup.h"
#include "transforms/registry.h"

namespace moonloop {
namespace {

/// What has to stay in front of what: barriers, `depends_on`, and statements of which one writes
/// what the other accesses.
Edges kept_pairs(const Kernel& k) {
  const std::size_t all = k.instructions.size();
  std::vector<std::set<std::string>> written, accessed;
  for (const InsnPtr& i : k.instructions) {
    written.push_back(writes(*i));
    accessed.push_back(reads(k, *i));
    accessed.back().insert(written.back().begin(), written.back().end());
  }
  const auto meet = [](const std::set<std::string>& a, const std::set<std::string>& b) {
    return std::any_of(a.begin(), a.end(), [&](const std::string& n) { return b.contains(n); });
  };
  const auto depends = [&](std::size_t later, std::size_t earlier) {
    const auto& on = k.instructions[later]->depends_on;
    return std::find(on.begin(), on.end(), k.instructions[earlier]->id) != on.end();
  };
  Edges out(all);
  for (std::size_t a = 0; a < all; ++a)
    for (std::size_t b = a + 1; b < all; ++b) {
      if (depends(a, b)) {  // written behind it, and yet before it
        out[b].insert(static_cast<int>(a));
        continue;
      }
      const bool barrier = k.instructions[a]->kind == InsnKind::Barrier ||
                           k.instructions[b]->kind == InsnKind::Barrier;
      if (barrier || depends(b, a) || meet(written[a], accessed[b]) ||
          meet(accessed[a], written[b]))
        out[a].insert(static_cast<int>(b));
    }
  return out;
}

/// Instructions in the order of their priorities, as far as `before` lets them.
std::vector<InsnPtr> by_priority(const Kernel& k, const Edges& before) {
  std::vector<int> places(k.instructions.size()), rank(places.size());
  for (std::size_t n = 0; n < places.size(); ++n) places[n] = static_cast<int>(n);
  std::stable_sort(places.begin(), places.end(), [&](int a, int b) {
    return k.instructions[std::size_t(a)]->priority > k.instructions[std::size_t(b)]->priority;
  });
  for (std::size_t n = 0; n < places.size(); ++n)
    rank[std::size_t(places[n])] = static_cast<int>(n);
  const std::vector<int> order = sort_topologically(before, rank);
  if (order.size() != places.size())
    refuse("not-proved", k.at,
           "the explicit dependencies of `{}` run against the order in which it is written",
           k.name);
  std::vector<InsnPtr> out;
  for (const int n : order) out.push_back(k.instructions[std::size_t(n)]);
  return out;
}

}  // namespace

Kernel set_instruction_priority(const Kernel& k, const Match& insn_match, int priority,
                                Proof proof) {
  Kernel out = k;
  for (const std::size_t n : some_matching(k, insn_match, "`insn_match` selects no instruction"))
    out.instructions[n] = edit(out.instructions[n], [&](Instruction& i) { i.priority = priority; });
  out.instructions = by_priority(out, kept_pairs(out));
  return reordered(k, std::move(out), proof);
}

extern const Op set_instruction_priority_op;
const Op set_instruction_priority_op{
    .name = "set_instruction_priority",
    .doc =
        R"(Says which instructions run first where the order is free: those of the highest priority.

It is a wish: what an instruction needs still runs before it, and loops that instructions share stay
one loop. Instructions that have no priority have 0; among equal ones, the order in which they are
written counts.

Refuses an order in which the loops would break a dependence, with two instances.)",
    .params = {{.name = "insn_match",
                .kind = Kind::Match,
                .help = "the instructions",
                .required = true,
                .positional = true},
               {.name = "priority",
                .kind = Kind::Int,
                .help = "higher ones run earlier",
                .required = true,
                .positional = true},
               unsafe_option()},
    .example_kernel = R"(kernel two(n: int32, a: float64[n], b: float64[n])
domain {[i]: 0 <= i < n}
a[i] = 1   {id=first}
b[i] = 2   {id=second}
)",
    .example = R"(knl = lp.set_instruction_priority(knl, "id:second", 1)
assert(knl.ids[1] == "second"))",
    .run =
        [](const Kernel& k, const Args& a) {
          const std::int64_t priority = a.integer("priority");
          if (priority != static_cast<int>(priority))
            fail("bad-argument", a.at(), "the priority {} is too large", priority);
          return set_instruction_priority(k, Match::parse(a.str("insn_match"), a.at()),
                                          static_cast<int>(priority), a.proof());
        },
    .query = {},
};

}  // namespace moonloop
