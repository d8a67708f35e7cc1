#include <cctype>
#include <limits>
#include <string_view>

#include "core/model/lookup.h"
#include "tests/scripts/harness.h"
#include "transforms/assignment_to_subst.h"
#include "transforms/precompute.h"
#include "transforms/registry.h"

/// Refusals of requests: their codes and full texts. Each row is a kernel, a step, and the step's
/// error; the transforms' own tests have more about each.

using namespace moonloop;        // NOLINT
using namespace moonloop::test;  // NOLINT

namespace {

const char* const kCopy =
    "kernel k(n: int32, a: float64[n, n], b: float64[n, n])\n"
    "domain {[i, j]: 0 <= i, j < n}\n"
    "b[i, j] = 2*a[i, j]   {id=copy}\n";
const char* const kSlabs =
    "kernel k(n: int32, a: float64[n])\n"
    "domain {[i]: 0 <= i < n}\n"
    "slabs i: 0, 1\n"
    "a[i] = 1\n";
const char* const kSum =
    "kernel k(n: int32, a: float64[n, n], y: float64[n])\n"
    "domain {[i, j]: 0 <= i, j < n}\n"
    "y[i] = sum(j, a[i, j])   {id=row}\n";
const char* const kAccumulate =
    "kernel k(n: int32, a: float64[n, n], y: float64[n])\n"
    "domain {[i, j]: 0 <= i, j < n}\n"
    "y[i] = y[i] + a[i, j]   {id=acc}\n";
const char* const kRule =
    "kernel k(n: int32, a: float64[n+1], y: float64[n])\n"
    "domain {[i]: 0 <= i < n}\n"
    "f(x) := 2*a[x]\n"
    "y[i] = f(i) + f(i+1)   {id=use}\n";
const char* const kTemporary =
    "kernel k(n: int32, a: float64[n], y: float64[n])\n"
    "domain {[i]: 0 <= i < n}\n"
    "<>t = a[i]   {id=def}\n"
    "y[i] = 2*t   {id=use}\n";
const char* const kPart =
    "kernel k(n: int32, a: float64[n, n], y: float64[n])\n"
    "domain {[i, j]: 0 <= i, j < n}\n"
    "a[i, j] = 1   {id=one}\n"
    "y[i] = 2   {id=two}\n";
const char* const kFlat =
    "kernel k(n: int32, b: float64[n, n])\n"
    "domain {[i]: 0 <= i < n}\n"
    "b[[i]] = 1   {id=one}\n";
const char* const kOneEach =
    "kernel k(n: int32, y: float64[n], z: float64[n])\n"
    "domain {[i, j]: 0 <= i, j < n}\n"
    "y[i] = 1   {id=one}\n"
    "z[j] = 2   {id=two}\n";
const char* const kShared =
    "kernel k(n: int32, a: float64[n+2], y: float64[n], z: float64[n])\n"
    "domain {[i, j]: 0 <= i, j < n}\n"
    "f(x) := 2*a[x]\n"
    "y[i] = f(i)   {id=one}\n"
    "z[j] = y[j] + f(j)   {id=two}\n";
const char* const kTriangle =
    "kernel k(n: int32, a: float64[n, n], b: float64[n, n])\n"
    "domain {[i]: 0 <= i < n}\n"
    "domain {[j]: 0 <= j <= i}\n"
    "a[i, j] = 1   {id=one}\n"
    "b[i, j] = 2   {id=two}\n";
const char* const kRows =
    "kernel k(n: int32, s: int32[n+1], a: float64[1000], y: float64[n])\n"
    "domain {[i]: 0 <= i < n}\n"
    "domain [len] -> {[j]: 0 <= j < len}\n"
    "<int32> len = s[i + 1] - s[i]\n"
    "y[i] = sum(j, a[j])   {id=row}\n";
const char* const kRuleAndTemporary =
    "kernel k(n: int32, a: float64[n+1], y: float64[n])\n"
    "domain {[i]: 0 <= i < n}\n"
    "temp t: float64[7]\n"
    "f(x) := 2*a[x]\n"
    "y[i] = f(i) + f(i+1)   {id=use}\n";
const char* const kTwoLoops =
    "kernel k(n: int32, a: float64[n], y: float64[n])\n"
    "domain {[i]: 0 <= i < n}\n"
    "domain {[j]: 0 <= j < n - 1}\n"
    "a[i] = 1   {id=one}\n"
    "y[j] = 2   {id=two}\n";
const char* const kMaps =
    "kernel k(n: int32, m: int32[n], mm: int32[n, n], w: int32[n], y: float64[n])\n"
    "domain {[i]: 0 <= i < n}\n"
    "w[i] = m[i]   {id=set}\n"
    "y[m[i]] = w[i]   {id=use}\n";
const char* const kSquare =
    "kernel k(n: int32, a: float64[n+2], y: float64[n])\n"
    "domain {[i]: 0 <= i < n}\n"
    "y[i] = a[i]*a[i + 2]   {id=use}\n";
const char* const kEmpty =
    "kernel k(n: int32, a: float64[n], y: float64[n])\n"
    "domain {[i]: 5 <= i < 3}\n"
    "y[i] = a[i]   {id=use}\n";
const char* const kUnbounded =
    "kernel k(n: int32, a: float64[n], y: float64[n])\n"
    "domain {[i]: 0 <= i}\n"
    "y[i] = a[i]   {id=use}\n";
const char* const kLong =
    "kernel k(a: float64[70000, 70000])\n"
    "domain {[i, j]: 0 <= i, j < 70000}\n"
    "a[i, j] = 1   {id=one}\n";

struct Row {
  std::string_view code, kernel, step, text;
};

const Row kSteps[] = {
    {"bad-length", kCopy, "k:split_iname(\"i\", 0)",
     "`i` cannot be split into pieces of length 0; it must be at least 1"},
    {"bad-slabs", kCopy, "k:split_iname(\"i\", 4, {slabs = {-1, 0}})",
     "slabs (-1, 0) of `i` are not between 0 and 1000"},
    {"bad-name", kCopy, "k:rename_iname(\"i\", \"2x\")",
     "`2x` is not a name: names are letters, digits and `_`"},
    {"name-taken", kCopy, "k:rename_iname(\"i\", \"a\")", "the name `a` is in use in kernel `k`"},
    {"bad-priority", kCopy, "k:prioritize_loops(\"i, i\")",
     "`i` occurs twice in the priority `i`, `i`"},
    {"tagged-iname", kCopy, "k:tag_inames{i = \"par\"}:split_iname(\"i\", 4)",
     "`i` is tagged `par`; split it first, then tag the parts"},
    {"untagged-iname", kCopy, "k:untag_inames(\"i\", \"par\")", "`i` has no tag"},
    {"both-inames", kCopy, "k:rename_iname(\"i\", \"j\", {existing_ok = true})",
     "`i` cannot become `j`: instruction `copy` uses both"},
    {"other-values", kTwoLoops, "k:rename_iname(\"i\", \"j\", {existing_ok = true})",
     "`i` and `j` run over different values: `one[i=0]` would be lost when n = 1"},
    {"two-tags", kTwoLoops,
     "k:assume(\"n = 0\"):tag_inames{i = \"par\", j = \"unr_hint\"}:rename_iname(\"i\", \"j\", "
     "{existing_ok = true})",
     "`i` is tagged `par` but `j` is tagged `unr_hint`; `preserve_tags = false` keeps the latter"},
    {"too-few", kCopy, "k:join_inames(\"i\")", "a join needs two inames or more, got 1"},
    {"too-long", kLong, "k:join_inames(\"i, j\")",
     "the joined loop over `i`, `j` has more iterations than int32 counts"},
    {"ambiguous-match", kSquare, "k:extract_subst(\"g\", \"a[q]\")",
     "`q` in the template `a[q]` stands for `i` and for `i + 2`; make it a parameter"},
    {"empty-footprint", kEmpty, "k:add_prefetch(\"a\", \"i\")",
     "the footprint of `a` is empty: no instance uses it"},
    {"unbounded-footprint", kUnbounded, "k:add_prefetch(\"a\", \"i\")",
     "the footprint of `a` has no bound along `a_dim_0`"},
    {"no-common-domain", kTwoLoops, "k:join_inames(\"i, j\")",
     "the bounds of `i` and `j` are in different domains; only inames of one domain can be "
     "joined"},
    {"no-constant-extent", kCopy, "k:join_inames(\"i, j\")",
     "`j` has no constant number of values, which all but the first of `i`, `j` need; give the "
     "slowest one first, fix the parameters of its bounds, or split it by a constant"},
    {"partial-reduction", kSum, "k:join_inames(\"i, j\")",
     "joining `i`, `j`: the reduction `sum(j, a[i, j])` is over `j` but not over `i`"},
    {"no-inames", kCopy, "k:duplicate_inames(\"\", \"id:copy\")", "no iname is given to duplicate"},
    {"name-count", kCopy, "k:duplicate_inames(\"i\", \"id:copy\", {new_inames = \"p, q\"})",
     "2 new inames are given for 1 to duplicate"},
    {"no-reduction", kSum, "k:split_reduction_inward(\"j\")",
     "no reduction is over `j` and another iname"},
    {"not-accumulation", kCopy, "k:recognize_reduction(\"j\")",
     "instruction `copy` does not accumulate: it has not the form `v = v + e`, with `+`, `*`, "
     "`min`, `max`, `or` or `and`"},
    {"carried-target", kAccumulate, "k:recognize_reduction(\"i\")",
     "`acc` writes another element in each iteration of `i`: `y[i]`"},
    {"drops-instance", kCopy, "k:map_domain(\"{[i, j] -> [p, q]: p = i and q = j and i >= 1}\")",
     "the map has no image of `copy[i=0, j=0]` when n = 1, which would be lost"},
    {"doubles-instance", kCopy, "k:map_domain(\"{[i, j] -> [p, q]: i <= p <= i + 1 and q = j}\")",
     "`copy[i=0, j=0]` has two images when n = 1, `[p=0, q=0]` and `[p=1, q=0]`, and would run "
     "twice"},
    {"merges-instances", kCopy, "k:map_domain(\"{[i, j] -> [p]: p = i + j}\")",
     "`copy[i=0, j=1]` and `copy[i=1, j=0]` have the same image when n = 2, `[p=1]`"},
    {"some-not-all", kPart, "k:map_domain(\"{[i, j] -> [p, q]: p = j and q = i}\")",
     "mapping `i`, `j`: instruction `two` is inside the loop over `i` but not `j`; "
     "`duplicate_inames(\"i\", \"id:two\")` gives it loops of its own"},
    {"linear-access", kFlat, "k:buffer_array(\"b\", \"i\")",
     "`b[[i]]` is one flat subscript; its axes are not known"},
    {"unused-sweep", kOneEach, "k:buffer_array(\"y\", \"j\", {within = \"id:one\"})",
     "no selected access of `y` is in the loop `j`"},
    {"not-swept", kShared, "k:buffer_array(\"y\", \"j\")",
     "`y` depends on `i`, which is not around every selected access; make it a buffer iname, or "
     "select the instructions with `within`"},
    {"not-swept", kShared, "k:precompute(\"f\", \"j\")",
     "`f` depends on `i`, which is not around every selected use; sweep it, or select the uses "
     "with `within`"},
    {"non-affine-argument", kMaps, "k:buffer_array(\"y\", \"i\")",
     "subscript `m[i]` of `y` in `use` is not a sum of inames and parameters, so that its "
     "footprint "
     "is not known"},
    {"lost-slabs", kSlabs, "k:split_iname(\"i\", 4)",
     "`i` has slabs, which are first and last iterations of that loop alone; change the loop "
     "first, and ask for slabs with the last split"},
    {"shared-bound", kTriangle, "k:split_iname(\"i\", 4, {within = \"id:one\"})",
     "the bounds of `j` depend on `i`, and instruction `two`, which is not selected, uses `j` too; "
     "duplicate `j` first"},
    {"data-dependent-footprint", kRows, "k:buffer_array(\"a\", \"j\")",
     "the footprint of `a` depends on the temporary `len`; its size is not known before the kernel "
     "runs"},
    {"bad-temporary", kRuleAndTemporary, "k:precompute(\"f\", \"i\", {temporary_name = \"t\"})",
     "temporary `t` has shape (7), but the buffer of `f` has (n + 1)"},
    {"carried-target", kAccumulate, "k:recognize_reduction(\"i, j\")",
     "`acc` writes another element in each iteration of `i`: `y[i]`"},
    {"unknown-parameter", kCopy, "k:fix_parameters{zz = 4}",
     "no parameter `zz` in kernel `k`; it has `n`"},
    {"bad-value", kCopy, "k:fix_parameters{n = 99999999999}",
     "99999999999 does not fit the int32 parameter `n`"},
    {"empty-assumptions", kCopy, "k:assume(\"n > 3 and n < 2\")",
     "`n > 3 and n < 2` contradicts what kernel `k` assumes"},
    {"not-integer", kCopy, "k:assume_injective(\"a\")",
     "`a` holds float64, not integers, and is not a map of subscripts"},
    {"bad-rank", kMaps, "k:assume_injective(\"mm\")",
     "`mm` has 2 axes; only a map with one axis can be assumed injective"},
    {"written-array", kMaps, "k:assume_injective(\"w\")",
     "instruction `set` writes `w`, so what it holds changes while the kernel runs"},
    {"no-arrays", kMaps, "k:assume_injective(\"\")", "no array is given to assume anything of"},
    {"not-atomic", kCopy, "k:assume_commuting(\"b\")",
     "no instruction of kernel `k` updates `b` atomically; `{atomic}` after it says that one does"},
    {"bad-template", kRule, "k:extract_subst(\"g\", \"x\", \"x\")",
     "the template `x` is a parameter alone and matches everything"},
    {"no-match", kRule, "k:extract_subst(\"g\", \"77*a[p]\", \"p\")",
     "no expression of kernel `k` matches `77*a[p]`"},
    {"no-use", kTemporary, "k:assignment_to_subst(\"y\")", "nothing reads `y` in kernel `k`"},
    {"no-definition", kTemporary, "k:assignment_to_subst(\"a\")",
     "nothing in kernel `k` writes `a`"},
    {"bad-argument-name", kTemporary, "k:assignment_to_subst(\"t\", {extra_arguments = \"q\"})",
     "extra argument `q` does not occur in `def`"},
    {"bad-definition", kAccumulate, "k:assignment_to_subst(\"y\")",
     "`acc` cannot become a rule for `y`: it reads what it writes"},
    {"bad-address-space", kRule,
     "k:precompute(\"f\", \"i\", {temporary_address_space = \"shared\"})",
     "`shared` is not an address space; there are `auto`, `private`, `local`, `global`"},
    {"bad-inames", kRule, "k:precompute(\"f\", \"i\", {precompute_inames = \"p, q\"})",
     "2 inames are given for 1 storage axis of `f`"},
    {"bad-outer-inames", kRule, "k:precompute(\"f\", \"i\", {precompute_outer_inames = \"i\"})",
     "`i` cannot be around the computation of `f`: it is swept"},
    {"unknown-axis", kRule, "k:precompute(\"f\", \"i\", {storage_axes = \"zz\"})",
     "`zz` is neither a parameter of `f` nor an iname"},
    {"missing-axis", kRule, "k:precompute(\"f\", \"i\", {storage_axes = \"i\"})",
     "parameter `x` of `f` is `i` in one use and `i + 1` in another; it must be a storage axis"},
    {"lost-store", kCopy, "k:buffer_array(\"b\", \"j\", {store_expression = false})",
     "without a store, what `copy` writes to `b` would be lost"},
    {"private-sweep", kCopy,
     "k:tag_inames{j = \"l.0\"}:buffer_array(\"b\", \"j\", {temporary_scope = \"private\"})",
     "`j` numbers work-items, and a private temporary is not shared by them; use `local`"},
    {"swept-group", kCopy, "k:tag_inames{j = \"g.0\"}:buffer_array(\"b\", \"j\")",
     "`j` is tagged `g.0`: work-groups share global memory only; give temporary_address_space = "
     "\"global\""},
    {"axis-taken", kCopy, "k:tag_inames{i = \"l.0\", j = \"l.0\"}",
     "`i` and `j` would both be `l.0` around instruction `copy`"},
    {"bad-footprint", kRule, "k:precompute(\"f(i, i)\", \"i\")",
     "a footprint of 2 subscripts is given for 1 storage axis"},
};

struct KernelRow {
  std::string_view code, kernel, text;
};

const KernelRow kKernels[] = {
    {"bad-shape",
     "kernel k(n: int32, a: float64[-3])\n"
     "domain {[i]: 0 <= i < n}\n"
     "a[i] = 1\n",
     "`a` has the negative extent -3"},
    {"cyclic-domains",
     "kernel k(n: int32, a: float64[n])\n"
     "domain {[i]: 0 <= i < j}\n"
     "domain {[j]: 0 <= j < i}\n"
     "a[i] = j\n",
     "the bounds of domain `[j] -> { [i] : 0 <= i < j }` depend on its own inames"},
    {"no-effect",
     "kernel k(n: int32, a: float64[n])\n"
     "domain {[i]: 0 <= i < n}\n"
     "sin(a[i])\n",
     "`sin(a[i])` assigns nothing and so has no effect"},
    {"unknown-function",
     "kernel k(n: int32, a: float64[n])\n"
     "domain {[i]: 0 <= i < n}\n"
     "a[i] = sinn(a[i])\n",
     "no function or rule `sinn`; did you mean `sin`?"},
    {"unsupported", "kernel k(n: int32, a: image2d[n, n])\n",
     "`image2d`: image arguments are not supported yet"},
    {"unsupported",
     "kernel k(n: int32, a: float32[n])\n"
     "domain {[i]: 0 <= i < n}\n"
     "a[i] = philox4x32_f32(i, 0)\n",
     "`philox4x32_f32` is a counter-based random function (Random123), which is not supported "
     "yet"},
    {"wrong-value-count",
     "kernel k(n: int32, a: float64[n], b: float64[n])\n"
     "domain {[i, j]: 0 <= i, j < n}\n"
     "a[i], b[i] = sin(a[i])\n",
     "`insn` assigns 2 variables, but its right side gives 1 value"},
    {"unbounded-iname",
     "kernel k(n: int32, a: float64[n])\n"
     "domain {[i]: 0 <= i}\n"
     "a[i] = 1\n",
     "iname `i` has no upper bound in `{ [i] : i >= 0 }`"},
    {"bad-rule-argument",
     "kernel k(n: int32, a: float64[n])\n"
     "domain {[i]: 0 <= i < n}\n"
     "f(x) := x[i]\n"
     "a[i] = f(i + 1)\n",
     "rule `f` uses its parameter `x` as a name, so that `i + 1` cannot stand for it"},
};

}  // namespace

