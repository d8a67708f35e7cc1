#include "cli/replacement.h"

#include <algorithm>
#include <set>

#include "core/base/diagnostic.h"
#include "frontends/fortran/includes.h"
#include "frontends/fortran/residency.h"

// Routines of Fortran files and what takes their places.
namespace moonloop::cli {
namespace {

/// Text of the interface, whose statements may go on over lines, in lines of fixed form. They are
/// filled to their ends, so that characters go on there.
std::string in_fixed_form(const std::string& text, int columns) {
  const std::size_t room = static_cast<std::size_t>(std::max(columns, 16)) - 6;
  std::string out, statement;
  const auto write = [&] {
    const std::size_t digits = statement.find_first_not_of("0123456789");
    std::string head = statement.substr(0, digits);  // a label
    head.resize(6, ' ');
    statement.erase(0, statement.find_first_not_of(' ', digits));
    for (std::size_t at = 0; at < statement.size(); at += room)
      out += (at == 0 ? head : "     &") + statement.substr(at, room) + "\n";
    statement.clear();
  };
  bool goes_on = false;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, end - at);
    at = end + 1;
    const std::size_t first = line.find_first_not_of(' ');
    if (first == std::string::npos || (!goes_on && line[first] == '!')) {
      std::string rest = first == std::string::npos ? "" : line.substr(first);
      static constexpr std::string_view kOpenMP = "!$omp";
      if (rest.starts_with(kOpenMP))  // over as many lines as it takes
        for (; rest.size() > room + 6; rest = std::string(kOpenMP) + "&" + rest.substr(room + 6))
          out += rest.substr(0, room + 6) + "\n";
      out += rest + "\n";
      continue;
    }
    line.erase(0, goes_on && line[first] == '&' ? first + 1 : first);
    goes_on = line.ends_with('&');
    if (goes_on) line.pop_back();
    statement += line;
    if (!goes_on) write();
  }
  return out;
}

bool is_directive(std::string_view line) { return line.starts_with('#'); }

bool preprocessed(const FortranFile::Home& h) {
  return is_preprocessed(h.source->name) && !h.fixed;
}

/// Text that the preprocessor would put there: of a routine, where it is in one.
bool is_include(std::string_view line) {
  const std::size_t word = line.find_first_not_of(" \t", 1);
  return is_directive(line) && word != std::string_view::npos &&
         line.substr(word).starts_with("include");
}

/// The modules of the file that the routines are in, or all of it where they are in its main
/// program, with the replacements in their places; and the preprocessor's directives anywhere
/// that decide what is in these.
std::string file_with(const std::vector<Replaced>& all, const Source* source, bool whole,
                      const HostCalls& calls, int columns) {
  const auto in = [](const FortranFile::Lines& l, int n) { return l.first <= n && n <= l.last; };
  std::string out;
  bool goes_on = false;  // of a directive on the line before
  for (int n = 1; n <= static_cast<int>(source->line_starts.size()); ++n) {
    const std::string_view line = source->line(n);
    bool kept = whole, replaced = false, directive = false;
    std::string by;
    for (const Replaced& r : all) {
      if (!r.home || r.home->source != source) continue;
      directive = preprocessed(*r.home) && (goes_on || is_directive(line));
      replaced = replaced || in(r.home->routine, n);
      for (const FortranFile::Lines& m : r.home->modules) kept = kept || in(m, n);
      if (n == r.home->routine.last)
        by += r.home->fixed ? in_fixed_form(r.by.routine, columns) : r.by.routine;
    }
    goes_on = directive && line.ends_with('\\');
    directive = directive && !(replaced && is_include(line));
    if (const auto call = calls.find(n); call != calls.end() && kept && !replaced)
      out += call->second;
    else if (directive || (kept && !replaced))
      out += std::string(line) + "\n";
    out += by;
  }
  return out;
}

/// Whether the interface of a routine has to be where the routine is.
bool has_place(const FortranFile::Home& h) { return h.program || !h.module.empty(); }

AroundRoutine around(const FortranFile::Home& h, const Kernel& k) {
  AroundRoutine out;
  out.module = h.module;
  out.submodules = h.submodules;
  out.separate = h.separate;
  out.contained = has_place(h);
  out.pure = h.pure;
  out.elemental = h.elemental;
  out.recursive = h.recursive;
  out.values = h.values;
  out.intents = h.intents;
  out.boxes = h.boxes;
  out.alternate = h.alternate;
  out.alternates = h.alternates;
  out.bound = h.bound;
  out.as_declared = true;
  out.outputs = h.outputs;
  out.outputs_inside = h.outputs_inside;
  out.pointers = h.pointers;
  out.team = h.team;
  for (const Argument& a : k.args) {
    if (a.intent == Intent::Unknown && a.fortran.pointer.empty())
      out.undeclared.insert(a.fortran.component ? a.fortran.component->of : a.name);
    if (a.strides) out.assumed_size.insert(a.name);
  }
  return out;
}

