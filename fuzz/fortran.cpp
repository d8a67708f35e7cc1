#include "frontends/fortran/fortran.h"

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "core/infer/infer.h"
#include "core/model/print.h"
#include "core/order/check_kernel.h"
#include "core/order/tree.h"
#include "core/sets/budget.h"
#include "fuzz/limits.h"

namespace {

/// A folder of its own: modules are looked for next to the file.
void enter_empty_folder() {
  std::string name = (std::filesystem::temp_directory_path() / "fuzz-fortran-XXXXXX").string();
  if (!mkdtemp(name.data()) || chdir(name.c_str()) != 0) std::abort();
}

/// Fixed form where the first line is a comment of that form or begins with blanks, preprocessed
/// where a line begins with `#`.
std::string file_name(std::string_view text) {
  const bool fixed = text.starts_with("      ") || text.starts_with("C") ||
                     text.starts_with("c ") || text.starts_with("*");
  const bool preprocessed = text.starts_with("#") || text.find("\n#") != text.npos;
  return fixed ? preprocessed ? "fuzz.F" : "fuzz.f" : preprocessed ? "fuzz.F90" : "fuzz.f90";
}

}  // namespace

/// Any bytes as Fortran: read; kernels in it are completed, nested, printed and parsed again.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace moonloop;
  static const bool entered = (enter_empty_folder(), true);
  if (size > 8192 || !entered) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const fuzz::InputMemory memory;
  const IslBudget budget(20000, "reading");  // isl's time is not tested here
  try {
    const FortranFile file = parse_fortran(add_source(file_name(text), std::string(text)));
    for (const Kernel& k : file.kernels) {
      print_kernel(k);
      nest(complete(k));
    }
  } catch (const Error&) {}
  return 0;
}
