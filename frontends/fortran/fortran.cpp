#include "frontends/fortran/fortran.h"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>
#include <utility>

#include "core/base/diagnostic.h"
#include "core/base/memory.h"
#include "core/order/check_kernel.h"
#include "frontends/fortran/lower.h"
#include "frontends/fortran/modules.h"
#include "frontends/fortran/passes.h"
#include "frontends/fortran/project.h"
#include "frontends/fortran/teams.h"
#include "frontends/fortran/uses.h"

namespace moonloop {

namespace {

/// The ending of a path in small letters, and whether its first one is a capital.
std::pair<std::string, bool> ending(const std::string& path) {
  const std::size_t dot = path.rfind('.');
  std::string out = dot == std::string::npos ? "" : path.substr(dot + 1);
  const bool capital = out.starts_with('F');
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return {out, capital};
}

}  // namespace

bool is_fortran(const std::string& path) {
  for (const char* end : {"f90", "f95", "f03", "f08", "f", "for", "ftn"})
    if (ending(path).first == end) return true;
  return false;
}
bool is_fixed_form(const std::string& path, const FortranOptions& how) {
  if (how.fixed_form) return *how.fixed_form;
  const std::string end = ending(path).first;
  return end == "f" || end == "for" || end == "ftn";
}
bool is_preprocessed(const std::string& path) { return ending(path).second; }

#ifdef MOONLOOP_FORTRAN
namespace {

std::vector<fortran::Routine> read(const Source* source, const FortranOptions& options) {
  const memory::Unlimited no_exception_in_flang;
  std::vector<fortran::Routine> out = fortran::read_routines(source, options);
  fortran::settle_teams(options, out);
  return out;
}

Diagnostic warning_of(const FortranFile::LeftOut& l) {
  Diagnostic d = l.why.front();
  d.text = fmt::format("`{}` is left out: {}", l.name, d.text);
  if (l.why.size() > 1) d.text += fmt::format(" (and {} more)", l.why.size() - 1);
  return d;
}

/// What such a directive allows is proved where a script asks for it. One warning about directives,
/// one about clauses.
void warn_of_unheeded(const fortran::Routine& r, std::vector<FortranFile::Warning>& out) {
  if (!r.conditional.empty())
    out.push_back(
        {r.name,
         {"conditional-line",
          fmt::format("this line is left out, as it is for OpenMP alone{}",
                      r.conditional.size() > 1
                          ? fmt::format(" ({} more in `{}`)", r.conditional.size() - 1, r.name)
                          : ""),
          {r.conditional.front(), {}},
          {},
          "with `-fopenmp`, as compilers have it, it counts"}});
  for (const bool clauses : {false, true}) {
    const fortran::WithoutEffect* first = nullptr;
    int more = -1;
    for (const fortran::WithoutEffect& w : r.without_effect) {
      if (w.clause.empty() == clauses) continue;
      if (!first) first = &w;
      ++more;
    }
    if (!first) continue;
    const std::string rest = more > 0 ? fmt::format(" ({} more in `{}`)", more, r.name) : "";
    out.push_back({r.name,
                   {"unused-directive",
                    (clauses ? fmt::format("the clause `{}`", first->clause)
                             : "this directive for compilers") +
                        (first->orders ? " keeps the loop in order" : " has no effect") + rest,
                    {first->at, {}},
                    {},
                    "a script says how loops run, as in `lp.tag_inames(knl, {i = \"simd\"})`"}});
  }
}

/// Calls of routines of the file are their bodies, but for these.
void warn_of_kept_calls(const fortran::Routine& r, std::vector<FortranFile::Warning>& out) {
  for (const fortran::Routine::KeptCall& k : r.kept_calls)
    out.push_back(
        {r.name,
         {k.inlined ? "inlined-call" : "kept-call",
          fmt::format("the call of `{}` in `{}` {}", k.callee, r.name,
                      k.inlined ? "is replaced by its body" : "stays a call of what the file has"),
          {k.at, {}},
          {{k.why.where.at, k.why.text}},
          {}}});
}

/// Calls of Fortran from C keep loops in order, and cost more than what they stand for.
void warn_of_calls_in_loops(const std::string& routine, const std::vector<Span>& calls,
                            std::vector<FortranFile::Warning>& out) {
  if (calls.empty()) return;
  const std::string more = calls.size() > 1 ? fmt::format(" ({} more)", calls.size() - 1) : "";
  out.push_back(
      {routine,
       {"fortran-in-loop",
        fmt::format("a loop of `{}` calls Fortran for this in each iteration{}", routine, more),
        {calls.front(), {}},
        {},
        "such a loop stays in order; `show --what ir` has the call"}});
}

/// The errors that do not follow from another one of them, which is their note; each once, also
/// where it is the reason of a routine and of what that contains.
std::vector<Diagnostic> causes(const std::vector<Diagnostic>& all) {
  const auto is_same = [](const Diagnostic& a, const Diagnostic& b) {
    return a.text == b.text && a.where.at.str() == b.where.at.str();
  };
  const auto is_cause_of = [](const Diagnostic& a, const Diagnostic& b) {
    return !b.notes.empty() && b.notes.front().text == a.text &&
           b.notes.front().at.str() == a.where.at.str();
  };
  std::vector<Diagnostic> out;
  for (const Diagnostic& d : all)
    if (std::none_of(all.begin(), all.end(),
                     [&](const Diagnostic& other) { return is_cause_of(other, d); }) &&
        std::none_of(out.begin(), out.end(),
                     [&](const Diagnostic& other) { return is_same(other, d); }))
      out.push_back(d);
  return out;
}

Span place_of(const FortranFile::LeftOut& l) { return l.at ? l.at : l.why.front().where.at; }

/// Of included files only those with a Fortran file's name may be in free form.
bool is_in_fixed_form(const Source* home, const Source* file, const FortranOptions& options) {
  if (home == file) return is_fixed_form(home->name, options);
  return !is_fortran(home->name) || is_fixed_form(home->name, {});
}

/// Whether both have the same lines: a routine and its entries.
bool is_one_subprogram(const fortran::Routine& a, const fortran::Routine& b) {
  const FortranFile::Lines &x = a.home.routine, &y = b.home.routine;
  return a.at.source == b.at.source && x.first == y.first && x.last == y.last;
}

/// The innermost routine around a line of a file, or that follows it; null where there is none.
fortran::Routine* routine_around(const std::string& file, int line,
                                 std::vector<fortran::Routine>& routines) {
  fortran::Routine* found = nullptr;
  for (fortran::Routine& r : routines) {
    const FortranFile::Lines& lines = r.home.routine;
    const Source* source = r.at.source ? r.at.source : r.home.source;
    const bool here =
        source && source->name == file && lines.first - 1 <= line && line <= lines.last;
    if (here && (!found || lines.first > found->home.routine.first)) found = &r;
  }
  return found;
}

/// The routine that a line of comment belongs to.
fortran::Routine& routine_of(const fortran::RoutineMark& mark, std::string_view word,
                             std::vector<fortran::Routine>& routines) {
  fortran::Routine* found = routine_around(mark.at.source->name, mark.at.line, routines);
  if (!found)
    fail("syntax", mark.at, "`{}` is neither in a routine nor on the line before one", word);
  return *found;
}

/// Marks the routines that are to be functions of their own.
void mark_apart(const fortran::Blocks& blocks, std::vector<fortran::Routine>& routines) {
  for (const fortran::RoutineMark& mark : blocks.apart) {
    const fortran::Routine found = routine_of(mark, "noinline", routines);
    for (fortran::Routine& r : routines)
      if (is_one_subprogram(r, found)) r.apart = true;
  }
}

/// The routines whose schedules are to be chosen, with the lines that say so.
class AutomaticRoutines {
 public:
  /// Fails `syntax` for a line that belongs to no routine, and for a second one.
  AutomaticRoutines(const fortran::Blocks& blocks, std::vector<fortran::Routine>& routines) {
    for (const fortran::RoutineMark& mark : blocks.automatic) {
      const fortran::Routine found = routine_of(mark, "auto", routines);
      for (const fortran::Routine& r : routines) {
        if (!is_one_subprogram(r, found)) continue;
        if (const fortran::RoutineMark* first = of(r))
          throw Error(Diagnostic{"syntax",
                                 fmt::format("`auto` stands twice in `{}`", bare_name(r)),
                                 {mark.at, {}},
                                 {{first->at, "the first one is here"}},
                                 {}});
        all_.push_back({r.at, bare_name(r), &mark});
      }
    }
  }
  /// Null where there is none.
  const fortran::RoutineMark* of(const fortran::Routine& r) const {
    for (const Entry& e : all_)
      if (is_at(r, e)) return e.mark;
    return nullptr;
  }
  /// Fails `syntax` for a routine that is no longer among these, where its calls are.
  void require_kernels(const std::vector<fortran::Routine>& routines) const {
    for (const Entry& e : all_)
      if (std::none_of(routines.begin(), routines.end(),
                       [&](const fortran::Routine& r) { return is_at(r, e); }))
        throw Error(Diagnostic{
            "syntax",
            fmt::format("`{}` has no schedule of its own: its body takes the place of its calls",
                        e.name),
            {e.mark->at, {}},
            {},
            "write `auto` in the routine around it, or `noinline` in this one"});
  }

