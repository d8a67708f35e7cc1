#pragma once
#include <memory>
#include <string>

#include "codegen/ast.h"
#include "codegen/plan.h"

namespace moonloop {

/// Where targets of the C family differ.
class Dialect {
 public:
  virtual ~Dialect() = default;
  /// Puts pragmas on loops and refuses what the target cannot express.
  virtual void decorate(Block& block, const Plan& plan) const = 0;
  /// The line in front of an atomic update, without `#pragma `; empty if none is needed. `simple`:
  /// of the form `x op= value`.
  virtual std::string atomic_update(bool simple) const = 0;
  virtual std::string atomic_write() const = 0;
};

std::unique_ptr<Dialect> make_c_dialect();
std::unique_ptr<Dialect> make_openmp_dialect();

/// `GCC unroll N` for `unr_hint` and `unr_hint.N`; empty for other tags.
std::string unroll_hint(const InameTag* tag);

}  // namespace moonloop
