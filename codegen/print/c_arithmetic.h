#pragma once
#include <optional>
#include <string>
#include <vector>

#include "codegen/language.h"

namespace moonloop {

/// The type of a parameter or variable of a function of the generated code: of ISPC, with its word
/// for how many values it has.
struct Spelling {
  Language language;
  std::string many = "";  // `uniform `, `varying `

  std::string operator()(Scalar s) const { return many + type_name(language, s); }
};
/// Each function of the generated code is there once for each of these.
std::vector<Spelling> spellings(Language language);

/// A function of the generated code for an operator of the kernel language that no operator of C
/// matches.
struct Arithmetic {
  std::string result, parameters, body;
};

/// `floor_div` and `floor_mod` of reals, `shift_left` and `shift_right` by any count, `compare` of
/// an int64 with a uint64; nothing for others.
std::optional<Arithmetic> arithmetic(const std::string& base, Scalar s, const Spelling& type);

}  // namespace moonloop
