#include "core/order/check_kernel.h"
#include "tests/text/helpers.h"

using namespace moonloop;
using namespace moonloop::testing;

namespace {

constexpr const char* kHead =
    "kernel k(n: int32, m: int32, a: inout float64[n], b: inout float64[n], v: inout float64[m], "
    "c: inout float64[n, m], q: inout float64[n, n], p: int64[n], s: out float64)\n"
    "assume n >= 3 and m >= 3\n";

/// The loops and statements that `lines` become, a line each.
std::string shown(const std::string& lines) {
  const Kernel k = parsed(kHead + lines);
  check_round_trip(k);
  std::string out;
  for (const Domain& d : k.domains) {
    std::string text = str(d.set);
    out += text.substr(text.find('{')) + "\n";
  }
  for (const InsnPtr& i : k.instructions) out += text_of(*i) + "\n";
  return out;
}

/// The statements alone.
std::string statements(const std::string& lines) {
  const std::string all = shown(lines);
  std::string out;
  for (std::size_t at = 0; at < all.size(); at = all.find('\n', at) + 1)
    if (all[at] != '{') out += all.substr(at, all.find('\n', at) + 1 - at);
  return out;
}

std::string error_of(const std::string& line) {
  const std::string all = errors(kHead + line);
  return all.starts_with("3:") ? all.substr(2) : all;
}

/// The error that completing the kernel gives.
std::string error_of_types(const std::string& lines) {
  try {
    complete(parsed(kHead + lines));
  } catch (const Error& e) { return e.what(); }
  return "no error";
}

}  // namespace

TEST_CASE("array statements: slices become loops over the subscripts that are assigned") {
  CHECK(shown("b[1:n-1] = 0.5*(a[:n-2] + a[2:n])") ==
        "{ [i0] : 0 < i0 <= -2 + n }\n"
        "b[i0] = 0.5*(a[i0 - 1] + a[i0 + 1])\n");
  CHECK(shown("b[1:-1] = a[:-2] + a[2:]") ==
        "{ [i0] : 0 < i0 <= -2 + n }\nb[i0] = a[i0 - 1] + a[i0 + 1]\n");
  CHECK(shown("b[::2] = a[::-2]") == "{ [i0] : i0 >= 0 and 2i0 < n }\nb[2*i0] = a[n - 2*i0 - 1]\n");
  CHECK(shown("c[1, :] = v") == "{ [i0] : 0 <= i0 < m }\nc[1, i0] = v[i0]\n");
  CHECK(statements("q[1] = q[0]") == "q[1, i0] = q[0, i0]\n");
  CHECK(shown("c[1] = 2*v") == "{ [i0] : 0 <= i0 < m }\nc[1, i0] = 2*v[i0]\n");
}

TEST_CASE("array statements: whole arrays, spread as NumPy does it") {
  CHECK(shown("c = 0") == "{ [i0] : 0 <= i0 < n }\n{ [i1] : 0 <= i1 < m }\nc[i0, i1] = 0\n");
  CHECK(statements("c = a[:, None]*v + 1") == "c[i0, i1] = a[i0]*v[i1] + 1\n");
  CHECK(statements("q = q.T + a") == statements("q = q[:, :].T + a"));
  CHECK(statements("b = where(a > 0, sqrt(a), -a)") ==
        "b[i0] = sqrt(a[i0]) if a[i0] > 0 else -a[i0]\n");
  CHECK(statements("b = min(a, 3) if n > 4 else cast(float64, p)") ==
        "b[i0] = min(a[i0], 3) if n > 4 else cast(float64, p[i0])\n");
  CHECK(statements("f(x) := x*x\ng(w, x) := w[0]*f(x)\nb = f(a) + g(v, a)") ==
        "b[i0] = f(a[i0]) + g(v, a[i0])\n");
  CHECK(statements("b = a[p]") == "b[i0] = a[p[i0]]\n");
  CHECK(statements("b[p] = a") == "b[p[i0]] = a[i0]\n");
}

