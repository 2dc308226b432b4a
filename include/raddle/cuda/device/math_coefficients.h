// Coefficients of the device math functions, lowest power first, and bits of 2 / pi. Made by
// tools/device_math, which says what each approximates and where.
#pragma once

#include "raddle/cuda/device/attributes.h"

// (e^r - 1 - r) / r^2; error 1.1e-16.
static constexpr double raddle_exp_coefficients[] = {
    0x1.0000000000001p-1,  0x1.5555555555556p-3,  0x1.5555555553cd9p-5,  0x1.1111111110989p-7,
    0x1.6c16c178c18a5p-10, 0x1.a01a01a7e5259p-13, 0x1.a019b83d2cea4p-16, 0x1.71de0d2e6e42bp-19,
    0x1.28927c0646723p-22, 0x1.af39d92ab3282p-26};
// the same for float; error 2.7e-11.
static constexpr double raddle_exp_short_coefficients[] = {
    0x1.0000000000000p-1,  0x1.55555567a0b8bp-3,  0x1.5555555ca616bp-5, 0x1.1110c55c07591p-7,
    0x1.6c1684dfde978p-10, 0x1.a1533738c378ep-13, 0x1.a114843980dd4p-16};
// (sin x - x) / x^3 in x^2; error 2.1e-17.
static constexpr double raddle_sin_coefficients[] = {-0x1.5555555555555p-3,  0x1.1111111110ba1p-7,
                                                     -0x1.a01a019e7f846p-13, 0x1.71de379129f2ep-19,
                                                     -0x1.ae60056a84b17p-26, 0x1.5e0916b55db48p-33};
// (cos x - 1 + x^2 / 2) / x^4 in x^2; error 1.3e-18.
static constexpr double raddle_cos_coefficients[] = {0x1.5555555555555p-5,  -0x1.6c16c16c1695ep-10,
                                                     0x1.a01a019f4c9c5p-16, -0x1.27e4fa1529574p-22,
                                                     0x1.1eeb661c764f3p-29, -0x1.907b9fa75dee8p-37};
// for float; error 2.8e-14.
static constexpr double raddle_sin_short_coefficients[] = {-0x1.555555555515fp-3, 0x1.1111110fd096dp-7,
                                                           -0x1.a019fd935808dp-13, 0x1.71d9a402aff57p-19,
                                                           -0x1.aa2597cec801bp-26};
// for float; error 2.0e-15.
static constexpr double raddle_cos_short_coefficients[] = {0x1.5555555555433p-5, -0x1.6c16c16b5f755p-10,
                                                           0x1.a019ff4f267e0p-16, -0x1.27e25be54b065p-22,
                                                           0x1.1c8030b6df4e5p-29};
// (2 atanh(s) - 2 s) / s^3 in s^2; error 2.1e-18.
static constexpr double raddle_log_coefficients[] = {
    0x1.5555555555555p-1, 0x1.9999999999a39p-2, 0x1.24924924768ccp-2, 0x1.c71c7201ca461p-3,
    0x1.745cf8d558977p-3, 0x1.3b1c3f6063f3cp-3, 0x1.0fbd899eaf6e0p-3, 0x1.0c0e8f3c98b3ep-3};
// (the same - 2 / 3) / s^2; error 8.9e-23.
static constexpr double raddle_log_tail_coefficients[] = {
    0x1.999999999999ap-2, 0x1.2492492492492p-2, 0x1.c71c71c71c705p-3, 0x1.745d1745d3f7fp-3,
    0x1.3b13b138ea948p-3, 0x1.11111221d346ep-3, 0x1.e1e13e5fe8cc7p-4, 0x1.af46abc82c73dp-4,
    0x1.82bb2bd853a42p-4, 0x1.9881129c4ecf3p-4};
// for float; error 4.7e-14.
static constexpr double raddle_log_short_coefficients[] = {0x1.55555555553b5p-1, 0x1.9999999b8a309p-2,
                                                           0x1.249246265b1d6p-2, 0x1.c71fd0c4e4a51p-3,
                                                           0x1.738230ba3f8a9p-3, 0x1.54744ad7f7933p-3};
// (atan t - t) / t^3 in t^2; error 3.9e-18.
static constexpr double raddle_atan_coefficients[] = {
    -0x1.5555555555555p-2, 0x1.99999999998c4p-3, -0x1.2492492485427p-3, 0x1.c71c71bd22246p-4,
    -0x1.745d154ae1c94p-4, 0x1.3b1375a3f24c4p-4, -0x1.110c9a3d3c1bep-4, 0x1.e170491df79b9p-5,
    -0x1.ab5849ab57353p-5, 0x1.6ffbb8354db1ap-5, -0x1.0f55666ec5c9ep-5, 0x1.e3e17f483240ap-7};
