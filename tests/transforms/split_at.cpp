#include "transforms/split_at.h"

#include "loop_kit.h"
#include "same_values.h"

using namespace moonloop;

namespace {

Kernel cut(const Kernel& k, const std::string& iname, const std::string& at,
           const SplitAtNames& names = {}) {
  return split_at(k, iname, at, names, {});
}
std::string code_of(const Kernel& k, const std::string& iname, const std::string& at) {
  try {
    cut(k, iname, at);
  } catch (const Error& e) { return e.diagnostic().code; }
  return "";
}

Kernel paths() {
  return parsed(
      "kernel f(n: int32, d: int32[n, n])\ndomain {[k, i, j]: 0 <= k, i, j < n}\n"
      "d[i, j] = min(d[i, j], d[i, k] + d[k, j]) {id=p, inames=k:i:j}\n");
}

/// A loop with statements in it, around it and in a loop within it.
Kernel nest() {
  return parsed(
      "kernel f(n: int32, a: float64[n, n], b: float64[n], c: float64[n])\n"
      "domain {[i]: 0 <= i < n}\ndomain {[j]: 0 <= j <= i}\ndomain {[l]: j <= l < n}\n"
      "domain {[r]: 0 <= r < j}\n"
      "for i\nb[i] = 1 {id=first}\nfor j\nb[i] = b[i] + sum(r, a[j, r]) {id=add}\n"
      "a[l, j] = b[i] + l {id=spread}\nc[j] = a[i, j] {id=keep}\nend\n"
      "c[i] = c[i] + b[i] {id=last}\nend\n");
}

}  // namespace

TEST_CASE("split_at: a loop in three parts, two of them parallel") {
  const Kernel k = paths();
  Kernel out = cut(k, "j", "k", {"", "j_rest"});
  CHECK(tree(out) == "for k\n  for i\n    for j\n      p\n    for j_rest\n      p_from\n");
  out = cut(out, "j_rest", "k + 1", {"j_at", "j_after"});
  for (const int n : {0, 1, 2, 7}) CHECK(same_values(k, out, {{"n", n}}));
  CHECK_THROWS(apply(k, "tag_inames", {text("j:par")}));
  CHECK_NOTHROW(apply(out, "tag_inames", {text("j:par, j_after:simd")}));
}

TEST_CASE("split_at: all that is in the loop goes along, what is around stays") {
  const Kernel k = nest();
  for (const char* at : {"3", "i - 2", "n", "0", "2*i - n + 1"}) {
    CAPTURE(at);
    const Kernel out = cut(k, "j", at);
    CHECK(out.instructions.size() == k.instructions.size() + 3);
    for (const int n : {1, 2, 5, 8}) CHECK(same_values(k, out, {{"n", n}}));
  }
  const Kernel outer = cut(k, "i", "n // 2");
  CHECK(outer.instructions.size() == 2 * k.instructions.size());
  for (const int n : {1, 2, 5, 8}) CHECK(same_values(k, outer, {{"n", n}}));
}

TEST_CASE("split_at: statements that never run in a part are left out of it") {
  const Kernel k = parsed(
      "kernel f(n: int32, a: float64[n], b: float64[n])\ndomain {[i]: 0 <= i < n}\n"
      "for i\na[i] = 2*a[i] {id=p}\nb[i] = a[i] + 1 {id=q, if=i < 4}\nend\n");
  const Kernel out = split_at(k, "i", "4", {"", "rest"}, {});
  CHECK(tree(out) == "for i\n  p\n  q\nfor rest\n  p_from\n");
  for (const int n : {0, 3, 4, 9}) CHECK(same_values(k, out, {{"n", n}}));
  // Where none runs, the part has all of them: its loop is there for further steps.
  const Kernel none = split_at(split_at(k, "i", "4", {"", "rest"}, {}), "i", "4", {"", "more"}, {});
  CHECK(tree(none).find("for more\n  p_from_0\n  q_from\n") != std::string::npos);
}

TEST_CASE("split_at: a kernel whose steps moved instances") {
  const Kernel k = nest();
  Kernel out = apply(k, "split_iname", {text("l"), number(3)});
  out = cut(out, "l_outer", "1");
  for (const int n : {1, 5, 8}) CHECK(same_values(k, out, {{"n", n}}));
}

TEST_CASE("split_at: what is refused") {
  CHECK(code_of(nest(), "u", "1") == "unknown-iname");
  CHECK(code_of(nest(), "r", "1") == "reduction-loop");
  CHECK(code_of(nest(), "j", "l") == "bad-place");
  CHECK(code_of(nest(), "j", "j") == "bad-place");
  CHECK(code_of(nest(), "j", "i*i") == "bad-place");
  CHECK(code_of(nest(), "j", "c[0]") == "bad-place");
  Kernel tagged = paths();
  tagged.iname_tags["j"] = *parse_iname_tag("unr");
  CHECK(code_of(tagged, "j", "k") == "tagged-iname");
  CHECK_THROWS(cut(paths(), "j", "k", {"i", ""}));
  const Kernel unused = parsed(
      "kernel f(n: int32, a: float64[n])\ndomain {[i]: 0 <= i < n}\ndomain {[u]: 0 <= u < n}\n"
      "a[i] = 1 {id=p}\n");
  CHECK(code_of(unused, "u", "1") == "not-a-loop");
}
