#pragma once
#include <functional>

#include "frontends/text/syntax.h"

namespace moonloop::fortran {

/// The domains of a kernel's loops as they are found, one for each loop.
///
/// Where the bounds of a loop depend on several loops around it, these have to be nested as domains
/// too: then the inner one gets the conditions of the outer one, which hold there anyway.
class LoopDomains {
 public:
  using Names = std::vector<std::string>;
  /// `is_parameter`: for names that are not inames; others are temporaries that hold a bound.
  LoopDomains(text::KernelText& k, std::function<bool(const std::string&)> is_parameter)
      : k_(k), is_parameter_(std::move(is_parameter)) {}

  bool has(const std::string& iname) const { return loops_.count(iname) != 0; }
  /// Whether `e` is an affine expression that keeps its value in a loop.
  bool stays(const Expr& e) const;
  /// Adds the domain of `iname`, which is within the loops `around`, outer ones first; false, with
  /// nothing added, where the conditions are not affine.
  bool add(const std::string& iname, const Exprs& conditions, const text::Word& name,
           const Names& around);

 private:
  struct Loop {
    std::size_t domain;  // its number in the kernel
    Exprs conditions;
    Names around;
    std::set<std::string> needs;  // loops around that its domain mentions
  };
  bool reaches(const std::string& from, const std::string& to) const;
  void nest(const std::set<std::string>& inames, const Names& around);

  text::KernelText& k_;
  std::function<bool(const std::string&)> is_parameter_;
  std::map<std::string, Loop> loops_;
};

}  // namespace moonloop::fortran
