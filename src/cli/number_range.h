// The range of a flag with a fraction. CLI11's own lets NaN pass every check.
#pragma once

namespace CLI {
class Validator;
}

namespace dure {

// Both ends included.
CLI::Validator number_between(double least, double most);

}  // namespace dure
