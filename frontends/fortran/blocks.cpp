#include "frontends/fortran/blocks.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <set>

#include "core/base/diagnostic.h"
#include "frontends/fortran/comments.h"
#include "frontends/fortran/includes.h"
#include "frontends/fortran/program.h"

// Blocks in comments: `!$moonloop begin transform` and their kin, with the sentinel of Loo.py too.
namespace moonloop::fortran {
namespace {

class BlockReader {
 public:
  BlockReader(const FortranOptions& how, bool fixed) : how_(how), fixed_(fixed) {}

  /// `order`: see Block; 0 in the input's own file.
  void read(const Source* source, int order);
  Blocks out;

 private:
  void include(const Source* by, const std::string& name, int order);
  void check_line(const Block& transform, int n) const;
  bool read_mark(std::string_view text, RoutineMark mark);

  const FortranOptions& how_;
  bool fixed_;
  std::set<std::string> open_files_;
};

/// `n = 1000, m = 20` of the text after `auto`, in small letters as Fortran's names are. Fails
/// `syntax`.
std::string values_of(std::string_view text, const Span& at) {
  std::string out;
  const auto is_name = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  };
  for (bool more = !text.empty(); more;) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view one = trimmed(text.substr(0, comma));
    const std::size_t equals = std::min(one.find('='), one.size());
    std::string name(trimmed(one.substr(0, equals)));
    const std::string_view number = trimmed(one.substr(std::min(equals + 1, one.size())));
    const bool digits = !number.empty() && number.size() <= 18 &&
                        number.find_first_not_of("0123456789") == std::string_view::npos;
    if (name.empty() || !std::all_of(name.begin(), name.end(), is_name) || !digits)
      throw Error(Diagnostic{"syntax",
                             fmt::format("`{}` is not what a parameter is about", one),
                             {at, {}},
                             {},
                             "`auto` may be followed by sizes, as in `auto n=1000, m=20`"});
    for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    out += fmt::format("{}{} = {}", out.empty() ? "" : ", ", name, number);
    more = comma < text.size();
    text = trimmed(text.substr(std::min(comma + 1, text.size())));
  }
  return out;
}

/// Whether the text after the sentinel is such a line, which is kept.
bool BlockReader::read_mark(std::string_view text, RoutineMark mark) {
  if (std::string_view rest = text; accept(rest, "noinline") && rest.empty()) {
    out.apart.push_back(std::move(mark));
    return true;
  }
  const bool is_word = text.size() == 4 ||
                       (text.size() > 4 && std::isspace(static_cast<unsigned char>(text[4])) != 0);
  if (!is_word || !accept(text, "auto")) return false;
  mark.values = values_of(text, mark.at);
  out.automatic.push_back(std::move(mark));
  return true;
}

/// Reads nothing where there is no such file; Flang reports that, and one that includes itself.
void BlockReader::include(const Source* by, const std::string& name, int order) {
  const Source* source = included_source(by, name, how_);
  if (!source || !open_files_.insert(source->name).second) return;
  read(source, order);
  open_files_.erase(source->name);
}

/// Flang would take a line that is not a comment for Fortran.
void BlockReader::check_line(const Block& transform, int n) const {
  const std::string_view line = transform.at.source->line(n), text = trimmed(line);
  if (text.empty() || comment_start(line, fixed_) != std::string_view::npos) return;
  const Span at{transform.at.source, n, static_cast<int>(line.find(text)) + 1,
                static_cast<int>(text.size())};
  throw Error(Diagnostic{"syntax",
                         "a line of a transform block is not a comment",
                         {at, {}},
                         {{transform.at, "the block begins here"}},
                         "begin it with `!`"});
}

void BlockReader::read(const Source* source, int order) {
  std::vector<Block> open;  // tagged ones; a transform is separate
  std::optional<Block> transform;
  const int lines = static_cast<int>(source->line_starts.size());
  for (int n = 1; n <= lines; ++n) {
    const std::string_view line = source->line(n);
    const auto found = directive(line, fixed_);
    if (!found) {
      if (transform) check_line(*transform, n);
      if (const std::string name = included_by(line); !name.empty())
        include(source, name, order ? order : n);
      continue;
    }
    Span at;
    at.source = source;
    at.line = n;
    at.col = static_cast<int>(line.find('$')) + 1;
    at.len = std::max(1, static_cast<int>(trimmed(line.substr(line.find('$'))).size()));
    std::string_view rest = *found;
    if (is_residency(rest)) continue;
    if (!transform && read_mark(rest, {at, order ? order : n, {}})) continue;
    const bool begins = accept(rest, "begin");
    if (!begins && !accept(rest, "end"))
      throw Error(
          Diagnostic{"syntax",
                     fmt::format("`{}` begins and ends no block", *found),
                     {at, {}},
                     {},
                     "there are `begin transform`, `end transform`, `begin tagged: NAME`, "
                     "`end tagged: NAME`, `auto`, `noinline`, `resident: NAMES` and `update`"});
    if (accept(rest, "transform") && rest.empty()) {
      if (begins == transform.has_value())
        fail("syntax", at, "this block {}", begins ? "begins within another one" : "never began");
      if (begins) {
        transform = Block{"", n + 1, 0, order ? order : n + 1, fixed_, at};
      } else {
        transform->last = n - 1;
        out.transforms.push_back(*transform);
        transform.reset();
      }
      continue;
    }
    if (!accept(rest, "tagged:") || rest.empty())
      fail("syntax", at, "`{}` is not a block; there are `transform` and `tagged: NAME`", *found);
    const std::string name(rest);
    if (begins) {
      open.push_back({name, n + 1, 0, order ? order : n + 1, fixed_, at});
      continue;
    }
    std::size_t last = open.size();
    while (last > 0 && open[last - 1].name != name) --last;
    if (last == 0) fail("syntax", at, "no block tagged `{}` is open here", name);
    open[last - 1].last = n - 1;
    out.tagged.push_back(open[last - 1]);
    open.erase(open.begin() + static_cast<std::ptrdiff_t>(last) - 1);
  }
  if (transform) fail("syntax", transform->at, "this block has no end");
  if (!open.empty()) fail("syntax", open.back().at, "this block has no end");
}

}  // namespace

Blocks read_blocks(const Source* source, const FortranOptions& how) {
  const bool fixed = is_fixed_form(source->name, how);
  BlockReader reader(how, fixed);
  reader.read(source, 0);
  reader.out.residency = residency_lines(source, how, fixed);
  return std::move(reader.out);
}

std::string transform_text(const Block& block) {
  const Source* source = block.at.source;
  const bool fixed = block.fixed;
  std::string out(static_cast<std::size_t>(block.first - 1), '\n');
  for (int n = block.first; n <= block.last; ++n) {
    const std::string_view line = source->line(n);
    const std::size_t start = comment_start(line, fixed);
    if (start != std::string_view::npos) {
      out += std::string(start, ' ');  // columns stay
      out += line.substr(start);
    }
    out += '\n';
  }
  return out;
}

}  // namespace moonloop::fortran
