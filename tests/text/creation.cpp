#include "tests/text/helpers.h"

using namespace moonloop;
using namespace moonloop::testing;

namespace {

std::string all_args(const Kernel& k) {
  std::string text = print_kernel(k);
  std::string line = text.substr(0, text.find("\ndomain"));
  for (std::size_t at; (at = line.find("\n    ")) != std::string::npos;) line.replace(at, 5, " ");
  return line;
}

}  // namespace

// ---- Loops around instructions.

TEST_CASE("an instruction is in the loops whose inames occur in it") {
  const Kernel k = body(
      "f(x) := x + i\na[j] = f(3) {id=x}\nb = 1 {id=y, if=j > 0}\n"
      "c[i] = sum(j, d[i, j]) {id=z}\nfor j\n  e[i] = 2 {id=w}\nend\n");
  CHECK(joined(insn(k, "x").inames) == "i j");
  CHECK(joined(insn(k, "y").inames) == "j");
  CHECK(joined(insn(k, "z").inames) == "i");
  CHECK(joined(insn(k, "w").inames) == "i j");
  check_round_trip(k);
}

TEST_CASE("an instruction is in the loops that its bounds need") {
  const Kernel k = parsed(
      "kernel k\ndomain {[i]: 0 <= i < n}\ndomain {[j]: 0 <= j < i}\n"
      "domain {[m]: 0 <= m < j}\na[j] = 1 {id=x}\nb = sum(j, c[j]) {id=y}\n"
      "d = sum((i, j), c[j]) {id=z}\ne = sum(i, sum(j, c[j])) {id=w}\nf[m] = 2 {id=v}\n");
  CHECK(joined(insn(k, "x").inames) == "i j");
  CHECK(joined(insn(k, "y").inames) == "i");
  CHECK(insn(k, "z").inames.empty());
  CHECK(insn(k, "w").inames.empty());
  CHECK(joined(insn(k, "v").inames) == "i j m");
  check_round_trip(k);
}

TEST_CASE("bounds that a temporary gives put the loop inside that of its writer") {
  const Kernel k = parsed(
      "kernel spmv\ndomain {[i]: 0 <= i < n}\ndomain [len] -> {[j]: 0 <= j < len}\n"
      "<> len = starts[i + 1] - starts[i] {id=l}\na = sum(j, x[j]) {id=s}\nb[j] = 1 {id=t}\n");
  CHECK(joined(insn(k, "s").inames) == "i");
  CHECK(joined(insn(k, "t").inames) == "i j");
  CHECK(domain_parents(k) == std::vector<int>{-1, 0});
  check_round_trip(k);
}

TEST_CASE("readers of a temporary join the loops of all its writers") {
  const Kernel k = body(
      "<> t = a[i] {id=t}\nb[0] = t {id=r}\n<> s = 0 {id=s0}\ns = s + a[i] {id=s1}\n"
      "c = s {id=rs}\nfor j\n  <> u[i] = a[i] {id=u}\nend\nd[0] = u[3] {id=ru}\n"
      "q = sum(i, t) {id=rq}\n");
  CHECK(joined(insn(k, "r").inames) == "i");
  CHECK(joined(insn(k, "s1").inames) == "i");
  CHECK(insn(k, "rs").inames.empty());         // one writer is outside
  CHECK(joined(insn(k, "ru").inames) == "j");  // i is in the subscript of the assignee
  CHECK(insn(k, "rq").inames.empty());         // i is bound there
  check_round_trip(k);
}

TEST_CASE("loops go on through chains of temporaries, forwards and backwards") {
  const Kernel k = body(
      "<>t0 = a[i]\n<>t1 = t0\n<>t2 = t1\nb = t2 {id=end}\n"
      "c = s2 {id=back}\n<>s2 = s1\n<>s1 = s0\n<>s0 = a[j]\n");
  CHECK(joined(insn(k, "end").inames) == "i");
  CHECK(joined(insn(k, "back").inames) == "j");
  check_round_trip(k);
}

