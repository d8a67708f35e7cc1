#include "loop_kit.h"
#include "same_values.h"

using namespace moonloop;

namespace {
/// What an iteration fetches, then uses; `use` and `more` as in a text.
Kernel fetches(const std::string& use, const std::string& bounds = "0 <= k < n",
               const std::string& more = "") {
  return parsed("kernel f(n: int32, a: float64[n + 8, 6], b: float64[6])\ndomain {[k]: " + bounds +
                "}\ndomain {[j]: 0 <= j < 6}\ndomain {[i]: 0 <= i < 6}\n"
                "temp t: float64[6] in local\nt[j] = a[k, j] {id=fetch, inames=k:j" +
                more + "}\n" + use + "\n");
}
const char* const kUse = "b[i] = b[i] + t[5 - i] {id=use, inames=k:i}";

Kernel ahead(const Kernel& k, int stages) {
  return apply(k, "pipeline", {text("k")}, {{"stages", number(stages)}});
}
/// Each element holds something for one value of the loop.
Kernel history(const std::string& use) {
  return parsed(
      "kernel f(n: int32, a: float64[n], b: float64[n])\ndomain {[k]: 3 <= k < n}\n"
      "domain {[p]: 0 <= p < 3}\nassume n >= 3\ntemp t: float64[n]\nt[p] = a[p] {id=first}\n"
      "t[k] = a[k] {id=next, dep=first}\nb[k] = " +
      use + " {id=use, dep=next}\n");
}
Kernel folded(const Kernel& k, std::int64_t count, std::int64_t axis = 0) {
  return apply(k, "fold_storage", {text("t"), number(axis), number(count)});
}
}  // namespace

TEST_CASE("fold_storage: what the last iterations wrote is kept") {
  const Kernel k = history("t[k] - t[k - 2]");
  const Kernel three = folded(k, 3);
  CHECK(line(three, "use") == "b[k] = t[k % 3] - t[(k - 2) % 3]");
  CHECK(to_string(three.find_temporary("t")->shape->at(0)) == "3");
  for (const std::int64_t n : {3, 4, 9}) CHECK(same_values(k, three, {{"n", n}}));
  CHECK(same_values(k, folded(k, 5), {{"n", 9}}));
  // One statement reads what the one before wrote.
  CHECK(same_values(history("t[k]"), folded(history("t[k]"), 3), {{"n", 7}}));
}

TEST_CASE("fold_storage: an element that is still needed keeps its memory") {
  const std::string why = message([] { folded(history("t[k] - t[k - 2]"), 2); });
  CHECK(why ==
        "next[k=3] writes t[3], which would lie in the memory of t[1], whose value from `first` "
        "use[k=3] still reads (n=4)");
  CHECK(code_of([] { folded(history("t[k] - t[k - 3]"), 3); }) == "shares-memory");
  CHECK(code_of([] { folded(history("t[k] - t[0]"), 3); }) == "shares-memory");
  // The first statement's elements would meet before any of them is read.
  CHECK(code_of([] { folded(history("t[k] + t[0]"), 2); }) == "shares-memory");
}

TEST_CASE("fold_storage: other axes tell elements apart") {
  const Kernel k = parsed(
      "kernel f(n: int32, a: float64[n, n], b: float64[n])\ndomain {[k, i]: 0 <= i <= k < n}\n"
      "temp t: float64[n, n]\nt[k, i] = a[k, i] {id=w}\n"
      "b[k] = b[k] + t[k, i] {id=r, dep=w}\n");
  CHECK(same_values(k, folded(k, 1), {{"n", 6}}));
  CHECK(same_values(k, folded(k, 1, 1), {{"n", 6}}));
  // Both loops once more: all rows are needed later.
  const Kernel later = parsed(
      "kernel f(n: int32, a: float64[n, n], b: float64[n])\ndomain {[k, i]: 0 <= i, k < n}\n"
      "domain {[p, q]: 0 <= p, q < n}\ntemp t: float64[n, n]\nt[k, i] = a[k, i] {id=w}\n"
      "b[p] = b[p] + t[p, q] {id=r, dep=w}\n");
  CHECK(code_of([&] { folded(later, 3); }) == "shares-memory");
}

TEST_CASE("fold_storage: what it takes") {
  const Kernel k = history("t[k]");
  CHECK(code_of([&] { folded(k, 0); }) == "bad-count");
  CHECK(code_of([&] { folded(k, 3, 1); }) == "bad-axis");
  CHECK(code_of([&] {
          apply(k, "fold_storage", {text("a"), number(0), number(2)});
        }) == "bad-argument");
  CHECK(code_of([] { folded(history("t[k] + t[(k*k) % n]"), 3); }) == "not-affine");
  const Kernel table = parsed(
      "kernel f(b: float64[4])\ndomain {[k]: 0 <= k < 4}\ntemp t: float64[4] init=(1, 2, 3, 4) "
      "read_only\n"
      "b[k] = t[k]\n");
  CHECK(message([&] {
          folded(table, 2);
        }).find("`t` has initial values; its axes are not folded") != std::string::npos);
}