TEST_CASE("codes: steps that are refused") {
  for (const Row& row : kSteps) {
    CAPTURE(row.step);
    const Diagnostic d = failure(std::string(row.kernel), "k = " + std::string(row.step));
    CHECK(d.code == row.code);
    CHECK(d.text == row.text);
  }
}

TEST_CASE("codes: kernels that are wrong") {
  for (const KernelRow& row : kKernels) {
    CAPTURE(row.kernel);
    const Diagnostic d = failure(kCopy, "lp.parse([==[" + std::string(row.kernel) + "]==]):code()");
    CHECK(d.code == row.code);
    CHECK(d.text == row.text);
  }
}

TEST_CASE("codes: names that a kernel lacks") {
  const Kernel k = parse(kCopy).front();
  const auto code = [](auto f) {
    try {
      f();
    } catch (const Error& e) { return e.diagnostic().code + ": " + e.diagnostic().text; }
    return std::string("none");
  };
  CHECK(code([&] { require_arg(k, "zz"); }) ==
        "unknown-argument: no argument `zz` in kernel `k`; it has `n`, `a`, `b`");
  CHECK(code([&] { require_insn(k, "zz"); }) ==
        "unknown-instruction: no instruction `zz` in kernel `k`; it has `copy`");
  CHECK(code([&] { require_iname(k, "zz"); }) ==
        "unknown-iname: no iname `zz` in kernel `k`; it has `i`, `j`");
  CHECK(code([&] { precompute(k, "zz", {}); }) ==
        "unknown-rule: no rule `zz` in kernel `k`; it has none");
  CHECK(code([&] { assignment_to_subst(k, "zz", {}); }) ==
        "unknown-variable: no variable `zz` in kernel `k`; it has `n`, `a`, `b`");
}