 private:
  struct Entry {
    Span at;
    std::string name;
    const fortran::RoutineMark* mark;
  };
  static bool is_at(const fortran::Routine& r, const Entry& e) {
    return r.at.source == e.at.source && r.at.line == e.at.line && r.at.col == e.at.col;
  }
  static std::string bare_name(const fortran::Routine& r) {
    const std::size_t end = r.name.find_last_of(":%");
    return end == std::string::npos ? r.name : r.name.substr(end + 1);
  }
  std::vector<Entry> all_;
};

/// Which arrays of kernels stay on the device: lines in the routines say so, and in modules.
class ResidentArrays {
 public:
  /// Fails `syntax` for a line that belongs to nothing.
  ResidentArrays(const Source* source, const fortran::Blocks& blocks,
                 std::vector<fortran::Routine>& routines, const FortranOptions& options)
      : source_(source), options_(options), lines_(blocks.residency) {
    for (const fortran::ResidencyLine& line : lines_)
      if (line.module.empty() && !routine_around(source_->name, line.order, routines))
        fail("syntax", line.at, "`{}` is neither in a routine nor among a module's declarations",
             line.kind == fortran::ResidencyLine::Kind::Resident ? "resident" : "update");
  }

  /// `all`: the routines that are left. Fails as mark_resident().
  void mark(Kernel& kernel, const fortran::Routine& routine, std::vector<fortran::Routine>& all) {
    bool of_modules = false;
    for (const Argument& a : kernel.args)
      of_modules = of_modules || (a.is_array && a.fortran.outer &&
                                  a.fortran.outer->kind == FortranOuter::Kind::Module);
    if (of_modules) read_modules();
    for (const fortran::ResidencyLine& line : lines_) {
      if (line.kind != fortran::ResidencyLine::Kind::Resident) continue;
      const fortran::Routine* in =
          line.module.empty() ? routine_around(source_->name, line.order, all) : &routine;
      if (in && is_one_subprogram(*in, routine)) mark_resident(kernel, line);
    }
  }

