#include "frontends/fortran/directive_text.h"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>

#include "core/base/diagnostic.h"
#include "frontends/fortran/includes.h"
#include "frontends/fortran/modules.h"

namespace moonloop::fortran {
namespace {

bool in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

/// A directive of one or more lines, without what makes these lines of one.
struct Written {
  bool acc = false;
  std::string text;                  // in small letters
  std::vector<std::size_t> at;       // of each letter in the file
  std::vector<std::size_t> dollars;  // of its lines
  std::size_t first = 0, last = 0;   // lines, from 0

  /// The words before the first bracket.
  std::string head() const {
    std::string out;
    for (const char c : text.substr(0, text.find('(')))
      if (!is_blank(c) || (!out.empty() && out.back() != ' ')) out += is_blank(c) ? ' ' : c;
    return out + " ";
  }
  bool is_end() const { return head().starts_with("end"); }
  bool has(std::string_view word) const {
    return (" " + head()).find(" " + std::string(word) + " ") != std::string::npos;
  }
  bool is_of_loop() const {
    if (is_end()) return false;
    if (acc) return has("loop");
    const auto any = {"do", "simd", "loop", "distribute", "taskloop"};
    return std::any_of(any.begin(), any.end(), [&](const char* w) { return has(w); });
  }
};

class Lines {
 public:
  Lines(std::string_view text, bool fixed) : text_(text), fixed_(fixed) {
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      all_.emplace_back(at, end);
      at = end + 1;
    }
  }

  std::size_t size() const { return all_.size(); }
  std::string_view line(std::size_t n) const {
    return text_.substr(all_[n].first, all_[n].second - all_[n].first);
  }

  /// Where the `$` of a directive is in a line.
  std::optional<std::size_t> dollar(std::size_t n, bool& acc) const {
    const std::string_view l = line(n);
    std::size_t at = fixed_ ? 0 : l.find_first_not_of(" \t");
    if (at == std::string_view::npos || at + 5 > l.size()) return std::nullopt;
    if (l[at] != '!' && !(fixed_ && std::string_view("cC*").find(l[at]) != std::string_view::npos))
      return std::nullopt;
    std::string word;
    for (const char c : l.substr(at + 1, 4))
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (word != "$omp" && word != "$acc") return std::nullopt;
    if (at + 5 < l.size() && in_word(l[at + 5]) && !fixed_) return std::nullopt;
    acc = word == "$acc";
    return all_[n].first + at + 1;
  }

  /// Where the `$` of a line is that counts for OpenMP alone.
  std::optional<std::size_t> condition(std::size_t n) const {
    const std::string_view l = line(n);
    const std::size_t at = fixed_ ? 0 : l.find_first_not_of(" \t");
    if (at == std::string_view::npos || at + 2 >= l.size() || l[at + 1] != '$') return std::nullopt;
    if (l[at] != '!' && !(fixed_ && std::string_view("cC*").find(l[at]) != std::string_view::npos))
      return std::nullopt;
    if (fixed_) {  // a label may follow
      for (std::size_t i = 2; i < 5 && i < l.size() && l[i] != '\t'; ++i)
        if (l[i] != ' ' && !std::isdigit(static_cast<unsigned char>(l[i]))) return std::nullopt;
    } else if (!is_blank(l[at + 2]) && l[at + 2] != '&') {
      return std::nullopt;
    }
    return all_[n].first + at + 1;
  }

  /// Nothing, or a comment that is no directive.
  bool is_empty(std::size_t n) const {
    bool acc = false;
    const std::string_view l = line(n);
    const std::size_t at = l.find_first_not_of(" \t\r");
    if (at == std::string_view::npos) return true;
    const bool comment =
        l[at] == '!' || (fixed_ && at == 0 && (l[0] == 'c' || l[0] == 'C' || l[0] == '*'));
    return comment && !dollar(n, acc);
  }

  std::vector<Written> directives() const {
    std::vector<Written> out;
    bool goes_on = false;
    for (std::size_t n = 0; n < size(); ++n) {
      bool acc = false;
      const auto dollar_at = dollar(n, acc);
      if (!dollar_at) {
        if (!is_empty(n)) goes_on = false;
        continue;
      }
      std::size_t at = *dollar_at + 4, end = all_[n].second;
      if (fixed_ && at < end) {
        goes_on = !out.empty() && text_[at] != ' ' && text_[at] != '0' && out.back().acc == acc;
        ++at;
      }
      if (!goes_on || out.empty() || out.back().acc != acc) {
        out.emplace_back();
        out.back().acc = acc;
        out.back().first = n;
      }
      Written& w = out.back();
      w.last = n;
      w.dollars.push_back(*dollar_at);
      std::size_t stop = at;
      for (char quote = 0; stop < end; ++stop) {
        const char c = text_[stop];
        if (quote == 0 && c == '!') break;
        if (quote != 0 ? c == quote : c == '\'' || c == '"') quote = quote != 0 ? '\0' : c;
      }
      while (stop > at && is_blank(text_[stop - 1])) --stop;
      const bool more = !fixed_ && stop > at && text_[stop - 1] == '&';
      if (more) --stop;
      for (; at < stop; ++at) {
        if (!fixed_ && text_[at] == '&') continue;
        w.text += static_cast<char>(std::tolower(static_cast<unsigned char>(text_[at])));
        w.at.push_back(at);
      }
      w.text += ' ';
      w.at.push_back(stop);
      goes_on = more;
    }
    return out;
  }

