// See host_name.h.
#include "base/host_name.h"

#include <unistd.h>

namespace dure {

std::string host_name() {
  char host[256] = {};
  gethostname(host, sizeof(host) - 1);
  return host;
}

}  // namespace dure
