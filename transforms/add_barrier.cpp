#include "transforms/add_barrier.h"

#include <algorithm>

#include "core/model/lookup.h"
#include "core/model/textual_order.h"
#include "core/order/order.h"
#include "core/order/reference.h"
#include "transforms/registry.h"

namespace moonloop {
namespace {

/// The sequential loops around all of these instructions. A group's own barrier is in the groups'
/// loops too, and in those of the work-items where these have bounds of their own.
std::set<std::string> shared_loops(const Kernel& k, const std::vector<std::size_t>& insns,
                                   BarrierScope scope) {
  std::set<std::string> all = k.instructions[insns.front()]->inames;
  std::erase_if(all, [&](const std::string& n) {
    return std::any_of(insns.begin(), insns.end(),
                       [&](std::size_t i) { return !k.instructions[i]->inames.count(n); });
  });
  const bool group = scope == BarrierScope::Local;
  const bool own_bounds = std::any_of(k.domains.begin(), k.domains.end(), [&](const Domain& d) {
    const std::vector<std::string> inames = d.inames(), params = d.params();
    return std::any_of(inames.begin(), inames.end(),
                       [&](const std::string& n) { return all.count(n) > 0; }) &&
           std::any_of(params.begin(), params.end(),
                       [&](const std::string& p) { return k.find_temporary(p) != nullptr; });
  });
  std::erase_if(all, [&](const std::string& n) {
    const InameTag* tag = k.tag(n);
    if (group && tag && tag->kind == TagKind::Group) return false;
    return in_team(tag) ? !(group && own_bounds) : is_parallel(tag);
  });
  return all;
}

}  // namespace

Kernel add_barrier(const Kernel& given, const Match& before, const Match& after,
                   const BarrierOptions& o) {
  // A barrier is a statement that no reference has, so that the kernel becomes its own.
  const Kernel k = given.reference ? rebase(proved(given)) : given;
  const auto first = some_matching(k, before, "`insn_before` selects no instruction");
  const auto then = some_matching(k, after, "`insn_after` selects no instruction");
  const std::string usual = o.scope == BarrierScope::Global ? "global" : "local";
  Instruction barrier;
  barrier.kind = InsnKind::Barrier;
  barrier.id = k.fresh_id(o.id_based_on);
  barrier.barrier = o.scope;
  barrier.mem_kind = o.mem_kind.empty() ? usual : o.mem_kind;
  if (barrier.mem_kind != "local" && barrier.mem_kind != "global")
    refuse("bad-barrier", k.at, "no memory `{}`; there are `local` and `global`", o.mem_kind);
  barrier.tags.insert(o.tags.begin(), o.tags.end());
  barrier.at = k.instructions[first.back()]->at;
  for (const std::size_t i : first) barrier.depends_on.push_back(k.instructions[i]->id);
  if (o.within_inames) {
    for (const std::string& n : *o.within_inames) {
      require_iname(k, n);
      barrier.inames.insert(n);
    }
  } else {
    std::vector<std::size_t> all = first;
    all.insert(all.end(), then.begin(), then.end());
    barrier.inames = shared_loops(k, all, o.scope);
  }
  Kernel out = k;
  for (const std::size_t i : then)
    out.instructions[i] =
        edit(k.instructions[i], [&](Instruction& x) { x.depends_on.push_back(barrier.id); });
  out.instructions.insert(out.instructions.begin() + static_cast<std::ptrdiff_t>(first.back()) + 1,
                          std::make_shared<const Instruction>(std::move(barrier)));
  textual_order(out);  // refuses cycles, by name
  check_kept_order(k, out);
  return proved(rebase(std::move(out)));
}

extern const Op add_barrier_op;
const Op add_barrier_op{
    .name = "add_barrier",
    .doc = R"(Puts a barrier after some instructions and before others.

A barrier of kind `global` cuts the program into kernels, one of kind `local` lets the work-items of a
group wait for one another. Barriers that the order needs are put where they are needed without being
asked for.

Refuses matches that select nothing, and an order in which one of the first instructions would have to
run behind one of the others.)",
    .params = {{.name = "insn_before",
                .kind = Kind::Match,
                .help = "the instructions in front of it",
                .required = true,
                .positional = true},
               {.name = "insn_after",
                .kind = Kind::Match,
                .help = "those after it",
                .required = true,
                .positional = true},
               {.name = "id_based_on",
                .kind = Kind::Str,
                .help = "what its id begins with",
                .fallback = "\"barrier\""},
               {.name = "tags", .kind = Kind::Names, .help = "its tags"},
               {.name = "synchronization_kind",
                .kind = Kind::Str,
                .help = "`global` or `local`",
                .fallback = "\"global\""},
               {.name = "mem_kind",
                .kind = Kind::Str,
                .help =
                    "the memory that it is about, `global` or `local`; as the kind if not told"},
               {.name = "within_inames",
                .kind = Kind::Names,
                .help = "the loops around it; if not told, the sequential ones that all of the "
                        "instructions share, and groups' around a local one"}},
    .example_kernel = R"(kernel two(n, x: float64[n], y: float64[n], z: float64[n])
domain [n] -> {[i]: 0 <= i < n}
domain [n] -> {[j]: 0 <= j < n}
y[i] = 2*x[i]  {id=first}
z[j] = 3*x[j]  {id=second}
)",
    .example = R"(knl = lp.add_barrier(knl, "first", "second")
assert(tostring(knl):find("... gbarrier", 1, true)))",
    .run =
        [](const Kernel& k, const Args& a) {
          BarrierOptions o;
          o.id_based_on = a.str("id_based_on", o.id_based_on);
          o.tags = a.names("tags");
          const std::string kind = a.str("synchronization_kind", "global");
          if (kind != "global" && kind != "local")
            refuse("bad-barrier", a.at(), "no barrier of kind `{}`; there are `local` and `global`",
                   kind);
          o.scope = kind == "global" ? BarrierScope::Global : BarrierScope::Local;
          o.mem_kind = a.str("mem_kind");
          if (a.has("within_inames")) o.within_inames = a.names("within_inames");
          return add_barrier(k, Match::parse(a.str("insn_before"), a.at()),
                             Match::parse(a.str("insn_after"), a.at()), o);
        },
    .query = {},
};

}  // namespace moonloop