/// The preprocessor's directives in the file of `h` need a name that asks for them.
void check_name(const std::string& text, const FortranFile::Home& h, const Kernel& k,
                const Common& common, const std::string& to) {
  const bool again =
      !h.modules.empty() && (!common.fortran.defines.empty() || text.starts_with('#') ||
                             text.find("\n#") != std::string::npos);
  if (preprocessed(h) && again && !to.ends_with(".F90"))
    fail("unsupported", k.at,
         "`{}` is in a file with modules for the preprocessor, which the interface has too; name "
         "it `{}.F90`, and compile it with the same definitions",
         k.name, to.ends_with(".f90") ? to.substr(0, to.size() - 4) : to);
}

}  // namespace

std::string interface_file(const std::vector<Replaced>& all, const std::vector<Kernel>& kernels,
                           const Common& common, const std::string& to) {
  std::string out, middle, after;
  std::vector<const Source*> sources;
  const bool fixed = is_fixed_form(to, FortranOptions());
  const auto in_form = [&](const std::string& text) {
    return fixed ? in_fixed_form(text, common.fortran.fixed_columns) : text;
  };
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Replaced& r = all[i];
    out += in_form(r.by.module);
    after += in_form(r.by.after);
    const bool alone =
        !r.home || r.home->modules.empty() || (r.home->fixed && !fixed && !has_place(*r.home));
    if (!alone && r.home->fixed != fixed)
      fail("unsupported", kernels[i].at,
           "`{}` is in {} of a file in {} form, which the interface has too; name it `{}`",
           kernels[i].name,
           r.home->program ? "the main program" : "the module `" + r.home->module + "`",
           r.home->fixed ? "fixed" : "free",
           to.substr(0, to.rfind('.')) + (r.home->fixed ? ".f" : ".f90"));
    if (alone) {
      middle += in_form(r.by.routine);
    } else if (std::find(sources.begin(), sources.end(), r.home->source) == sources.end()) {
      sources.push_back(r.home->source);
      middle += file_with(
          all, r.home->source, false,
          common.target == Target::Cuda ? host_calls(r.home->source, common.fortran) : HostCalls{},
          common.fortran.fixed_columns);
    }
  }
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i].home) check_name(middle, *all[i].home, kernels[i], common, to);
  return out + middle + after;
}

std::string file_of(const std::vector<Replaced>& all, const HostCalls& calls) {
  std::string out, after;
  for (const Replaced& r : all) out += r.by.module, after += r.by.after;
  return out + file_with(all, all.front().home->source, true, calls, 0) + after;
}

namespace {

/// Puts calls into a text and into those that it includes, which then stand in it.
class CallsInPlace {
 public:
  CallsInPlace(const Source* source, const FortranOptions& how, bool fixed) : how_(how) {
    for (const fortran::ResidencyLine& line : fortran::residency_lines(source, how, fixed))
      if (line.module.empty()) {
        calls_.emplace(std::pair(line.at.source->name, line.at.line),
                       fortran::calls_of(line, fixed));
        lines_.insert(line.order);
      }
  }
  /// Of the source's own lines, those that change.
  HostCalls of(const Source* source) {
    HostCalls out;
    for (const int n : lines_) out.emplace(n, line(source, n));
    return out;
  }

 private:
  std::string line(const Source* source, int n) {
    const std::string_view text = source->line(n);
    const auto call = calls_.find({source->name, n});
    if (call != calls_.end()) return call->second;
    const std::string name = fortran::included_by(text);
    const Source* included = name.empty() ? nullptr : fortran::included_source(source, name, how_);
    if (!included || !open_.insert(included->name).second) return std::string(text) + "\n";
    std::string out;
    for (int i = 1; i <= static_cast<int>(included->line_starts.size()); ++i)
      out += line(included, i);
    open_.erase(included->name);
    return out;
  }

  const FortranOptions& how_;
  std::map<std::pair<std::string, int>, std::string> calls_;  // by file and line
  std::set<int> lines_;
  std::set<std::string> open_;
};

}  // namespace

HostCalls host_calls(const Source* source, const FortranOptions& how) {
  return CallsInPlace(source, how, is_fixed_form(source->name, how)).of(source);
}

std::pair<std::string, std::string> files_of_fixed(const std::vector<Replaced>& all, int columns,
                                                   const HostCalls& calls) {
  std::pair<std::string, std::string> out;
  for (const Replaced& r : all) out.first += r.by.module;
  out.second = file_with(all, all.front().home->source, true, calls, columns);
  for (const Replaced& r : all) out.second += in_fixed_form(r.by.after, columns);
  return out;
}

std::string text_with(const Source* source, const HostCalls& calls) {
  std::string out;
  for (int n = 1; n <= static_cast<int>(source->line_starts.size()); ++n) {
    const auto call = calls.find(n);
    out += call != calls.end() ? call->second : std::string(source->line(n)) + "\n";
  }
  return out;
}

