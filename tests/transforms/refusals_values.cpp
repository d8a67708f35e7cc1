#include "core/infer/infer.h"
#include "core/order/check_kernel.h"
#include "loop_kit.h"

/// Requests after which a use would see another value, each with its message, and next to each the
/// nearest request that is fine. Then kernels that have no meaning to keep.

using namespace moonloop;

namespace {

Kernel kernel_of_line(const std::string& domain, const std::string& body,
                      const std::string& args = "") {
  return parsed("kernel f" + args + "\ndomain {[i]: " + domain + "}\n" + body + "\n");
}
Kernel prefetch(const Kernel& k, const std::string& what, const std::string& sweep) {
  return apply(k, "add_prefetch", {text(what), text(sweep)}, {{"fetch_bounding_box", flag(true)}});
}
std::string completed(const std::string& kernel) {
  return message([&] { complete(parsed(kernel)); });
}

}  // namespace

// ---- Stale values -----------------------------------------------------------------------------

TEST_CASE("refused: a prefetch of what the loop writes") {
  CHECK(message([] {
          prefetch(kernel_of_line("0 <= i < 16", "a[i+1] = a[i] + 1 {id=w}"), "a", "i");
        }) ==
        "w[i=0] writes a[1], which a_fetch_rule[a_dim_0=1] reads; w[i=0] must run before "
        "a_fetch_rule[a_dim_0=1], and with `a_fetch_rule` it does not");
  CHECK(message([] {
          prefetch(kernel_of_line("0 <= i < 16", "c[i+1] = a[i] + 1 {id=w}"), "a", "i");
        }) == "legal");
}

TEST_CASE("refused: a prefetch of all time steps, not of one") {
  const Kernel k = parsed(
      "kernel f(u: float64[9, 18])\ndomain {[t, i]: 1 <= t < 9 and 1 <= i < 17}\n"
      "u[t, i] = u[t-1, i-1] + u[t-1, i+1] {id=w}\n");
  CHECK(message([&] { prefetch(k, "u", "t, i"); }) ==
        "w[t=1, i=1] writes u[1, 1], which u_fetch_rule[u_dim_0=1, u_dim_1=1] reads; w[t=1, "
        "i=1] must run before u_fetch_rule[u_dim_0=1, u_dim_1=1], and with `u_fetch_rule` it "
        "does not");
  CHECK(message([&] { prefetch(k, "u", "i"); }) == "legal");
}

TEST_CASE("refused: a prefetch that an earlier statement of the nest would overtake") {
  const char* head =
      "kernel f(a: float64[16], b: float64[16], c: float64[16])\ndomain {[i]: 0 <= i < 16}\n"
      "domain {[j]: 0 <= j < 16}\n";
  const auto tried = [&](const std::string& body) {
    return message([&] { prefetch(parsed(head + body), "a", "j"); });
  };
  CHECK(tried("for i\n  a[i] = b[i] {id=x}\n  for j\n    c[j] = a[j] + i {id=y, dep=x}\n  "
              "end\nend\n") == "legal");
  CHECK(tried("for i\n  for j\n    a[j] = c[j] + a[15 - j] {id=y}\n  end\nend\n") ==
        "y[i=0, j=0] writes a[0], which a_fetch_rule[a_dim_0=0] reads; y[i=0, j=0] must run "
        "before a_fetch_rule[a_dim_0=0], and with `a_fetch_rule` it does not");
}

TEST_CASE("refused: a rule computed ahead of what it reads") {
  const auto tried = [](const std::string& body) {
    return message([&] {
      apply(kernel_of_line("0 <= i < 16", "f(x) := a[x] + a[x+1]\n" + body), "precompute",
            {text("f"), text("i")});
    });
  };
  CHECK(tried("a[i+2] = f(i) {id=w}") ==
        "w[i=0] writes a[2], which f[x=2] reads; w[i=0] must run before f[x=2], and with `f` "
        "it does not");
  CHECK(tried("c[i+2] = f(i) {id=w}") == "legal");
}

TEST_CASE("refused: a definition put where its operands have changed") {
  const char* head =
      "kernel f(n: int32, a: float64[n], c: float64[n])\ndomain {[i]: 0 <= i < n}\n"
      "domain {[j]: 0 <= j < n}\ndomain {[k]: 0 <= k < n}\n<>t[i] = 2*a[i] {id=x}\n";
  const auto tried = [&](const std::string& body) {
    return message([&] { apply(parsed(head + body), "assignment_to_subst", {text("t")}); });
  };
  CHECK(tried("a[j] = 0 {id=z, dep=x}\nc[k] = t[k] {id=y, dep=z}\n") ==
        "z[j=0] writes a[0], which `x` has read for y[k=0] (n=1)");
  CHECK(tried("c[k] = t[k] {id=y, dep=x}\na[j] = 0 {id=z, dep=y}\n") == "legal");
}

