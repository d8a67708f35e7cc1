#include <algorithm>
#include <charconv>

#include "core/base/diagnostic.h"
#include "frontends/text/syntax.h"

namespace moonloop::text {
namespace {

const std::vector<std::string> kNames{
    "id",  "id_prefix", "dep",  "dep_query", "nosync", "no_sync_with", "nosync_query", "inames",
    "dup", "if",        "tags", "priority",  "groups", "conflicts",    "atomic",       "mem_kind"};

bool allowed_in_with(const std::string& name) {
  static const std::set<std::string> kAllowed{"dep", "dep_query", "id_prefix", "inames",
                                              "if",  "tags",      "groups",    "conflicts"};
  return kAllowed.contains(name);
}

Word trimmed(Word w) {
  std::size_t n = 0;
  while (n < w.text.size() && std::isspace(static_cast<unsigned char>(w.text[n]))) ++n;
  w.text.erase(0, n);
  w.at.col += static_cast<int>(n);
  while (!w.text.empty() && std::isspace(static_cast<unsigned char>(w.text.back())))
    w.text.pop_back();
  w.at.len = static_cast<int>(w.text.size());
  return w;
}

/// The pieces of `w` between `separator`s, without empty ones.
std::vector<Word> split(const Word& w, std::string_view separator) {
  std::vector<Word> out;
  for (std::size_t from = 0; from <= w.text.size();) {
    const std::size_t to = std::min(w.text.find(separator, from), w.text.size());
    Word piece{w.text.substr(from, to - from), w.at};
    piece.at.col += static_cast<int>(from);
    piece = trimmed(std::move(piece));
    if (!piece.text.empty()) out.push_back(std::move(piece));
    from = to + separator.size();
  }
  return out;
}

class Reader {
 public:
  Reader(TokenStream& in, bool in_with) : in_(in), in_with_(in_with) {}

  Options read() {
    in_.expect("{", "before options");
    while (!in_.at("}")) {
      option();
      if (!in_.accept(",")) break;
    }
    in_.expect("}", "to close the options");
    return std::move(out_);
  }

 private:
  void option() {
    const Token key = in_.expect_name("the name of an option");
    if (std::find(kNames.begin(), kNames.end(), key.text) == kNames.end())
      fail("unknown-option", key.at, "no option `{}`{}", key.text, did_you_mean(key.text, kNames));
    if (in_with_ && !allowed_in_with(key.text))
      fail("bad-option", key.at, "the option `{}` is not allowed in a `with` block", key.text);
    if (!seen_.insert(key.text).second)
      fail("duplicate-option", key.at, "the option `{}` is given twice", key.text);
    if (!in_.accept("=")) {
      if (key.text != "atomic")
        fail("syntax", in_.peek().at, "the option `{0}` needs a value, as in `{0}=...`", key.text);
      out_.atomic = Atomicity::Update;
      return;
    }
    if (key.text == "if") return conditions();
    const Word value = raw_value(key);
    if (value.text.empty() && key.text != "inames")
      fail("syntax", value.at, "the option `{}` has an empty value", key.text);
    set(key, value);
  }

  void conditions() {
    do out_.predicates.push_back(parse_expr(in_));
    while (in_.accept(":"));
  }

  /// The source up to the next `,` or `}` outside of brackets; a string counts by its contents.
  Word raw_value(const Token& key) {
    const Token first = in_.peek();
    if (first.kind == Tok::String && (in_.at(",", 1) || in_.at("}", 1))) {
      in_.next();
      Span at = first.at;
      return trimmed({first.text, {at.source, at.line, at.col + 1, at.len - 2}});
    }
    int depth = 0;
    Span last;
    for (; in_.peek().kind != Tok::End; last = in_.next().at) {
      if (depth == 0 && (in_.at(",") || in_.at("}"))) break;
      if (in_.at("(") || in_.at("[") || in_.at("{")) ++depth;
      if (in_.at(")") || in_.at("]") || in_.at("}")) --depth;
    }
    return last ? text_between(first.at, last) : Word{"", key.at};
  }

  static void name_only(const Word& w, std::string_view what) {
    const bool ok =
        !w.text.empty() && std::all_of(w.text.begin(), w.text.end(), [](unsigned char c) {
          return std::isalnum(c) || c == '_' || c == '.';
        });
    if (!ok) fail("bad-option", w.at, "`{}` is not {}", w.text, what);
  }