TEST_CASE("arguments do not pull their readers into loops") {
  const Kernel k = body("for i\n  a[0] = a[0] + b[i]\nend\nc[0] = a[0] {id=r}\n");
  CHECK(insn(k, "r").inames.empty());
}

// ---- Definitions before uses.

TEST_CASE("a temporary that is read before its only definition is defined first") {
  const Kernel k = body("a[i] = t {id=r}\n<> t = b[i] {id=w}\n");
  CHECK(joined(insn(k, "r").depends_on) == "w");
  CHECK(insn(k, "w").depends_on.empty());
  check_round_trip(k);

  CHECK(insn(body("a[i] = t {id=r, dep=*}\n<> t = b[i] {id=w}\n"), "r").depends_on.empty());
  CHECK(insn(body("a[i] = t {id=r}\n<> t = b[i] {id=w}\nt = c[i]\n"), "r").depends_on.empty());
  const Kernel in_order = body("<> t = b[i] {id=w}\na[i] = t {id=r}\n");
  CHECK(insn(in_order, "r").depends_on.empty());
}

TEST_CASE("an out argument is defined before its use, another one is not") {
  const std::string lines = "domain {[i]: 0 <= i < n}\nb[i] = a[i] {id=r}\na[i] = c[i] {id=w}\n";
  CHECK(joined(insn(parsed("kernel k(a: out f64[n])\n" + lines), "r").depends_on) == "w");
  CHECK(insn(parsed("kernel k(a: f64[n])\n" + lines), "r").depends_on.empty());
  CHECK(insn(parsed("kernel k(a: inout f64[n])\n" + lines), "r").depends_on.empty());
}

TEST_CASE("a value carried from one iteration to the next stays so") {
  const Kernel k = body("<> p = q + 1 {id=r}\n<> q = p*2 {id=w, inames=i}\n");
  CHECK(insn(k, "r").depends_on.empty());
  CHECK(insn(k, "w").depends_on.empty());
  const Kernel initialized = body("temp q: int32 init=(0) read_only\na[i] = q {id=r}\n");
  CHECK(insn(initialized, "r").depends_on.empty());
}

// ---- if, elif, else.

TEST_CASE("arms become predicates, later arms with what did not hold") {
  const Kernel k = body(
      "if i % 3 == 0\n  a[i] = 15 {id=x}\nelif i % 3 > 1 and n > 2\n  a[i] = 11 {id=y}\n"
      "  if c[i]\n    b[i] = 2 {id=v}\n  end\nelse\n  a[i] = 3 {id=z}\nend\na[i] = 4 {id=w}\n");
  CHECK(predicates(insn(k, "x")) == "i % 3 == 0");
  CHECK(predicates(insn(k, "y")) == "i % 3 != 0 & i % 3 > 1 and n > 2");
  CHECK(predicates(insn(k, "v")) == "i % 3 != 0 & i % 3 > 1 and n > 2 & c[i]");
  CHECK(predicates(insn(k, "z")) == "i % 3 != 0 & not (i % 3 > 1 and n > 2)");
  CHECK(insn(k, "w").predicates.empty());
  CHECK(k.instructions.size() == 5);
  check_round_trip(k);
}

TEST_CASE("a condition that its block may change is saved first") {
  const Kernel k =
      body("if a[i] > 0\n  a[i] = 0 {id=x}\n  b[i] = 1 {id=y}\nelse\n  b[i] = 2 {id=z}\nend\n");
  REQUIRE(k.instructions.size() == 4);
  CHECK(text_of(*k.instructions[0]) == "cond = a[i] > 0");
  CHECK(k.instructions[0]->id == "cond");
  CHECK(k.find_temporary("cond")->type->str() == "bool");
  CHECK(predicates(insn(k, "x")) == "cond");
  CHECK(predicates(insn(k, "y")) == "cond");
  CHECK(predicates(insn(k, "z")) == "not cond");
  CHECK(joined(insn(k, "cond").inames) == "i");
  check_round_trip(k);
}