TEST_CASE("array statements: what is assigned as a whole gets the value's shape") {
  const Kernel k = parsed(std::string(kHead) + "<> t = c[:, 1:]\nnew = t + 1\nnew = new*2");
  CHECK(k.find_temporary("t"));
  REQUIRE(k.find_arg("new"));
  CHECK(to_string(*k.find_arg("new")->shape) == "n, m - 1");
  CHECK(text_of(*k.instructions.back()) == "new[i0, i1] = new[i0, i1]*2");
}

TEST_CASE("array statements: reductions along axes") {
  CHECK(shown("s = sum(a*b)") == "{ [r] : 0 <= r < n }\ns = sum(r, a[r]*b[r])\n");
  CHECK(statements("s = max(c)") == "s = max((r, r_0), c[r, r_0])\n");
  CHECK(statements("b = sum(c, axis=1)") == "b[i0] = sum(r, c[i0, r])\n");
  CHECK(statements("v = min(c, axis=-2)") == "v[i0] = reduce(min, r, c[r, i0])\n");
  CHECK(statements("b = sum(c, axis=(1))") == statements("b = sum(c, axis=1)"));
  CHECK(statements("s = product(c, axis=(0, 1))") == statements("s = product(c)"));
  CHECK(statements("for h\n  b[h] = sum(c[h, :]*v)\nend\ndomain {[h]: 0 <= h < n}") ==
        "b[h] = sum(r, c[h, r]*v[r])\n");
  CHECK(statements("domain {[h]: 0 <= h < m}\nb = sum(h, c[:, h]*v[h])") ==
        "b[i0] = sum(h, c[i0, h]*v[h])\n");
}

TEST_CASE("array statements: a reduction that a loop would repeat is computed before it") {
  CHECK(statements("b = a / sum(a)") == "b_part = sum(r, a[r])\nb[i0] = a[i0] / b_part\n");
  // Rows are computed in the loop over rows.
  CHECK(statements("c = exp(c - max(c, axis=1, keepdims=True))") ==
        "c_part[i0] = reduce(max, r, c[i0, r])\nc[i0, i1] = exp(c[i0, i1] - c_part[i0])\n");
  CHECK(statements("s = sum(a*sum(c, axis=1))") == "s = sum(r, a[r]*sum(r_0, c[r, r_0]))\n");
  // Before the statement, the inames of its reductions have no value.
  CHECK(statements("domain {[h]: 0 <= h < n}\nv = sum(h, c[h, :] - max(c[h, :], axis=0, "
                   "keepdims=True))") == "v[i0] = sum(h, c[h, i0] - reduce(max, r, c[h, r]))\n");
  CHECK(statements("domain {[h]: 0 <= h < n}\nv = sum(h, c[h, :] - max(b))") ==
        "v_part = reduce(max, r, b[r])\nv[i0] = sum(h, c[h, i0] - v_part)\n");
  CHECK(statements("q = (q @ q) @ q") ==
        "q_part[i0, i1] = sum(r, q[i0, r]*q[r, i1])\n"
        "q_new[i0, i1_0] = sum(r_0, q_part[i0, r_0]*q[r_0, i1_0])\n"
        "q[i0_0, i1_1] = q_new[i0_0, i1_1]\n");
}

TEST_CASE("array statements: products of matrices and einsum") {
  CHECK(statements("b = q @ a") == "b[i0] = sum(r, q[i0, r]*a[r])\n");
  CHECK(statements("s = a @ b") == "s = sum(r, a[r]*b[r])\n");
  CHECK(statements("b = 2*a @ q.T") == "b[i0] = sum(r, 2*a[r]*q[i0, r])\n");
  CHECK(statements("b = einsum(\"ij,j\", q, a)") == "b[i0] = sum(r, q[i0, r]*a[r])\n");
  CHECK(statements("s = einsum(\"ii->\", q)") == "s = sum(r, q[r, r])\n");
  CHECK(statements("q = einsum(\"i, j -> ji\", a, b)") == "q[i0, i1] = a[i1]*b[i0]\n");
  // The vector first: n*n products twice instead of n*n*n.
  CHECK(statements("b = einsum(\"ij,jk,k->i\", q, q, a)") ==
        "b_part[i0] = sum(r, q[i0, r]*a[r])\nb[i0_0] = sum(r_0, q[i0_0, r_0]*b_part[r_0])\n");
  // Eleven arrays are contracted a cheapest pair at a time.
  std::string labels = "ab", arrays = "q";
  for (char l = 'b'; l < 'k'; ++l)
    labels += fmt::format(",{}{}", l, static_cast<char>(l + 1)), arrays += ", q";
  const Kernel long_product =
      parsed(fmt::format("{}b = einsum(\"{},k->a\", {}, a)", kHead, labels, arrays));
  for (const InsnPtr& i : long_product.instructions) CHECK(i->inames.size() <= 2);
}

