#include "scripts/library.h"

#include <regex>
#include <sstream>

#include "core/base/diagnostic.h"

namespace moonloop {
namespace {

constexpr std::string_view kMark = "---";
constexpr std::string_view kContinuation = "  ";
constexpr std::string_view kIndentation = "    ";  // of examples

[[noreturn]] void bad(std::string_view name, const std::string& line, const std::string& why) {
  throw InternalError(fmt::format("doc comment of `{}`: {}: {}", name, why, line));
}

/// The lines of the doc comment, without their marks, and the line after it. Empty without one. A
/// tag that goes on is one line.
std::vector<std::string> comment_of(std::string_view text, std::string& behind) {
  std::vector<std::string> out;
  std::istringstream in{std::string(text)};
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(kMark)) {
      const bool blank = line.size() == kMark.size();
      const std::string text =
          blank ? "" : line.substr(kMark.size() + (line[kMark.size()] == ' ' ? 1 : 0));
      const bool goes_on = !out.empty() && out.back().starts_with("@") &&
                           out.back() != "@example" && text.starts_with(kContinuation);
      if (goes_on)
        out.back() += text.substr(kContinuation.size() - 1);
      else
        out.push_back(text);
    } else if (!out.empty()) {
      behind = line;
      break;
    }
  }
  return out;
}

/// `@param NAME (KIND, required): HELP` and similar lines, parsed.
struct DocTag {
  std::string tag, name, kind, extent, help;
};

DocTag read_tag(std::string_view function, const std::string& line) {
  static const std::regex kForm(
      R"(@(param|option|return) (\w+) \(([^,)]+)(?:, ([^)]+))?\): (\S.*))");
  std::smatch m;
  if (!std::regex_match(line, m, kForm))
    bad(function, line, "not of the form `@TAG NAME (KIND): HELP`");
  return {m[1], m[2], m[3], m[4], m[5]};
}

LibraryParam read_param(std::string_view function, const std::string& line, const DocTag& tag) {
  LibraryParam p{tag.name, tag.kind, tag.help, tag.extent == "required", {}, tag.tag == "param"};
  constexpr std::string_view kDefault = "default ";
  if (tag.extent.starts_with(kDefault))
    p.fallback = tag.extent.substr(kDefault.size());
  else if (!tag.extent.empty() && !p.required)
    bad(function, line, "neither `required` nor `default VALUE`");
  return p;
}

void append(std::string& text, const std::string& line) {
  text += (text.empty() ? "" : "\n") + line;
}

std::string trimmed(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

/// `local function tile(knl, sizes, options)`, as the doc comment wants it.
std::string head_of(const LibraryFunction& f) {
  std::string out = "local function " + f.name + "(knl";
  bool options = false;
  for (const LibraryParam& p : f.params) {
    if (p.positional) out += ", " + p.name;
    options = options || !p.positional;
  }
  return out + (options ? ", options)" : ")");
}

}  // namespace

LibraryFunction parse_library_file(std::string_view name, std::string_view text) {
  LibraryFunction out;
  out.name = name;
  std::string behind;
  bool in_example = false, in_script = false, has_tags = false;
  for (const std::string& line : comment_of(text, behind)) {
    if (in_example) {
      const bool blank = line.empty();
      if (!blank && !line.starts_with(kIndentation)) bad(name, line, "an example is indented");
      if (blank && !in_script && !out.example_kernel.empty())
        in_script = true;
      else
        append(in_script ? out.example : out.example_kernel,
               blank ? line : line.substr(kIndentation.size()));
    } else if (line == "@example") {
      in_example = true;
    } else if (line.starts_with("@")) {
      has_tags = true;
      const DocTag tag = read_tag(name, line);
      if (tag.tag != "return") {
        if (!out.results.empty()) bad(name, line, "results come after parameters");
        out.params.push_back(read_param(name, line, tag));
      } else if (tag.extent.empty()) {
        out.results.push_back({tag.name, tag.kind, tag.help});
      } else {
        bad(name, line, "a result has a kind alone");
      }
    } else {
      if (has_tags) bad(name, line, "text after the first tag");
      append(out.doc, line);
    }
  }
  out.doc = trimmed(out.doc);
  if (out.doc.empty()) bad(name, {}, "no text");
  if (out.results.empty()) bad(name, {}, "no result");
  if (out.example.empty()) bad(name, {}, "no example");
  if (behind != head_of(out)) bad(name, behind, "not `" + head_of(out) + "`");
  return out;
}

const std::vector<LibraryFunction>& library() {
  static const std::vector<LibraryFunction> kAll = [] {
    std::vector<LibraryFunction> all;
    for (const LibraryFile& f : library_files())
      if (f.text.find("\n---") != std::string_view::npos || f.text.starts_with(kMark))
        all.push_back(parse_library_file(f.name, f.text));
    return all;
  }();
  return kAll;
}

}  // namespace moonloop
