#include <algorithm>

#include "codegen/language.h"
#include "codegen/print/shared_accumulators.h"
#include "codegen/print/target.h"

namespace moonloop {
namespace {

/// The outermost loops over groups and threads are launched as tasks; those over the axis 0 of
/// work-items and over vectors run in the lanes of a gang, of which none starts in another.
class IspcDialect : public Dialect {
 public:
  void decorate(Block& block, const Plan& plan, const CNames&) const override {
    mark_unrolled(block, plan, "unroll ");
    visit(block, plan, {});
  }
  std::string atomic_update(bool) const override { return ""; }
  std::string atomic_write() const override { return ""; }
  std::string atomic_function(const std::string& op, Scalar s) const override {
    const bool known = s == Scalar::I32 || s == Scalar::U32 || s == Scalar::I64 ||
                       s == Scalar::U64 || (s == Scalar::F32 && op == "add");
    return known ? "atomic_" + op + "_global" : "";
  }
  AtomicWords atomic_words(Scalar s, bool) const override {
    const std::string word = size_of(s) == 8 ? "int64" : "int32";
    const bool real = is_real(s);
    return {"uniform " + word + " *", word, "atomic_compare_exchange_global",
            !real              ? "(" + type_name(Language::Ispc, s) + ")"
            : s == Scalar::F32 ? "floatbits"
                               : "doublebits",
            real ? "intbits" : "(" + word + ")"};
  }

 private:
  struct Inside {
    bool task = false, lanes = false;
  };

  static bool runs_in_lanes(const InameTag* tag) {
    return tag && (tag->kind == TagKind::Simd || tag->kind == TagKind::Vec ||
                   (tag->kind == TagKind::Local && tag->axis == 0));
  }

  static void visit(Block& block, const Plan& plan, Inside in) {
    for (Stmt& s : block) {
      if (auto* x = std::get_if<Loop>(&s.op)) {
        visit(*x, plan, in);
      } else if (auto* i = std::get_if<If>(&s.op)) {
        visit(i->body, plan, in);
      } else if (auto* c = std::get_if<Scope>(&s.op)) {
        visit(c->body, plan, in);
      }
    }
  }

  static void visit(Loop& x, const Plan& plan, Inside in) {
    const InameTag* tag = plan.kernel.tag(x.iname);
    if (is_spread(tag) && !in.task && !in.lanes && !x.only_while) {
      constexpr std::size_t kAxes = 3;
      x.iterations = Iterations::Tasks;
      x.together = static_cast<int>(std::min(kAxes, spread_together(x, plan).size()));
      Loop* last = &x;
      for (int n = 1; n < x.together; ++n) last = &std::get<Loop>(last->body.at(0).op);
      return visit(last->body, plan, {.task = true, .lanes = false});
    }
    if (runs_in_lanes(tag) && !in.lanes && !x.only_while) {
      x.iterations = Iterations::Lanes;
      in.lanes = true;
    }
    visit(x.body, plan, in);
  }
};

}  // namespace

std::unique_ptr<Dialect> make_ispc_dialect();  // codegen/targets.def
std::unique_ptr<Dialect> make_ispc_dialect() { return std::make_unique<IspcDialect>(); }

}  // namespace moonloop