TEST_CASE(
    "array statements: values go through a temporary only where loops would read them again") {
  CHECK(statements("a[:-1] = a[1:]") == "a[i0] = a[i0 + 1]\n");
  CHECK(statements("a[1:] = a[:-1]") == "a[n - i0] = a[n - i0 - 1]\n");  // backwards
  CHECK(statements("a = a*a[:]") == "a[i0] = a[i0]*a[i0]\n");
  CHECK(statements("a[1:-1] = a[:-2] + a[2:]") ==
        "a_new[i0 - 1] = a[i0 - 1] + a[i0 + 1]\na[i0_0] = a_new[i0_0 - 1]\n");
  CHECK(statements("a = a[::-1]") == "a_new[i0] = a[n - i0 - 1]\na[i0_0] = a_new[i0_0]\n");
  CHECK(statements("a[::2] = a[1::2]\nassume n mod 2 = 0") == "a[2*i0] = a[2*i0 + 1]\n");
  CHECK(statements("q[1:, :] = q[:-1, :]") == "q[n - i0, i1] = q[n - i0 - 1, i1]\n");
  // Within each row alone.
  CHECK(statements("q[:, 1:-1] = q[:, :-2] + q[:, 2:]") ==
        "q_new[i0, i1 - 1] = q[i0, i1 - 1] + q[i0, i1 + 1]\n"
        "q[i0, i1_0] = q_new[i0, i1_0 - 1]\n");
  CHECK(statements("a[p] = a") == "a_new[i0] = a[i0]\na[p[i0_0]] = a_new[i0_0]\n");
  CHECK(statements("f(i) := a[i] + i\na[1:] = f(p[:-1])") ==
        "a_new[i0 - 1] = f(p[i0 - 1])\na[i0_0] = a_new[i0_0 - 1]\n");
}

TEST_CASE("array statements: loops are shared where each element is computed before it is read") {
  CHECK(statements("b = 2*a\na = b + 1") == "b[i0] = 2*a[i0]\na[i0] = b[i0] + 1\n");
  CHECK(statements("b[1:] = a[1:]\na[1:] = b[:-1]") ==
        "b[i0] = a[i0]\na[i0] = b[i0 - 1]\n");  // one iteration later
  CHECK(statements("b[:-1] = a[:-1]\na[:-1] = b[1:]") == "b[i0] = a[i0]\na[i0_0] = b[i0_0 + 1]\n");
  CHECK(statements("b = 0\nv = 0") == "b[i0] = 0\nv[i0_0] = 0\n");
  CHECK(statements("b = 0\nc = b[:, None]\nb = b + sum(c, axis=1)") ==
        "b[i0] = 0\nc[i0, i1] = b[i0]\nb[i0] = b[i0] + sum(r, c[i0, r])\n");
  CHECK(statements("b = 1\ns = 2\na = s") == "b[i0] = 1\ns = 2\na[i0_0] = s\n");
  CHECK(statements("b = 1\nif n > 5\n  a = 2\nend") == "b[i0] = 1\na[i0_0] = 2\n");
}

