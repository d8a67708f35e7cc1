#include "core/model/domain.h"
#include "core/order/reference.h"
#include "core/sets/budget.h"
#include "tests/core/semantics_kit.h"

using namespace kit;

namespace {

const std::string kHead = "kernel f(n: int32, m: int32, a: float64[n], c: float64[n])\n";

std::string checking(const std::string& body) { return completing(kHead + body); }

}  // namespace

TEST_CASE("bounds: an access beyond the end names index, extent and instance") {
  CHECK(
      checking("domain {[i]: 0 <= i < n}\nc[i] = a[i+1] {id=S}\n") ==
      "`a[i + 1]` reaches index 1 of axis 0, whose extent is n = 1, at S[i=0] [out-of-bounds]; if "
      "such parameters never occur, say so with `assume`");
  CHECK(completing("kernel f(a: float64[10], c: float64[10])\ndomain {[i]: 0 <= i < 10}\n"
                   "c[i] = a[i+1] {id=S}\n") ==
        "`a[i + 1]` reaches index 10 of axis 0, whose extent is 10, at S[i=9] [out-of-bounds]");
  CHECK(checking("domain {[i]: 0 <= i < n}\nc[i] = a[i-1] {id=S}\n") ==
        "`a[i - 1]` reaches index -1 of axis 0, at S[i=0] for n = 1 [out-of-bounds]");
}

TEST_CASE("bounds: near misses are in bounds") {
  CHECK(checking("domain {[i]: 1 <= i < n}\nc[i] = a[i-1]\n") == "ok");
  CHECK(checking("domain {[i]: 0 <= i < n}\nif i > 0\n  c[i] = a[i-1]\nend\n") == "ok");
  CHECK(checking("domain {[i]: 0 <= i < n}\nc[i] = a[i-1] if i > 0 else 0.0\n") == "ok");
  CHECK(checking("domain {[i]: 0 <= i < n}\nc[i] = a[i] if i < 1 or a[i-1] > 0 else 0.0\n") ==
        "ok");
  CHECK(checking("domain {[i]: 0 <= i < n}\nif i > 0 and a[i-1] > 0\n  c[i] = 1.0\nend\n") == "ok");
  CHECK(checking("domain {[i]: 0 <= i < m}\nassume m <= n\nc[i] = a[i]\n") == "ok");
  CHECK(checking("domain {[i]: 0 <= i < n}\nc[i] = a[n - 1 - i]\n") == "ok");
  CHECK(checking("domain {[i]: 0 <= i < n}\nc[i] = a[(i + 1) % n]\n").find("[out-of-bounds]") ==
        std::string::npos);  // not affine: not judged
  CHECK(checking("domain {[i]: 0 <= i < n}\nc[i] = a[i // 2]\n") == "ok");
}

TEST_CASE("bounds: the wrong side of a condition is caught") {
  CHECK(checking("domain {[i]: 0 <= i < n}\nc[i] = 0.0 if i > 0 else a[i-1] {id=S}\n")
            .find("`a[i - 1]` reaches index -1 of axis 0, at S[i=0]") == 0);
  CHECK(checking("domain {[i]: 0 <= i < n}\nc[i] = 1.0 if a[i-1] > 0 and i > 0 else 0.0 {id=S}\n")
            .find("`a[i - 1]` reaches index -1") == 0);
  CHECK(checking("domain {[i]: 0 <= i < m}\nc[i] = 1.0 {id=S}\n") ==
        "`c[i]` reaches index 0 of axis 0, whose extent is n = 0, at S[i=0] for m = 1 "
        "[out-of-bounds]; if such parameters never occur, say so with `assume`");
}