TEST_CASE("codes: constants beyond 64 bits") {
  try {
    index_mul(lit(std::numeric_limits<std::int64_t>::max()), lit(2));
    FAIL("no error");
  } catch (const Error& e) { CHECK(e.diagnostic().code == "constant-overflow"); }
}

namespace {

const char* const kTwoNests =
    "kernel k(n: int32, a: float64[n, n], y: float64[n])\n"
    "domain {[i, j]: 0 <= i, j < n}\n"
    "y[i] = 1   {id=first}\n"
    "a[i, j] = 2   {id=second}\n";
const char* const kCrossing =
    "kernel k(n: int32, a: float64[n, n], y: float64[n], z: float64[n])\n"
    "domain {[i, j]: 0 <= i, j < n}\n"
    "y[i] = 1   {id=row}\n"
    "z[j] = 1   {id=column}\n"
    "a[i, j] = 2   {id=both}\n";

/// Steps that are refused, besides those above, with hints that are steps.
const Row kHints[] = {
    {"cannot-nest", kTwoNests, "k:prioritize_loops(\"j, i\")",
     "these loops cannot be nested: `i` must be outside `j` (it holds more instructions), `j` must "
     "be outside `i` (prioritize_loops)"},
};

/// The calls of transforms in a message, as they may be written.
std::vector<std::string> steps_in(const std::string& said) {
  std::vector<std::string> out;
  for (std::size_t open = 0; (open = said.find('(', open)) != std::string::npos; ++open) {
    std::size_t from = open;
    while (from > 0 &&
           (std::isalnum(static_cast<unsigned char>(said[from - 1])) != 0 || said[from - 1] == '_'))
      --from;
    const std::size_t end = said.find(')', open);
    if (end != std::string::npos && find_op(said.substr(from, open - from)))
      out.push_back(said.substr(from, end + 1 - from));
  }
  return out;
}

/// The kernel of a refused step: the part before the last call.
std::string before_last_call(const std::string& step) {
  const std::size_t at = step.rfind("):");
  return at == std::string::npos ? "k" : step.substr(0, at + 1);
}

}  // namespace