 private:
  /// Adds the lines in the modules of other files.
  void read_modules() {
    if (std::exchange(has_modules_, true)) return;
    for (const std::string& path : fortran::files_of_modules(source_, options_).paths) {
      std::ifstream in(path, std::ios::binary);
      const Source* module = add_source(path, std::string(std::istreambuf_iterator<char>(in), {}));
      const FortranOptions own = fortran::options_elsewhere(path, source_->name, options_);
      for (fortran::ResidencyLine& line :
           fortran::residency_lines(module, own, is_fixed_form(path, own)))
        if (!line.module.empty()) lines_.push_back(std::move(line));
    }
  }

  const Source* source_;
  const FortranOptions& options_;
  std::vector<fortran::ResidencyLine> lines_;
  bool has_modules_ = false;
};

/// The Lua for `auto`, on its line. Where other routines of the file call this one as a kernel, it
/// has the schedule of a function that they call.
FortranFile::Transform automatic_step(const fortran::RoutineMark& mark, const std::string& name,
                                      bool called) {
  std::string code(static_cast<std::size_t>(mark.at.line - 1), '\n');
  code += fmt::format("_G[\"{0}\"] = lp.auto(_G[\"{0}\"], {{prefix = \"{0}_\"", name);
  if (!mark.values.empty()) code += fmt::format(", params = {{{}}}", mark.values);
  if (called) code += ", called = true";
  return {mark.at.source, code + "})", name, true};
}

/// Kernels that call each other count alike: in 64 bits where one of them has to.
void count_together(std::vector<fortran::Routine>& routines) {
  for (fortran::Routine& r : routines) r.wide = r.errors.empty() && fortran::counts_in_64_bits(r);
  for (bool more = true; more;) {
    more = false;
    for (fortran::Routine& r : routines) {
      if (!r.errors.empty()) continue;
      const std::set<std::string> called = fortran::kernels_called(r.body);
      for (fortran::Routine& f : routines)
        if (called.contains(f.name) && f.wide != r.wide) f.wide = r.wide = more = true;
    }
  }
}

/// The routines of a file as kernels, those that others call as such before these.
class LoweredRoutines {
 public:
  LoweredRoutines(std::vector<fortran::Routine>& all, const fortran::Blocks& blocks,
                  const FortranOptions& options)
      : all_(all), blocks_(blocks), options_(options) {}

