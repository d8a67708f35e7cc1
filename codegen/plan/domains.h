#pragma once
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/model/domain.h"

/// Sets of instances for code generation, each made once.
namespace moonloop {

class Domains {
 public:
  explicit Domains(const Kernel& k);

  /// As domain_of(): dimensions are `loops`, outer to inner. Cost: linear in the domains involved,
  /// not in those of the kernel.
  const Set& of(const std::vector<std::string>& loops);

  /// An instruction's predicates in two parts.
  struct Predicates {
    Set points;  // where the affine ones hold, over `loops`; null if there are none
    Exprs rest;  // the others
  };
  Predicates predicates(const Instruction& insn, const std::vector<std::string>& loops);

  /// Temporaries that bounds of loops depend on.
  const std::set<std::string>& data() const { return data_; }
  /// Those of them that the bounds of `iname` mention.
  std::vector<std::string> data_of(const std::string& iname) const;

 private:
  bool is_exact_integer(const std::string& name) const;

  const Kernel& k_;
  std::unordered_map<std::string, std::size_t> home_;
  std::vector<std::vector<std::string>> params_;  // by domain
  std::set<std::string> data_;
  std::map<std::vector<std::string>, Set> made_;
};

}  // namespace moonloop
