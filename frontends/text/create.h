#pragma once
#include <set>
#include <string>
#include <vector>

#include "core/model/call_binding.h"
#include "frontends/text/syntax.h"

/// Steps of the creation pipeline.
namespace moonloop::text {

/// Makes a call of a kernel, as written, one with an argument for each of `callee`'s, complete, in
/// its order: arrays by their addresses, and on the left what it writes. `strides`: of the kernel's
/// own arrays.
void bind_call(Statement& s, const Kernel& callee, const StridesOf& strides);

/// Gives names in expressions their meaning: a rule without parameters is called, `max(i, e)` over
/// an iname is a reduction, a slice occurs only in arguments and results of a call.
class Resolver {
 public:
  /// `inames`: all of the kernel's.
  Resolver(const Rules& rules, const std::set<std::string>& inames);
  /// `around`: names that stand for loops already, where `max(i, e)` means the function.
  Expr resolve(const Expr& e, const std::set<std::string>& around) const;
  /// The same for an assignee, or for the right side of a call statement.
  Expr resolve_part(const Expr& e, const std::set<std::string>& around) const;

 private:
  struct Context {
    const std::set<std::string>& around;
    std::set<std::string> bound;
  };
  Expr visit(const Expr& e, Context& c, bool slices) const;

  const std::set<std::string>& inames_;
  std::map<std::string, const Rule*> rules_;
};

/// Fails `recursive-rule` when some rule calls itself, `too-deep` for chains of more than 200
/// rules, `too-complex` where one stands for more than a million nodes.
void check_rules(const Rules& rules);

/// Declares the names that the kernel uses and does not declare. `guess` off: they are errors.
void guess_arguments(Kernel& k, bool guess, Order default_order, Errors& errors);

/// The order options of an instruction, to be resolved when all ids are known.
struct Wanted {
  std::vector<Word> globs;
  std::vector<Word> queries;
  std::vector<Options::Query> no_sync_queries;
  bool final = false;
};
/// Sets `depends_on` and the queried part of `no_sync`. A temporary or an `out` argument that is
/// read before its only writer makes its reader depend on the writer.
void resolve_dependencies(Kernel& k, const std::vector<Wanted>& wanted, Errors& errors);

/// Gives instruction `n` loops of its own in place of those that `duplicates` names.
void duplicate_inames(Kernel& k, std::size_t n, const std::vector<Options::Duplicate>& duplicates);

/// Gives reductions loops of their own where they cannot share those of other statements:
///
///     a[i] = sum(j, b[i, j])      becomes      a[i] = sum(j, b[i, j])
///     s = max(j, b[0, j])                      s = max(j_0, b[0, j_0])
///
/// The second loop over `j` can be neither inside of `i` nor around it. Loops that nest as they are
/// stay shared. The new loops have the tags and priorities of the old ones. Leaves kernels with
/// invalid reductions alone, which are reported later.
void separate_reductions(Kernel& k);

}  // namespace moonloop::text
