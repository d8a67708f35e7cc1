#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <set>

#include "core/diagnostic.h"
#include "core/infer.h"
#include "core/print.h"
#include "frontends/text/parse.h"
#include "runtime/runner.h"
#include "tests/differential/pairs.h"
#include "tests/differential/random_groups.h"
#include "tests/differential/unit.h"

namespace moonloop::differential {
namespace {

struct Member {
  const Pair* pair;
  Kernel original, result, read_again;  // completed
  Program c, openmp;
};

Kernel reread(const Kernel& k) {
  return parse_kernels(add_source("printed " + k.name, print_kernel(k))).at(0);
}

Problem problem_of(const Pair& p, const std::string& what) {
  return {p.seed, what, p.text, p.steps};
}

/// Runs one program on fresh arrays; the complaint, or nothing.
std::string complaint(const Member& m, const Program& p, const Executable& f,
                      const Expected& expected) {
  std::vector<Buffer> found = filled_buffers(m.result, integers_of(expected.scalars));
  call(f, p, expected.scalars, found);
  return difference(to_string(p.target), expected, found);
}

void run_member(const Member& m, const Library& library, std::vector<Problem>& problems) {
  const Executable c(m.c, library), openmp(m.openmp, library);
  for (const char* n : {"5", "8", "13"}) {
    const Expected expected(m.original, n, {.contract = false});
    for (const auto& [program, f] : {std::pair(&m.c, &c), std::pair(&m.openmp, &openmp)})
      if (const std::string what = complaint(m, *program, *f, expected); !what.empty()) {
        problems.push_back(problem_of(*m.pair, what));
        return;
      }
    // The text alone means the same, without the reference that the steps kept.
    std::vector<Buffer> found = filled_buffers(m.read_again, integers_of(expected.scalars));
    Bindings again = bindings_of(expected.scalars, found);
    interpret(m.read_again, again);
    if (const std::string what = difference("its text, read again,", expected, found);
        !what.empty()) {
      problems.push_back(problem_of(*m.pair, what));
      return;
    }
  }
}

}  // namespace

std::vector<Buffer> filled_buffers(const Kernel& k, const Integers& values) {
  std::vector<Buffer> out = make_buffers(k, values);
  keep_promises(out);
  return out;
}

Expected::Expected(const Kernel& original, const std::string& n, const Accuracy& accuracy)
    : scalars(read_scalars(original, {{"n", n}})),
      buffers(filled_buffers(original, integers_of(scalars))) {
  bounds.accuracy = accuracy;
  Bindings data = bindings_of(scalars, buffers);
  interpret(original, data, bounds);
}

std::string difference(const std::string& where, const Expected& expected,
                       const std::vector<Buffer>& found) {
  const ScalarArgument& n = expected.scalars[0];
  for (const Buffer& b : found) {
    if (!b.intact()) return fmt::format("{} wrote outside of `{}`", where, b.layout().name);
    for (const Buffer& e : expected.buffers) {
      if (e.layout().name != b.layout().name) continue;
      const Comparison c = compare(e, b, expected.bounds);
      if (!c.equal())
        return fmt::format(
            "{} with {} = {}: {}{} is {}, not {}, where {:.2g} is allowed; {} elements "
            "differ",
            where, n.name, n.text(), c.array, c.index, c.found, c.expected, c.bound, c.different);
    }
  }
  return {};
}

void run_pairs(const std::vector<Pair>& pairs, Statistics& statistics,
               std::vector<Problem>& problems) {
  Unit unit;
  std::vector<Member> members;
  for (const Pair& p : pairs) {
    if (std::getenv("MOONLOOP_VERBOSE"))
      fmt::print("about to run: {}\n", problem_of(p, "").str()), std::fflush(stdout);
    try {
      Member m{&p, complete(p.original), complete(p.result), complete(reread(p.result)), {}, {}};
      Kernel named = p.result;
      m.c = generate(named, Target::C);
      named.name += "_openmp";
      m.openmp = generate(named, Target::OpenMP);
      unit.add(m.c);
      unit.add(m.openmp);
      members.push_back(std::move(m));
    } catch (const Error& e) {  // a limit of the target, with its reason
      ++statistics.no_code[e.diagnostic().code];
      const std::string& code = e.diagnostic().code;
      if (code != "unsupported" && code != "unroll-bound")
        problems.push_back(problem_of(p, "no code for what was accepted: " + e.diagnostic().text));
    } catch (const std::exception& e) {
      problems.push_back(problem_of(p, std::string("no code for what was accepted: ") + e.what()));
    }
  }
  if (members.empty()) return;
  std::optional<Library> library;
  try {
    library = compile(unit.text(), Target::OpenMP, {.contract = false, .level = 1}, Cache(""));
  } catch (const Error& e) {
    if (pairs.size() == 1) {
      problems.push_back(problem_of(pairs[0], std::string("compiler: ") + e.what()));
      return;
    }
    for (const Pair& p : pairs) run_pairs({p}, statistics, problems);  // which one it is
    return;
  }
  statistics.run += static_cast<int>(members.size());
  for (const Member& m : members) {
    try {
      run_member(m, *library, problems);
    } catch (const std::exception& e) { problems.push_back(problem_of(*m.pair, e.what())); }
  }
}

}  // namespace moonloop::differential
