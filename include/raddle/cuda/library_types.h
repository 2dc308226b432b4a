// Types that CUDA's libraries share; of them what cuRAND's headers use.
// Source: cuRAND documentation, "curandGetProperty".
#pragma once

typedef enum libraryPropertyType_t { MAJOR_VERSION, MINOR_VERSION, PATCH_LEVEL } libraryPropertyType;
