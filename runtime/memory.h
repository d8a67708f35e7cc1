#pragma once
#include <optional>
#include <string>

#include "core/expr/evaluate.h"
#include "core/model/kernel.h"

/// How much memory a run takes, and how much there is.
namespace moonloop {

/// Bytes that this process may still take: the least of the system's available memory and what its
/// control group and its limits leave. Nothing where none of them is known.
std::optional<double> available_memory();
/// Bytes of memory that this process alone can write, which the limit RLIMIT_DATA counts; what is
/// only reserved, as drivers of devices do, is not part of it.
double private_memory();

/// The memory that a run needs at the same time, in bytes.
struct RunBytes {
  double arguments = 0;    // arrays, once
  double temporaries = 0;  // of the generated code
  double copies = 0;       // of arguments, for timing and for the inputs of verification
  double verifying = 0;    // the interpreter's arrays and temporaries, with bounds of their errors
  std::string largest;     // array
  double largest_bytes = 0;
  double total() const { return arguments + temporaries + copies + verifying; }
};
struct RunKind {
  bool on_device = false;  // which has the temporaries of the generated code
  bool verify = false, time = false;
};
/// Temporaries whose size depends on data, or is not known, do not count. Both kernels are
/// complete.
RunBytes bytes_of_run(const Kernel& k, const Kernel& original, const Integers& values,
                      const RunKind& kind);

/// `1.5 kB`, `80.00 GB`.
std::string bytes_text(double bytes);

}  // namespace moonloop
