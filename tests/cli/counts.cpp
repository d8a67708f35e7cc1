#include <algorithm>
#include <set>
#include <sstream>

#include "core/count/mem_counts.h"
#include "core/count/op_counts.h"
#include "core/infer/infer.h"
#include "core/interpreter/interpreter.h"
#include "core/order/check_kernel.h"
#include "frontends/fortran/fortran.h"
#include "frontends/text/parse.h"
#include "runtime/arguments.h"
#include "scripts/script.h"
#include "tests/cli/example_runs.h"
#include "tests/cli/harness.h"

/// The counts of a kernel equal the work of the interpreter: each node that it evaluates counts
/// itself, whatever the domains say.

using namespace moonloop;        // NOLINT
using namespace moonloop::test;  // NOLINT

namespace {

/// `sum/sum.loop --kernel k -p n=5`.
struct ExampleRun {
  std::string file, kernel;
  GivenValues values;
  explicit ExampleRun(const std::string& text) {
    std::istringstream words(text);
    words >> file;
    for (std::string option, value; words >> option >> value;) {
      if (option == "--kernel") kernel = value;
      const auto equals = value.find('=');
      if (option == "-p") values.emplace_back(value.substr(0, equals), value.substr(equals + 1));
    }
  }
};

const Source* source(const std::string& file) {
  const auto path = kRoot / "examples" / file;
  return add_source(path.string(), read_file(path));
}

Kernel pick(const std::vector<Kernel>& all, const std::string& name) {
  for (const Kernel& k : all)
    if (name.empty() || k.name == name) return k;
  FAIL("no kernel " << name);
  return {};
}

struct Checked {
  int exact = 0, bounds = 0;
  int footprints = 0;          // of `exact`
  bool asks_for_data = false;  // the kernel's conditions or subscripts are data: there are bounds
};

/// Whether elements or temporaries say where a statement or a part of one runs, or what it
/// accesses.
bool asks_for_data(const Kernel& k) {
  const auto is_data = [&](const Expr& condition) {
    std::set<std::string> names;
    collect_reads(condition, names);
    return std::any_of(names.begin(), names.end(), [&](const std::string& n) {
      const Argument* a = k.find_arg(n);
      return k.find_temporary(n) || (a && a->is_array);
    });
  };
  bool found = false;
  for (const InsnPtr& insn : k.instructions) {
    for (const Expr& p : insn->predicates) found = found || is_data(p);
    Exprs parts = insn->lhs;
    if (insn->rhs) parts.push_back(insn->rhs);
    for (const Expr& part : parts)
      for_each_of<Load>(part, [&](const Load& l, const Expr&) {
        found = found || std::any_of(l.index.begin(), l.index.end(), is_data);
      });
    if (insn->rhs)
      for_each_of<Select>(insn->rhs,
                          [&](const Select& s, const Expr&) { found = found || is_data(s.cond); });
  }
  return found;
}

/// Compares a map by two of its fields with the tally.
void compare(const CountMap& counts, const Tally::Counts& told, const Integers& values,
             Checked& checked) {
  Tally::Counts left = told;
  for (const CountMap::Entry& e : counts.entries()) {
    const std::pair<std::string, std::string> key{e.key[0], e.key[1]};
    INFO(key.first << " " << key.second << ": " << e.count.str());
    const std::int64_t said = e.count.number_at(values), did = left[key];
    if (e.count.exact() || !checked.asks_for_data)
      CHECK(said == did);
    else
      CHECK(said >= did);
    ++(e.count.exact() ? checked.exact : checked.bounds);
    left.erase(key);
  }
  for (const auto& rest : left) {
    INFO(rest.first.first << " " << rest.first.second);
    CHECK(rest.second == 0);
  }
}

void check_counts(const Kernel& k, const GivenValues& given, Checked& checked) {
  const Kernel done = complete(k);
  checked.asks_for_data = asks_for_data(done);
  const auto scalars = read_scalars(done, given);
  const Integers values = integers_of(scalars);
  const std::vector<Buffer> buffers = make_buffers(done, values);
  Bindings data = bindings_of(scalars, buffers);
  Tally tally;
  interpret(done, data, &tally);
  compare(op_counts(k).group({"dtype", "name"}), tally.operations, values, checked);
  const CountMap accesses = mem_counts(k);
  std::erase_if(tally.accesses, [&](const auto& told) {  // private temporaries are not memory
    return !done.find_arg(told.first.first) &&
           accesses.filter("variable", {told.first.first}).entries().empty();
  });
  compare(accesses.group({"variable", "direction"}), tally.accesses, values, checked);
  Tally::Counts touched;
  for (const auto& [key, elements] : tally.touched)
    if (const Argument* a = done.find_arg(key.first); a && a->is_array)
      touched[key] = static_cast<std::int64_t>(elements.size());
  const CountMap footprint = footprints(k);
  const int before = checked.exact;
  std::vector<std::string> arguments;
  for (const Argument& a : done.args) arguments.push_back(a.name);
  compare(footprint.filter("variable", arguments).group({"variable", "direction"}), touched, values,
          checked);
  checked.footprints += checked.exact - before;
}

/// Those that the kernel takes: a script may make one with more.
GivenValues taken_by(const Kernel& k, GivenValues given) {
  std::erase_if(given, [&](const auto& v) { return !k.find_arg(v.first); });
  return given;
}

/// Loops as long as data says.
bool depends_on_data(const std::string& file) { return file == "spmv/spmv.loop"; }

}  // namespace

