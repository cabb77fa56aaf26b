// See terminal.h.
#include "cli/terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdlib>

namespace dure {
namespace {

struct Block {
  uint32_t first;
  uint32_t last;
};

// Unicode 15 East Asian Width W and F, whole blocks.
constexpr std::array wide_blocks = {
    Block{0x1100, 0x115F},   Block{0x2E80, 0x303E},   Block{0x3041, 0x33FF},
    Block{0x3400, 0x4DBF},   Block{0x4E00, 0x9FFF},   Block{0xA000, 0xA4CF},
    Block{0xA960, 0xA97C},   Block{0xAC00, 0xD7A3},   Block{0xF900, 0xFAFF},
    Block{0xFE30, 0xFE6F},   Block{0xFF00, 0xFF60},   Block{0xFFE0, 0xFFE6},
    Block{0x1F300, 0x1F64F}, Block{0x1F900, 0x1F9FF}, Block{0x20000, 0x3FFFD},
};
constexpr std::array zero_blocks = {
    Block{0x0300, 0x036F}, Block{0x1AB0, 0x1AFF}, Block{0x1DC0, 0x1DFF}, Block{0x200B, 0x200F},
    Block{0x20D0, 0x20FF}, Block{0xFE00, 0xFE0F}, Block{0xFE20, 0xFE2F},
};

template <size_t N>
bool in_blocks(const std::array<Block, N>& blocks, uint32_t code) {
  for (const Block& block : blocks) {
    if (code >= block.first && code <= block.last) return true;
  }
  return false;
}

}  // namespace

bool is_terminal(std::FILE* stream) {
  return isatty(fileno(stream)) == 1;
}

bool uses_colour(std::FILE* stream) {
  const char* no_color = std::getenv("NO_COLOR");
  return is_terminal(stream) && (no_color == nullptr || *no_color == '\0');
}

int terminal_columns(std::FILE* stream) {
  winsize size{};
  if (ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

void say(std::FILE* stream, std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stream);
  std::fflush(stream);
}

std::string visible(std::string_view utf8) {
  std::string text;
  for (size_t at = 0; at < utf8.size(); ++at) {
    const auto byte = static_cast<unsigned char>(utf8[at]);
    const auto next = static_cast<unsigned char>(at + 1 < utf8.size() ? utf8[at + 1] : 0);
    if (byte == '\n') {
      text += "\\n";
    } else if (byte < 0x20 || byte == 0x7F) {
      text += fmt::format("\\x{:02x}", byte);
    } else if (byte == 0xC2 && next >= 0x80 && next <= 0x9F) {  // U+0080 to U+009F
      text += fmt::format("\\x{:02x}", next);
      ++at;
    } else {
      text += utf8[at];
    }
  }
  return text;
}

int display_width(std::string_view utf8) {
  int width = 0;
  for (size_t at = 0; at < utf8.size();) {
    const auto lead = static_cast<unsigned char>(utf8[at]);
    const int length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    uint32_t code = length == 1 ? lead : lead & (0xFFU >> (length + 1));
    for (int i = 1; i < length && at + i < utf8.size(); ++i) {
      code = code << 6 | (static_cast<unsigned char>(utf8[at + i]) & 0x3F);
    }
    at += length;
    if (in_blocks(zero_blocks, code)) continue;
    width += in_blocks(wide_blocks, code) ? 2 : 1;
  }
  return width;
}

}  // namespace dure
