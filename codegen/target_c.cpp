#include "codegen/target.h"

namespace moonloop {
namespace {

/// Copies of a body where `unr_hint` gives no number.
constexpr int kDefaultUnroll = 4;

class CDialect : public Dialect {
 public:
  void decorate(Block& block, const Plan& plan) const override {
    for (Stmt& s : block) {
      if (auto* x = std::get_if<Loop>(&s.op)) {
        const std::string hint = unroll_hint(plan.kernel.tag(x->iname));
        if (!hint.empty()) x->pragmas.push_back(hint);
        decorate(x->body, plan);
      } else if (auto* i = std::get_if<If>(&s.op)) {
        decorate(i->body, plan);
      } else if (auto* c = std::get_if<Scope>(&s.op)) {
        decorate(c->body, plan);
      }
    }
  }
  std::string atomic_update(bool) const override { return ""; }
  std::string atomic_write() const override { return ""; }
};

}  // namespace

std::string unroll_hint(const InameTag* tag) {
  if (!tag || tag->kind != TagKind::UnrollHint) return "";
  return "GCC unroll " + std::to_string(tag->axis > 0 ? tag->axis : kDefaultUnroll);
}

std::unique_ptr<Dialect> make_c_dialect() { return std::make_unique<CDialect>(); }

}  // namespace moonloop