TEST_CASE("counts: every example does what it is said to do, as written and transformed") {
  Checked checked;
  for (const auto& entry : kRuns) {
    const auto& script = entry.first;
    CAPTURE(script);
    const ExampleRun run(entry.second);
    const Source* file = source(run.file);
    const FortranFile fortran = is_fortran(run.file) ? parse_fortran(file) : FortranFile{};
    const std::vector<Kernel> written =
        is_fortran(run.file) ? fortran.kernels : parse_kernels(file);
    std::vector<Kernel> directed = written;
    for (const FortranFile::Transform& t : fortran.transforms)
      directed = run_transform_script(t.source, directed, {}, t.code.c_str());
    const std::vector<Kernel> transformed = run_transform_script(source(script), directed, {});
    for (const std::vector<Kernel>* all : {&written, &transformed}) {
      const Kernel k = pick(*all, run.kernel);
      CAPTURE(k.name);
      const GivenValues values = taken_by(k, run.values);
      if (all == &transformed) CHECK(values.size() == run.values.size());
      if (!depends_on_data(run.file)) {
        check_counts(k, values, checked);
        continue;
      }
      try {
        op_counts(k);
        FAIL("counts of what depends on data");
      } catch (const Error& e) { CHECK(e.diagnostic().code == "data-dependent-count"); }
    }
  }
  CHECK(checked.exact > 300);
  CHECK(checked.footprints > 100);
  CHECK(checked.bounds < checked.exact / 5);
}

TEST_CASE("cli: show --what stats counts, with numbers for -p, and barriers with --target") {
  const Folder f;
  f.write("k.loop", R"(kernel rev(n: int32, a: float32[n], b: float32[n], c: float64)
domain {[g, l, m]: 0 <= g and 0 <= l, m < 16 and 16*g + l < n and 16*g + m < n}
assume n >= 16 and n mod 16 = 0
temp t: float32[16]
tag g: g.0, l: l.0, m: l.0
t[l] = 3*a[16*g + l]   {id=in}
b[16*g + m] = t[15 - m]   {id=out}
)");
  const auto stats = [&](const std::string& options) {
    const Outcome o = tool("show k.loop --what stats " + options, f.str());
    CHECK(o.status == 0);
    return o.out.substr(o.out.find("operations\n"));
  };
  CHECK(stats("") ==
        "operations\n"
        "  dtype    name  count\n"
        "  float32  mul   n\n"
        "  int32    add   3*n\n"
        "  int32    mul   2*n\n"
        "accesses\n"
        "  mtype   direction  variable  dtype    count\n"
        "  global  load       a         float32  n\n"
        "  global  store      b         float32  n\n"
        "  local   load       t         float32  n\n"
        "  local   store      t         float32  n\n"
        "footprints, in elements\n"
        "  variable  direction  dtype    count\n"
        "  a         read       float32  n\n"
        "  b         write      float32  n\n"
        "flops  n\n"
        "bytes accessed  16*n\n"
        "bytes touched  8*n\n");
  const std::string numbers = stats("-p n=64 -p c=0.5 --target cuda");
  CHECK(contains(numbers, "  a         read       float32  64     n\n"));
  CHECK(contains(numbers,
                 "synchronization\n"
                 "  kind           value  count\n"
                 "  barrier_local  1      1\n"
                 "  kernel_launch  1      1\n"));
  CHECK(contains(numbers, "flops  64 = n\n"));
  CHECK(contains(numbers, "flops per byte accessed  0.0625\nflops per byte touched  0.125\n"));
  const auto refused = [&](const std::string& options) {
    const Outcome o = tool("show k.loop --what stats " + options, f.str());
    CHECK(o.status == 1);
    return o.err;
  };
  CHECK(contains(refused("-p m=4"), "kernel `rev` has no scalar `m`; it has `n`, `c`"));
  CHECK(contains(refused("-p a=4"), "[unknown-parameter]"));
  CHECK(contains(refused("-p n=four"), "[bad-value]"));
  CHECK(contains(refused("-p n=5"), "with n = 5, what kernel `rev` assumes does not hold"));
  f.write("k.loop", R"(kernel rows(n: int32, s: int32[n+1], a: float64[1000], y: float64[n])
domain {[i]: 0 <= i < n}
domain [len] -> {[j]: 0 <= j < len}
<int32> len = s[i + 1] - s[i]
y[i] = sum(j, a[j])   {id=row}
)");
  CHECK(contains(stats("-p n=5"),
                 "operations\n  not counted: how often `row_update` runs depends on `len`, which "
                 "the kernel computes\n"));
}

TEST_CASE("cli: show --what stats places temporaries as code generation does") {
  const Folder f;
  f.write("two.loop",
          "kernel two(n: int32, a: float64[n], b: out float64[n])\n"
          "domain {[i, j]: 0 <= i, j < n}\ntemp v: float64[n]\n"
          "v[i] = 2*a[i]\nb[j] = v[n - 1 - j]\n");
  f.write("t.lua",
          "for _, i in ipairs{'i', 'j'} do\n"
          "two = two:split_iname(i, 128, {outer_tag = 'g.0', inner_tag = 'l.0'})\nend\n");
  const Outcome o = tool("show two.loop -t t.lua --what stats", f.str());
  CHECK(o.status == 0);
  CHECK(contains(o.out, "  global  load       v "));  // chosen by the groups' numbers: all have it
  CHECK(contains(o.out, "  global  store      v "));
  CHECK(!contains(o.out, "  local "));
}
