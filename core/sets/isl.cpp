#include "core/sets/isl.h"

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "core/base/diagnostic.h"
#include "core/base/memory.h"
#include "core/sets/budget.h"

// Where isl (0.25 to 0.27) simplifies the constraints of a set in a context (uset_gist_full), it
// makes room for them in the tableau. When it then finds that one of them holds with equality for
// integers alone, cut_to_hyperplane adds a row, and goes on with a pointer into what that may have
// moved. With room for a second row for each of them, nothing moves. All calls from isl's other
// files come here, where it is linked as an archive.
struct isl_tab;
namespace moonloop {
/// Parametric integer programming goes one level deeper with each cut or case, and has a row more
/// in its tableau then. isl counts an operation for each pivot, which costs as much as the tableau
/// is large: at a depth of thousands of levels, so few a second that no budget ends. So each
/// further row costs more operations the deeper it is.
static void charge_for_depth();
}  // namespace moonloop
extern "C" {
int __real_isl_tab_extend_cons(isl_tab* tab, unsigned rows);   // NOLINT
int __wrap_isl_tab_extend_cons(isl_tab* tab, unsigned rows) {  // NOLINT
  moonloop::charge_for_depth();
  return __real_isl_tab_extend_cons(tab, 2 * rows);
}
}

namespace moonloop {
namespace {

/// The most that a thread may use outside of all explicit budgets, or between two of them.
constexpr unsigned long kLooseOperations = 50'000'000;

const std::thread::id first_thread = std::this_thread::get_id();

struct Context {
  isl_ctx* ctx = isl_ctx_alloc();
  IslBudget* budget = nullptr;  // the innermost one
  const char* frame =
      static_cast<const char*>(__builtin_frame_address(0));  // about where the stack begins
  Context() {
    isl_ctx_set_max_operations(ctx, kLooseOperations);
    isl_options_set_on_error(ctx, ISL_ON_ERROR_CONTINUE);
    isl_options_set_ast_build_detect_min_max(ctx, 1);
    isl_options_set_ast_build_exploit_nested_bounds(ctx, 1);
  }
  /// Statics, and what ends with the thread later, may still have objects: isl frees no context
  /// that has some. That of the first thread is there as long as statics are.
  ~Context() {
    if (std::this_thread::get_id() != first_thread) isl_ctx_free(ctx);
  }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
};

Context& context() {
  thread_local Context context;
  return context;
}

/// Whether `ctx`, which may have counted `operations` at most, would do one more.
bool may_go_on(isl_ctx* ctx, unsigned long operations) {
  isl_ctx_set_max_operations(ctx, operations + 1);
  isl_val* one = isl_val_one(ctx);
  isl_val_free(one);
  return one != nullptr;
}

/// How many operations `ctx` has counted since it was last reset. isl does not tell, but one that
/// needs an operation fails where the limit is no larger. Most budgets use few or none, so the
/// search begins there. Cost: logarithmic in the answer.
unsigned long counted(isl_ctx* ctx) {
  const unsigned long limit = isl_ctx_get_max_operations(ctx);
  unsigned long least = 0, most = 0;
  while (most < limit && !may_go_on(ctx, most)) {
    least = most + 1;
    most = std::min(limit, 16 * most + 15);
  }
  while (least < most) {
    const unsigned long middle = least + (most - least) / 2;
    if (may_go_on(ctx, middle)) {
      most = middle;
    } else {
      least = middle + 1;
    }
  }
  isl_ctx_set_max_operations(ctx, limit);
  isl_ctx_reset_error(ctx);
  return least;
}

/// Whether isl refuses any further operation.
bool is_spent(isl_ctx* ctx) {
  isl_ctx_reset_error(ctx);
  isl_val* one = isl_val_one(ctx);
  isl_val_free(one);
  return !one && isl_ctx_last_error(ctx) == isl_error_quota;
}

/// Restarts counting, up to `limit`, which is at least one: isl takes 0 for no limit.
void count_to(isl_ctx* ctx, unsigned long limit) {
  isl_ctx_reset_operations(ctx);
  isl_ctx_set_max_operations(ctx, std::max(limit, 1ul));
}

template <class T>
std::string take_string(T* s) {
  if (!s) throw_isl();
  std::string out(s);
  std::free(s);
  return out;
}

}  // namespace

isl_ctx* isl() { return context().ctx; }

static void charge_for_depth() {
  constexpr std::ptrdiff_t kFree = 128;  // KiB of stack, as other questions take with their callers
  const Context& c = context();
  if (!c.budget) return;
  const auto* here = static_cast<const char*>(__builtin_frame_address(0));
  const std::ptrdiff_t depth = (c.frame - here) / 1024 - kFree;
  for (std::ptrdiff_t n = depth > 0 ? depth * depth : 0; n > 0; --n) {
    isl_val* one = isl_val_one(isl());
    if (!one) return;  // the budget has ended
    isl_val_free(one);
  }
}

void throw_isl() {
  const char* message = isl_ctx_last_error_msg(isl());
  std::string text = message ? message : "an isl operation failed";
  // The last error may be one that followed, such as "syntax error" for a failed allocation.
  const bool quota = isl_ctx_last_error(isl()) == isl_error_quota || is_spent(isl());
  isl_ctx_reset_error(isl());
  if (!quota) throw IslError(text);
  const IslBudget* b = context().budget;
  while (b && b->what_.empty()) b = b->around_;
  throw IslQuota({"too-complex",
                  fmt::format("{} takes too many operations on its domains",
                              b ? b->what_ : "a question about the kernel"),
                  {b ? b->at_ : Span(), {}},
                  {},
                  {}});
}

std::vector<BasicSet> parts_of(const Set& s) {
  const memory::Unlimited no_exception_in_isl;
  std::vector<BasicSet> out;
  const auto add = [](isl_basic_set* b, void* to) {
    static_cast<std::vector<BasicSet>*>(to)->emplace_back(b);
    return isl_stat_ok;
  };
  check(isl_set_foreach_basic_set(s.get(), add, &out));
  return out;
}

std::vector<Constraint> constraints_of(const BasicSet& b) {
  const memory::Unlimited no_exception_in_isl;
  std::vector<Constraint> out;
  const auto add = [](isl_constraint* c, void* to) {
    static_cast<std::vector<Constraint>*>(to)->emplace_back(c);
    return isl_stat_ok;
  };
  check(isl_basic_set_foreach_constraint(b.get(), add, &out));
  return out;
}

Set intersect(const Set& a, const Set& b) {
  if (isl_set_n_basic_set(a.get()) != 1 || isl_set_n_basic_set(b.get()) != 1)
    return isl_set_intersect(a.copy(), b.copy());
  const Set x = isl_set_align_params(a.copy(), isl_set_get_space(b.get()));
  const Set y = isl_set_align_params(b.copy(), isl_set_get_space(x.get()));
  // None where isl sees by now that there are no points.
  std::vector<BasicSet> p = parts_of(x), q = parts_of(y);
  if (p.size() != 1 || q.size() != 1) return isl_set_intersect(x.copy(), y.copy());
  return isl_set_from_basic_set(isl_basic_set_intersect(p[0].take(), q[0].take()));
}

/// `[n] -> { A; B; ... }`, each part as isl writes it.
static std::string parts_one_by_one(const Set& s) {
  std::string out;
  for (const BasicSet& part : parts_of(s)) {
    const std::string text = take_string(isl_basic_set_to_str(part.get()));
    const std::size_t brace = text.find('{'), end = text.rfind('}');
    ensure(brace != std::string::npos && end != std::string::npos, "isl writes a set in braces");
    out = (out.empty() ? text.substr(0, brace + 1) : out + ";") +
          text.substr(brace + 1, end - brace - 2);
  }
  return out + " }";
}

std::string str(const Set& s) {
  if (count(isl_set_n_basic_set(s.get())) < 2) return take_string(isl_set_to_str(s.get()));
  // isl puts the parts of a set in order when it first compares it; here a set of the same parts.
  Set sorted = isl_set_empty(isl_set_get_space(s.get()));
  for (const BasicSet& part : parts_of(s))
    sorted = isl_set_union(sorted.take(), isl_set_from_basic_set(part.copy()));
  isl_set_get_hash(sorted.get());
  try {  // isl looks for a hull of the parts, and says what is in it
    constexpr unsigned long kTextOperations = 200'000;
    const IslBudget budget(kTextOperations);
    return take_string(isl_set_to_str(sorted.get()));
  } catch (const IslQuota&) { return parts_one_by_one(sorted); }
}
std::string str(const Map& m) { return take_string(isl_map_to_str(m.get())); }
std::string str(const PwAff& a) { return take_string(isl_pw_aff_to_str(a.get())); }

std::int64_t to_int(const Val& v) {
  if (!yes(isl_val_is_int(v.get()))) throw IslError("not an integer");
  const long n = isl_val_get_num_si(v.get());
  if (isl_val_cmp_si(v.get(), n) != 0)
    fail("integer-overflow", {}, "what follows from the domains needs integers beyond 64 bits");
  return n;
}

IslBudget::IslBudget(unsigned long operations, std::string what, const Span& at)
    : around_(context().budget), limit_(operations), what_(std::move(what)), at_(at) {
  if (around_) {
    around_->spent_ = around_->used();
    limit_ = std::min(limit_, around_->limit_ - std::min(around_->limit_, around_->spent_));
  }
  context().budget = this;
  count_to(isl(), limit_);
}

IslBudget::~IslBudget() {
  const unsigned long all = used();
  context().budget = around_;
  if (around_) around_->spent_ += all;
  count_to(isl(), around_ ? around_->limit_ - std::min(around_->limit_, around_->spent_)
                          : kLooseOperations);
}

unsigned long IslBudget::used() const { return spent_ + counted(isl()); }

void refuse_budget(const Span& at, const std::string& what) {
  Diagnostic d;
  d.code = "not-proved";
  d.text = fmt::format("the proof that {} takes too many operations", what);
  d.where = {at, {}};
  d.hint = "the option unsafe=true takes it on trust";
  throw Refused(std::move(d));
}

}  // namespace moonloop
