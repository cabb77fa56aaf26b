// golden_text --tokenizers DIR --golden DIR: runs the recorded text cases and says how many pass.
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "base/error.h"
#include "text/golden.h"

namespace {

void print(const std::vector<dure::GoldenKind>& kinds, int& passed, int& failed) {
  for (const dure::GoldenKind& kind : kinds) {
    std::printf("%-28s %6d passed %6d failed\n", kind.name.c_str(), kind.passed, kind.failed);
    for (const std::string& failure : kind.failures) std::printf("  %s\n", failure.c_str());
    passed += kind.passed;
    failed += kind.failed;
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::filesystem::path tokenizers;
  std::filesystem::path golden;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--tokenizers") == 0) tokenizers = argv[i + 1];
    if (std::strcmp(argv[i], "--golden") == 0) golden = argv[i + 1];
  }
  if (argc != 5 || tokenizers.empty() || golden.empty()) {
    std::fprintf(stderr,
                 "error: golden_text needs two folders\n"
                 "hint: golden_text --tokenizers DIR --golden DIR\n");
    return 2;
  }
  try {
    int passed = 0;
    int failed = 0;
    print(dure::run_token_goldens(tokenizers, golden), passed, failed);
    print(dure::run_template_goldens(tokenizers, golden), passed, failed);
    std::printf("%d passed, %d failed\n", passed, failed);
    return failed == 0 && passed > 0 ? 0 : 1;
  } catch (const dure::Error& error) {
    std::fprintf(stderr, "error: %s\nhint: %s\n", error.message().c_str(), error.hint().c_str());
    return 2;
  }
}
