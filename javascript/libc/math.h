/* The part of math.h that the core uses: instructions of WebAssembly, and a logarithm that JavaScript lends. */
#ifndef MATH_H
#define MATH_H
#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#define isfinite(number) __builtin_isfinite(number)
#define sqrtf __builtin_sqrtf
#define fabsf __builtin_fabsf
__attribute__((import_module("js"), import_name("log"))) double log(double number);
#endif
