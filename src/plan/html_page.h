// One plan as a page to look at: a single file of HTML that loads nothing, for a browser or a
// printer. The plan is in it as JSON (page/page_data.h); page/*.js only draws that.
#pragma once

#include <string>
#include <string_view>

#include "plan/plan.h"

namespace dure {

// `spec` and `question` are those that `answer` is of. Below 500 kB, whatever the plan.
std::string plan_page(const ModelSpec& spec, const PlanQuestion& question,
                      const PlanAnswer& answer);

// JSON text that may stand in a <script> element: none of it can end the element or begin a
// comment, and it still parses to the same document.
std::string json_in_html(std::string_view json);

// Text that may stand between tags or in a quoted attribute.
std::string text_in_html(std::string_view text);

}  // namespace dure