TEST_CASE("a saved condition of a later arm includes that those before do not hold") {
  const Kernel k = body(
      "<>cond = 3\nif i == 0\n  s = 1 {id=x}\nelif s\n  s = 2 {id=y}\nelif a[i] > 0\n"
      "  s = 3 {id=z}\nelse\n  s = 4 {id=w}\nend\n");
  CHECK(text_of(insn(k, "cond")) == "cond_0 = i != 0 and s != 0");
  CHECK(predicates(insn(k, "x")) == "i == 0");
  CHECK(predicates(insn(k, "y")) == "cond_0");
  CHECK(predicates(insn(k, "z")) == "i != 0 & not cond_0 & a[i] > 0");
  CHECK(predicates(insn(k, "w")) == "i != 0 & not cond_0 & not a[i] > 0");
}

TEST_CASE("saved conditions of nested blocks stand under the outer condition") {
  const Kernel k =
      body("if n > 3\n  for j\n    if s > 0\n      s = 0 {id=x}\n    end\n  end\nend\n");
  CHECK(text_of(insn(k, "cond")) == "cond = s > 0");
  CHECK(predicates(insn(k, "cond")) == "n > 3");
  CHECK(joined(insn(k, "cond").inames) == "j");
  CHECK(predicates(insn(k, "x")) == "n > 3 & cond");
}

TEST_CASE("a condition through a rule is saved too") {
  const Kernel k = body("pos(x) := a[x] > 0\nif pos(i)\n  a[i] = 0 {id=x}\nend\n");
  CHECK(text_of(insn(k, "cond")) == "cond = pos(i) != 0");
  CHECK(predicates(insn(k, "x")) == "cond");
}

// ---- Arguments.

TEST_CASE("what is not declared is guessed, in order of appearance") {
  const Kernel k =
      parsed("kernel k\ndomain {[i]: 0 <= i < n}\nassume n > m\nout[i] = alpha*a[i] + s\ns = 3\n");
  CHECK(all_args(k) ==
        "kernel k(n: int32, m: int32, out: auto[...], alpha, a: auto[...], s: auto[])");
  check_round_trip(k);
}

TEST_CASE("parameters of shapes become integer arguments") {
  const Kernel k = parsed(
      "kernel k(a: f64[p, q + 1], b: f32[p] offset=o)\nindex_type int64\n"
      "a[0, 0] = b[0]\n");
  CHECK(all_args(k).find("p: int64, q: int64, o: int64") != std::string::npos);
  check_round_trip(k);
}

TEST_CASE("rules are looked through; an unused one asks for nothing") {
  const Kernel k =
      body("f(x) := x*a[x]\ng(x) := zz[x]\nap(v, x) := v[x]\nb[i] = f(i) + ap(w, i)\n");
  CHECK(k.find_arg("a"));
  CHECK(!k.find_arg("x"));
  CHECK(!k.find_arg("zz"));
  REQUIRE(k.find_arg("w"));
  CHECK(k.find_arg("w")->is_array);
}

TEST_CASE("declarations of arguments in every form") {
  const Kernel k = parsed(
      "kernel k(n, m: int64, a: float64[n, m] in, b: out f32[n] , c: inout c128[...], d: const "
      "u1[16],\n"
      "  e: f64[n, m] order=F, f: f64[n, m] stride:1 stride:n, g: f64[n, m] stride:2*m, stride:2,\n"
      "  h: f64[n, m] strides=(m, 1) offset=3*n + 1, p: bool, q[n], r: [n] , s: out i4, t: auto, "
      "u: auto[...], ...)\n"
      "domain {[i]: 0 <= i < n}\na[i, 0] = b[i] + t + x\n");
  const auto arg = [&](const char* n) { return *k.find_arg(n); };
  CHECK(arg("n").type->str() == "int32");
  CHECK(arg("m").type->str() == "int64");
  CHECK(arg("a").intent == Intent::In);
  CHECK(arg("b").intent == Intent::Out);
  CHECK(arg("c").intent == Intent::InOut);
  CHECK(arg("c").type->str() == "complex128");
  CHECK(!arg("c").shape);
  CHECK(arg("d").constant);
  CHECK(arg("d").type->str() == "uint8");
  CHECK(arg("e").order == Order::F);
  CHECK(to_string(*arg("f").strides) == "1, n");
  CHECK(to_string(*arg("g").strides) == "2*m, 2");
  CHECK(to_string(*arg("h").strides) == "m, 1");
  CHECK(to_string(arg("h").offset) == "3*n + 1");
  CHECK(!arg("p").is_array);
  CHECK(to_string(*arg("q").shape) == "n");
  CHECK(!arg("r").type);
  CHECK(arg("s").is_array);  // written, so it is memory
  CHECK(arg("s").shape->empty());
  CHECK(!arg("t").is_array);
  CHECK(arg("u").is_array);
  CHECK(k.find_arg("x"));
  check_round_trip(k);
}

