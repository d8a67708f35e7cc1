#include "transforms/distribute_loops.h"

#include <algorithm>

#include "core/model/lookup.h"
#include "core/order/distribution.h"
#include "core/rewrite/loop_body.h"
#include "core/rewrite/loop_bounds.h"
#include "core/rewrite/own_loops.h"
#include "core/sets/budget.h"
#include "transforms/new_inames.h"
#include "transforms/registry.h"

namespace moonloop {
namespace {

/// By instruction of the loop: the number of its group.
using GroupNumbers = std::map<std::size_t, int>;

GroupNumbers chosen(const Kernel& k, const std::string& iname, const LoopBody& body,
                    const std::vector<Match>& groups) {
  GroupNumbers out;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    bool any = false;
    for (const std::size_t n : body.members()) {
      const Instruction& insn = *k.instructions[n];
      if (!groups[g](k, insn)) continue;
      any = true;
      if (!out.emplace(n, int(g)).second)
        refuse("in-two-groups", insn.at, "`{}` is in group {} and in group {}", insn.id,
               out.at(n) + 1, g + 1);
    }
    if (!any)
      refuse("no-match", k.at, "group {} selects no instruction in the loop over `{}`", g + 1,
             iname);
  }
  for (const std::size_t n : body.members()) out.emplace(n, int(groups.size()));
  return out;
}

GroupNumbers finest(const Kernel& k, const std::string& iname, const LoopBody& body) {
  std::map<std::string, int> number;
  int g = 0;
  for (const std::vector<std::string>& ids : finest_distribution(k, iname)) {
    for (const std::string& id : ids) number.emplace(id, g);
    ++g;
  }
  GroupNumbers out;
  for (const std::size_t n : body.members()) out.emplace(n, number.at(k.instructions[n]->id));
  return out;
}

int count_groups(const GroupNumbers& group) {
  int most = 0;
  for (const auto& [n, g] : group) most = std::max(most, g);
  return most + 1;
}

/// The instructions of the loop in the order of their groups, in the places that they have in the
/// list between them.
void sort_list(Kernel& k, const GroupNumbers& group) {
  std::vector<InsnPtr> sorted;
  for (int g = 0; g < count_groups(group); ++g)
    for (const auto& [n, number] : group)
      if (number == g) sorted.push_back(k.instructions[n]);
  std::size_t next = 0;
  for (const auto& [n, number] : group) k.instructions[n] = sorted[next++];
}

/// Which of the groups that share an iname has it under its own name: the first one that also keeps
/// the names of all loops on which its bounds depend.
class NamesStay {
 public:
  NamesStay(const Kernel& k, const std::map<std::string, std::set<int>>& users)
      : k_(k), users_(users) {}

  /// -1: none.
  int of(const std::string& iname) {
    if (const auto it = known_.find(iname); it != known_.end()) return it->second;
    known_[iname] = -1;
    const std::set<std::string> bounding = inames_bounding(k_, {iname});
    for (const int g : users_.at(iname))
      if (std::all_of(bounding.begin(), bounding.end(), [&](const std::string& b) {
            const auto it = users_.find(b);
            return it == users_.end() || it->second.size() < 2 || depends_mutually(b, iname) ||
                   of(b) == g;
          }))
        return known_[iname] = g;
    return -1;
  }

 private:
  /// Dimensions of one domain bound each other.
  bool depends_mutually(const std::string& a, const std::string& b) const {
    return k_.home_of(a) == k_.home_of(b);
  }

  const Kernel& k_;
  const std::map<std::string, std::set<int>>& users_;
  std::map<std::string, int> known_;
};

/// What became of the iname.
std::string renamed(const InameCopies& copies, const std::string& iname) {
  const auto at = std::find_if(copies.begin(), copies.end(),
                               [&](const auto& pair) { return pair.first == iname; });
  return at == copies.end() ? iname : at->second;
}

/// Conditions that all statements of the loop share become its bounds, and the same for loops in
/// it.
void bound(Kernel& k, const std::string& iname) {
  for (const std::string& each : LoopBody(k, iname).own())
    take_conditions_as_bounds(k, each, LoopBody(k, each).own());
}

}  // namespace

