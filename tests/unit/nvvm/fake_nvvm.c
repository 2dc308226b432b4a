// Stands in for NVIDIA's libNVVM: "compiles" to the options that it was given.
#include <stddef.h>
#include <string.h>

static char options_seen[256];

int nvvmVersion(int* major, int* minor) { *major = 2, *minor = 0; return 0; }
int nvvmCompileProgram(void* program, int count, const char** options) {
  (void)program;
  options_seen[0] = '\0';
  for (int i = 0; i < count; ++i) strcat(strcat(options_seen, options[i]), " ");
  return 0;
}
int nvvmGetCompiledResultSize(void* program, size_t* bytes) { (void)program; *bytes = strlen(options_seen) + 1; return 0; }
int nvvmGetCompiledResult(void* program, char* code) { (void)program; strcpy(code, options_seen); return 0; }
const char* nvvmGetErrorString(int result) { (void)result; return "the fake's"; }