  /// Whether only comments are between two directives.
  bool are_together(const Written& a, const Written& b) const {
    for (std::size_t n = a.last + 1; n < b.first; ++n)
      if (!is_empty(n)) return false;
    return true;
  }

 private:
  std::string_view text_;
  bool fixed_;
  std::vector<std::pair<std::size_t, std::size_t>> all_;  // begin and end
};

/// The place of the `-` in `reduction(-: x)`, also behind modifiers.
void find_minus(const Written& w, std::vector<std::size_t>& out) {
  static constexpr std::string_view kClause = "reduction";
  for (std::size_t at = w.text.find(kClause); at != std::string::npos;
       at = w.text.find(kClause, at + 1)) {
    std::size_t open = at + kClause.size();
    while (open < w.text.size() && w.text[open] == ' ') ++open;
    if (open >= w.text.size() || w.text[open] != '(') continue;
    const std::size_t colon = w.text.find(':', open), close = w.text.find(')', open);
    if (colon == std::string::npos || colon > close) continue;
    std::size_t sign = colon;
    while (sign > open && is_blank(w.text[sign - 1])) --sign;
    if (w.text[sign - 1] == '-') out.push_back(w.at[sign - 1]);
  }
}

/// What OpenMP and OpenACC call directives and clauses.
const std::vector<std::string>& known_words() {
  static const std::string_view text =
      "acc acq_rel acquire affinity aligned allocate allocators assume assumes async at "
      "atomic attach auto barrier begin bind cache cancel cancellation capture collapse "
      "compare copy copyin copyout copyprivate create critical data declare default "
      "default_async defaultmap delete depend depobj destroy detach device device_num "
      "device_resident device_type deviceptr dispatch dist_schedule distribute do doacross "
      "end enter error exclusive exit fail filter final finalize firstprivate flush from "
      "full gang grainsize has_device_addr hint host host_data if if_present in_reduction "
      "inbranch inclusive independent indirect init inscan interop is_device_ptr kernels "
      "lastprivate linear link loop map mapper masked master match mergeable message "
      "metadirective no_create nocontext nogroup nohost nontemporal notinbranch novariants "
      "nowait num_gangs num_tasks num_teams num_threads num_workers order ordered "
      "otherwise parallel partial pcopy pcopyin pcopyout pcreate present present_or_copy "
      "present_or_copyin present_or_copyout present_or_create priority private proc_bind "
      "read reduction relaxed release requires routine safelen scan schedule section "
      "sections self seq seq_cst serial set severity shared shutdown simd simdlen single "
      "sizes target task task_reduction taskgroup taskloop taskwait taskyield teams "
      "thread_limit threadprivate threads tile to uniform unroll untied update use "
      "use_device use_device_addr use_device_ptr uses_allocators variant vector "
      "vector_length wait weak when worker workers workshare write ";
  static const std::vector<std::string> all = [] {
    std::vector<std::string> out(1);
    for (const char c : text)
      if (c == ' ')
        out.emplace_back();
      else
        out.back() += c;
    out.pop_back();
    return out;
  }();
  return all;
}

}  // namespace

DirectiveText readable_directives(const Source& source, bool fixed, bool openmp) {
  DirectiveText out{source.text, {}, {}};
  const Lines lines(source.text, fixed);
  for (std::size_t n = 0; n < lines.size() && !openmp; ++n)
    if (const auto at = lines.condition(n)) {
      out.text[*at] = ' ';
      out.conditional.push_back(span_at(&source, *at - 1, 2));
    }
  const std::vector<Written> all = lines.directives();
  std::vector<std::size_t> signs;
  for (const Written& w : all)
    if (!w.acc) find_minus(w, signs);
  for (const std::size_t at : signs) out.text[at] = '+';

  std::vector<bool> dropped(all.size());
  for (std::size_t first = 0, end = 0; first < all.size(); first = end) {
    bool omp = false, acc = false;
    for (end = first;
         end < all.size() && (end == first || lines.are_together(all[end - 1], all[end])); ++end)
      (all[end].acc ? acc : omp) |= all[end].is_of_loop();
    for (std::size_t n = first; n < end; ++n)
      dropped[n] = omp && acc && all[n].acc && all[n].is_of_loop();
  }
  std::vector<std::pair<std::string, bool>> open;  // and whether they are dropped
  for (std::size_t n = 0; n < all.size(); ++n) {
    const Written& w = all[n];
    if (!w.acc || !w.has("loop")) continue;
    if (!w.is_end()) {
      open.emplace_back(w.head(), dropped[n]);
      if (dropped[n]) out.dropped.push_back(span_at(&source, w.dollars[0] - 1, 5));
      continue;
    }
    const std::string of = w.head().substr(std::string_view("end ").size());
    while (!open.empty() && !open.back().first.starts_with(of.substr(0, of.size() - 1)))
      open.pop_back();  // without an end
    if (open.empty()) continue;
    dropped[n] = open.back().second;
    open.pop_back();
  }
  for (std::size_t n = 0; n < all.size(); ++n)
    if (dropped[n])
      for (const std::size_t at : all[n].dollars) out.text[at] = ' ';
  return out;
}