TEST_CASE("array statements: loops of no block are shared with nobody") {
  const std::string loops = "domain {[h]: 0 <= h < n - 1}\n";
  // Shared, `i0` would be around `h`, and each row would be computed from one half of the next.
  CHECK(statements(loops + "b = 1\nq[h + 1, :] = q[h, ::-1]") ==
        "b[i0] = 1\nq[h + 1, i0_0] = q[h, n - i0_0 - 1]\n");
  CHECK(statements(loops + "b = 1\n<> t = a[h]\nq[0, :] = t*q[1, :]") ==
        "b[i0] = 1\nt = a[h]\nq[0, i0_0] = t*q[1, i0_0]\n");
  CHECK(statements(loops + "<> t = a[h]\nb = 1\nq[0, :] = t*q[1, :]") ==
        "t = a[h]\nb[i0] = 1\nq[0, i0_0] = t*q[1, i0_0]\n");
  // The sum is over all `h`.
  CHECK(statements(loops + "b = sum(h, q[:, h])\nq = a[:, None]*a") ==
        "b[i0] = sum(h, q[i0, h])\nq[i0, i1] = a[i0]*a[i1]\n");
  CHECK(statements(loops + "b = sum(h, q[:, h])\nq = a[:, None]*q.T") ==
        "b[i0] = sum(h, q[i0, h])\nq_new[i0, i1] = a[i0]*q[i1, i0]\nq[i0_0, i1_0] = q_new[i0_0, "
        "i1_0]\n");
  CHECK(statements("for h\n  b = a[h]\n  a = b\nend\n" + loops) ==
        "b[i0] = a[h]\na[i0_0] = b[i0_0]\n");
}

TEST_CASE("array statements: lengths that isl cannot read are variables") {
  CHECK(shown("b[:p[0]] = 1") == "{ [i0] : 0 <= i0 < length }\nlength = p[0]\nb[i0] = 1\n");
  CHECK(statements("domain {[h]: 0 <= h < n}\nq[h, :h] = a[:h]") == "q[h, i0] = a[i0]\n");
}

TEST_CASE("array statements: options, blocks and names") {
  const Kernel k = parsed(std::string(kHead) +
                          "<> i0 = 3\nwith {tags=t}\n  if n > i0\n    a[1:-1] = a[:-2] + a[2:] "
                          "{id=smooth, inames=}\n  end\nend\nb = 1\n");
  const Instruction& store = insn(k, "smooth");
  CHECK(text_of(store) == "a[i0_1] = a_new[i0_1 - 1]");
  CHECK(joined(store.inames) == "i0_1");
  CHECK(joined(store.tags) == "t");
  CHECK(predicates(store) == predicates(insn(k, "insn_0")));
  CHECK(text_of(insn(k, "insn_0")) == "a_new[i0_0 - 1] = a[i0_0 - 1] + a[i0_0 + 1]");
  CHECK(k.find_temporary("a_new")->type == Type(Scalar::F64));
  CHECK(predicates(insn(k, "insn_1")).empty());
}

TEST_CASE("array statements: numbers below 0 count from the end") {
  CHECK(statements("b[1:] = a[-1]*a[:-1] + c[-2, -1]") ==
        "b[i0] = a[n - 1]*a[i0 - 1] + c[n - 2, m - 1]\n");
  CHECK(statements("b[-1] = sum(c[-1])") == "b[n - 1] = sum(r, c[n - 1, r])\n");
  CHECK(statements("s = a[-1] + b[-2]") == "s = a[n - 1] + b[n - 2]\n");
  CHECK(statements("a[-3] = 1") == "a[n - 3] = 1\n");
  CHECK(statements("f(x) := x + c[0, -1]\ns = f(2)") == "s = f(2)\n");
  CHECK(statements("<> t = a + 1\ns = t[-1]") == "t[i0] = a[i0] + 1\ns = t[n - 1]\n");
  CHECK(predicates(insn(parsed(std::string(kHead) + "if a[-1] > 0\n  s = 1 {id=x}\nend"), "x")) ==
        "a[n - 1] > 0");
  CHECK(text_of(insn(body("a[-1] = 1 {id=x}"), "x")) == "a[-1] = 1");  // of no known shape
  CHECK(statements("c[:, -2] = a") == "c[i0, m - 2] = a[i0]\n");
  CHECK(statements("v = (c + 1)[-1]") == "v[i0] = c[n - 1, i0] + 1\n");
}