TEST_CASE("an untyped name is an array when it is subscripted or written") {
  const Kernel k = parsed("kernel k(a, b, c: f32, d)\na[3] = b\nd = c\n");
  CHECK(k.find_arg("a")->is_array);
  CHECK(!k.find_arg("a")->shape);
  CHECK(!k.find_arg("b")->is_array);
  CHECK(!k.find_arg("c")->is_array);
  CHECK(k.find_arg("d")->is_array);
  CHECK(k.find_arg("d")->shape->empty());
}

TEST_CASE("errors in argument lists") {
  CHECK(errors("kernel k(a, a)\n") ==
        "1:13 duplicate-argument: the argument `a` is declared twice");
  CHECK(errors("kernel k(a: floaat64)\n") ==
        "1:13 unknown-type: no type `floaat64`; did you mean `float64`?");
  CHECK(errors("kernel k(a: f64 f32)\n") ==
        "1:17 unknown-option: no attribute `f32` of an argument");
  CHECK(errors("kernel k(a: f64[3] ordr=F)\n") ==
        "1:20 unknown-option: no attribute `ordr` of an argument; did you mean `order`?");
  CHECK(errors("kernel k(a: f64[3] order=G)\n") ==
        "1:26 bad-option: no order `G`; there are `C` and `F`");
  CHECK(errors("kernel k(a: in f64[3] out)\n") ==
        "1:23 syntax: the direction of `a` is given twice");
  CHECK(errors("kernel k(a: f64 offset=2)\n") == "1:10 bad-argument: the scalar `a` has an offset");
  CHECK(errors("kernel k(a: f64 strides=2)\n") == "1:10 bad-argument: the scalar `a` has strides");
  CHECK(errors("kernel k(a: f64[2, 3] strides=(1))\n") ==
        "1:10 bad-argument: `a` has 2 axes and 1 strides");
  CHECK(errors("kernel k(3)\n") == "1:10 syntax: found `3`, expected the name of an argument");
  CHECK(errors("kernel k(a: + )\n") == "1:13 syntax: found `+` in the declaration of `a`");
  CHECK(errors("kernel k(n: f64)\ndomain {[i]: 0 <= i < n}\na[i] = 1\n") ==
        "1:10 bad-argument: `n` bounds a loop or an array, so it must be an integer, not float64");
  CHECK(errors("kernel k\ndomain {[i]: 0 <= i < n}\nn = 3\n") ==
        "2:8 bad-argument: `n` bounds a loop or an array and is written or subscripted; only a "
        "temporary can do both");
  CHECK(errors("kernel k(i: int32)\ndomain {[i]: 0 <= i < n}\n") ==
        "1:10 name-taken: `i` is an iname and the argument");
}

TEST_CASE("errors in declarations of temporaries: what there is") {
  CHECK(errors("kernel k\ntemp t: f64[3] local\n") ==
        "2:16 unknown-option: no attribute `local` of a temporary; `in local` gives its memory");
  CHECK(errors("kernel k\ntemp t: f64[3] ordr=F\n") ==
        "2:16 unknown-option: no attribute `ordr` of a temporary; did you mean `order`?; there are "
        "in, order, strides, base, read_only, init");
}