TEST_CASE("codes: steps that a refusal names are accepted") {
  int tried = 0;
  const auto try_hints = [&](const Row& row) {
    CAPTURE(row.step);
    const Diagnostic d = failure(std::string(row.kernel), "k = " + std::string(row.step));
    CHECK(d.code == row.code);
    CHECK(d.text == row.text);
    for (const std::string& hint : steps_in(d.text + "; " + d.hint)) {
      CAPTURE(hint);
      ++tried;
      CHECK_NOTHROW(transform(std::string(row.kernel),
                              "k = " + before_last_call(std::string(row.step)) + ":" + hint));
    }
  };
  for (const Row& row : kHints) try_hints(row);
  for (const Row& row : kSteps) try_hints(row);
  CHECK(tried >= 2);
  const Diagnostic crossing = failure(kCrossing, "k = k:tag_inames('j: unr')");
  CHECK(crossing.code == "cannot-nest");
  CHECK(crossing.hint == "the option `dup=i` of `row` gives it a loop of its own");
  std::string mended = kCrossing;
  mended.insert(mended.find("{id=row") + 7, ", dup=i");
  CHECK_NOTHROW(transform(mended, "k = k:tag_inames('j: unr')"));
}

namespace {

/// Refusals of code generation, with a way out that the message names.
struct CodeRow {
  std::string_view code, kernel, tags;
  std::string_view said;  // a part of the message
  std::string_view
      mended;  // the kernel after following the message, with `@` for the step in the message
};

const CodeRow kCodeHints[] = {
    {"unsupported",
     "kernel k(n: int32, s: int32[n], a: float64[n, 24], y: float64[n])\n"
     "domain {[i]: 0 <= i < n}\n"
     "domain {[j]: 0 <= j < len}\n"
     "<int32> len = s[i] % 25\n"
     "y[i] = sum(j, a[i, j])   {id=row}\n",
     "k:tag_inames{i = \"g.0\", j = \"l.0\"}",
     "its bounds depend on `len`, which is computed on the device",
     "k:@:tag_inames{i = \"g.0\", j_inner = \"l.0\"}"},
    {"unsupported",
     "kernel k(n: int32, x: float64[n], y: float64[n, n])\n"
     "domain {[i]: 0 <= i < n}\n"
     "domain {[j]: 0 <= j < n}\n"
     "domain {[l]: 0 <= l < n}\n"
     "temp s: float64[n]\n"
     "s[j] = x[j] + i       {id=make}\n"
     "y[i, l] = s[n - 1 - l]   {id=use}\n",
     "k:tag_inames{i = \"g.1\", j = \"g.0\", l = \"g.0\"}",
     "groups of one kernel would meet in `s`",
     "k:tag_inames{i = \"g.1\", j = \"g.0\", l = \"g.0\"}:@"},
};

const char* const kReload =
    "kernel k(n: int32, x: float64[n, 8], y: float64[n, 8])\n"
    "domain {[i]: 0 <= i < n}\n"
    "domain {[l]: 0 <= l < 8}\n"
    "tag i: g.0, l: l.0\n"
    "for i\n"
    "  <> t = x[i, 0]   {id=set}\n"
    "  ... gbarrier   {id=cut, dep=set}\n"
    "  y[i, l] = t   {id=get, dep=cut}\n"
    "end\n";
const char* const kReloadShared =
    "kernel k(n: int32, x: float64[n, 8], y: float64[n, 8])\n"
    "domain {[i, l]: 0 <= i < n and 0 <= l < 8}\n"
    "tag i: g.0, l: l.0\n"
    "for i\n"
    "  <> t[l] = 2*x[i, l]   {id=set}\n"
    "  ... gbarrier   {id=cut, dep=set}\n"
    "  y[i, l] = t[l]   {id=get, dep=cut}\n"
    "end\n";

}  // namespace

