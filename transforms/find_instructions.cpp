#include "transforms/find_instructions.h"

#include "core/model/lookup.h"
#include "core/model/print.h"
#include "transforms/registry.h"

namespace moonloop {
namespace {

template <class Names>
Value list(const Names& names) {
  ValueList out;
  for (const std::string& n : names) out.push_back(Value{n});
  return Value{std::move(out)};
}
std::vector<std::string> texts(const Exprs& all) {
  std::vector<std::string> out;
  for (const Expr& e : all) out.push_back(to_string(e));
  return out;
}
const char* kind_name(InsnKind kind) {
  switch (kind) {
    case InsnKind::Assign: return "assignment";
    case InsnKind::Call: return "call";
    case InsnKind::Barrier: return "barrier";
    case InsnKind::Nop: return "nop";
  }
  throw InternalError("unknown kind of instruction");
}

/// As in `knl.instructions`.
Value described(const Kernel& k, const Instruction& insn) {
  ValueDict d;
  const auto put = [&](const char* name, Value v) { d.emplace_back(name, std::move(v)); };
  put("depends_on", list(insn.depends_on));
  put("id", Value{insn.id});
  put("inames", list(insn.inames));
  put("kind", Value{std::string(kind_name(insn.kind))});
  put("lhs", list(texts(insn.lhs)));
  put("predicates", list(texts(insn.predicates)));
  put("priority", Value{std::int64_t{insn.priority}});
  put("reads", list(reads(k, insn)));
  if (insn.rhs) put("rhs", Value{to_string(insn.rhs)});
  put("tags", list(insn.tags));
  put("text", Value{print_instruction(k, insn)});
  put("writes", list(writes(insn)));
  return Value{std::move(d)};
}

}  // namespace

std::vector<InsnPtr> find_instructions(const Kernel& k, const Match& match) {
  std::vector<InsnPtr> out;
  for (const std::size_t i : matching(k, match)) out.push_back(k.instructions[i]);
  return out;
}

extern const Op find_instructions_op;
const Op find_instructions_op{
    .name = "find_instructions",
    .doc = R"(Lists the instructions that a match selects, each as in `knl.instructions`.

The list may be empty.)",
    .params = {{.name = "insn_match",
                .kind = Kind::Match,
                .help = "such as \"writes:a and not tag:input\"",
                .required = true,
                .positional = true}},
    .example_kernel = R"(kernel two(n: int32, a: float64[n], c: float64[n])
domain {[i]: 0 <= i < n}
a[i] = 1
c[i] = a[i]
)",
    .example = R"(for _, insn in ipairs(lp.find_instructions(knl, "reads:a")) do
  knl = lp.tag_instructions(knl, "reader", insn.id)
end)",
    .run = {},
    .query =
        [](const Kernel& k, const Args& a) {
          ValueList out;
          for (const InsnPtr& i : find_instructions(k, Match::parse(a.str("insn_match"), a.at())))
            out.push_back(described(k, *i));
          return Value{std::move(out)};
        },
};

}  // namespace moonloop
