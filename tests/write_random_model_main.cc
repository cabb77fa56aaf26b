// write_random_model DIR: random weights for the config.json in DIR, of any family.
// write_random_model DIR hidden layers heads kv_heads head_dim experts top_k expert_width vocab: a
// qwen3_moe of these sizes, for measuring.
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "base/error.h"
#include "random_model.h"

int main(int argc, char** argv) {
  if (argc != 2 && argc != 11) {
    std::fprintf(stderr,
                 "usage: write_random_model DIR [hidden layers heads kv_heads head_dim "
                 "experts top_k expert_width vocab]\n"
                 "DIR alone: weights for the config.json that lies there\n");
    return 2;
  }
  dure::RandomModelShape shape;
  int* const fields[] = {&shape.hidden,   &shape.layers,       &shape.heads,
                         &shape.kv_heads, &shape.head_dim,     &shape.experts,
                         &shape.top_k,    &shape.expert_width, &shape.vocab};
  for (int i = 2; i < argc; ++i) *fields[i - 2] = std::atoi(argv[i]);
  try {
    if (argc == 2) {
      dure::write_random_weights(argv[1]);
    } else {
      dure::write_random_model(argv[1], shape);
    }
  } catch (const dure::Error& error) {
    std::fprintf(stderr, "error: %s\nhint: %s\n", error.message().c_str(), error.hint().c_str());
    return 3;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 3;
  }
  return 0;
}