// for float; error 3.8e-11.
static constexpr double raddle_atan_short_coefficients[] = {
    -0x1.55555554ab6aep-2, 0x1.999996f111044p-3, -0x1.2491690d0c2c6p-3, 0x1.c6e49c95a29f6p-4,
    -0x1.71019e3885c6fp-4, 0x1.1fdc87b9c018dp-4, -0x1.39a2e925d6c54p-5};
// (asin x - x) / x^3 in x^2; error 9.8e-19.
static constexpr double raddle_asin_coefficients[] = {
    0x1.5555555555555p-3,  0x1.3333333333389p-4, 0x1.6db6db6dac0eap-5, 0x1.f1c71c7a5e151p-6,
    0x1.6e8ba121b9d5fp-6,  0x1.1c4efd20ebb99p-6, 0x1.c990a42b32b03p-7, 0x1.7b02ef007d23ep-7,
    0x1.3b462d121c5d2p-7,  0x1.31777489dfd29p-7, 0x1.8dcdf11997e0fp-9, 0x1.40c91fa8deb7ep-6,
    -0x1.3bd7e353ddbc2p-6, 0x1.e58a4f278e007p-6};
// for float; error 2.5e-10.
static constexpr double raddle_asin_short_coefficients[] = {
    0x1.5555555c06d99p-3, 0x1.33331ec1202bdp-4, 0x1.6dc0f61ccc6c3p-5, 0x1.efed0c67f5d24p-6,
    0x1.82e318947cfa5p-6, 0x1.5a41fba7de28bp-7, 0x1.fbaa70c46e293p-6};
// erf(x) / x - 1 in x^2, to x = 1; error 1.3e-19.
static constexpr double raddle_erf_coefficients[] = {
    0x1.06eba8214db69p-3,  -0x1.812746b0379e6p-2,  0x1.ce2f21a042b30p-4,  -0x1.b82ce31284e00p-6,
    0x1.565bcd0dbaa38p-8,  -0x1.c02db3dac435fp-11, 0x1.f9a321d5b8e1ep-14, -0x1.f4d1e3183f7aep-17,
    0x1.b9df224ca4b97p-20, -0x1.5f1ecb6f0764cp-23, 0x1.f7b4bf3b13964p-27, -0x1.389d4f2641625p-30,
    0x1.05ffd737fb32ep-34};
// (1 + 2 x) e^(x^2) erfc(x) - 1 in t = (x - 3.75) / (x + 3.75), 0 <= x; error 5.6e-17.
static constexpr double raddle_erfcx_coefficients[] = {
    0x1.e66d05aeaee12p-3,  -0x1.1f367683f89a7p-3,  0x1.d5f2948162c71p-9,   0x1.510169d0967a4p-4,
    -0x1.bda9309a35e96p-4, 0x1.7a14188a9acccp-4,   -0x1.e0d0fa6c0b08fp-5,  0x1.d0b0037d7a780p-6,
    -0x1.3f603c7fe160ap-7, 0x1.cc3a0e5382706p-10,  0x1.33fb5b3afc49cp-12,  -0x1.303fa1f0fe3c5p-12,
    0x1.b13e0004e32fdp-15, 0x1.778b249632847p-16,  -0x1.7fcb80d70e5f5p-17, -0x1.054aae49b841dp-20,
    0x1.d39689e28dd02p-20, -0x1.ed27991433b40p-25, -0x1.0ad6351245f76p-22, 0x1.91fbd79a724eap-26,
    0x1.127b8eff8a588p-25, -0x1.05027628636e7p-28, -0x1.67e2fccd5ba0fp-29, 0x1.606c1d3baffdbp-32};
// 2 / pi, the first 1280 bits after the point.
static __device__ const unsigned long long raddle_two_over_pi[] = {
    0xa2f9836e4e441529ull, 0xfc2757d1f534ddc0ull, 0xdb6295993c439041ull, 0xfe5163abdebbc561ull,
    0xb7246e3a424dd2e0ull, 0x6492eea09d1921cull,  0xfe1deb1cb129a73eull, 0xe88235f52ebb4484ull,
    0xe99c7026b45f7e41ull, 0x3991d639835339f4ull, 0x9c845f8bbdf9283bull, 0x1ff897ffde05980full,
    0xef2f118b5a0a6d1full, 0x6d367ecf27cb09b7ull, 0x4f463f669e5fea2dull, 0x7527bac7ebe5f17bull,
    0x3d0739f78a5292eaull, 0x6bfb5fb11f8d5d08ull, 0x56033046fc7b6babull, 0xf0cfbc209af4361dull};
