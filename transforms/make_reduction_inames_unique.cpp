#include "transforms/make_reduction_inames_unique.h"

#include <algorithm>

#include "core/model/lookup.h"
#include "transforms/duplicate_inames.h"
#include "transforms/registry.h"

namespace moonloop {
namespace {

/// The inames that the reductions of an instruction bind, also through rules.
std::set<std::string> reduced_by(const Kernel& k, const Instruction& insn) {
  std::set<std::string> out = all_inames(k, insn);
  for (const std::string& i : insn.inames) out.erase(i);
  return out;
}

}  // namespace

Kernel make_reduction_inames_unique(const Kernel& k, const std::vector<std::string>& inames,
                                    const Match& within) {
  for (const std::string& i : inames) require_iname(k, i);
  std::set<std::string> found;
  std::vector<std::pair<std::string, std::string>> all;  // instruction, iname
  for (const std::size_t n : some_matching(k, within, "`within` selects no instruction"))
    for (const std::string& i : reduced_by(k, *k.instructions[n]))
      if (inames.empty() || std::find(inames.begin(), inames.end(), i) != inames.end()) {
        all.emplace_back(k.instructions[n]->id, i);
        found.insert(i);
      }
  for (const std::string& i : inames)
    if (!found.contains(i))
      refuse_for(i, "not-reduced", k.at, "no selected instruction reduces over `{}`", i);
  Kernel out = k;
  for (const auto& [id, iname] : all) {
    const auto uses = [&, &id = id, &iname = iname](const InsnPtr& i) {
      return i->id != id && all_inames(out, *i).contains(iname);
    };
    if (std::any_of(out.instructions.begin(), out.instructions.end(), uses))
      out = duplicate_inames(out, {iname}, Match::parse("id:" + id));
  }
  return out;
}

extern const Op make_reduction_inames_unique_op;
const Op make_reduction_inames_unique_op{
    .name = "make_reduction_inames_unique",
    .doc = R"(Gives reductions inames of their own, which no other instruction has.

Steps may then treat each of these loops by itself: split, tag or realize it. The last instruction
that uses an iname keeps it.

Refuses an iname over which no selected instruction reduces, and one on which the bounds of other loops depend.)",
    .params = {{.name = "inames",
                .kind = Kind::Names,
                .help = "the inames; all that reductions share if absent",
                .positional = true},
               {.name = "within", .kind = Kind::Match, .help = "the instructions; all if absent"}},
    .example_kernel = R"(kernel norms(n: int32, x: float64[n, n], a: float64[n], b: float64[n])
domain {[i, j]: 0 <= i < n and 0 <= j < n}
a[i] = sum(j, x[i, j])   {id=total}
b[i] = max(j, x[i, j])   {id=most}
)",
    .example = R"(knl = lp.make_reduction_inames_unique(knl)
assert(knl.instructions[1].reduction_inames[1] ~= knl.instructions[2].reduction_inames[1]))",
    .run =
        [](const Kernel& k, const Args& a) {
          return make_reduction_inames_unique(k, a.names("inames"),
                                              Match::parse(a.str("within"), a.at()));
        },
    .query = {},
};

}  // namespace moonloop
