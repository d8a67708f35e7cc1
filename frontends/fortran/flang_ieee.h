#pragma once
#include <optional>
#include <string>

#include "frontends/fortran/flang.h"

// Intrinsic functions, those of the module `ieee_arithmetic` among them, which no file has.
namespace moonloop::fortran {

/// The name of a function of `ieee_arithmetic` as programs write it, of one for a certain kind as
/// Flang's module has it, `ieee_is_finite_a8`; none for others.
inline std::optional<std::string> ieee_name(const sem::Symbol& s) {
  const sem::Scope& owner = s.GetUltimate().owner();
  if (owner.kind() != sem::Scope::Kind::Module || !owner.symbol() ||
      owner.symbol()->name().ToString() != "ieee_arithmetic")
    return std::nullopt;
  const std::string name = s.GetUltimate().name().ToString();
  for (std::size_t at = name.find('_'); at != std::string::npos; at = name.find('_', at + 1))
    if (const std::string end = name.substr(at + 1);
        end.size() > 1 && (end[0] == 'a' || end[0] == 'i' || end[0] == 'l') &&
        end.find_first_not_of("0123456789ail_") == std::string::npos)
      return name.substr(0, at);
  return name;
}

/// The name of an intrinsic function, also of one that Flang's own modules rename; none for others.
inline std::optional<std::string> intrinsic_name(const ev::ProcedureDesignator& p) {
  static constexpr std::string_view kBuiltin = "__builtin_";
  if (const ev::SpecificIntrinsic* known = p.GetSpecificIntrinsic())
    return known->name.starts_with(kBuiltin) ? known->name.substr(kBuiltin.size()) : known->name;
  const sem::Symbol* s = p.GetSymbol();
  return s ? ieee_name(*s) : std::nullopt;
}

}  // namespace moonloop::fortran
