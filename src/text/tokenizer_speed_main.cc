// tokenizer_speed FOLDER FILE...: how fast one thread loads the tokenizer and encodes each file,
// best of five. bench/tokenizer_speed.py prints it beside Hugging Face tokenizers.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "base/error.h"
#include "text/tokenizer.h"

namespace {

double seconds(auto work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "error: no folder or no file\nhint: tokenizer_speed FOLDER FILE...\n");
    return 2;
  }
  try {
    std::shared_ptr<const dure::Tokenizer> tokenizer;
    const double load = seconds([&] { tokenizer = dure::Tokenizer::load(argv[1]); });
    std::printf("load %.3f s\n", load);
    for (int i = 2; i < argc; ++i) {
      std::ifstream file(argv[i], std::ios::binary);
      const std::string text{std::istreambuf_iterator<char>(file), {}};
      double best = 1e9;
      size_t count = 0;
      for (int round = 0; round < 5; ++round)
        best = std::min(best, seconds([&] { count = tokenizer->encode(text).size(); }));
      std::printf("%s: %zu bytes %zu tokens %.2f MB/s\n", argv[i], text.size(), count,
                  static_cast<double>(text.size()) / best / 1e6);
    }
  } catch (const dure::Error& error) {
    std::fprintf(stderr, "error: %s\nhint: %s\n", error.message().c_str(), error.hint().c_str());
    return 2;
  }
}
