#include "reports/view.h"

#include <unistd.h>

#include <chrono>

#include "cli/commands.h"
#include "cli/loaded.h"
#include "core/infer/infer.h"
#include "core/model/domain.h"
#include "core/order/check_kernel.h"
#include "runtime/arguments.h"

namespace moonloop::cli {
namespace {

/// Sizes at which iterations are drawn: the given ones, and for other parameters small numbers that
/// the kernel's assumptions allow with them.
Integers sizes_of(const Kernel& original, const Kernel& kernel, const GivenValues& values) {
  constexpr std::int64_t kSmall = 8;
  const Kernel k = complete(kernel);
  const Integers given = given_integers(k, values, scalar_names(original));
  Integers out = given;
  for (const Argument& a : k.args)
    if (!a.is_array && is_integer(a.type->scalar)) out.emplace(a.name, kSmall);
  if (k.assumptions) {
    Set possible = k.assumptions;
    for (const auto& [name, value] : given)
      possible = isl_set_intersect_params(
          possible.take(), parse_assumption(fmt::format("{} = {}", name, value)).take());
    for (const auto& [name, value] : out)
      possible = isl_set_intersect_params(
          possible.take(), parse_assumption(fmt::format("{} >= {}", name, value)).take());
    if (const auto found = sample(possible))
      for (const auto& [name, value] : found->params)
        if (out.count(name)) out[name] = value;
  }
  return out;
}

}  // namespace

std::string page_of(const Kernel& original, const Kernel& k, const GivenValues& values,
                    bool quiet) {
  // The user may wait for minutes: at a terminal each state is reported as it begins, elsewhere
  // once it takes long.
  const auto start = std::chrono::steady_clock::now();
  const auto progress = [quiet, start](const std::string& text) {
    const bool long_since = std::chrono::steady_clock::now() - start > std::chrono::seconds(2);
    if (!quiet && (isatty(STDERR_FILENO) != 0 || long_since)) fmt::print(stderr, "{}\n", text);
  };
  return view_page(original, k, sizes_of(original, k, values), progress);
}

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
      write_output(*output, page_of(loaded.original, loaded.kernel, common.params, common.quiet));
      return static_cast<int>(kDone);
    };
  });
}

}  // namespace moonloop::cli
