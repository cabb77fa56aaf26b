// See weight_identity.h.
#include "engine/weight_identity.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <xxhash.h>

#include <cerrno>
#include <cstring>
#include <iterator>
#include <string>

#include "base/error.h"
#include "base/file_entry.h"

namespace dure {
namespace {

void add_file(const std::filesystem::path& path, std::string* text) {
  struct stat facts {};
  if (stat(path.c_str(), &facts) != 0) {
    throw Error(ErrorCode::failed, fmt::format("{}: {}", path.string(), std::strerror(errno)));
  }
  fmt::format_to(std::back_inserter(*text), "file {} {} {} {} {}.{:09}\n", path.string(),
                 facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtim.tv_sec,
                 facts.st_mtim.tv_nsec);
}

void add_resident(const Resident& resident, std::string* text) {
  const auto to = std::back_inserter(*text);
  fmt::format_to(to, "weight {} {} {} {} {} {} {} {} {} {} {} [{}]\n",
                 static_cast<int>(resident.slot), resident.layer, resident.expert, resident.head,
                 static_cast<int>(resident.form), static_cast<int>(resident.dtype),
                 resident.shape.n, static_cast<int>(resident.shape.dtype),
                 static_cast<int>(resident.shape.order), to_string(resident.shape.codes),
                 resident.shape.first_input, fmt::join(resident.shape.segments, " "));
  for (const BlockRows& rows : resident.shape.block_rows) {
    fmt::format_to(to, "in blocks {} {}\n", rows.count, to_string(rows.format));
    if (!rows.scales) continue;
    const RowScales& each = *rows.scales;
    fmt::format_to(to, "scales {} {} {} {} {} {} {} {} {}\n", static_cast<int>(each.type),
                   each.rows, each.inputs, each.first_row, each.listed_groups, each.factor,
                   each.factor_divides, each.zeros, each.zero);
  }
  for (const ResidentPiece& piece : resident.pieces) {
    fmt::format_to(to, "piece {} {} {} {} {} {}\n", piece.weight->name, piece.slice.outputs.begin,
                   piece.slice.outputs.end, piece.slice.inputs.begin, piece.slice.inputs.end,
                   piece.weight->plus_one);
  }
}

}  // namespace

std::array<uint64_t, 2> identity_of(const WeightOrigin& origin,
                                    const std::vector<Resident>& residents) {
  std::string text = fmt::format("dure {} packing {} {}\n{} rank {} compute {}\n", DURE_VERSION,
                                 packing_version, origin.isa, to_string(origin.layout), origin.rank,
                                 static_cast<int>(origin.compute));
  const std::filesystem::path config = origin.model / "config.json";
  if (is_there(config)) add_file(config, &text);  // GGUF files have none
  for (const std::filesystem::path& file : origin.files) add_file(file, &text);
  for (const Resident& resident : residents) add_resident(resident, &text);
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return {hash.low64, hash.high64};
}

}  // namespace dure
