#include "tests/text/helpers.h"

using namespace moonloop;
using namespace moonloop::testing;

TEST_CASE("every option of an instruction") {
  const Kernel k = body(
      "a[i] = 0 {id=zero}\n"
      "a[i] = 1 {id=one, dep=zero, tags=x:y.z:!stream, priority=-3, groups=g:h, conflicts=c, "
      "atomic,\n"
      "          nosync=zero@local:o*@global:q, if=i < 3:j > 4, inames=i:j}\n"
      "a[i] = 2 {atomic=init, id=two}\n");
  const Instruction& one = insn(k, "one");
  CHECK(joined(one.depends_on) == "zero");
  CHECK(joined(one.tags) == "!stream x y.z");
  CHECK(one.priority == -3);
  CHECK(joined(one.groups) == "g h");
  CHECK(joined(one.conflicts) == "c");
  CHECK(one.atomic == Atomicity::Update);
  REQUIRE(one.no_sync.size() == 3);
  CHECK(one.no_sync[0] == NoSync{"zero", "local"});
  CHECK(one.no_sync[1] == NoSync{"o*", "global"});
  CHECK(one.no_sync[2] == NoSync{"q", "any"});
  CHECK(predicates(one) == "i < 3 & j > 4");
  CHECK(joined(one.inames) == "i j");
  CHECK(insn(k, "two").atomic == Atomicity::Init);
  check_round_trip(k);
}

TEST_CASE("dependencies: ids, globs, queries, and the star in front") {
  const Kernel k = body(
      "a[i] = 0 {id=in1, tags=early}\na[i] = 0 {id=in2}\na[i] = 0 {id=out, dep=in*}\n"
      "b[i] = 0 {dep=in1:out, id=s}\nb[i] = 0 {dep=i[!1]2:??1, id=t}\n"
      "b[i] = 0 {dep_query=tag:early or writes:b, id=u}\nb[i] = 0 {dep=*, id=v}\n"
      "b[i] = 0 {dep=*in1:s, id=w}\n");
  CHECK(joined(insn(k, "out").depends_on) == "in1 in2");
  CHECK(joined(insn(k, "s").depends_on) == "in1 out");
  CHECK(joined(insn(k, "t").depends_on) == "in1 in2");
  CHECK(joined(insn(k, "u").depends_on) == "in1 s t v w");
  CHECK(insn(k, "v").depends_on.empty());
  CHECK(joined(insn(k, "w").depends_on) == "in1 s");
  check_round_trip(k);
}

TEST_CASE("nosync_query names the instructions that match") {
  const Kernel k = body(
      "a[i] = 0 {id=x}\nb[i] = 0 {id=y}\na[i] = 0 {id=z, nosync_query=writes:a@local}\n"
      "a[i] = 0 {id=w, nosync_query=id:x or id:y}\n");
  CHECK(insn(k, "z").no_sync == std::vector<NoSync>{{"x", "local"}, {"w", "local"}});
  CHECK(insn(k, "w").no_sync == std::vector<NoSync>{{"x", "any"}, {"y", "any"}});
}

TEST_CASE("inames: exact, added, none") {
  const Kernel k = body(
      "a[i] = 0 {id=e, inames=i:j}\na[i] = 0 {id=p, inames=+j}\n"
      "<>t = a[0] {id=t, inames=i}\nb[0] = t {id=r}\nb[0] = t {id=n, inames=}\n");
  CHECK(joined(insn(k, "e").inames) == "i j");
  CHECK(joined(insn(k, "p").inames) == "i j");
  CHECK(joined(insn(k, "r").inames) == "i");
  CHECK(insn(k, "n").inames.empty());
  check_round_trip(k);
}

TEST_CASE("dup gives an instruction loops of its own") {
  const Kernel k = body(
      "a[i] = b[i, j] {id=x, inames=i:j, dup=i}\nc[i, j] = 1 {id=y, dup=i:j->ii:jj}\n"
      "d[i] = 2 {id=z}\n");
  CHECK(joined(insn(k, "x").inames) == "i_0 j");
  CHECK(text_of(insn(k, "x")) == "a[i_0] = b[i_0, j]");
  CHECK(joined(insn(k, "y").inames) == "ii jj");
  CHECK(joined(insn(k, "z").inames) == "i");
  CHECK(joined(k.inames()) == "i ii i_0 j jj");
  CHECK(joined(k.loop_order) == "i ii i_0 j jj");
  CHECK(same_set(k.home_of("ii")->set, parse_set("[n] -> {[ii]: 0 <= ii < n}")));
  check_round_trip(k);

  // In a triangle the copy keeps the bounds that the other loop sets.
  const Kernel t = parsed(
      "kernel k\ndomain {[i, j]: 0 <= j <= i < n}\na[i, j] = 1 {dup=j, id=x}\n"
      "b[i, j] = 2 {dup=i:j, id=y}\n");
  CHECK(joined(insn(t, "x").inames) == "i j_0");
  CHECK(same_set(t.home_of("j_0")->set, parse_set("[n, i] -> {[j_0]: 0 <= j_0 <= i < n}")));
  CHECK(same_set(t.home_of("i_0")->set, parse_set("[n] -> {[i_0, j_1]: 0 <= j_1 <= i_0 < n}")));

  const Kernel s = body("a = sum(i, b[i]) {dup=i->k}\n");
  CHECK(text_of(*s.instructions[0]) == "a = sum(k, b[k])");
}