  /// Fails with the reasons why it is no kernel.
  fortran::Lowered& of(std::size_t n) {
    if (const auto it = done_.find(n); it != done_.end()) return it->second;
    fortran::Routine& r = all_[n];
    if (!r.errors.empty()) throw Error(r.errors);
    std::vector<std::string> outputs;
    std::map<std::string, std::shared_ptr<const CalledKernel>> callees;
    for (const std::string& name : fortran::kernels_called(r.body)) {
      const auto it = std::find_if(all_.begin(), all_.end(),
                                   [&](const fortran::Routine& f) { return f.name == name; });
      ensure(it != all_.end(), "a routine that is called as a kernel");
      const fortran::Lowered& callee = of(static_cast<std::size_t>(it - all_.begin()));
      outputs.insert(outputs.end(), callee.outputs.begin(), callee.outputs.end());
      callees.emplace(name, called_[name]);
    }
    fortran::settle_independence(r);
    fortran::Lowered own = fortran::lower(r, blocks_, options_, callees);
    for (std::string& text : outputs)
      if (std::find(own.outputs.begin(), own.outputs.end(), text) == own.outputs.end())
        own.outputs.push_back(std::move(text));
    if (r.apart)
      called_[r.name] = std::make_shared<CalledKernel>(
          CalledKernel{std::make_shared<Kernel>(complete(own.kernel)), nullptr});
    return done_.emplace(n, std::move(own)).first->second;
  }

