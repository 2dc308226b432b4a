// The numbers in matrices that tensor cores multiply and add, as formats of bits.
#pragma once

struct Type {
  int bits, exponent_bits, mantissa_bits, bias;
};
constexpr Type kHalf{16, 5, 10, 15}, kBrain{16, 8, 7, 127}, kTensorFloat{32, 8, 23, 127}, kE4m3{8, 4, 3, 7},
    kE5m2{8, 5, 2, 15}, kFloat{32, 8, 23, 127};
