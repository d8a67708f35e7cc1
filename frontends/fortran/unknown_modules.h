#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>

#include "core/base/source.h"

namespace moonloop::fortran {

/// Modules without source that a scope uses, itself or through other modules. What they declare is
/// not known, so a name that nothing else declares may be theirs.
struct UnknownModules {
  struct Use {
    std::optional<std::set<std::string>> only;  // the names in the list, if there is one
    Span at;
  };
  std::map<std::string, Use> uses;  // by module

  /// The module that may declare `name`; empty: none.
  std::string of(const std::string& name) const {
    for (const auto& [module, use] : uses)
      if (!use.only || use.only->count(name)) return module;
    return {};
  }
  void add(const UnknownModules& more) {
    for (const auto& [module, use] : more.uses) {
      const auto [it, added] = uses.emplace(module, use);
      if (added || !it->second.only) continue;
      if (use.only)
        it->second.only->insert(use.only->begin(), use.only->end());
      else
        it->second.only.reset();
    }
  }
};

}  // namespace moonloop::fortran
