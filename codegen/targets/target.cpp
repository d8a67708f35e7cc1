#include "codegen/print/target.h"

#include <algorithm>

namespace moonloop {

#define MOONLOOP_TARGET(id, name, language, features, dialect) std::unique_ptr<Dialect> dialect();
#include "codegen/targets.def"
#undef MOONLOOP_TARGET

std::unique_ptr<Dialect> make_dialect(Target t) {
  switch (t) {
#define MOONLOOP_TARGET(id, name, language, features, dialect) \
  case Target::id:                                             \
    return dialect();
#include "codegen/targets.def"
#undef MOONLOOP_TARGET
  }
  throw InternalError("a target without a row in codegen/targets.def");
}

namespace {

/// Copies of a body where `unr_hint` gives no number.
constexpr int kDefaultUnroll = 4;

}  // namespace

std::optional<std::array<std::int64_t, 3>> constant_items(const DeviceKernel& kernel) {
  std::array<std::int64_t, 3> out{};
  for (std::size_t axis = 0; axis < out.size(); ++axis) {
    const auto n = as_int(kernel.items.at(axis));
    if (!n) return std::nullopt;
    out.at(axis) = *n;
  }
  return out;
}

bool may_be_none(const Expr& number) {
  if (as_int(number)) return false;
  const auto* most = number.as<Call>();
  return !most || most->name != "max" ||
         std::none_of(most->args.begin(), most->args.end(),
                      [](const Expr& e) { return as_int(e).value_or(0) > 0; });
}

bool runs_in_lanes(const InameTag* tag) {
  return tag && (tag->kind == TagKind::Simd || tag->kind == TagKind::Vec);
}

std::string unroll_hint(const InameTag* tag, const std::string& pragma) {
  if (!tag || tag->kind != TagKind::UnrollHint) return "";
  return pragma + std::to_string(tag->axis > 0 ? tag->axis : kDefaultUnroll);
}

void mark_unrolled(Block& block, const Plan& plan, const std::string& pragma) {
  for (Stmt& s : block) {
    if (auto* x = std::get_if<Loop>(&s.op)) {
      const std::string hint = unroll_hint(plan.kernel.tag(x->iname), pragma);
      if (!hint.empty()) x->pragmas.push_back(hint);
      mark_unrolled(x->body, plan, pragma);
    }
    if (auto* x = std::get_if<If>(&s.op)) {
      mark_unrolled(x->body, plan, pragma);
      mark_unrolled(x->otherwise, plan, pragma);
    }
    if (auto* x = std::get_if<Scope>(&s.op)) mark_unrolled(x->body, plan, pragma);
    if (auto* x = std::get_if<Launch>(&s.op)) mark_unrolled(x->body, plan, pragma);
  }
}

}  // namespace moonloop