  static std::set<std::string> texts(const Word& value) {
    std::set<std::string> out;
    for (Word& w : split(value, ":")) out.insert(std::move(w.text));
    return out;
  }

  static std::string scope(const std::string& text, const Span& at) {
    if (text != "local" && text != "global" && text != "any")
      fail("bad-option", at, "no scope `{}`; there are local, global, any", text);
    return text;
  }

  void set(const Token& key, const Word& value) {
    const std::string& k = key.text;
    if (k == "id" || k == "id_prefix") {
      name_only(value, "an instruction id");
      (k == "id" ? out_.id : out_.id_prefix) = value;
    } else if (k == "dep") {
      Word rest = value;
      if (rest.text.starts_with('*')) {
        out_.deps_final = true;
        rest.text.erase(0, 1), rest.at.col += 1, rest.at.len -= 1;
      }
      out_.deps = split(rest, ":");
    } else if (k == "dep_query") {
      out_.dep_queries.push_back(value);
    } else if (k == "nosync" || k == "no_sync_with") {
      for (const Word& w : split(value, ":")) {
        const std::size_t sep = w.text.find('@');
        NoSync n{w.text.substr(0, sep), "any"};
        if (sep != std::string::npos) n.scope = scope(w.text.substr(sep + 1), w.at);
        out_.no_sync.push_back(std::move(n));
      }
    } else if (k == "nosync_query") {
      Word match = value;
      std::string s = "any";
      if (const std::size_t sep = value.text.rfind('@'); sep != std::string::npos) {
        s = scope(trimmed({value.text.substr(sep + 1), value.at}).text, value.at);
        match.text.resize(sep);
      }
      out_.no_sync_queries.push_back({trimmed(match), s});
    } else if (k == "inames") {
      out_.inames_exact = !value.text.starts_with('+');
      Word rest = value;
      if (!out_.inames_exact) rest.text.erase(0, 1), rest.at.col += 1;
      out_.inames = split(rest, ":");
      for (const Word& w : out_.inames) name_only(w, "an iname");
    } else if (k == "dup") {
      duplicates(value);
    } else if (k == "tags") {
      out_.tags = texts(value);
    } else if (k == "groups") {
      out_.groups = texts(value);
    } else if (k == "conflicts") {
      out_.conflicts = texts(value);
    } else if (k == "priority") {
      const char* end = value.text.data() + value.text.size();
      const auto [stop, error] = std::from_chars(value.text.data(), end, out_.priority);
      if (error != std::errc() || stop != end)
        fail("bad-option", value.at, "the priority `{}` is not an integer", value.text);
    } else if (k == "atomic") {
      if (value.text != "init" && value.text != "update" && value.text != "combined")
        fail("bad-option", value.at,
             "no `atomic={}`; there are `atomic`, `atomic=combined` and `atomic=init`", value.text);
      out_.combined = value.text == "combined";
      out_.atomic = value.text == "init" ? Atomicity::Init : Atomicity::Update;
    } else {
      if (value.text != "local" && value.text != "global")
        fail("bad-option", value.at, "no `mem_kind={}`; there are local and global", value.text);
      out_.mem_kind = value;
    }
  }

  void duplicates(const Word& value) {
    const std::size_t arrow = value.text.find("->");
    const std::vector<Word> from = split({value.text.substr(0, arrow), value.at}, ":");
    std::vector<Word> to;
    if (arrow != std::string::npos) to = split({value.text.substr(arrow + 2), value.at}, ":");
    for (const Word& w : from) name_only(w, "an iname");
    for (const Word& w : to) name_only(w, "an iname");
    if (!to.empty() && to.size() != from.size())
      fail("bad-option", value.at, "`dup` names {} inames and {} new ones", from.size(), to.size());
    for (std::size_t i = 0; i < from.size(); ++i)
      out_.duplicates.push_back({from[i], to.empty() ? "" : to[i].text});
  }

  TokenStream& in_;
  bool in_with_;
  Options out_;
  std::set<std::string> seen_;
};

}  // namespace

Options parse_options(TokenStream& in, bool in_with) { return Reader(in, in_with).read(); }

}  // namespace moonloop::text
