#pragma once
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "codegen/plan/ast.h"
#include "codegen/plan/plan.h"
#include "codegen/print/c_names.h"

namespace moonloop {

/// The parts of a loop around compare-and-exchange, for one type.
struct AtomicWords {
  std::string pointer;   // the type of a pointer to a word, with a space at the end where needed
  std::string word;      // the integer of the same size
  std::string exchange;  // the function
  std::string to_value, to_word;
};

/// Where targets of the C family differ.
class Dialect {
 public:
  virtual ~Dialect() = default;
  /// Puts pragmas on loops and refuses loops that the target cannot express.
  virtual void decorate(Block& block, const Plan& plan, const CNames& names) const = 0;
  /// The line in front of an atomic update, without `#pragma `; empty if none is needed. `simple`:
  /// of the form `x op= value`.
  virtual std::string atomic_update(bool simple) const = 0;
  virtual std::string atomic_write() const = 0;
  /// For a device: the function for `x = x op y`, if it has one; `op` is add, min or max.
  virtual std::string atomic_function(const std::string&, Scalar) const { return ""; }
  virtual std::string atomic_call(const std::string& function, const std::string& pointer,
                                  const std::string& value, Scalar) const {
    return function + "(" + pointer + ", " + value + ")";
  }
  virtual AtomicWords atomic_words(Scalar, bool) const { return {}; }
  /// Work-items that run together find out which of them update one element.
  virtual bool combines_updates() const { return false; }
  /// For a device: the function that puts an integer into a place and returns the previous one.
  virtual std::string swap() const { return ""; }
  /// For a device: the statement across which no load or store of a work-item moves, for others.
  virtual std::string fence() const { return ""; }
  /// For a device: the statement at which work-items wait.
  virtual std::string barrier(const Sync&) const { return ""; }
  /// For a device: the text before a kernel's parameters.
  virtual std::string kernel_head(const DeviceKernel&) const { return ""; }
  virtual std::string global_prefix() const { return ""; }
  virtual std::string local_prefix() const { return ""; }
  /// As far as the language itself limits the local memory that a kernel declares; 0: devices do.
  virtual std::int64_t most_declared_bytes() const { return 0; }
  /// Where that is limited: the declaration of memory of any size that the launch gives, at a
  /// multiple of 16 bytes, and its name, which is reserved; the most that a device has, and which.
  virtual std::string given_memory() const { return ""; }
  virtual std::string given_memory_name() const { return ""; }
  virtual std::int64_t most_given_bytes() const { return 0; }
  virtual std::string largest_device() const { return ""; }
  /// The prefix of variables at a multiple of 16 bytes.
  virtual std::string aligned_prefix() const { return ""; }
  virtual std::string restrict_word() const { return "restrict"; }
  /// For OpenCL: the extensions for the features that the text uses.
  virtual std::vector<std::string> extensions(const std::set<Feature>&) const { return {}; }
  /// For a device: the prelude of a text that uses `used`.
  virtual std::string prelude(const std::set<Feature>&) const { return ""; }
};

/// That of a target; codegen/targets.def says which function makes it.
std::unique_ptr<Dialect> make_dialect(Target t);

/// Whether the compiler is to make vector instructions of a loop with the tag: `simd` and `vec`.
bool runs_in_lanes(const InameTag* tag);
/// `pragma` with the number of copies for `unr_hint` or `unr_hint.N`; empty for other
/// tags.
std::string unroll_hint(const InameTag* tag, const std::string& pragma);
/// Puts that in front of all loops.
void mark_unrolled(Block& block, const Plan& plan, const std::string& pragma);

}  // namespace moonloop
