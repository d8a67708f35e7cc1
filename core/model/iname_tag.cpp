#include "core/model/iname_tag.h"

#include <algorithm>
#include <charconv>

#include "core/base/diagnostic.h"

namespace moonloop {
namespace {

struct Alias {
  TagKind kind;
  std::string_view text;
};
constexpr Alias kAliases[] = {
#define MOONLOOP_TAG(kind, spelling, argument, run, targets, help)
#define MOONLOOP_TAG_ALIAS(kind, spelling) {TagKind::kind, spelling},
#include "core/model/iname_tags.def"
#undef MOONLOOP_TAG
#undef MOONLOOP_TAG_ALIAS
};

const TagSpelling& first_of(TagKind kind) {
  for (const TagSpelling& s : tag_spellings())
    if (s.kind == kind) return s;
  throw InternalError("a tag without a row in core/model/iname_tags.def");
}

/// From a table with one entry for each kind, since the order relation asks often.
struct Kinds {
  std::vector<TagRun> run;
  std::vector<bool> for_devices;
};
const Kinds& kinds() {
  static const Kinds all = [] {
    Kinds out;
    for (int k = 0; k <= static_cast<int>(TagKind::MatrixUnit); ++k) {
      const TagSpelling& s = first_of(static_cast<TagKind>(k));
      out.run.push_back(s.run);
      out.for_devices.push_back(s.targets == TagSpelling::Targets::All);
    }
    return out;
  }();
  return all;
}

/// The number after a spelling's last dot; nothing where `text` has another form.
std::optional<int> argument_in(std::string_view text, const TagSpelling& s) {
  const std::string_view head = s.text.substr(0, s.text.size() - 1);
  if (!text.starts_with(head)) return std::nullopt;
  const std::string_view digits = text.substr(head.size());
  int n = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), n);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  if (n < (s.argument == TagSpelling::Argument::Axis ? 0 : 1)) return std::nullopt;
  return n;
}

}  // namespace

const std::vector<TagSpelling>& tag_spellings() {
  using Argument = TagSpelling::Argument;
  using Targets = TagSpelling::Targets;
  static const std::vector<TagSpelling> all{
#define MOONLOOP_TAG(kind, spelling, argument, run, targets, help) \
  {TagKind::kind, spelling, Argument::argument, TagRun::run, Targets::targets, help},
#define MOONLOOP_TAG_ALIAS(kind, spelling)
#include "core/model/iname_tags.def"
#undef MOONLOOP_TAG
#undef MOONLOOP_TAG_ALIAS
  };
  return all;
}

const std::vector<std::string>& common_tags() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> out{"for"};
    for (const TagSpelling& s : tag_spellings()) {
      if (s.argument == TagSpelling::Argument::None) out.emplace_back(s.text);
      if (s.argument != TagSpelling::Argument::Axis) continue;
      for (const char* axis : {"0", "1", "2"})
        out.push_back(std::string(s.text.substr(0, s.text.size() - 1)) + axis);
    }
    return out;
  }();
  return all;
}

std::string all_tags() {
  std::string out;
  for (const TagSpelling& s : tag_spellings())
    out += (out.empty() ? "`" : ", `") + std::string(s.text) + "`";
  return out;
}

TagRun run_of(TagKind kind) { return kinds().run[static_cast<std::size_t>(kind)]; }
bool is_for_devices(TagKind kind) { return kinds().for_devices[static_cast<std::size_t>(kind)]; }

std::optional<InameTag> parse_iname_tag(std::string_view text) {
  for (const TagSpelling& s : tag_spellings()) {
    if (s.argument == TagSpelling::Argument::None) {
      if (text == s.text) return InameTag{s.kind, -1, std::string(text), {}};
    } else if (const auto n = argument_in(text, s)) {
      return InameTag{s.kind, *n, std::string(text), {}};
    }
  }
  for (const Alias& a : kAliases)
    if (text == a.text) return InameTag{a.kind, -1, std::string(text), {}};
  return std::nullopt;
}

std::string tag_text(const InameTag& tag) {
  if (!tag.text.empty()) return tag.text;
  for (const TagSpelling& s : tag_spellings()) {
    const bool counts = s.argument != TagSpelling::Argument::None;
    if (s.kind != tag.kind || counts != (tag.axis >= 0)) continue;
    if (!counts) return std::string(s.text);
    return std::string(s.text.substr(0, s.text.size() - 1)) + std::to_string(tag.axis);
  }
  throw InternalError("a tag without a row in core/model/iname_tags.def");
}

bool is_work_item(const InameTag* tag) { return tag && run_of(tag->kind) == TagRun::WorkItems; }
bool is_lane(const InameTag* tag) { return tag && run_of(tag->kind) == TagRun::Lanes; }
bool in_team(const InameTag* tag) { return is_work_item(tag) || is_lane(tag); }
bool is_spread(TagRun run) { return run == TagRun::Threads || run == TagRun::Groups; }
bool is_spread(const InameTag* tag) { return tag && is_spread(run_of(tag->kind)); }
bool is_parallel(const InameTag* tag) { return tag && run_of(tag->kind) != TagRun::InOrder; }
bool is_parallel_not_shared(const InameTag* tag) {
  if (!is_parallel(tag)) return false;
  const TagRun run = run_of(tag->kind);
  return run != TagRun::Threads && run != TagRun::Vector;
}
bool is_never_parallel(const InameTag*) { return false; }

}  // namespace moonloop
