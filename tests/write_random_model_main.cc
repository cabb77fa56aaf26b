// write_random_model DIR [hidden layers heads kv_heads head_dim experts top_k expert_width vocab]:
// a checkpoint with random weights, for measuring.
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "random_model.h"

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr,
                 "usage: write_random_model DIR [hidden layers heads kv_heads head_dim "
                 "experts top_k expert_width vocab]\n");
    return 2;
  }
  dure::RandomModelShape shape;
  int* const fields[] = {&shape.hidden,   &shape.layers,       &shape.heads,
                         &shape.kv_heads, &shape.head_dim,     &shape.experts,
                         &shape.top_k,    &shape.expert_width, &shape.vocab};
  for (int i = 2; i < argc && i - 2 < 9; ++i) *fields[i - 2] = std::atoi(argv[i]);
  try {
    dure::write_random_model(argv[1], shape);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 3;
  }
  return 0;
}