TEST_CASE("codes: ways out that code generation names lead to code") {
  const auto code = [](const CodeRow& row, const std::string& steps) {
    return failure(std::string(row.kernel), "print((" + steps + "):code(\"opencl\"))");
  };
  for (const CodeRow& row : kCodeHints) {
    CAPTURE(row.said);
    const Diagnostic d = code(row, std::string(row.tags));
    CHECK(d.code == row.code);
    CHECK_MESSAGE(d.text.find(row.said) != std::string::npos, d.text);
    const std::vector<std::string> steps = steps_in(d.text + "; " + d.hint);
    REQUIRE(steps.size() == 1);
    std::string mended(row.mended);
    mended.replace(mended.find('@'), 1, steps[0]);
    CAPTURE(mended);
    CHECK_NOTHROW(
        transform(std::string(row.kernel), "local s = (" + mended + "):code(\"opencl\")"));
  }
  // Both of the ways that needs-reload names.
  const Diagnostic d = failure(kReload, "local s = k:code(\"opencl\")");
  CHECK(d.code == "needs-reload");
  CHECK(
      d.text ==
      "`get` reads `t`, which `set` writes in an earlier kernel, but its memory ends with that "
      "kernel; privatize_temporaries_with_inames and set_temporary_address_space to `global` make "
      "it outlive that, as does a written barrier (add_barrier) with save_and_reload_temporaries");
  CHECK_NOTHROW(transform(kReload,
                          "local s = k:privatize_temporaries_with_inames(\"i\", \"t\")"
                          ":set_temporary_address_space(\"t\", \"global\"):code(\"opencl\")"));
  CHECK(failure(kReloadShared, "local s = k:code(\"opencl\")").code == "needs-reload");
  CHECK_NOTHROW(
      transform(kReloadShared, "local s = k:save_and_reload_temporaries():code(\"opencl\")"));
}

