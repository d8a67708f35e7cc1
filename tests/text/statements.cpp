#include "tests/text/helpers.h"

using namespace moonloop;
using namespace moonloop::testing;

TEST_CASE("assignments to scalars, elements, flat elements and fields") {
  const Kernel k = body(
      "record hit(t: float64, at: int32)\n"
      "s = 1\na[i] = 2*b[i]\nc[[i + j]] = 3\n<hit>r[i] = q[i]\nr[i].t = 5\n");
  REQUIRE(k.instructions.size() == 5);
  CHECK(text_of(*k.instructions[0]) == "s = 1");
  CHECK(text_of(*k.instructions[1]) == "a[i] = 2*b[i]");
  CHECK(text_of(*k.instructions[2]) == "c[[i + j]] = 3");
  CHECK(text_of(*k.instructions[4]) == "r[i].t = 5");
  CHECK(k.find_temporary("r")->type->str() == "hit");
  CHECK(k.find_arg("s")->is_array);
  CHECK(k.find_arg("s")->shape->empty());
}

TEST_CASE("ids are those given, or insn, insn_0, ...") {
  const Kernel k = body(
      "a[i] = 1\na[i] = 2 {id=insn_0}\na[i] = 3\na[i] = 4 {id_prefix=up}\n"
      "a[i] = 5 {id_prefix=up}\na[i] = 6\n... nop\n");
  CHECK(joined(k.instruction_ids()) == "insn insn_0 insn_1 up up_0 insn_2 insn_3");
}

TEST_CASE("temporaries: <>, <type>, arrays") {
  const Kernel k =
      body("<> t = 1\n<float32>u = 2\n<f4> v = 3\n<>w[i, j] = 4\n<np:int64>x = 5\n<auto>y = 6\n");
  CHECK(!k.find_temporary("t")->type);
  CHECK(k.find_temporary("t")->shape->empty());
  CHECK(k.find_temporary("u")->type->str() == "float32");
  CHECK(k.find_temporary("v")->type->str() == "float32");
  CHECK(!k.find_temporary("w")->shape);
  CHECK(k.find_temporary("x")->type->str() == "int64");
  CHECK(!k.find_temporary("y")->type);
  CHECK(k.args.size() == 1);
}

TEST_CASE("calls: with several results, without result, with parts of arrays") {
  const Kernel k = body(
      "<>p, <>q = f(a[i], 2)\nv, at = argmin(j, a[j], j)\ng(a[:], b[i, :])\n"
      "c[:, i] = h(a[1:n:2])\n[j]: d[i, j] = h([j]: a[j])\ns = sin(a[i])\n"
      "<>x, <>y = make_tuple(1, 2.0)\n");
  const auto& all = k.instructions;
  CHECK(all[0]->kind == InsnKind::Call);
  CHECK(all[0]->lhs.size() == 2);
  CHECK(all[1]->kind == InsnKind::Assign);
  CHECK(all[1]->rhs.as<Reduce>()->op == ReduceOp::ArgMin);
  CHECK(all[2]->kind == InsnKind::Call);
  CHECK(all[2]->lhs.empty());
  CHECK(all[3]->kind == InsnKind::Call);
  CHECK(all[4]->kind == InsnKind::Call);
  CHECK(all[4]->lhs[0].as<SubArray>());
  CHECK(all[5]->kind == InsnKind::Assign);
  CHECK(all[6]->kind == InsnKind::Call);
  // The swept iname of a sub-array is not a loop around the call.
  CHECK(joined(all[4]->inames) == "i");
  check_round_trip(k);
}

TEST_CASE("assignments that change a variable") {
  const auto made = [](const std::string& line) { return text_of(*body(line).instructions[0]); };
  CHECK(made("a[i] += 2*b[i]") == "a[i] = a[i] + 2*b[i]");
  CHECK(made("a[i] -= b[i] - 1") == "a[i] = a[i] - (b[i] - 1)");
  CHECK(made("a[i] *= b[i] + 1") == "a[i] = a[i]*(b[i] + 1)");
  CHECK(made("a[i] /= 2 if i < 3 else 4") == "a[i] = a[i] / (2 if i < 3 else 4)");
  CHECK(made("a[i] **= 2") == "a[i] = a[i]**2");
  CHECK(made("s //= 3") == "s = s // 3");
  CHECK(made("a[i] %= 3 {id=x}") == "a[i] = a[i] % 3");
  CHECK(made("a[i] <<= 1") == "a[i] = a[i] << 1");
  CHECK(made("a[i] |= 4") == "a[i] = a[i] | 4");
  CHECK(made("end += 1") == "end = end + 1");
  CHECK(made("a[i] += sum(j, b[j])") == "a[i] = a[i] + sum(j, b[j])");
  check_round_trip(body("a[i] -= b[i] - 1 {if=b[i] == 2, tags=x}"));
}