TEST_CASE("pipeline: statements that fetch run some iterations early") {
  const Kernel k = fetches(kUse), two = ahead(k, 2), three = ahead(k, 3);
  CHECK(line(two, "fetch_from") == "t[j_from, (k + 1) % 2] = a[k + 1, j_from]");
  CHECK(line(two, "use") == "b[i] = b[i] + t[5 - i, k % 2]");
  CHECK(line(three, "fetch_from") == "t[j_from, (k + 2) % 3] = a[k + 2, j_from]");
  for (const std::int64_t n : {0, 1, 2, 3, 8}) {
    CHECK(same_values(k, two, {{"n", n}}));
    CHECK(same_values(k, three, {{"n", n}}));
  }
  const Kernel later = fetches(kUse, "3 <= k < n");
  CHECK(same_values(later, ahead(later, 2), {{"n", 9}}));
}

TEST_CASE("pipeline: what an iteration changes is not fetched before") {
  const std::string why = message(
      [] { ahead(fetches(std::string(kUse) + "\na[k + 1, i] = b[i] {id=next, inames=k:i}"), 2); });
  CHECK(why.find("next[") != std::string::npos);
  CHECK(why.find("fetch[") != std::string::npos);
  CHECK(code_of([] {
          ahead(fetches(std::string(kUse) + "\na[k, i] = b[i] {id=next, inames=k:i}"), 2);
        }) == "legal");
}

TEST_CASE("pipeline: loops and temporaries that it does not take") {
  const Kernel k = fetches(kUse);
  CHECK(code_of([&] { ahead(k, 1); }) == "bad-count");
  CHECK(code_of([&] { apply(k, "pipeline", {text("x")}); }) == "bad-argument");
  CHECK(code_of([&] { ahead(apply(k, "tag_inames", {text("k:unr")}), 2); }) == "tagged-iname");
  CHECK(code_of([] { ahead(fetches("b[j] = t[j] {inames=k:j}", "0 <= k < n", ""), 2); }) ==
        "legal");
  const Kernel sum = parsed(
      "kernel f(n: int32, a: float64[n, 6], b: float64[6])\ndomain {[k, i]: 0 <= k < n and 0 <= i "
      "< "
      "6}\nb[i] = sum(k, a[k, i]) {id=s}\n");
  CHECK(message([&] { ahead(sum, 2); }).find("realize_reduction(\"id:s\")") != std::string::npos);
  // An iteration reads what the one before left.
  CHECK(code_of([] {
          ahead(fetches("b[i] = b[i] + t[5 - i] {inames=k:i}", "0 <= k < n", ", if=k < 3"), 2);
        }) == "carries-value");
  const Kernel none = parsed(
      "kernel f(n: int32, a: float64[n], b: float64[n])\ndomain {[k]: 0 <= k < n}\n"
      "b[k] = a[k]\n");
  CHECK(code_of([&] { ahead(none, 2); }) == "nothing-ahead");
  const Kernel only = parsed(
      "kernel f(n: int32, a: float64[n], b: float64[n])\ndomain {[k]: 0 <= k < n}\n"
      "domain {[l]: 0 <= l < n}\ntemp t: float64 in local\nt = a[k]\nb[l] = 1\n");
  CHECK(code_of([&] { ahead(only, 2); }) == "one-group");
}

TEST_CASE("pipeline: loops at random, with the values that they had or a refusal") {
  std::mt19937 random(20261129);
  const auto pick = [&](const std::vector<const char*>& of) {
    return std::string(of[random() % of.size()]);
  };
  int taken = 0, refused = 0;
  for (int n = 0; n < 120; ++n) {
    const std::string bounds = pick({"0 <= k < n", "2 <= k < n", "0 <= k < n and k % 2 = 0",
                                     "0 <= k <= 2", "q <= k < n", "0 <= k < n and k <= 2*q"});
    const std::string use =
        pick({"t[5 - i]", "t[i] + t[0]", "2*t[i] - a[k, i]", "k*t[(i + 1) % 6]"});
    const std::string more =
        pick({"", "", "a[k, i] = b[q, i] {id=w, inames=q:k:i, dep=use}",
              "a[k + 3, i] = b[q, i] {id=w, inames=q:k:i}", "a[n, i] = t[i] {id=w, inames=q:k:i}",
              "t[i] = b[q, i] {id=w, inames=q:k:i, dep=use}"});
    const std::string when = pick({"", "", "", ", if=j <= k", ", if=k < 3"});
    const std::string text =
        "kernel f(n: int32, a: float64[n + 8, 6], b: float64[4, 6])\ndomain {[q]: 0 <= q < 3}\n"
        "domain [q] -> {[k]: " +
        bounds +
        "}\ndomain {[j]: 0 <= j < 6}\ndomain {[i]: 0 <= i < 6}\n"
        "assume n >= 1\ntemp t: float64[6] in local\nt[j] = a[k, j] {id=fetch, inames=q:k:j" +
        when + "}\nb[q, i] = b[q, i] + " + use + " {id=use, inames=q:k:i, dep=fetch}\n" + more +
        "\n";
    CAPTURE(text);
    const Kernel k = parsed(text);
    try {
      const Kernel out = ahead(k, 2 + int(random() % 3));
      ++taken;
      for (const std::int64_t size : {1, 2, 3, 8}) CHECK(same_values(k, out, {{"n", size}}));
    } catch (const Error& e) {
      ++refused;
      const std::string code = e.diagnostic().code;
      CAPTURE(e.what());
      CHECK((code == "breaks-order" || code == "carries-value" || code == "no-first" ||
             code == "shares-memory" || code == "undefined-read"));
    }
  }
  CHECK(taken > 20);
  CHECK(refused > 20);
}