namespace {

/// Refusals with a hint, and kernel and steps after the hint.
struct HintRow {
  std::string_view code, kernel, step, hint, mended_kernel, mended_step;
};

const char* const kThroughMap =
    "kernel k(n: int32, m: int32[n], y: float64[n])\n"
    "domain {[i]: 0 <= i < n}\n"
    "y[m[i]] = i   {id=use}\n";
const char* const kTwoUses =
    "kernel k(n: int32, a: float64[n], y: float64[n], z: float64[n])\n"
    "domain {[i]: 0 <= i < n}\n"
    "<float64> t = a[i]   {id=def}\n"
    "y[i] = 2*t   {id=use}\n"
    "z[i] = 3   {id=other}\n";
const char* const kEven =
    "kernel k(n: int32, a: float64[n])\n"
    "domain {[i]: 0 <= i < n}\n"
    "domain {[j]: 0 <= j < n}\n"
    "<> t[2*i] = a[i]  {id=first, inames=i}\n"
    "a[j] = t[2*j]     {id=second, inames=j}\n";
const char* const kBeyond =
    "kernel k(n: int32, a: float64[100])\n"
    "domain {[i]: 0 <= i < n}\n"
    "a[i] = 1   {id=set}\n";
const char* const kComplex =
    "kernel k(n: int32, a: complex128[n], y: float64[n])\n"
    "domain {[i]: 0 <= i < n}\n"
    "y[i] = a[i]   {id=set}\n";
const char* const kComplexTaken =
    "kernel k(n: int32, a: complex128[n], y: float64[n])\n"
    "domain {[i]: 0 <= i < n}\n"
    "y[i] = real(a[i]) + imag(a[i])   {id=set}\n";

constexpr std::string_view kClaims =
    "where a subscript is read from an array, assume_injective or assume_disjoint says what cannot "
    "be seen here; the option unsafe=true takes it on trust";

const HintRow kHintsTried[] = {
    {"not-proved", kThroughMap, "k:tag_inames{i = \"par\"}", kClaims, kThroughMap,
     "k:assume_injective(\"m\"):tag_inames{i = \"par\"}"},
    {"not-proved", kThroughMap, "k:tag_inames{i = \"par\"}", kClaims, kThroughMap,
     "k:tag_inames({i = \"par\"}, {unsafe = true})"},
    {"value-needed", kTwoUses, "k:remove_instructions(\"def\")",
     "remove the reader too, or pass `unsafe = true`", kTwoUses,
     "k:remove_instructions(\"def, use\")"},
    {"value-needed", kTwoUses, "k:remove_instructions(\"def\")",
     "remove the reader too, or pass `unsafe = true`", kTwoUses,
     "k:remove_instructions(\"use\"):remove_instructions(\"def\", {unsafe = true})"},
    {"undefined-read", kEven,
     "k:add_prefetch(\"t\", \"j\", {default_tag = false, fetch_bounding_box = true})",
     "without fetch_bounding_box the copy takes only the elements that are read", kEven,
     "k:add_prefetch(\"t\", \"j\", {default_tag = false})"},
    {"out-of-bounds", kBeyond, "k, k:code()",
     "if such parameters never occur, say so with `assume`", kBeyond, "k:assume(\"n <= 100\")"},
    {"type-mismatch", kComplex, "k, k:code()", "take `real(...)` or `imag(...)`, or cast",
     kComplexTaken, "k"},
};

}  // namespace