std::map<std::string, ReadableCopy> readable_copies(const std::vector<std::string>& paths,
                                                    const std::string& of,
                                                    const FortranOptions& how) {
  std::map<std::string, ReadableCopy> out;
  for (const std::string& path : paths) {
    std::ifstream in(path, std::ios::binary);
    std::string text(std::istreambuf_iterator<char>(in), {});
    const auto has = [&](std::string_view word) {
      return std::search(text.begin(), text.end(), word.begin(), word.end(), [](char a, char b) {
               return std::tolower(static_cast<unsigned char>(a)) == b;
             }) != text.end();
    };
    if (!has("$")) continue;
    const FortranOptions own = options_elsewhere(path, of, how);
    const bool fixed = is_fixed_form(path, own);
    const Source* source = add_source(path, text);
    const std::string readable =
        readable_directives(*source, fixed, own.openmp.value_or(false)).text;
    if (readable == text) continue;
    out.emplace(path, ReadableCopy{source, std::make_unique<File>(source, readable, fixed,
                                                                  is_preprocessed(path))});
  }
  return out;
}

namespace {

/// The innermost routine around a place; null where it is in none.
Routine* routine_around(const Span& at, std::vector<Routine>& routines) {
  Routine* in = nullptr;
  for (Routine& r : routines) {
    const FortranFile::Lines& lines = r.home.routine;
    if (r.at.source && r.at.source->name == at.source->name && lines.first <= at.line &&
        at.line <= lines.last && (!in || in->home.routine.first < lines.first))
      in = &r;
  }
  return in;
}

void search_includes(const Source* source, bool fixed, const FortranOptions& how,
                     std::set<std::string>& seen) {
  const Lines lines(source->text, fixed);
  for (std::size_t n = 0; n < lines.size(); ++n) {
    const std::string name = included_by(lines.line(n));
    const Source* file = name.empty() ? nullptr : included_source(source, name, how);
    if (!file || !seen.insert(file->name).second) continue;
    const DirectiveText text = readable_directives(*file, fixed, false);
    if (!text.conditional.empty())
      throw Error(Diagnostic{"unsupported",
                             "a line for OpenMP alone, in a file that is included, is not "
                             "supported in Fortran kernels where OpenMP is not on",
                             {text.conditional.front(), {}},
                             {},
                             "`-fopenmp`, as for the compiler, turns it on"});
    search_includes(file, fixed, how, seen);
  }
}

}  // namespace

void require_no_conditional_includes(const Source* source, bool fixed, const FortranOptions& how) {
  if (how.openmp.value_or(false)) return;
  std::set<std::string> seen;
  search_includes(source, fixed, how, seen);
}

void note_dropped(const DirectiveText& text, const FortranOptions& how,
                  std::vector<Routine>& routines) {
  for (const Span& at : text.dropped)
    if (Routine* in = routine_around(at, routines)) in->without_effect.push_back({at, {}});
  if (how.openmp) return;
  for (const Span& at : text.conditional)
    if (Routine* in = routine_around(at, routines)) in->conditional.push_back(at);
}

void name_unknown_clauses(const Source& source, bool fixed, std::vector<Diagnostic>& errors) {
  if (fixed) return;  // where words need no blanks between them
  const Lines lines(source.text, fixed);
  for (const Written& w : lines.directives()) {
    const auto about = [&](const Diagnostic& d) {
      const auto line = static_cast<std::size_t>(std::max(d.where.at.line - 1, 0));
      return d.code == "fortran" && d.where.at.source && d.where.at.source->name == source.name &&
             w.first <= line && line <= w.last;
    };
    if (std::none_of(errors.begin(), errors.end(), about)) continue;
    int depth = 0;
    for (std::size_t at = 0; at < w.text.size();) {
      if (w.text[at] == '(') ++depth;
      if (w.text[at] == ')') --depth;
      std::size_t end = at;
      while (end < w.text.size() && in_word(w.text[end])) ++end;
      const std::string word = w.text.substr(at, end - at);
      const auto& known = known_words();
      const bool unknown = depth == 0 && !word.empty() &&
                           std::find(known.begin(), known.end(), word) == known.end() &&
                           !word.starts_with("end");
      if (unknown) {
        const auto first = std::find_if(errors.begin(), errors.end(), about);
        *first = {"fortran",
                  fmt::format("`{}` is no directive and no clause of {}{}", word,
                              w.acc ? "OpenACC" : "OpenMP", did_you_mean(word, known)),
                  {span_at(&source, w.at[at], word.size()), {}},
                  {},
                  {}};
        errors.erase(std::remove_if(std::next(first), errors.end(), about), errors.end());
        break;
      }
      at = std::max(end, at + 1);
    }
  }
}

}  // namespace moonloop::fortran