TEST_CASE("temporaries of one line") {
  const Kernel k = body("temp x, y: float32[n] in local\nx[i] = 1\ny[i] = 2");
  CHECK(k.find_temporary("x")->type == Type(Scalar::F32));
  CHECK(to_string(*k.find_temporary("y")->shape) == "n");
  CHECK(k.find_temporary("y")->space == AddressSpace::Local);
  check_round_trip(k);
  CHECK(line_errors("temp x, y, x: float32") ==
        "12 duplicate-temporary: the temporary `x` is declared twice");
}

TEST_CASE("barriers and nops") {
  const Kernel k =
      body("... gbarrier {id=g, mem_kind=local}\n... lbarrier\n...nop {id=x, dep=g}\n");
  CHECK(k.instructions[0]->kind == InsnKind::Barrier);
  CHECK(k.instructions[0]->barrier == BarrierScope::Global);
  CHECK(k.instructions[0]->mem_kind == "local");
  CHECK(k.instructions[1]->barrier == BarrierScope::Local);
  CHECK(k.instructions[1]->mem_kind == "local");
  CHECK(k.instructions[2]->kind == InsnKind::Nop);
  CHECK(joined(k.instructions[2]->depends_on) == "g");
  check_round_trip(k);
}

TEST_CASE("lines go on inside brackets; comments and blank lines do not matter") {
  const Kernel k = parsed(
      "\n# a comment (\nkernel k( # of the head\n   n,\n   a: float64[n])\n\n"
      "domain {[i]: # 0\n   0 <= i\n     < n}   # done\n"
      "a[i] = (1 +  # one\n\n  2)\n  # [\na[\ni\n] = 3\r\n");
  CHECK(k.instructions.size() == 2);
  CHECK(text_of(*k.instructions[0]) == "a[i] = 1 + 2");
  CHECK(k.instructions[1]->at.line == 14);
}

TEST_CASE("keywords may be names") {
  const Kernel k = body(
      "end = 1\nwith[i] = 2\nfor = 3\ntemp = 4\ndomain = 5\nassume[i] = 6\nkernel = 7\n"
      "tag, slabs = f(1)\ndomain[i] = 8\n");
  CHECK(k.instructions.size() == 9);
  CHECK(k.find_arg("domain"));
}

TEST_CASE("several kernels in one file, records shared") {
  const auto all = parse_all(
      "record p(x: f8)\nkernel one(a: p[3])\na[0].x = 1\nkernel two(a: p[2])\n"
      "a[1].x = 2\n");
  REQUIRE(all.size() == 2);
  CHECK(all[0].name == "one");
  CHECK(all[1].name == "two");
  CHECK(all[1].args[0].type->record->fields.size() == 1);
  for (const Kernel& k : all) check_round_trip(k);
}

TEST_CASE("rules, with and without parameters, with tags") {
  const Kernel k =
      body("f(x) := x*a[x]\ng := 12 + b[i]\nh(x, y) := f$one(x) + g*y\nc[i] = h$two(i, j) + g\n");
  REQUIRE(k.rules.size() == 3);
  CHECK(k.rules[2].params == std::vector<std::string>{"x", "y"});
  CHECK(to_string(k.rules[2].body) == "f$one(x) + g()*y");
  CHECK(to_string(k.instructions[0]->rhs) == "h$two(i, j) + g()");
  CHECK(to_string(expand_rules(k, k.instructions[0]->rhs)) ==
        "i*a[i] + (12 + b[i])*j + (12 + b[i])");
  CHECK(joined(k.instructions[0]->inames) == "i j");
  check_round_trip(k);
}

TEST_CASE("max(i, e) is a reduction over an iname and a function of two values elsewhere") {
  const Kernel k = body(
      "a = max(i, b[i])\nc[i] = max(i, 3)\nd = max(n, 3)\nfor i\n  e = max(i, 4)\nend\n"
      "g = sum(i, max(i, 5))\nm(x) := max(x, 1)\nh = m(7)\nu = max((i), b[i])\n");
  const auto is_reduction = [&](int n) {
    return k.instructions[static_cast<std::size_t>(n)]->rhs.as<Reduce>() != nullptr;
  };
  CHECK(is_reduction(0));
  CHECK(!is_reduction(1));
  CHECK(!is_reduction(2));
  CHECK(!is_reduction(3));
  CHECK(k.instructions[4]->rhs.as<Reduce>()->args[0].as<Call>());
  CHECK(!k.rules[0].body.as<Reduce>());
  CHECK(is_reduction(6));
  check_round_trip(k);
}