// ---- Domains and lines about loops.

TEST_CASE("errors in domains and lines about loops") {
  CHECK(errors("kernel k\ndomain {[i]: 0 <= i < n}\ndomain {[j, i]: 0 <= i, j < n}\n") ==
        "3:13 duplicate-iname: the iname `i` is in two domains");
  CHECK(errors("kernel k\ndomain {[i, i]: 0 <= i < n}\n").find("2:8 bad-domain: ") == 0);
  CHECK(errors("kernel k\ndomain 3\n") ==
        "2:8 bad-domain: `3` is not a set: it needs the form `{ [i, j] : conditions }`");
  CHECK(errors("kernel k\ndomain [n] -> { : n > 3}\n") ==
        "2:8 bad-domain: `[n] -> { : n > 3}` has no inames; conditions on parameters go into an "
        "`assume` line");
  CHECK(errors("kernel k\ndomain {:}\na = 1\n") == "no error");
  CHECK(errors("kernel k\nassume n > \n").find("2:8 bad-domain: ") == 0);
  CHECK(errors("kernel k\nassume n > 3 and n < 2\n") ==
        "2:8 bad-assumption: `n > 3 and n < 2` can never hold");
  CHECK(errors("kernel k\ndomain\n") == "2:1 syntax: `domain` with nothing after it");
  CHECK(line_errors("tag q: g.0") == "5 unknown-iname: no iname `q`");
  CHECK(line_errors("tag i: gg.0") ==
        "8 unknown-tag: no tag `gg.0`; there are `ord`, `unr`, `unr_hint`, "
        "`unr_hint.N`, `par`, `simd`, `g.N`, `l.N`, `l.auto`, `ilp`, `ilp.unr`, `ilp.seq`, `vec`, "
        "`mma`, `mma.tf32`; did you mean `g.0`?");
  CHECK(line_errors("tag i: g.0, i: l.0") == "13 duplicate-tag: the iname `i` is tagged twice");
  CHECK(line_errors("tag i:") == "7 syntax: found no tag for `i`");
  CHECK(line_errors("prioritize i, q") == "15 unknown-iname: no iname `q`");
  CHECK(line_errors("loop_order j, j") == "15 duplicate-iname: `j` is listed twice");
  CHECK(line_errors("slabs i: 1") ==
        "11 syntax: found the end, expected `,` between the two numbers of iterations");
  CHECK(line_errors("slabs i: -1, 0") == "10 bad-option: a number of iterations is below 0");
  CHECK(line_errors("index_type f64") == "12 unknown-type: `float64` is not an integer type");
  CHECK(line_errors("record p(x: f64, x: f32)") ==
        "18 duplicate-field: there is a field `x` already");
  CHECK(line_errors("record f64(x: f64)") == "8 duplicate-type: there is a type `f64` already");
  CHECK(line_errors("temp t: f64 in shared") ==
        "16 bad-option: no memory `shared`; there are private, local, global, auto");
  CHECK(line_errors("temp t: f64 init=(x)") == "19 bad-initializer: `x` is not a literal");
  CHECK(line_errors("temp t: f64\ntemp t: f64") ==
        "5:6 duplicate-temporary: the temporary `t` is declared twice");
  CHECK(line_errors("temp t: f64\n<f32> t = 3") ==
        "5:1 type-conflict: the temporary `t` is declared as float64 and as float32");
  CHECK(errors("kernel k\ndomain {[i]: 0 <= i < j}\ndomain {[j]: 0 <= j < i}\na[i] = 1\n")
            .find("2:8 cyclic-domains: ") == 0);
  CHECK(line_errors("a[i] = 1 {dep_query=color:x}").find("bad-match: ") != std::string::npos);
  CHECK(errors("kernel k(t: f64)\n<>t = 3\n") ==
        "2:1 name-taken: `t` is the argument and a temporary");
}

