// See text_pipeline.h.
#include "server/text_pipeline.h"

namespace dure {

TextPipeline::TextPipeline(std::shared_ptr<const Tokenizer> tokenizer, const Generation& generation)
    : decoder_(std::move(tokenizer), generation.skip_special),
      stops_(generation.stop_strings),
      show_stop_string_(generation.show_stop_string),
      unstoppable_(generation.sampling.min_tokens) {}

std::string TextPipeline::push(int32_t token) {
  std::string text = decoder_.push(token);
  if (unstoppable_ > 0) {
    --unstoppable_;
    return text;
  }
  return through_stops(text);
}

std::string TextPipeline::finish() {
  std::string text = through_stops(decoder_.finish());
  return text + stops_.finish();
}

std::string TextPipeline::through_stops(const std::string& text) {
  if (stops_.stopped()) return "";
  std::string shown = stops_.push(text);
  if (stops_.stopped() && show_stop_string_) shown += stops_.found();
  return shown;
}

}  // namespace dure