TEST_CASE("refused: a definition in place of another one") {
  const char* head =
      "kernel f(n: int32, a: float64[n], c: float64[n])\ndomain {[i]: 0 <= i < n}\n"
      "domain {[k]: 0 <= k < n}\n<>t[i] = 2*a[i] {id=x}\n";
  const auto tried = [&](const std::string& body) {
    return message([&] { apply(parsed(head + body), "assignment_to_subst", {text("t")}); });
  };
  CHECK(tried("t[i] = 3*a[i] {id=z, dep=x, if=i > 4}\nc[k] = t[k] {id=y, dep=x:z}\n") ==
        "y[k=0] reads t[0], which `z` does not write (n=1)");
  CHECK(tried("c[k] = t[k] {id=y, dep=x}\n") == "legal");
}

TEST_CASE("refused: a buffer that others read past") {
  const char* head =
      "kernel f(a: float64[16], b: float64[9, 16], c: float64[9, 16])\n"
      "domain {[i, j]: 0 <= i < 9 and 0 <= j < 16}\n";
  const auto tried = [&](const std::string& body, const std::string& within) {
    return message([&] {
      apply(parsed(head + body), "buffer_array", {text("a"), text("i, j")},
            {{"within", text(within)}});
    });
  };
  CHECK(tried("a[j] = a[j] + b[i, j] {id=w}\nc[i, j] = a[15-j] {id=r}\n", "id:w") ==
        "store_a[a_store_0=0] writes a[0], which r[i=0, j=15] reads; store_a[a_store_0=0] must "
        "run before r[i=0, j=15], and with `store_a` it does not");
  CHECK(tried("a[j] = a[j] + b[i, j] {id=w}\nc[i, j] = a[15-j] {id=r}\n", "id:w or id:r") ==
        "legal");
  CHECK(tried("a[j] = a[j] + b[i, j] {id=w}\nc[i, j] = b[i, 15-j] {id=r}\n", "id:w") == "legal");
}

TEST_CASE("refused: a buffer of one row that others write") {
  const char* head =
      "kernel f(a: float64[16, 16], b: float64[16])\ndomain {[i, j]: 0 <= i < 15 and 0 <= j < "
      "16}\n";
  const auto tried = [&](const std::string& body) {
    return message([&] {
      apply(parsed(head + body), "buffer_array", {text("a"), text("j")},
            {{"within", text("id:w")}});
    });
  };
  CHECK(tried("a[i, j] = a[i, j] + b[j] {id=w}\na[i, 15-j] = b[j] {id=z}\n") ==
        "z[i=0, j=0] writes a[0, 15], which init_a[i=0, a_init_1=15] reads; z[i=0, j=0] must "
        "run before init_a[i=0, a_init_1=15], and with `init_a` it does not");
  CHECK(tried("a[i, j] = a[i, j] + b[j] {id=w}\na[i+1, 15-j] = b[j] {id=z}\n") == "legal");
}

TEST_CASE("refused: an instruction whose value is needed") {
  const Kernel k =
      kernel_of_line("0 <= i < n", "<>t = a[i] {id=x}\nb[i] = t {id=y}\nc[i] = 1.0 {id=z}");
  CHECK(message([&] { apply(k, "remove_instructions", {text("x")}); }) ==
        "`y` reads `t`, which `x` writes; remove the reader too, or pass `unsafe = true`");
  CHECK(message([&] { apply(k, "remove_instructions", {text("z")}); }) == "legal");
}

// ---- Kernels without a meaning ----------------------------------------------------------------

TEST_CASE("refused: a cycle of explicit dependencies") {
  const char* head = "kernel f\ndomain {[i]: 0 <= i < n}\n";
  CHECK(message([&] {
          nest(parsed(std::string(head) + "a[i] = 1.0 {id=x, dep=y}\nb[i] = 2.0 {id=y, dep=x}\n"));
        }) == "instructions depend on each other: `x` before `y` before `x`");
  CHECK(message([&] {
          nest(parsed(std::string(head) + "a[i] = 1.0 {id=x, dep=y}\nb[i] = 2.0 {id=y}\n"));
        }) == "legal");
}

TEST_CASE("refused: a dependency that closes a cycle") {
  const Kernel k = kernel_of_line(
      "0 <= i < n", "a[i] = 1.0 {id=x}\nb[i] = a[i] {id=y, dep=x}\nc[i] = 1.0 {id=z}");
  CHECK(message([&] {
          apply(k, "add_dependency", {text("id:x"), text("y")});
        }) == "instructions depend on each other: `x` before `y` before `x`");
  CHECK(message([&] { apply(k, "add_dependency", {text("id:x"), text("z")}); }) == "legal");
}

TEST_CASE("refused: a read of what nobody has written") {
  CHECK(completed("kernel f(c: float64[8])\ndomain {[i]: 0 <= i < 8}\n"
                  "c[i] = t {id=x, dep=*, inames=i}\n<float64>t = 1.0 {id=y, inames=, dep=x}\n") ==
        "`x` reads the temporary `t` before anything is written to it; move `y` before `x`, or "
        "add `dep=y`");
  CHECK(completed("kernel f(c: float64[8])\ndomain {[i]: 0 <= i < 8}\n"
                  "<float64>t = 1.0 {id=y, inames=}\nc[i] = t {id=x, dep=y, inames=i}\n") ==
        "legal");
}