TEST_CASE("codes: claims, options and other words that a hint names are taken") {
  for (const HintRow& row : kHintsTried) {
    CAPTURE(row.step);
    const Diagnostic d = failure(std::string(row.kernel), "k = " + std::string(row.step));
    CHECK(d.code == row.code);
    CHECK(d.hint == row.hint);
    CHECK_NOTHROW(transform(std::string(row.mended_kernel),
                            "k = " + std::string(row.mended_step) + "\nlocal s = k:code()"));
  }
}

TEST_CASE("codes: what no group writes is asked of no budget") {
  // The buffer is filled outside of the groups and read in them: chunks of chunks of a triangle.
  const char* const triangle =
      "kernel k(n: int32, a: float32[3*n + 12], y: float32[3*n + 12])\n"
      "domain {[i]: 0 <= i < n and i mod 3 = 0}\n"
      "domain {[j]: 0 <= j < i}\n"
      "assume n >= 5\n"
      "<> t = a[i + 2] - a[j + i] + a[j + 1]  {id=load, inames=i:j}\n"
      "y[i + 3] = t + a[j + 3]  {id=store, inames=i:j, dep=load}\n";
  CHECK_NOTHROW(transform(triangle,
                          "k = k:map_domain(\"{ [j] -> [u] : u = 2*j + 1 }\")\n"
                          "k = k:chunk_iname(\"u\", 2)\n"
                          "k = k:buffer_array(\"a\", {\"i\", \"u_inner\"}, {default_tag = false})\n"
                          "k = k:chunk_iname(\"i\", 4):tag_inames({i_inner = \"g.0\"})\n"
                          "local s = k:code(\"c\")"));
}