TEST_CASE("errors in statements") {
  CHECK(line_errors("a[i] 3") == "6 syntax: found `3`, expected `=`");
  CHECK(line_errors("a[i]") == "5 syntax: found the end of the line, expected `=`");
  CHECK(line_errors("a[i] =") == "7 syntax: found nothing to assign");
  CHECK(line_errors("a[i] = 1 2") == "10 syntax: found `2` after the statement");
  CHECK(line_errors("a[i] = 1;") == "9 syntax: found `;` after the statement");
  CHECK(line_errors("3 = a[i]") == "1 bad-assignee: `3` cannot be assigned to");
  CHECK(line_errors("a + b = c") == "1 bad-assignee: `a + b` cannot be assigned to");
  CHECK(line_errors("f(x) = c") == "1 bad-assignee: `f(x)` cannot be assigned to");
  CHECK(line_errors("[j]: b = c") == "6 bad-assignee: `b` is not part of an array");
  CHECK(line_errors("<>a.b = c") == "1 bad-assignee: `a.b` cannot declare a temporary");
  CHECK(line_errors("<flot64>a = c") ==
        "2 unknown-type: no type `flot64`; did you mean `float64`?");
  CHECK(line_errors("<i8>a = c") ==
        "2 unknown-type: `i8` means one byte or eight; write `int8` or `int64`");
  CHECK(line_errors("<>a[i] += 2") ==
        "1 bad-assignee: `+=` changes one variable that is there already");
  CHECK(line_errors("a[i], b[i] *= 2") ==
        "1 bad-assignee: `*=` changes one variable that is there already");
  CHECK(line_errors("a[i][j] = 2") == "1 bad-assignee: `a[i][j]` cannot be assigned to");
  CHECK(line_errors("(a + b)[1:] = 2") == "1 bad-assignee: `(a + b)[1:]` cannot be assigned to");
  CHECK(line_errors("f(x) -= 2") == "1 bad-assignee: `f(x)` cannot be assigned to");
  CHECK(line_errors("a[i] -=") == "8 syntax: found nothing to assign");
  CHECK(line_errors("a[i] + = 2") == "8 syntax: found `=`, expected an expression");
  CHECK(line_errors("a, b = c + d") ==
        "8 wrong-result-count: 2 assignees need a call or a reduction with two results, found `c + "
        "d`");
  CHECK(line_errors("a = argmin(i, x[i], i)") ==
        "1 wrong-result-count: a reduction by `argmin` gives 2 results, found 1 assignee");
  CHECK(line_errors("a, b = sum(i, x[i])") ==
        "1 wrong-result-count: a reduction by `sum` gives 1 result, found 2 assignees");
  CHECK(line_errors("i = 3") == "1 writes-iname: `i` is an iname and cannot be assigned to");
  CHECK(line_errors("a[i] = b[1:2]") == "1 shape-mismatch: `b[1:2]` has 1 axis, and `a[i]` has 0");
  CHECK(line_errors("if b[1:2] > 0\na[i] = 1\nend") ==
        "6 misplaced-slice: the slice `1:2` is outside of statements on arrays, and of calls");
  CHECK(line_errors("a[i] = sum(k, b[k])") == "8 unknown-iname: no iname `k`");
  CHECK(line_errors("... barier") ==
        "5 syntax: no statement `... barier`; there are gbarrier, lbarrier, nop");
  CHECK(line_errors("end") == "1 unbalanced-block: `end` closes nothing");
  CHECK(line_errors("else") == "1 unbalanced-block: `else` without an `if`");
  CHECK(line_errors("elif a") == "1 unbalanced-block: `elif` without an `if`");
  CHECK(line_errors("for i") == "1 unbalanced-block: this `for` has no `end`");
  CHECK(line_errors("if a") == "1 unbalanced-block: this `if` has no `end`");
  CHECK(line_errors("with {tags=a}") == "1 unbalanced-block: this `with` has no `end`");
  CHECK(line_errors("for\na[i] = 1\nend") ==
        "4 syntax: found the end, expected an iname after `for`");
  CHECK(line_errors("if\na[i] = 1\nend") == "3 syntax: found the end, expected an expression");
  CHECK(line_errors("for q\na[i] = 1\nend") == "5 unknown-iname: no iname `q`");
  CHECK(line_errors("if a\nb = 1\nelse\nb = 2\nelse\nb = 3\nend") ==
        "8:1 unbalanced-block: `else` after `else`");
}