TEST_CASE("refused: a bound that the kernel changes") {
  CHECK(
      completed(
          "kernel f(n: int32, a: float64[n])\ndomain {[i]: 0 <= i < n}\nn = n + 1 {id=x, inames=}\n"
          "a[i] = 1.0 {id=y}\n") ==
      "`n` bounds a loop or an array, and the kernel writes it; write to a temporary of another "
      "name");
  CHECK(completed("kernel f(n: int32, a: float64[n])\ndomain {[i]: 0 <= i < n}\n<int32>m = n + 1 "
                  "{id=x, inames=}\n"
                  "a[i] = m {id=y, dep=x}\n") == "legal");
}

TEST_CASE("refused: a subscript beyond the end") {
  const char* head = "kernel f(n: int32, a: float64[n], b: float64[n])\ndomain {[i]: 0 <= i < n}\n";
  CHECK(completed(std::string(head) + "b[i] = a[i+1] {id=w}\n") ==
        "`a[i + 1]` reaches index 1 of axis 0, whose extent is n = 1, at w[i=0]; if such "
        "parameters never occur, say so with `assume`");
  CHECK(completed(std::string(head) + "b[i] = a[i-1] {id=w}\n") ==
        "`a[i - 1]` reaches index -1 of axis 0, at w[i=0] for n = 1");
  CHECK(completed(std::string(head) + "b[i] = a[i+1] {id=w, if=i < n - 1}\n") == "legal");
  CHECK(completed(std::string(head) + "b[i] = a[n-1-i] {id=w}\n") == "legal");
}

TEST_CASE("values: a write of a field leaves the other fields of a record") {
  const auto carries = [](const std::string& first, const std::string& more = "") {
    return "record pair(x: float64, y: float64)\n"
           "kernel f(n: int32, r: in pair[n], s: out pair[n])\ndomain {[i]: 0 <= i < n}\n"
           "temp w: pair[2]\nw[0].x = r[i].x  {id=x, inames=i" +
           first + "}\nw[0].y = r[i].y  {id=y, inames=i}\n" + more +
           "s[i] = w[0]  {id=use, inames=i}\n";
  };
  const auto in_parallel = [](const Kernel& k, const char* tag = "par") {
    return code_of([&] { apply(k, "tag_inames", {Value{ValueDict{{"i", text(tag)}}}}); });
  };
  const auto reversed = [](const Kernel& k) {
    return code_of([&] { apply(k, "map_domain", {text("{ [i] -> [u] : u = -i }")}); });
  };
  const Kernel whole = parsed(carries(""));
  CHECK(in_parallel(whole) == "legal");
  CHECK(in_parallel(whole, "l.0") == "legal");
  CHECK(reversed(whole) == "legal");
  // The first iteration sets a field for all.
  const Kernel once = parsed(carries(", if=i == 0"));
  CHECK(in_parallel(once) == "races");
  CHECK(in_parallel(once, "l.0") != "legal");
  CHECK(reversed(once) == "breaks-order");
  CHECK(code_of([&] { apply(once, "privatize_temporaries_with_inames", {text("i")}); }) ==
        "carries-value");
  // All of it is written after all, before it is read.
  const Kernel again = parsed(carries(", if=i == 0", "w[0] = r[i]  {id=all, inames=i}\n"));
  CHECK(in_parallel(again) == "legal");
}

TEST_CASE("values: the terms of a segmented reduction stay in order") {
  const Kernel k = parsed(
      "kernel f(n: int32, x: in float64[n, n], c: in int32[n], y: out float64[n], q: out bool[n])\n"
      "domain {[i]: 0 <= i < n}\ndomain {[j]: 0 <= j < n}\n"
      "y[i], q[i] = reduce(segmented(sum), j, x[i, j], c[j] % 3 == 0)\n");
  CHECK(message([&] { apply(k, "map_domain", {text("{ [j] -> [u] : u = -j }")}); }) ==
        "insn_update[i=0, u=-1] would run before insn_update[i=0, u=0], but both update the same "
        "segmented(sum) (n=2); the order of a segmented reduction matters, so that one after the "
        "other has to add to it: work-items of one axis (`l.N`) can have neighbouring terms each, "
        "as the outer "
        "loop of a split_iname or chunk_iname gives them; loops around it can be parallel");
  const Kernel split = apply(k, "split_iname", {text("j"), number(2)});
  CHECK(code_of([&] { apply(split, "prioritize_loops", {text("j_inner, j_outer")}); }) ==
        "breaks-order");
  CHECK(code_of([&] { apply(split, "prioritize_loops", {text("j_outer, j_inner")}); }) == "legal");
  CHECK(code_of([&] { apply(k, "map_domain", {text("{ [i] -> [u] : u = -i }")}); }) == "legal");
  CHECK(code_of([&] { apply(k, "tag_inames", {text("i:par")}); }) == "legal");
}
