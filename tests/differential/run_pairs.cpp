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

namespace moonloop::differential {
namespace {

/// One translation unit of many programs: what they have in common stands in it once.
class Unit {
 public:
  void add(const Program& p) {
    std::string rest = p.source;
    std::size_t at = 0;
    while (at < rest.size()) {
      std::size_t end = rest.find('\n', at);
      end = end == std::string::npos ? rest.size() : end + 1;
      if (rest.compare(at, 6, "static") == 0) {
        const std::size_t close = rest.find("\n}\n", at);
        if (close != std::string::npos) end = close + 3;
      } else if (rest[at] != '#') {
        at = end;
        continue;
      }
      const std::string piece = rest.substr(at, end - at);
      if (piece[0] == '#' && piece.find("#include") != 0) {
        at = end;
        continue;
      }
      if (common_.insert(piece).second) text_ += piece;
      rest.erase(at, end - at);
    }
    text_ += rest + uniform_entry(p);
  }
  const std::string& text() const { return text_; }

 private:
  std::set<std::string> common_;
  std::string text_;
};

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

void call(const Executable& f, const Program& p, const std::vector<ScalarArgument>& scalars,
          std::vector<Buffer>& buffers) {
  std::vector<std::array<std::byte, 16>> values(p.params.size());
  std::vector<void*> args;
  for (std::size_t i = 0; i < p.params.size(); ++i) {
    for (const ScalarArgument& s : scalars)
      if (s.name == p.params[i].name) store_value(s.type.scalar, s.value, values[i].data());
    void* at = values[i].data();
    for (const Buffer& b : buffers)
      if (b.layout().name == p.params[i].name) at = b.data();
    args.push_back(at);
  }
  f(args.data());
}

/// Runs one program on fresh arrays; the complaint, or nothing.
std::string complaint(const Member& m, const Program& p, const Executable& f,
                      const std::vector<ScalarArgument>& scalars,
                      const std::vector<Buffer>& expected, double tolerance) {
  std::vector<Buffer> found = make_buffers(m.result, integers_of(scalars));
  call(f, p, scalars, found);
  return difference(to_string(p.target), scalars, expected, found, tolerance);
}

void run_member(const Member& m, const Library& library, std::vector<Problem>& problems) {
  const Executable c(m.c, library), openmp(m.openmp, library);
  const double tolerance = tolerance_of(*m.pair);
  for (const char* n : {"5", "8", "13"}) {
    const auto scalars = read_scalars(m.original, {{"n", n}});
    std::vector<Buffer> expected = make_buffers(m.original, integers_of(scalars));
    Bindings data = bindings_of(scalars, expected);
    interpret(m.original, data);
    for (const auto& [program, f] : {std::pair(&m.c, &c), std::pair(&m.openmp, &openmp)})
      if (const std::string what = complaint(m, *program, *f, scalars, expected, tolerance);
          !what.empty()) {
        problems.push_back(problem_of(*m.pair, what));
        return;
      }
    // The text alone means the same, without the reference that the steps kept.
    std::vector<Buffer> found = make_buffers(m.read_again, integers_of(scalars));
    Bindings again = bindings_of(scalars, found);
    interpret(m.read_again, again);
    if (const std::string what =
            difference("its text, read again,", scalars, expected, found, tolerance);
        !what.empty()) {
      problems.push_back(problem_of(*m.pair, what));
      return;
    }
  }
}

}  // namespace

double tolerance_of(const Pair& p) {
  const auto reduces = [](const Kernel& k) {
    return std::any_of(k.instructions.begin(), k.instructions.end(), [&](const InsnPtr& i) {
      return i->rhs && contains_reduction(expand_rules(k, i->rhs));
    });
  };
  const auto recognizes = [](const Call& c) { return c.name == "recognize_reduction"; };
  const bool any = reduces(p.original) || reduces(p.result) ||
                   std::any_of(p.steps.begin(), p.steps.end(), recognizes);
  return any ? kToleranceFactor : 0;
}

std::string difference(const std::string& where, const std::vector<ScalarArgument>& scalars,
                       const std::vector<Buffer>& expected, const std::vector<Buffer>& found,
                       double tolerance) {
  for (const Buffer& b : found) {
    if (!b.intact()) return fmt::format("{} wrote outside of `{}`", where, b.layout().name);
    for (const Buffer& e : expected) {
      if (e.layout().name != b.layout().name) continue;
      const Comparison c = compare(e, b, tolerance, 64);
      if (!c.equal())
        return fmt::format("{} with {} = {}: {}{} is {}, not {}; {} elements differ", where,
                           scalars[0].name, scalars[0].text(), c.array, c.index, c.found,
                           c.expected, c.different);
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