TEST_CASE("array statements: parts of values") {
  CHECK(statements("b[1:] = (a + 2*b)[:-1]") == "b[n - i0] = a[n - i0 - 1] + 2*b[n - i0 - 1]\n");
  CHECK(statements("a = q.T[0]") == "a[i0] = q[i0, 0]\n");
  CHECK(statements("s = (c @ v)[1]") == "s = sum(r, c[1, r]*v[r])\n");
  CHECK(statements("a = sqrt(b)[::-1]") == "a[i0] = sqrt(b[n - i0 - 1])\n");
  CHECK(statements("c = (a[:, None] + b)[:, 0][:, None]*v") ==
        "c[i0, i1] = (a[i0] + b[0])*v[i1]\n");
  CHECK(statements("a = (b + 1)[p]") == "a[i0] = b[p[i0]] + 1\n");
  CHECK(statements("a = q[1:][0][:]") == "a[i0] = q[1, i0]\n");
}

TEST_CASE("array statements: places of extreme values") {
  CHECK(statements("s = argmin(a)") == "s_part_value, s_part = argmin(r, a[r], r)\ns = s_part\n");
  CHECK(statements("<> k = argmax(c)") ==
        "k_part_value, k_part = argmax((r, r_0), c[r, r_0], m*r + r_0)\nk = k_part\n");
  CHECK(statements("b = a + argmax(c, axis=-1)") ==
        "b_part_value[i0], b_part[i0] = argmax(r, c[i0, r], r)\nb[i0] = a[i0] + b_part[i0]\n");
}