TEST_CASE("domains inside of loops that stand beside one another") {
  const Kernel k = parsed(
      "kernel k(n: int32, a: int32[n, n])\ndomain {[i]: 0 <= i < n}\ndomain {[j]: 0 <= j < n}\n"
      "domain {[m]: 0 <= m < i + j}\ndomain {[p]: 0 <= p < len}\n"
      "<int32> len = i + j\na[i, j] = sum(m, 1) + sum(p, 1)  {id=x}\n");
  CHECK(joined(insn(k, "x").inames) == "i j");
  check_round_trip(k);
}

TEST_CASE("loops: order, priorities, tags, slabs") {
  const Kernel k = parsed(
      "kernel k\ndomain {[i, j]: 0 <= i, j < n}\ndomain {[m]: 0 <= m < n}\n"
      "tag i: g.0, j: l.auto\ntag m: unr_hint.4\nprioritize m, i\nprioritize i, j\n"
      "loop_order m\nslabs i: 0, 1\na[i, j, m] = 1\n");
  CHECK(k.tag("i")->kind == TagKind::Group);
  CHECK(k.tag("j")->kind == TagKind::LocalAuto);
  CHECK(k.tag("m")->axis == 4);
  CHECK(joined(k.loop_order) == "m i j");
  CHECK(k.priorities == std::vector<std::vector<std::string>>{{"m", "i"}, {"i", "j"}});
  CHECK(k.slabs.at("i") == std::pair(0, 1));
  check_round_trip(k);
}

TEST_CASE("reductions that cannot share a loop have loops of their own") {
  const auto statements = [](const Kernel& k) {
    std::string out;
    for (const InsnPtr& i : k.instructions) out += to_string(i->rhs) + "; ";
    return out;
  };
  const std::string head =
      "kernel k(n: int32, b: f64[n, n], a: out f64[n], s: out f64)\n"
      "domain {[i, j]: 0 <= i, j < n}\n";
  // Neither is the loop over `j` inside of `i` nor around it.
  Kernel k = parsed(
      head + "tag j: unr_hint.2\nprioritize i, j\na[i] = sum(j, b[i, j])\ns = max(j, b[0, j])\n");
  CHECK(statements(k) == "sum(j, b[i, j]); reduce(max, j_0, b[0, j_0]); ");
  CHECK(joined(k.loop_order) == "i j j_0");
  CHECK(k.tag("j_0")->text == "unr_hint.2");
  CHECK(k.priorities == std::vector<std::vector<std::string>>{{"i", "j"}, {"i", "j_0"}});
  check_round_trip(k);
  k = parsed(head +
             "s = sum(i, sum(j, b[i, j]))\na[i] = sum(j, b[j, i]) - sum(j, b[i, j])  {dup=i}\n");
  CHECK(k.instructions.size() == 2);
  // They stay shared where all statements nest: in one loop, one in the other, by work-items.
  const std::string one = "a[i] = sum(j, b[i, j])\na[i] = a[i] + max(j, b[j, i])\n";
  CHECK(joined(parsed(head + one).inames()) == "i j");
  const std::string nested =
      "s = simul_reduce(sum, (i, j), b[i, j])\ns = s + sum(i, sum(j, b[i, j]))\n";
  CHECK(joined(parsed(head + nested).inames()) == "i j");
  CHECK(
      joined(parsed(head + "tag i: l.0\na[i] = sum(j, b[i, j])\ns = max(j, b[0, j])\n").inames()) ==
      "i j");
  // The inner one of two that cross, and those that its bounds are for.
  k = parsed(
      head +
      "domain {[m]: 0 <= m < j}\na[i] = sum(j, sum(m, b[i, m]))\ns = sum(j, sum(m, b[m, j]))\n");
  CHECK(statements(k) == "sum(j, sum(m, b[i, m])); sum(j_0, sum(m_0, b[m_0, j_0])); ");
  check_round_trip(k);
}