TEST_CASE("statements: what a reduction goes over is an iname, wherever it stands") {
  const std::string unknown = " unknown-iname: no iname `q`";
  CHECK(line_errors("a[i] = 1 {if=sum(q, b[q]) > 0}") == "14" + unknown);
  CHECK(line_errors("if sum(q, b[q]) > 0\n  a[i] = 1\nend") == "4" + unknown);
  CHECK(line_errors("a[sum(q, 1)] = 1 {inames=i}") == "3" + unknown);
  const auto with_rules = [](const std::string& text) {
    return errors("kernel k\ndomain {[i, j]: 0 <= i, j < n}\n" + text);
  };
  CHECK(with_rules("f(x) := sum(q, a[x])\nb[i] = f(i)") == "3:9" + unknown);
  CHECK(with_rules("f(x) := sum(q, a[x])\ng(x) := f(x)\nb[i] = g(i)") == "3:9" + unknown);
  // a parameter may stand for the iname
  CHECK(with_rules("f(x) := sum(x, a[x])\nb[i] = f(j)") == "no error");
  CHECK(with_rules("f(x) := sum(x, a[x])\ng(y, x) := f(y) + x\nb[i] = g(j, 1)") == "no error");
  CHECK(with_rules("f(x) := sum(x, a[x])\nb[i] = f(q)") == "4:10" + unknown);
  CHECK(with_rules("f(x) := sum(x, a[x])\ng(y, x) := f(y) + x\nb[i] = g(q, 1)") ==
        "5:10" + unknown);
  CHECK(with_rules("f(x) := sum(x, a[x])\nb[i] = 1 {if=f(q) > 0}") == "4:16" + unknown);
  CHECK(with_rules("f(x) := sum(q, a[x])\nb[i] = 1") == "no error");  // called nowhere
}

TEST_CASE("errors in rules") {
  CHECK(line_errors("f(x) := x {id=a}") == "11 bad-option: the rule `f` takes no options");
  CHECK(line_errors("f(x, x) := x") ==
        "6 duplicate-parameter: the rule `f` has two parameters `x`");
  CHECK(line_errors("f(x) := x\nf := 3") == "5:1 duplicate-rule: the rule `f` is defined twice");
  CHECK(line_errors("f(x) := x\na = f(1, 2)") ==
        "5:5 wrong-arg-count: the rule `f` takes 1 argument, got 2");
  CHECK(line_errors("f(x) := x\na = f") ==
        "5:5 wrong-arg-count: the rule `f` takes 1 argument, got 0");
  CHECK(line_errors("f := x\na = f[i]") == "5:5 bad-subscript: `f` is a rule, not an array");
  CHECK(line_errors("f := x\nf = 3") ==
        "5:1 bad-assignee: `f` is a rule and cannot be assigned to");
  CHECK(line_errors("f(x) := g(x)\ng(x) := f(x)") ==
        "1 recursive-rule: the rule `f` calls itself (f -> g -> f)");
  CHECK(line_errors("f := f + 1") == "1 recursive-rule: the rule `f` calls itself (f -> f)");
  std::string chain = "f0 := 1\n";
  for (int i = 1; i < 300; ++i) chain += fmt::format("f{} := f{} + 1\n", i, i - 1);
  CHECK(line_errors(chain).find("too-deep: rules call one another more than 200 levels deep") !=
        std::string::npos);
}

TEST_CASE("all errors of a file are reported, each once") {
  CHECK(errors("kernel a\ndomain {[i]: 0 <= i < n}\nx[i = 3\ny = (1\nz[i] = 1 {idd=2}\n"
               "kernel b\ndomain {[i] 0 <= }\nw = f(\nv = 3 {tags=}\n") ==
        "3:2 unbalanced: `[` is never closed\n"
        "4:5 unbalanced: `(` is never closed\n"
        "5:11 unknown-option: no option `idd`; did you mean `id`?\n"
        "7:8 bad-domain: `{[i] 0 <= }` is not a set: syntax error\n"
        "8:6 unbalanced: `(` is never closed\n"
        "9:8 syntax: the option `tags` has an empty value");
}

TEST_CASE("what is not a kernel") {
  CHECK(errors("") == "1:1 no-kernel: there is no kernel here; a kernel starts with `kernel NAME`");
  CHECK(errors("# nothing\n") ==
        "2:1 no-kernel: there is no kernel here; a kernel starts with `kernel NAME`");
  CHECK(errors("\n a[i] = 2\nkernel k\n") ==
        "2:2 no-kernel: a statement is before the first kernel; a kernel starts with `kernel "
        "NAME`");
  CHECK(errors("kernel k\nkernel k\n") == "2:8 duplicate-kernel: two kernels are named `k`");
  CHECK(errors("kernel k x\n") == "1:10 syntax: found `x` after the head of the kernel");
  CHECK(errors("kernel k\na = \"\xC3\x28\"\n") == "2:6 not-utf8: byte 0xc3 is not UTF-8 text");
  CHECK(errors("kernel k\n# \x80\n") == "2:3 not-utf8: byte 0x80 is not UTF-8 text");
  CHECK(errors(std::string("kernel k\na = \0b\n", 15)) ==
        "2:5 bad-character: unexpected byte 0x00");
  CHECK(errors("\xEF\xBB\xBFkernel k\na = 1\n") == "no error");
  CHECK(errors("kernel k\n# gr\xC3\xBC\xC3\x9F\na = 1\n") == "no error");
}