Kernel distribute_loops(const Kernel& k, const std::string& iname, const std::vector<Match>& groups,
                        const DistributeOptions& o) {
  require_iname(k, iname);
  const LoopBody body(k, iname);
  if (body.members().empty())
    refuse("not-a-loop", k.at, "`{}` is no loop around an instruction of kernel `{}`", iname,
           k.name);
  GroupNumbers group;
  within_budget(k.at, "the order of instances is kept", [&] {
    group = groups.empty() ? finest(k, iname, body) : chosen(k, iname, body, groups);
  });
  const int all = count_groups(group);
  if (all < 2 && !groups.empty())
    refuse("one-group", k.at, "all instructions in the loop over `{}` are in one group", iname);
  if (!o.suffixes.empty() && std::ssize(o.suffixes) != all)
    refuse("name-count", k.at, "{} suffixes are given for {} groups", o.suffixes.size(), all);
  if (all < 2) return k;
  if (o.proof == Proof::Made && !groups.empty())
    within_budget(k.at, "the order of instances is kept", [&] {
      std::map<std::string, int> by_id;
      for (const auto& [n, g] : group) by_id.emplace(k.instructions[n]->id, g);
      check_distribution(k, iname, by_id);
    });

  std::map<std::string, std::set<int>> users;  // by iname: groups
  for (const auto& [n, g] : group)
    for (const std::string& i : body.own(n)) users[i].insert(g);
  NewInames names(k);
  NamesStay names_stay(k, users);
  std::vector<InameCopies> copies(static_cast<std::size_t>(all));
  for (const auto& [i, in] : users)
    for (const int g : in) {
      const std::string suffix = o.suffixes.empty() ? "" : o.suffixes[std::size_t(g)];
      const bool stays = suffix.empty() && g == names_stay.of(i);
      if (!stays && in.size() > 1)
        copies[std::size_t(g)].emplace_back(i, names.take(suffix.empty() ? "" : i + suffix, i));
    }
  Kernel out = k;
  for (int g = 0; g < all; ++g) {
    std::vector<bool> picked(k.instructions.size());
    for (const auto& [n, number] : group) picked[n] = number == g;
    const InameCopies& own = copies[std::size_t(g)];
    if (own.empty()) continue;
    out = with_own_loops(out, own, picked);
    for (const auto& [from, to] : own)
      if (const InameTag* tag = k.tag(from)) out.iname_tags[to] = *tag;
  }
  sort_list(out, group);
  for (const InameCopies& own : copies) bound(out, renamed(own, iname));
  return reordered(k, std::move(out), o.proof);
}

extern const Op distribute_loops_op;
const Op distribute_loops_op{
    .name = "distribute_loops",
    .doc = R"(Gives the statements of a loop loops of their own, one after the other.

Each group selects statements as `within` does elsewhere; the loops run in the order of the groups, and
statements in none of them come last. Without groups there are as many as the dependences allow, and
nothing happens where all statements have to stay together. Loops within the loop, and of reductions,
that several groups share are distributed along with it. Conditions that all statements of a new loop
share become its bounds. The first group keeps the names; the others
get them with a number, or each group has its own with `suffixes`. The copies keep the tags.

Refuses a group against a dependence, with two instances that would change places; a statement in two
groups, and groups that select none; a single group; names in use; and a temporary that hands a value
from one group to another in each iteration: privatize_temporaries_with_inames gives it an axis.)",
    .params = {{.name = "iname",
                .kind = Kind::Str,
                .help = "the loop",
                .required = true,
                .positional = true},
               {.name = "groups",
                .kind = Kind::Names,
                .help = "what each loop takes over: {\"id:first\", \"writes:c\"}",
                .fallback = "as many as possible",
                .positional = true},
               {.name = "suffixes",
                .kind = Kind::Names,
                .help = "ends the names of the loops of each group"},
               unsafe_option()},
    .example_kernel = R"(kernel two(n: int32, a: float64[n], b: float64[n], c: float64[n])
domain {[i]: 0 <= i < n}
b[i] = 2*a[i]  {id=first}
c[i] = b[i] + 1  {id=second, dep=first}
)",
    .example = R"(knl = lp.distribute_loops(knl, "i", {"id:first", "id:second"}))",
    .run =
        [](const Kernel& k, const Args& a) {
          std::vector<Match> groups;
          for (const std::string& g : a.names("groups")) groups.push_back(Match::parse(g, a.at()));
          return distribute_loops(k, a.str("iname"), groups,
                                  {.suffixes = a.names("suffixes"), .proof = a.proof()});
        },
    .query = {},
};

}  // namespace moonloop
