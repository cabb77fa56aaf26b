// --tp --pp --dp --ep --ranks-per-node, the same in every subcommand that takes a layout.
#pragma once

#include "cluster/layout.h"

namespace CLI {
class App;
}

namespace dure {

struct LayoutFlags {
  Layout layout;
  int ranks_per_node = 0;  // 0: all ranks on one
};

// `flags` must outlive the parse.
void add_layout_flags(CLI::App& app, LayoutFlags& flags);

// Throws bad_input for sizes that no model could have; check_layout_for says the rest.
void check_layout_flags(const LayoutFlags& flags);

}  // namespace dure
