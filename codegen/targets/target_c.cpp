#include "codegen/print/reduction_clauses.h"
#include "codegen/print/target.h"

namespace moonloop {
namespace {

class CDialect : public Dialect {
 public:
  void decorate(Block& block, const Plan& plan, const CNames& names) const override {
    mark_unrolled(block, plan, "GCC unroll ");
    mark_lanes(block, plan, names);
  }
  std::string atomic_update(bool) const override { return ""; }
  std::string atomic_write() const override { return ""; }

 private:
  /// Lanes that share an accumulator for which there is no clause run in order.
  static void mark_lanes(Block& block, const Plan& plan, const CNames& names) {
    for (Stmt& s : block)
      std::visit(overload{[&](Loop& x) {
                            mark_lanes(x.body, plan, names);
                            if (!runs_in_lanes(plan.kernel.tag(x.iname))) return;
                            std::optional<NoClause> none;
                            std::string clauses =
                                reduction_clauses(x, {x.iname}, plan, names, none);
                            if (!none) x.pragmas.push_back("omp simd" + clauses);
                          },
                          [&](If& x) {
                            mark_lanes(x.body, plan, names);
                            mark_lanes(x.otherwise, plan, names);
                          },
                          [&](Scope& x) { mark_lanes(x.body, plan, names); }, [](auto&) {}},
                 s.op);
  }
};

}  // namespace

std::unique_ptr<Dialect> make_c_dialect();  // codegen/targets.def
std::unique_ptr<Dialect> make_c_dialect() { return std::make_unique<CDialect>(); }

}  // namespace moonloop