 private:
  std::vector<fortran::Routine>& all_;
  const fortran::Blocks& blocks_;
  const FortranOptions& options_;
  std::map<std::size_t, fortran::Lowered> done_;
  std::map<std::string, std::shared_ptr<const CalledKernel>> called_;  // by routine
};

/// The file, also where it has no kernel.
FortranFile read_file(const Source* source, const FortranOptions& options) {
  const fortran::Blocks blocks = fortran::read_blocks(source, options);
  FortranFile out;
  struct Step {
    int line;  // of `source`, where it is, or its file is included
    FortranFile::Transform what;
  };
  std::vector<Step> steps;
  std::vector<fortran::Routine> routines = read(source, options);
  mark_apart(blocks, routines);
  const AutomaticRoutines automatic(blocks, routines);
  ResidentArrays resident(source, blocks, routines, options);
  routines = fortran::inline_calls(std::move(routines));
  automatic.require_kernels(routines);
  std::vector<std::pair<std::string, const fortran::RoutineMark*>> scheduled;
  count_together(routines);
  LoweredRoutines lowered(routines, blocks, options);
  for (std::size_t n = 0; n < routines.size(); ++n) try {
      fortran::Routine& r = routines[n];
      fortran::Lowered& own = lowered.of(n);
      resident.mark(own.kernel, r, routines);
      warn_of_unheeded(r, out.warnings);
      warn_of_kept_calls(r, out.warnings);
      warn_of_calls_in_loops(r.name, own.calls_in_loops, out.warnings);
      out.kernels.push_back(own.kernel);
      r.home.outputs = own.outputs;
      r.home.outputs_inside = own.outputs_inside;
      r.home.pointers = own.pointers;
      if (r.home.source) r.home.fixed = is_in_fixed_form(r.home.source, source, options);
      for (const fortran::ResidencyLine& line : blocks.residency)
        if (line.module.empty()) r.home.residency.push_back(line.order);
      if (r.home.source) out.homes.emplace(r.name, r.home);
      // The schedule begins with what all directives of its routine make, also those behind it.
      const fortran::RoutineMark* mark = automatic.of(r);
      for (auto& s : own.steps)
        steps.push_back(
            {mark ? std::min(s.first, mark->order) : s.first,
             {source,
              std::string(static_cast<std::size_t>(s.first - 1), '\n') + std::move(s.second),
              out.kernels.back().name}});
      if (mark) scheduled.emplace_back(out.kernels.back().name, mark);
    } catch (const Error& e) {
      const fortran::Routine& r = routines[n];
      out.left_out.push_back({r.name, r.at, e.diagnostics(), r.is_program});
      out.warnings.push_back({routines[n].name, warning_of(out.left_out.back())});
    }
  for (const auto& [name, mark] : scheduled) {
    const bool called = std::any_of(out.kernels.begin(), out.kernels.end(),
                                    [&](const Kernel& k) { return k.callees.count(name) > 0; });
    steps.push_back({mark->order, automatic_step(*mark, name, called)});
  }
  for (const fortran::Block& b : blocks.transforms)
    steps.push_back({b.order, {b.at.source, fortran::transform_text(b), {}}});
  std::stable_sort(steps.begin(), steps.end(),
                   [](const Step& a, const Step& b) { return a.line < b.line; });
  for (Step& s : steps) out.transforms.push_back(std::move(s.what));
  return out;
}

}  // namespace

FortranFile parse_fortran(const Source* source, const FortranOptions& options) {
  FortranFile out = read_file(source, options);
  if (out.kernels.empty()) {
    std::vector<Diagnostic> errors;
    const auto any = [&](const auto& which) {
      return std::any_of(out.left_out.begin(), out.left_out.end(), which);
    };
    const auto is_wanted = [&](const auto& l) { return options.wanted.count(l.name) > 0; };
    const bool routines = any([](const auto&l) { return !l.is_program; }), some = any(is_wanted);
    for (const FortranFile::LeftOut& l : out.left_out)
      if (some ? is_wanted(l) : !l.is_program || !routines)
        errors.insert(errors.end(), l.why.begin(), l.why.end());
    if (!errors.empty()) throw Error(causes(errors));
  }
  return out;
}

std::vector<FortranImport> fortran_imports(const Source* source, const FortranOptions& options) {
  const FortranFile file = read_file(source, options);
  std::vector<FortranImport> out;
  for (const Kernel& k : file.kernels) {
    out.push_back({k.name, k.at, {}, std::make_shared<const Kernel>(k), {}});
    for (const FortranFile::Transform& t : file.transforms)
      if (t.kernel == k.name && !t.automatic) out.back().directives.push_back(t);
  }
  for (const FortranFile::LeftOut& l : file.left_out)
    out.push_back({l.name, place_of(l), l.why, {}, {}});
  std::stable_sort(out.begin(), out.end(), [](const FortranImport& a, const FortranImport& b) {
    return a.at.line < b.at.line;
  });
  return out;
}
#else
std::vector<FortranImport> fortran_imports(const Source* source, const FortranOptions& options) {
  parse_fortran(source, options);
  return {};
}

FortranFile parse_fortran(const Source* source, const FortranOptions&) {
  fail("unsupported", {}, "this moonloop is built without Fortran, which `{}` is", source->name);
}
#endif

}  // namespace moonloop