TEST_CASE("with blocks add up, inner to outer") {
  const Kernel k = body(
      "a[i] = 0 {id=first}\nwith {tags=outer, dep=first, if=n > 2, groups=g}\n"
      "  with {tags=inner, inames=i:j, conflicts=c}\n    b[i] = 1 {id=x, tags=own}\n"
      "  end\n  c[i] = 2 {id=y}\nend\nd[i] = 3 {id=z}\n");
  CHECK(joined(insn(k, "x").tags) == "inner outer own");
  CHECK(joined(insn(k, "x").depends_on) == "first");
  CHECK(joined(insn(k, "x").inames) == "i j");
  CHECK(joined(insn(k, "x").conflicts) == "c");
  CHECK(predicates(insn(k, "x")) == "n > 2");
  CHECK(joined(insn(k, "y").tags) == "outer");
  CHECK(joined(insn(k, "y").groups) == "g");
  CHECK(insn(k, "z").tags.empty());
  CHECK(insn(k, "z").predicates.empty());
}

TEST_CASE("with blocks name the statements that have no id") {
  const Kernel k = body(
      "with {id_prefix=init}\n  a[i] = 1\n  a[i] = 2\n  with {id_prefix=in}\n    b[i] = 3\n"
      "  end\n  b[i] = 4 {id_prefix=own}\n  c[i] = 5 {id=x}\n  with {tags=t}\n    c[i] = 6\n"
      "  end\nend\nd[i] = 7\n");
  std::string ids;
  for (const InsnPtr& i : k.instructions) ids += i->id + " ";
  CHECK(ids == "init init_0 in own x init_1 insn ");
}

TEST_CASE("errors in options") {
  CHECK(line_errors("a[i] = 1 {tgs=b}") ==
        "11 unknown-option: no option `tgs`; did you mean `tags`?");
  CHECK(line_errors("a[i] = 1 {id}") == "13 syntax: the option `id` needs a value, as in `id=...`");
  CHECK(line_errors("a[i] = 1 {id=}") == "11 syntax: the option `id` has an empty value");
  CHECK(line_errors("a[i] = 1 {id=a b}") == "14 bad-option: `a b` is not an instruction id");
  CHECK(line_errors("a[i] = 1 {id=a, id=b}") ==
        "17 duplicate-option: the option `id` is given twice");
  CHECK(line_errors("a[i] = 1 {priority=x}") ==
        "20 bad-option: the priority `x` is not an integer");
  CHECK(line_errors("a[i] = 1 {priority=99999999999}") ==
        "20 bad-option: the priority `99999999999` is not an integer");
  CHECK(line_errors("a[i] = 1 {nosync=b@lokal}") ==
        "18 bad-option: no scope `lokal`; there are local, global, any");
  CHECK(line_errors("a[i] = 1 {atomic=last}") ==
        "18 bad-option: no `atomic=last`; there are `atomic`, `atomic=combined` and `atomic=init`");
  CHECK(line_errors("a[i] = 1 {mem_kind=local}") ==
        "20 bad-option: `mem_kind` is for barriers only");
  CHECK(line_errors("... nop {mem_kind=local}") ==
        "19 bad-option: `mem_kind` is for barriers only");
  CHECK(line_errors("... nop {atomic}") == "1 bad-option: `atomic` needs an assignee");
  CHECK(line_errors("... lbarrier {mem_kind=far}") ==
        "24 bad-option: no `mem_kind=far`; there are local and global");
  CHECK(line_errors("a[i] = 1 {inames=i:q}") == "20 unknown-iname: no iname `q`");
  CHECK(line_errors("a[i] = 1 {inames=i-j}") == "18 bad-option: `i-j` is not an iname");
  CHECK(line_errors("a[i] = 1 {dep=b, id=a}") == "15 unknown-dependency: no instruction `b`");
  CHECK(line_errors("a[i] = 1 {dep=foo*}") == "15 unknown-dependency: no instruction `foo*`");
  CHECK(line_errors("a[i] = 1 {dup=q}") == "15 unknown-iname: no iname `q`");
  CHECK(line_errors("a[i] = 1 {dup=j}") ==
        "15 bad-option: `dup` names `j`, which is not a loop around `insn`");
  CHECK(line_errors("a[i] = 1 {dup=i->j}") == "15 name-taken: the name `j` is in use");
  CHECK(line_errors("a[i, j] = 1 {dup=i:j->k}") ==
        "18 bad-option: `dup` names 2 inames and 1 new ones");
  CHECK(line_errors("a[i] = 1 {if=}") == "14 syntax: found `}`, expected an expression");
  CHECK(line_errors("a[i] = 1 {id=x\na[i] = 2") == "10 unbalanced: `{` is never closed");
  CHECK(line_errors("with {id=x}\na[i] = 1\nend") ==
        "7 bad-option: the option `id` is not allowed in a `with` block");
  CHECK(line_errors("with {id_prefix=}\na[i] = 1\nend") ==
        "7 syntax: the option `id_prefix` has an empty value");
  CHECK(line_errors("with {atomic}\na[i] = 1\nend") ==
        "7 bad-option: the option `atomic` is not allowed in a `with` block");
  CHECK(errors("kernel k\na = 1 {id=x}\nb = 2 {id=x}\n") ==
        "3:11 duplicate-id: two instructions have the id `x`");
}
