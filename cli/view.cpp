#include "scripts/view.h"

#include "cli/commands.h"
#include "cli/loaded.h"
#include "core/domain.h"
#include "core/infer.h"

namespace moonloop::cli {
namespace {

/// Sizes at which iterations are drawn: what is given, and for other parameters small numbers that
/// `k` assumes to be possible.
Integers sizes_of(const Kernel& k, const Common& common) {
  constexpr std::int64_t kSmall = 8;
  Integers out;
  for (const Argument& a : complete(k).args)
    if (!a.is_array && a.type && is_integer(a.type->scalar)) out[a.name] = kSmall;
  if (k.assumptions) {
    Set possible = k.assumptions;
    for (const auto& [name, value] : out)
      possible = isl_set_intersect_params(
          possible.take(), parse_assumption(fmt::format("{} >= {}", name, value)).take());
    if (const auto found = sample(possible))
      for (const auto& [name, value] : found->params)
        if (out.count(name)) out[name] = value;
  }
  for (const auto& [name, value] : integers_given(common))
    if (const auto it = out.find(name); it != out.end()) it->second = value;
  return out;
}

}  // namespace

void add_view(CLI::App& app, Common& common, std::function<int()>& action) {
  auto output = std::make_shared<std::string>("-");
  CLI::App* command = app.add_subcommand("view", "Write a page that shows a kernel and its steps");
  add_common_options(*command, common);
  command
      ->add_option("-o", *output,
                   "where to write the page, which needs nothing else; - is standard "
                   "output")
      ->type_name("FILE.html")
      ->capture_default_str();
  command->callback([&common, &action, output] {
    action = [&common, output] {
      const Loaded loaded = load_with_original(common, true);
      write_output(*output,
                   view_page(loaded.original, loaded.kernel, sizes_of(loaded.kernel, common)));
      return static_cast<int>(kDone);
    };
  });
}

}  // namespace moonloop::cli
