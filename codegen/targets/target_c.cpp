#include "codegen/print/target.h"

namespace moonloop {
namespace {

class CDialect : public Dialect {
 public:
  void decorate(Block& block, const Plan& plan, const CNames&) const override {
    mark_unrolled(block, plan, "GCC unroll ");
  }
  std::string atomic_update(bool) const override { return ""; }
  std::string atomic_write() const override { return ""; }
};

}  // namespace

std::unique_ptr<Dialect> make_c_dialect();  // codegen/targets.def
std::unique_ptr<Dialect> make_c_dialect() { return std::make_unique<CDialect>(); }

}  // namespace moonloop
