#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/diagnostic.h"
#include "core/isl.h"

/// The two instances that a refusal names, for those who draw them instead of reading its text.
namespace moonloop {

/// One instance of a statement, among all of them.
struct ClashInstance {
  std::string id;                   // of the statement
  std::vector<std::string> inames;  // loops, outer to inner, then work-items
  std::vector<std::int64_t> at;     // by iname
  std::string does;                 // "writes a[4]"
  Set domain;                       // of the statement: dimensions are `inames`
};

/// What is wrong with two instances.
enum class ClashKind {
  Order,     // the first has to run before the second, and would not
  Together,  // they must not run at the same time
  Copies,    // the second needs what the first leaves in its own copy
};
struct Clash {
  ClashInstance first, second;
  std::map<std::string, std::int64_t> params;  // for which both instances exist
  ClashKind kind = ClashKind::Order;
};

/// A refusal because of two instances. Clashes hold objects of the thread's isl_ctx.
class ClashRefused : public Refused {
 public:
  ClashRefused(Diagnostic d, Clash clash)
      : Refused(std::move(d)), clash_(std::make_shared<const Clash>(std::move(clash))) {}
  ClashRefused(std::vector<Diagnostic> all, std::shared_ptr<const Clash> clash)
      : Refused(std::move(all)), clash_(std::move(clash)) {}
  const std::shared_ptr<const Clash>& clash() const { return clash_; }

 private:
  std::shared_ptr<const Clash> clash_;
};

/// The values of `inames` in `at`, by name.
std::vector<std::int64_t> values_at(const std::vector<std::string>& inames,
                                    const std::map<std::string, std::int64_t>& at);

}  // namespace moonloop
