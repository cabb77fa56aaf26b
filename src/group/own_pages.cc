// See own_pages.h.
#include "group/own_pages.h"

namespace dure {

OwnPages::OwnPages(const ModelSpec& spec, int64_t context, int64_t page_tokens)
    : page_tokens_(page_tokens), blocks_((context + page_tokens - 1) / page_tokens) {
  for (const PageClass& each : page_classes(spec, context)) {
    table_of_.insert(table_of_.end(), static_cast<size_t>(each.tables), each);
  }
}

std::vector<PageTable> OwnPages::tables(int64_t index, int64_t start, int64_t end) const {
  std::vector<PageTable> tables;
  int64_t first_page = index * of_a_sequence();
  for (const PageClass& of_class : table_of_) {
    PageTable& table = tables.emplace_back();
    table.first = static_cast<int32_t>(of_class.first_block(start, page_tokens_));
    for (int64_t block = table.first; block * page_tokens_ < end; ++block) {
      table.pages.push_back(static_cast<int32_t>(first_page + block));
    }
    first_page += blocks_;
  }
  return tables;
}

}  // namespace dure