TEST_CASE("domains of isl's whole language") {
  const Kernel k = parsed(
      "kernel k\ndomain {[i]: exists l: i = 2l and 0 <= l < n}\n"
      "domain {[t]: 2t - 2 < n and t >= floor(n/3) and t mod 3 = 1}\n"
      "domain [p, n] -> {\n  [a, b]: 0 <= a <= b and b < p; [a, b]: a = -1 and b = n }\n"
      "assume n mod 16 = 0 and exists z: p = 4z\nx[i, t, a, b] = 1\n");
  CHECK(joined(k.inames()) == "i t a b");
  CHECK(joined(k.loop_order) == "i t a b");
  check_round_trip(k);
}

TEST_CASE("sets end with their brace") {
  const std::string head = "kernel k(n: int32, a: float64[n])\ndomain ", tail = "\na[i] = 1\n";
  const std::string hint = "; all conditions belong within the braces, joined by `and` and `or`";
  for (const std::string more : {"+ {[i]: i = 9}", "{[j]: 0 <= j < n}", "; x y {", "[3]"})
    CHECK(errors(head + "{[i]: 0 <= i < 4} " + more + tail) ==
          "2:8 bad-domain: `" + more + "` is after `{[i]: 0 <= i < 4}`" + hint);
  CHECK(errors(head + "{[i]->[j]: 0 <= i < n}" + tail) ==
        "2:8 bad-domain: `{[i]->[j]: 0 <= i < n}` is a map, and no set");
}

TEST_CASE("assumptions are about parameters") {
  const std::string head =
      "kernel k(n: int32, len: int32[1], a: float64[n])\ndomain {[i]: 0 <= i < n}\n";
  CHECK(errors(head + "assume n > 3 and i > 5\na[i] = 1\n") ==
        "3:18 unknown-parameter: `i` in an assumption is an iname; assumptions are about "
        "parameters; conditions on inames belong in their domain");
  CHECK(errors(head + "assume L <= 3\n<int32> L = len[0]\na[i] = L\n") ==
        "3:8 unknown-parameter: `L` in an assumption is computed; assumptions are about "
        "parameters");
}

TEST_CASE("rules that stand for more than anybody can hold") {
  std::string text = "kernel k(n: int32, a: float64[n])\ndomain {[i]: 0 <= i < n}\n", chain;
  for (int r = 0; r < 40; ++r)
    text += "f" + std::to_string(r) + "(x) := f" + std::to_string(r + 1) + "(x) + f" +
            std::to_string(r + 1) + "(x)\n";
  text += "f40(x) := x*2\na[i] = f0(a[i])\n";
  CHECK(errors(text).find("more than 1000000 operands and operations once the rules that it calls "
                          "are put in") != std::string::npos);
  for (int r = 0; r < 150;
       ++r)  // each names the next one once, and its argument twice where unused
    chain += "g" + std::to_string(r) + "(x, y) := g" + std::to_string(r + 1) + "(x + 1, y + y)\n";
  chain += "g150(x, y) := x*2\n";
  CHECK(errors("kernel k(n: int32, a: float64[n])\ndomain {[i]: 0 <= i < n}\n" + chain +
               "a[i] = g0(a[i], 1)\n") == "no error");
}

TEST_CASE("temporaries declared in full") {
  const Kernel k = body(
      "temp a: float32[16, n] in local order=F base=pool\ntemp b: int32[3] read_only init=(1, -2, "
      "3)\n"
      "temp c: auto[...] in global\ntemp d: complex128 init=(1.5 + 2.0j)\ntemp e: float64[2] "
      "init=(nan, -0.5f) read_only\n"
      "a[0, i] = b[0]\n<float64> c[i] = 3\nd = 4\n");
  CHECK(k.find_temporary("a")->space == AddressSpace::Local);
  CHECK(k.find_temporary("a")->order == Order::F);
  CHECK(k.find_temporary("a")->base_storage == "pool");
  CHECK(k.find_temporary("b")->read_only);
  CHECK(k.find_temporary("b")->initializer->size() == 3);
  CHECK(k.find_temporary("c")->space == AddressSpace::Global);
  CHECK(k.find_temporary("c")->type->str() == "float64");
  CHECK(!k.find_temporary("c")->shape);
  check_round_trip(k);
}
