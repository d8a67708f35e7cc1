#pragma once
#include <map>
#include <string>
#include <vector>

#include "core/model/memo.h"
#include "core/model/proof_keys.h"
#include "core/order/order_reference.h"

namespace moonloop {

/// A query of isl about statements and their accesses, recorded so that it need not be repeated:
/// for other loops with the same bounds the answer is the same. Inames count by their positions
/// among the dimensions of the statements, variables where claims name them. Only positive answers
/// are remembered.
class Question {
 public:
  using About = QuestionKey::About;
  explicit Question(About about) { key_.about = about; }

  /// Statements come first: their instances, the loops around them, and the claims for these.
  void statement(const RunOrder& o, int s);
  /// In which order two of them run.
  void pair(const RunOrder& o, int a, int b);
  /// Accesses of statements of `r`, whose kernel's claims hold.
  void accesses(const Reference& r, const Access& a, const Access& b);
  /// Of `s` and `t`, which iterations have copies of the variable for.
  void accesses(const Reference& r, const Access& a, int s, const Access& b, int t);
  /// A relation between instances.
  void relation(const Map& m);
  void names(const std::vector<std::string>& inames);
  void flag(bool yes) { key_.parts.emplace_back(yes); }

  /// Calls `prove`, which says whether it holds, or throws, unless it is known to hold.
  template <class F>
  void ask(const F& prove) const {
    const bool known = settled();
    if (known && !memo().compares) return;
    try {
      const bool well = prove();
      ensure(well || !known, "what is remembered of a question holds");
      if (well) settle();
    } catch (const Error&) {
      ensure(!known, "what is remembered of a question holds");
      throw;
    }
  }

 private:
  bool settled() const { return plain_ && memo().questions.contains(key_); }
  void settle() const {
    if (plain_) memo().questions.insert(key_);
  }
  void access(const Reference& r, const Access& a, bool flat);
  std::vector<std::string> numbered(const std::vector<std::string>& inames) const;

  QuestionKey key_;
  std::map<std::string, std::string> numbers_;  // of inames
  bool plain_ = true;  // instances are determined by their dimensions alone
};

}  // namespace moonloop