TEST_CASE("bounds: what depends on data is not judged") {
  CHECK(completing(R"(
kernel spmv(n: int32, nnz: int32, start: int32[n+1], col: int32[nnz], val: float64[nnz], x: float64[n], y: float64[n])
domain {[i]: 0 <= i < n}
domain {[j]: lo <= j < hi}
<>lo = start[i]
<>hi = start[i+1]
y[i] = sum(j, val[j]*x[col[j]])
)") == "ok");
}

TEST_CASE("domains: empty ones have no instances, contradictions and unbounded ones are refused") {
  CHECK(checking("domain {[i]: 5 <= i < 3}\nc[i] = 1.0\n") == "ok");
  CHECK(checking("domain {[i]: 5 <= i < 3}\nc[i - 100] = 1.0\n") == "ok");
  CHECK(checking("domain {[i]: 0 <= i < n and i >= 10}\nassume n <= 5\nc[i] = 1.0\n") == "ok");
  Kernel none = parsed(kHead + "domain {[i]: 0 <= i < n}\nc[i] = 1.0\n");
  none.assumptions = parse_assumption("n >= 1 and n <= 0");
  const std::string said = failure([&] { complete(none); });
  CHECK(said.find("the assumptions contradict each other") == 0);
  CHECK(said.find("[empty-domain]") != std::string::npos);
  CHECK(checking("domain {[i]: 0 <= i}\nc[0] = 1.0 {inames=i}\n")
            .find("iname `i` has no upper bound in") == 0);
  // A stride is not an end.
  CHECK(checking("domain {[i]: 0 <= i and i mod 2 = 0}\nc[0] = 1.0 {inames=i}\n")
            .find("iname `i` has no upper bound in") == 0);
}

TEST_CASE("writes: parameters and scalar arguments stay as they are") {
  const auto writing = [](const std::string& name) {
    Kernel k = parsed(
        "kernel f(n: int32, s: float64, c: float64[n])\ndomain {[i]: 0 <= i < n}\nc[i] = s "
        "{id=S}\n");
    k.instructions[0] = edit(k.instructions[0], [&](Instruction& i) { i.lhs = {var(name)}; });
    return failure([&] { check_kernel(complete(k)); });
  };
  CHECK(writing("n") == "`S` writes `n`, which is a parameter of a loop's bounds [writes-input]");
  CHECK(writing("s") == "`S` writes `s`, which is a scalar argument [writes-input]");
  CHECK(writing("i") == "`i` is assigned but is not an argument or temporary [unknown-name]");
}

TEST_CASE("undefined reads: before every write, or without one") {
  CHECK(checking("domain {[i]: 0 <= i < n}\n<>t = 0.0 {id=T}\nc[i] = t {dep=T}\n") == "ok");
  CHECK(checking("domain {[i]: 0 <= i < n}\ndomain {[j]: 0 <= j < n}\n"
                 "c[i] = t {id=S, dep=*, inames=i}\n<>t = a[j] {id=T}\n") ==
        "`S` reads the temporary `t` before anything is written to it [undefined-read]; move `T` "
        "before `S`, or add `dep=T`");
  // A read that no iteration makes.
  CHECK(checking("domain {[i]: n <= i < n}\ndomain {[j]: 0 <= j < n}\n"
                 "c[i] = t {id=S, dep=*, inames=i}\n<>t = a[j] {id=T}\n") == "ok");
  // A write that no iteration makes may be anywhere, where nobody knows whether the read is made.
  CHECK(checking("domain {[i]: 0 <= i < n}\ndomain {[j]: n <= j < n}\nif a[i] > 0\n"
                 "  c[i] = t {id=S, dep=*}\nend\n<>t = a[j] {id=T, dep=S}\n") == "ok");
  CHECK(completing("kernel f(n: int32, c: float64[n])\ndomain {[i]: 0 <= i < n}\n"
                   "<float64>t = t + 1 {id=S, dep=*, inames=}\nc[i] = t\n")
            .find("`S` reads the temporary `t` before anything is written to it") == 0);
}

TEST_CASE("undefined reads: the first iteration of a shared loop") {
  const std::string carried = "domain {[i]: 0 <= i < n}\n";
  CHECK(checking(carried + "c[i] = t {id=S, dep=*}\n<>t = a[i] {id=T, dep=S}\n") ==
        "`S[i=0]` reads the temporary `t` before anything is written to it [undefined-read]; move "
        "`T` "
        "before `S`, or add `dep=T`");
  // The previous iteration has written.
  CHECK(checking(carried + "if i > 0\n  c[i] = t {id=S, dep=*}\nend\n<>t = a[i] {id=T, dep=S}\n") ==
        "ok");
  // Not decidable.
  CHECK(checking(carried +
                 "if a[i] > 0\n  c[i] = t {id=S, dep=*}\nend\n<>t = a[i] {id=T, dep=S}\n") == "ok");
}

TEST_CASE("undefined reads: elements that nothing writes") {
  CHECK(completing("kernel f(n: int32, c: float64[n])\ndomain {[i,j]: 0 <= i < n and 0 <= j < n}\n"
                   "assume n >= 1\n<>t[2*i] = 1.0 {id=T}\nc[j] = t[j] {id=S, dep=T}\n") ==
        "`S` reads `t[1]` through `t[j]`, which nothing writes for n = 2 [undefined-read]");
  CHECK(completing("kernel f(n: int32, c: float64[n])\ndomain {[i,j]: 0 <= i < n and 0 <= j < n}\n"
                   "assume n >= 1\n<>t[2*i] = 1.0 {id=T}\nc[j] = t[2*j] {id=S, dep=T}\n") == "ok");
  CHECK(completing("kernel f(n: int32, c: float64[n])\ndomain {[i,j]: 0 <= i < n and 0 <= j < n}\n"
                   "assume n >= 1\n<>t[2*i] = 1.0 {id=T}\nc[j] = t[j] if j % 2 == 0 else 0.0 "
                   "{id=S, dep=T}\n") == "ok");
}

TEST_CASE("intents: declared and found") {
  const Kernel k = complete(parsed(R"(
kernel f(n: int32, a: float64[n], b: float64[n], c: float64[n])
domain {[i]: 0 <= i < n}
b[i] = a[i]
c[i] = c[i] + a[i]
)"));
  CHECK(intents(k) == std::vector<Intent>{Intent::In, Intent::In, Intent::Out, Intent::InOut});
  CHECK(
      completing(
          "kernel f(n: int32, a: float64[n] in)\ndomain {[i]: 0 <= i < n}\na[i] = 1.0 {id=S}\n") ==
      "`a` is declared `in`, but `S` writes it [wrong-intent]");
  CHECK(completing("kernel f(n: int32, a: float64[n] out, b: float64[n])\ndomain {[i]: 0 <= i < "
                   "n}\nb[i] = a[i]\n") ==
        "`a` is declared `out`, but nothing writes it [wrong-intent]");
}

TEST_CASE("sizes: more bytes than 64 bits count") {
  CHECK(completing("kernel f(a: float64[4294967296, 4294967296])\ndomain {[i]: 0 <= i < 4}\na[i, "
                   "0] = 1.0\n") ==
        "`a` of shape (4294967296, 4294967296) has more bytes than 64 bits can count "
        "[size-overflow]");
}

TEST_CASE("sizes: inames and bounds beyond the index type") {
  const auto domain = [](const std::string& d, const std::string& more = "") {
    return completing("kernel f(n: int32, a: float64[8])\n" + more + "domain " + d +
                      "\na[0] = 1.0 {inames=+i}\n");
  };
  CHECK(domain("{[i]: 0 <= i < 4900000000}") ==
        "iname `i` reaches 4899999999: a loop over it leaves the index type int32 [size-overflow]; "
        "declare `index_type int64`");
  CHECK(domain("{[i]: 0 <= i < 4900000000}", "index_type int64\n") == "ok");
  CHECK(
      domain("{[i]: -2147483649 <= i < 0}") ==
      "iname `i` reaches -2147483649: a loop over it leaves the index type int32 [size-overflow]; "
      "declare `index_type int64`");
  CHECK(domain("{[i]: -2147483648 <= i < 2147483647}") == "ok");
  CHECK(domain("{[i]: 0 <= i <= 2147483647}") ==  // the loop ends at the next
        "iname `i` reaches 2147483647: a loop over it leaves the index type int32 [size-overflow]; "
        "declare `index_type int64`");
  // Each constraint is small, and their product is not.
  CHECK(domain("{[i, j]: 0 <= j < 100000 and i = 100000*j}") ==
        "iname `i` reaches 9999900000: a loop over it leaves the index type int32 [size-overflow]; "
        "declare `index_type int64`");
  CHECK(domain("{[j]: 0 <= j < 100000}\ndomain {[i]: 0 <= i < 100000*j}") ==
        "iname `i` reaches 9999899999: a loop over it leaves the index type int32 [size-overflow]; "
        "declare `index_type int64`");
  CHECK(domain("{[i]: 0 <= i < 3*n}") == "ok");  // known when the kernel runs
}

TEST_CASE("ranges: bounds of several parts and with quotients are judged by intervals") {
  const auto text = [](int steps) {
    std::string parts;
    for (int c = 0; c < 6; ++c)
      parts += fmt::format("{}(o = {} and {}*floor(i/7) <= j <= {}*floor(i/3))", c ? " or " : "", c,
                           c, steps + c);
    return "kernel f(a: float64[4])\ndomain {[o, i]: 0 <= o < 6 and 0 <= i < 1000000}\n"
           "domain {[j]: " +
           parts + "}\na[0] = 1.0  {inames=o:i:j}\n";
  };
  const Kernel k = parsed(text(10));
  {
    const IslBudget budget(8'000);
    CHECK(failure([&] { complete(k); }) == "ok");
  }
  CHECK(completing(text(10000)) ==
        "iname `j` reaches 3334996665: a loop over it leaves the index type int32 "
        "[size-overflow]; declare `index_type int64`");
}

TEST_CASE("check: an iname has a value in its loop alone") {
  const std::string head =
      "kernel f(n: int32, a: float64[n], c: float64[n])\ndomain {[i]: 0 <= i < n}\n"
      "domain {[k]: 0 <= k < n}\n";
  CHECK(
      completing(head + "c[i] = 2.0*k {id=S, inames=i}\n") ==
      "`S` reads the iname `k`, but is in no loop over it [outside-loop]; `inames=i:k` has all of "
      "its loops");
  CHECK(completing(head + "c[i] = a[k] {id=S, inames=i}\n").find("`S` reads the iname `k`") == 0);
  CHECK(completing(head + "c[k] = 1.0 {id=S, inames=i}\n").find("`S` reads the iname `k`") == 0);
  CHECK(completing(head + "c[i] = 1.0 {id=S, inames=i, if=k > 2}\n").find("`S` reads the") == 0);
  CHECK(completing(head + "f(x) := a[x] + a[k]\nc[i] = f(i) {id=S, inames=i}\n")
            .find("`S` reads the iname `k`") == 0);
  CHECK(completing(head + "c[i] = sum(k, a[k]) + a[k] {id=S, inames=i}\n")
            .find("`S` reads the iname `k`") == 0);
  CHECK(completing(head + "c[i] = sum(k, a[k]) {id=S, inames=i}\n") == "ok");
}

TEST_CASE("undefined reads: an element that the same loop writes later") {
  const auto said = [](const std::string& body) {
    return failure([&] {
      check_defined(complete(parsed(kHead + "domain {[i]: 0 <= i < n}\nassume n >= 1\n" + body)));
    });
  };
  const std::string c = "temp t: float64[n]\nt[i] = a[i] {id=W}\n";
  const std::string what =
      " before anything is written to it for n = 2 [undefined-read]; `dup=i` in the braces after "
      "a statement gives it a loop of its own, which comes after that of `W`";
  CHECK(said(c + "c[i] = t[n - 1 - i] {id=S}\n") == "S[i=0] reads `t[1]`" + what);
  CHECK(said(c + "c[0] = sum(i, t[n - 1 - i]) {id=S}\n") == "S_update[i=0] reads `t[1]`" + what);
  CHECK(said(c + "c[i] = t[i + 1] {id=S, if=i + 1 < n}\n") == "S[i=0] reads `t[1]`" + what);
  for (const char* const fine :
       {"c[i] = t[n - 1 - i] {dup=i}\n", "c[0] = sum(i, t[n - 1 - i]) {dup=i}\n",
        "c[i] = t[i - 1] {if=i > 0}\n", "c[i] = t[i // 2]\n", "c[i] = t[i % 3] {if=i > 3}\n",
        "c[i] = t[n - 1 - i] if 2*i >= n else 0\n", "c[i] = t[n - 1 - i] {if=a[i] > 0}\n"})
    CHECK_MESSAGE(said(c + fine) == "ok", std::string(fine));
  CHECK(said("temp t: float64[n]\nt[0] = 1.0 {if=n > 0}\nt[i] = t[i - 1] + a[i] {if=i > 0}\n"
             "c[i] = t[i]\n") == "ok");
}
