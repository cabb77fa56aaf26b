// See layout_flags.h.
#include "cli/layout_flags.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "base/error.h"

namespace dure {

void add_layout_flags(CLI::App& app, LayoutFlags& flags) {
  constexpr auto group = "Layout";
  app.add_option("--tp", flags.layout.tp, "tensor parallel: ranks that share every matrix")
      ->group(group);
  app.add_option("--pp", flags.layout.pp, "pipeline parallel: stages of layers")->group(group);
  app.add_option("--dp", flags.layout.dp, "data parallel attention: groups that share sequences")
      ->group(group);
  app.add_option("--ep", flags.layout.ep,
                 "expert parallel: ranks with different experts, divides tp × dp")
      ->group(group);
  app.add_option("--ranks-per-node", flags.ranks_per_node, "ranks that share one machine")
      ->group(group);
}

void check_layout_flags(const LayoutFlags& flags) {
  check_layout(flags.layout);
  if (flags.ranks_per_node < 0) {
    throw_bad_input(fmt::format("--ranks-per-node {}: must be at least 1", flags.ranks_per_node));
  }
}

}  // namespace dure
