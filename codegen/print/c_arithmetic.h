#pragma once
#include <optional>
#include <string>

#include "codegen/language.h"

namespace moonloop {

/// A function of the generated code for an operator of the kernel language that no operator of C
/// matches.
struct Arithmetic {
  std::string result, parameters, body;
};

/// `floor_div` and `floor_mod` of reals, `shift_left` and `shift_right` by any count, `compare` of
/// an int64 with a uint64; nothing for others.
std::optional<Arithmetic> arithmetic(const std::string& base, Scalar s, Language language);

}  // namespace moonloop
