#include <algorithm>
#include <filesystem>

#include "core/base/diagnostic.h"
#include "frontends/fortran/flang.h"

// Where Flang's pieces of text are in the user's files.
namespace moonloop::fortran {

void unsupported(const Span& at, std::string_view what, std::string_view hint) {
  throw Error(Diagnostic{"unsupported",
                         fmt::format("{} is not supported in Fortran kernels", what),
                         {at, {}},
                         {},
                         std::string(hint)});
}

Span Places::of(fp::CharBlock block) const {
  const auto range = cooked_.GetProvenanceRange(block);
  return range ? of(range) : Span{};
}

Span Places::of(const std::optional<fp::ProvenanceRange>& range) const {
  if (!range) return {};
  const auto& all = cooked_.allSources();
  const auto position = all.GetSourcePosition(all.GetReplacedProvenance(range->start()));
  if (!position) return {};
  const fp::SourceFile& file = *position->sourceFile;
  const std::string path = std::filesystem::path(file.path()).lexically_normal().string();
  const auto [it, included] = sources_.try_emplace(path);
  if (included) it->second = add_source(path, {file.content().data(), file.content().size()});
  Span at;
  at.source = it->second;
  at.line = position->trueLineNumber;
  at.col = position->column;
  const auto line = at.source->line(at.line);
  const auto left = static_cast<std::size_t>(at.col) <= line.size()
                        ? static_cast<int>(line.size()) - at.col + 1
                        : 1;
  at.len = std::max(1, std::min(static_cast<int>(range->size()), left));
  return at;
}

fp::CharBlock Places::statement_of(fp::CharBlock block) const {
  const fp::CookedSource* text = cooked_.Find(block);
  if (!text) return {};
  const fp::CharBlock all = text->AsCharBlock();  // a line for each statement
  const char *first = block.begin(), *last = first;
  while (first != all.begin() && first[-1] != '\n') --first;
  while (last != all.end() && *last != '\n') ++last;
  return {first, static_cast<std::size_t>(last - first)};
}

}  // namespace moonloop::fortran