namespace {

/// The lines of a subprogram go as a whole, with those of its entries.
void check_entries(const std::vector<Kernel>& kernels, const Kernel& k,
                   const FortranFile::Home& home) {
  for (const std::string& entry : home.entries)
    if (std::none_of(kernels.begin(), kernels.end(),
                     [&](const Kernel& other) { return other.name == entry; }))
      fail("unsupported", k.at,
           "`{}` cannot be replaced without `{}`, which is an entry of the same subprogram; choose "
           "both",
           k.name, entry);
}

/// Whether lines of the kernels' files name arrays that stay on the device outside of the kernels.
bool host_asks(const std::vector<Kernel>& kernels, const FortranFile& file) {
  std::vector<const FortranFile::Home*> homes;
  for (const Kernel& k : kernels)
    if (const auto it = file.homes.find(k.name); it != file.homes.end())
      homes.push_back(&it->second);
  std::set<const Source*> seen;
  for (const FortranFile::Home* h : homes) {
    if (!seen.insert(h->source).second) continue;
    for (const int line : h->residency)
      if (std::none_of(homes.begin(), homes.end(), [&](const FortranFile::Home* other) {
            return other->source == h->source && other->routine.first <= line &&
                   line <= other->routine.last;
          }))
        return true;
  }
  return false;
}

/// What of a routine that threads call runs for one of them at a time.
std::optional<Diagnostic> by_one_thread(const Kernel& k, const FortranTeam& team, bool shared) {
  if (team.shares && !shared)
    return Diagnostic{"one-thread",
                      fmt::format("threads that call `{}` share this: one of them runs all of the "
                                  "routine, and the others wait",
                                  k.name),
                      {team.at, {}},
                      {},
                      "with `--target openmp`, they share loops alone, without sums"};
  if (!team.criticals.empty())
    return Diagnostic{"one-thread",
                      fmt::format("threads that call `{}` run it one after the other, as it has a "
                                  "critical section",
                                  k.name),
                      {k.at, {}},
                      {},
                      {}};
  return std::nullopt;
}

/// What follows a text at each of its places in another, up to one of the letters in `end`.
std::vector<std::string> all_after(const std::string& word, const std::string& text,
                                   const char* end) {
  std::vector<std::string> out;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at)) {
    at += word.size();
    out.push_back(text.substr(at, text.find_first_of(end, at) - at));
  }
  return out;
}

/// Without the continuations of lines in free form.
std::string joined_lines(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '&' && text[i + 1] == '\n')
      i = std::min(text.find_first_not_of(" &", i + 2), text.size()) - 1;
    else
      out += text[i];
  }
  return out;
}

}  // namespace

std::vector<std::string> own_labels(const Replacement& r) {
  std::vector<std::string> out = r.names;
  for (std::size_t i = 0; i < r.routines.size(); ++i) {
    const Replaced& x = r.routines[i];
    const std::string inside = joined_lines("\n" + x.by.routine),
                      after = joined_lines("\n" + x.by.after);
    for (const std::string& label :
         all_after("bind(c, name=\"", x.by.module + inside + after, "\""))
      if (!x.home || !x.home->bound || label != *x.home->bound) out.push_back(label);
    for (const char* word : {"\nsubroutine ", "\nrecursive subroutine "}) {
      for (const std::string& name : all_after(word, after, "( \n")) out.push_back(name + "_");
      for (const std::string& name : all_after(word, inside, "( \n"))
        if (!r.names[i].starts_with(name)) out.push_back("*_" + name);  // beside the routine
    }
    for (const std::string& module : all_after("\nmodule ", "\n" + x.by.module, "\n"))
      out.push_back("*" + module + "*");
  }
  return out;
}

Replacement replace_routines(const std::vector<Kernel>& kernels, const FortranFile& file,
                             Target target, bool interfaces, GenerateOptions options) {
  Replacement out;
  options.host_arrays = interfaces;
  std::vector<Pieces> pieces;
  const auto home_of = [&](const Kernel& k) {
    const auto it = file.homes.find(k.name);
    return it == file.homes.end() ? nullptr : &it->second;
  };
  if (interfaces && target == Target::Cuda && host_asks(kernels, file)) {
    options.host_asks = true;
    if (options.resident == Residency::None) options.resident = Residency::Asked;
  }
  std::set<std::string> bound;  // names that the interfaces' routines have in C
  for (const Kernel& k : kernels)
    if (const FortranFile::Home* home = home_of(k); interfaces && home && home->bound)
      bound.insert(*home->bound);
  for (const Kernel& k : kernels) {
    Kernel called = k;
    while (bound.contains(called.name)) called.name += "_kernel";
    const FortranTeam team = home_of(k) ? home_of(k)->team : FortranTeam{};
    options.called_by_threads = team.updates;
    options.called_by_team = team.shares && team.loops_alone && team.criticals.empty();
    Program program = generate(std::move(called), target, options);
    out.names.push_back(program.name);
    if (auto d = by_one_thread(k, team, program.loops_of_team)) out.warnings.push_back(*d);
    if (interfaces) {
      const FortranFile::Home* home = home_of(k);
      if (home) check_entries(kernels, k, *home);
      out.routines.push_back(
          {home, fortran_interface(program, k.name, home ? around(*home, k) : AroundRoutine{})});
      program.pieces.functions += out.routines.back().by.c;
    }
    out.header = std::move(program.header);
    pieces.push_back(std::move(program.pieces));
  }
  out.code = text_of(pieces);
  return out;
}

}  // namespace moonloop::cli