TEST_CASE("array statements: errors") {
  CHECK(error_of("domain {[h]: 0 <= h < n}\nv = sum(h, c[h, :] - argmax(c[h, :]))") ==
        "4:22 unsupported: a place along an axis, in a reduction over the iname `h`, on which it "
        "depends");
  CHECK(error_of("b = v") ==
        "1 shape-mismatch: the lengths `n` and `m` of axis -1 may differ; `assume n = m` says that "
        "they are equal");
  CHECK(error_of("b[1:] = a") == "1 shape-mismatch: the lengths `n - 1` and `n` of axis -1 differ");
  CHECK(error_of("b[::2] = a[1::2]") ==
        "1 shape-mismatch: the lengths `(n + 1) // 2` and `n // 2` of axis -1 may differ; `assume "
        "(n) mod 2 = 0` says that they are equal");
  CHECK(statements("b[::2] = a[1::2]\nassume (n) mod 2 = 0") == "b[2*i0] = a[2*i0 + 1]\n");
  CHECK(
      error_of("b[:p[0]] = a[:p[1]]") ==
      "1 shape-mismatch: the lengths `p[0]` and `p[1]` of axis -1 may differ; no `assume` line can "
      "say that they are equal");
  CHECK(error_of("b = c") == "1 shape-mismatch: `c` has 2 axes, and `b` has 1");
  CHECK(error_of("s = a") == "1 shape-mismatch: `a` has 1 axis, and `s` has 0");
  CHECK(error_of("n = a") == "1 shape-mismatch: `n` is a scalar, and `a` has 1 axis");
  CHECK(error_of("b[1:2] = a[:2]*3") ==
        "1 shape-mismatch: axis 0 of `b[1:2]` has the length `1`, and `a[:2]*3` has `2`");
  CHECK(error_of("b[:] = w[1:] {id=x}") ==
        "10 unknown-shape: `w`, of which this is a slice, is not declared; declare the shape of "
        "`w`, or say where the slice begins and ends");
  CHECK(error_of("<> t[3] = 1\nb = t") ==
        "4:5 unknown-shape: the shape of `t`, which is used as a whole here, is not declared; "
        "declare it, or write `t[0:n]`");
  CHECK(error_of("b[::0] = 1") ==
        "5 bad-slice: the step of a slice is a number other than 0, not `0`");
  CHECK(error_of("b[::n] = 1") ==
        "5 bad-slice: the step of a slice is a number other than 0, not `n`");
  CHECK(error_of("b = sum(c, axis=2)") == "17 bad-axis: no axis 2 in a value of 2 axes");
  CHECK(error_of("b = sum(c, axis=n)") == "17 bad-axis: `axis=` takes numbers, found `n`");
  CHECK(error_of("b = sum(c, axes=1)") ==
        "12 unsupported: found the option `axes=`; a reduction of arrays has `axis=` and "
        "`keepdims=`");
  CHECK(error_of("b = sum(c, axis=(0, -2))") == "21 bad-axis: axis -2 is named twice");
  CHECK(error_of("b = sum(c, axis=1, keepdims=2)") == "20 bad-axis: `keepdims=` is True or False");
  CHECK(error_of("s = sum(s)") == "9 bad-axis: `s` is no array, of which `sum` could be taken");
  CHECK(error_of("b = 2 @ a") == "5 bad-axis: `2` is no array, as `@` needs");
  CHECK(error_of("b = sum(2*a, c)") ==
        "14 wrong-arg-count: `sum` takes one array; the axes are `axis=0` or `axis=(0, 1)`");
  CHECK(error_of("b = where(a, 1)") ==
        "5 wrong-arg-count: `where(condition, yes, no)` takes 3 arguments, got 2");
  CHECK(error_of("s = argmin(c, axis=(0, 1))") ==
        "5 bad-axis: `argmin` is taken over one axis, or over all without `axis=`");
  CHECK(error_of("s = argmax(n)") ==
        "12 bad-axis: `n` is no array, of which `argmax` could be taken");
  CHECK(error_of("b = foo(a)") == "5 unknown-function: no function or rule `foo`, of `a` here");
  CHECK(error_of("b = 2*squrt(a[:])") ==
        "7 unknown-function: no function or rule `squrt`, of `a[:]` here; did you mean `sqrt`?");
  CHECK(error_of("s = (n + 1)[2]") == "6 bad-axis: `n + 1` has 0 axes, and 1 subscript");
  CHECK(error_of("if (a + b)[0] > 1\n  s = 1\nend") == "no error");  // until types are found
  CHECK(error_of_types("if (a + b)[0] > 1\n  s = 1\nend") ==
        "only an array's name can be subscripted here, not `a + b`");
  CHECK(error_of("s = (a + b)[1, 2]") == "6 bad-axis: `a + b` has 1 axis, and 2 subscripts");
  CHECK(
      error_of("b[:] = w[-1]*a") ==
      "10 unknown-shape: `-1` counts from the end of axis 0 of `w`, whose length is not declared; "
      "declare the shape of `w`");
  CHECK(error_of("q = q[p, p]") ==
        "10 unsupported: two subscripts of `q` are arrays, this and `p`");
  CHECK(error_of("b[None] = a") ==
        "3 bad-assignee: `None` adds an axis, and `b[None]` is assigned to");
  CHECK(error_of("b = einsum(a)") ==
        "5 bad-einsum: `einsum` takes a text such as \"ij,jk->ik\", and the arrays");
  CHECK(error_of("b = einsum(\"i,j->i\", a)") == "12 bad-einsum: \"i,j->i\" is of 2 arrays, got 1");
  CHECK(error_of("b = einsum(\"i1->i\", c)") == "12 bad-einsum: `1` in \"i1->i\" is no letter");
  CHECK(error_of("b = einsum(\"i->j\", a)") ==
        "12 bad-einsum: `j` of the result of \"i->j\" is an axis of no array");
  CHECK(error_of("q = einsum(\"i->ii\", a)") ==
        "12 bad-einsum: `i` occurs twice in the result of \"i->ii\"");
  CHECK(error_of("b = einsum(\"i->i\", c)") ==
        "5 bad-einsum: `i` names 1 axis of a value that has 2");
}

TEST_CASE("array statements: a temporary has its value's shape, also where data subscripts it") {
  const Kernel k = parsed(std::string(kHead) +
                          "domain {[i]: 0 <= i < n}\n<> t = a + 1\n<> u = v + 1\n"
                          "b[i] = t[p[i]] + u[0]\n");
  CHECK(to_string(k.temporaries.at("t").shape.value()) == "n");
  CHECK(to_string(k.temporaries.at("u").shape.value()) == "m");
  check_round_trip(k);
}
